//! schedule(): takes the lock, picks the next task and switches to it.

use schedlab_policy::{deq, enq, Hook, LockScope, Prev};
use schedlab_trace::{CpuId, EventKind, Ns, Overhead, PrevState, TaskId, Time, WakeContext};

use crate::cpu::Mode;
use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::queue::Actor;
use crate::task::State;

impl Simulation<'_> {
    /// The lock of a CPU's run queue.
    pub(crate) fn lock_of(&self, cpu: CpuId) -> u32 {
        match self.setup.tuned.policy.lock_scope() {
            LockScope::Global => 0,
            LockScope::PerCpu => cpu.0,
        }
    }

    /// Takes a free lock; otherwise the CPU starts to spin on it and the result is false.
    pub(crate) fn take_lock(&mut self, cpu: CpuId, lock: u32) -> bool {
        let now = self.now;
        let l = &mut self.locks[lock as usize];
        if l.is_free(now) {
            return true;
        }
        l.waiters.push_back(cpu);
        if l.waiters.len() == 1 {
            let free_at = l.busy_until.max(now);
            self.queue.arm(Actor::Lock(lock), free_at);
        }
        self.queue.cancel(Actor::Cpu(cpu.0));
        let c = self.cpu_mut(cpu);
        c.mode = Mode::Spinning;
        false
    }

    /// Cost of a lock whose cache line another CPU wrote last.
    pub(crate) fn lock_cost(&self, cpu: CpuId, lock: u32) -> Ns {
        match self.locks[lock as usize].last_holder {
            Some(holder) if holder != cpu => self.setup.machine.costs.lock_transfer,
            _ => Ns::ZERO,
        }
    }

    /// Holds the lock until the CPU's current piece of kernel work ends; then the next waiter gets
    /// it.
    pub(crate) fn release_lock(&mut self, cpu: CpuId, lock: u32) {
        let until = self.cpu(cpu).kernel_until;
        let l = &mut self.locks[lock as usize];
        l.busy_until = until;
        l.last_holder = Some(cpu);
        if !l.waiters.is_empty() {
            self.queue.arm(Actor::Lock(lock), until);
        }
    }

    /// A lock becomes free: the CPU that has waited longest gets it and continues.
    pub(crate) fn grant_lock(&mut self, lock: u32) -> Result<(), SimError> {
        let l = &mut self.locks[lock as usize];
        let Some(cpu) = l.waiters.pop_front() else {
            return Ok(());
        };
        self.enter_kernel(cpu);
        self.cpu_mut(cpu).held = Some(lock);
        // A CPU spins for its first piece of kernel work, or for schedule() if it has none. If work
        // has arrived for a CPU that spins in schedule(), the work is done first, like an
        // interrupt, and the lock goes to the next waiter.
        self.advance(cpu)?;
        if self.cpu_mut(cpu).held.take().is_some() {
            self.pass_on(lock);
        }
        Ok(())
    }

    /// The CPU did not use the lock: the next waiter gets it now.
    fn pass_on(&mut self, lock: u32) {
        let now = self.now;
        let l = &mut self.locks[lock as usize];
        l.busy_until = l.busy_until.max(now);
        if !l.waiters.is_empty() {
            let at = l.busy_until;
            self.queue.arm(Actor::Lock(lock), at);
        }
    }

    /// Does the CPU have this lock, or can it take it?
    pub(crate) fn have_lock(&mut self, cpu: CpuId, lock: u32) -> bool {
        if self.cpu(cpu).held == Some(lock) {
            self.cpu_mut(cpu).held = None;
            return true;
        }
        self.take_lock(cpu, lock)
    }

    /// schedule() on this CPU; returns false if it must spin for the lock first.
    pub(crate) fn try_schedule(&mut self, cpu: CpuId) -> Result<bool, SimError> {
        let lock = self.lock_of(cpu);
        if !self.have_lock(cpu, lock) {
            return Ok(false);
        }
        let prev = self.cpu(cpu).curr;
        let why = self.put_prev(cpu, prev)?;
        if let Some(prev) = prev {
            self.tell_work_left(prev);
        }
        let next = self.call(cpu, |host| host.pick_next(cpu, prev, why))?;
        if let Some(next) = next {
            self.tell_work_left(next);
        }
        let work = self.host.take_work();
        self.drain_requests(cpu)?;
        self.check_pick(cpu, prev, why, next)?;
        self.emit(
            cpu,
            EventKind::Schedule {
                examined: work.examined,
                recalculations: work.recalculations,
            },
        );
        let pick_cost =
            self.lock_cost(cpu, lock) + self.setup.machine.costs.schedule + self.price(work);
        if next == prev {
            self.charge(cpu, Overhead::Schedule, pick_cost);
            self.release_lock(cpu, lock);
            if let Some(task) = next {
                self.task_mut(task).yielding = false;
            }
        } else {
            let switch_cost = self.switch(cpu, prev, why, next)?;
            self.charge(cpu, Overhead::Schedule, pick_cost);
            self.release_lock(cpu, lock);
            self.charge(cpu, Overhead::Switch, switch_cost);
            self.charge_work(cpu, Overhead::Schedule); // The work of switched().
        }
        self.after_schedule(cpu, prev, why)?;
        Ok(true)
    }

    /// Takes the previous task off the run queue if it is no longer runnable here; returns its
    /// state.
    fn put_prev(&mut self, cpu: CpuId, prev: Option<TaskId>) -> Result<Prev, SimError> {
        let Some(prev) = prev else {
            return Ok(Prev::None);
        };
        let t = self.task(prev);
        let (state, yielding, moving) = (t.state, t.yielding, t.move_to.is_some());
        let (flags, why) = match state {
            State::Blocking {
                uninterruptible, ..
            } => {
                let disk = if uninterruptible {
                    deq::UNINTERRUPTIBLE
                } else {
                    0
                };
                (deq::SLEEP | disk, Prev::Blocked)
            }
            State::Exiting(_) => (deq::EXIT, Prev::Exited),
            _ if moving => (deq::MOVE, Prev::Moved),
            _ if yielding => return Ok(Prev::Yielded),
            _ => return Ok(Prev::Preempted),
        };
        self.call(cpu, |host| host.dequeue(prev, flags))?;
        Ok(why)
    }

    /// The CPU switches from `prev` to `next`; returns the cost.
    fn switch(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        why: Prev,
        next: Option<TaskId>,
    ) -> Result<Ns, SimError> {
        let busy_changes = prev.is_none() != next.is_none();
        if busy_changes {
            self.settle_siblings(cpu);
        }
        let prev_state = self.leave_cpu(cpu, prev, why);
        if let Some(next) = next {
            let queued_on = CpuId(self.host.task(next).cpu);
            self.waiting_no_more(queued_on, next)?;
            self.task_mut(next).waited_before = Ns::ZERO;
        }
        self.cpu_mut(cpu).curr = next;
        self.emit(
            cpu,
            EventKind::Switch {
                prev,
                prev_state,
                next,
            },
        );
        self.call(cpu, |host| host.switch(cpu, prev, next))?;
        let cost = match next {
            Some(next) => self.enter_cpu(cpu, next)?,
            None => Ns::ZERO,
        };
        if busy_changes {
            self.busy_changed(cpu, next.is_some());
        }
        self.drain_requests(cpu)?;
        Ok(cost)
    }

    fn leave_cpu(&mut self, cpu: CpuId, prev: Option<TaskId>, why: Prev) -> PrevState {
        let Some(prev) = prev else {
            return PrevState::Idle;
        };
        let cache = self.setup.machine.cpus[cpu.index()].cache;
        self.caches[cache as usize].leave(&mut self.tasks[prev.index()]);
        let t = self.task_mut(prev);
        t.yielding = false;
        if why != Prev::Moved {
            t.move_to = None;
        }
        let (state, shown) = match (self.task(prev).state, why) {
            (
                State::Blocking {
                    uninterruptible, ..
                },
                _,
            ) => {
                let shown = if uninterruptible {
                    PrevState::DiskSleep
                } else {
                    PrevState::Sleeping
                };
                (State::Sleeping { uninterruptible }, shown)
            }
            (State::Exiting(_), _) => (State::Zombie, PrevState::Exited),
            (_, Prev::Moved) => (State::Waiting, PrevState::Moved),
            (_, Prev::Yielded) => (State::Waiting, PrevState::Yielded),
            _ => (State::Waiting, PrevState::Preempted),
        };
        if state == State::Waiting && why != Prev::Moved {
            self.waiting_here(cpu, prev);
        }
        self.set_state(prev, state);
        shown
    }

    /// The task starts to run here; returns the cost of loading its address space.
    fn enter_cpu(&mut self, cpu: CpuId, next: TaskId) -> Result<Ns, SimError> {
        self.set_state(next, State::Running(cpu));
        self.note_turn(cpu, next);
        self.enter_cache(cpu, next);
        self.note_priority(cpu, next)?;
        let costs = &self.setup.machine.costs;
        let mm = self.host.task(next).mm;
        let mut cost = costs.context_switch;
        // A kernel thread uses the loaded address space.
        if mm != 0 && mm != self.cpu(cpu).mm {
            cost += costs.mm_switch;
            self.cpu_mut(cpu).mm = mm;
        }
        Ok(cost)
    }

    /// From now on the task uses the cache of this CPU.
    pub(crate) fn enter_cache(&mut self, cpu: CpuId, task: TaskId) {
        let machine = self.setup.machine;
        let place = &machine.cpus[cpu.index()];
        let t = &mut self.tasks[task.index()];
        let home = *t.home.get_or_insert(place.node);
        let distance = machine.distance(place.node, home);
        self.caches[place.cache as usize].enter(place.cache, distance, t);
    }

    /// The CPU became busy or idle; its siblings' speed and its tick depend on it.
    fn busy_changed(&mut self, cpu: CpuId, busy: bool) {
        self.rearm_siblings(cpu);
        if busy {
            self.population.busy_cpus += 1;
            self.ticks.start(cpu, self.now);
            self.skip_idle_ticks(cpu);
            return;
        }
        self.population.busy_cpus -= 1;
        if !self.setup.tuned.policy.ticks_when_idle() {
            self.ticks.stop(cpu);
        }
    }

    /// Ticks of the policy that became due while the CPU idled are not delivered.
    fn skip_idle_ticks(&mut self, cpu: CpuId) {
        if self.setup.tuned.policy.ticks_when_idle() {
            return;
        }
        let (now, period) = (self.now, self.tick_ns);
        let next = &mut self.cpu_mut(cpu).next_policy_tick;
        if *next <= now {
            *next = Time((now.0 / period + 1) * period);
        }
    }

    /// Work that had to wait until the CPU had switched away from the previous task.
    fn after_schedule(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        why: Prev,
    ) -> Result<(), SimError> {
        match (prev, why) {
            (Some(prev), Prev::Moved) => self.requeue_elsewhere(cpu, prev),
            (Some(prev), Prev::Exited) => self.bury(cpu, prev),
            (Some(prev), Prev::Blocked) if self.task(prev).wanted_early => {
                self.task_mut(prev).wanted_early = false;
                self.want_awake(cpu, prev, enq::IRQ, WakeContext::Irq)
            }
            (Some(prev), Prev::Yielded | Prev::Preempted) if self.cpu(cpu).curr != Some(prev) => {
                self.check_queued(cpu, prev, Hook::PickNext)?;
                self.check_left(cpu, prev)
            }
            _ => Ok(()),
        }
    }

    /// A waiting task may no longer use the CPU on which it waits.
    pub(crate) fn evict(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.call(cpu, |host| host.dequeue(task, deq::MOVE))?;
        self.drain_requests(cpu)?;
        let from = CpuId(self.host.task(task).cpu);
        self.waiting_no_more(from, task)?;
        self.requeue_elsewhere(cpu, task)
    }

    /// Queues a runnable task that had to leave its CPU on another CPU.
    fn requeue_elsewhere(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let wanted = self.task_mut(task).move_to.take();
        let target = match wanted.filter(|&t| self.host.allowed(task, t)) {
            Some(target) => target,
            None => self.call(cpu, |host| host.select_cpu(task, enq::MOVE))?,
        };
        let from = CpuId(self.host.task(task).cpu);
        self.host.set_task_cpu(task, target);
        self.waiting_here(target, task);
        self.emit(
            cpu,
            EventKind::Migrate {
                task,
                from,
                to: target,
            },
        );
        self.call(cpu, |host| host.enqueue(task, enq::MOVE))?;
        self.charge_work(cpu, Overhead::Schedule);
        self.drain_requests(cpu)?;
        self.check_queued(cpu, task, Hook::Enqueue)?;
        self.check_told(cpu, target, task, enq::MOVE)
    }

    /// The policy moved a waiting task to another CPU's run queue.
    pub(crate) fn task_moved(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        from: CpuId,
    ) -> Result<(), SimError> {
        let to = CpuId(self.host.task(task).cpu);
        if to == from {
            return Ok(()); // Moved and moved back within one hook.
        }
        if to.index() >= self.cpus.len() || !self.host.allowed(task, to) {
            let detail = format!("moved to CPU {to}, where it may not run");
            return Err(self.violation(Rule::Placement, cpu, None, Some(task), detail));
        }
        if self.task(task).state != State::Waiting {
            let detail = format!("moved to CPU {to} while it is {}", self.task(task).state);
            return Err(self.violation(Rule::NotRunnable, cpu, None, Some(task), detail));
        }
        self.waiting_no_more(from, task)?;
        self.waiting_here(to, task);
        self.emit(cpu, EventKind::Migrate { task, from, to });
        Ok(())
    }
}
