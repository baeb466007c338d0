//! Wakes tasks and starts them.

use schedlab_policy::{enq, Hook};
use schedlab_trace::{CpuId, EventKind, Ns, Overhead, TaskId, WakeContext};

use crate::cpu::KernelWork;
use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::task::State;

impl Simulation<'_> {
    /// Wakes a task from this CPU: the wakeup becomes kernel work of the CPU.
    ///
    /// A task that is only about to sleep stays runnable instead.
    pub(crate) fn want_awake(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        flags: u32,
        by: WakeContext,
    ) -> Result<(), SimError> {
        match self.task(task).state {
            State::Blocking { cpu: its_cpu, .. } => {
                self.set_state(task, State::Running(its_cpu));
                // Its CPUs may have changed since it began to block.
                self.leave_if_forbidden(cpu, task, its_cpu)?;
            }
            State::Sleeping { uninterruptible } => {
                self.set_state(task, State::Waking { uninterruptible });
                self.emit(cpu, EventKind::Waking { task, by });
                let disk = if uninterruptible {
                    enq::UNINTERRUPTIBLE
                } else {
                    0
                };
                let flags = flags | disk | enq::WAKEUP;
                let work = KernelWork::Wake {
                    task,
                    flags,
                    chosen: None,
                };
                self.cpu_mut(cpu).pending.push_back(work);
            }
            State::Unborn => self.rouse(cpu, task, by)?,
            state => {
                let detail = format!("woken while it is {state}");
                return Err(self.violation(Rule::TaskLost, cpu, None, Some(task), detail));
            }
        }
        Ok(())
    }

    /// A task wakes another.
    pub(crate) fn wake(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.want_awake(cpu, task, 0, WakeContext::Task)
    }

    /// A task that sends or takes a message wakes the task that waits for it. Pipes and sockets
    /// tell the scheduler that the waker is about to sleep: wake_up_interruptible_sync_poll().
    pub(crate) fn wake_sync(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let sync = match self.setup.machine.sync_wakeups {
            true => enq::SYNC,
            false => 0,
        };
        self.want_awake(cpu, task, sync, WakeContext::Task)
    }

    /// The CPU's first piece of kernel work is to wake this task; returns false if it spins for the
    /// lock.
    pub(crate) fn try_wake(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        flags: u32,
        chosen: Option<(CpuId, Ns)>,
    ) -> Result<bool, SimError> {
        let (target, choice) = match chosen {
            Some(chosen) if self.host.allowed(task, chosen.0) => chosen,
            _ => self.choose_target(cpu, task, flags, chosen)?,
        };
        let lock = self.lock_of(target);
        if !self.have_lock(cpu, lock) {
            return Ok(false);
        }
        self.cpu_mut(cpu).pending.pop_front();
        self.enqueue(cpu, task, target, flags)?;
        let work = choice + self.work_cost(cpu);
        let cost = self.setup.machine.costs.wakeup + self.lock_cost(cpu, lock) + work;
        self.charge(cpu, Overhead::Wakeup, cost);
        self.release_lock(cpu, lock);
        Ok(true)
    }

    /// The CPU for a woken task, and the cost of all choices so far. Both are kept in case the CPU
    /// has to spin before it can queue the task.
    fn choose_target(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        flags: u32,
        before: Option<(CpuId, Ns)>,
    ) -> Result<(CpuId, Ns), SimError> {
        let target = self.call(cpu, |host| host.select_cpu(task, flags))?;
        self.drain_requests(cpu)?;
        let price = before.map_or(Ns::ZERO, |(_, price)| price) + self.work_cost(cpu);
        if let Some(KernelWork::Wake { chosen, .. }) = self.cpu_mut(cpu).pending.front_mut() {
            *chosen = Some((target, price));
        }
        Ok((target, price))
    }

    /// Queues the runnable task on `target`.
    fn enqueue(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        target: CpuId,
        flags: u32,
    ) -> Result<(), SimError> {
        self.host.set_task_cpu(task, target);
        self.set_state(task, State::Waiting);
        self.waiting_here(target, task);
        self.begin_stay(task);
        self.emit(cpu, EventKind::Wakeup { task, target });
        self.tell_work_left(task);
        self.call(cpu, |host| host.enqueue(task, flags))?;
        self.drain_requests(cpu)?;
        self.check_queued(cpu, task, Hook::Enqueue)?;
        self.check_told(cpu, target, task, flags)?;
        self.note_priority(cpu, task)
    }

    /// Starts a task of the workload's beginning.
    ///
    /// FIDELITY: this costs no CPU time, as if the task had been forked before the measurement. Its
    /// CPU is chosen as after an exec.
    pub(crate) fn start_task(&mut self, task: TaskId) -> Result<(), SimError> {
        let cpu = CpuId(self.host.task(task).cpu);
        self.emit(
            cpu,
            EventKind::Fork {
                child: task,
                parent: None,
            },
        );
        self.call(cpu, |host| host.fork(None, task))?;
        let flags = enq::NEW;
        let target = self.call(cpu, |host| host.select_cpu(task, flags | enq::EXEC))?;
        self.drain_requests(cpu)?;
        self.enqueue(cpu, task, target, flags)?;
        self.host.take_work();
        // The current CPU itself may have to reschedule.
        if self.host.need_resched(cpu) {
            self.kick(cpu);
        }
        Ok(())
    }

    /// Wakes a task that slept from the start for the first time; the policy gets to know it.
    fn rouse(&mut self, cpu: CpuId, task: TaskId, by: WakeContext) -> Result<(), SimError> {
        self.emit(
            cpu,
            EventKind::Fork {
                child: task,
                parent: None,
            },
        );
        self.call(cpu, |host| host.fork(None, task))?;
        self.drain_requests(cpu)?;
        let uninterruptible = false;
        self.set_state(task, State::Waking { uninterruptible });
        self.emit(cpu, EventKind::Waking { task, by });
        let work = KernelWork::Wake {
            task,
            flags: enq::NEW,
            chosen: None,
        };
        self.cpu_mut(cpu).pending.push_back(work);
        Ok(())
    }

    /// The running task forks a child; waking the child is kernel work of this CPU.
    pub(crate) fn fork(&mut self, cpu: CpuId, parent: TaskId, spec: u32) -> Result<(), SimError> {
        let child = self.create_task(spec, Some(parent), cpu, self.now)?;
        self.adopt(parent, child);
        self.emit(
            cpu,
            EventKind::Fork {
                child,
                parent: Some(parent),
            },
        );
        self.call(cpu, |host| host.fork(Some(parent), child))?;
        self.drain_requests(cpu)?;
        let cost = self.setup.machine.costs.fork + self.work_cost(cpu);
        self.charge(cpu, Overhead::Syscall, cost);
        // From here on the child is alive, but not yet on a run queue.
        let uninterruptible = false;
        self.set_state(child, State::Waking { uninterruptible });
        let work = KernelWork::Wake {
            task: child,
            flags: enq::NEW,
            chosen: None,
        };
        self.cpu_mut(cpu).pending.push_back(work);
        Ok(())
    }
}
