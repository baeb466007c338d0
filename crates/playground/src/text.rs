//! Events as sentences.

use schedlab_trace::{EventKind, Overhead, PrevState, TaskClass, TaskId, WakeContext};

use crate::record::Record;

impl Record {
    /// What an event says.
    pub(crate) fn sentence(&self, event: usize) -> String {
        let event = &self.events[event];
        let cpu = event.cpu;
        let name = |task: TaskId| self.name(task);
        let mark = |id: schedlab_trace::MarkId| {
            let name = self.info.marks.get(id.0 as usize);
            name.map_or("?", String::as_str)
        };
        match event.kind {
            EventKind::Fork { child, parent } => match parent {
                Some(parent) => format!("{} forks {}", name(parent), name(child)),
                None => format!("{} is created", name(child)),
            },
            EventKind::Exec { task } => format!("{} replaces its program", name(task)),
            EventKind::Exit { task } => format!("{} exits", name(task)),
            EventKind::Reap { task, reaper } => match reaper {
                Some(reaper) => format!("{} reaps {}", name(reaper), name(task)),
                None => format!("{} is reaped", name(task)),
            },
            EventKind::Waking { task, by } => {
                let by = match by {
                    WakeContext::Task => "the running task",
                    WakeContext::Irq => "an interrupt",
                    WakeContext::SoftIrq => "a softirq",
                };
                format!("{by} on CPU {cpu} begins to wake {}", name(task))
            }
            EventKind::Wakeup { task, target } => {
                format!("{} waits on the run queue of CPU {target}", name(task))
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(cpu.0, prev, prev_state, next),
            EventKind::Migrate { task, from, to } => {
                format!("{} moves from CPU {from} to CPU {to}", name(task))
            }
            EventKind::Yield { task } => format!("{} yields", name(task)),
            EventKind::Schedule {
                examined,
                recalculations,
            } => match recalculations {
                0 => format!("schedule() on CPU {cpu} examines {examined} tasks"),
                n => format!("schedule() on CPU {cpu} examines {examined} tasks and recalculates all {n} times"),
            },
            EventKind::Recalculate { passes } => format!("priorities are recalculated {passes} times"),
            EventKind::Overhead { kind, ns } => {
                let what = match kind {
                    Overhead::Schedule => "for choosing a task",
                    Overhead::Switch => "for the switch",
                    Overhead::Wakeup => "for a wakeup",
                    Overhead::Lock => "waiting for a run-queue lock",
                    Overhead::Tick => "for the tick",
                    Overhead::Syscall => "in a system call",
                };
                format!("CPU {cpu} spends {ns} {what}")
            }
            EventKind::Nice { task, nice } => format!("{} gets nice {nice}", name(task)),
            EventKind::Class {
                task,
                class,
                rt_priority,
            } => {
                let class = class_name(class);
                format!("{} changes to {class}, real-time priority {rt_priority}", name(task))
            }
            EventKind::Regroup { task, .. } => format!("{} changes its control group", name(task)),
            EventKind::Weigh { group, .. } => format!("the weight of control group {} changes", group.index()),
            EventKind::Limit { group, .. } => format!("the limit of control group {} changes", group.index()),
            EventKind::Throttle { group, on } => {
                format!("control group {} has used up its quota and stops on CPU {on}", group.index())
            }
            EventKind::Unthrottle { group, on } => {
                format!("control group {} may run again on CPU {on}", group.index())
            }
            EventKind::Throttled { group, ns, times } => {
                format!("control group {} was throttled {times} times, for {ns} in all", group.index())
            }
            EventKind::Priority { task, priority } => {
                format!("{} has priority {priority}", name(task))
            }
            EventKind::Count { counter, by } => {
                let counter = self.info.counters.get(counter as usize);
                format!("the policy counts {by} {}", counter.map_or("?", String::as_str))
            }
            EventKind::Mark { task, mark: id, count } => {
                format!("{} completes {count} {}", name(task), mark(id))
            }
            EventKind::Latency { task, mark: id, ns } => {
                format!("{}: {} took {ns}", name(task), mark(id))
            }
        }
    }

    fn switch(
        &self,
        cpu: u32,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
    ) -> String {
        let left = prev.map(|prev| {
            let how = match prev_state {
                PrevState::Preempted => "is preempted",
                PrevState::Yielded => "has yielded",
                PrevState::Moved => "must leave",
                PrevState::Sleeping => "goes to sleep",
                PrevState::DiskSleep => "waits for a disk",
                PrevState::Exited => "has exited",
                PrevState::Idle => "was idle",
            };
            format!("{} {how}", self.name(prev))
        });
        let now = match next {
            Some(next) => format!("{} runs", self.name(next)),
            None => "the CPU idles".to_string(),
        };
        match left {
            Some(left) => format!("CPU {cpu}: {left}, {now}"),
            None => format!("CPU {cpu}: {now}"),
        }
    }
}

/// The class as sched_setscheduler(2) calls it.
pub(crate) fn class_name(class: TaskClass) -> &'static str {
    match class {
        TaskClass::Normal => "SCHED_OTHER",
        TaskClass::Batch => "SCHED_BATCH",
        TaskClass::Idle => "SCHED_IDLE",
        TaskClass::Iso => "SCHED_ISO",
        TaskClass::Fifo => "SCHED_FIFO",
        TaskClass::Rr => "SCHED_RR",
    }
}
