//! Parents and children: exit, wait, reap.

use schedlab_trace::{CpuId, EventKind, Overhead, TaskId};

use crate::engine::Simulation;
use crate::error::SimError;
use crate::task::State;

impl Simulation<'_> {
    /// The child joins its parent's list of children, which costs the same however many there are.
    pub(crate) fn adopt(&mut self, parent: TaskId, child: TaskId) {
        let next = self.task_mut(parent).first_child.replace(child);
        if let Some(next) = next {
            self.task_mut(next).previous_sibling = Some(child);
        }
        let c = self.task_mut(child);
        c.parent = Some(parent);
        c.next_sibling = next;
    }

    /// The child leaves that list; it has no parent any more.
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

    /// The running task ends: its CPU will not find it runnable any more.
    ///
    /// FIDELITY: a parent on another CPU that is woken here and looks before this CPU has
    /// switched away finds nothing to reap and sleeps once more; a kernel lets it reap at once
    /// (2.6) or spin until then (2.4).
    pub(crate) fn exit(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.check_work(cpu, task)?;
        self.set_state(task, State::Exiting(cpu));
        self.emit(cpu, EventKind::Exit { task });
        self.leave_foreground(task);
        let cost = self.setup.machine.costs.exit;
        self.charge(cpu, Overhead::Syscall, cost);
        self.tell_parent(cpu, task)
    }

    /// The run does not wait for this task any more.
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

    /// The CPU is rid of a dead task: its parent may reap it, or nobody will.
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

    /// Reaps dead children; waits if it has to.
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

    /// Reaps what children are dead now.
    pub(crate) fn reap_dead_children(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        while let Some(dead) = self.task_mut(task).zombies.pop_front() {
            self.reap(cpu, dead, Some(task))?;
        }
        Ok(())
    }

    /// A dead task is waited for and gone.
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
