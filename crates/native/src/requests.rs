//! Requests of the hooks to their host.

use std::ptr::null_mut;

use schedlab_trace::{CpuId, TaskId, Time};

use crate::host::{get, replace, set, Host};
use crate::{ffi, MAX_CPUS};

impl Host {
    /// Is there a new request or count of a hook since the last call?
    #[inline]
    pub fn take_requests(&mut self) -> bool {
        replace!(self.s(), host_only.requests, 0) != 0
    }

    /// Drops all requests: nobody carries them out.
    pub fn forget_requests(&mut self) {
        self.take_requests();
        while self.take_moved().is_some() {}
        while self.take_throttled().is_some() {}
        while self.take_resched().is_some() {}
        while self.take_hrtick().is_some() {}
        self.take_timers();
        self.take_work();
    }

    /// The next CPU that the policy wants rescheduled, each once. The request stays in the public
    /// state until [`Host::pick_next`] is called for the CPU.
    #[inline]
    pub fn take_resched(&mut self) -> Option<CpuId> {
        let cpu = CpuId(get!(self.s(), host_only.resched).checked_sub(1)?);
        let next = replace!(self.cpu(cpu), host_only.resched_next, 0);
        set!(self.s(), host_only.resched, next);
        Some(cpu)
    }

    /// Is a request to reschedule pending on this CPU?
    #[inline]
    pub fn need_resched(&self, cpu: CpuId) -> bool {
        get!(self.cpu(cpu), need_resched) != 0
    }

    /// Is a request to reschedule pending that is not lazy?
    #[inline]
    pub fn need_resched_now(&self, cpu: CpuId) -> bool {
        get!(self.cpu(cpu), need_resched) & ffi::RESCHED != 0
    }

    /// The tick turns a lazy request into a normal one, as sched_tick() does since 6.13.
    #[inline]
    pub fn upgrade_lazy_resched(&mut self, cpu: CpuId) {
        if self.need_resched(cpu) {
            self.set_need_resched(cpu);
        }
    }

    /// Requests a reschedule of this CPU, as a hook does.
    pub fn set_need_resched(&mut self, cpu: CpuId) {
        let lazy = get!(self.cpu(cpu), need_resched);
        set!(self.cpu(cpu), need_resched, lazy | ffi::RESCHED);
    }

    /// The next task that the policy moved, with its old CPU; the new CPU is in [`Host::task`].
    #[inline]
    pub fn take_moved(&mut self) -> Option<(TaskId, CpuId)> {
        let task = get!(self.s(), host_only.moved);
        if task.is_null() {
            return None;
        }
        let next = replace!(task, host_only.moved_next, null_mut());
        set!(self.s(), host_only.moved, next);
        let from = replace!(task, host_only.moved_from, MAX_CPUS as u32);
        Some((TaskId(get!(task, id)), CpuId(from)))
    }

    /// Counts of the hooks since the last call: examined tasks, recalculations, locks.
    #[inline]
    pub fn take_work(&mut self) -> ffi::Work {
        replace!(self.s(), host_only.work, ffi::Work::default())
    }

    /// The expiry of each policy timer, if one has changed since the last call; 0: stopped.
    #[inline]
    pub fn take_timers(&mut self) -> Option<[u64; ffi::MAX_TIMERS]> {
        let changed = replace!(self.s(), host_only.timers_changed, 0) != 0;
        changed.then(|| self.timers())
    }

    /// The next CPU whose hrtick has changed since the last call, and its expiry; 0: stopped.
    #[inline]
    pub fn take_hrtick(&mut self) -> Option<(CpuId, u64)> {
        let cpu = CpuId(get!(self.s(), host_only.hrticks).checked_sub(1)?);
        let next = replace!(self.cpu(cpu), host_only.hrtick_next, 0);
        let rest = if next == cpu.0 + 1 { 0 } else { next };
        set!(self.s(), host_only.hrticks, rest);
        Some((cpu, get!(self.cpu(cpu), hrtick_expires)))
    }

    /// Has this timer's expiry been reached?
    pub fn timer_due(&self, id: u32, now: Time) -> bool {
        (1..=now.0).contains(&self.timers()[id as usize])
    }

    /// The expiry of each policy timer; 0: stopped.
    pub fn timers(&self) -> [u64; ffi::MAX_TIMERS] {
        get!(self.s(), host_only.timer_expires)
    }

    /// The expiry of each CPU's hrtick, 0: stopped; empty if the policy uses none.
    pub fn hrticks(&self) -> impl Iterator<Item = u64> + '_ {
        let cpus = match self.table.hrtick {
            Some(_) => get!(self.s(), nr_cpus),
            None => 0,
        };
        (0..cpus).map(|cpu| get!(self.cpu(CpuId(cpu)), hrtick_expires))
    }

    /// Has the expiry of this CPU's hrtick been reached?
    pub fn hrtick_due(&self, cpu: CpuId, now: Time) -> bool {
        (1..=now.0).contains(&get!(self.cpu(cpu), hrtick_expires))
    }
}
