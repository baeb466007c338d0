//! The kernel's tracepoints, in the kernel's terms.

use schedlab_trace::{CpuId, Time, WakeContext};

/// A thread id; 0 is the idle task of every CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

impl Pid {
    /// The idle tasks.
    pub const IDLE: Pid = Pid(0);
}

/// A task's name at some time: an index into the recording's names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Comm(pub u32);

/// A task as an event mentions it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRef {
    /// Its thread id.
    pub pid: Pid,
    /// Its name at that moment.
    pub comm: Comm,
    /// Its priority in the kernel's numbers: 100 to 139 for nice -20 to 19, 0 (best) to 98 real
    /// time, -1 deadline; `None` if the event has no priority.
    pub prio: Option<i16>,
}

/// The state of a task that is switched away from: the letter the kernel prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelState {
    /// `R`: runnable. It was preempted on the way to user mode, yielded, or called schedule() while
    /// runnable.
    Runnable,
    /// `R+`: runnable, preempted inside the kernel.
    PreemptedInKernel,
    /// `S`: asleep; a signal wakes it.
    Sleeping,
    /// `D`: asleep; signals do not wake it.  Usually it waits for a device.
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
    /// The state of these letters. If several are joined by `|`, the first counts. Unknown letters
    /// mean asleep.
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

/// One event of a tracepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelEvent {
    /// The time, on the recording's clock.
    pub time: Time,
    /// The CPU that recorded it.
    pub cpu: CpuId,
    /// The event.
    pub kind: KernelEventKind,
}

/// The events of a kernel's tracepoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelEventKind {
    /// `sched_switch`
    Switch {
        /// The task that ran.
        prev: TaskRef,
        /// The state it is left in.
        prev_state: KernelState,
        /// The task that runs now.
        next: TaskRef,
    },
    /// `sched_waking`
    Waking {
        /// The task that is woken.
        task: TaskRef,
        /// Whether the running task or an interrupt wakes it.
        by: WakeContext,
        /// The CPU it ran on last; its next CPU is not chosen yet.
        target: CpuId,
    },
    /// `sched_wakeup`, `sched_wakeup_new`
    Wakeup {
        /// The task that is put on a run queue.
        task: TaskRef,
        /// The context in which it is queued.
        by: WakeContext,
        /// The CPU of the run queue.
        target: CpuId,
    },
    /// `sched_migrate_task`
    Migrate {
        /// The task that is moved.
        task: TaskRef,
        /// The CPU it leaves.
        from: CpuId,
        /// The CPU it goes to.
        to: CpuId,
    },
    /// `task_newtask`; the `sched_process_fork` of the same task follows at once.
    NewTask {
        /// The new task.
        pid: Pid,
        /// Its name.
        comm: Comm,
        /// Whether it is a thread of its parent's process.
        thread: bool,
    },
    /// `sched_process_fork`
    Fork {
        /// The parent.
        parent: Pid,
        /// The new task.
        child: Pid,
        /// Its name.
        child_comm: Comm,
    },
    /// `sched_process_exec`
    Exec {
        /// The task that execs.
        pid: Pid,
    },
    /// `task_rename`
    Rename {
        /// The task that is renamed.
        pid: Pid,
        /// Its new name.
        comm: Comm,
    },
    /// `sched_process_exit`
    Exit {
        /// The task that exits.
        task: TaskRef,
    },
    /// A call of sched_yield(2).
    Yield {
        /// The task that yields.
        pid: Pid,
    },
    /// `sched_stat_runtime`: the running task's CPU time is accounted.
    Runtime {
        /// The task that runs.
        task: TaskRef,
        /// Its CPU time since the last such event.
        ns: u64,
    },
    /// `sys_enter`: a task enters a system call.
    Enter {
        /// The task.
        pid: Pid,
        /// The call, by its number on x86-64.
        call: u16,
        /// Its first arguments.
        arguments: [u64; 3],
    },
    /// `sys_exit`: a task returns from a system call.
    Return {
        /// The task.
        pid: Pid,
        /// The call.
        call: u16,
        /// What it returns: a result, or an error below 0.
        result: i64,
    },
}

/// The number of sched_yield(2) on x86-64.
const SCHED_YIELD: i64 = 24;

impl KernelEventKind {
    /// A system call; a call of sched_yield is an event of its own.
    pub fn enter(pid: Pid, call: i64, arguments: [u64; 3]) -> KernelEventKind {
        match call {
            SCHED_YIELD => KernelEventKind::Yield { pid },
            _ => KernelEventKind::Enter {
                pid,
                call: call as u16,
                arguments,
            },
        }
    }
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
