//! A policy that crashes is named before the process ends.
//!
//! Hooks are C: one can follow a stray pointer.  The kernel's verifier rules that out in
//! the BPF back end; natively the process dies, but not without saying who did it.

use std::cell::Cell;

use crate::{Hook, Policy};

thread_local! {
    static RUNNING: Cell<Option<(Policy, Hook)>> = const { Cell::new(None) };
}

/// Notes which hook runs on this thread.
#[inline]
pub(crate) fn enter(policy: Policy, hook: Hook) {
    RUNNING.set(Some((policy, hook)));
}

/// Notes that no hook runs on this thread.
#[inline]
pub(crate) fn leave() {
    RUNNING.set(None);
}

/// From now on a crash within a hook prints the policy and the hook and ends the process with
/// status 2; any other crash ends it as before.
pub fn install_crash_handler() {
    use libc::{SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    const STACK: usize = 64 * 1024;
    // SAFETY: plain system calls; the alternate stack lives as long as the process.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: libc::malloc(STACK),
            ss_flags: 0,
            ss_size: STACK,
        };
        libc::sigaltstack(&stack, std::ptr::null_mut());
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL] {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_crash as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Only async-signal-safe calls: write(2), _exit(2), raise(3).
extern "C" fn on_crash(signal: i32) {
    let Some((policy, hook)) = RUNNING.get() else {
        // SAFETY: the default action is back (SA_RESETHAND); die of the same signal.
        unsafe { libc::raise(signal) };
        return;
    };
    let parts = [
        "schedlab: policy ",
        policy.name(),
        ", hook ",
        hook.name(),
        ": crashed (stray pointer)\n",
    ];
    for part in parts {
        // SAFETY: writes a valid buffer to standard error.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(2) }
}
