//! How fast the recorded machine reacted to wakeups.

use schedlab_trace::{CpuId, Event, EventKind, Ns, PrevState, TaskId, Time};
use serde::Serialize;

/// Times from queueing a task to running it when nothing but the machine stood between: medians, as
/// far as the recording has enough of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ReactionTimes {
    /// Until an idle CPU ran what another CPU had queued on it.
    pub idle_ns: Option<Ns>,
    /// Until a task was preempted by one it had woken itself on its own CPU: the kernel's way back.
    pub preemption_ns: Option<Ns>,
}

/// Fewer samples than this say nothing.
const ENOUGH: usize = 5;

/// What a task that was queued has to displace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Obstacle {
    /// An idle CPU, told by another one.
    Idle,
    /// The task that woke it.
    Waker(TaskId),
}

#[derive(Debug)]
struct Queued {
    task: TaskId,
    since: Time,
    obstacle: Obstacle,
}

/// Collects them.
#[derive(Debug, Default)]
pub(crate) struct Reactions {
    /// By CPU: who was queued on it last, if nothing has happened since.
    queued: Vec<Option<Queued>>,
    idle: Vec<u64>,
    preemption: Vec<u64>,
}

impl Reactions {
    pub fn begin(&mut self, nr_cpus: u32) {
        self.queued.resize_with(nr_cpus as usize, || None);
    }

    /// `running` is by CPU, before the event.
    pub fn event(&mut self, event: &Event, running: &[Option<TaskId>]) {
        match event.kind {
            EventKind::Wakeup { task, target } => {
                self.queued[target.index()] =
                    obstacle(event.cpu, target, running).map(|obstacle| Queued {
                        task,
                        since: event.time,
                        obstacle,
                    });
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let queued = self.queued[event.cpu.index()].take();
                let Some(queued) = queued.filter(|queued| next == Some(queued.task)) else {
                    return;
                };
                let took = event.time.since(queued.since).0;
                match queued.obstacle {
                    Obstacle::Idle if prev.is_none() => self.idle.push(took),
                    Obstacle::Waker(waker)
                        if prev == Some(waker) && prev_state == PrevState::Preempted =>
                    {
                        self.preemption.push(took);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    pub fn medians(self) -> ReactionTimes {
        ReactionTimes {
            idle_ns: median(self.idle),
            preemption_ns: median(self.preemption),
        }
    }
}

fn obstacle(cpu: CpuId, target: CpuId, running: &[Option<TaskId>]) -> Option<Obstacle> {
    match running[target.index()] {
        None if target != cpu => Some(Obstacle::Idle),
        Some(waker) if target == cpu => Some(Obstacle::Waker(waker)),
        _ => None,
    }
}

fn median(mut took: Vec<u64>) -> Option<Ns> {
    let middle = took.len() / 2;
    (took.len() >= ENOUGH).then(|| Ns(*took.select_nth_unstable(middle).1))
}
