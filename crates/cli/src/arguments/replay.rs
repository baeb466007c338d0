//! The flags of `replay` and `explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use schedlab_replay::{End, Mode, Symptom};

use super::{positive, seed, Bounds, Format, ReadingArguments};

/// A recording of a real machine under other schedulers.
#[derive(Args)]
pub struct ReplayArguments {
    /// The recording: perf.data, the text of perf script, ftrace or trace-cmd report, or a
    /// Perfetto trace; plain or compressed.
    #[arg(value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    pub recording: PathBuf,
    /// The policies, separated by commas, each as for `run --policy`; or `all`.
    #[arg(long, value_name = "POLICIES", default_value = "all", value_hint = ValueHint::FilePath)]
    pub policies: String,
    /// The policy that differences refer to, one of --policies.  It is shown first.  Default: the recording.
    #[arg(long, value_name = "POLICY", conflicts_with = "minimise")]
    pub baseline: Option<String>,
    /// When events from outside (timers, devices, the network) happen.
    #[arg(long, value_name = "MODE", default_value = "closed")]
    pub mode: ReplayMode,
    /// What ends a replay: the recorded work is done, or the recorded time is over.  Default: time, if tasks that lived
    /// on when the recording ended had done most of the work.
    #[arg(long, value_name = "END", default_value = "auto")]
    pub end: ReplayEnd,
    /// The hardware.  Default: the recorded CPUs, without costs beyond the recorded ones.
    #[arg(long, value_name = "MACHINE", value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Ticks per second of the recorded machine.
    #[arg(long, value_name = "N", default_value_t = 250, allow_negative_numbers = true, value_parser = hz)]
    pub hz: u32,
    /// The scheduler of the recorded machine, for the self-check.  Default: that of the recorded kernel release; eevdf if
    /// the recording does not name its kernel.
    #[arg(long, value_name = "POLICY")]
    pub recorded_under: Option<String>,
    /// Reduce the recording to the smallest part that shows a symptom: "wait>TIME of TASK", where TASK is a name, a group
    /// or a thread id.  --policies must name one policy.
    #[arg(long, value_name = "SYMPTOM", value_parser = Symptom::parse)]
    pub minimise: Option<Symptom>,
    /// Also show how far the work was under each policy when the recording ended.
    #[arg(long, conflicts_with = "minimise")]
    pub progress: bool,
    /// Write the rebuilt workload, for `run --workload`.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub export: Option<PathBuf>,
    /// The seed of the policies' random numbers.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// Set a tunable of the policy (see `list policies NAME`).  Can be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// How to print the result.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write the traces.  A .tar file holds all of them and the recording, on one timeline of ui.perfetto.dev;
    /// .pftrace or .ftrace give one file for each policy and one for the recording.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Write a report with figures: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Write the result as JSON as well, whatever --format prints.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Number of replays at the same time; results do not depend on it.  Default: the number of CPUs.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<u16>)]
    pub jobs: Option<u16>,
    /// Bounds that end a replay with an error.
    #[command(flatten)]
    pub bounds: Bounds,
    /// How the recording is read.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// What if?
///
/// Records a command, rebuilds what its tasks did, runs that under other schedulers, and writes a report whose first line
/// says what may be believed.  Only the recording is done as root, through sudo; the command is yours.
#[derive(Args)]
pub struct WhatIfArguments {
    /// A recording that exists, instead of a command.
    #[arg(long, value_name = "RECORDING", conflicts_with_all = ["command", "vm"], value_hint = ValueHint::FilePath)]
    pub recording: Option<PathBuf>,
    /// Record in a virtual machine with one CPU, which needs no root and no permission to trace.
    #[arg(long)]
    pub vm: bool,
    /// Keep the recording in this file.  Default: it is removed.
    #[arg(long, short, value_name = "FILE.ftrace", conflicts_with = "recording", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The policies, separated by commas, each as for `run --policy`; or `all`.
    #[arg(long, value_name = "POLICIES", default_value = "all", value_hint = ValueHint::FilePath)]
    pub policies: String,
    /// The report: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", default_value = "what-if.html", value_hint = ValueHint::FilePath)]
    pub report: PathBuf,
    /// Write the result as JSON as well.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// The command, after "--".
    #[arg(
        last = true,
        required_unless_present = "recording",
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
}

/// When events from outside happen.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayMode {
    /// As long after the task began to wait as in the recording.
    Closed,
    /// At the recorded time.
    Open,
}

impl ReplayMode {
    /// What it means.
    pub fn mode(self) -> Mode {
        match self {
            ReplayMode::Closed => Mode::Closed,
            ReplayMode::Open => Mode::Open,
        }
    }
}

/// What ends a replay.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayEnd {
    /// Work or time, by what ended the recording.
    Auto,
    /// All recorded work is done.
    Work,
    /// As much time has passed as was recorded.
    Time,
}

impl ReplayEnd {
    /// What it means.
    pub fn end(self) -> End {
        match self {
            ReplayEnd::Auto => End::Auto,
            ReplayEnd::Work => End::Work,
            ReplayEnd::Time => End::Time,
        }
    }

    /// The flag's value, if it is not the default.
    pub fn word(self) -> Option<&'static str> {
        match self {
            ReplayEnd::Auto => None,
            ReplayEnd::Work => Some("work"),
            ReplayEnd::Time => Some("time"),
        }
    }
}

/// Why a task had to wait.
#[derive(Args)]
pub struct ExplainArguments {
    /// What to explain: a recording, a trace written with --trace, or in quotes a command that has
    /// one policy, as results print it: "run --policy o1 --workload chat", "replay x.perf --policies o1".
    /// With two, also show where they first differ.
    #[arg(required = true, num_args = 1..=2, value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub runs: Vec<String>,
    /// The task: its name, its group or its thread id.  Default: all tasks.
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// How many waits to list.
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true, value_parser = positive::<u32>)]
    pub worst: u32,
    /// How to print it.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// How recordings are read.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

fn hz(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|hz| (10..=10_000).contains(hz));
    number.ok_or_else(|| "a whole number from 10 to 10000".into())
}
