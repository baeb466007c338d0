//! Switches from the idle task that nobody recorded, put where they must have been.
//!
//! perf says little of a CPU that leaves idleness: of the switches to the idle task many have no
//! counterpart.  What remains is a task that is switched away from on a CPU that was idle.  If it
//! was queued there, it began then: an idle CPU lets nobody wait.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuId, Time};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};

/// The switches that are missing among events in the order of their times, in that order.
pub fn left_idle(events: &[KernelEvent]) -> Vec<KernelEvent> {
    let mut finder = Finder::default();
    let mut missing: Vec<_> = events.iter().filter_map(|e| finder.missing(e)).collect();
    missing.sort_by_key(|event| event.time);
    missing
}

/// Both in the order of their times; of equal times the missing ones come last, behind the wakeup
/// they follow.
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
    /// CPUs that idle: since when, and their idle task.
    idle: FxHashMap<CpuId, (Time, TaskRef)>,
    /// Tasks that wait: since when, on which CPU.
    queued: FxHashMap<Pid, (Time, CpuId)>,
}

impl Finder {
    /// The switch that must have been before this event, but was not recorded.
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

    /// The switch with which the task that is left here began, if the CPU seemed to idle until now.
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
