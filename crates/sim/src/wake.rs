//! Waking tasks, and their beginning and end: start, fork, exit, reap.

use schedlab_policy::{enq, Hook};
use schedlab_trace::{CpuId, EventKind, Overhead, Sink, TaskId, WakeContext};

use crate::cpu::KernelWork;
use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::task::State;

impl<S: Sink> Simulation<'_, S> {
    /// Somebody on this CPU wants a task awake: it becomes kernel work of the CPU.
    ///
    /// A task that is only about to sleep simply does not.
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
                    target: None,
                };
                self.cpu_mut(cpu).pending.push_back(work);
            }
            state => {
                let detail = format!("woken while {state:?}");
                return Err(self.violation(Rule::TaskLost, cpu, None, Some(task), detail));
            }
        }
        Ok(())
    }

    /// A task wakes another.
    pub(crate) fn wake(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.want_awake(cpu, task, 0, WakeContext::Task)
    }

    /// The CPU's first piece of kernel work is to wake this task; false if it spins for the lock.
    pub(crate) fn try_wake(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        flags: u32,
        target: Option<CpuId>,
    ) -> Result<bool, SimError> {
        let target = match target {
            Some(target) if self.host.allowed(task, target) => target,
            _ => {
                let target = self.call(cpu, |host| host.select_cpu(task, flags))?;
                self.drain_requests(cpu)?;
                if let Some(KernelWork::Wake { target: chosen, .. }) =
                    self.cpu_mut(cpu).pending.front_mut()
                {
                    *chosen = Some(target);
                }
                target
            }
        };
        let lock = self.lock_of(target);
        if !self.have_lock(cpu, lock) {
            return Ok(false);
        }
        self.cpu_mut(cpu).pending.pop_front();
        self.enqueue(cpu, task, target, flags)?;
        let cost = self.setup.machine.costs.wakeup + self.lock_cost(cpu, lock) + self.work_cost();
        self.charge(cpu, Overhead::Wakeup, cost);
        self.release_lock(cpu, lock);
        Ok(true)
    }

    /// The task is runnable on the run queue of `target`.
    fn enqueue(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        target: CpuId,
        flags: u32,
    ) -> Result<(), SimError> {
        self.host.set_task_cpu(task, target);
        self.set_state(task, State::Waiting);
        self.waiting_here(target);
        self.emit(cpu, EventKind::Wakeup { task, target });
        self.call(cpu, |host| host.enqueue(task, flags))?;
        self.drain_requests(cpu)?;
        self.check_queued(cpu, task, Hook::Enqueue)?;
        self.check_told(cpu, target, task)?;
        self.note_priority(cpu, task)
    }

    /// A task of the start begins.
    ///
    /// FIDELITY: it costs nobody anything, as if it had been forked before the measurement; its
    /// CPU is chosen as for a program just executed.
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
        // The CPU it is on may be the one that has to look.
        if self.host.need_resched(cpu) {
            self.kick(cpu);
        }
        Ok(())
    }

    /// The running task forks a child; waking it is kernel work of this CPU.
    pub(crate) fn fork(&mut self, cpu: CpuId, parent: TaskId, spec: u32) -> Result<(), SimError> {
        let child = self.create_task(spec, Some(parent), cpu, self.now)?;
        self.task_mut(parent).nr_children += 1;
        self.emit(
            cpu,
            EventKind::Fork {
                child,
                parent: Some(parent),
            },
        );
        self.call(cpu, |host| host.fork(Some(parent), child))?;
        self.drain_requests(cpu)?;
        let cost = self.setup.machine.costs.fork + self.work_cost();
        self.charge(cpu, Overhead::Syscall, cost);
        let work = KernelWork::Wake {
            task: child,
            flags: enq::NEW,
            target: None,
        };
        self.cpu_mut(cpu).pending.push_back(work);
        Ok(())
    }

    /// The running task ends: its CPU will not find it runnable any more.
    pub(crate) fn exit(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.check_work(cpu, task)?;
        self.set_state(task, State::Exiting(cpu));
        self.emit(cpu, EventKind::Exit { task });
        let workload = self.setup.workload;
        if !workload.tasks[self.task(task).spec as usize].background {
            self.foreground -= 1;
        }
        let cost = self.setup.machine.costs.exit;
        self.charge(cpu, Overhead::Syscall, cost);
        self.tell_parent(cpu, task)
    }

    /// Wakes the parent if it waits for a child.
    fn tell_parent(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let Some(parent) = self.task(task).parent else {
            return Ok(());
        };
        if std::mem::take(&mut self.task_mut(parent).waits_for_child) {
            self.wake(cpu, parent)?;
        }
        Ok(())
    }

    /// The CPU is rid of a dead task: its parent may reap it, or nobody will.
    pub(crate) fn bury(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        for child in std::mem::take(&mut self.task_mut(task).zombies) {
            self.reap(cpu, child, None)?;
        }
        self.orphan_children(task);
        match self.task(task).parent {
            Some(parent) => {
                self.task_mut(parent).zombies.push(task);
                self.tell_parent(cpu, task)
            }
            None => self.reap(cpu, task, None),
        }
    }

    fn orphan_children(&mut self, task: TaskId) {
        if self.task(task).nr_children == 0 {
            return;
        }
        for child in 0..self.tasks.len() {
            if self.tasks[child].parent == Some(task) && self.tasks[child].state != State::Reaped {
                self.tasks[child].parent = None;
                self.host.set_parent(TaskId(child as u32), None);
            }
        }
    }

    /// A dead task is waited for and gone.
    pub(crate) fn reap(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        reaper: Option<TaskId>,
    ) -> Result<(), SimError> {
        self.set_state(task, State::Reaped);
        self.emit(cpu, EventKind::Reap { task, reaper });
        self.call(cpu, |host| host.exit(task, reaper))?;
        self.drain_requests(cpu)?;
        self.host.forget(task);
        if let Some(reaper) = reaper {
            self.task_mut(reaper).nr_children -= 1;
        }
        Ok(())
    }
}
