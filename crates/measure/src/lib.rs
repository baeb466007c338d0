//! Metrics, computed from a trace alone.
//!
//! [`Measure`] is a [`Sink`](schedlab_trace::Sink): feed it a trace, simulated or recorded,
//! then ask for the [`Metrics`].  It keeps no events, so a run may be as long as it likes.
//!
//! ```
//! use schedlab_measure::Measure;
//! use schedlab_trace::{Sink, Time, TraceInfo};
//!
//! let mut measure = Measure::new();
//! measure.begin(&TraceInfo { nr_cpus: 2, ..TraceInfo::default() });
//! measure.end(Time(1_000));
//! let metrics = measure.finish();
//! assert_eq!(metrics.cpus[1].idle_ns.0, 1_000);
//! ```
//!
//! # From events to numbers
//!
//! ```text
//!   Event ──> State ──────────────> Families ──────────────> Metrics
//!             who runs, who waits;  one file each:           the published numbers,
//!             deals out CPU time,   tasks, latency, cpus,    and points to draw
//!             to the ns             idle while runnable, …
//! ```
//!
//! A task is *waiting* from its wakeup, or from being switched away from while runnable, until
//! it is switched to.  *Run delay* is the length of such a wait; *wakeup latency* is the time
//! from the moment somebody wanted a sleeping task to run until it did, which includes what
//! the waking cost.  A task's *run time* is its time on a CPU without the overhead that fell into it.
//!
//! Counts and sums are exact integers.  For every CPU, tasks, idling and overhead add up to
//! the run's duration to the nanosecond.  Percentiles are exact for few samples and state
//! their error for many ([`Distribution::relative_error`]).
//!
//! # Limits
//!
//! - The trace does not carry affinities: see [`IdleWhileRunnable`].
//! - Of a recording's first moments some things are unknown: what a CPU did before its first
//!   switch away from idle (counted as idle), and how long tasks had waited already.
//! - Tasks' own latency distributions are dropped above 20,000 tasks or 64 MiB
//!   ([`Metrics::task_distributions_dropped`]).
//! - Sums stop at 2^64 - 1 ns, 584 years.

mod distribution;
mod error;
mod headline;
mod measure;
mod metrics;
mod observation;
mod result;
mod roster;
mod series;
mod state;
mod summary;

pub use error::AccountingError;
pub use headline::{Better, Headline, Unit};
pub use measure::Measure;
pub use result::{
    Activity, CdfPoint, ControlGroupMetrics, CpuMetrics, Distribution, Fairness, GroupLatencyPlot,
    GroupMetrics, IdleWhileRunnable, LatencyPlot, MarkMetrics, Metrics, OverheadNs, Plots,
    SchedulerMetrics, ShareOf, ShareRow, SharesPlot, Slice, TaskMetrics, TimelinePlot,
    TimelineWindow, Wait, WaitingPlot,
};
pub use summary::{Interval, Summary, BOOTSTRAP_MIN};

/// Machines with at most so many CPUs have a plot of each run queue.
pub const MAX_PLOT_CPUS: usize = 64;

/// At most so many groups have plots of their own: the first ones.
pub const MAX_PLOT_GROUPS: usize = 24;
