//! Wakeups by interrupts, in recordings that do not record the context of wakeups.
//!
//! A task in state D usually waits for a device. The device's interrupt wakes it, whatever task
//! runs at that time. The exception is a parent in vfork: it waits in state D until its child execs
//! or exits, and the child wakes it.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuId, WakeContext};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid};

/// Marks wakeups from state D as made by interrupts, except wakeups by the sleeping task's child.
/// `missing` are switches that were not recorded; both lists are in order of time.
pub fn guess_contexts(events: &mut [KernelEvent], missing: &[KernelEvent]) {
    let mut guess = Guess::default();
    let mut missing = missing.iter().copied().peekable();
    for event in events {
        while let Some(mut before) = missing.next_if(|missing| missing.time < event.time) {
            guess.event(&mut before);
        }
        guess.event(event);
    }
}

#[derive(Default)]
struct Guess {
    running: FxHashMap<CpuId, Pid>,
    parents: FxHashMap<Pid, Pid>,
    /// Whether it is in state D.
    waits_for_device: FxHashMap<Pid, bool>,
}

impl Guess {
    fn event(&mut self, event: &mut KernelEvent) {
        let cpu = event.cpu;
        match &mut event.kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.running.insert(cpu, next.pid);
                let device = *prev_state == KernelState::DiskSleep;
                self.waits_for_device.insert(prev.pid, device);
            }
            KernelEventKind::Fork { parent, child, .. } => {
                self.parents.insert(*child, *parent);
            }
            KernelEventKind::Waking { task, by, .. } | KernelEventKind::Wakeup { task, by, .. }
                if self.is_device(cpu, task.pid) =>
            {
                *by = WakeContext::Irq;
            }
            _ => {}
        }
    }

    fn is_device(&self, cpu: CpuId, woken: Pid) -> bool {
        let waker = self.running.get(&cpu);
        let by_child = waker.is_some_and(|waker| self.parents.get(waker) == Some(&woken));
        !by_child && self.waits_for_device.get(&woken) == Some(&true)
    }
}
