//! Puts events of different CPUs into a possible order.
//!
//! The clocks of CPUs differ a little, and many recordings have times in microseconds only. So a
//! task may seem to run on its new CPU before it left the old one, or before it was woken. If a
//! switch is impossible and a later event of another CPU makes it possible, that event is moved
//! before the switch.

use rustc_hash::FxHashMap;
use schedlab_trace::CpuId;

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid};

/// Clocks of CPUs differ by less than this, in nanoseconds.
const SKEW_NS: u64 = 10_000;

/// The state of a task while events are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    On(CpuId),
    Asleep,
    Waiting,
}

/// Moves events, which are in order of time, where needed; returns the number of moved events. A
/// wakeup makes a task runnable; without recorded wakeups a waking does.
pub fn straighten(events: &mut [KernelEvent], has_wakeups: bool) -> u64 {
    let (mut places, mut moved) = (FxHashMap::default(), 0);
    let mut at = 0;
    // Events before this one are not moved again, so the loop ends.
    let mut settled = 0;
    while at < events.len() {
        let cause = missing_before(&events[at], &places).filter(|_| at >= settled);
        match cause.and_then(|cause| find(cause, &events[at..], has_wakeups)) {
            Some(distance) => {
                settled = at + pull(&mut events[at..=at + distance]);
                moved += 1;
            }
            None => {
                note(&events[at], &mut places, has_wakeups);
                at += 1;
            }
        }
    }
    moved
}

/// What must happen before a switch.
#[derive(Clone, Copy)]
enum Cause {
    /// This CPU switched away from the task.
    Left(CpuId, Pid),
    /// Another CPU than this woke the task.
    Woken(CpuId, Pid),
}

/// Why an event is impossible, if it is.
fn missing_before(event: &KernelEvent, places: &FxHashMap<Pid, Place>) -> Option<Cause> {
    let KernelEventKind::Switch { next, .. } = event.kind else {
        return None;
    };
    match places.get(&next.pid)? {
        Place::On(cpu) if *cpu != event.cpu => Some(Cause::Left(*cpu, next.pid)),
        Place::Asleep => Some(Cause::Woken(event.cpu, next.pid)),
        _ => None,
    }
}

/// The distance from the first of these events to its cause, if the cause comes soon enough.
fn find(cause: Cause, events: &[KernelEvent], has_wakeups: bool) -> Option<usize> {
    let limit = events[0].time.0 + SKEW_NS;
    let near = events.iter().take_while(|event| event.time.0 <= limit);
    near.enumerate().skip(1).find_map(|(distance, event)| {
        let is_cause = match (cause, event.kind) {
            (Cause::Left(cpu, pid), KernelEventKind::Switch { prev, .. }) => {
                event.cpu == cpu && prev.pid == pid
            }
            (Cause::Woken(cpu, pid), kind) => {
                event.cpu != cpu && woken(kind, has_wakeups) == Some(pid)
            }
            _ => false,
        };
        is_cause.then_some(distance)
    })
}

/// Moves the last event, and all events of its CPU before it, to the front, at the time of the first.  Returns how
/// many were moved.
fn pull(events: &mut [KernelEvent]) -> usize {
    let (cpu, time) = (events[events.len() - 1].cpu, events[0].time);
    events.sort_by_key(|event| event.cpu != cpu);
    let pulled = events.iter_mut().take_while(|event| event.cpu == cpu);
    pulled.map(|event| event.time = time).count()
}

/// The task that an event makes runnable.
fn woken(kind: KernelEventKind, has_wakeups: bool) -> Option<Pid> {
    match kind {
        KernelEventKind::Wakeup { task, .. } => Some(task.pid),
        KernelEventKind::Waking { task, .. } if !has_wakeups => Some(task.pid),
        _ => None,
    }
}

fn note(event: &KernelEvent, places: &mut FxHashMap<Pid, Place>, has_wakeups: bool) {
    if let Some(pid) = woken(event.kind, has_wakeups) {
        if let Some(place @ Place::Asleep) = places.get_mut(&pid) {
            *place = Place::Waiting;
        }
    }
    match event.kind {
        KernelEventKind::Switch {
            prev,
            prev_state,
            next,
        } => {
            let left = match prev_state {
                KernelState::Runnable | KernelState::PreemptedInKernel => Some(Place::Waiting),
                // The thread id may be reused.
                KernelState::Dead => None,
                _ => Some(Place::Asleep),
            };
            match left {
                Some(place) => places.insert(prev.pid, place),
                None => places.remove(&prev.pid),
            };
            places.insert(next.pid, Place::On(event.cpu));
            // Every CPU has an idle task with this thread id.
            places.remove(&Pid::IDLE);
        }
        KernelEventKind::Fork { child: pid, .. } | KernelEventKind::NewTask { pid, .. } => {
            places.remove(&pid);
        }
        _ => {}
    }
}
