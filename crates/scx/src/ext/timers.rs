//! BPF timers and the watchdog, on the timers of a policy.

use std::collections::BTreeMap;

use super::Context;
use crate::machine::{Machine, TimerRequest};

/// The policy's timer for all timers of programs.
pub(super) const PROGRAMS: u32 = 0;
/// The policy's timer for the watchdog.
pub(super) const WATCHDOG: u32 = 1;
/// The policy's timer for the scheduler's part in user space.
pub(super) const USER_SPACE: u32 = 2;

/// Timers of programs that are armed, by when they expire and in what order they were started.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    armed: BTreeMap<(u64, u64), (u64, u32)>,
    by_timer: BTreeMap<u64, (u64, u64)>,
    /// When the policy's timer expires; 0: it is not armed.
    set_for: u64,
}

impl Machine {
    /// Takes over what programs asked of timers.
    #[inline]
    pub(super) fn update_timers(&mut self) {
        if self.requests.is_empty() {
            return;
        }
        for request in self.take_timers() {
            let (TimerRequest::Start { timer, .. } | TimerRequest::Cancel { timer }) = request;
            if let Some(key) = self.ext.timers.by_timer.remove(&timer) {
                self.ext.timers.armed.remove(&key);
            }
            if let TimerRequest::Start { timer, at_ns, cpu } = request {
                let key = (at_ns, self.ext.next_event());
                self.ext.timers.armed.insert(key, (timer, cpu));
                self.ext.timers.by_timer.insert(timer, key);
            }
        }
        self.arm_timers();
    }

    fn arm_timers(&mut self) {
        let first = self.ext.timers.armed.keys().next().map_or(0, |key| key.0);
        if first == self.ext.timers.set_for {
            return;
        }
        self.ext.timers.set_for = first;
        match first {
            0 => self.tell_timer(PROGRAMS, None),
            at => self.tell_timer(PROGRAMS, Some(at.saturating_sub(self.now_ns))),
        }
    }

    /// The policy's timer has expired: all timers of programs that are due do.
    ///
    /// FIDELITY: what a callback costs is CPU 0's, wherever the timer was started.
    pub(super) fn expire_timers(&mut self) {
        self.ext.timers.set_for = 0;
        let (now, this) = (self.now_ns, self.this_cpu);
        let due: Vec<(u64, u64)> = self.ext.timers.armed.keys().copied().collect();
        for key in due.into_iter().take_while(|key| key.0 <= now) {
            let Some((timer, cpu)) = self.ext.timers.armed.remove(&key) else {
                continue; // Another one's callback has stopped it.
            };
            self.ext.timers.by_timer.remove(&timer);
            self.this_cpu = cpu;
            self.ext.context = Context::default();
            if let Err(fault) = self.timer_expired(timer) {
                self.program_fault(&fault);
            }
            self.irq_works();
            for request in self.take_timers() {
                self.requests.push(request);
            }
            self.update_timers_later();
        }
        self.this_cpu = this;
        self.arm_timers();
    }

    /// As update_timers(), while the policy's timer is being handled.
    fn update_timers_later(&mut self) {
        self.ext.timers.set_for = 0;
        self.update_timers();
    }
}
