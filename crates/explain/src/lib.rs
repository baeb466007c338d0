//! Why a task had to wait, from a trace alone.
//!
//! [`Explain`] is a sink: feed it a trace, simulated or recorded, and [`finish`](Explain::finish)
//! lists the worst waits with who ran instead, on which CPU, at what priority, how the wait began
//! and what ended it.  [`Order`] is another one: it keeps who ran when, so that [`first_difference`] finds
//! where two runs part.

mod difference;
mod explain;
mod roster;
mod wait;

pub use difference::{first_difference, Difference, Order, Step};
pub use explain::Explain;
pub use wait::{Began, Ended, Explanation, Instead, Wait};
