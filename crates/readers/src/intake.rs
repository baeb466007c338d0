//! Collects the events of all readers.

use std::collections::BTreeMap;

use schedlab_recording::{
    Carries, Comm, KernelEvent, KernelEventKind, KernelState, Pid, Recording, TaskRef,
};
use schedlab_trace::{CpuId, Time, WakeContext};

use crate::failure::Failure;
use crate::report::{FileFormat, ReadReport};

/// The highest CPU number that is accepted; the kernel has at most 8192 CPUs.
pub const MAX_CPU: u64 = 65_535;

/// A recording that is being read.
pub struct Intake {
    pub recording: Recording,
    pub report: ReadReport,
    /// The latest time of each CPU.
    last: Vec<Time>,
    carries: Carries,
    nr_switches: u64,
}

impl Intake {
    pub fn new(format: FileFormat) -> Intake {
        let carries = Carries {
            waking: false,
            wakeup: false,
        };
        Intake {
            recording: Recording::new(carries, 1),
            report: ReadReport::new(format),
            last: Vec::new(),
            carries,
            nr_switches: 0,
        }
    }

    /// The number of a name.
    pub fn comm(&mut self, name: &str) -> Comm {
        self.recording.comm(name)
    }

    /// Sets the number of CPUs that the file names.
    pub fn cpus(&mut self, number: u64) {
        if let Some(last) = number.checked_sub(1).and_then(cpu) {
            self.recording.at_least_cpus(last.0 + 1);
        }
    }

    /// Adds an event.
    pub fn push(&mut self, time: Time, cpu: CpuId, kind: KernelEventKind) {
        match kind {
            KernelEventKind::Switch { .. } => self.nr_switches += 1,
            KernelEventKind::Waking { .. } => self.carries.waking = true,
            _ => {}
        }
        if self.last.len() <= cpu.index() {
            self.last.resize(cpu.index() + 1, Time::ZERO);
        }
        let last = &mut self.last[cpu.index()];
        self.report.nr_out_of_order += u64::from(time < *last);
        *last = time.max(*last);
        self.report.nr_events += 1;
        self.recording.push(KernelEvent { time, cpu, kind });
    }

    /// Records that the recording has `sched_wakeup`. Recordings of `perf sched record` have only
    /// `sched_wakeup_new`, a wakeup of new tasks.
    pub fn has_wakeups(&mut self) {
        self.carries.wakeup = true;
    }

    /// Counts an event that recordings do not need.
    pub fn ignore(&mut self, name: &str) {
        count(&mut self.report.ignored, name);
    }

    /// Counts lost events; `None` if their number is unknown.
    pub fn lost(&mut self, events: Option<u64>) {
        self.report.nr_gaps += 1;
        let lost = &mut self.recording.nr_lost;
        *lost = lost.saturating_add(events.unwrap_or(0));
    }

    /// Adds a note without duplicates.
    pub fn note(&mut self, note: &str) {
        if !self.report.notes.iter().any(|known| known == note) {
            self.report.notes.push(note.to_string());
        }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The recording contains no switch, so it is of no use.
    pub fn finish(mut self) -> Result<(Recording, ReadReport), Failure> {
        if self.nr_switches == 0 {
            let found = match self.report.ignored.iter().max_by_key(|(_, count)| **count) {
                Some((name, _)) => format!("the file has no sched_switch, but {name}"),
                None => "the file has no sched_switch".to_string(),
            };
            return Err(Failure::new(found).expected(
                "a recording of the scheduler, as of `schedlab record` or `perf sched record`",
            ));
        }
        if !self.carries.waking && !self.carries.wakeup {
            self.note("no wakeups were recorded: the times when tasks became runnable are unknown");
        }
        self.recording.carries = self.carries;
        self.recording.finish(None);
        Ok((self.recording, self.report))
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_string(), 1);
        }
    }
}

/// The CPU with this number, if the number is valid.
pub fn cpu(number: u64) -> Option<CpuId> {
    (number <= MAX_CPU).then_some(CpuId(number as u32))
}

/// The thread id, if it is valid.
pub fn pid(number: u64) -> Option<Pid> {
    number.try_into().ok().map(Pid)
}

/// A task as an event mentions it.
pub fn task(pid: Pid, comm: Comm, prio: Option<i64>) -> TaskRef {
    TaskRef {
        pid,
        comm,
        prio: prio.and_then(|prio| i16::try_from(prio).ok()),
    }
}

/// The context of a waking, from the flags of the tracepoint (`common_flags`).
pub fn context(flags: u64) -> WakeContext {
    const HARDIRQ: u64 = 0x08;
    const SOFTIRQ: u64 = 0x10;
    const NMI: u64 = 0x40;
    match (flags & (HARDIRQ | NMI), flags & SOFTIRQ) {
        (0, 0) => WakeContext::Task,
        (0, _) => WakeContext::SoftIrq,
        _ => WakeContext::Irq,
    }
}

/// Whether a new task's clone flags make it a thread of its parent's process.
pub fn is_thread(clone_flags: u64) -> bool {
    const CLONE_THREAD: u64 = 0x10000;
    clone_flags & CLONE_THREAD != 0
}

/// A task's state from its bits, in their meaning since Linux 4.14.
pub fn state_of_bits(bits: u64) -> KernelState {
    const STATES: [(u64, KernelState); 8] = [
        (0x01, KernelState::Sleeping),
        (0x02, KernelState::DiskSleep),
        (0x04, KernelState::Stopped),
        (0x08, KernelState::Stopped),
        (0x10, KernelState::Dead),
        (0x20, KernelState::Dead),
        (0x40, KernelState::Parked),
        (0x80, KernelState::Idle),
    ];
    let state = STATES.iter().find(|(bit, _)| bits & bit != 0);
    match state {
        Some((_, state)) => *state,
        None if bits & 0x100 != 0 => KernelState::PreemptedInKernel,
        None => KernelState::Runnable,
    }
}
