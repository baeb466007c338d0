//! A trace reduced to what both worlds can show.
//!
//! A kernel's trace has no costs of scheduling.  So the simulator's trace is read without them: their
//! time counts as the task's.  A kernel has threads of its own, which preempt tasks of the workload:
//! their time counts as that of the task they interrupt.

use std::collections::BTreeSet;

use schedlab_trace::{
    Event, EventKind, GroupInfo, PrevState, Sink, TaskId, TaskInfo, Time, TraceInfo,
};

/// Groups that are no part of a workload.
const OTHERS: [&str; 2] = ["[kernel]", "[schedlab]"];

/// Passes on the events that both worlds have.
pub struct Seen<S> {
    sink: S,
    others: BTreeSet<TaskId>,
    /// By CPU: the interrupted task, and its state.
    interrupted: Vec<Option<(TaskId, PrevState)>>,
}

impl<S: Sink> Seen<S> {
    /// In front of a sink.
    pub fn new(sink: S) -> Seen<S> {
        Seen {
            sink,
            others: BTreeSet::new(),
            interrupted: Vec::new(),
        }
    }

    /// The sink.
    pub fn into_inner(self) -> S {
        self.sink
    }

    fn switch(&mut self, event: &Event, left: (Option<TaskId>, PrevState), next: Option<TaskId>) {
        let other = |task: &TaskId| self.others.contains(task);
        let to_other = next.as_ref().is_some_and(other);
        let from_other = left.0.as_ref().is_some_and(other);
        let interrupted = &mut self.interrupted[event.cpu.index()];
        let (prev, prev_state) = match (from_other, left) {
            (false, left) => left,
            (true, _) => match interrupted.take() {
                Some((task, state)) => (Some(task), state),
                None => (None, PrevState::Idle),
            },
        };
        let goes_on = matches!(
            prev_state,
            PrevState::Preempted | PrevState::Yielded | PrevState::Moved
        );
        if let (true, Some(task), true) = (to_other, prev, goes_on) {
            *interrupted = Some((task, prev_state));
            return;
        }
        let next = next.filter(|_| !to_other);
        if prev != next {
            let kind = EventKind::Switch {
                prev,
                prev_state,
                next,
            };
            self.sink.event(&Event { kind, ..*event });
        }
    }
}

impl<S: Sink> Sink for Seen<S> {
    fn begin(&mut self, info: &TraceInfo) {
        self.interrupted = vec![None; info.nr_cpus as usize];
        self.sink.begin(&TraceInfo {
            has_costs: false,
            ..info.clone()
        });
    }

    fn group(&mut self, info: &GroupInfo) {
        self.sink.group(info);
    }

    fn task(&mut self, info: &TaskInfo) {
        if OTHERS.contains(&info.group.as_str()) {
            self.others.insert(info.id);
        } else {
            self.sink.task(info);
        }
    }

    fn event(&mut self, event: &Event) {
        let about = match event.kind {
            EventKind::Overhead { .. } | EventKind::Schedule { .. } => return,
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => return self.switch(event, (prev, prev_state), next),
            EventKind::Fork { child, parent } => {
                let parent = parent.filter(|parent| !self.others.contains(parent));
                let kind = EventKind::Fork { child, parent };
                if !self.others.contains(&child) {
                    self.sink.event(&Event { kind, ..*event });
                }
                return;
            }
            EventKind::Waking { task, .. }
            | EventKind::Wakeup { task, .. }
            | EventKind::Exec { task }
            | EventKind::Exit { task }
            | EventKind::Reap { task, .. }
            | EventKind::Migrate { task, .. }
            | EventKind::Yield { task }
            | EventKind::Nice { task, .. }
            | EventKind::Class { task, .. } => Some(task),
            _ => None,
        };
        if about.is_none_or(|task| !self.others.contains(&task)) {
            self.sink.event(event);
        }
    }

    fn end(&mut self, time: Time) {
        self.sink.end(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_trace::CpuId;

    #[derive(Default)]
    struct Switches(Vec<(Option<u32>, Option<u32>)>);

    impl Sink for Switches {
        fn begin(&mut self, _: &TraceInfo) {}
        fn task(&mut self, _: &TaskInfo) {}
        fn event(&mut self, event: &Event) {
            if let EventKind::Switch { prev, next, .. } = event.kind {
                self.0.push((prev.map(|t| t.0), next.map(|t| t.0)));
            }
        }
        fn end(&mut self, _: Time) {}
    }

    /// Tasks 1 and 2, kernel threads 8 and 9.
    fn seen(switches: &[(Option<u32>, PrevState, Option<u32>)]) -> Vec<(Option<u32>, Option<u32>)> {
        let mut seen = Seen::new(Switches::default());
        seen.begin(&TraceInfo {
            nr_cpus: 1,
            ..TraceInfo::default()
        });
        seen.others.extend([TaskId(8), TaskId(9)]);
        for (prev, prev_state, next) in switches {
            seen.event(&Event {
                time: Time::ZERO,
                cpu: CpuId(0),
                kind: EventKind::Switch {
                    prev: prev.map(TaskId),
                    prev_state: *prev_state,
                    next: next.map(TaskId),
                },
            });
        }
        seen.into_inner().0
    }

    #[test]
    fn an_interruption_by_the_kernel_is_none() {
        use PrevState::{Idle, Preempted, Sleeping};
        let (one, two, eight, nine) = (Some(1), Some(2), Some(8), Some(9));
        let back = [
            (None, Idle, one),
            (one, Preempted, eight),
            (eight, Sleeping, nine),
            (nine, Sleeping, one),
        ];
        assert_eq!(seen(&back), [(None, one)]);
        let to_another = [(one, Preempted, eight), (eight, Sleeping, two)];
        assert_eq!(seen(&to_another), [(one, two)]);
        let asleep = [
            (one, Sleeping, eight),
            (eight, Sleeping, None),
            (None, Idle, nine),
            (nine, Sleeping, two),
        ];
        assert_eq!(seen(&asleep), [(one, None), (None, two)]);
    }
}
