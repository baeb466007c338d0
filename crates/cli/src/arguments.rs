//! All flags.  Help, man pages and completions are generated from these definitions.

mod check;
mod programs;
mod replay;
mod rtapp;
mod settings;
mod sweep;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use schedlab_trace::Ns;

use schedlab_lab::Seeds;

pub use check::CheckArguments;
pub use programs::{
    ChatArguments, FidelityArguments, LateArguments, PlayArguments, PlayedArguments, StudyArguments,
};
pub use replay::{ExplainArguments, ReplayArguments, WhatIfArguments};
pub use rtapp::RtappArguments;
pub use settings::Settings;
pub use sweep::{
    MergeArguments, PlanArguments, ReportArguments, SearchArguments, SearchMethod, SweepArguments,
};

/// Compare CPU schedulers, old and new, in a deterministic simulator.
///
/// Equal inputs and seeds give equal results, bit for bit: every result prints the hash of its
/// trace and the command that reproduces it.
#[derive(Parser)]
#[command(
    name = "schedlab",
    version = crate::version::VERSION,
    max_term_width = 100,
    after_long_help = crate::failure::Exit::table(),
    disable_help_subcommand = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Command {
    /// Are policies compiled with checks for undefined behaviour?
    pub fn sanitizes(&self) -> bool {
        match self {
            Command::Run(arguments) => arguments.common.bounds.sanitize,
            Command::Compare(arguments) => arguments.common.bounds.sanitize,
            Command::Replay(arguments) => arguments.bounds.sanitize,
            Command::Sweep(arguments) => arguments.plan.bounds.sanitize,
            Command::Search(arguments) => arguments.plan.bounds.sanitize,
            _ => false,
        }
    }
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// List policies, machines and workloads, or describe one policy or workload.
    List(ListArguments),
    /// Run a workload under one policy.
    Run(RunArguments),
    /// Run a workload under several policies and show them side by side.
    Compare(CompareArguments),
    /// Search for workloads that break a policy, and show the smallest.
    Check(CheckArguments),
    /// Do many runs: tunables, policies, workloads, machines and seeds combined; results in one file.
    Sweep(SweepArguments),
    /// Search for the settings that serve workloads best, and judge the winner on others.
    Search(SearchArguments),
    /// Put results of several sweeps, or parts of one, into one file.
    Merge(MergeArguments),
    /// Show results of sweeps, or of runs on several machines: tables, heat maps, effects, a baseline.
    Report(ReportArguments),
    /// Make a policy the scheduler of this machine, until Ctrl-C.
    #[cfg(feature = "live")]
    Load(LoadArguments),
    /// Show the scheduler of this machine.
    #[cfg(feature = "live")]
    Status,
    /// Run a command in a real Linux kernel, in a virtual machine.
    Vm(VmArguments),
    /// Execute a workload on this machine, with threads and processes.
    Play(PlayArguments),
    /// Run applications that compute and sleep, and measure their delays on this machine.
    Late(LateArguments),
    /// Run VolanoMark's chat rooms over TCP: a server and its clients, four threads for each user.
    Volanomark(schedlab_workload::builtin::VolanoMark),
    /// Run chat rooms over TCP in which all users send at the same time.
    Chat(ChatArguments),
    /// Replay a recording of a real machine under other schedulers.
    Replay(ReplayArguments),
    /// Explain why tasks waited: the worst waits, the tasks that ran instead, and what ended each wait.
    Explain(ExplainArguments),
    /// Repeat the papers' experiments and check every claim.
    Reproduce(ReproduceArguments),
    /// Record the scheduler of this machine (asks sudo for root).
    Record(RecordArguments),
    /// What if a command had run under another scheduler: records it, replays it, writes a report.
    #[command(name = "whatif")]
    WhatIf(WhatIfArguments),
    /// Measure a recording without replaying it: perf.data, perf script, ftrace or Perfetto.
    Measure(MeasureArguments),
    /// Write a recording in another format.
    Convert(ConvertArguments),
    /// Describe an existing machine: this one, with its costs measured, or one from a file.
    Machine(MachineArguments),
    /// Write the folder of a new policy; it is complete and runs.
    New(NewArguments),
    /// Serve the site with the playground and the documentation to a browser on this machine, until Ctrl-C.
    Open(OpenArguments),
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the man pages into a folder.
    Man {
        /// The folder, which must exist.
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Commands for the development of schedlab itself.
    #[command(subcommand, hide = true)]
    Dev(DevCommand),
}

/// Commands for the development of schedlab itself.
#[derive(Subcommand)]
pub enum DevCommand {
    /// Play random scripts through a policy's native build and its BPF program, and compare.
    #[cfg(feature = "live")]
    Conform(ConformArguments),
    /// Measure what switching costs under each scheduler, on a machine with one CPU (root).
    #[cfg(feature = "live")]
    Overhead(OverheadArguments),
    /// Run groups of processes that send messages to each other, as hackbench does.
    #[cfg(feature = "live")]
    Hackbench(HackbenchArguments),
    /// Attach the scheduler in a BPF object, and wait.
    #[cfg(feature = "live")]
    #[command(hide = true)]
    Attach(AttachArguments),
    /// Run the same workloads in the simulator and in a real kernel, and compare.
    Fidelity(FidelityArguments),
    /// Predict from a recording what real runs under other schedulers do, run them, and compare.
    Whatif(StudyArguments),
}

/// A scheduler in a BPF object.
#[derive(Args)]
pub struct AttachArguments {
    /// The object.
    pub object: PathBuf,
    /// Change a constant of it: NAME=VALUE.  Can be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// What to list.
#[derive(Args)]
pub struct ListArguments {
    /// What to list.  Default: everything.
    pub what: Option<Catalogue>,
    /// The policy, machine or workload to describe.
    #[arg(requires = "what")]
    pub name: Option<String>,
    /// How to print it.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Catalogue {
    /// Schedulers.
    Policies,
    /// Hardware.
    Machines,
    /// Workloads.
    Workloads,
    /// What sched_ext schedulers can use.
    Scx,
    /// What `check` checks.
    Invariants,
}

/// How a list is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Text for a terminal.
    Table,
    /// JSON.
    Json,
}

/// One policy on one workload.
#[derive(Args)]
pub struct RunArguments {
    /// The policy: NAME, NAME:VARIANT, the path of a C file, which is compiled (with $CC), or a sched_ext scheduler: the
    /// program that loads it, with its options, or FILE.bpf.o.  Settings follow, each after a colon:
    /// o1:max_timeslice_ms=50, eevdf:7.1:TUNABLE=VALUE, mine.c:TUNABLE=VALUE; a whole table in quotes: 'svr4:quantum="1,2,…"'.
    #[arg(long, value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub policy: String,
    /// Flags of every run.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Several policies on one workload.
#[derive(Args)]
pub struct CompareArguments {
    /// The policies, separated by commas, each as for `run --policy`; or `all`: eevdf, then the others by
    /// name, each in its default variant.  One policy may have several settings: o1,o1:max_timeslice_ms=50.
    #[arg(long, value_name = "POLICIES", value_hint = ValueHint::FilePath)]
    pub policies: String,
    /// The policy that differences refer to, one of --policies.  It is shown first.  Default: the first.
    #[arg(long, value_name = "POLICY")]
    pub baseline: Option<String>,
    /// Flags of every run.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Experiments of the papers.
#[derive(Args)]
pub struct ReproduceArguments {
    /// The experiments, such as elsc-figure-3, or claims they judge, such as E4; or all of them.
    #[arg(default_value = "all")]
    pub experiments: Vec<String>,
    /// Shorter runs and fewer seeds, with the same verdicts, in about a seventh of the time.
    #[arg(long)]
    pub quick: bool,
    /// Judge each claim in its quick form at up to this many points of what papers do not state, such as costs of the machine.  A claim
    /// then holds (at 95 % of them), fails (at 5 %) or depends: --region 50.
    #[arg(long, value_name = "POINTS", conflicts_with = "world", allow_negative_numbers = true, value_parser = points)]
    pub region: Option<u16>,
    /// Let costs of machines vary by up to this part in a region: machine=0.3 is ±30 %.
    #[arg(long, value_name = "machine=PART", requires = "region", value_parser = part_of_machine)]
    pub perturb: Option<f64>,
    /// Write the book of results into a folder: index.html, figures, workloads, results.json, results.md.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub report: Option<PathBuf>,
    /// How to print the claims.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,
    /// Number of runs at the same time; results do not depend on it.  Default: the number of CPUs.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<u16>)]
    pub jobs: Option<u16>,
    /// Where the experiments run.  With vm, a smaller form of some experiments also runs in a real kernel with one CPU: elsc-figure-4, staircase-apache, staircase-mysql, ule-figure-3, ule-figure-5, ule-figure-6.
    #[arg(long, value_name = "WORLD", default_value = "sim")]
    pub world: World,
    /// The virtual machine of --world vm.
    #[command(flatten)]
    pub vm: VmMachineArguments,
}

/// Flags of every run.
#[derive(Args)]
pub struct CommonArguments {
    /// The workload: a built-in with its options ("volanomark --rooms 10"), the name of one in `list
    /// workloads`, or a file: .toml (schedlab's own format) or .json (rt-app's).  Can be repeated: tables are grouped by
    /// workload and machine.
    #[arg(long, value_name = "WORKLOAD", required_unless_present = "command", value_hint = ValueHint::FilePath)]
    pub workload: Vec<String>,
    /// Where the workload runs.  In a real kernel the workload can be a command after "--", the policy can be "none" (the kernel's
    /// own scheduler), and --machine has no effect.
    #[arg(long, value_name = "WORLD", default_value = "sim")]
    pub world: World,
    /// The hardware: a name of `list machines`, `ideal-N` (N CPUs without costs) or a .toml file.  Can be repeated.
    #[arg(long, value_name = "MACHINE", default_value = "desktop", value_hint = ValueHint::FilePath)]
    pub machine: Vec<String>,
    /// End of the run in simulated time, such as 500ms, 10s, 2min.  Default: what the workload says,
    /// or until its tasks have ended, or 10s for tasks that never end.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = positive_time)]
    pub duration: Option<Ns>,
    /// The seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "seeds", allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// Several runs, with medians and intervals: 5 (the seeds 1 to 5), 3..7, or 1,4,9.
    #[arg(long, value_name = "SEEDS", allow_hyphen_values = true)]
    pub seeds: Option<Seeds>,
    /// Tunables.
    #[command(flatten)]
    pub settings: Settings,
    /// How to print the result.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write the trace: .pftrace for ui.perfetto.dev, .ftrace for text.  Of several runs, each
    /// writes a file of its own: x.pftrace becomes x-POLICY.pftrace, with seeds x-POLICY-seedN.pftrace.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Write a report with figures: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Write the result as JSON as well, whatever --format prints.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Runs at the same time; results do not depend on it.  Default: the number of CPUs.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<u16>)]
    pub jobs: Option<u16>,
    /// How rt-app files are read.
    #[command(flatten)]
    pub rtapp: RtappArguments,
    /// Bounds that end a run with an error.
    #[command(flatten)]
    pub bounds: Bounds,
    /// The virtual machine.
    #[command(flatten)]
    pub vm: VmMachineArguments,
    /// The command to run in a real kernel (--world vm), after "--".
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "workload")]
    pub command: Vec<String>,
}

/// Where a workload runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum World {
    /// In the simulator.
    Sim,
    /// In a real Linux kernel, in a virtual machine.
    Vm,
}

/// Bounds that end a run with an error.
#[derive(Args, Clone, Copy)]
pub struct Bounds {
    /// End a run with an error after N simulated events.
    #[arg(long, value_name = "N", default_value_t = 100_000_000_000, allow_negative_numbers = true, value_parser = positive::<u64>)]
    pub max_events: u64,
    /// End a run with an error when more than N tasks have existed.
    #[arg(long, value_name = "N", default_value_t = 4_000_000, allow_negative_numbers = true, value_parser = positive::<u32>)]
    pub max_tasks: u32,
    /// End a run with an error when one call of a policy's hook takes more real CPU time than this.
    #[arg(long, value_name = "TIME", default_value = "20s", allow_hyphen_values = true, value_parser = hook_time)]
    pub hook_timeout: Ns,
    /// Compile policies given as C files with run-time checks: undefined behaviour and variables without a value
    /// stop the program, and the message names the line.
    #[arg(long)]
    pub sanitize: bool,
}

/// How a result is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for a terminal.
    Table,
    /// Markdown.
    Markdown,
    /// JSON, with everything that was measured.
    Json,
}

/// What to load into the kernel, and how.
#[cfg(feature = "live")]
#[derive(Args)]
pub struct LoadArguments {
    /// NAME, NAME:VARIANT or a C file.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub policy: String,
    /// Tunables.
    #[command(flatten)]
    pub settings: Settings,
    /// Schedule only tasks of class SCHED_EXT; all others stay with the kernel's own scheduler.
    #[arg(long)]
    pub partial: bool,
    /// Unload the policy when a runnable task has not run for this time: 1ms to 30s.
    #[arg(long, alias = "timeout", value_name = "TIME", default_value = "5s", allow_hyphen_values = true, value_parser = watchdog_time)]
    pub watchdog: Ns,
    /// Unload the policy after this time.
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, value_parser = positive_time)]
    pub duration: Option<Ns>,
    /// How each second's statistics are printed.
    #[arg(long, value_name = "FORMAT", default_value = "line")]
    pub stats: StatsFormat,
    /// The most tasks that can exist at the same time; memory for them is allocated at the start.
    #[arg(long, value_name = "N", default_value_t = 32768, allow_negative_numbers = true, value_parser = positive::<u32>)]
    pub max_tasks: u32,
    /// The BPF object to load, instead of the policy's own; its tunables are the policy's.
    #[arg(long, value_name = "FILE", hide = true, value_hint = ValueHint::FilePath)]
    pub object: Option<PathBuf>,
    /// Print the number of instructions that the verifier checked in each program.
    #[arg(long)]
    pub verified: bool,
}

/// What to compare.
#[cfg(feature = "live")]
#[derive(Args)]
pub struct ConformArguments {
    /// NAME, NAME:VARIANT or a C file.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub policy: String,
    /// Tunables.
    #[command(flatten)]
    pub settings: Settings,
    /// Another variant of the policy for the BPF side, to see whether differences are found.
    #[arg(long, value_name = "POLICY")]
    pub against: Option<String>,
    /// Number of scripts.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = positive::<u64>)]
    pub scripts: u64,
    /// Seed of the first script; the next ones have the next seeds.
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = seed)]
    pub seed: u64,
}

/// What to measure.
#[cfg(feature = "live")]
#[derive(Args)]
pub struct OverheadArguments {
    /// Policies, "none" for the kernel's own scheduler, "floor" for the least that sched_ext can do,
    /// "floor-preempting" for the least that preempts at each wakeup.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "none,floor,floor-preempting,all"
    )]
    pub policies: String,
    /// Numbers of tasks that yield to each other, one for each column of the second table.
    #[arg(
        long,
        value_name = "N,N,...",
        value_delimiter = ',',
        default_value = "2,8,32,64,128,256"
    )]
    pub yielding: Vec<u32>,
    /// A BPF object to load instead of those of the policies.
    #[arg(long, value_name = "FILE", hide = true, value_hint = ValueHint::FilePath)]
    pub object: Option<PathBuf>,
    /// How the tables are printed.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// The size of the workload.
#[cfg(feature = "live")]
#[derive(Args)]
pub struct HackbenchArguments {
    /// Groups of 20 senders and 20 receivers.
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = positive::<u32>)]
    pub groups: u32,
    /// Messages from each sender to each receiver.
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = positive::<u32>)]
    pub loops: u32,
    /// Run the tasks in class SCHED_EXT.
    #[arg(long)]
    pub ext: bool,
}

/// How a loaded scheduler's statistics are printed.
#[cfg(feature = "live")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// A line a second.
    Line,
    /// A JSON object a second, one to a line.
    Json,
    /// Nothing.
    None,
}

/// A command in a real kernel.
///
/// The output of the command is passed on; its exit status becomes that of schedlab.
#[derive(Args)]
pub struct VmArguments {
    /// The policy: NAME, NAME:VARIANT, or "none" for the kernel's own scheduler.
    #[arg(long, value_name = "POLICY", default_value = "none", value_hint = ValueHint::FilePath)]
    pub policy: String,
    /// Tunables.
    #[command(flatten)]
    pub settings: Settings,
    /// Another sched_ext scheduler: its program and arguments, as one word.  It is started before the command and stopped
    /// after it.
    #[arg(long, value_name = "PROGRAM", conflicts_with = "policy", value_hint = ValueHint::FilePath)]
    pub scheduler: Option<String>,
    /// Do not record, so that no tracepoint disturbs the times; then only times are printed.
    #[arg(long, conflicts_with_all = ["trace", "report", "json"])]
    pub no_record: bool,
    /// Record system calls that move data or wait, too, for `replay`.  A trace with them is .ftrace.
    #[arg(long, conflicts_with = "no_record")]
    pub data_flow: bool,
    /// How to print what was measured, on standard error.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write the trace: .pftrace for ui.perfetto.dev, .ftrace for text.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Write a report with figures: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Write what was measured as JSON, whatever --format prints.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// The virtual machine.
    #[command(flatten)]
    pub machine: VmMachineArguments,
    /// A workload to execute instead of a command; see `play`.
    #[arg(long, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: Option<String>,
    /// How the workload is executed.
    #[command(flatten)]
    pub played: PlayedArguments,
    /// The command, after "--".  Its program, its shared libraries and the files named by its arguments are copied into
    /// the guest; busybox provides other programs.
    #[arg(
        last = true,
        required_unless_present = "workload",
        conflicts_with = "workload",
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
}

/// What to record.
///
/// Without a command the whole machine is recorded for 10 s or until Ctrl-C.  With a command it is recorded as long as
/// the command runs; the exit status of the command becomes that of schedlab.
#[derive(Args)]
pub struct RecordArguments {
    /// Stop after this time.
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, value_parser = positive_time)]
    pub duration: Option<Ns>,
    /// Where to write the trace: .pftrace for ui.perfetto.dev, .ftrace for text.
    #[arg(long, short, value_name = "FILE", default_value = "schedlab.pftrace", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Record system calls that move data or wait, too, for `replay`.  The trace has to be .ftrace.
    #[arg(long)]
    pub data_flow: bool,
    /// How to print what was measured, on standard error.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write a report with figures: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Write what was measured as JSON, whatever --format prints.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// For `whatif`, whose process this is: tells on standard output when recording has begun, and records until standard
    /// input ends.
    #[arg(long, hide = true, value_name = "PID", conflicts_with_all = ["command", "duration"])]
    pub attended_by: Option<u32>,
    /// A command to run during the recording, after "--".
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// A recording, measured.
#[derive(Args)]
pub struct MeasureArguments {
    /// The recording: perf.data, the text of perf script, ftrace or trace-cmd report, or a Perfetto
    /// trace; plain or compressed with gzip, xz or zstd.
    #[arg(value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    pub recording: PathBuf,
    /// What to show.
    #[arg(long, value_name = "VIEW", default_value = "metrics")]
    pub view: View,
    /// How to print the metrics.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write a report with figures: one HTML file that needs nothing but a browser.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// How the recording is read.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// How recordings are read.
#[derive(Args, Clone, Copy, Default)]
pub struct ReadingArguments {
    /// Most that a compressed recording may decompress to, such as 8GiB.  Default: 256 MiB, or 100 times
    /// its size if that is more, up to the size of the memory.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = bytes)]
    pub max_decompressed: Option<u64>,
}

/// What to show of a recording.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// All metrics of schedlab, and the contents of the recording.
    Metrics,
    /// Each task's waits for a CPU, laid out as by `perf sched latency -p`.
    Latency,
    /// Each time a task ran, laid out as by `perf sched timehist`.
    Timehist,
}

/// A recording in another format.
#[derive(Args)]
pub struct ConvertArguments {
    /// The recording, as for `measure`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// The new file: .pftrace for ui.perfetto.dev, .ftrace for ftrace's text, .perf-script.txt for
    /// perf script's.
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// How the recording is read.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// A virtual machine.
#[derive(Args)]
#[command(next_help_heading = "Virtual machine")]
pub struct VmMachineArguments {
    /// The kernel image to boot.  Default: Debian's newest, fetched once and kept in the cache.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kernel: Option<PathBuf>,
    /// Number of CPUs.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = vm_cpus)]
    pub cpus: u32,
    /// Size of the memory.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", allow_hyphen_values = true, value_parser = memory_mib)]
    pub memory: u64,
    /// The clock of the guest.
    #[arg(long, value_name = "CLOCK", default_value = "deterministic")]
    pub clock: VmClock,
    /// End with an error after this real time.
    #[arg(long, value_name = "TIME", default_value = "10min", allow_hyphen_values = true, value_parser = positive_time)]
    pub timeout: Ns,
    /// The kernel unloads a policy when a runnable task has not run for this time in the guest: 1ms to 30s.
    /// Default: 5s.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = watchdog_time)]
    pub watchdog: Option<Ns>,
    /// Copy a file or a folder into the guest, with the same path.  Can be repeated.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub with: Vec<PathBuf>,
}

/// The clock of a guest.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VmClock {
    /// One instruction takes one nanosecond, so runs are identical.  All CPUs share one instruction counter.
    Deterministic,
    /// The clock of the host.
    Fast,
}

/// Where the description comes from and goes.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
#[command(after_help = "Examples:
  schedlab machine --from-host -o mine.toml
  schedlab compare --policies eevdf,o1 --workload hackbench --machine mine.toml
  schedlab machine --from lstopo.xml                       # a machine of which there is only a file

Every number names its source; what was not measured says \"assumed\".  docs/machines.md explains the file.")]
pub struct MachineArguments {
    /// Describe this machine: topology, tick rate, and costs measured in about ten seconds.
    #[arg(long, group = "source")]
    pub from_host: bool,
    /// Describe the machine of a file: the output of `lscpu -J` or of `lstopo --of xml`.
    #[arg(long, group = "source", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,
    /// Write the description into this file instead of printing it.
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Measure nothing: all costs are assumed.
    #[arg(long, requires = "from_host")]
    pub no_measure: bool,
    /// The folder that holds a copy of another machine's /sys and /proc.  Nothing is measured then.
    #[arg(long, requires = "from_host", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub sysfs: Option<PathBuf>,
}

/// The name and place of a new policy.
#[derive(Args)]
pub struct NewArguments {
    /// The policy's name: lower-case letters, digits and underscores.
    pub name: String,
    /// Where the new folder is put; the policy becomes DIR/NAME/NAME.c.
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// Where the site is, and how a browser reaches it.
#[derive(Args)]
pub struct OpenArguments {
    /// The folder that "make site" wrote [default: out/site, or share/schedlab/site beside the program's folder].
    #[arg(value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// The port on the loopback address; 0: any that is free.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Print the address only.
    #[arg(long)]
    pub no_browser: bool,
}

/// A whole number of at least 1.
fn positive<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|&n: &u64| n > 0);
    number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
        format!(
            "a whole number from 1 to {}",
            u64::MAX >> (64 - 8 * size_of::<T>())
        )
    })
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("a whole number from 0 to {}", u64::MAX))
}

fn points(text: &str) -> Result<u16, String> {
    let points = text
        .parse()
        .ok()
        .filter(|points| (20..=10_000).contains(points));
    points.ok_or_else(|| "a whole number from 20 to 10000".into())
}

fn part_of_machine(text: &str) -> Result<f64, String> {
    let part = text
        .strip_prefix("machine=")
        .and_then(|part| part.parse().ok());
    let part = part.filter(|part: &f64| 0.0 < *part && *part < 1.0);
    part.ok_or_else(|| "machine= and a part above 0 and below 1, such as machine=0.3".into())
}

fn positive_time(text: &str) -> Result<Ns, String> {
    match schedlab_input::quantity::duration(text) {
        Ok(Ns::ZERO) => Err("a duration longer than 0".into()),
        Ok(time) => Ok(time),
        Err(mistake) => Err(mistake.expected),
    }
}

#[cfg(feature = "live")]
fn watchdog_time(text: &str) -> Result<Ns, String> {
    match positive_time(text)? {
        time if (Ns::from_ms(1)..=Ns::from_secs(30)).contains(&time) => Ok(time),
        _ => Err("1ms to 30s".into()),
    }
}

/// The number of CPUs; QEMU's PC has at most 255.
fn vm_cpus(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| (1..=255).contains(n));
    number.ok_or_else(|| "a whole number from 1 to 255".into())
}

fn bytes(text: &str) -> Result<u64, String> {
    schedlab_input::quantity::size(text).map_err(|mistake| mistake.expected)
}

fn memory_mib(text: &str) -> Result<u64, String> {
    match schedlab_input::quantity::size(text) {
        Ok(bytes) if bytes >= 128 << 20 => Ok(bytes >> 20),
        Ok(_) => Err("at least 128MiB".into()),
        Err(mistake) => Err(mistake.expected),
    }
}

fn hook_time(text: &str) -> Result<Ns, String> {
    match positive_time(text)? {
        time if time < Ns::from_ms(100) => Err("at least 100ms".into()),
        time => Ok(time),
    }
}
