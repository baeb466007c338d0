//! Machine descriptions: the testbeds of the papers and machines of today, from TOML files.

mod model;

pub use model::{Cache, Costs, Cpu, Machine, TickPhase, Timers};
