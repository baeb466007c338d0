//! What a kernel's tracepoints say, in the kernel's terms.

use schedlab_trace::{CpuId, Time, WakeContext};

/// A thread id; 0 is the idle task of every CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

impl Pid {
    /// The idle tasks.
    pub const IDLE: Pid = Pid(0);
}

/// A task's name at some moment: an index into the recording's names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Comm(pub u32);

/// A task as an event mentions it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRef {
    /// Its thread id.
    pub pid: Pid,
    /// Its name at that moment.
    pub comm: Comm,
    /// Its priority as the kernel numbers it: 100 to 139 for nice -20 to 19, 0 (best) to 98 real
    /// time, -1 deadline; none if the event does not say.
    pub prio: Option<i16>,
}

/// The state of a task that is switched away from: the letter the kernel prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelState {
    /// `R`: runnable.  Preempted on the way back to user mode, or yielding, or in its own
    /// schedule() while runnable.
    Runnable,
    /// `R+`: runnable, preempted inside the kernel.
    PreemptedInKernel,
    /// `S`: asleep, open to signals.
    Sleeping,
    /// `D`: asleep, deaf to signals: mostly waiting for a device.
    DiskSleep,
    /// `T` or `t`: stopped by a signal or a debugger.
    Stopped,
    /// `Z` or `X`: dead.
    Dead,
    /// `P`: a kernel thread that is parked.
    Parked,
    /// `I`: a kernel thread that waits for work.
    Idle,
}

impl KernelState {
    /// What the letters say; what they leave open counts as asleep.  Several may be joined by
    /// `|`, then the first counts.
    pub fn of_letters(letters: &str) -> KernelState {
        if letters.starts_with('R') {
            return match letters.ends_with('+') {
                true => KernelState::PreemptedInKernel,
                false => KernelState::Runnable,
            };
        }
        match letters.trim_end_matches('+').chars().next() {
            Some('D') => KernelState::DiskSleep,
            Some('T' | 't') => KernelState::Stopped,
            Some('Z' | 'X' | 'x') => KernelState::Dead,
            Some('P') => KernelState::Parked,
            Some('I') => KernelState::Idle,
            _ => KernelState::Sleeping,
        }
    }
}

/// One thing a kernel's tracepoints said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelEvent {
    /// When, on the recording's clock.
    pub time: Time,
    /// Which CPU said it.
    pub cpu: CpuId,
    /// What.
    pub kind: KernelEventKind,
}

/// What a kernel's tracepoints say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelEventKind {
    /// `sched_switch`
    Switch {
        /// Who ran.
        prev: TaskRef,
        /// In which state it was left.
        prev_state: KernelState,
        /// Who runs now.
        next: TaskRef,
    },
    /// `sched_waking`
    Waking {
        /// Who shall run.
        task: TaskRef,
        /// Did the running task want it, or an interrupt?
        by: WakeContext,
        /// Where it ran last; where it will run is not decided yet.
        target: CpuId,
    },
    /// `sched_wakeup`, `sched_wakeup_new`
    Wakeup {
        /// Who is on a run queue now.
        task: TaskRef,
        /// In which context it was queued.
        by: WakeContext,
        /// On whose run queue.
        target: CpuId,
    },
    /// `sched_migrate_task`
    Migrate {
        /// Who is moved.
        task: TaskRef,
        /// From which CPU.
        from: CpuId,
        /// To which CPU.
        to: CpuId,
    },
    /// `task_newtask`, which comes just before the fork it is part of.
    NewTask {
        /// The new task.
        pid: Pid,
        /// Its name.
        comm: Comm,
        /// Is it a thread of its parent's process?
        thread: bool,
    },
    /// `sched_process_fork`
    Fork {
        /// Who forked.
        parent: Pid,
        /// The new task.
        child: Pid,
        /// Its name.
        child_comm: Comm,
    },
    /// `sched_process_exec`
    Exec {
        /// Who replaced its program.
        pid: Pid,
    },
    /// `task_rename`
    Rename {
        /// Whose name changed.
        pid: Pid,
        /// To what.
        comm: Comm,
    },
    /// `sched_process_exit`
    Exit {
        /// Who begins to die.
        task: TaskRef,
    },
    /// A call of sched_yield(2).
    Yield {
        /// Who yields.
        pid: Pid,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        for (letters, state) in [
            ("R", KernelState::Runnable),
            ("R+", KernelState::PreemptedInKernel),
            ("S", KernelState::Sleeping),
            ("D", KernelState::DiskSleep),
            ("D|K", KernelState::DiskSleep),
            ("t", KernelState::Stopped),
            ("X|Z", KernelState::Dead),
            ("x", KernelState::Dead),
            ("I", KernelState::Idle),
            ("P", KernelState::Parked),
            ("?", KernelState::Sleeping),
        ] {
            assert_eq!(KernelState::of_letters(letters), state, "{letters}");
        }
    }
}
