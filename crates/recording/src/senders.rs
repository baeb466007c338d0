//! Finds wakeups by softirqs that deliver data of the running task.
//!
//! A packet to the same machine is delivered in a softirq at the end of the sender's system call.
//! The wakeup of the receiver has the flags of a softirq, as for a packet from outside. Two facts
//! separate them. A device also interrupts idle CPUs, but no task sends on an idle CPU. A device
//! interrupts any task, but a sender also receives answers.

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_trace::{CpuId, WakeContext};

use crate::event::{KernelEvent, KernelEventKind, Pid};
use crate::kernel_thread::is_kernel_thread;
use crate::recording::Recording;

/// At most one in this number of a receiver's wakeups may come on an idle CPU.
const ONE_IN: u64 = 10;

/// Threads that softirqs wake for the running task.
pub fn receivers(recording: &Recording) -> FxHashSet<Pid> {
    let mut wakeups: FxHashMap<Pid, Wakeups> = FxHashMap::default();
    let mut running: FxHashMap<CpuId, Pid> = FxHashMap::default();
    let first_half = recording.carries.waking;
    for event in recording.completed() {
        match event.kind {
            KernelEventKind::Switch { next, .. } => {
                running.insert(event.cpu, next.pid);
            }
            _ => {
                let Some(pid) = woken_by_softirq(event, first_half, recording) else {
                    continue;
                };
                let wakeups = wakeups.entry(pid).or_default();
                match running.get(&event.cpu) {
                    Some(&Pid::IDLE) | None => wakeups.idle += 1,
                    Some(_) => wakeups.busy += 1,
                }
            }
        }
    }
    let is_receiver = |wakeups: &Wakeups| wakeups.idle * ONE_IN <= wakeups.idle + wakeups.busy;
    let receivers = wakeups.into_iter().filter(|(_, w)| is_receiver(w));
    receivers.map(|(pid, _)| pid).collect()
}

/// Wakeups of a thread by softirqs.
#[derive(Clone, Copy, Default)]
struct Wakeups {
    /// While the CPU idled.
    idle: u64,
    /// While a task ran there.
    busy: u64,
}

/// The thread that a softirq wakes here; `None` for kernel threads, which timers wake.
fn woken_by_softirq(event: &KernelEvent, first_half: bool, recording: &Recording) -> Option<Pid> {
    let task = match event.kind {
        KernelEventKind::Waking {
            task,
            by: WakeContext::SoftIrq,
            ..
        } if first_half => task,
        KernelEventKind::Wakeup {
            task,
            by: WakeContext::SoftIrq,
            ..
        } if !first_half => task,
        _ => return None,
    };
    (!is_kernel_thread(recording.name(task.comm))).then_some(task.pid)
}
