//! Executes programs, one operation at a time.

use schedlab_machine::Timers;
use schedlab_policy::enq;
use schedlab_trace::{CpuId, EventKind, GroupId, Ns, Overhead, TaskId, Time};
use schedlab_workload::{Amount, Op, SpecId, TimerScope, LONGEST};

use crate::engine::Simulation;
use crate::error::SimError;
use crate::queue::Actor;
use crate::task::{Computing, State};

/// Most batches of messages in a channel; it bounds memory for channels without receivers.
const MOST_BATCHES: usize = 4 << 20;

impl<'p> Simulation<'p> {
    /// A task's next operation; `None` if it exits.
    pub(crate) fn next_op(&self, task: TaskId) -> Option<Op> {
        let t = self.task(task);
        t.cursor.peek(self.program(t.spec))
    }

    /// The operations of the tasks of a specification.
    pub(crate) fn program(&self, spec: u32) -> &'p [Op] {
        let workload = self.setup.workload;
        let program = workload.tasks[spec as usize].program;
        &workload.programs[program.0 as usize].ops
    }

    /// The running task executes its next operation.
    pub(crate) fn step(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let ops = self.program(self.task(task).spec);
        let t = self.task_mut(task);
        let deaf = t.cursor.is_uninterruptible(ops);
        let Some(op) = t.cursor.step(ops) else {
            return self.exit(cpu, task);
        };
        t.deaf = deaf;
        t.in_kernel = false;
        let again = std::mem::take(&mut t.retrying);
        if is_syscall(&op) && !again {
            let cost = self.setup.machine.costs.syscall;
            self.charge(cpu, Overhead::Syscall, cost);
        }
        match op {
            Op::Run(amount) => {
                let ns = self.amount(task, amount);
                self.begin_work(task, ns);
            }
            Op::RunInKernel(ns) => {
                self.begin_work(task, ns.min(LONGEST).0);
                self.task_mut(task).in_kernel = true;
            }
            Op::RunFor(amount) => {
                let end = self.now + Ns(self.amount(task, amount));
                if end > self.now {
                    self.task_mut(task).computing = Computing::Until(end);
                }
            }
            Op::Sleep(amount) => {
                let ns = self.amount(task, amount);
                self.sleep(cpu, task, ns);
            }
            Op::SleepUntil(since_start) => self.sleep_until(cpu, task, Time::ZERO + since_start),
            Op::Rest => self.rest(cpu, task),
            // The cursor executes these operations.
            Op::Uninterruptible | Op::Loop { .. } | Op::EndLoop { .. } => {}
            Op::TimedSleep(amount) => {
                let ns = self.amount(task, amount);
                self.task_mut(task).clock_start = self.now + Ns(ns);
                self.sleep(cpu, task, ns);
            }
            Op::Timer {
                timer,
                period,
                relative,
            } => self.timer_wait(cpu, task, timer, period, relative),
            Op::Lock(mutex) => self.mutex_lock(cpu, task, mutex)?,
            Op::Unlock(mutex) => self.mutex_unlock(cpu, task, mutex)?,
            Op::CondWait { condition, mutex } => self.cond_wait(cpu, task, condition, mutex)?,
            Op::CondSignal(condition) => {
                self.cond_wake(cpu, condition)?;
            }
            Op::CondBroadcast(condition) => while self.cond_wake(cpu, condition)? {},
            Op::SemPost(semaphore) => self.sem_post(cpu, semaphore)?,
            Op::SemWait(semaphore) => self.sem_wait(cpu, task, semaphore),
            Op::SemSleep(semaphore) => self.sem_sleep(cpu, task, semaphore),
            Op::Barrier(barrier) => self.barrier(cpu, task, barrier)?,
            Op::Send { channel, count } => self.send(cpu, task, channel, count)?,
            Op::Receive { channel, count } => self.receive(cpu, task, channel, count)?,
            Op::ReceiveAll { channel } => self.receive_all(cpu, task, channel)?,
            Op::Disk { disk, service } => {
                let ns = self.amount(task, service);
                self.disk(cpu, task, disk, ns);
            }
            Op::Fork(SpecId(spec)) => self.fork(cpu, task, spec)?,
            Op::Exec => self.exec(cpu, task)?,
            Op::WaitChild => self.wait_children(cpu, task, false)?,
            Op::WaitAll => self.wait_children(cpu, task, true)?,
            Op::Reap => self.reap_dead_children(cpu, task)?,
            Op::Yield => self.sched_yield(cpu, task)?,
            Op::SetNice(nice) => self.set_nice(cpu, task, nice)?,
            Op::SetClass(class, rt_priority) => self.set_class(cpu, task, class, rt_priority)?,
            Op::SetSlice(slice) => self.set_slice(cpu, task, slice)?,
            Op::SetCpus(set) => self.set_cpus(cpu, task, set)?,
            Op::Renice(SpecId(spec), nice) => {
                self.for_each_of(spec, |sim, other| sim.set_nice(cpu, other, nice))?;
            }
            Op::Reclass(SpecId(spec), class, rt_priority) => {
                self.for_each_of(spec, |sim, other| {
                    sim.set_class(cpu, other, class, rt_priority)
                })?;
            }
            Op::Repin(SpecId(spec), set) => {
                self.for_each_of(spec, |sim, other| sim.set_cpus(cpu, other, set))?;
            }
            Op::SetGroup(group) => self.set_group(cpu, task, group)?,
            Op::Regroup(SpecId(spec), group) => {
                self.for_each_of(spec, |sim, other| sim.set_group(cpu, other, group))?;
            }
            Op::Weigh(group, weight) => self.weigh_group(cpu, GroupId(group), weight)?,
            Op::Limit(group, max) => self.limit_group(cpu, GroupId(group), max)?,
            Op::WorkingSet(bytes) => self.set_working_set(cpu, task, bytes),
            Op::Mark { mark, count } => self.emit(cpu, EventKind::Mark { task, mark, count }),
            Op::StartClock => self.task_mut(task).clock_start = self.now,
            Op::TakeClock => {
                let t = self.task_mut(task);
                t.clock_start = t.received_clock;
            }
            Op::StopClock { mark } => {
                let ns = self.now.since(self.task(task).clock_start);
                self.emit(cpu, EventKind::Latency { task, mark, ns });
            }
            Op::Exit => self.exit(cpu, task)?,
        }
        Ok(())
    }

    fn amount(&mut self, task: TaskId, amount: Amount) -> u64 {
        let distributions = &self.setup.workload.distributions;
        self.task_mut(task).cursor.amount(amount, distributions).0
    }

    /// The task is about to sleep.
    pub(crate) fn block(&mut self, cpu: CpuId, task: TaskId) {
        self.block_deaf(cpu, task, self.task(task).deaf);
    }

    /// The task is about to sleep; with `deaf` signals do not wake it.
    fn block_deaf(&mut self, cpu: CpuId, task: TaskId, deaf: bool) {
        let uninterruptible = deaf && !self.setup.workload.open_to_signals;
        self.set_state(
            task,
            State::Blocking {
                cpu,
                uninterruptible,
            },
        );
    }

    /// The task repeats the operation when it next runs.
    pub(crate) fn retry(&mut self, task: TaskId) {
        let t = self.task_mut(task);
        t.cursor.step_back();
        t.retrying = true;
    }

    // ---- time ---------------------------------------------------------------------

    fn sleep(&mut self, cpu: CpuId, task: TaskId, ns: u64) {
        let until = match self.setup.machine.timers {
            Timers::HighResolution => self.now + Ns(ns),
            // A whole number of ticks, rounded up, plus the current one, which has begun.
            Timers::Tick => {
                let ticks = ns.div_ceil(self.tick_ns);
                self.ticks.after(CpuId(0), self.now) + Ns(ticks * self.tick_ns)
            }
        };
        self.queue.arm(Actor::Task(task.0), until);
        self.block(cpu, task);
    }

    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, time: Time) {
        if time <= self.now {
            return;
        }
        let until = match self.setup.machine.timers {
            Timers::HighResolution => time,
            Timers::Tick => self.ticks.after(CpuId(0), Time(time.0 - 1)),
        };
        self.queue.arm(Actor::Task(task.0), until);
        self.block(cpu, task);
    }

    /// The task sleeps until the end of the run.
    fn rest(&mut self, cpu: CpuId, task: TaskId) {
        self.leave_foreground(task);
        self.block(cpu, task);
    }

    fn timer_wait(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        timer: TimerScope,
        period: Ns,
        relative: bool,
    ) {
        let (now, start) = (self.now, self.task(task).start);
        let slot = match timer {
            TimerScope::Own(i) => &mut self.tasks[task.index()].own_timers[i as usize],
            TimerScope::Shared(i) => &mut self.resources.shared_timers[i as usize],
        };
        let next = slot.unwrap_or(start) + period.min(LONGEST);
        let missed = next <= now;
        *slot = Some(if missed && relative { now } else { next });
        if missed {
            return;
        }
        let until = match self.setup.machine.timers {
            Timers::HighResolution => next,
            Timers::Tick => self.ticks.after(CpuId(0), Time(next.0 - 1)),
        };
        self.queue.arm(Actor::Task(task.0), until);
        self.block(cpu, task);
    }

    fn disk(&mut self, cpu: CpuId, task: TaskId, disk: u32, ns: u64) {
        let requests = &mut self.resources.disks[disk as usize].requests;
        requests.push_back((task, ns));
        if requests.len() == 1 {
            self.queue.arm(Actor::Disk(disk), self.now + Ns(ns));
        }
        self.block_deaf(cpu, task, true);
    }

    // ---- mutexes, conditions, semaphores, barriers ------------------------------------

    fn mutex_lock(&mut self, cpu: CpuId, task: TaskId, mutex: u32) -> Result<(), SimError> {
        let m = &mut self.resources.mutexes[mutex as usize];
        match m.owner {
            None => m.owner = Some(task),
            Some(owner) if owner == task => {
                return Err(self.misuse(task, "locks a mutex that it already holds"));
            }
            Some(_) => {
                m.waiters.push_back(task);
                self.block(cpu, task);
            }
        }
        Ok(())
    }

    fn mutex_unlock(&mut self, cpu: CpuId, task: TaskId, mutex: u32) -> Result<(), SimError> {
        let m = &mut self.resources.mutexes[mutex as usize];
        if m.owner != Some(task) {
            return Err(self.misuse(task, "releases a mutex that it does not hold"));
        }
        m.owner = m.waiters.pop_front();
        match m.owner {
            Some(next) => self.wake(cpu, next),
            None => Ok(()),
        }
    }

    fn cond_wait(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        condition: u32,
        mutex: Option<u32>,
    ) -> Result<(), SimError> {
        self.resources.conditions[condition as usize]
            .waiters
            .push_back((task, mutex));
        self.block(cpu, task);
        match mutex {
            Some(mutex) => self.mutex_unlock(cpu, task, mutex),
            None => Ok(()),
        }
    }

    /// Wakes the longest waiter. If its mutex is taken, it waits for the mutex instead.
    fn cond_wake(&mut self, cpu: CpuId, condition: u32) -> Result<bool, SimError> {
        let Some((waiter, mutex)) = self.resources.conditions[condition as usize]
            .waiters
            .pop_front()
        else {
            return Ok(false);
        };
        if let Some(mutex) = mutex {
            let m = &mut self.resources.mutexes[mutex as usize];
            if m.owner.is_some() {
                m.waiters.push_back(waiter);
                return Ok(true);
            }
            m.owner = Some(waiter);
        }
        self.wake(cpu, waiter)?;
        Ok(true)
    }

    fn sem_post(&mut self, cpu: CpuId, semaphore: u32) -> Result<(), SimError> {
        let s = &mut self.resources.semaphores[semaphore as usize];
        match s.waiters.pop_front() {
            Some(waiter) => self.wake(cpu, waiter),
            None => {
                s.value = s.value.saturating_add(1);
                Ok(())
            }
        }
    }

    fn sem_wait(&mut self, cpu: CpuId, task: TaskId, semaphore: u32) {
        let s = &mut self.resources.semaphores[semaphore as usize];
        if s.value > 0 {
            s.value -= 1;
        } else {
            s.waiters.push_back(task);
            self.block(cpu, task);
        }
    }

    /// As [`Self::sem_wait`], but the task also sleeps if the semaphore was posted before; it is
    /// then woken at once.
    fn sem_sleep(&mut self, cpu: CpuId, task: TaskId, semaphore: u32) {
        let posted = self.resources.semaphores[semaphore as usize].value > 0;
        self.sem_wait(cpu, task, semaphore);
        if posted {
            self.task_mut(task).wanted_early = true;
            self.block(cpu, task);
        }
    }

    /// The task sleeps from the start on the semaphore with which its program begins.
    pub(crate) fn lay_down(&mut self, task: TaskId) -> Result<(), SimError> {
        let ops = self.program(self.task(task).spec);
        let first = self.task_mut(task).cursor.step(ops);
        let Some(Op::SemWait(semaphore) | Op::SemSleep(semaphore)) = first else {
            return Err(self.misuse(
                task,
                "is dormant, but its program does not begin with a semaphore",
            ));
        };
        let s = &mut self.resources.semaphores[semaphore as usize];
        s.waiters.push_back(task);
        Ok(())
    }

    fn barrier(&mut self, cpu: CpuId, task: TaskId, barrier: u32) -> Result<(), SimError> {
        let b = &mut self.resources.barriers[barrier as usize];
        if (b.waiting.len() as u32) + 1 < b.size {
            b.waiting.push(task);
            self.block(cpu, task);
            return Ok(());
        }
        for waiter in std::mem::take(&mut b.waiting) {
            self.wake(cpu, waiter)?;
        }
        Ok(())
    }

    // ---- channels -----------------------------------------------------------------------

    /// Sends messages and wakes receivers; waits while the channel is full.
    fn send(&mut self, cpu: CpuId, task: TaskId, channel: u32, count: u32) -> Result<(), SimError> {
        let mut left = self.task_mut(task).transfer_left.take().unwrap_or(count);
        let clock = self.task(task).clock_start;
        while left > 0 {
            let c = &mut self.resources.channels[channel as usize];
            if c.room() == 0 {
                c.senders.push_back(task);
                self.pause_transfer(cpu, task, left);
                return Ok(());
            }
            let was_empty = c.messages.total() == 0;
            let put = c.put_at_once(left);
            c.messages.put(clock, put);
            left -= put;
            let too_many = c.messages.batches() > MOST_BATCHES;
            let receivers = c.woken_by_put(was_empty);
            if too_many {
                return Err(self.misuse(task, "sends too many messages that no task receives"));
            }
            self.wake_all_sync(cpu, receivers)?;
        }
        let next = self.resources.channels[channel as usize].next_sender();
        self.wake_all_sync(cpu, next)
    }

    /// Receives messages and wakes senders; waits while the channel is empty.
    fn receive(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        channel: u32,
        count: u32,
    ) -> Result<(), SimError> {
        let mut left = self.task_mut(task).transfer_left.take().unwrap_or(count);
        while left > 0 {
            let c = &mut self.resources.channels[channel as usize];
            let before = c.messages.total();
            let Some((clock, taken)) = c.messages.take(c.take_at_once(left)) else {
                c.receivers.push_back(task);
                self.pause_transfer(cpu, task, left);
                return Ok(());
            };
            left -= taken;
            let senders = c.woken_by_take(before);
            self.task_mut(task).received_clock = clock;
            self.wake_all_sync(cpu, senders)?;
        }
        let next = self.resources.channels[channel as usize].next_receiver();
        self.wake_all_sync(cpu, next)
    }

    fn wake_all_sync(
        &mut self,
        cpu: CpuId,
        tasks: impl IntoIterator<Item = TaskId>,
    ) -> Result<(), SimError> {
        for task in tasks {
            self.wake_sync(cpu, task)?;
        }
        Ok(())
    }

    fn receive_all(&mut self, cpu: CpuId, task: TaskId, channel: u32) -> Result<(), SimError> {
        let c = &mut self.resources.channels[channel as usize];
        let Some((clock, taken)) = c.messages.take_all() else {
            c.receivers.push_back(task);
            self.retry(task);
            self.block(cpu, task);
            return Ok(());
        };
        let waking = c.senders.len().min(taken as usize);
        let senders: Vec<TaskId> = c.senders.drain(..waking).collect();
        let t = self.task_mut(task);
        t.cursor.received = taken;
        t.received_clock = clock;
        self.wake_all_sync(cpu, senders)
    }

    fn pause_transfer(&mut self, cpu: CpuId, task: TaskId, left: u32) {
        self.task_mut(task).transfer_left = Some(left);
        self.retry(task);
        self.block(cpu, task);
    }

    // ---- processes ------------------------------------------------------------------------

    /// exec(): a new address space without cached memory, and an opportunity to change the CPU.
    fn exec(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.emit(cpu, EventKind::Exec { task });
        let cost = self.setup.machine.costs.exec;
        self.charge(cpu, Overhead::Syscall, cost);
        let mm = self.new_mm();
        self.host.set_mm(task, mm);
        self.cpu_mut(cpu).mm = mm;
        let bytes = self.task(task).working_set;
        self.task_mut(task).home = None;
        self.set_working_set(cpu, task, bytes);
        let target = self.call(cpu, |host| host.select_cpu(task, enq::EXEC))?;
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        if target != cpu {
            self.task_mut(task).move_to = Some(target);
        }
        Ok(())
    }

    /// Changes the working set; nothing of it is in the cache.
    fn set_working_set(&mut self, cpu: CpuId, task: TaskId, bytes: u64) {
        let cache = self.setup.machine.cpus[cpu.index()].cache;
        let t = &mut self.tasks[task.index()];
        self.caches[cache as usize].leave(t); // Its old working set has evicted others.
        t.working_set = bytes;
        t.cache = u32::MAX;
        self.enter_cache(cpu, task);
    }

    fn sched_yield(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        self.emit(cpu, EventKind::Yield { task });
        let gives_up = self.call(cpu, |host| host.yield_task(task))?;
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        self.begin_stay(task);
        self.task_mut(task).yielding = gives_up;
        Ok(())
    }

    #[cold]
    fn misuse(&self, task: TaskId, problem: &str) -> SimError {
        SimError::Program {
            time: self.now,
            task,
            name: self.name(task),
            problem: problem.into(),
        }
    }
}

/// Operations that are system calls in a real program.
fn is_syscall(op: &Op) -> bool {
    !matches!(
        op,
        Op::Run(_)
            | Op::RunInKernel(_)
            | Op::RunFor(_)
            | Op::WorkingSet(_)
            | Op::Loop { .. }
            | Op::EndLoop { .. }
            | Op::Mark { .. }
            | Op::StartClock
            | Op::TakeClock
            | Op::StopClock { .. }
            | Op::Uninterruptible
            | Op::Fork(_)
            | Op::Exec
            | Op::Exit
    )
}
