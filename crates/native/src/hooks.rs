//! The policy's hooks in the order of a task's life, with the host's work around each.

use std::ptr;

use schedlab_trace::{CpuId, Ns, TaskId};

use crate::host::{get, replace, set, Host, Subject};
use crate::{ffi, Clamps, Class, Fault, FaultKind, Hook, Prev};

impl Host {
    /// A task was forked.
    pub fn fork(&mut self, parent: Option<TaskId>, child: TaskId) -> Result<(), Fault> {
        let Some(hook) = self.table.fork else {
            return Ok(());
        };
        let (s, p, c) = (self.s(), self.opt_ptr(parent), self.task_ptr(child));
        // SAFETY (here and for every hook): see Host::call_init().
        self.guarded(Hook::Fork, Subject::task(child), || unsafe {
            hook(s, p, c)
        })
    }

    /// A dead task is reaped.
    pub fn exit(&mut self, task: TaskId, reaper: Option<TaskId>) -> Result<(), Fault> {
        let Some(hook) = self.table.exit else {
            return Ok(());
        };
        let (s, p, r) = (self.s(), self.task_ptr(task), self.opt_ptr(reaper));
        self.guarded(Hook::Exit, Subject::task(task), || unsafe { hook(s, p, r) })
    }

    /// The CPU on which the task is to be queued, checked against its affinity.
    #[inline]
    pub fn select_cpu(&mut self, task: TaskId, flags: u32) -> Result<CpuId, Fault> {
        let public = self.task(task);
        let last = CpuId(public.cpu);
        if public.nr_allowed == 1 {
            return Ok(if self.allowed(task, last) {
                last
            } else {
                self.first_allowed(task)
            });
        }
        let answer = match self.table.select_cpu {
            Some(hook) => {
                let (s, p) = (self.s(), self.task_ptr(task));
                CpuId(
                    self.guarded(Hook::SelectCpu, Subject::task(task), || unsafe {
                        hook(s, p, flags)
                    })?,
                )
            }
            None if self.allowed(task, last) => last,
            None => self.first_allowed(task),
        };
        if answer.0 >= get!(self.s(), nr_cpus) || !self.allowed(task, answer) {
            return Err(self.fault(
                Hook::SelectCpu,
                FaultKind::BadCpu {
                    task,
                    cpu: answer.0,
                },
            ));
        }
        Ok(answer)
    }

    /// The task became runnable on the run queue of its CPU.
    #[inline]
    pub fn enqueue(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        let (s, p) = (self.s(), self.task_ptr(task));
        let hook = self.table.enqueue.expect("checked in new()");
        self.guarded(Hook::Enqueue, Subject::task(task), || unsafe {
            hook(s, p, flags)
        })
    }

    /// The task is no longer runnable on its CPU.
    #[inline]
    pub fn dequeue(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        let (s, p) = (self.s(), self.task_ptr(task));
        let hook = self.table.dequeue.expect("checked in new()");
        self.guarded(Hook::Dequeue, Subject::task(task), || unsafe {
            hook(s, p, flags)
        })
    }

    /// The next task of this CPU. Clears the CPU's reschedule request first.
    #[inline]
    pub fn pick_next(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        why: Prev,
    ) -> Result<Option<TaskId>, Fault> {
        let (s, p) = (self.s(), self.opt_ptr(prev));
        let hook = self.table.pick_next.expect("checked in new()");
        set!(self.cpu(cpu), need_resched, 0);
        let next = self.guarded(Hook::PickNext, Subject::cpu(cpu, prev), || unsafe {
            hook(s, cpu.0, p, why as u32)
        })?;
        if next.is_null() {
            return Ok(None);
        }
        // SAFETY: a policy that returns a wild pointer crashes here, within its hook's guard.
        let id = self.observed(Hook::PickNext, Subject::cpu(cpu, prev), || {
            TaskId(unsafe { (*next).id })
        })?;
        if id.index() >= self.tasks.len() || self.task_ptr(id) != next {
            return Err(self.fault(Hook::PickNext, FaultKind::NotATask));
        }
        Ok(Some(id))
    }

    /// The CPU switches from `prev` to `next`: updates the public fields, then tells the policy.
    #[inline]
    pub fn switch(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) -> Result<(), Fault> {
        let (p, n) = (self.opt_ptr(prev), self.opt_ptr(next));
        if !p.is_null() {
            set!(p, on_cpu, 0);
        }
        if n.is_null() {
            set!(self.cpu(cpu), idle_since, self.switch_ns(cpu));
        } else {
            set!(n, on_cpu, 1);
            set!(n, cpu, cpu.0);
        }
        set!(self.cpu(cpu), curr, n);
        let Some(hook) = self.table.switched else {
            return Ok(());
        };
        let s = self.s();
        self.guarded(Hook::Switched, Subject::cpu(cpu, next), || unsafe {
            hook(s, cpu.0, p, n)
        })
    }

    /// The tick on a CPU.
    #[inline]
    pub fn tick(&mut self, cpu: CpuId, task: Option<TaskId>) -> Result<(), Fault> {
        let Some(hook) = self.table.tick else {
            return Ok(());
        };
        let (s, p) = (self.s(), self.opt_ptr(task));
        self.guarded(Hook::Tick, Subject::cpu(cpu, task), || unsafe {
            hook(s, cpu.0, p)
        })
    }

    /// The running task calls sched_yield(). Must pick_next() be called?
    #[inline]
    pub fn yield_task(&mut self, task: TaskId) -> Result<bool, Fault> {
        let Some(hook) = self.table.yield_ else {
            return Ok(true);
        };
        let (s, p) = (self.s(), self.task_ptr(task));
        Ok(self.guarded(Hook::Yield, Subject::task(task), || unsafe { hook(s, p) })? != 0)
    }

    /// Changes a task's nice value and tells the policy.
    pub fn set_nice(&mut self, task: TaskId, nice: i8) -> Result<(), Fault> {
        let old = replace!(self.task_ptr(task), nice, i32::from(nice));
        let Some(hook) = self.table.set_nice else {
            return Ok(());
        };
        let (s, p) = (self.s(), self.task_ptr(task));
        self.guarded(Hook::SetNice, Subject::task(task), || unsafe {
            hook(s, p, old)
        })
    }

    /// Changes a task's class and real-time priority and tells the policy.
    pub fn set_class(&mut self, task: TaskId, class: Class, rt_priority: u8) -> Result<(), Fault> {
        let p = self.task_ptr(task);
        let old_class = replace!(p, class, class as u32);
        let old_rt = replace!(p, rt_priority, u32::from(rt_priority));
        let Some(hook) = self.table.set_class else {
            return Ok(());
        };
        let s = self.s();
        self.guarded(Hook::SetClass, Subject::task(task), || unsafe {
            hook(s, p, old_class, old_rt)
        })
    }

    /// Changes the slice that a task asks for (0: none) and tells the policy.
    pub fn set_slice(&mut self, task: TaskId, slice: Ns) -> Result<(), Fault> {
        set!(self.task_ptr(task), slice_ns, slice.0);
        let Some(hook) = self.table.set_slice else {
            return Ok(());
        };
        let (s, p) = (self.s(), self.task_ptr(task));
        self.guarded(Hook::SetSlice, Subject::task(task), || unsafe {
            hook(s, p)
        })
    }

    /// Changes a task's utilisation clamps; the policy reads them when it next places the task.
    pub fn set_clamps(&mut self, task: TaskId, clamps: Clamps) {
        let p = self.task_ptr(task);
        set!(p, util_min, u32::from(clamps.min));
        set!(p, util_max, u32::from(clamps.max));
    }

    /// May the task use exactly the CPUs of this set (a number from [`Host::add_cpu_set`])?
    pub fn has_cpus(&self, task: TaskId, cpu_set: u32) -> bool {
        let mask = get!(self.task_ptr(task), allowed);
        // SAFETY: masks live as long as the host and are never written again.
        unsafe { *mask == *self.masks[cpu_set as usize].0 }
    }

    /// Changes the CPUs that a task may use (a number from [`Host::add_cpu_set`]) and tells the
    /// policy.
    pub fn set_cpus(&mut self, task: TaskId, cpu_set: u32) -> Result<(), Fault> {
        let (mask, count) = &self.masks[cpu_set as usize];
        let p = self.task_ptr(task);
        set!(p, allowed, ptr::from_ref::<ffi::CpuMask>(mask));
        set!(p, nr_allowed, *count);
        let Some(hook) = self.table.set_cpumask else {
            return Ok(());
        };
        let s = self.s();
        self.guarded(Hook::SetCpumask, Subject::task(task), || unsafe {
            hook(s, p)
        })
    }

    /// A timer the policy armed has expired.
    pub fn timer(&mut self, id: u32) -> Result<(), Fault> {
        self.count_expiry(id as usize, Hook::Timer)?;
        let mut expires = self.timers();
        expires[id as usize] = 0;
        set!(self.s(), host_only.timer_expires, expires);
        let Some(hook) = self.table.timer else {
            return Ok(());
        };
        let s = self.s();
        self.guarded(Hook::Timer, Subject::MACHINE, || unsafe { hook(s, id) })
    }

    /// The hrtick of a CPU has expired.
    pub fn hrtick(&mut self, cpu: CpuId, task: Option<TaskId>) -> Result<(), Fault> {
        self.count_expiry(ffi::MAX_TIMERS + cpu.index(), Hook::Hrtick)?;
        set!(self.cpu(cpu), hrtick_expires, 0);
        let Some(hook) = self.table.hrtick else {
            return Ok(());
        };
        let (s, p) = (self.s(), self.opt_ptr(task));
        self.guarded(Hook::Hrtick, Subject::cpu(cpu, task), || unsafe {
            hook(s, cpu.0, p)
        })
    }

    /// The task's priority in the policy's own numbers; `None` without a priority() hook.
    #[inline]
    pub fn priority(&mut self, task: TaskId) -> Result<Option<i32>, Fault> {
        let Some(hook) = self.table.priority else {
            return Ok(None);
        };
        let (s, p) = (self.s(), self.task_ptr(task));
        self.observed(Hook::Priority, Subject::task(task), || unsafe {
            hook(s, p)
        })
        .map(Some)
    }

    /// Would pick_next() find this waiting task? True without a queued() hook.
    #[inline]
    pub fn queued(&mut self, task: TaskId) -> Result<bool, Fault> {
        let Some(hook) = self.table.queued else {
            return Ok(true);
        };
        let (s, p) = (self.s(), self.task_ptr(task));
        Ok(self.observed(Hook::Queued, Subject::task(task), || unsafe { hook(s, p) })? != 0)
    }

    /// Is the policy's own state right? It is without a check() hook.
    pub fn check(&mut self) -> Result<(), Fault> {
        let Some(hook) = self.table.check else {
            return Ok(());
        };
        let s = self.s();
        self.observed(Hook::Check, Subject::MACHINE, || unsafe { hook(s) })
    }
}
