//! The always-on checks: after every event the books must balance.

use schedlab_policy::{enq, Class, Hook, LockScope, Prev};
use schedlab_trace::{CpuId, Ns, TaskClass, TaskId, Time};

use crate::cpu::Mode;
use crate::engine::Simulation;
use crate::error::{Rule, SimError, Violation};
use crate::task::{Computing, State};

/// How many tasks are where, kept up to date by [`Simulation::set_state`].
#[derive(Default, Debug)]
pub(crate) struct Population {
    pub waiting: u32,
    pub running: u32,
    pub asleep: u32,
    pub dead: u32,
    pub unborn: u32,
    /// CPUs that have a task; the same number as `running`, counted from the other side.
    pub busy_cpus: u32,
    /// Tasks on the CPUs' run queues; the same number as `waiting`, counted from the other side.
    pub queued: u32,
}

impl Population {
    pub fn born(&mut self) {
        self.unborn += 1;
    }

    fn of(&mut self, state: State) -> &mut u32 {
        match state {
            State::Unborn => &mut self.unborn,
            State::Waiting => &mut self.waiting,
            State::Running(_) | State::Blocking { .. } | State::Exiting(_) => &mut self.running,
            State::Sleeping { .. } | State::Waking { .. } => &mut self.asleep,
            State::Zombie | State::Reaped => &mut self.dead,
        }
    }

    fn total(&self) -> u32 {
        self.waiting + self.running + self.asleep + self.dead + self.unborn
    }
}

/// May a task go from one state to the other?  The life of a task, as a table.
fn follows(from: State, to: State) -> bool {
    use State::*;
    matches!(
        (from, to),
        (Unborn | Sleeping { .. }, Waking { .. })
            | (Unborn | Waking { .. }, Waiting)
            | (Waiting, Running(_))
            | (Running(_), Waiting | Blocking { .. } | Exiting(_))
            | (Blocking { .. }, Running(_) | Sleeping { .. })
            | (Exiting(_), Zombie)
            | (Zombie, Reaped)
    )
}

impl Simulation<'_> {
    /// Moves a task from one state to another, which must be one that can follow.
    #[inline]
    pub(crate) fn set_state(&mut self, task: TaskId, state: State) {
        let old = std::mem::replace(&mut self.tasks[task.index()].state, state);
        assert!(
            follows(old, state),
            "task {task} is {old} and cannot become {state}"
        );
        *self.population.of(old) -= 1;
        *self.population.of(state) += 1;
    }

    /// Time never goes back.
    #[inline]
    pub(crate) fn check_time(&self, time: Time) -> Result<(), SimError> {
        if time < self.now {
            let detail = format!("an event at {time} came after {}", self.now);
            return Err(self.violation(Rule::TimeOrder, CpuId(0), None, None, detail));
        }
        Ok(())
    }

    /// The task waits on this CPU's run queue from now on.
    #[inline]
    pub(crate) fn waiting_here(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.now;
        let realtime = self.realtime_on(cpu);
        let t = self.task_mut(task);
        t.queued_on = cpu;
        t.queued_since = now;
        t.realtime_before = realtime;
        let c = &mut self.cpus[cpu.index()];
        c.nr_waiting += 1;
        c.note_crowd(now);
        self.population.queued += 1;
        self.note_throttled(task);
    }

    /// The task no longer waits on this CPU's run queue, where everybody must have known it.
    #[inline]
    pub(crate) fn waiting_no_more(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let queued_on = self.task(task).queued_on;
        if queued_on != cpu {
            let detail = format!("it went from CPU {queued_on} to CPU {cpu} without move_task()");
            return Err(self.violation(Rule::TaskLost, cpu, None, Some(task), detail));
        }
        let now = self.now;
        let c = &mut self.cpus[cpu.index()];
        c.note_crowd(now);
        c.nr_waiting -= 1;
        self.population.queued -= 1;
        self.check_starvation(cpu, task)?;
        self.task_mut(task).waited_before = self.waited(cpu, task);
        self.forget_throttled(task);
        Ok(())
    }

    /// A task of this class appears.
    pub(crate) fn note_class(&mut self, class: TaskClass) {
        self.has_realtime |= matches!(class, TaskClass::Fifo | TaskClass::Rr);
    }

    fn is_realtime(&self, task: TaskId) -> bool {
        let class = self.host.task(task).class;
        class == Class::Fifo as u32 || class == Class::Rr as u32
    }

    /// The task that runs on this CPU ran for so long.
    pub(crate) fn note_realtime(&mut self, cpu: CpuId, ns: Ns) {
        if self
            .cpu(cpu)
            .curr
            .is_some_and(|task| self.is_realtime(task))
        {
            self.cpu_mut(cpu).realtime_ns += ns.0;
        }
    }

    /// How long real-time tasks have run on this CPU until now.
    fn realtime_on(&self, cpu: CpuId) -> Ns {
        if !self.has_realtime {
            return Ns::ZERO;
        }
        let c = self.cpu(cpu);
        let runs = c.mode == Mode::User && c.curr.is_some_and(|task| self.is_realtime(task));
        let unsettled = if runs {
            self.now.0.saturating_sub(c.clock.0)
        } else {
            0
        };
        Ns(c.realtime_ns + unsettled)
    }

    /// How long the task on this CPU's run queue has waited since it ran last, on whatever run queue, without the time of
    /// real-time tasks. The wait begins anew while a run queue has more tasks than the bound covers.
    fn waited(&self, cpu: CpuId, task: TaskId) -> Ns {
        let (t, crowded) = (self.task(task), self.cpu(cpu).crowded);
        if crowded > t.queued_since {
            return self.now.since(crowded);
        }
        // A real-time task that runs and changes its class is no longer counted.
        let realtime = self.realtime_on(cpu).0.saturating_sub(t.realtime_before.0);
        let here = self.now.since(t.queued_since).0;
        t.waited_before + Ns(here.saturating_sub(realtime))
    }

    /// The task has waited on this CPU's run queue; for longer than the policy promised?
    #[inline]
    fn check_starvation(&self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let Some(bound) = self.starvation_bound else {
            return Ok(());
        };
        let t = self.task(task);
        let normal = self.host.task(task).class == Class::Normal as u32;
        let waited = self.waited(cpu, task);
        if !normal || t.throttled || waited <= bound {
            return Ok(());
        }
        let detail = format!("it has waited for {waited}; the policy promised at most {bound}");
        let hook = Some(Hook::PickNext);
        Err(self.violation(Rule::Starvation, cpu, hook, Some(task), detail))
    }

    /// The policy's own books, if the setup asks for them.
    pub(crate) fn check_policy(&mut self) -> Result<(), SimError> {
        match self.setup.checks_policy {
            true => self.call(CpuId(0), |host| host.check()),
            false => Ok(()),
        }
    }

    /// Every task is somewhere, exactly once: seen from the tasks and from the CPUs.
    #[inline]
    pub(crate) fn check_books(&self) -> Result<(), SimError> {
        let p = &self.population;
        if p.total() != self.tasks.len() as u32 || p.busy_cpus != p.running || p.queued != p.waiting
        {
            let detail = format!(
                "of {} tasks {} wait and {} are queued, {} run and {} CPUs are busy",
                self.tasks.len(),
                p.waiting,
                p.queued,
                p.running,
                p.busy_cpus
            );
            return Err(self.violation(Rule::TaskLost, CpuId(0), None, None, detail));
        }
        Ok(())
    }

    /// The policy's choice must be a task that is runnable, here, and nowhere else.
    #[inline]
    pub(crate) fn check_pick(
        &self,
        cpu: CpuId,
        prev: Option<TaskId>,
        why: Prev,
        next: Option<TaskId>,
    ) -> Result<(), SimError> {
        let Some(next) = next else {
            return self.check_conserving(cpu);
        };
        if !self.host.allowed(next, cpu) {
            let detail = format!("picked for CPU {cpu}, where it may not run");
            return Err(self.violation(
                Rule::Placement,
                cpu,
                Some(Hook::PickNext),
                Some(next),
                detail,
            ));
        }
        let keeps = Some(next) == prev && matches!(why, Prev::Yielded | Prev::Preempted);
        match self.task(next).state {
            State::Waiting => Ok(()),
            _ if keeps => Ok(()),
            State::Running(other) | State::Blocking { cpu: other, .. } if other != cpu => {
                let detail = format!("picked for CPU {cpu} while it runs on CPU {other}");
                Err(self.violation(
                    Rule::DoubleRun,
                    cpu,
                    Some(Hook::PickNext),
                    Some(next),
                    detail,
                ))
            }
            state => {
                let detail = format!("it is {state}");
                Err(self.violation(
                    Rule::NotRunnable,
                    cpu,
                    Some(Hook::PickNext),
                    Some(next),
                    detail,
                ))
            }
        }
    }

    /// A CPU about to idle: does a task it could run wait?  See [`Self::check_left`] for `prev`.
    fn check_conserving(&self, cpu: CpuId) -> Result<(), SimError> {
        if !self.setup.tuned.policy.promise().conserving {
            return Ok(());
        }
        match self.waiting_for(cpu) {
            Some(task) => Err(self.left_idle(cpu, task)),
            None => Ok(()),
        }
    }

    /// A CPU idles now: does the task that ran still wait here?  A policy may have moved it to
    /// another CPU in `switched()`, the first moment it can, or asked this one to choose again.
    pub(crate) fn check_left(&self, cpu: CpuId, prev: TaskId) -> Result<(), SimError> {
        let waits_here = self.task(prev).state == State::Waiting
            && self.host.task(prev).cpu == cpu.0
            && !self.task(prev).throttled;
        let promised = self.setup.tuned.policy.promise().conserving;
        let idles = self.cpu(cpu).curr.is_none() && !self.host.need_resched(cpu);
        if promised && waits_here && idles {
            return Err(self.left_idle(cpu, prev));
        }
        Ok(())
    }

    /// All CPUs idle for good: nobody may be waiting for one, whatever the policy promises.
    pub(crate) fn check_none_waits(&self) -> Result<(), SimError> {
        if self.population.waiting == self.groups.nr_throttled {
            return Ok(());
        }
        let waits = |t: &TaskId| self.task(*t).state == State::Waiting && !self.task(*t).throttled;
        let task = (0..self.tasks.len() as u32).map(TaskId).find(waits);
        let detail = "it waits, all CPUs idle, and none was told to reschedule".to_string();
        Err(self.violation(Rule::TaskLost, CpuId(0), Some(Hook::Enqueue), task, detail))
    }

    /// A task was just queued on this CPU: if the CPU idles, somebody must have told it.
    #[inline]
    pub(crate) fn check_told(
        &self,
        cpu: CpuId,
        target: CpuId,
        task: TaskId,
        flags: u32,
    ) -> Result<(), SimError> {
        let policy = self.setup.tuned.policy;
        if !policy.promise().conserving || self.task(task).throttled {
            return Ok(());
        }
        let idle = match policy.lock_scope() {
            LockScope::PerCpu => Some(target).filter(|&cpu| self.is_asleep(cpu)),
            // Linux 2.4 tells nobody of a synchronous wakeup: the waker is about to sleep and chooses then.
            LockScope::Global if flags & enq::SYNC != 0 => None,
            LockScope::Global => self.none_told(task),
        };
        match idle {
            Some(idle) => {
                let detail = format!(
                    "queued on CPU {target}; CPU {idle} idles and no CPU was told to reschedule"
                );
                let hook = Some(Hook::Enqueue);
                Err(self.violation(Rule::WorkConservation, cpu, hook, Some(task), detail))
            }
            None => Ok(()),
        }
    }

    /// The CPU idles and will not choose a task by itself.
    fn is_asleep(&self, cpu: CpuId) -> bool {
        self.cpu(cpu).curr.is_none() && !self.host.need_resched(cpu)
    }

    /// A CPU that could run this task of the machine's one queue and idles, while no CPU was told to choose.
    fn none_told(&self, task: TaskId) -> Option<CpuId> {
        if self.population.busy_cpus as usize == self.cpus.len() {
            return None;
        }
        let usable = || {
            let all = (0..self.cpus.len() as u32).map(CpuId);
            all.filter(|&cpu| self.host.allowed(task, cpu))
        };
        let told = |cpu: CpuId| {
            let c = self.cpu(cpu);
            self.host.need_resched(cpu) || (c.curr.is_none() && c.mode != Mode::Idle)
        };
        match usable().any(told) {
            true => None,
            false => usable().find(|&cpu| self.is_asleep(cpu)),
        }
    }

    fn left_idle(&self, cpu: CpuId, task: TaskId) -> SimError {
        let detail = format!("it waits, but CPU {cpu} was left idle");
        let hook = Some(Hook::PickNext);
        self.violation(Rule::WorkConservation, cpu, hook, Some(task), detail)
    }

    /// A task that waits on the run queue this CPU serves and may run here.
    fn waiting_for(&self, cpu: CpuId) -> Option<TaskId> {
        let any = match self.setup.tuned.policy.lock_scope() {
            LockScope::Global => self.population.waiting > self.groups.nr_throttled,
            LockScope::PerCpu => self.cpu(cpu).nr_waiting > self.cpu(cpu).nr_throttled,
        };
        if !any {
            return None;
        }
        let global = self.setup.tuned.policy.lock_scope() == LockScope::Global;
        let waits_here = |task: &TaskId| {
            self.task(*task).state == State::Waiting
                && !self.task(*task).throttled
                && self.host.allowed(*task, cpu)
                && (global || self.host.task(*task).cpu == cpu.0)
        };
        (0..self.tasks.len() as u32).map(TaskId).find(waits_here)
    }

    /// The policy must still have a waiting task it was just given.
    #[inline]
    pub(crate) fn check_queued(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        hook: Hook,
    ) -> Result<(), SimError> {
        if self.task(task).state == State::Waiting && !self.call(cpu, |host| host.queued(task))? {
            let detail = "it is runnable, but in none of the policy's queues".to_string();
            return Err(self.violation(Rule::TaskLost, cpu, Some(hook), Some(task), detail));
        }
        Ok(())
    }

    /// Work, idling and overhead of a CPU add up to the time that has passed on it.
    #[inline]
    fn check_cpu_time(&self, cpu: CpuId) -> Result<(), SimError> {
        let c = self.cpu(cpu);
        if c.accounted_ns() != c.clock.0 {
            let detail = format!("{} ns accounted for at {} ns", c.accounted_ns(), c.clock.0);
            return Err(self.violation(Rule::CpuTime, cpu, None, None, detail));
        }
        Ok(())
    }

    /// The books of a CPU something has just happened on, and of its task.
    #[inline]
    pub(crate) fn check_time_and_work(&self, cpu: CpuId) -> Result<(), SimError> {
        self.check_cpu_time(cpu)?;
        match self.cpu(cpu).curr {
            Some(task) => self.check_work(cpu, task),
            None => Ok(()),
        }
    }

    /// What a task has done and has left is what it asked for.
    pub(crate) fn check_work(&self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let t = self.task(task);
        let left = match t.computing {
            Computing::Work(left) => left,
            _ => 0,
        };
        if t.work_done + left != t.work_requested {
            let detail = format!(
                "{} done and {left} left of {} work units",
                t.work_done, t.work_requested
            );
            return Err(self.violation(Rule::Work, cpu, None, Some(task), detail));
        }
        Ok(())
    }

    /// At the end: all of it once more, for every CPU and task.
    pub(crate) fn check_final(&mut self) -> Result<(), SimError> {
        for cpu in 0..self.cpus.len() as u32 {
            let cpu = CpuId(cpu);
            self.check_cpu_time(cpu)?;
            let c = self.cpu(cpu);
            // Kernel work that was charged in advance may reach beyond the end.
            if c.clock < self.now {
                let detail = format!("accounted for until {} only", c.clock);
                return Err(self.violation(Rule::CpuTime, cpu, None, None, detail));
            }
        }
        for task in 0..self.tasks.len() as u32 {
            self.check_work(CpuId(0), TaskId(task))?;
            self.check_queued(CpuId(0), TaskId(task), Hook::PickNext)?;
            if self.task(TaskId(task)).state == State::Waiting {
                self.check_starvation(self.task(TaskId(task)).queued_on, TaskId(task))?;
            }
        }
        self.check_books()
    }

    #[cold]
    pub(crate) fn violation(
        &self,
        rule: Rule,
        cpu: CpuId,
        hook: Option<Hook>,
        task: Option<TaskId>,
        detail: String,
    ) -> SimError {
        SimError::Violation(Box::new(Violation {
            rule,
            time: self.now,
            cpu,
            policy: self.setup.tuned.name(),
            hook,
            task: task.map(|t| (t, self.name(t))),
            detail,
        }))
    }
}

#[cfg(test)]
mod tests {
    //! Checks of the engine's own books: the state of a run is changed, and the check must say so.

    use super::*;
    use crate::Setup;
    use schedlab_machine::Machine;
    use schedlab_policy::{Policy, Tuned};
    use schedlab_trace::HashSink;
    use schedlab_workload::builtin;

    /// How a run of two tasks on two CPUs ends whose state is changed after 50 ms.
    fn ends(change: fn(&mut Simulation)) -> Result<(), SimError> {
        let machine = Machine::ideal(2);
        let workload = builtin::parse("hogs --count 2").unwrap();
        let tuned = Tuned::defaults(Policy::find("rr").unwrap());
        let setup = Setup {
            duration: Some(Ns::from_ms(100)),
            ..Setup::new(&machine, &workload, &tuned)
        };
        let mut sink = HashSink::default();
        let mut simulation = Simulation::new(&setup, &mut sink)?;
        simulation.run_until(Time::ZERO + Ns::from_ms(50))?;
        change(&mut simulation);
        simulation.run_until(Time::MAX)?;
        simulation.finish().map(|_| ())
    }

    #[track_caller]
    fn breaks(rule: Rule, change: fn(&mut Simulation)) {
        match ends(change) {
            Err(SimError::Violation(found)) => assert_eq!(found.rule, rule, "{found}"),
            other => panic!("not caught: {other:?}"),
        }
    }

    #[test]
    fn a_run_that_nobody_changes_is_sound() {
        ends(|_| {}).unwrap();
    }

    #[test]
    fn cpu_time_that_nobody_used() {
        breaks(Rule::CpuTime, |simulation| simulation.cpus[0].idle_ns += 1);
    }

    #[test]
    fn work_that_nobody_asked_for() {
        breaks(Rule::Work, |simulation| simulation.tasks[0].work_done += 1);
    }

    #[test]
    fn a_task_that_is_counted_twice() {
        breaks(Rule::TaskLost, |simulation| {
            simulation.population.asleep += 1
        });
    }

    #[test]
    fn a_cpu_that_is_not_counted() {
        breaks(Rule::TaskLost, |simulation| {
            simulation.population.busy_cpus -= 1
        });
    }

    #[test]
    fn an_event_of_the_past() {
        breaks(Rule::TimeOrder, |simulation| {
            simulation.now = Time::ZERO + Ns::from_ms(90)
        });
    }
}
