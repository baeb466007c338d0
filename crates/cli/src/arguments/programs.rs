//! Flags of the commands that run workloads as real programs.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use schedlab_programs::chat::Plan;
use schedlab_trace::Ns;
use schedlab_workload::builtin::values::{number, sigma, time};

use super::{positive, positive_time, seed, RtappArguments, VmMachineArguments};

/// A workload, executed.
///
/// Each task becomes a thread or a process that computes, sleeps, waits and wakes others as its program says, with the
/// same random draws as in the simulator.  The scheduler of this machine decides which task runs.
#[derive(Args)]
pub struct PlayArguments {
    /// The workload: a built-in with its options in one word ("volanomark --rooms 10"), the name of
    /// one in `list workloads`, or a file: .toml (schedlab's own format) or .json (rt-app's).
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: String,
    /// How the workload is executed.
    #[command(flatten)]
    pub played: PlayedArguments,
    /// Print no result, and no notes on differences from the workload.
    #[arg(long)]
    pub quiet: bool,
}

/// How a workload is executed.
#[derive(Args, Clone)]
pub struct PlayedArguments {
    /// End of the run in the machine's time, such as 500ms, 10s, 2min.  Default: what the workload says, or
    /// until its tasks have ended, or 10s for tasks that never end.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = positive_time)]
    pub duration: Option<Ns>,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// How rt-app files are read.
    #[command(flatten)]
    pub rtapp: RtappArguments,
}

/// late, as the ULE paper describes it.
///
/// All tasks start at the same time.  A line each second shows their delays; a table follows at the end.
#[derive(Args)]
pub struct LateArguments {
    /// The tasks, as in the built-in workload.
    #[command(flatten)]
    pub late: schedlab_workload::builtin::Late,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
}

/// chat over TCP.
///
/// Every user sends all its messages at once; the server's threads pass each on to the other users of the room.  CPU
/// times are computed in addition to what sockets and threads cost here.
#[derive(Args)]
pub struct ChatArguments {
    /// Chat rooms.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number(1, 25_000))]
    pub rooms: u32,
    /// Messages each user sends.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = number(1, 1_000_000))]
    pub messages: u32,
    /// Users in each room.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number(2, 200))]
    pub users: u32,
    /// Median CPU time to send a message.
    #[arg(long, default_value = "30us", value_name = "TIME", value_parser = time)]
    pub send: Ns,
    /// Median CPU time to receive it.
    #[arg(long, default_value = "25us", value_name = "TIME", value_parser = time)]
    pub receive: Ns,
    /// Median CPU time to put it into one user's queue.
    #[arg(long, default_value = "3us", value_name = "TIME", value_parser = time)]
    pub put: Ns,
    /// How much the CPU times vary: standard deviation of their logarithm.
    #[arg(long, default_value = "0.2", value_name = "SIGMA", value_parser = sigma)]
    pub variation: u32,
}

impl From<&ChatArguments> for Plan {
    fn from(options: &ChatArguments) -> Plan {
        Plan {
            rooms: options.rooms,
            users: options.users,
            count: options.messages,
            write: options.send,
            read: options.receive,
            put: options.put,
            sigma_milli: options.variation,
            polite: false,
        }
    }
}

/// The simulator compared with a real kernel.
///
/// Each workload runs under each policy in the simulator, and in the deterministic virtual machine
/// with one CPU that the simulated machine describes.
#[derive(Args)]
pub struct FidelityArguments {
    /// The policies, separated by commas, or all of them.
    #[arg(long, value_name = "POLICIES", default_value = "all")]
    pub policies: String,
    /// A workload instead of the default ones.  Can be repeated.
    #[arg(long = "workload", value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// Instead, so many random trees of control groups, under the kernel's own scheduler and eevdf:7.1.
    #[arg(long, value_name = "N", value_parser = positive::<u16>, conflicts_with_all = ["policies", "workloads"])]
    pub groups: Option<u16>,
    /// The simulated machine.
    #[arg(long, value_name = "MACHINE", default_value = "qemu-icount", value_hint = ValueHint::FilePath)]
    pub model: String,
    /// The duration of each run.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = positive_time)]
    pub duration: Ns,
    /// Write the tables into this file, between its lines "tables: begin" and "tables: end"; with --groups, "groups: …".
    #[arg(long, value_name = "FILE.md", value_hint = ValueHint::FilePath)]
    pub write: Option<PathBuf>,
    /// Number of virtual machines at the same time.  Default: the number of CPUs.
    #[arg(long, value_name = "N", value_parser = positive::<u16>)]
    pub jobs: Option<u16>,
    /// The virtual machine.
    #[command(flatten)]
    pub machine: VmMachineArguments,
}

/// Predictions compared with the truth.
///
/// Each workload is recorded in the deterministic virtual machine, under the kernel's own scheduler or another one, replayed
/// under each policy, and really run under each.
#[derive(Args)]
pub struct StudyArguments {
    /// The policies, separated by commas; "none" is the kernel's own scheduler.
    #[arg(
        long,
        value_name = "POLICIES",
        default_value = "o1,ule,bsd43,cfs,linux24,staircase"
    )]
    pub policies: String,
    /// The policy under which the recordings are made; "none" is the kernel's own scheduler.
    #[arg(long, value_name = "POLICY", default_value = "none")]
    pub recorded_under: String,
    /// Predict runs on a machine of so many CPUs.  Default: those of the recorded one.
    #[arg(long, value_name = "N", value_parser = positive::<u16>)]
    pub predicted_cpus: Option<u16>,
    /// A workload instead of the default ones: a command, or "play WORKLOAD".  Can be repeated.
    #[arg(long = "workload", value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// Write the tables into this file, between its lines "tables: begin" and "tables: end".
    #[arg(long, value_name = "FILE.md", value_hint = ValueHint::FilePath)]
    pub write: Option<PathBuf>,
    /// Keep the recordings of commands in this folder, and take those that are there instead of running again.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// Write the figures as JSON as well.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// The virtual machine.
    #[command(flatten)]
    pub machine: VmMachineArguments,
}
