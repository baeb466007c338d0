//! Real programs: they execute on a real kernel the workloads that the simulator models.
//!
//! [`play`](fn@play) executes a [`Workload`](schedlab_workload::Workload) with threads and
//! processes: the same operations, draws and rules as in the simulator, but the kernel decides
//! which task runs.

mod actor;
pub mod chat;
mod groups;
pub mod late;
mod locked;
mod memory;
mod notes;
mod play;
mod queue;
mod resources;
mod stage;
mod system;
mod work;

pub use notes::{leave_notes, notes};
pub use play::{approximations, play, Options, PlayError, Played, PlayedTask};
pub use stage::{Marked, TaskSlot, What};
