//! Infers switches from the idle task that were not recorded.
//!
//! perf misses many switches from the idle task: many switches to it have no counterpart.  Such a gap shows when a task
//! is switched away from on a CPU that was idle.  If the task was queued on that CPU, it began to run at that time:
//! an idle CPU runs a queued task at once.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuId, Time};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};

/// The missing switches, in order of time; so are the events.
pub fn left_idle(events: &[KernelEvent]) -> Vec<KernelEvent> {
    let mut finder = Finder::default();
    let mut missing: Vec<_> = events.iter().filter_map(|e| finder.missing(e)).collect();
    missing.sort_by_key(|event| event.time);
    missing
}

/// Merges events and missing switches, both in order of time.  Of equal times the missing switches come last: each
/// follows its wakeup.
pub fn merged<'a>(
    events: &'a [KernelEvent],
    missing: &'a [KernelEvent],
) -> impl Iterator<Item = &'a KernelEvent> {
    let (mut events, mut missing) = (events.iter().peekable(), missing.iter().peekable());
    std::iter::from_fn(move || {
        let event_time = events.peek().map(|event| event.time);
        match missing.peek() {
            Some(first) if event_time.is_none_or(|time| first.time < time) => missing.next(),
            _ => events.next(),
        }
    })
}

#[derive(Default)]
struct Finder {
    /// For each idle CPU, the time it became idle and its idle task.
    idle: FxHashMap<CpuId, (Time, TaskRef)>,
    /// For each waiting task, the time it began to wait and the CPU.
    queued: FxHashMap<Pid, (Time, CpuId)>,
}

impl Finder {
    /// The switch that is missing before this event, if one is.
    fn missing(&mut self, event: &KernelEvent) -> Option<KernelEvent> {
        match event.kind {
            KernelEventKind::Wakeup { task, target, .. } => {
                self.queued.insert(task.pid, (event.time, target));
                None
            }
            KernelEventKind::Migrate { task, to, .. } => {
                let queued = self.queued.get_mut(&task.pid)?;
                *queued = (event.time, to);
                None
            }
            KernelEventKind::Switch { prev, next, .. } => {
                let missing = self.begin_of(prev, event);
                self.queued.remove(&prev.pid);
                self.queued.remove(&next.pid);
                match next.pid {
                    Pid::IDLE => self.idle.insert(event.cpu, (event.time, next)),
                    _ => self.idle.remove(&event.cpu),
                };
                missing
            }
            _ => None,
        }
    }

    /// The switch to the task that is switched away from here, if the CPU seems idle until now.
    fn begin_of(&self, task: TaskRef, left: &KernelEvent) -> Option<KernelEvent> {
        let &(idle_since, idle_task) = self.idle.get(&left.cpu)?;
        let &(queued, cpu) = self.queued.get(&task.pid)?;
        let time = queued.max(idle_since);
        (cpu == left.cpu && time < left.time).then_some(KernelEvent {
            time,
            cpu,
            kind: KernelEventKind::Switch {
                prev: idle_task,
                prev_state: KernelState::Runnable,
                next: task,
            },
        })
    }
}
