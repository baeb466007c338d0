//! Loading a policy into the kernel.

use std::sync::Mutex;
use std::time::Duration;

use libbpf_rs::{Link, PrintLevel};
use schedlab_policy::Tuned;

use crate::object::{
    open, open_floor, open_plain, set_operations, Calls, Config, Object, Operations,
};
use crate::park::Parked;
use crate::{kernel, topology, Ending, Statistics};

/// Why a policy cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel is built without sched_ext.
    #[error(
        "this kernel has no sched_ext (Linux 6.12 or later, built with CONFIG_SCHED_CLASS_EXT=y)"
    )]
    NoSchedExt,
    /// The kernel has no BTF.
    #[error("this kernel has no BTF: /sys/kernel/btf/vmlinux is missing (it needs CONFIG_DEBUG_INFO_BTF=y)")]
    NoBtf,
    /// Not root.
    #[error("loading a scheduler needs root: try sudo")]
    NotRoot,
    /// A scheduler is already loaded.
    #[error("another sched_ext scheduler is loaded: {0}; end it first")]
    Occupied(String),
    /// The object was not built by this program.
    #[error("this object was not built from crates/bpf/main.bpf.c")]
    NotOurs,
    /// The kernel refused the program.
    #[error("the kernel refuses the program: {0}")]
    Refused(String),
    /// The verifier accepted the program, but the kernel does not attach the scheduler.
    #[error("the kernel does not attach the scheduler: {0}")]
    NotAttached(String),
}

impl Error {
    /// Adds the last lines of the verifier's log to the error.
    pub(crate) fn open(error: libbpf_rs::Error) -> Error {
        let said = LOG.lock().map(|log| log.join("")).unwrap_or_default();
        match said.is_empty() {
            true => Error::Refused(format!("{error:#}")),
            false => Error::Refused(format!("{error:#}\n{}", said.trim_end())),
        }
    }
}

/// How a scheduler is loaded.
#[derive(Clone, Debug)]
pub struct Options {
    /// Schedule only tasks of class SCHED_EXT; the kernel's own scheduler keeps the others.
    pub partial: bool,
    /// The watchdog's timeout: a task that is runnable for this long without running ends the
    /// scheduler; at most 30 s.
    pub timeout: Duration,
    /// Most tasks at once.
    pub max_tasks: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            partial: false,
            timeout: Duration::from_secs(5),
            max_tasks: 32768,
        }
    }
}

/// A policy and its BPF object.
pub struct Program<'a> {
    /// The policy with its tunables.
    pub tuned: &'a Tuned,
    /// The object that [`schedlab_bpf`] compiled.
    pub code: &'a [u8],
}

/// A loaded scheduler; dropping it unloads it.
pub struct Loaded {
    object: Object,
    link: Option<Link>,
    counters: usize,
}

/// Tasks of a comparison: `SCRIPT_TASKS` in conform.h.
pub(crate) const SMALL: u32 = 64;

/// Tick rate in Hz for policies without a tunable `hz`.
const DEFAULT_HZ: u32 = 100;

/// Makes a policy the system's scheduler.
///
/// # Errors
/// The kernel does not support it or refuses it.
pub fn load(program: &Program, options: &Options) -> Result<Loaded, Error> {
    kernel::check()?;
    let object = prepare(program, options)?;
    let name = format!("schedlab_{}", program.tuned.name());
    let mut loaded = attach(object, &options.operations(name, true))?;
    loaded.counters = program.tuned.policy.counters().len();
    Ok(loaded)
}

/// Loads the smallest scheduler, "floor" of [`schedlab_bpf::other`]. It has no statistics. With
/// `preempts` a woken task preempts the running one.
///
/// # Errors
/// As [`load`].
pub fn load_floor(code: &[u8], preempts: bool, options: &Options) -> Result<Loaded, Error> {
    kernel::check()?;
    keep_log();
    let operations = options.operations("schedlab_floor".into(), false);
    attach(open_floor(code, preempts)?, &operations)
}

/// Runs programs that are not part of a scheduler, one after the other, `times` times each; see
/// [`crate::count_calls`].
///
/// # Errors
/// The kernel refuses them, or one returns an error.
pub fn run_programs(
    code: &[u8],
    names: &[&str],
    times: u32,
) -> Result<Vec<(String, Calls)>, Error> {
    kernel::check()?;
    keep_log();
    let mut object = Object::load(open_plain(code)?)?;
    for name in names {
        for _ in 0..times {
            object
                .run(name)
                .filter(|&answer| answer == 0)
                .ok_or_else(|| Error::Refused(format!("{name} returned an error")))?;
        }
    }
    Ok(object.calls())
}

impl Options {
    fn operations(&self, name: String, hears_all: bool) -> Operations {
        Operations {
            name,
            hears_all,
            partial: self.partial,
            timeout_ms: self.timeout.as_millis().min(30_000) as u32,
            hotplug_seq: kernel::hotplug_seq(),
        }
    }
}

fn attach(mut object: libbpf_rs::OpenObject, operations: &Operations) -> Result<Loaded, Error> {
    set_operations(&mut object, operations)?;
    let mut object = Object::load(object)?;
    let parked = Parked::if_emulated();
    let attached = object
        .map("schedlab_ops")
        .ok_or(Error::NotOurs)?
        .attach_struct_ops();
    drop(parked);
    let mut loaded = Loaded {
        object,
        link: None,
        counters: 0,
    };
    match attached {
        Ok(link) => loaded.link = Some(link),
        Err(error) => {
            let why = loaded.ending().map(|ending| ending.to_string());
            return Err(Error::NotAttached(
                why.unwrap_or_else(|| format!("{error:#}")),
            ));
        }
    }
    Ok(loaded)
}

fn prepare(program: &Program, options: &Options) -> Result<libbpf_rs::OpenObject, Error> {
    keep_log();
    let config = Config::new(
        program.tuned,
        &topology::places(),
        options.max_tasks,
        DEFAULT_HZ,
    );
    open(program.code, program.tuned, &config)
}

impl Loaded {
    /// Counts since the scheduler was loaded.
    pub fn statistics(&mut self) -> Option<Statistics> {
        self.object.run("add_up")?;
        let totals = self.object.variables(".data.totals")?;
        Statistics::read(&totals, self.counters)
    }

    /// Why it ended; `None` while it is loaded.
    pub fn ending(&mut self) -> Option<Ending> {
        Ending::read(&self.object.variables(".data.exit")?)
    }

    /// Instructions that the verifier processed, for each program.
    pub fn verified_instructions(&self) -> Vec<(String, u32)> {
        self.object.verified_instructions()
    }

    /// Calls of each program and their total time; see [`crate::count_calls`].
    pub fn calls(&self) -> Vec<(String, Calls)> {
        self.object.calls()
    }

    /// Unloads the scheduler and says why it ended.
    pub fn unload(&mut self) -> Option<Ending> {
        let parked = self.link.is_some().then(Parked::if_emulated);
        self.link.take();
        drop(parked);
        self.ending()
    }
}

/// The last lines libbpf and the verifier printed, for messages.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

const LOG_LINES: usize = 40;

pub(crate) fn keep_log() {
    if let Ok(mut log) = LOG.lock() {
        log.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Info, |_, text| {
        if let Ok(mut log) = LOG.lock() {
            log.extend(text.lines().map(|line| format!("{line}\n")));
            let surplus = log.len().saturating_sub(LOG_LINES);
            log.drain(..surplus);
        }
    })));
}
