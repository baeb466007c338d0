//! At the end of a run the run queues are emptied: every task that waits must come out of one of them. The policy's own
//! word, its hook queued(), is not asked.

use schedlab_policy::{deq, Hook, Prev};
use schedlab_trace::{CpuId, TaskId};

use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::task::State;

impl Simulation<'_> {
    /// Puts every running task to sleep, and lets each CPU choose another, until none finds any. Only of policies whose
    /// CPUs do not idle beside waiting tasks, and without quotas, which may end while this goes on.
    pub(crate) fn check_drain(&mut self) -> Result<(), SimError> {
        let policy = self.setup.tuned.policy;
        if !policy.promise().conserving || policy.is_in_rust() || self.groups.limited {
            return Ok(());
        }
        let waits = |task: &crate::task::Task| task.state == State::Waiting && !task.throttled;
        let mut lost: Vec<bool> = self.tasks.iter().map(waits).collect();
        let cpus = || (0..self.cpus.len() as u32).map(CpuId);
        let cpus: Vec<CpuId> = cpus().collect();
        loop {
            let mut found = false;
            for &cpu in &cpus {
                found |= self.drain_one(cpu, &mut lost)?;
            }
            if !found {
                break;
            }
        }
        let Some(task) = lost.iter().position(|lost| *lost) else {
            return Ok(());
        };
        let task = TaskId(task as u32);
        let cpu = CpuId(self.host.task(task).cpu);
        let detail = "no CPU chooses it, although all other tasks sleep".to_string();
        Err(self.violation(
            Rule::TaskLost,
            cpu,
            Some(Hook::PickNext),
            Some(task),
            detail,
        ))
    }

    /// The CPU's task falls asleep, and the CPU chooses another. Was there one?
    fn drain_one(&mut self, cpu: CpuId, lost: &mut [bool]) -> Result<bool, SimError> {
        let prev = self.cpu(cpu).curr;
        let why = match prev {
            Some(prev) => self.put_to_sleep(cpu, prev)?,
            None => Prev::None,
        };
        let next = self.call(cpu, |host| host.pick_next(cpu, prev, why))?;
        if let Some(next) = next.filter(|next| !lost[next.index()]) {
            let detail = "it is chosen although it sleeps".to_string();
            let hook = Some(Hook::PickNext);
            return Err(self.violation(Rule::NotRunnable, cpu, hook, Some(next), detail));
        }
        if next != prev {
            self.call(cpu, |host| host.switch(cpu, prev, next))?;
        }
        self.host.forget_requests();
        self.cpu_mut(cpu).curr = next;
        if let Some(next) = next {
            lost[next.index()] = false;
        }
        Ok(next.is_some())
    }

    fn put_to_sleep(&mut self, cpu: CpuId, task: TaskId) -> Result<Prev, SimError> {
        let (flags, why) = match self.task(task).state {
            State::Exiting(_) => (deq::EXIT, Prev::Exited),
            _ => (deq::SLEEP, Prev::Blocked),
        };
        self.call(cpu, |host| host.dequeue(task, flags))?;
        Ok(why)
    }
}
