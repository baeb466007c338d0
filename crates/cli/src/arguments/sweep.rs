//! The flags of `sweep`, `merge`, `report` and `search`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use schedlab_lab::Seeds;
use schedlab_sweep::{Axis, Constraint, Shard};
use schedlab_trace::Ns;

use super::{positive, positive_time, seed, Bounds, Format, RtappArguments, Settings};

/// What is combined with what.
#[derive(Args)]
pub struct PlanArguments {
    /// A plan in a file; flags replace what it says, and --vary and --constraint add to it.
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// The policies, separated by commas, each as for `run --policy`; or `all`.
    #[arg(long, value_name = "POLICIES", value_hint = ValueHint::FilePath)]
    pub policies: Option<String>,
    /// The workload.  Can be repeated.
    #[arg(long, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: Vec<String>,
    /// The hardware.  Can be repeated.  Default: desktop.
    #[arg(long, value_name = "MACHINE", value_hint = ValueHint::FilePath)]
    pub machine: Vec<String>,
    /// Vary a tunable: POLICY.NAME=10,20,50, or NAME=… in each policy that has it.  10..50/10 is 10 to 50 in steps of 10;
    /// 10..200 and "10..200 log" are for designs with random samples.  NAME can also be workload.OPTION, duration, policy,
    /// workload or machine.  Can be repeated.
    #[arg(long, value_name = "NAME=VALUES", allow_hyphen_values = true)]
    pub vary: Vec<String>,
    /// The seeds of each set-up: 5 (the seeds 1 to 5), 3..7, or 1,4,9.  Default: 1.
    #[arg(long, value_name = "SEEDS", allow_hyphen_values = true)]
    pub seeds: Option<Seeds>,
    /// End of each run in simulated time.  Default: what the workload says.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = positive_time)]
    pub duration: Option<Ns>,
    /// Only combinations that meet this: "o1.min_timeslice_ms <= o1.max_timeslice_ms", "machine != server".  Can be
    /// repeated.
    #[arg(long, value_name = "A OP B", allow_hyphen_values = true)]
    pub constraint: Vec<String>,
    /// Tunables.
    #[command(flatten)]
    pub settings: Settings,
    /// Runs at the same time; results do not depend on it.  Default: the number of CPUs.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<u16>)]
    pub jobs: Option<u16>,
    /// How rt-app files are read.
    #[command(flatten)]
    pub rtapp: RtappArguments,
    /// Bounds that end a run with an error.
    #[command(flatten)]
    pub bounds: Bounds,
}

/// Many runs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  schedlab sweep -o slices.db --policies o1,eevdf --workload late --vary o1.max_timeslice_ms=50,100,200 --seeds 20
  schedlab sweep plan.toml -o plan.db                      # a plan in a file; the same command goes on after a stop
  schedlab sweep plan.toml -o plan-3.db --shard 3/16       # one part of sixteen, on any machine
  schedlab merge plan-*.db -o plan.db && schedlab report plan.db --html plan.html

docs/sweeps.md describes plans, designs and the file of results.")]
pub struct SweepArguments {
    /// The plan.
    #[command(flatten)]
    pub plan: PlanArguments,
    /// The file of results (SQLite).  What is in it is not done again.
    #[arg(short, long, value_name = "FILE.db", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The combinations of the varied values: grid (all), random, or latin-hypercube.
    #[arg(long, value_name = "DESIGN")]
    pub design: Option<String>,
    /// The number of combinations that a random design or a Latin hypercube has.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<u32>)]
    pub samples: Option<u32>,
    /// The seed of the draw of combinations.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub design_seed: Option<u64>,
    /// Do one part of the runs: 2/8 is the second of eight.
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    pub shard: Option<Shard>,
    /// Add the runs of this plan to a file that has another one's.
    #[arg(long)]
    pub extend: bool,
    /// Do failed runs again.
    #[arg(long)]
    pub retry_failed: bool,
    /// Print the number of runs and set-ups, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Results of several files in one.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  schedlab merge part-*.db -o all.db")]
pub struct MergeArguments {
    /// The files of results.
    #[arg(required = true, value_name = "FILE.db", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// The file that takes them all: a new one, or one that has some already.
    #[arg(short, long, value_name = "FILE.db", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Results, without running anything.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  schedlab report slices.db --html slices.html
  schedlab report desktop.json server.json                 # what run or compare wrote with --json, on several machines
  schedlab report new.db --baseline old.db --fail-if worse # status 7 if a metric shown is worse beyond its interval
  schedlab report new.db --fail-if 'request.p99 > 10ms' --fail-if 'throughput < 0.95 of baseline' --baseline old.db

A metric is named by its column or by its name in JSON (request.p99, throughput, wakeup.p99, run_delay_p99_ns, …);
docs/sweeps.md describes all forms.")]
pub struct ReportArguments {
    /// Results: files of `sweep`, or JSON of `run` and `compare`.
    #[arg(required = true, value_name = "RESULTS", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Write a page with figures: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// A metric to show.  Can be repeated.  Default: the workload's own, latencies and costs.
    #[arg(long, value_name = "METRIC")]
    pub metric: Vec<String>,
    /// The dimensions of the heat maps.  Default: the two tunables with most values.
    #[arg(long, value_name = "X,Y", value_parser = pair)]
    pub heat: Option<(String, String)>,
    /// Results to compare with, seed by seed.
    #[arg(long, value_name = "RESULTS", value_hint = ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,
    /// End with status 7 if this holds for a set-up: "METRIC > VALUE" (of the median), "METRIC < PART of baseline",
    /// "METRIC worse", or "worse" for any metric shown.  Can be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// How to print the result.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// The settings that serve workloads best.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  schedlab search -o search.db --policies o1 --workload late --vary 'o1.max_timeslice_ms=20..400 log' \\
    --vary 'o1.min_timeslice_ms=1..20' --minimise wakeup.p99 --subject-to 'switches <= 2 of baseline' \\
    --duration 3s --seeds 3 --candidates 20 --held-out mixed

--candidates 20 costs as much as 20 candidates that run to the end: successive halving tries 60, most of them for a
ninth of the time.  The same command goes on after a stop.  docs/sweeps.md describes searches.")]
pub struct SearchArguments {
    /// What is searched: the plan's policies, workloads, machines, varied tunables and constraints.
    #[command(flatten)]
    pub plan: PlanArguments,
    /// The file of results (SQLite).  What is in it is not done again.
    #[arg(short, long, value_name = "FILE.db", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The metric to make small, named as for `report`.
    #[arg(
        long,
        value_name = "METRIC",
        required_unless_present = "maximise",
        conflicts_with = "maximise"
    )]
    pub minimise: Option<String>,
    /// The metric to make large.
    #[arg(long, value_name = "METRIC")]
    pub maximise: Option<String>,
    /// What the winner must meet on every workload and machine: "throughput >= 0.95 of baseline",
    /// "longest_wait < 500ms".  The baseline is the policy without the varied tunables.  Can be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub subject_to: Vec<String>,
    /// How many candidates may run to the end, or what costs as much.
    #[arg(long, value_name = "N", default_value_t = 30, allow_negative_numbers = true, value_parser = positive::<u32>)]
    pub candidates: u32,
    /// How candidates are sifted.
    #[arg(long, value_name = "METHOD", default_value = "halving")]
    pub method: SearchMethod,
    /// The seed of the draw of candidates.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = seed)]
    pub design_seed: u64,
    /// A workload on which the winner is judged.  Can be repeated.  Default: the same ones, with other seeds.
    #[arg(long, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub held_out: Vec<String>,
}

/// How candidates are sifted.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchMethod {
    /// All run for a ninth of --duration, the best third for a third of it, the best ninth to the end.
    Halving,
    /// All run to the end.
    Random,
}

/// The axes and constraints of the flags, read.
impl PlanArguments {
    /// The axes of --vary.
    pub fn axes(&self) -> Result<Vec<Axis>, schedlab_input::Diagnostic> {
        self.vary.iter().map(|text| Axis::parse(text)).collect()
    }

    /// The constraints of --constraint.
    pub fn constraints(&self) -> Result<Vec<Constraint>, schedlab_input::Diagnostic> {
        let read = |text: &String| {
            Constraint::parse(text).map_err(|mistake| mistake.at("--constraint", 0))
        };
        self.constraint.iter().map(read).collect()
    }
}

/// Two names with a comma.
fn pair(text: &str) -> Result<(String, String), String> {
    let names = text
        .split_once(',')
        .filter(|(x, y)| x != y && !y.contains(','));
    let names = names.map(|(x, y)| (x.trim().to_string(), y.trim().to_string()));
    names.ok_or_else(|| "two dimensions: X,Y".to_string())
}
