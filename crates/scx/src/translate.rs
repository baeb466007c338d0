//! BPF instructions to C.
