//! Calls the policy and carries out the requests of its hooks.

use schedlab_policy::Host;
use schedlab_trace::{CpuId, EventKind, Ns, Overhead, TaskId, Time};

use crate::engine::Simulation;
use crate::error::SimError;
use crate::queue::Actor;

impl Simulation<'_> {
    /// Calls a hook at the current time.
    #[inline]
    pub(crate) fn call<T>(
        &mut self,
        cpu: CpuId,
        hook: impl FnOnce(&mut Host) -> Result<T, schedlab_policy::Fault>,
    ) -> Result<T, SimError> {
        self.host.at(self.now, cpu);
        hook(&mut self.host).map_err(|fault| SimError::Fault {
            time: self.now,
            cpu,
            fault,
        })
    }

    /// Carries out the requests of the hooks just called on `cpu`.
    #[inline]
    pub(crate) fn drain_requests(&mut self, cpu: CpuId) -> Result<(), SimError> {
        if !self.host.take_requests() {
            return Ok(());
        }
        while let Some((task, from)) = self.host.take_moved() {
            self.task_moved(cpu, task, from)?;
        }
        while let Some((group, on, throttled)) = self.host.take_throttled() {
            self.group_throttled(cpu, group, on, throttled);
        }
        while let Some(target) = self.host.take_resched() {
            if target != cpu {
                self.kick(target);
            }
        }
        if let Some(timers) = self.host.take_timers() {
            for (id, &expires) in timers.iter().enumerate() {
                match expires {
                    0 => self.queue.cancel(Actor::PolicyTimer(id as u32)),
                    at => self
                        .queue
                        .arm(Actor::PolicyTimer(id as u32), Time(at).max(self.now)),
                }
            }
        }
        while let Some((target, expires)) = self.host.take_hrtick() {
            self.arm_hrtick(target, expires);
        }
        if !self.counters_seen.is_empty() {
            self.emit_counters(cpu);
        }
        Ok(())
    }

    fn arm_hrtick(&mut self, cpu: CpuId, expires: u64) {
        match expires {
            0 => self.queue.cancel(Actor::Hrtick(cpu.0)),
            at => self.queue.arm(Actor::Hrtick(cpu.0), Time(at).max(self.now)),
        }
    }

    fn emit_counters(&mut self, cpu: CpuId) {
        for counter in 0..self.counters_seen.len() {
            let value = self.host.counters()[counter];
            let by = value - std::mem::replace(&mut self.counters_seen[counter], value);
            if by > 0 {
                self.emit(
                    cpu,
                    EventKind::Count {
                        counter: counter as u32,
                        by,
                    },
                );
            }
        }
    }

    /// The cost of the examining, recalculating and locking of the hooks just called on `cpu`,
    /// outside schedule().
    pub(crate) fn work_cost(&mut self, cpu: CpuId) -> Ns {
        let work = self.host.take_work();
        if work.recalculations > 0 {
            let passes = work.recalculations;
            self.emit(cpu, EventKind::Recalculate { passes });
        }
        self.price(work)
    }

    /// Charges this cost, in addition to that of the step.
    pub(crate) fn charge_work(&mut self, cpu: CpuId, kind: Overhead) {
        let cost = self.work_cost(cpu);
        self.charge(cpu, kind, cost);
    }

    pub(crate) fn price(&self, work: schedlab_policy::ffi::Work) -> Ns {
        let costs = &self.setup.machine.costs;
        Ns(u64::from(work.examined) * costs.examine.0
            + u64::from(work.recalculated) * costs.recalculate.0
            + u64::from(work.locks) * costs.lock_transfer.0)
    }

    /// Records the task's priority if it has changed.
    #[inline]
    pub(crate) fn note_priority(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let Some(priority) = self.call(cpu, |host| host.priority(task))? else {
            return Ok(());
        };
        if self.task_mut(task).last_priority.replace(priority) != Some(priority) {
            self.emit(cpu, EventKind::Priority { task, priority });
        }
        Ok(())
    }
}
