//! The door between a loader and a machine: answers to bpf(2).
