//! The scheduling class: runnable, running, stopping, quiescent, and what a CPU runs next.

use super::consts::{deq, enq, task, NONE, SLICE_INF};
use super::{Class, Op, OpsState, STOPPER};
use crate::machine::Machine;

/// enum scx_cpu_preempt_reason.
const PREEMPT_RT: u32 = 0;
const PREEMPT_STOP: u32 = 2;

/// What a CPU goes over to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing is known of it: put_prev_task() without a next one.
    Nothing,
    /// This task, or the idle task.
    Task(u32),
    /// The stopper, which takes tasks to other CPUs.
    Stopper,
}

impl Machine {
    /// jiffies
    pub(super) fn jiffies(&self) -> u64 {
        self.now_ns / self.tick_ns()
    }

    /// update_rq_clock().
    ///
    /// FIDELITY: clock_pelt runs as fast as the clock whatever the CPU's capacity, and lost_idle_time is 0.
    pub(super) fn update_rq_clock(&mut self, cpu: u32) {
        let (now, fields) = (self.now_ns, self.ext.fields);
        self.store_rq(cpu, fields.rq_clock, now);
        self.store_rq(cpu, fields.rq_clock_task, now);
        self.store_rq(cpu, fields.rq_clock_pelt, now);
    }

    /// Charges what the running task ran: update_curr_scx().
    pub(super) fn update_curr(&mut self, cpu: u32) {
        let t = self.ext.rq(cpu).curr;
        let ran = self.now_ns.saturating_sub(self.exec_start(t));
        if ran == 0 {
            return;
        }
        self.set_exec_start(t, self.now_ns);
        self.set_sum_exec(t, self.sum_exec(t) + ran);
        let slice = self.slice(t);
        if slice != SLICE_INF {
            self.set_slice(t, slice - slice.min(ran));
        }
    }

    // ---- runnable and not ----------------------------------------------------------

    fn set_task_runnable(&mut self, t: u32) {
        if self.has_flag(t, task::RESET_RUNNABLE_AT) {
            self.set_runnable_at(t, self.jiffies());
            self.clear_flag(t, task::RESET_RUNNABLE_AT);
        }
        let event = self.ext.next_event();
        self.ext.task_mut(t).runnable = Some(event);
    }

    fn clr_task_runnable(&mut self, t: u32, reset_runnable_at: bool) {
        self.ext.task_mut(t).runnable = None;
        if reset_runnable_at {
            self.add_flag(t, task::RESET_RUNNABLE_AT);
        }
    }

    fn add_nr_running(&mut self, cpu: u32, by: i32) {
        let rq = self.ext.rq_mut(cpu);
        rq.nr_running = rq.nr_running.wrapping_add_signed(by);
        let number = rq.nr_running;
        let all = number + self.ext.rq(cpu).rt.len() as u32;
        let fields = self.ext.fields;
        self.store_rq(cpu, fields.rq_scx_nr_running, number);
        self.store_rq(cpu, fields.rq_nr_running, all);
    }

    /// enqueue_task_scx()
    pub(super) fn enqueue_task(&mut self, cpu: u32, t: u32, core_flags: u64) {
        let mut sticky = self.ext.task(t).sticky_cpu;
        let enq_flags = core_flags | self.ext.rq(cpu).extra_enq_flags;
        if enq_flags & enq::WAKEUP != 0 {
            self.ext.rq_mut(cpu).in_wakeup = true;
        }
        // A running task must not get to the scheduler: it is about to be set running again.
        if enq_flags & enq::RESTORE != 0 && self.ext.rq(cpu).curr == t {
            sticky = cpu;
        }
        if !self.has_flag(t, task::QUEUED) {
            self.set_task_runnable(t);
            self.add_flag(t, task::QUEUED);
            self.add_nr_running(cpu, 1);
            self.sched_info_enqueue(t);
            if !self.ext.task(t).migrating {
                self.task_op(Op::Runnable, t, &[enq_flags]);
            }
            self.do_enqueue_task(cpu, t, enq_flags, sticky);
            self.ext.task_mut(t).sticky_cpu = NONE;
        }
        self.ext.rq_mut(cpu).in_wakeup = false;
        if enq_flags & enq::CPU_SELECTED != 0 && cpu != self.selected_cpu(t) {
            self.ext.events.select_cpu_fallback += 1;
        }
    }

    fn ops_dequeue(&mut self, t: u32, deq_flags: u64) {
        self.clr_task_runnable(t, false);
        self.ext.task_mut(t).ops_state = OpsState::None;
        self.call_task_dequeue(t, deq_flags);
    }

    /// dequeue_task_scx()
    pub(super) fn dequeue_task(&mut self, cpu: u32, t: u32, core_flags: u64) {
        let mut deq_flags = core_flags;
        if deq_flags & (deq::SLEEP | deq::CORE_SCHED_EXEC) == 0 {
            deq_flags |= deq::SCHED_CHANGE;
        }
        if !self.has_flag(t, task::QUEUED) {
            return;
        }
        self.ops_dequeue(t, deq_flags);
        if self.has_op(Op::Stopping) && self.ext.rq(cpu).curr == t {
            self.update_curr(cpu);
            self.task_op(Op::Stopping, t, &[0]);
        }
        if !self.ext.task(t).migrating {
            self.task_op(Op::Quiescent, t, &[deq_flags]);
        }
        match deq_flags & deq::SLEEP {
            0 => self.clear_flag(t, task::DEQD_FOR_SLEEP),
            _ => self.add_flag(t, task::DEQD_FOR_SLEEP),
        }
        self.clear_flag(t, task::QUEUED);
        self.add_nr_running(cpu, -1);
        self.sched_info_dequeue(t);
        self.dispatch_dequeue(t);
        self.clear_direct_dispatch(t);
    }

    /// deactivate_task(): the task leaves its CPU.
    pub(super) fn deactivate_task(&mut self, cpu: u32, t: u32, flags: u64) {
        self.ext.task_mut(t).migrating = true;
        self.dequeue_task(cpu, t, flags);
    }

    /// activate_task()
    pub(super) fn activate_task(&mut self, cpu: u32, t: u32, flags: u64) {
        let moved = match self.ext.task(t).migrating {
            true => enq::MIGRATED,
            false => 0,
        };
        self.enqueue_task(cpu, t, flags | moved);
        self.ext.task_mut(t).migrating = false;
    }

    /// A task of this class became runnable here: wakeup_preempt().
    pub(super) fn wakeup_preempt(&mut self, cpu: u32, class: Class) {
        let next = self.ext.rq(cpu).next_class;
        if class <= next {
            return;
        }
        // wakeup_preempt_scx()
        if next == Class::Ext && self.ext.rq(cpu).nr_immed > 0 {
            self.schedule_reenq_local(cpu, 0, Some(cpu));
        }
        self.resched_curr(cpu);
        self.ext.rq_mut(cpu).next_class = class;
    }

    // ---- running ---------------------------------------------------------------------

    /// set_next_task_scx()
    pub(super) fn set_next_task(&mut self, cpu: u32, t: u32) {
        if self.has_flag(t, task::QUEUED) {
            self.ops_dequeue(t, deq::CORE_SCHED_EXEC);
            self.dispatch_dequeue(t);
        }
        self.set_exec_start(t, self.now_ns);
        if self.has_flag(t, task::QUEUED) {
            self.sched_info_arrive(t);
            self.task_op(Op::Running, t, &[]);
        }
        self.clr_task_runnable(t, true);
        let _ = cpu;
    }

    /// Tells the scheduler that a better class has taken the CPU: switch_class().
    fn switch_class(&mut self, cpu: u32, reason: u32, next: u64) {
        let watched = self.has_op(Op::CpuAcquire) || self.has_op(Op::CpuRelease);
        if !watched || std::mem::replace(&mut self.ext.rq_mut(cpu).cpu_released, true) {
            return;
        }
        let fields = self.ext.fields;
        let arguments = self.ext.arguments;
        self.store(arguments + fields.release_reason, reason);
        self.store(arguments + fields.release_task, next);
        self.op(
            Op::CpuRelease,
            Some(cpu),
            [None; 2],
            &[u64::from(cpu), arguments],
        );
    }

    /// put_prev_task_scx()
    pub(super) fn put_prev_task(&mut self, cpu: u32, t: u32, next: Next) {
        self.update_curr(cpu);
        if self.has_flag(t, task::QUEUED) {
            self.task_op(Op::Stopping, t, &[1]);
            self.set_task_runnable(t);
            self.set_last_queued(t, self.now_ns);
            self.put_back(cpu, t, next);
        }
        match next {
            Next::Stopper => self.switch_class(cpu, PREEMPT_STOP, 0),
            Next::Task(n) if n != NONE && self.ext.task(n).class == Class::Rt => {
                let address = self.ext.task(n).address;
                self.switch_class(cpu, PREEMPT_RT, address);
            }
            _ => {}
        }
    }

    fn put_back(&mut self, cpu: u32, t: u32, next: Next) {
        if self.slice(t) != 0 {
            // It was preempted by a better class.
            if self.has_flag(t, task::IMMED) {
                self.add_flag(t, task::REENQ_PREEMPTED);
                self.do_enqueue_task(cpu, t, enq::REENQ, NONE);
                self.clear_flag(t, task::REENQ_REASON_MASK);
            } else {
                let local = self.ext.rq(cpu).local;
                self.dispatch_enqueue(local, t, enq::HEAD);
            }
            return;
        }
        let last = match next {
            Next::Task(NONE) => enq::LAST,
            _ => 0,
        };
        self.do_enqueue_task(cpu, t, last, NONE);
    }

    /// The next task of the class, if there is one: do_pick_task_scx().
    fn pick_task(&mut self, cpu: u32, prev: u32) -> Option<u32> {
        let rq = self.ext.rq_mut(cpu);
        rq.next_class = rq.next_class.min(Class::Ext);
        self.balance_one(cpu, prev);
        if self.ext.rq(cpu).bal_keep && self.ext.curr_class(cpu) == Class::Ext {
            if self.slice(prev) == 0 {
                self.refill_task_slice_dfl(prev);
            }
            return Some(prev);
        }
        let first = self.ext.dsqs.first(self.ext.rq(cpu).local)?;
        if self.slice(first) == 0 {
            self.refill_task_slice_dfl(first);
        }
        Some(first)
    }

    /// Decides what a CPU runs next and does what __schedule() does up to the switch.  `prev` is what runs now; NONE
    /// is the idle task.
    pub(super) fn pick_next_task(&mut self, cpu: u32) -> u32 {
        let prev = self.ext.rq(cpu).curr;
        self.ext.rq_mut(cpu).picking = true;
        self.update_rq_clock(cpu);
        let picked = match self.pick_rt(cpu) {
            None if prev == STOPPER => self.pick_task(cpu, NONE),
            None => self.pick_task(cpu, prev),
            some => some,
        };
        let next = picked.unwrap_or(NONE);
        if next == NONE {
            self.update_idle(cpu, true, false); // pick_task_idle()
        }
        if next != prev {
            self.put_prev_set_next(cpu, prev, next);
        }
        let rq = self.ext.rq_mut(cpu);
        rq.picking = false;
        rq.curr = next;
        self.ext.rq_mut(cpu).next_class = self.ext.curr_class(cpu);
        next
    }

    fn put_prev_set_next(&mut self, cpu: u32, prev: u32, next: u32) {
        match prev {
            NONE => self.update_idle(cpu, false, true),
            STOPPER => {}
            _ if self.ext.task(prev).class == Class::Ext => {
                self.put_prev_task(cpu, prev, Next::Task(next))
            }
            _ => self.put_prev_rt(cpu, prev),
        }
        match next {
            NONE => self.update_idle(cpu, true, true),
            _ if self.ext.task(next).class == Class::Ext => self.set_next_task(cpu, next),
            _ => self.set_next_rt(next),
        }
    }

    /// What programs see of who runs: rq->curr, task_struct.on_cpu.
    pub(super) fn show_switch(&mut self, cpu: u32, prev: u32, next: u32) {
        let fields = self.ext.fields;
        if prev != NONE && self.ext.task(prev).address != 0 {
            let at = self.ext.task(prev).address;
            self.store(at + fields.on_cpu, 0_u32);
            let switches = match self.has_flag(prev, task::QUEUED) {
                true => fields.nivcsw,
                false => fields.nvcsw,
            };
            let count: u64 = self.memory.get(at + switches);
            self.store(at + switches, count + 1);
        }
        let address = match next {
            NONE => self.ext.rq(cpu).idle,
            next => {
                let at = self.ext.task(next).address;
                self.store(at + fields.on_cpu, 1_u32);
                at
            }
        };
        self.store_rq(cpu, fields.rq_curr, address);
        self.current[cpu as usize] = address;
    }

    /// account_process_tick(): the task that runs when the clock ticks is charged a tick.
    ///
    /// FIDELITY: all of it is utime, none stime.
    pub(super) fn account_tick(&mut self, t: u32) {
        let at = self.ext.task(t).address + self.ext.fields.utime;
        let before: u64 = self.memory.get(at);
        self.store(at, before + self.tick_ns());
    }

    /// task_tick_scx()
    pub(super) fn task_tick(&mut self, cpu: u32, t: u32) {
        self.update_curr(cpu);
        self.task_op(Op::Tick, t, &[]);
        if self.slice(t) == 0 {
            self.resched_curr(cpu);
        }
    }

    /// yield_task_scx()
    pub(super) fn yield_task(&mut self, t: u32) {
        if !self.has_op(Op::Yield) {
            return self.set_slice(t, 0);
        }
        let found = self.ext.task(t);
        let (cpu, address) = (found.cpu, found.address);
        self.op(Op::Yield, Some(cpu), [Some(t), None], &[address, 0]);
    }

    // ---- sched_info ---------------------------------------------------------------------

    fn sched_info_enqueue(&mut self, t: u32) {
        if self.last_queued(t) == 0 {
            self.set_last_queued(t, self.now_ns);
        }
    }

    fn sched_info_dequeue(&mut self, t: u32) {
        self.add_run_delay(t);
    }

    fn sched_info_arrive(&mut self, t: u32) {
        self.add_run_delay(t);
        self.set_pcount(t, self.pcount(t) + 1);
        let at = self.ext.task(t).address + self.ext.fields.last_arrival;
        self.store(at, self.now_ns);
    }

    fn add_run_delay(&mut self, t: u32) {
        let since = self.last_queued(t);
        if since != 0 {
            self.set_run_delay(t, self.run_delay(t) + (self.now_ns - since));
            self.set_last_queued(t, 0);
        }
    }

    /// set_task_cpu(): the task belongs to another CPU; the simulator is told.
    pub(super) fn set_task_cpu(&mut self, t: u32, cpu: u32) {
        if self.ext.task(t).cpu == cpu {
            return;
        }
        self.trace_migration(t, cpu);
        self.note_task_cpu(t, cpu);
        let at = self.ext.task(t).address + self.ext.fields.nr_migrations;
        let count: u64 = self.memory.get(at);
        self.store(at, count + 1);
        self.tell_moved(t, cpu);
    }

    /// Writes down which CPU a task belongs to.
    pub(super) fn note_task_cpu(&mut self, t: u32, cpu: u32) {
        let found = self.ext.task_mut(t);
        found.cpu = cpu;
        let (at, fields) = (found.address, self.ext.fields);
        self.store(at + fields.cpu, cpu);
        self.store(at + fields.wake_cpu, cpu);
    }
}
