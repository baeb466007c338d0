//! The door between a loader and a machine: an unmodified loader runs, and what it asks of the kernel is answered
//! by a machine of schedlab.
//!
//! The loader is a child whose system calls wait for answers (seccomp user notification).  bpf(2) is answered by
//! [`calls`]; files that say what the machine is come from [`sysfs`]; clocks and sleep are simulated ([`clock`]).
//! No privilege is needed, and the loader gets none.

mod calls;
mod child;
mod clock;
mod elf;
mod events;
mod files;
mod filter;
mod notify;
mod objects;
mod peer;
mod programs;
mod relocations;
mod rings;
mod session;
mod sysfs;
mod system;
mod tree;
mod variables;
mod wire;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schedlab_trace::printable;

use crate::ext::Hardware;
use crate::machine::{Kernel, Machine, Ops, Refusal, Topology};
use crate::userspace::Starter;
use crate::Image;

pub use elf::mistake;
pub use relocations::{relocations, Relocations};
pub use variables::{variables, Variable};

/// How a scheduler is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loader {
    /// The program that loads it.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The file with the BPF object: the program itself, or what it loads.
    pub object: PathBuf,
}

/// A scheduler that was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// To make machines of.
    pub image: Arc<Image>,
    /// What it attached.
    pub ops: Ops,
    /// Programs that wait for events that no simulation has.
    pub idle: Vec<String>,
}

/// Whether the caller asks to stop.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Why a scheduler was not loaded.
#[derive(Debug)]
pub enum Unloaded {
    /// What it needs does not exist here.
    Refused(Vec<Refusal>),
    /// Symbols of the kernel that do not exist here.
    Missing(Vec<String>),
    /// Its loader failed.
    Failed(Failure),
    /// A program of it waits for an event that simulations have, but that no program hears of.
    Unheard(String),
    /// The caller asked to stop.
    Stopped,
    /// The system has not what it takes.
    System(io::Error),
}

/// A loader that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What it did.
    pub what: String,
    /// What may have been the cause.
    pub causes: Vec<String>,
    /// The last lines it wrote.
    pub lines: Vec<String>,
}

impl From<io::Error> for Unloaded {
    fn from(error: io::Error) -> Unloaded {
        Unloaded::System(error)
    }
}

impl std::error::Error for Unloaded {}

impl fmt::Display for Unloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unloaded::Refused(refusals) => {
                let mut first = true;
                for refusal in refusals {
                    let separator = if first { "" } else { "; " };
                    first = false;
                    write!(f, "{separator}{refusal}")?;
                }
                Ok(())
            }
            Unloaded::Missing(symbols) => write!(
                f,
                "it needs {}, which the simulated kernel does not have (\"schedlab list scx\" shows what it has)",
                symbols.join(", ")
            ),
            Unloaded::Failed(failure) => failure.fmt(f),
            Unloaded::Unheard(event) => write!(
                f,
                "one of its programs waits for the tracepoint {event}, which simulations do not raise"
            ),
            Unloaded::Stopped => f.write_str("stopped"),
            Unloaded::System(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for cause in &self.causes {
            write!(f, "; {}", printable(cause))?;
        }
        match self.lines.is_empty() {
            true => Ok(()),
            false => {
                let lines: Vec<_> = self.lines.iter().map(|line| printable(line)).collect();
                write!(f, "; it says: {}", lines.join(" | "))
            }
        }
    }
}

/// The bytes of an object with a scheduler.
///
/// # Errors
/// Why it is none.
pub fn object(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    elf::mistake(&bytes).map_or(Ok(bytes), Err)
}

/// Loads a scheduler for a machine.
///
/// # Errors
/// Why it cannot be loaded; no process is left behind.
pub fn load(
    loader: &Loader,
    kernel: &Arc<Kernel>,
    machine: &schedlab_machine::Machine,
    stop: Stop,
) -> Result<Loaded, Unloaded> {
    let (mut session, mut m) = begin(loader, kernel, machine)?;
    session.until_asleep(&mut m, stop)?;
    let acts = session.acts_later(&mut m, stop)?;
    let bpf = session.into_bpf();
    let takes_part = acts || bpf.has_written(&m)? || bpf.hands_over(&m);
    m.this_cpu = 0;
    let ops = bpf.ops();
    m.attach(ops.clone());
    m.ext.hardware = hardware(machine);
    let mut image = m.freeze()?;
    if takes_part {
        image.start_with(Box::new(AtEachRun {
            loader: loader.clone(),
            kernel: kernel.clone(),
            machine: machine.clone(),
        }));
    }
    Ok(Loaded {
        image: Arc::new(image),
        ops,
        idle: bpf.idle,
    })
}

/// Starts a loader for a machine.
fn begin(
    loader: &Loader,
    kernel: &Arc<Kernel>,
    machine: &schedlab_machine::Machine,
) -> Result<(session::Session, Box<Machine>), Unloaded> {
    let object = events::read(&loader.object);
    let offered = events::Offered::new(&kernel.btf, &object);
    let tree = sysfs::files(machine, &offered.bytes);
    let mut m = Machine::new(kernel, &topology(machine))?;
    m.relocations = Arc::new(relocations::relocations(&object));
    let bpf = calls::Bpf::new(kernel, offered);
    let child = child::Child::start(&loader.program, &loader.arguments, &[])?;
    let files = files::Files::new(tree);
    let session = session::Session::new(child, bpf, files, machine.cpus.len(), object);
    Ok((session, m))
}

/// A loader that is started for each run, because its part in user space takes part.
#[derive(Debug)]
struct AtEachRun {
    loader: Loader,
    kernel: Arc<Kernel>,
    machine: schedlab_machine::Machine,
}

impl Starter for AtEachRun {
    fn start(&self) -> io::Result<Box<Machine>> {
        let attached = begin(&self.loader, &self.kernel, &self.machine);
        let attached = attached.and_then(|(mut session, mut m)| {
            session.until_attaching(&mut m, &|| false)?;
            m.this_cpu = 0;
            m.attach(session.bpf.ops());
            m.ext.hardware = hardware(&self.machine);
            m.user_space = Some(Box::new(session));
            m.is_live = true;
            Ok(m)
        });
        attached.map_err(|unloaded| match unloaded {
            Unloaded::System(error) => error,
            other => io::Error::other(other.to_string()),
        })
    }
}

/// What schedulers may ask of a machine beyond its topology.
fn hardware(machine: &schedlab_machine::Machine) -> Hardware {
    let nodes = machine
        .cpus
        .iter()
        .map(|cpu| cpu.node + 1)
        .max()
        .unwrap_or(1);
    let row = |from| (0..nodes).map(|to| machine.distance(from, to)).collect();
    Hardware {
        capacities: machine.cpus.iter().map(|cpu| cpu.capacity).collect(),
        distances: (0..nodes).map(row).collect(),
    }
}

/// A machine's CPUs, as policies see them.
fn topology(machine: &schedlab_machine::Machine) -> Topology {
    let cpu = |cpu: &schedlab_machine::Cpu| schedlab_policy::Topology {
        core: cpu.core,
        llc: cpu.cache,
        node: cpu.node,
        capacity: cpu.capacity,
    };
    Topology {
        cpus: machine.cpus.iter().map(cpu).collect(),
    }
}
