//! Process 1 of the guest: sets up the system, runs the command, reports to the host.

mod device;
mod kernel_log;
mod mounts;
mod network;
mod observer;
mod processes;
mod recorder;
mod run;
mod scheduler;

use std::fs;
use std::io;

use rustix::system::{reboot, sethostname, uname, RebootCommand};
use rustix::time::{clock_gettime, ClockId};

use crate::channel::{Kind, Writer};
use crate::job::{Hello, Job, JOB_FILE};

use device::SharedMemory;

/// The kernel parameter that makes this program act as process 1 of a guest.
pub const ARGUMENT: &str = "schedlab-guest";

/// Is this process 1 of a guest?
pub fn is_this() -> bool {
    // Unknown kernel parameters may come before this one.
    std::process::id() == 1 && std::env::args_os().any(|argument| argument == ARGUMENT)
}

/// The channel to the host.
type Host = Writer<SharedMemory>;

/// Does the guest's work, then powers the machine off.
pub fn main() -> ! {
    if let Err(problem) = work() {
        // Without a channel to the host, only the console is left.
        eprintln!("schedlab: guest: {problem}");
    }
    loop {
        // Powering off cannot fail for process 1; if the machine still runs, the host's timeout
        // ends it.
        let _ = reboot(RebootCommand::PowerOff);
        std::thread::park();
    }
}

/// An error message.
type Problem = String;

fn work() -> Result<(), Problem> {
    mounts::mount_all()?;
    let memory =
        SharedMemory::find().map_err(|e| format!("the memory shared with the host: {e}"))?;
    let mut host = Writer::new(memory);
    match serve(&mut host) {
        Ok(()) => send(&mut host, Kind::Done, &[]),
        Err(problem) => send(&mut host, Kind::Failed, problem.as_bytes()),
    }
}

fn serve(host: &mut Host) -> Result<(), Problem> {
    let hello = Hello {
        release: uname().release().to_string_lossy().into_owned(),
        boot_ns: now_ns(),
    };
    send_json(host, Kind::Hello, &hello)?;
    // The guest's output must not contain the host's name.
    let _ = sethostname(b"schedlab");
    network::loopback_up().map_err(|e| format!("the loopback network: {e}"))?;
    let text = fs::read(JOB_FILE).map_err(|e| format!("{JOB_FILE}: {e}"))?;
    let job: Job = serde_json::from_slice(&text).map_err(|e| format!("{JOB_FILE}: {e}"))?;
    run::run(&job, host)
}

/// Nanoseconds since the kernel started.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn send(host: &mut Host, kind: Kind, bytes: &[u8]) -> Result<(), Problem> {
    host.send(kind, &[bytes]).map_err(cannot_send)
}

fn send_json(host: &mut Host, kind: Kind, content: &impl serde::Serialize) -> Result<(), Problem> {
    let text = serde_json::to_vec(content).map_err(|e| e.to_string())?;
    send(host, kind, &text)
}

fn cannot_send(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            "the memory shared with the host is full: too much output and trace".into()
        }
        _ => format!("the memory shared with the host: {error}"),
    }
}
