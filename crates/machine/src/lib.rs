//! Machine descriptions: the testbeds of the papers and machines of today, from TOML files.
//!
//! `machines/NAME.toml` describes the machine NAME; [`find`] resolves what a user writes.

mod check;
mod library;
mod model;
mod read;
mod topology;

pub use library::{find, names, text};
pub use model::{
    Cache, Costs, Cpu, IdleState, Machine, Preemption, TickPhase, Timers, LOCAL_DISTANCE, MAX_CPUS,
};
