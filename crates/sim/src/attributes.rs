//! Changes a task's nice value, class, slice and CPUs, in any state of the task.

use schedlab_policy::enq;
use schedlab_trace::{CpuId, EventKind, Ns, Overhead, TaskClass, TaskId};

use crate::engine::{class_of, Simulation};
use crate::error::SimError;
use crate::task::State;

impl Simulation<'_> {
    /// As in set_user_nice(), a value that a task has already changes nothing.
    pub(crate) fn set_nice(&mut self, cpu: CpuId, task: TaskId, nice: i8) -> Result<(), SimError> {
        if self.host.task(task).nice == i32::from(nice) {
            return Ok(());
        }
        self.emit(cpu, EventKind::Nice { task, nice });
        self.call(cpu, |host| host.set_nice(task, nice))?;
        self.begin_stay(task);
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        self.note_priority(cpu, task)
    }

    /// As in __sched_setscheduler(), the class that a task has already changes nothing.
    pub(crate) fn set_class(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        class: TaskClass,
        rt_priority: u8,
    ) -> Result<(), SimError> {
        let now = self.host.task(task);
        if (now.class, now.rt_priority) == (class_of(class) as u32, u32::from(rt_priority)) {
            return Ok(());
        }
        self.settle_quota(task);
        self.note_class(class);
        self.emit(
            cpu,
            EventKind::Class {
                task,
                class,
                rt_priority,
            },
        );
        self.call(cpu, |host| {
            host.set_class(task, class_of(class), rt_priority)
        })?;
        self.begin_stay(task);
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        self.note_priority(cpu, task)
    }

    /// Changes the slice that the task asks for.
    pub(crate) fn set_slice(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        slice: Option<Ns>,
    ) -> Result<(), SimError> {
        self.call(cpu, |host| host.set_slice(task, slice.unwrap_or(Ns::ZERO)))?;
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        Ok(())
    }

    /// Changes the CPUs that a task may use. If its CPU is no longer among them, a waiting task
    /// moves at once and a running one at its next schedule(). As in __set_cpus_allowed_ptr_locked(), the CPUs that it
    /// may use already change nothing.
    pub(crate) fn set_cpus(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        set: Option<u32>,
    ) -> Result<(), SimError> {
        let set = set.map_or(0, |set| self.cpu_sets[set as usize]);
        if self.host.has_cpus(task, set) {
            return Ok(());
        }
        self.call(cpu, |host| host.set_cpus(task, set))?;
        self.begin_stay(task);
        self.drain_requests(cpu)?;
        match self.task(task).state {
            State::Waiting => {
                let its_cpu = CpuId(self.host.task(task).cpu);
                if !self.host.allowed(task, its_cpu) {
                    self.evict(cpu, task)?;
                }
            }
            State::Running(its_cpu) => self.leave_if_forbidden(cpu, task, its_cpu)?,
            // A task that sleeps or is about to sleep is placed when it wakes (see want_awake()).
            _ => {}
        }
        self.charge_work(cpu, Overhead::Syscall);
        Ok(())
    }

    /// A task that runs on a forbidden CPU is moved when that CPU reschedules.
    pub(crate) fn leave_if_forbidden(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        its_cpu: CpuId,
    ) -> Result<(), SimError> {
        if self.host.allowed(task, its_cpu) {
            let wanted = self.task(task).move_to;
            self.task_mut(task).move_to = wanted.filter(|&to| self.host.allowed(task, to));
            return Ok(());
        }
        let target = self.call(cpu, |host| host.select_cpu(task, enq::MOVE))?;
        self.drain_requests(cpu)?;
        self.task_mut(task).move_to = Some(target);
        if its_cpu != cpu {
            self.kick(its_cpu);
        }
        Ok(())
    }

    /// Applies a change to every living task of a specification.
    pub(crate) fn for_each_of(
        &mut self,
        spec: u32,
        mut change: impl FnMut(&mut Self, TaskId) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let mut members = std::mem::take(&mut self.members[spec as usize]);
        members.retain(|&t| !matches!(self.task(t).state, State::Zombie | State::Reaped));
        for &task in &members {
            if !matches!(self.task(task).state, State::Unborn | State::Exiting(_)) {
                change(self, task)?;
            }
        }
        self.members[spec as usize] = members;
        Ok(())
    }
}
