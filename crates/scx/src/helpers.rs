//! What programs call: BPF helpers, and kfuncs that have nothing to do with sched_ext.

use crate::machine::Machine;

/// What a program calls: the machine and r1 to r5; the answer is r0.
pub type Call = extern "C" fn(&mut Machine, u64, u64, u64, u64, u64) -> u64;

/// A kfunc, found by name.
#[derive(Clone, Copy, Debug)]
pub struct Kfunc {
    /// As the kernel has it.
    pub name: &'static str,
    /// What it does.
    pub call: Call,
}

/// A helper of `enum bpf_func_id`.
#[derive(Clone, Copy, Debug)]
pub struct Helper {
    /// Its number.
    pub id: u32,
    /// Its name, with bpf_.
    pub name: &'static str,
    /// What it does.
    pub call: Call,
}

/// The helpers there are, by number.
pub static HELPERS: &[Helper] = &[];

/// Kfuncs of this part.
pub static KFUNCS: &[Kfunc] = &[];
