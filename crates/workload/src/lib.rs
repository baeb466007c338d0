//! Workloads: tasks as programs, from files or as built-in benchmarks.

mod builder;
pub mod builtin;
mod cursor;
pub mod exported;
mod model;
pub mod native;
mod random;
mod rng;
pub mod rtapp;

pub use cursor::{Cursor, LONGEST};
pub use model::{
    Amount, Channel, ControlGroup, Distribution, Op, Periodic, Process, Program, ProgramId, SpecId,
    TaskSpec, TimerScope, Times, Waking, Workload, DURATION_OF_THE_ENDLESS, MAX_GROUP_DEPTH,
    MAX_LOOP_DEPTH, MAX_MESSAGES, MAX_OWN_TIMERS, MAX_SLICE, MAX_TASKS, MIN_SLICE,
};
pub use random::random;
pub use rng::Stream;

#[cfg(test)]
mod ideal;
