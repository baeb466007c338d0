//! The BPF back end.
