//! A trace in the layouts of `perf sched`, which scheduler developers know.

mod latency;
mod timehist;

pub use latency::Latency;
pub use timehist::Timehist;

/// Nanoseconds as milliseconds with three digits, the rest cut off as perf does.
fn ms(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1000 % 1000)
}

/// A time as seconds with six digits, the rest cut off.
fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000)
}
