//! Parents and children: exit, wait, reap.

use schedlab_trace::{CpuId, EventKind, Overhead, TaskId};

use crate::engine::Simulation;
use crate::error::SimError;
use crate::task::State;

impl Simulation<'_> {
    /// Adds the child to its parent's list of children, in constant time.
    pub(crate) fn adopt(&mut self, parent: TaskId, child: TaskId) {
        let next = self.task_mut(parent).first_child.replace(child);
        if let Some(next) = next {
            self.task_mut(next).previous_sibling = Some(child);
        }
        let c = self.task_mut(child);
        c.parent = Some(parent);
        c.next_sibling = next;
    }

    /// Removes the child from that list; it has no parent afterwards.
    fn disown(&mut self, child: TaskId) {
        let c = self.task_mut(child);
        let Some(parent) = c.parent.take() else {
            return;
        };
        let (previous, next) = (c.previous_sibling.take(), c.next_sibling.take());
        match previous {
            Some(previous) => self.task_mut(previous).next_sibling = next,
            None => self.task_mut(parent).first_child = next,
        }
        if let Some(next) = next {
            self.task_mut(next).previous_sibling = previous;
        }
    }

    /// The running task ends; its CPU reschedules.
    ///
    /// FIDELITY: the exit wakes a parent that may run on another CPU before this CPU has switched
    /// away. The parent then finds nothing to reap and sleeps once more. A kernel lets it reap at
    /// once (2.6) or spin until then (2.4).
    pub(crate) fn exit(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.check_work(cpu, task)?;
        self.set_state(task, State::Exiting(cpu));
        self.emit(cpu, EventKind::Exit { task });
        self.leave_foreground(task);
        let cost = self.setup.machine.costs.exit;
        self.charge(cpu, Overhead::Syscall, cost);
        self.tell_parent(cpu, task)
    }

    /// The end of the run no longer depends on this task.
    pub(crate) fn leave_foreground(&mut self, task: TaskId) {
        let spec = &self.setup.workload.tasks[self.task(task).spec as usize];
        self.foreground -= u32::from(!spec.background);
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

    /// A CPU has switched away from a dead task: its parent may reap it; without a parent it is
    /// reaped now.
    pub(crate) fn bury(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let zombies = std::mem::take(&mut self.task_mut(task).zombies);
        self.orphan_children(task);
        for child in zombies {
            self.reap(cpu, child, None)?;
        }
        match self.task(task).parent {
            Some(parent) => {
                self.task_mut(parent).zombies.push_back(task);
                self.tell_parent(cpu, task)
            }
            None => self.reap(cpu, task, None),
        }
    }

    fn orphan_children(&mut self, task: TaskId) {
        while let Some(child) = self.task(task).first_child {
            self.disown(child);
            self.host.set_parent(child, None);
        }
    }

    /// Reaps dead children, and waits if necessary.
    pub(crate) fn wait_children(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        all: bool,
    ) -> Result<(), SimError> {
        while self.task(task).first_child.is_some() {
            let Some(dead) = self.task_mut(task).zombies.pop_front() else {
                self.task_mut(task).waits_for_child = true;
                self.retry(task);
                self.block(cpu, task);
                return Ok(());
            };
            self.reap(cpu, dead, Some(task))?;
            if !all {
                break;
            }
        }
        Ok(())
    }

    /// Reaps the children that are dead.
    pub(crate) fn reap_dead_children(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        while let Some(dead) = self.task_mut(task).zombies.pop_front() {
            self.reap(cpu, dead, Some(task))?;
        }
        Ok(())
    }

    /// A dead task is reaped.
    fn reap(&mut self, cpu: CpuId, task: TaskId, reaper: Option<TaskId>) -> Result<(), SimError> {
        self.set_state(task, State::Reaped);
        self.emit(cpu, EventKind::Reap { task, reaper });
        self.call(cpu, |host| host.exit(task, reaper))?;
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        self.host.forget(task);
        self.disown(task);
        Ok(())
    }
}
