//! Metrics, computed from a trace alone.

mod distribution;
mod error;
mod headline;
mod measure;
mod metrics;
mod result;
mod roster;
mod series;
mod state;
mod summary;

pub use error::AccountingError;
pub use headline::{Better, Headline, Unit};
pub use measure::Measure;
pub use result::{
    Activity, CdfPoint, CpuMetrics, Distribution, Fairness, GroupLatencyPlot, GroupMetrics,
    IdleWhileRunnable, LatencyPlot, MarkMetrics, Metrics, OverheadNs, Plots, SchedulerMetrics,
    ShareOf, ShareRow, SharesPlot, Slice, TaskMetrics, TimelinePlot, TimelineWindow, Wait,
    WaitingPlot,
};
pub use summary::{Interval, Summary, BOOTSTRAP_MIN};

/// Machines with at most so many CPUs have a plot of each run queue.
pub const MAX_PLOT_CPUS: usize = 64;

/// At most so many groups have plots of their own: the first ones.
pub const MAX_PLOT_GROUPS: usize = 24;
