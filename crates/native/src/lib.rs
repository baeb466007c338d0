//! The native back end: policies compiled into this process, and their host.
//!
//! [`Policy`] finds a policy and contains its declarations. [`Tuned`] chooses a variant and its
//! tunables. [`Host`] is one machine under one policy: it owns all state and calls the hooks. The
//! simulator drives a host with the events of a simulation, a hook-level test with a script. There
//! are no globals: hosts are independent.

pub mod ask;
mod assignment;
mod disturbance;
mod fault;
pub mod ffi;
mod groups;
mod hooks;
mod host;
mod instance;
mod memory;
mod misuse;
mod platform;
mod policy;
#[cfg_attr(not(unix), path = "no_process.rs")]
mod process;
mod requests;
mod seed;
mod source;
mod tunables;

pub use assignment::Assignment;
pub use disturbance::{Disturbance, Met};
pub use fault::{Fault, FaultKind, Hook, LockFault};
pub use groups::NewGroup;
pub use host::Host;
pub use instance::{instance_of, Instance, InstanceMaker};
pub use platform::{Clamps, NewTask, Platform, Topology};
pub use policy::{LockScope, Nice, Policy, Promise, Tunable, Variant};
#[cfg(target_os = "linux")]
pub use process::HookTimer;
#[cfg(unix)]
pub use process::{
    check_undefined, compile_shared, install_crash_handler, remove_on_crash, write_headers,
    CompileError, COMPILER_FLAGS, INCLUDE_FOLDERS,
};
pub use seed::first_state;
pub use tunables::Tuned;

/// Flags of `enqueue()` and `select_cpu()`; see `enum enqueue_flags` in policy.h.
pub mod enq {
    #![allow(missing_docs)]
    pub const WAKEUP: u32 = 1 << 0;
    pub const NEW: u32 = 1 << 1;
    pub const EXEC: u32 = 1 << 2;
    pub const MOVE: u32 = 1 << 3;
    pub const SYNC: u32 = 1 << 4;
    pub const IRQ: u32 = 1 << 5;
    pub const UNINTERRUPTIBLE: u32 = 1 << 6;
}

/// Flags of `dequeue()`; see `enum dequeue_flags` in policy.h.
pub mod deq {
    #![allow(missing_docs)]
    pub const SLEEP: u32 = 1 << 0;
    pub const EXIT: u32 = 1 << 1;
    pub const MOVE: u32 = 1 << 2;
    pub const UNINTERRUPTIBLE: u32 = 1 << 6;
}

/// Why `pick_next()` is called; see `enum prev_state` in policy.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Prev {
    None = 0,
    Blocked = 1,
    Exited = 2,
    Yielded = 3,
    Preempted = 4,
    Moved = 5,
}

/// Scheduling classes; see `enum task_class` in types.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Class {
    Normal = 0,
    Batch = 1,
    Idle = 2,
    Iso = 3,
    Fifo = 4,
    Rr = 5,
}

/// Most CPUs a machine can have.
pub const MAX_CPUS: usize = ffi::MAX_CPUS;

/// How deep groups may nest.
pub const MAX_GROUP_DEPTH: u32 = ffi::MAX_GROUP_DEPTH;
