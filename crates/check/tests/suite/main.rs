//! One program for all tests of this crate: it is linked once.

mod invariants;
mod kstep;
mod patched;
