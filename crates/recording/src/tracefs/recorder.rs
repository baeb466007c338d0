//! Recording through a trace instance: set up, started, read, stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{access, Access, OFlags};
use rustix::system::uname;
use rustix::time::{clock_gettime, ClockId};
use schedlab_trace::{CpuId, Time};
use serde::{Deserialize, Serialize};

use crate::decode::{Description, YIELD};
use crate::{flow, RecordingError};

use super::instance::{append, Instance};
use super::tasks::all_tasks;

/// Mount points of tracefs; the second is that of older kernels.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Events every recording needs.
const NEEDED: [&str; 4] = [
    "sched/sched_switch",
    "sched/sched_wakeup",
    "sched/sched_wakeup_new",
    "sched/sched_process_fork",
];

/// Events that improve a recording; old kernels lack some.
const WANTED: [&str; 6] = [
    "sched/sched_waking",
    "sched/sched_migrate_task",
    "sched/sched_process_exit",
    "sched/sched_process_exec",
    "task/task_newtask",
    "task/task_rename",
];

/// The kernel's functions of sched_yield(2), by architecture. A probe on one slows down sched_yield
/// only; the tracepoint of system calls would slow down every system call.
const YIELD_FUNCTIONS: [&str; 2] = ["__x64_sys_sched_yield", "__arm64_sys_sched_yield"];

/// The events of all system calls, with a filter: for kernels without an event for each call.
const CALLS: [&str; 2] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"];

/// Calls made to measure the cost of recording one.
const TRIED_CALLS: u32 = 1000;

/// Fill of a buffer, in percent, at which its reader is woken.
const WAKE_AT: &str = "50";

/// A recorder of the kernel this program runs on.
pub struct Recorder {
    tracefs: PathBuf,
    /// Closed before the instance is removed: fields are dropped in this order.
    pipes: Vec<(CpuId, File)>,
    instance: Instance,
    description: Description,
    page: Vec<u8>,
    call_cost_ns: u64,
}

/// Times and losses of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Start, on the kernel's monotonic clock.
    pub start_ns: u64,
    /// End, on the same clock.
    pub end_ns: u64,
    /// Events lost because they came faster than they were read.
    pub nr_lost: u64,
    /// CPU time that recording a system call costs its task, in ns; 0 if they are not recorded.
    #[serde(default)]
    pub call_cost_ns: u64,
}

/// What to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// System calls that move data or wait, too.
    pub data_flow: bool,
}

impl Recorder {
    /// Sets everything up, with a buffer of `buffer_kib` for each CPU; nothing is recorded yet.
    /// Tasks of this process and of the processes `observers` are marked as part of the recording program.
    ///
    /// # Errors
    /// No tracefs, no permission, no `sched_switch`.
    pub fn new(
        buffer_kib: u64,
        observers: &[u32],
        wanted: Wanted,
    ) -> Result<Recorder, RecordingError> {
        let tracefs = find_tracefs()?;
        let instance = Instance::create(&tracefs).map_err(RecordingError::file(&tracefs))?;
        let mut recorder = Recorder {
            tracefs,
            pipes: Vec::new(),
            instance,
            description: Description {
                header_page: String::new(),
                formats: Vec::new(),
                tasks: Vec::new(),
                nr_cpus: 0,
                release: uname().release().to_string_lossy().into_owned(),
            },
            page: vec![0; 1 << 16],
            call_cost_ns: 0,
        };
        recorder.set_up(buffer_kib)?;
        if wanted.data_flow {
            recorder.record_calls()?;
        }
        let observers = [&[std::process::id()], observers].concat();
        recorder.description.tasks = all_tasks(&observers, wanted.data_flow);
        Ok(recorder)
    }

    fn set_up(&mut self, buffer_kib: u64) -> Result<(), RecordingError> {
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &buffer_kib.to_string())?;
        // Kernels before 6.1 lack this file and wake readers at every page, which disturbs the machine more.
        let _ = self.write("buffer_percent", WAKE_AT);
        self.description.header_page = self.read("events/header_page")?;
        for event in NEEDED {
            self.enable(event).map_err(|error| match error {
                RecordingError::File { .. } => RecordingError::NoTracepoint(event.into()),
                other => other,
            })?;
        }
        for event in WANTED {
            // Missing events are inferred when the recording is played.
            let _ = self.enable(event);
        }
        self.probe_yields();
        self.open_pipes()
    }

    /// Records the system calls that data flow needs, and measures the cost of recording them.
    fn record_calls(&mut self) -> Result<(), RecordingError> {
        let without = self.time_of_calls();
        // New kernels copy the data of a write into its event.
        let _ = self.write("syscall_user_buf_size", "0");
        if !self.enable_calls() {
            for event in CALLS {
                self.write(&format!("events/{event}/filter"), &flow::filter())?;
                self.enable(event)?;
            }
        }
        self.write("tracing_on", "1")?;
        let with = self.time_of_calls();
        self.write("tracing_on", "0")?;
        self.write("trace", "")?;
        self.call_cost_ns = with.saturating_sub(without) / u64::from(TRIED_CALLS);
        Ok(())
    }

    /// Enables the events of single calls, so that other calls cost nothing. False: the kernel has
    /// no such events.
    fn enable_calls(&mut self) -> bool {
        let mut enabled = false;
        for name in flow::names() {
            for side in ["enter", "exit"] {
                // A kernel lacks calls that are newer than it, or that were removed.
                enabled |= self.enable(&format!("syscalls/sys_{side}_{name}")).is_ok();
            }
        }
        enabled
    }

    /// Time of `TRIED_CALLS` calls without effect, in ns.
    fn time_of_calls(&self) -> u64 {
        let Ok(nothing) = File::open("/dev/null") else {
            return 0;
        };
        let begun = now();
        for _ in 0..TRIED_CALLS {
            let _ = (&nothing).read(&mut [0]);
        }
        now().since(begun).0
    }

    /// Enables an event and keeps its format.
    fn enable(&mut self, event: &str) -> Result<(), RecordingError> {
        let format = self.read(&format!("events/{event}/format"))?;
        self.write(&format!("events/{event}/enable"), "1")?;
        self.description.formats.push(format);
        Ok(())
    }

    /// Sets a probe on sched_yield(2). Without it, yields look like preemption.
    fn probe_yields(&mut self) {
        let group = self.instance.probe_group();
        let definitions = self.tracefs.join("kprobe_events");
        for function in YIELD_FUNCTIONS {
            let definition = format!("p:{group}/{YIELD} {function}\n");
            if append(&definitions, &definition).is_ok() {
                let _ = self.enable(&format!("{group}/{YIELD}"));
                return;
            }
        }
    }

    fn open_pipes(&mut self) -> Result<(), RecordingError> {
        let folder = self.instance.path().join("per_cpu");
        let entries = fs::read_dir(&folder).map_err(RecordingError::file(&folder))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut cpus: Vec<u32> = names
            .filter_map(|n| n.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        for cpu in cpus {
            let path = folder.join(format!("cpu{cpu}/trace_pipe_raw"));
            let pipe = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits() as i32)
                .open(&path);
            self.pipes
                .push((CpuId(cpu), pipe.map_err(RecordingError::file(&path))?));
        }
        self.description.nr_cpus = self.pipes.last().map_or(1, |(cpu, _)| cpu.0 + 1);
        Ok(())
    }

    /// Starts recording; returns the time.
    ///
    /// # Errors
    /// tracefs refuses.
    pub fn start(&mut self) -> Result<Time, RecordingError> {
        let start = now();
        self.write("tracing_on", "1")?;
        Ok(start)
    }

    /// Stops recording; what is in the buffers can still be read.
    ///
    /// # Errors
    /// tracefs refuses.
    pub fn stop(&mut self, start: Time) -> Result<Report, RecordingError> {
        self.write("tracing_on", "0")?;
        let end = now();
        let lost = self.pipes.iter().map(|(cpu, _)| self.lost(*cpu));
        Ok(Report {
            start_ns: start.0,
            end_ns: end.0,
            nr_lost: lost.sum(),
            call_cost_ns: self.call_cost_ns,
        })
    }

    /// The description that the decoder needs.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Files to poll: one is readable when its buffer is half full.
    pub fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pipes.iter().map(|(_, pipe)| pipe.as_fd())
    }

    /// Passes every available page to `each`; with `all`, also those of buffers that are not half full.
    ///
    /// # Errors
    /// Those of `each`, or a buffer that cannot be read.
    pub fn read_pages<E: From<RecordingError>>(
        &mut self,
        all: bool,
        mut each: impl FnMut(CpuId, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for (cpu, pipe) in &mut self.pipes {
            if !all && !is_ready(pipe) {
                continue;
            }
            loop {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(length) => each(*cpu, &self.page[..length])?,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        return Err(RecordingError::file(self.instance.path())(error).into())
                    }
                }
            }
        }
        Ok(())
    }

    /// Events a CPU lost, by the kernel's own count.
    fn lost(&self, cpu: CpuId) -> u64 {
        let stats = self
            .read(&format!("per_cpu/cpu{cpu}/stats"))
            .unwrap_or_default();
        let lost = |key: &str| {
            let value = stats.lines().find_map(|line| line.strip_prefix(key));
            value
                .and_then(|value| value.trim().parse::<u64>().ok())
                .unwrap_or(0)
        };
        lost("overrun:") + lost("dropped events:")
    }

    fn write(&self, name: &str, text: &str) -> Result<(), RecordingError> {
        let path = self.instance.path().join(name);
        fs::write(&path, text).map_err(RecordingError::file(&path))
    }

    fn read(&self, name: &str) -> Result<String, RecordingError> {
        let path = self.instance.path().join(name);
        read_at_once(&path).map_err(RecordingError::file(&path))
    }
}

/// May this process record? On most machines only root may.
pub fn is_permitted() -> bool {
    find_tracefs().is_ok_and(|place| access(place.join("instances"), Access::WRITE_OK).is_ok())
}

fn find_tracefs() -> Result<PathBuf, RecordingError> {
    for place in PLACES {
        let instances = Path::new(place).join("instances");
        match fs::metadata(&instances) {
            Ok(_) => return Ok(place.into()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(RecordingError::NotPermitted(place.into()));
            }
            Err(_) => {}
        }
    }
    Err(RecordingError::NoTracefs)
}

/// Reads a file of tracefs with large reads: some files end after the first read.
fn read_at_once(path: &Path) -> io::Result<String> {
    let (mut file, mut text) = (File::open(path)?, Vec::new());
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            length => text.extend(&piece[..length]),
        }
    }
}

fn is_ready(pipe: &File) -> bool {
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut polled = [PollFd::new(pipe, PollFlags::IN)];
    matches!(poll(&mut polled, Some(&now)), Ok(ready) if ready > 0)
}

/// The clock the kernel's events are recorded with.
fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}
