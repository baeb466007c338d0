//! Flags of `check`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use schedlab_trace::Ns;

use super::{positive, positive_time, seed};

/// What to search, and for how long.
#[derive(Args)]
#[command(after_help = "Examples:
  schedlab check mine/mine.c                        # for a minute
  schedlab check o1 --runs 1000 --jobs 2            # the same output each time
  schedlab check mine/mine.c --runs 500 --write found

`schedlab list invariants` prints what is checked; docs/check.md explains the results.")]
pub struct CheckArguments {
    /// The policy, as for `run --policy`.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub policy: String,
    /// How long to search, in real time.  The output depends on the speed of this machine.
    #[arg(long, value_name = "TIME", default_value = "1min", allow_hyphen_values = true, value_parser = positive_time)]
    pub time: Ns,
    /// Do this number of runs instead, with the seeds 1 to N.
    #[arg(long, value_name = "N", conflicts_with_all = ["time", "seeds"], allow_negative_numbers = true, value_parser = positive::<u64>)]
    pub runs: Option<u64>,
    /// Do the runs of these seeds instead, such as 17..17 or 100..199 (both included).
    #[arg(long, value_name = "A..B", conflicts_with = "time", allow_hyphen_values = true, value_parser = seed_range)]
    pub seeds: Option<RangeInclusive<u64>>,
    /// Number of runs at the same time; results do not depend on it.  Default: the number of CPUs.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<u16>)]
    pub jobs: Option<u16>,
    /// The hardware of all runs, as for `run`.  Default: random machines of 1 to 4 CPUs.
    #[arg(long, value_name = "MACHINE", value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Show the first case of everything found as it was drawn: shrinking it may take longer than the search.
    #[arg(long, conflicts_with = "workload")]
    pub no_shrink: bool,
    /// Write the smallest workloads, and machines, into this folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "workload")]
    pub write: Option<PathBuf>,
    /// Check one run of this workload instead of a search; needs --machine.
    #[arg(long, value_name = "WORKLOAD", value_hint = ValueHint::FilePath, requires = "machine", conflicts_with_all = ["time", "runs", "seeds", "jobs"])]
    pub workload: Option<String>,
    /// With --workload: the seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "workload", allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// With --workload: events of the same time come in an order drawn from this seed.  Default: the documented order.
    #[arg(long, value_name = "N", requires = "workload", allow_negative_numbers = true, value_parser = seed)]
    pub order: Option<u64>,
    /// With --workload: one in N calls of rq_lock() is refused, and hooks of different CPUs overlap.  Default: none is.
    #[arg(long, value_name = "N", requires = "workload", allow_negative_numbers = true, value_parser = positive::<u32>)]
    pub refuse_locks: Option<u32>,
    /// For `check` itself, whose process this is: searches in this process, and writes each seed into FILE if it searches
    /// one by one.
    #[arg(long, hide = true, value_name = "FILE", num_args = 0..=1)]
    pub worker: Option<Option<PathBuf>>,
}

fn seed_range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let parsed = text.split_once("..").and_then(|(first, last)| {
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(first..=last)
    });
    parsed.ok_or_else(|| "two whole numbers such as 1..100, the smaller first".into())
}
