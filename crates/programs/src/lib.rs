//! Real programs: what executes on a real kernel what the simulator models.
//!
//! [`play`](fn@play) does what a [`Workload`](schedlab_workload::Workload) says with threads and
//! processes: the same operations, draws and rules as in the simulator, but the kernel decides
//! who runs.

mod actor;
pub mod chat;
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
