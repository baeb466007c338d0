//! The requests of policy/host.h, for hooks written in Rust.
//!
//! A test in `tests/suite` compares them with the C functions.

use std::ffi::c_char;

use crate::ffi::RESCHED;
use crate::{ffi, MAX_CPUS};

/// resched_cpu(): request a call of pick_next() on a CPU as soon as possible.
///
/// # Safety
/// As for all functions here: `s` and `p` are what a hook was given, and the CPU exists.
#[inline]
pub unsafe fn resched_cpu(s: *mut ffi::Sched, cpu: u32) {
    // SAFETY: the caller's promise; no reference to these fields is alive during a hook.
    unsafe {
        let c = (*s).cpus.add(cpu as usize);
        if (*c).need_resched & RESCHED != 0 {
            return;
        }
        (*c).need_resched |= RESCHED;
        (*s).host_only.requests = 1;
        (*c).host_only.resched_next = (*s).host_only.resched;
        (*s).host_only.resched = cpu + 1;
    }
}

/// move_task(): a waiting task now belongs to the run queue of another CPU.
///
/// # Safety
/// As for [`resched_cpu`].
#[inline]
pub unsafe fn move_task(s: *mut ffi::Sched, p: *mut ffi::Task, cpu: u32) {
    // SAFETY: as above.
    unsafe {
        if (*p).cpu == cpu {
            return;
        }
        if (*p).host_only.moved_from == MAX_CPUS as u32 {
            (*s).host_only.requests = 1;
            (*p).host_only.moved_from = (*p).cpu;
            (*p).host_only.moved_next = (*s).host_only.moved;
            (*s).host_only.moved = p;
        }
        (*p).cpu = cpu;
    }
}

/// examined(): count tasks that were examined.
///
/// # Safety
/// As for [`resched_cpu`].
#[inline]
pub unsafe fn examined(s: *mut ffi::Sched, n: u32) {
    // SAFETY: as above.
    unsafe { (*s).host_only.work.examined = (*s).host_only.work.examined.wrapping_add(n) }
}

/// timer_start(): call timer(id) after a delay of at least 1 ns; restarts a running timer.
///
/// # Safety
/// As for [`resched_cpu`].
pub unsafe fn timer_start(s: *mut ffi::Sched, id: u32, delay_ns: u64) {
    // SAFETY: as above.
    unsafe {
        let expires = (*s).now.saturating_add(delay_ns.max(1));
        (*s).host_only.timer_expires[id as usize % ffi::MAX_TIMERS] = expires;
        (*s).host_only.requests = 1;
        (*s).host_only.timers_changed = 1;
    }
}

/// timer_stop(): stop a timer.
///
/// # Safety
/// As for [`resched_cpu`].
pub unsafe fn timer_stop(s: *mut ffi::Sched, id: u32) {
    // SAFETY: as above.
    unsafe {
        (*s).host_only.timer_expires[id as usize % ffi::MAX_TIMERS] = 0;
        (*s).host_only.requests = 1;
        (*s).host_only.timers_changed = 1;
    }
}

/// policy_error(): report an error; the first one counts. `what` must live until the host has read
/// it, after the hook.
///
/// # Safety
/// As for [`resched_cpu`]; `p` may be null.
#[cold]
pub unsafe fn policy_error(s: *mut ffi::Sched, what: *const c_char, p: *mut ffi::Task) {
    // SAFETY: as above.
    unsafe {
        if (*s).host_only.error.is_null() {
            (*s).host_only.error = what;
            (*s).host_only.error_task = p;
        }
    }
}
