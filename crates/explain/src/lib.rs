//! Why a task had to wait, from a trace alone.
//!
//! [`Explain`] is a sink: feed it a trace, simulated or recorded, and [`finish`](Explain::finish)
//! lists the worst waits: which tasks ran instead, on which CPU, at what priority, how the wait began
//! and what ended it.  [`Order`] is another sink: it keeps which task ran when, and [`first_difference`]
//! finds where two runs first differ.

mod difference;
mod explain;
mod roster;
mod wait;

pub use difference::{first_difference, Difference, Order, Step};
pub use explain::Explain;
pub use wait::{Began, Ended, Explanation, Instead, Wait};
