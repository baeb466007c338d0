//! The O(1) scheduler against hand-computed values, hook by hook.
//!
//! Times in comments are derived from the constants in policies/o1/README.md; at HZ = 1000 a
//! jiffy is a millisecond.

mod calls;
mod fork;
pub mod kernel;
mod old;
mod sleep;
mod smp;
mod tick;

use kernel::Kernel;
use schedlab_policy::{enq, NewTask};
use schedlab_trace::TaskId;

const IRQ: u32 = enq::WAKEUP | enq::IRQ;
const DISK: u32 = enq::WAKEUP | enq::UNINTERRUPTIBLE;

/// One CPU, 2.6.11, 1000 Hz.
fn up() -> Kernel {
    Kernel::up("2.6.11", &[])
}

/// A task that slept from time 0 and is woken, with its wait not yet credited.
fn slept(k: &mut Kernel, new: NewTask, ns: u64, flags: u32) -> TaskId {
    let task = k.sleeper(new);
    k.after(ns);
    k.enqueue(task, flags);
    task
}
