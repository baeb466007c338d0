//! Reaction times of the recorded machine to wakeups.

use schedlab_trace::{CpuId, Event, EventKind, Ns, PrevState, TaskId, Time};
use serde::Serialize;

/// Medians of the time from queueing a task to running it, when nothing else delayed it; `None`
/// with too few samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ReactionTimes {
    /// An idle CPU ran a task that another CPU had queued on it.
    pub idle_ns: Option<Ns>,
    /// A running task was preempted by a task that another CPU had queued.
    pub interrupt_ns: Option<Ns>,
    /// A running task was preempted by a task that it had woken on its own CPU.
    pub preemption_ns: Option<Ns>,
}

/// With fewer samples there is no median.
const ENOUGH: usize = 5;

/// What a queued task has to displace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Obstacle {
    /// An idle CPU; another CPU queued the task.
    Idle,
    /// A running task on another CPU than the waker's.
    Elsewhere(TaskId),
    /// The task that woke it.
    Waker(TaskId),
}

#[derive(Debug)]
struct Queued {
    task: TaskId,
    since: Time,
    obstacle: Obstacle,
}

/// Collects samples.
#[derive(Debug, Default)]
pub(crate) struct Reactions {
    /// The task queued last on each CPU, if no event has followed.
    queued: Vec<Option<Queued>>,
    idle: Vec<u64>,
    interrupt: Vec<u64>,
    preemption: Vec<u64>,
}

impl Reactions {
    pub fn begin(&mut self, nr_cpus: u32) {
        self.queued.resize_with(nr_cpus as usize, || None);
    }

    /// `running` has the running task of each CPU before the event.
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
                let preempted = |task| prev == Some(task) && prev_state == PrevState::Preempted;
                match queued.obstacle {
                    // A reaction takes time; with 0 ns the switch was not recorded.
                    Obstacle::Idle if prev.is_none() && took > 0 => self.idle.push(took),
                    Obstacle::Elsewhere(task) if preempted(task) => self.interrupt.push(took),
                    Obstacle::Waker(waker) if preempted(waker) => self.preemption.push(took),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    pub fn medians(self) -> ReactionTimes {
        ReactionTimes {
            idle_ns: median(self.idle),
            interrupt_ns: median(self.interrupt),
            preemption_ns: median(self.preemption),
        }
    }
}

fn obstacle(cpu: CpuId, target: CpuId, running: &[Option<TaskId>]) -> Option<Obstacle> {
    match running[target.index()] {
        None if target != cpu => Some(Obstacle::Idle),
        None => None,
        Some(waker) if target == cpu => Some(Obstacle::Waker(waker)),
        Some(task) => Some(Obstacle::Elsewhere(task)),
    }
}

fn median(mut took: Vec<u64>) -> Option<Ns> {
    let middle = took.len() / 2;
    (took.len() >= ENOUGH).then(|| Ns(*took.select_nth_unstable(middle).1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 0 queues task 3 on CPU 1, five times; CPU 1 runs it after `took` ns.
    fn queued_elsewhere(on_cpu_1: Option<TaskId>, took: u64) -> ReactionTimes {
        let mut reactions = Reactions::default();
        reactions.begin(2);
        let running = [Some(TaskId(1)), on_cpu_1];
        for time in (0..).step_by(1_000_000).take(ENOUGH) {
            let mut event = |time, cpu, kind| {
                let (time, cpu) = (Time(time), CpuId(cpu));
                reactions.event(&Event { time, cpu, kind }, &running);
            };
            let (task, target) = (TaskId(3), CpuId(1));
            event(time, 0, EventKind::Wakeup { task, target });
            let switch = EventKind::Switch {
                prev: on_cpu_1,
                prev_state: PrevState::Preempted,
                next: Some(task),
            };
            event(time + took, 1, switch);
        }
        reactions.medians()
    }

    #[test]
    fn idle_and_busy_cpus_are_measured_apart() {
        let (busy, idle) = (
            queued_elsewhere(Some(TaskId(2)), 1700),
            queued_elsewhere(None, 2500),
        );
        assert_eq!((busy.interrupt_ns, busy.idle_ns), (Some(Ns(1700)), None));
        assert_eq!((idle.interrupt_ns, idle.idle_ns), (None, Some(Ns(2500))));
    }

    #[test]
    fn a_switch_that_was_put_there_is_no_measurement() {
        assert_eq!(queued_elsewhere(None, 0), ReactionTimes::default());
    }
}
