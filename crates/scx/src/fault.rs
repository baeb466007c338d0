//! What a scheduler can do wrong within one of its programs.

use std::fmt;

/// A scheduler did what it must not do; the run is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The program, as "lavd_enqueue".
    pub program: String,
    /// What it did.
    pub kind: FaultKind,
}

/// What a program did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Its loops went round too often.
    Looped,
    /// Its calls are nested too deeply.
    TooDeep,
    /// It stored to an address that is not its own.
    Store {
        /// The address.
        address: u64,
        /// The function and the instruction within the program.
        at: (String, u32),
    },
    /// It reached an instruction that should never run: what its loader found missing in this kernel.
    Poison(String),
    /// What a kfunc found wrong, as scx_bpf_error().
    Error(String),
    /// It could not be compiled.
    NotCompiled(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.program)?;
        match &self.kind {
            FaultKind::Looped => write!(f, "looped without end"),
            FaultKind::TooDeep => write!(f, "called itself too deeply"),
            FaultKind::Store { address, at } => write!(
                f,
                "stored to {address:#x}, which is no memory of its own (in {}, instruction {})",
                at.0, at.1
            ),
            FaultKind::Poison(what) | FaultKind::Error(what) | FaultKind::NotCompiled(what) => {
                write!(f, "{what}")
            }
        }
    }
}

impl std::error::Error for Fault {}
