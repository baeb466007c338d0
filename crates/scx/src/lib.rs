//! Unmodified sched_ext schedulers in the simulator.
//!
//! A scheduler's own loader talks to a door that answers bpf(2) ([`door`]).  What it loads gets into a
//! [`Machine`]: maps, programs, memory.  When it attaches its operations, the machine is frozen into an [`Image`],
//! and each run of the simulator gets a machine of its own from it.  [`ext`] is the model of the kernel's side,
//! kernel/sched/ext.c.
//!
//! Programs are not trusted: all they can reach is one region of memory ([`memory`]), at addresses that are the
//! same in every run.

pub mod btf;
mod compile;
pub mod door;
pub mod ext;
mod fault;
pub mod helpers;
mod image;
mod insn;
mod load;
pub mod machine;
pub mod maps;
pub mod memory;
mod read;
mod scheduler;
mod special;
mod table;
pub mod translate;
mod user;
mod userspace;

pub use btf::{Btf, TypeId};
pub use fault::{Fault, FaultKind};
pub use helpers::{Call, Kfunc};
pub use image::{Image, Started};
pub use machine::{
    Errno, Kernel, Machine, Ops, Program, ProgramId, ProgramKind, Refusal, Topology,
};
pub use maps::{MapId, MapKind, MapSpec};
pub use memory::Memory;
pub use scheduler::Scheduler;
