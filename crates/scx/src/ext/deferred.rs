//! What the kernel puts off until locks are dropped: dispatches to other CPUs, reenqueueing, kicks.
//!
//! Balance callbacks run when a CPU has switched, interrupts (irq_work) when the hook ends that asked for them.

use super::consts::{dsq, enq, kick, reenq, task, NONE};
use super::dsq::DsqIndex;
use super::mask::Mask;
use super::Class;
use crate::machine::Machine;

/// Kicks that one CPU asked for.
#[derive(Clone, Debug)]
struct Kicks {
    by: u32,
    kick: Mask,
    if_idle: Mask,
    preempt: Mask,
    wait: Mask,
}

/// What waits for the end of the hook.
#[derive(Clone, Debug, Default)]
pub(super) struct Deferred {
    /// CPUs whose deferred_irq_work is queued.
    works: Vec<u32>,
    kicks: Vec<Kicks>,
    /// Kicks that had to wait: SCX_KICK_WAIT.
    pub waits: u64,
}

impl Machine {
    /// resched_curr()
    pub(super) fn resched_curr(&mut self, cpu: u32) {
        if !self.ext.rq(cpu).picking {
            self.tell_resched(cpu);
        }
    }

    fn schedule_deferred(&mut self, cpu: u32) {
        if !self.ext.deferred.works.contains(&cpu) {
            self.ext.deferred.works.push(cpu);
        }
    }

    /// schedule_deferred_locked()
    pub(super) fn schedule_deferred_locked(&mut self, cpu: u32) {
        let rq = self.ext.rq_mut(cpu);
        if rq.in_wakeup || rq.bal_cb_pending {
            return;
        }
        match rq.in_balance {
            true => rq.bal_cb_pending = true,
            false => self.schedule_deferred(cpu),
        }
    }

    /// schedule_reenq_local(): schedule_dsq_reenq() of a local queue.
    pub(super) fn schedule_reenq_local(&mut self, cpu: u32, flags: u64, locked: Option<u32>) {
        self.ext.rq_mut(cpu).reenq_local |= flags | reenq_pending();
        self.schedule_reenq(cpu, locked);
    }

    fn schedule_reenq(&mut self, cpu: u32, locked: Option<u32>) {
        match locked == Some(cpu) {
            true => self.schedule_deferred_locked(cpu),
            false => self.schedule_deferred(cpu),
        }
    }

    /// schedule_dsq_reenq()
    pub(super) fn schedule_dsq_reenq(&mut self, queue: DsqIndex, flags: u64) {
        let locked = self.ext.context.locked();
        if let Some(cpu) = self.local_of(queue) {
            return self.schedule_reenq_local(cpu, flags, locked);
        }
        let id = self.ext.dsqs.id(queue);
        if id & dsq::BUILTIN != 0 {
            return self.scx_error(format!("DSQ 0x{id:x} not allowed for reenq"));
        }
        let this = self.this_cpu;
        let users = &mut self.ext.rq_mut(this).reenq_users;
        match users.iter_mut().find(|(other, _)| *other == queue) {
            Some((_, all)) => *all |= flags,
            None => users.push((queue, flags)),
        }
        self.schedule_reenq(this, locked);
    }

    // ---- doing it ---------------------------------------------------------------

    fn process_ddsp_deferred_locals(&mut self, cpu: u32) {
        let list = self.ext.rq(cpu).deferred_locals;
        while let Some(t) = self.ext.dsqs.first(list) {
            let (id, flags) = (self.ddsp_dsq_id(t), self.ddsp_enq_flags(t));
            self.ext.dsqs.remove(t);
            self.clear_direct_dispatch(t);
            let task_cpu = self.ext.task(t).cpu;
            let queue = self.find_dsq_for_dispatch(cpu, id, task_cpu);
            if let Some(target) = self.local_of(queue) {
                self.dispatch_to_local_dsq(cpu, target, t, flags);
            }
        }
    }

    /// local_task_should_reenq(): the reason, if so.
    fn should_reenq(&mut self, t: u32, flags: &mut u64) -> Option<u32> {
        let first = *flags & reenq::TSR_NOT_FIRST == 0;
        *flags |= reenq::TSR_NOT_FIRST;
        let stays = first && *flags & reenq::TSR_RQ_OPEN != 0;
        if self.has_flag(t, task::IMMED) && !stays {
            self.ext.events.reenq_immed += 1;
            return Some(task::REENQ_IMMED);
        }
        (*flags & reenq::ANY != 0).then_some(task::REENQ_KFUNC)
    }

    /// Gives tasks of a local queue back to the scheduler: reenq_local().
    pub(super) fn reenq_local(&mut self, cpu: u32, mut flags: u64) -> u32 {
        if self.rq_is_open(cpu, 0) {
            flags |= reenq::TSR_RQ_OPEN;
        }
        let local = self.ext.rq(cpu).local;
        let mut tasks = Vec::new();
        let mut next = self.ext.dsqs.first(local);
        while let Some(t) = next {
            next = self.ext.dsqs.next(t);
            if let Some(reason) = self.should_reenq(t, &mut flags) {
                self.dispatch_dequeue(t);
                self.add_flag(t, reason);
                tasks.push(t);
            }
        }
        for &t in &tasks {
            self.do_enqueue_task(cpu, t, enq::REENQ, NONE);
            self.clear_flag(t, task::REENQ_REASON_MASK);
        }
        tasks.len() as u32
    }

    fn process_deferred_reenq_locals(&mut self, cpu: u32) {
        let rq = self.ext.rq_mut(cpu);
        rq.reenq_seq += 1;
        let seq = rq.reenq_seq;
        loop {
            let rq = self.ext.rq_mut(cpu);
            let flags = std::mem::take(&mut rq.reenq_local);
            if flags == 0 {
                return;
            }
            if rq.reenq_last != seq {
                (rq.reenq_last, rq.reenq_cnt) = (seq, 0);
            } else {
                rq.reenq_cnt += 1;
                let count = rq.reenq_cnt;
                self.ext.events.reenq_local_repeat += 1;
                if count > reenq::MAX_REPEAT {
                    self.scx_error(format!(
                        "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {count} times"
                    ));
                    continue;
                }
            }
            self.reenq_local(cpu, flags & !reenq_pending());
        }
    }

    /// reenq_user()
    fn reenq_user(&mut self, queue: DsqIndex, flags: u64) {
        if flags & reenq::ANY == 0 {
            return;
        }
        let cursor = self.ext.dsqs.iterate(queue, false);
        while let Some(t) = self.ext.dsqs.advance(cursor) {
            let cpu = self.ext.task(t).cpu;
            self.unlink_from_dsq(t);
            self.add_flag(t, task::REENQ_KFUNC);
            self.do_enqueue_task(cpu, t, enq::REENQ, NONE);
            self.clear_flag(t, task::REENQ_REASON_MASK);
        }
        self.ext.dsqs.end(cursor);
    }

    /// run_deferred()
    pub(super) fn run_deferred(&mut self, cpu: u32) {
        self.process_ddsp_deferred_locals(cpu);
        self.process_deferred_reenq_locals(cpu);
        while !self.ext.rq(cpu).reenq_users.is_empty() {
            let (queue, flags) = self.ext.rq_mut(cpu).reenq_users.remove(0);
            self.reenq_user(queue, flags);
        }
    }

    /// __balance_callbacks(): what the CPU put off while it picked.
    pub(super) fn balance_callbacks(&mut self, cpu: u32) {
        if std::mem::take(&mut self.ext.rq_mut(cpu).bal_cb_pending) {
            self.run_deferred(cpu);
        }
    }

    // ---- kicks ---------------------------------------------------------------------

    /// scx_kick_cpu()
    pub(super) fn kick_cpu(&mut self, cpu: i32, flags: u64) {
        let Some(cpu) = self.ops_cpu_valid(cpu, "") else {
            return;
        };
        let by = self.this_cpu;
        if flags & kick::IDLE != 0 && flags & (kick::PREEMPT | kick::WAIT) != 0 {
            self.scx_error("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".into());
        }
        if flags & kick::IDLE != 0 && self.can_skip_idle_kick(cpu) {
            return;
        }
        let known = self.ext.deferred.kicks.iter().position(|k| k.by == by);
        let place = known.unwrap_or_else(|| {
            self.ext.deferred.kicks.push(Kicks {
                by,
                kick: Mask::EMPTY,
                if_idle: Mask::EMPTY,
                preempt: Mask::EMPTY,
                wait: Mask::EMPTY,
            });
            self.ext.deferred.kicks.len() - 1
        });
        let kicks = &mut self.ext.deferred.kicks[place];
        if flags & kick::IDLE != 0 {
            return kicks.if_idle.set(cpu);
        }
        kicks.kick.set(cpu);
        if flags & kick::PREEMPT != 0 {
            kicks.preempt.set(cpu);
        }
        if flags & kick::WAIT != 0 {
            kicks.wait.set(cpu);
        }
    }

    /// can_skip_idle_kick()
    fn can_skip_idle_kick(&self, cpu: u32) -> bool {
        let rq = self.ext.rq(cpu);
        rq.curr != NONE && !rq.in_balance
    }

    /// kick_one_cpu()
    ///
    /// FIDELITY: nobody waits for SCX_KICK_WAIT: time does not pass within a hook.
    fn kick_one_cpu(&mut self, cpu: u32, preempt: bool, wait: bool) {
        let class = self.ext.curr_class(cpu);
        if class > Class::Ext {
            return;
        }
        if preempt && class == Class::Ext {
            let curr = self.ext.rq(cpu).curr;
            self.set_slice(curr, 0);
        }
        self.ext.deferred.waits += u64::from(wait && class == Class::Ext);
        self.resched_curr(cpu);
    }

    /// kick_cpus_irq_workfn()
    fn kick_cpus(&mut self, kicks: &Kicks) {
        for cpu in kicks.kick.iter() {
            self.kick_one_cpu(cpu, kicks.preempt.has(cpu), kicks.wait.has(cpu));
        }
        for cpu in kicks.if_idle.iter() {
            if !kicks.kick.has(cpu) && !self.can_skip_idle_kick(cpu) {
                self.resched_curr(cpu);
            }
        }
    }

    /// Interrupts are on again: does what was put off.
    #[inline]
    pub(super) fn irq_works(&mut self) {
        while !self.ext.deferred.works.is_empty() || !self.ext.deferred.kicks.is_empty() {
            for cpu in std::mem::take(&mut self.ext.deferred.works) {
                self.run_deferred(cpu);
            }
            for kicks in std::mem::take(&mut self.ext.deferred.kicks) {
                self.kick_cpus(&kicks);
            }
            if self.ext.exit().is_some() {
                return;
            }
        }
    }
}

/// Marks a reenqueueing as wanted, whatever its flags are.
fn reenq_pending() -> u64 {
    1 << 63
}
