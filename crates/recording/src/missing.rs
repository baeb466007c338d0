//! Infers switches that were not recorded.
//!
//! perf misses many switches from the idle task: many switches to it have no counterpart. Such a
//! gap shows when a task is switched away from on a CPU that was idle. If the task was queued on
//! that CPU, it began to run when it was queued: an idle CPU runs a queued task at once.
//!
//! `sched_stat_runtime` names the running task at every tick and switch, with its CPU time since
//! the last such event. If it names another task than the model has, that task began to run this
//! long before.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuId, Time};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};

/// Events searched for the next event of a task that must have been switched away from.
const SEARCHED: usize = 10_000;

/// The missing switches in order of time; `events` are in order of time, too.
pub fn missing_switches(events: &[KernelEvent]) -> Vec<KernelEvent> {
    let mut finder = Finder::default();
    let found = events.iter().enumerate();
    let mut missing: Vec<_> = found
        .filter_map(|(at, event)| finder.missing(event, &events[at + 1..]))
        .collect();
    missing.sort_by_key(|event| event.time);
    missing
}

/// Merges events and missing switches, both in order of time. At equal times a missing switch comes
/// last, after its wakeup.
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
    /// For each CPU, the time of its last switch and the task it switched to.
    running: FxHashMap<CpuId, (Time, TaskRef)>,
    /// For each waiting task, the time it began to wait and the CPU.
    queued: FxHashMap<Pid, (Time, CpuId)>,
}

impl Finder {
    /// The missing switch before this event, if there is one.
    fn missing(&mut self, event: &KernelEvent, later: &[KernelEvent]) -> Option<KernelEvent> {
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
                self.running.insert(event.cpu, (event.time, next));
                missing
            }
            KernelEventKind::Runtime { task, ns } => {
                let missing = self.accounted(task, ns, event, later)?;
                self.queued.remove(&task.pid);
                self.running.insert(event.cpu, (missing.time, task));
                Some(missing)
            }
            _ => None,
        }
    }

    /// The switch to the task that is switched away from here, if the CPU was idle until now.
    fn begin_of(&self, task: TaskRef, left: &KernelEvent) -> Option<KernelEvent> {
        let &(idle_since, idle_task) = self.running.get(&left.cpu)?;
        if idle_task.pid != Pid::IDLE {
            return None;
        }
        let &(queued, cpu) = self.queued.get(&task.pid)?;
        let time = queued.max(idle_since);
        (cpu == left.cpu && time < left.time)
            .then(|| switch(time, cpu, idle_task, KernelState::Runnable, task))
    }

    /// The switch to the task that this event accounts, if another task seems to run.
    fn accounted(
        &self,
        task: TaskRef,
        ns: u64,
        event: &KernelEvent,
        later: &[KernelEvent],
    ) -> Option<KernelEvent> {
        let &(since, running) = self.running.get(&event.cpu)?;
        // A wakeup from another CPU also updates the account of this CPU's running task.
        let runs = |(_, running): &(Time, TaskRef)| running.pid == task.pid;
        if self.running.values().any(runs) || task.pid == Pid::IDLE {
            return None;
        }
        let began = Time(event.time.0.saturating_sub(ns)).max(since);
        let queued = self.queued.get(&task.pid);
        let queued = queued.filter(|(_, cpu)| *cpu == event.cpu);
        let began = queued.map_or(began, |(queued, _)| began.max(*queued));
        let state = match running.pid {
            Pid::IDLE => KernelState::Runnable,
            pid => left_in(pid, later),
        };
        // It must come before this event, also if both have the same time.
        let time = Time(began.0.min(event.time.0.saturating_sub(1))).max(since);
        Some(switch(time, event.cpu, running, state, task))
    }
}

/// The state in which a task was left, from its next event: if it runs again without a wakeup, it
/// did not sleep.
fn left_in(pid: Pid, later: &[KernelEvent]) -> KernelState {
    for event in later.iter().take(SEARCHED) {
        match event.kind {
            KernelEventKind::Waking { task, .. } | KernelEventKind::Wakeup { task, .. }
                if task.pid == pid =>
            {
                return KernelState::Sleeping;
            }
            KernelEventKind::Switch { prev, next, .. } if [prev.pid, next.pid].contains(&pid) => {
                return KernelState::Runnable;
            }
            _ => {}
        }
    }
    KernelState::Sleeping
}

fn switch(
    time: Time,
    cpu: CpuId,
    prev: TaskRef,
    prev_state: KernelState,
    next: TaskRef,
) -> KernelEvent {
    KernelEvent {
        time,
        cpu,
        kind: KernelEventKind::Switch {
            prev,
            prev_state,
            next,
        },
    }
}
