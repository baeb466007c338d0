//! Moving tasks between the scheduler and dispatch queues, and between those.

use super::consts::{dsq, enq, ops, task, MAX_LOOPS, NONE};
use super::dsq::{DsqIndex, Mixed, Place};
use super::{Class, Direct, Dispatched, Op, OpsState};
use crate::machine::Machine;

impl Machine {
    /// The CPU whose local queue this is: rq of container_of().
    #[inline]
    pub(super) fn local_of(&self, queue: DsqIndex) -> Option<u32> {
        (queue.0 < self.nr_cpus).then_some(queue.0)
    }

    /// The global queue a CPU consumes: find_global_dsq().
    pub(super) fn find_global_dsq(&self, cpu: u32) -> DsqIndex {
        self.ext.globals[self.ext.idle.node_of(cpu)]
    }

    /// Which queue does a number mean, for a task of `task_cpu`, said on `cpu`?
    pub(super) fn find_dsq_for_dispatch(
        &mut self,
        cpu: u32,
        dsq_id: u64,
        task_cpu: u32,
    ) -> DsqIndex {
        if dsq_id == dsq::LOCAL {
            return self.ext.rq(cpu).local;
        }
        if dsq_id & dsq::LOCAL_ON == dsq::LOCAL_ON {
            let target = (dsq_id & dsq::LOCAL_CPU_MASK) as i32;
            return match self.ops_cpu_valid(target, "in SCX_DSQ_LOCAL_ON dispatch verdict") {
                Some(target) => self.ext.rq(target).local,
                None => self.find_global_dsq(task_cpu),
            };
        }
        let found = match dsq_id {
            dsq::GLOBAL => Some(self.find_global_dsq(task_cpu)),
            _ => self.ext.dsqs.find(dsq_id),
        };
        found.unwrap_or_else(|| {
            self.scx_error(format!("non-existent DSQ 0x{dsq_id:x}"));
            self.find_global_dsq(task_cpu)
        })
    }

    // ---- onto a queue, and off ---------------------------------------------------

    /// Can this CPU run a task of the class at once?  rq_is_open().
    pub(super) fn rq_is_open(&self, cpu: u32, enq_flags: u64) -> bool {
        let rq = self.ext.rq(cpu);
        match rq.next_class {
            Class::Rt => false,
            Class::Idle => true,
            Class::Ext => rq.in_balance || enq_flags & enq::PREEMPT != 0,
        }
    }

    /// dsq_inc_nr(), but for the number itself.
    fn dsq_inc_nr(&mut self, queue: DsqIndex, t: u32, enq_flags: u64) {
        let local = self.local_of(queue);
        if enq_flags & enq::IMMED != 0 {
            if local.is_none() {
                return; // It fell back to the global queue.
            }
            self.add_flag(t, task::IMMED);
        }
        let Some(cpu) = local.filter(|_| self.has_flag(t, task::IMMED)) else {
            return;
        };
        self.ext.rq_mut(cpu).nr_immed += 1;
        if self.ext.dsqs.nr(queue) > 1 || !self.rq_is_open(cpu, enq_flags) {
            self.schedule_reenq_local(cpu, 0, Some(cpu));
        }
    }

    /// task_unlink_from_dsq().
    pub(super) fn unlink_from_dsq(&mut self, t: u32) {
        let queue = self.ext.dsqs.of(t);
        self.ext.dsqs.remove(t);
        let local = queue.and_then(|queue| self.local_of(queue));
        if let Some(cpu) = local.filter(|_| self.has_flag(t, task::IMMED)) {
            let rq = self.ext.rq_mut(cpu);
            rq.nr_immed = rq.nr_immed.saturating_sub(1);
        }
    }

    /// Says that the scheduler does not have the task any more: call_task_dequeue().
    pub(super) fn call_task_dequeue(&mut self, t: u32, deq_flags: u64) {
        // task_scx_migrating()
        if !self.has_flag(t, task::IN_CUSTODY) || self.ext.task(t).sticky_cpu != NONE {
            return;
        }
        self.task_op(Op::Dequeue, t, &[deq_flags]);
        self.clear_flag(t, task::IN_CUSTODY);
    }

    /// What follows when a task has come onto a local queue: local_dsq_post_enq().
    fn local_dsq_post_enq(&mut self, cpu: u32, t: u32, enq_flags: u64) {
        self.call_task_dequeue(t, 0);
        if self.ext.rq(cpu).next_class < Class::Ext {
            self.wakeup_preempt(cpu, Class::Ext);
        }
        let rq = self.ext.rq(cpu);
        if rq.in_balance || enq_flags & enq::PREEMPT == 0 {
            return;
        }
        let curr = rq.curr;
        if curr != t && self.ext.curr_class(cpu) == Class::Ext {
            self.set_slice(curr, 0);
            self.resched_curr(cpu);
        }
    }

    /// Puts a task on a queue: dispatch_enqueue().
    pub(super) fn dispatch_enqueue(&mut self, queue: DsqIndex, t: u32, mut enq_flags: u64) {
        let id = self.ext.dsqs.id(queue);
        let builtin = id & dsq::BUILTIN != 0;
        if builtin && enq_flags & enq::DSQ_PRIQ != 0 {
            self.scx_error("cannot use vtime ordering for built-in DSQs".into());
            enq_flags &= !enq::DSQ_PRIQ;
        }
        let place = if enq_flags & enq::DSQ_PRIQ != 0 {
            Place::Vtime(self.dsq_vtime(t))
        } else if enq_flags & (enq::HEAD | enq::PREEMPT) != 0 {
            Place::Head
        } else {
            Place::Tail
        };
        match self.ext.dsqs.insert(queue, t, place, true) {
            Ok(()) => {}
            Err(Mixed::HasFifo) => self.scx_error(format!(
                "DSQ ID 0x{id:016x} already had FIFO-enqueued tasks"
            )),
            Err(Mixed::HasPriq) => self.scx_error(format!(
                "DSQ ID 0x{id:016x} already had PRIQ-enqueued tasks"
            )),
        }
        self.dsq_inc_nr(queue, t, enq_flags);
        match self.local_of(queue) {
            Some(cpu) => self.local_dsq_post_enq(cpu, t, enq_flags),
            None if builtin => self.call_task_dequeue(t, 0),
            None => self.add_flag(t, task::IN_CUSTODY),
        }
        if enq_flags & enq::CLEAR_OPSS != 0 {
            self.ext.task_mut(t).ops_state = OpsState::None;
        }
    }

    /// Takes a task off whatever list it is on: dispatch_dequeue().
    pub(super) fn dispatch_dequeue(&mut self, t: u32) {
        if self.ext.dsqs.of(t).is_some() {
            self.unlink_from_dsq(t);
        }
    }

    // ---- direct dispatch -------------------------------------------------------------

    /// clear_direct_dispatch()
    pub(super) fn clear_direct_dispatch(&mut self, t: u32) {
        self.set_ddsp_dsq_id(t, dsq::INVALID);
        self.set_ddsp_enq_flags(t, 0);
    }

    fn mark_direct_dispatch(&mut self, t: u32, dsq_id: u64, enq_flags: u64) {
        let direct = std::mem::replace(&mut self.ext.direct, Direct::Done);
        match direct {
            Direct::Task(expected) if expected == t => {
                self.set_ddsp_dsq_id(t, dsq_id);
                self.set_ddsp_enq_flags(t, enq_flags);
            }
            Direct::Task(expected) => {
                let (expected, other) = (self.task_name(expected), self.task_name(t));
                self.scx_error(format!(
                    "scheduling for {expected} but trying to direct-dispatch {other}"
                ));
            }
            _ => {
                let name = self.task_name(t);
                self.scx_error(format!("{name} already direct-dispatched"));
            }
        }
    }

    fn direct_dispatch(&mut self, t: u32, enq_flags: u64) {
        let cpu = self.ext.task(t).cpu;
        let id = self.ddsp_dsq_id(t);
        let queue = self.find_dsq_for_dispatch(cpu, id, cpu);
        let enq_flags = self.ddsp_enq_flags(t) | enq_flags;
        self.set_ddsp_enq_flags(t, enq_flags);
        if self.local_of(queue).is_some_and(|target| target != cpu) {
            self.ext.task_mut(t).ops_state = OpsState::None;
            let list = self.ext.rq(cpu).deferred_locals;
            let _ = self.ext.dsqs.insert(list, t, Place::Tail, false);
            self.schedule_deferred_locked(cpu);
            return;
        }
        self.clear_direct_dispatch(t);
        self.dispatch_enqueue(queue, t, enq_flags | enq::CLEAR_OPSS);
    }

    /// Gives a runnable task to the scheduler, or to a queue: do_enqueue_task().
    pub(super) fn do_enqueue_task(&mut self, cpu: u32, t: u32, enq_flags: u64, sticky_cpu: u32) {
        let local = self.ext.rq(cpu).local;
        if sticky_cpu == cpu {
            return self.dispatch_enqueue(local, t, enq_flags);
        }
        self.clear_flag(t, task::IMMED);
        if self.ddsp_dsq_id(t) != dsq::INVALID {
            return self.direct_dispatch(t, enq_flags);
        }
        if !self.has_op(Op::Enqueue) {
            let global = self.find_global_dsq(cpu);
            self.refill_task_slice_dfl(t);
            self.clear_direct_dispatch(t);
            return self.dispatch_enqueue(global, t, enq_flags);
        }
        let rq = self.ext.rq_mut(cpu);
        let qseq = rq.ops_qseq;
        rq.ops_qseq += 1;
        self.ext.task_mut(t).ops_state = OpsState::Queueing;
        self.ext.direct = Direct::Task(t);
        self.task_op(Op::Enqueue, t, &[enq_flags]);
        self.ext.direct = Direct::None;
        if self.ddsp_dsq_id(t) != dsq::INVALID {
            return self.direct_dispatch(t, enq_flags);
        }
        self.add_flag(t, task::IN_CUSTODY);
        self.ext.task_mut(t).ops_state = OpsState::Queued(qseq);
    }

    /// refill_task_slice_dfl()
    pub(super) fn refill_task_slice_dfl(&mut self, t: u32) {
        self.set_slice(t, super::consts::SLICE_DFL);
        self.ext.events.refill_slice_dfl += 1;
    }

    // ---- between queues and CPUs ------------------------------------------------------

    /// Is this CPU one of the task's?  task_allowed_on_cpu(); no CPU is ever offline.
    pub(super) fn allowed_on(&self, t: u32, cpu: u32) -> bool {
        let at = self.ext.task(t).address + self.ext.fields.cpus_mask;
        let word: u64 = self.memory.get(at + u64::from(cpu / 64) * 8);
        word >> (cpu % 64) & 1 != 0
    }

    fn task_can_run_on_remote_rq(&mut self, t: u32, cpu: u32, enforce: bool) -> bool {
        let allowed = self.allowed_on(t, cpu);
        if !allowed && enforce {
            let name = self.task_name(t);
            self.scx_error(format!(
                "SCX_DSQ_LOCAL[_ON] target CPU {cpu} not allowed for {name}"
            ));
        }
        allowed
    }

    /// A task that is off its queue goes to the local queue of its own CPU: move_local_task_to_local_dsq().
    fn move_local_task_to_local_dsq(&mut self, t: u32, enq_flags: u64, cpu: u32) {
        let local = self.ext.rq(cpu).local;
        let place = match enq_flags & (enq::HEAD | enq::PREEMPT) {
            0 => Place::Tail,
            _ => Place::Head,
        };
        let _ = self.ext.dsqs.insert(local, t, place, false);
        self.dsq_inc_nr(local, t, enq_flags);
        self.local_dsq_post_enq(cpu, t, enq_flags);
    }

    /// move_remote_task_to_local_dsq()
    fn move_remote_task_to_local_dsq(&mut self, t: u32, enq_flags: u64, from: u32, to: u32) {
        self.ext.task_mut(t).sticky_cpu = to;
        self.deactivate_task(from, t, 0);
        self.set_task_cpu(t, to);
        self.ext.rq_mut(to).extra_enq_flags = enq_flags;
        self.activate_task(to, t, 0);
        self.ext.rq_mut(to).extra_enq_flags = 0;
    }

    /// Moves the first task of a queue that may run here to the CPU's local queue: consume_dispatch_q().
    pub(super) fn consume_dispatch_q(&mut self, cpu: u32, queue: DsqIndex, enq_flags: u64) -> bool {
        let mut next = self.ext.dsqs.first(queue);
        let mut examined = 0;
        let mut found = false;
        while let Some(t) = next {
            examined += 1;
            let task_cpu = self.ext.task(t).cpu;
            if task_cpu == cpu {
                self.unlink_from_dsq(t);
                self.move_local_task_to_local_dsq(t, enq_flags, cpu);
                found = true;
                break;
            }
            if self.allowed_on(t, cpu) {
                self.unlink_from_dsq(t);
                self.move_remote_task_to_local_dsq(t, enq_flags, task_cpu, cpu);
                found = true;
                break;
            }
            next = self.ext.dsqs.next(t);
        }
        self.examined(examined);
        found
    }

    fn consume_global_dsq(&mut self, cpu: u32) -> bool {
        let global = self.find_global_dsq(cpu);
        self.consume_dispatch_q(cpu, global, 0)
    }

    /// move_task_between_dsqs()
    pub(super) fn move_task_between_dsqs(&mut self, t: u32, mut enq_flags: u64, mut to: DsqIndex) {
        let from_cpu = self.ext.task(t).cpu;
        let mut to_cpu = self.local_of(to);
        if let Some(cpu) = to_cpu.filter(|&cpu| cpu != from_cpu) {
            if !self.task_can_run_on_remote_rq(t, cpu, true) {
                to = self.find_global_dsq(from_cpu);
                to_cpu = None;
                enq_flags |= enq::GDSQ_FALLBACK;
            }
        }
        self.unlink_from_dsq(t);
        match to_cpu {
            Some(cpu) if cpu == from_cpu => self.move_local_task_to_local_dsq(t, enq_flags, cpu),
            Some(cpu) => self.move_remote_task_to_local_dsq(t, enq_flags, from_cpu, cpu),
            None => self.dispatch_enqueue(to, t, enq_flags),
        }
    }

    /// Dispatches a task that is wholly ours to a CPU's local queue, on `cpu`: dispatch_to_local_dsq().
    pub(super) fn dispatch_to_local_dsq(&mut self, cpu: u32, target: u32, t: u32, enq_flags: u64) {
        let from = self.ext.task(t).cpu;
        let local = self.ext.rq(target).local;
        if cpu == from && cpu == target {
            return self.dispatch_enqueue(local, t, enq_flags | enq::CLEAR_OPSS);
        }
        if from != target && !self.task_can_run_on_remote_rq(t, target, true) {
            let global = self.find_global_dsq(from);
            let flags = enq_flags | enq::CLEAR_OPSS | enq::GDSQ_FALLBACK;
            return self.dispatch_enqueue(global, t, flags);
        }
        self.ext.task_mut(t).ops_state = OpsState::None;
        if from == target {
            self.dispatch_enqueue(local, t, enq_flags);
        } else {
            self.move_remote_task_to_local_dsq(t, enq_flags, from, target);
        }
        if self.ext.curr_class(target) < Class::Ext {
            self.resched_curr(target);
        }
    }

    // ---- dispatches of the scheduler -----------------------------------------------------

    /// scx_dsq_insert_commit()
    pub(super) fn dsq_insert_commit(&mut self, t: u32, dsq_id: u64, enq_flags: u64) {
        if self.ext.direct != Direct::None {
            return self.mark_direct_dispatch(t, dsq_id, enq_flags);
        }
        let this = self.this_cpu;
        let max_batch = self.ext.max_batch as usize;
        if self.ext.rq(this).buf.len() >= max_batch {
            return self.scx_error("dispatch buffer overflow".into());
        }
        let qseq = match self.ext.task(t).ops_state {
            OpsState::Queued(qseq) => qseq,
            _ => 0,
        };
        self.ext.rq_mut(this).buf.push(Dispatched {
            task: t,
            qseq,
            dsq_id,
            enq_flags,
        });
    }

    fn finish_dispatch(&mut self, cpu: u32, one: Dispatched) {
        let t = one.task;
        // Only who owns the task at this very time may dispatch it.
        if self.ext.task(t).ops_state != OpsState::Queued(one.qseq) {
            return;
        }
        let (this, task_cpu) = (self.this_cpu, self.ext.task(t).cpu);
        let queue = self.find_dsq_for_dispatch(this, one.dsq_id, task_cpu);
        match self.local_of(queue) {
            Some(target) => self.dispatch_to_local_dsq(cpu, target, t, one.enq_flags),
            None => self.dispatch_enqueue(queue, t, one.enq_flags | enq::CLEAR_OPSS),
        }
    }

    /// flush_dispatch_buf()
    pub(super) fn flush_dispatch_buf(&mut self, cpu: u32) {
        let this = self.this_cpu;
        let mut buf = std::mem::take(&mut self.ext.rq_mut(this).buf);
        let count = buf.len() as u32;
        for &one in &buf {
            self.finish_dispatch(cpu, one);
        }
        buf.clear();
        let rq = self.ext.rq_mut(this);
        rq.buf = buf;
        rq.dispatched += count;
    }

    /// Asks the scheduler for tasks: scx_dispatch_sched().  True: there is something to run.
    fn dispatch_sched(&mut self, cpu: u32, prev: u32) -> bool {
        if self.consume_global_dsq(cpu) {
            return true;
        }
        if !self.has_op(Op::Dispatch) {
            return false;
        }
        let prev_here = prev != NONE && self.ext.task(prev).class == Class::Ext;
        let argument = if prev_here {
            self.ext.task(prev).address
        } else {
            0
        };
        for left in (0..MAX_LOOPS).rev() {
            self.ext.rq_mut(cpu).dispatched = 0;
            self.op(
                Op::Dispatch,
                Some(cpu),
                [None; 2],
                &[u64::from(cpu), argument],
            );
            self.flush_dispatch_buf(cpu);
            if prev != NONE && self.has_flag(prev, task::QUEUED) && self.slice(prev) != 0 {
                self.ext.rq_mut(cpu).bal_keep = true;
                return true;
            }
            if self.ext.dsqs.nr(self.ext.rq(cpu).local) > 0 || self.consume_global_dsq(cpu) {
                return true;
            }
            if left == 0 {
                self.kick_cpu(cpu as i32, 0);
            }
            if self.ext.rq(cpu).dispatched == 0 {
                break;
            }
        }
        false
    }

    /// Sees to it that there is something to run, if there can be: balance_one().
    pub(super) fn balance_one(&mut self, cpu: u32, prev: u32) {
        let rq = self.ext.rq_mut(cpu);
        rq.in_balance = true;
        rq.bal_keep = false;
        if std::mem::take(&mut rq.cpu_released) {
            self.op(Op::CpuAcquire, Some(cpu), [None; 2], &[u64::from(cpu), 0]);
        }
        if self.balance_has_tasks(cpu, prev) {
            let rq = self.ext.rq(cpu);
            if rq.nr_immed > 0 && self.ext.dsqs.nr(rq.local) > 1 {
                self.schedule_reenq_local(cpu, 0, Some(cpu));
            }
        }
        self.ext.rq_mut(cpu).in_balance = false;
    }

    fn balance_has_tasks(&mut self, cpu: u32, prev: u32) -> bool {
        let prev_queued = prev != NONE && self.has_flag(prev, task::QUEUED);
        if prev != NONE && self.ext.task(prev).class == Class::Ext {
            self.update_curr(cpu);
            if prev_queued && self.slice(prev) != 0 {
                self.ext.rq_mut(cpu).bal_keep = true;
                return true;
            }
        }
        if self.ext.dsqs.nr(self.ext.rq(cpu).local) > 0 || self.dispatch_sched(cpu, prev) {
            return true;
        }
        if prev_queued && self.ext.flags & ops::ENQ_LAST == 0 {
            self.ext.rq_mut(cpu).bal_keep = true;
            self.ext.events.dispatch_keep_last += 1;
            return true;
        }
        false
    }
}
