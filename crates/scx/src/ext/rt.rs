//! Real-time tasks: a better class than the scheduler's, so they run before its tasks.
//!
//! FIDELITY: a plain list for each CPU, best priority first; tasks of SCHED_RR take turns of 100 ms.  Real-time
//! tasks are not pushed to or pulled from other CPUs, and there is no server that lets others run meanwhile.

use schedlab_policy::Class as Policy;

use super::consts::NONE;
use super::{Class, Op};
use crate::machine::Machine;

/// RR_TIMESLICE
const TURN_NS: u64 = 100_000_000;

impl Machine {
    fn rt_priority(&self, t: u32) -> u32 {
        // SAFETY: the task exists; nobody writes to it during a hook but the hook.
        unsafe { (*self.ext.task(t).public).rt_priority }
    }

    fn is_rr(&self, t: u32) -> bool {
        // SAFETY: as above.
        unsafe { (*self.ext.task(t).public).class == Policy::Rr as u32 }
    }

    /// Is this CPU free of real-time tasks of this priority or better?
    fn rt_free(&self, cpu: u32, priority: u32) -> bool {
        let tasks = &self.ext.rq(cpu).rt;
        tasks.iter().all(|&t| self.rt_priority(t) < priority)
    }

    /// Where a real-time task wakes: its CPU, or else one that has no better ones.
    pub(super) fn select_rt(&mut self, t: u32) -> u32 {
        let (prev, priority) = (self.ext.task(t).cpu, self.rt_priority(t));
        let free = |cpu: &u32| self.allowed_on(t, *cpu) && self.rt_free(*cpu, priority);
        let idle = |cpu: &u32| free(cpu) && self.ext.rq(*cpu).curr == NONE;
        if free(&prev) {
            return prev;
        }
        let all = 0..self.nr_cpus;
        let found = all.clone().find(idle).or_else(|| all.clone().find(free));
        let allowed = || all.clone().find(|&cpu| self.allowed_on(t, cpu));
        match self.allowed_on(t, prev) {
            true => found.unwrap_or(prev),
            false => found.or_else(allowed).unwrap_or(prev),
        }
    }

    pub(super) fn enqueue_rt(&mut self, cpu: u32, t: u32) {
        let event = self.ext.next_event();
        let priority = self.rt_priority(t);
        let found = self.ext.task_mut(t);
        found.rt_since = Some(event);
        found.rt_left_ns = TURN_NS;
        self.ext.rq_mut(cpu).rt.push(t);
        match self.ext.rq(cpu).next_class {
            Class::Rt => {
                let curr = self.ext.rq(cpu).curr;
                let worse = curr == NONE
                    || self.ext.curr_class(cpu) < Class::Rt
                    || self.rt_priority(curr) < priority;
                if worse {
                    self.resched_curr(cpu);
                }
            }
            _ => self.wakeup_preempt(cpu, Class::Rt),
        }
    }

    pub(super) fn dequeue_rt(&mut self, cpu: u32, t: u32) {
        self.ext.task_mut(t).rt_since = None;
        self.ext.rq_mut(cpu).rt.retain(|&other| other != t);
    }

    /// Its turn is over: behind those of its priority.
    pub(super) fn requeue_rt(&mut self, t: u32) {
        let event = self.ext.next_event();
        let found = self.ext.task_mut(t);
        if found.rt_since.is_some() {
            found.rt_since = Some(event);
            found.rt_left_ns = TURN_NS;
        }
    }

    pub(super) fn tick_rt(&mut self, cpu: u32, t: u32) {
        let tick = self.tick_ns();
        if !self.is_rr(t) {
            return;
        }
        let found = self.ext.task_mut(t);
        found.rt_left_ns = found.rt_left_ns.saturating_sub(tick);
        if found.rt_left_ns == 0 {
            self.requeue_rt(t);
            self.resched_curr(cpu);
        }
    }

    /// pick_task_rt()
    pub(super) fn pick_rt(&self, cpu: u32) -> Option<u32> {
        let tasks = self.ext.rq(cpu).rt.iter().copied();
        tasks.min_by_key(|&t| {
            let since = self.ext.task(t).rt_since.unwrap_or(u64::MAX);
            (std::cmp::Reverse(self.rt_priority(t)), since)
        })
    }

    fn charge_rt(&mut self, t: u32) {
        let ran = self.now_ns.saturating_sub(self.exec_start(t));
        self.set_sum_exec(t, self.sum_exec(t) + ran);
    }

    pub(super) fn put_prev_rt(&mut self, _cpu: u32, t: u32) {
        self.charge_rt(t);
    }

    pub(super) fn set_next_rt(&mut self, t: u32) {
        self.set_exec_start(t, self.now_ns);
    }

    /// switching_to_scx()
    pub(super) fn come_to_class(&mut self, t: u32) {
        self.ext.task_mut(t).class = Class::Ext;
        self.enable_task(t);
        let mask = self.ext.task(t).address + self.ext.fields.cpus_mask;
        self.task_op(Op::SetCpumask, t, &[mask]);
    }
}
