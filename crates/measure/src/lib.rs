//! Metrics, computed from a trace alone.
//!
//! [`Measure`] is a [`Sink`](schedlab_trace::Sink): feed it a trace, simulated or recorded,
//! then ask for the [`Metrics`].  It keeps no events, so a run may have any length.
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
//!             which tasks run and   one file each:           the published numbers,
//!             wait; all CPU time,   tasks, latency, cpus,    and points to draw
//!             to the ns             idle while runnable, …
//! ```
//!
//! A task is *waiting* from its wakeup, or from being switched away from while runnable, until
//! it is switched to.  *Run delay* is the length of such a wait; *wakeup latency* is the time
//! from the begin of a sleeping task's wakeup until the task runs, which includes the cost of
//! the wakeup itself.  A task's *run time* is its time on a CPU without the overhead that fell into it.
//!
//! Counts and sums are exact integers.  For every CPU, tasks, idling and overhead add up to
//! the run's duration to the nanosecond.  Percentiles are exact for few samples and state
//! their error for many ([`Distribution::relative_error`]).
//!
//! # Limits
//!
//! - The trace does not carry affinities: see [`IdleWhileRunnable`].
//! - A recording does not tell what a CPU did before its first switch away from idle (counted
//!   as idle), nor how long tasks had waited before it began.
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
pub use headline::{Direction, Headline, HeadlineUnit};
pub use measure::Measure;
pub use result::{
    Activity, CdfPoint, ControlGroupMetrics, CpuMetrics, Distribution, Fairness, GroupLatencyPlot,
    GroupMetrics, IdleWhileRunnable, LatencyPlot, MarkMetrics, Metrics, OverheadNs, Plots,
    SchedulerMetrics, ShareOf, ShareRow, SharesPlot, Slice, TaskMetrics, TimelinePlot,
    TimelineWindow, Wait, WaitingPlot,
};
pub use summary::{Interval, Summary, BOOTSTRAP_MIN};

/// Each run queue has a plot on machines with at most this many CPUs.
pub const MAX_PLOT_CPUS: usize = 64;

/// The first groups, at most this many, have plots of their own.
pub const MAX_PLOT_GROUPS: usize = 24;
