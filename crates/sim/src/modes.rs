//! Transitions of CPUs between idle, user, kernel and spinning.

use schedlab_machine::Preemption;
use schedlab_trace::{CpuId, Event, EventKind, Ns, Overhead, TaskId, Time};
use schedlab_workload::Op;

use crate::cpu::{Cpu, KernelWork, Mode};
use crate::engine::Simulation;
use crate::error::SimError;
use crate::queue::Actor;
use crate::task::{Computing, State, Task, WORK_UNITS_PER_NS};

/// Kernel steps without progress of time that are allowed, in addition to 1,000 for each task.
const STEPS_AT_ONCE: u64 = 10_000_000;

/// Kernel steps allowed for each event of the limit of events.
const STEPS_PER_EVENT: u64 = 1000;

impl Simulation<'_> {
    #[inline]
    pub(crate) fn cpu(&self, cpu: CpuId) -> &Cpu {
        &self.cpus[cpu.index()]
    }

    #[inline]
    pub(crate) fn cpu_mut(&mut self, cpu: CpuId) -> &mut Cpu {
        &mut self.cpus[cpu.index()]
    }

    #[inline]
    pub(crate) fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task.index()]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.index()]
    }

    #[inline]
    pub(crate) fn emit(&mut self, cpu: CpuId, kind: EventKind) {
        self.sink.event(&Event {
            time: self.now,
            cpu,
            kind,
        });
    }

    /// Adds a piece of kernel work to a CPU and interrupts it.
    pub(crate) fn post(&mut self, cpu: CpuId, work: KernelWork) -> Result<(), SimError> {
        self.cpu_mut(cpu).pending.push_back(work);
        self.interrupt(cpu)
    }

    /// An interruptible CPU starts its kernel work; a CPU in the kernel does so later.
    pub(crate) fn interrupt(&mut self, cpu: CpuId) -> Result<(), SimError> {
        let idle_exit = self.idle_exit(cpu);
        match self.cpu(cpu).mode {
            Mode::Idle if idle_exit > Ns::ZERO => {
                self.queue
                    .arm_no_later(Actor::Cpu(cpu.0), self.now + idle_exit);
                Ok(())
            }
            Mode::Idle | Mode::User => {
                self.enter_kernel(cpu);
                self.advance(cpu)
            }
            Mode::Kernel | Mode::Spinning => Ok(()),
        }
    }

    /// Another CPU was asked to reschedule: it gets an interrupt, unless it notices by itself.
    pub(crate) fn kick(&mut self, cpu: CpuId) {
        let costs = &self.setup.machine.costs;
        let delay = match self.cpu(cpu).mode {
            Mode::Idle => costs.ipi + self.idle_exit(cpu),
            Mode::User => costs.ipi,
            Mode::Kernel | Mode::Spinning => return,
        };
        self.queue.arm_no_later(Actor::Cpu(cpu.0), self.now + delay);
    }

    /// Time to leave the idle state that the CPU has reached.
    #[inline]
    fn idle_exit(&self, cpu: CpuId) -> Ns {
        let machine = self.setup.machine;
        let reached = machine.idle_states.iter().rev();
        let mut reached = reached.filter(|s| self.now.since(self.cpu(cpu).idle_since) >= s.after);
        reached.next().map_or(machine.costs.idle_exit, |s| s.exit)
    }

    /// Accounts the CPU's time up to now and puts it into the kernel.
    pub(crate) fn enter_kernel(&mut self, cpu: CpuId) {
        self.settle(cpu);
        let now = self.now;
        let c = self.cpu_mut(cpu);
        c.mode = Mode::Kernel;
        c.kernel_until = now;
    }

    /// The CPU spends `ns` in the kernel on `kind`, from the end of its current piece of work.
    pub(crate) fn charge(&mut self, cpu: CpuId, kind: Overhead, ns: Ns) {
        if ns == Ns::ZERO {
            return;
        }
        let c = self.cpu_mut(cpu);
        debug_assert_eq!(c.mode, Mode::Kernel);
        c.kernel_until += ns;
        c.book_overhead(kind, ns);
        self.emit(cpu, EventKind::Overhead { kind, ns });
    }

    /// The CPU does its kernel work, reschedules if it must, and continues its task or idles.
    pub(crate) fn advance(&mut self, cpu: CpuId) -> Result<(), SimError> {
        self.check_time_and_work(cpu)?;
        loop {
            if self.cpu(cpu).kernel_until > self.now {
                let until = self.cpu(cpu).kernel_until;
                self.queue.arm(Actor::Cpu(cpu.0), until);
                return Ok(());
            }
            self.count_step(cpu)?;
            if self.groups.limited {
                self.check_quota(cpu)?;
            }
            let done = if let Some(&work) = self.cpu(cpu).pending.front() {
                self.kernel_work(cpu, work)?
            } else if self.must_schedule(cpu) {
                self.try_schedule(cpu)?
            } else {
                match self.cpu(cpu).curr {
                    None => {
                        self.go_idle(cpu);
                        return Ok(());
                    }
                    Some(task) if self.task(task).computing == Computing::Nothing => {
                        self.step(cpu, task)?;
                        true
                    }
                    Some(task) => {
                        self.go_user(cpu, task);
                        return Ok(());
                    }
                }
            };
            if !done {
                return Ok(()); // It spins on a lock; the release of that lock continues it.
            }
        }
    }

    /// Does a piece of kernel work; returns false if the CPU spins on a lock for it.
    fn kernel_work(&mut self, cpu: CpuId, work: KernelWork) -> Result<bool, SimError> {
        match work {
            KernelWork::Wake {
                task,
                flags,
                chosen,
            } => return self.try_wake(cpu, task, flags, chosen),
            KernelWork::Tick => {
                self.cpu_mut(cpu).pending.pop_front();
                let curr = self.cpu(cpu).curr;
                self.host.upgrade_lazy_resched(cpu);
                for _ in 0..self.policy_ticks(cpu) {
                    self.call(cpu, |host| host.tick(cpu, curr))?;
                }
                let cost = self.tick_cost() + self.work_cost(cpu);
                self.charge(cpu, Overhead::Tick, cost);
            }
            KernelWork::PolicyTimer(id) => {
                self.cpu_mut(cpu).pending.pop_front();
                // The timer may have been stopped, restarted or handled since this was posted.
                if self.host.timer_due(id, self.now) {
                    self.call(cpu, |host| host.timer(id))?;
                    self.charge_work(cpu, Overhead::Tick);
                }
            }
            KernelWork::Hrtick => {
                self.cpu_mut(cpu).pending.pop_front();
                if self.host.hrtick_due(cpu, self.now) {
                    let curr = self.cpu(cpu).curr;
                    self.call(cpu, |host| host.hrtick(cpu, curr))?;
                    let cost = self.setup.machine.costs.tick + self.work_cost(cpu);
                    self.charge(cpu, Overhead::Tick, cost);
                }
            }
        }
        self.drain_requests(cpu)?;
        Ok(true)
    }

    fn tick_cost(&mut self) -> Ns {
        let machine = self.setup.machine;
        match machine.tick_jitter {
            Ns::ZERO => machine.costs.tick,
            most => machine.costs.tick + self.jitter.up_to(most),
        }
    }

    /// Number of the policy's ticks at this tick of the kernel.
    fn policy_ticks(&mut self, cpu: CpuId) -> u64 {
        if self.setup.machine.kernel_hz.is_none() {
            return 1;
        }
        let (now, period) = (self.now, self.tick_ns);
        let next = &mut self.cpu_mut(cpu).next_policy_tick;
        let due = match now.0.checked_sub(next.0) {
            Some(late) => late / period + 1,
            None => 0,
        };
        *next += Ns(due * period);
        due
    }

    fn must_schedule(&self, cpu: CpuId) -> bool {
        let Some(task) = self.cpu(cpu).curr else {
            return self.host.need_resched(cpu);
        };
        let t = self.task(task);
        if self.host.need_resched(cpu) && (self.preempts_kernel(cpu) || !self.is_in_kernel(task)) {
            return true;
        }
        t.yielding || t.move_to.is_some() || !matches!(t.state, State::Running(_))
    }

    /// Does the kernel preempt its own work here? With lazy preemption, a lazy request does not.
    fn preempts_kernel(&self, cpu: CpuId) -> bool {
        match self.setup.machine.preemption {
            Preemption::None | Preemption::Voluntary => false,
            Preemption::Full => true,
            Preemption::Lazy => self.host.need_resched_now(cpu),
        }
    }

    /// Is the task in the kernel, or about to continue there? Then it is preempted afterwards.
    fn is_in_kernel(&self, task: TaskId) -> bool {
        let t = self.task(task);
        match t.computing {
            Computing::Nothing => matches!(self.next_op(task), Some(Op::RunInKernel(_))),
            _ => t.in_kernel,
        }
    }

    fn go_idle(&mut self, cpu: CpuId) {
        self.queue.cancel(Actor::Cpu(cpu.0));
        let now = self.now;
        let c = self.cpu_mut(cpu);
        c.mode = Mode::Idle;
        c.idle_since = now;
    }

    fn go_user(&mut self, cpu: CpuId, task: TaskId) {
        let c = self.cpu_mut(cpu);
        c.mode = Mode::User;
        self.arm_completion(cpu, task);
    }

    fn arm_completion(&mut self, cpu: CpuId, task: TaskId) {
        let done = self.completion(cpu, task);
        self.queue.arm(Actor::Cpu(cpu.0), done);
    }

    /// The time when the task has done its work, if nothing interrupts it.
    fn completion(&self, cpu: CpuId, task: TaskId) -> Time {
        let t = self.task(task);
        let left = match t.computing {
            Computing::Nothing => return self.now,
            Computing::Until(time) => return time.max(self.now),
            Computing::Work(left) => left,
        };
        let rate = self.rate(cpu);
        let slow = (rate / 2).max(1);
        let while_refilling = t.refill_ns.saturating_mul(slow);
        let ns = if t.refill_ns == 0 && rate == WORK_UNITS_PER_NS {
            left.div_ceil(WORK_UNITS_PER_NS) // The usual case needs no division.
        } else if left <= while_refilling {
            left.div_ceil(slow)
        } else {
            t.refill_ns + (left - while_refilling).div_ceil(rate)
        };
        self.now + Ns(ns)
    }

    /// Work units that a task on this CPU completes in a nanosecond.
    fn rate(&self, cpu: CpuId) -> u64 {
        let capacity = u64::from(self.setup.machine.cpus[cpu.index()].capacity);
        let siblings = &self.cpu(cpu).siblings;
        if siblings.iter().any(|&s| self.cpu(s).curr.is_some()) {
            (capacity * u64::from(self.setup.machine.smt_speed_milli) / 1000).max(1)
        } else {
            capacity
        }
    }

    /// Accounts the time since a CPU's last change of mode.
    pub(crate) fn settle(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.cpus[cpu.index()];
        let ns = Ns(now.0.saturating_sub(c.clock.0));
        match c.mode {
            Mode::Kernel => return, // Accounted when it was charged.
            Mode::Idle => c.idle_ns += ns.0,
            Mode::User => {
                c.run_ns += ns.0;
                if self.has_realtime {
                    self.note_realtime(cpu, ns);
                }
            }
            Mode::Spinning => c.overhead_ns[Overhead::Lock as usize] += ns.0,
        }
        let c = &mut self.cpus[cpu.index()];
        c.clock = now;
        let (mode, curr) = (c.mode, c.curr);
        match (mode, curr) {
            (Mode::User, Some(task)) => self.progress(cpu, task, ns),
            (Mode::Spinning, _) if ns > Ns::ZERO => {
                self.emit(
                    cpu,
                    EventKind::Overhead {
                        kind: Overhead::Lock,
                        ns,
                    },
                );
            }
            _ => {}
        }
    }

    /// Accounts `ns` of computing to the task on this CPU.
    fn progress(&mut self, cpu: CpuId, task: TaskId, ns: Ns) {
        let rate = self.rate(cpu);
        let now = self.now;
        if self.groups.limited {
            self.charge_quota(task, ns);
        }
        let t = self.task_mut(task);
        let slow_ns = ns.0.min(t.refill_ns);
        t.refill_ns -= slow_ns;
        t.stay.add(ns);
        let units = slow_ns * (rate / 2).max(1) + (ns.0 - slow_ns) * rate;
        match &mut t.computing {
            Computing::Nothing => {}
            Computing::Work(left) => {
                let done = units.min(*left);
                *left -= done;
                t.work_done += done;
                if *left == 0 {
                    t.computing = Computing::Nothing;
                }
            }
            Computing::Until(time) => {
                t.work_requested += units;
                t.work_done += units;
                if *time <= now {
                    t.computing = Computing::Nothing;
                }
            }
        }
    }

    /// Called before a CPU becomes busy or idle: accounts its SMT siblings' time at the old speed.
    pub(crate) fn settle_siblings(&mut self, cpu: CpuId) {
        for i in 0..self.cpu(cpu).siblings.len() {
            let sibling = self.cpu(cpu).siblings[i];
            if self.cpu(sibling).mode == Mode::User {
                self.settle(sibling);
            }
        }
    }

    /// Called afterwards: reschedules the siblings' events at the new speed.
    pub(crate) fn rearm_siblings(&mut self, cpu: CpuId) {
        for i in 0..self.cpu(cpu).siblings.len() {
            let sibling = self.cpu(cpu).siblings[i];
            if let (Mode::User, Some(task)) = (self.cpu(sibling).mode, self.cpu(sibling).curr) {
                self.arm_completion(sibling, task);
            }
        }
    }

    pub(crate) fn settle_all(&mut self) {
        for cpu in 0..self.cpus.len() as u32 {
            self.settle(CpuId(cpu));
        }
    }

    /// Bounds the kernel steps without progress of time, so that a run always ends.
    #[inline]
    fn count_step(&mut self, cpu: CpuId) -> Result<(), SimError> {
        self.steps_at_once += 1;
        self.steps += 1;
        let limit = self.setup.limits.events;
        if self.steps > limit.saturating_mul(STEPS_PER_EVENT) {
            let time = self.now;
            return Err(SimError::TooManyEvents { limit, time });
        }
        if self.steps_at_once > STEPS_AT_ONCE + 1000 * self.tasks.len() as u64 {
            let task = self.cpu(cpu).curr.unwrap_or(TaskId(0));
            return Err(SimError::Stalled {
                time: self.now,
                task,
                name: self.name(task),
            });
        }
        Ok(())
    }

    /// Starts to compute `ns` of work.
    pub(crate) fn begin_work(&mut self, task: TaskId, ns: u64) {
        let t = self.task_mut(task);
        let units = ns.saturating_mul(WORK_UNITS_PER_NS);
        t.work_requested += units;
        t.computing = if units == 0 {
            Computing::Nothing
        } else {
            Computing::Work(units)
        };
    }
}
