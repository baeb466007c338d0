//! C to code, kept in the user's cache folder.
