//! The simulation itself: the main loop, and CPUs passing from one mode to the next.

use schedlab_policy::{Class, Host, LockScope, NewTask, Platform, Topology};
use schedlab_trace::{
    CpuId, Event, EventKind, Ns, Overhead, Sink, TaskClass, TaskId, Time, TraceInfo, WakeContext,
};
use schedlab_workload::{Process, TaskSpec};

use crate::cache::CacheState;
use crate::check::Population;
use crate::cpu::{Cpu, KernelWork, Mode};
use crate::error::SimError;
use crate::lock::RqLock;
use crate::queue::{Actor, EventQueue, Slots};
use crate::resources::Resources;
use crate::rng::Stream;
use crate::task::{Computing, State, Task, WORK_UNITS_PER_NS};
use crate::ticks::Ticks;
use crate::Setup;

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// All foreground tasks have ended.
    Finished,
    /// Its time was over.
    TimeUp,
    /// Every task that is left waits for something that cannot happen.
    Deadlock,
}

/// How far a simulation has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// There is more to simulate.
    Running,
    /// It is over.
    Ended(EndReason),
}

/// What a finished simulation says about itself; everything else is in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// When it ended.
    pub end: Time,
    /// Why it ended.
    pub reason: EndReason,
    /// Events processed.
    pub events: u64,
    /// Tasks that existed.
    pub tasks: u32,
}

/// A running simulation.
pub struct Simulation<'a, S> {
    pub(crate) setup: Setup<'a>,
    pub(crate) sink: S,
    pub(crate) host: Host,
    pub(crate) queue: EventQueue,
    pub(crate) now: Time,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) locks: Vec<RqLock>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) resources: Resources,
    pub(crate) caches: Vec<CacheState>,
    pub(crate) population: Population,
    pub(crate) tick_ns: u64,
    pub(crate) ticks: Ticks,
    /// Host numbers of the workload's CPU sets.
    pub(crate) cpu_sets: Vec<u32>,
    /// Next instance number of each task specification.
    pub(crate) instances: Vec<u32>,
    /// Foreground tasks that have not ended.
    pub(crate) foreground: u32,
    pub(crate) next_mm: u32,
    pub(crate) any_affinity: bool,
    end_at: Time,
    has_foreground: bool,
    events: u64,
    /// Kernel steps since time last moved.
    idle_steps: u64,
    counters_seen: Vec<u64>,
    ended: Option<EndReason>,
}

/// Kernel steps at one moment that are no cause for suspicion, beside 1,000 for each task.
const STEPS_AT_ONCE: u64 = 10_000_000;

impl<'a, S: Sink> Simulation<'a, S> {
    /// A machine that has just come up, with the workload's tasks about to start.
    ///
    /// # Errors
    /// The policy does not initialise, or a task may use no CPU of this machine.
    pub fn new(setup: &Setup<'a>, sink: S) -> Result<Self, SimError> {
        let machine = setup.machine;
        let platform = Platform {
            cpus: &topology(setup),
            smp: machine.smp,
            hz: machine.hz,
        };
        let mut host = Host::new(setup.tuned, &platform, setup.seed).map_err(|fault| {
            let (time, cpu) = (Time::ZERO, CpuId(0));
            SimError::Fault { time, cpu, fault }
        })?;
        let nr_cpus = machine.cpus.len() as u32;
        let nr_locks = match setup.tuned.policy.lock_scope() {
            LockScope::Global => 1,
            LockScope::PerCpu => nr_cpus,
        };
        let slots = Slots {
            locks: nr_locks,
            cpus: nr_cpus,
            policy_timers: schedlab_policy::ffi::MAX_TIMERS as u32,
            disks: setup.workload.nr_disks,
        };
        let end = setup
            .duration
            .or(setup.workload.duration)
            .unwrap_or(setup.limits.time);
        let mut simulation = Simulation {
            queue: EventQueue::new(slots, setup.tie_break),
            now: Time::ZERO,
            cpus: (0..nr_cpus)
                .map(|cpu| Cpu::new(siblings(setup, cpu)))
                .collect(),
            locks: (0..nr_locks).map(|_| RqLock::new()).collect(),
            tasks: Vec::new(),
            resources: Resources::new(setup.workload),
            caches: machine.caches.iter().map(CacheState::new).collect(),
            population: Population::default(),
            tick_ns: host.tick_ns(),
            ticks: Ticks::new(nr_cpus, host.tick_ns(), machine.tick_phase),
            cpu_sets: Vec::new(),
            instances: vec![0; setup.workload.tasks.len()],
            foreground: 0,
            next_mm: first_free_mm(&setup.workload.tasks),
            any_affinity: false,
            end_at: Time::ZERO + end.min(setup.limits.time),
            has_foreground: false,
            events: 0,
            idle_steps: 0,
            counters_seen: vec![0; setup.tuned.policy.counters().len()],
            ended: None,
            setup: setup.clone(),
            sink,
            host,
        };
        simulation.begin()?;
        Ok(simulation)
    }

    fn begin(&mut self) -> Result<(), SimError> {
        let info = TraceInfo {
            nr_cpus: self.cpus.len() as u32,
            policy: self.setup.tuned.name(),
            workload: self.setup.workload.name.clone(),
            machine: self.setup.machine.name.clone(),
            counters: self
                .setup
                .tuned
                .policy
                .counters()
                .iter()
                .map(|c| c.to_string())
                .collect(),
            marks: self.setup.workload.marks.clone(),
            has_costs: true,
        };
        self.sink.begin(&info);
        self.register_cpu_sets()?;
        self.drain_requests(CpuId(0))?;
        let workload = self.setup.workload;
        for (spec, description) in workload.tasks.iter().enumerate() {
            for _ in 0..description.count {
                let start = Time::ZERO + description.start;
                let cpu = CpuId(self.tasks.len() as u32 % self.cpus.len() as u32);
                let task = self.create_task(spec as u32, None, cpu, start)?;
                self.queue.arm(Actor::Task(task.0), start);
            }
        }
        self.has_foreground = self.foreground > 0;
        if self.setup.tuned.policy.ticks_when_idle() {
            for cpu in 0..self.cpus.len() as u32 {
                self.ticks.start(CpuId(cpu), Time::ZERO);
            }
        }
        Ok(())
    }

    /// CPUs a workload names must exist; those beyond the machine are left out where others remain.
    fn register_cpu_sets(&mut self) -> Result<(), SimError> {
        let nr_cpus = self.cpus.len();
        let workload = self.setup.workload;
        for set in &workload.cpu_sets {
            let there: Vec<u32> = set
                .iter()
                .copied()
                .filter(|&c| (c as usize) < nr_cpus)
                .collect();
            if there.is_empty() {
                let named = workload
                    .tasks
                    .iter()
                    .find(|t| t.cpus == Some(self.cpu_sets.len() as u32));
                return Err(SimError::NoCpuFor {
                    task: named.map_or("(a program)", |t| t.name.as_str()).to_string(),
                    cpus: set.clone(),
                    nr_cpus,
                });
            }
            self.any_affinity |= there.len() < nr_cpus;
            self.cpu_sets.push(self.host.add_cpu_set(&there));
        }
        Ok(())
    }

    /// Makes a task known to everybody but the policy.
    pub(crate) fn create_task(
        &mut self,
        spec: u32,
        parent: Option<TaskId>,
        cpu: CpuId,
        start: Time,
    ) -> Result<TaskId, SimError> {
        if self.tasks.len() as u32 >= self.setup.limits.tasks {
            return Err(SimError::TooManyTasks {
                limit: self.setup.limits.tasks,
                time: self.now,
            });
        }
        let workload = self.setup.workload;
        let description = &workload.tasks[spec as usize];
        let instance = self.instances[spec as usize];
        self.instances[spec as usize] += 1;
        let new = NewTask {
            nice: description.nice,
            class: class_of(description.class),
            rt_priority: description.rt_priority,
            mm: self.mm_for(description.process, parent),
            cpu_set: description
                .cpus
                .map_or(0, |set| self.cpu_sets[set as usize]),
            cpu,
        };
        let id = self.host.add_task(&new, parent);
        let rng = Stream::of_task(self.setup.seed, &description.name, instance);
        let mut task = Task::new(spec, instance, rng, start, description.working_set_bytes);
        task.parent = parent;
        self.tasks.push(task);
        self.population.born();
        self.foreground += u32::from(!description.background);
        self.sink.task(&schedlab_trace::TaskInfo {
            id,
            name: instance_name(description, instance),
            group: description.group.clone(),
            process: new.mm,
            nice: new.nice,
            class: description.class,
            rt_priority: description.rt_priority,
        });
        Ok(id)
    }

    fn mm_for(&mut self, process: Process, parent: Option<TaskId>) -> u32 {
        match (process, parent) {
            (Process::Shared(number), _) => number,
            (Process::Parent, Some(parent)) => self.host.task(parent).mm,
            _ => self.new_mm(),
        }
    }

    pub(crate) fn new_mm(&mut self) -> u32 {
        self.next_mm += 1;
        self.next_mm - 1
    }

    // ---- the main loop ------------------------------------------------------------

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the run ends at the latest.
    pub fn end_at(&self) -> Time {
        self.end_at
    }

    /// Events processed so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Goes on until `limit` or the end of the run, whichever comes first.
    ///
    /// # Errors
    /// The policy broke the contract, a check failed, or a limit was reached.
    pub fn run_until(&mut self, limit: Time) -> Result<Status, SimError> {
        while self.ended.is_none() {
            let (next, is_tick) = self.next_event();
            if self.queue.only_routine() {
                self.ended = Some(self.quiescent()?);
            } else if next > self.end_at {
                self.now = self.end_at;
                self.ended = Some(EndReason::TimeUp);
            } else if next > limit {
                return Ok(Status::Running);
            } else {
                self.happen(next, is_tick)?;
                if self.has_foreground && self.foreground == 0 {
                    self.ended = Some(EndReason::Finished);
                }
            }
        }
        Ok(Status::Ended(
            self.ended.expect("the loop ends when it is set"),
        ))
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`Simulation::run_until`].
    pub fn run(mut self) -> Result<(Outcome, S), SimError> {
        self.run_until(Time::MAX)?;
        self.finish()
    }

    /// Closes the books of a simulation that has ended, or ends one that has not.
    ///
    /// # Errors
    /// The books do not balance.
    pub fn finish(mut self) -> Result<(Outcome, S), SimError> {
        let reason = self.ended.unwrap_or(EndReason::TimeUp);
        self.settle_all();
        self.check_final()?;
        self.sink.end(self.now);
        let outcome = Outcome {
            end: self.now,
            reason,
            events: self.events,
            tasks: self.tasks.len() as u32,
        };
        Ok((outcome, self.sink))
    }

    /// Names of tasks that sleep, for a message about a deadlock; at most `most`.
    pub fn sleepers(&self, most: usize) -> Vec<String> {
        let asleep = self
            .tasks
            .iter()
            .filter(|t| matches!(t.state, State::Sleeping { .. }));
        asleep
            .take(most)
            .map(|t| instance_name(&self.setup.workload.tasks[t.spec as usize], t.instance))
            .collect()
    }

    /// Nothing can happen any more.
    fn quiescent(&self) -> Result<EndReason, SimError> {
        self.check_none_waits()?;
        Ok(if self.has_foreground && self.foreground == 0 {
            EndReason::Finished
        } else {
            EndReason::Deadlock
        })
    }

    /// When the next event happens, and whether it is a tick.
    #[inline]
    fn next_event(&self) -> (Time, bool) {
        let tick = self.ticks.next().map_or(Time::MAX, |(time, _)| time);
        match self.queue.next() {
            Some((time, before_ticks)) if time < tick || (time == tick && before_ticks) => {
                (time, false)
            }
            _ => (tick, true),
        }
    }

    fn happen(&mut self, time: Time, is_tick: bool) -> Result<(), SimError> {
        self.check_time(time)?;
        if time > self.now {
            self.idle_steps = 0;
        }
        self.now = time;
        self.events += 1;
        if self.events > self.setup.limits.events {
            return Err(SimError::TooManyEvents {
                limit: self.setup.limits.events,
                time,
            });
        }
        if is_tick {
            let (_, cpu) = self.ticks.next().expect("next_event() saw a tick");
            self.ticks.move_on();
            self.post(cpu, KernelWork::Tick)?;
        } else {
            self.act()?;
            self.queue.done();
        }
        self.check_books()
    }

    /// The next actor does what it is due to do.
    fn act(&mut self) -> Result<(), SimError> {
        match self.queue.begin() {
            Actor::Lock(lock) => self.grant_lock(lock),
            Actor::Cpu(cpu) => self.cpu_event(CpuId(cpu)),
            Actor::PolicyTimer(id) => self.post(CpuId(0), KernelWork::PolicyTimer(id)),
            Actor::Disk(disk) => self.disk_event(disk),
            Actor::Task(task) => self.timer_event(TaskId(task)),
        }
    }

    fn cpu_event(&mut self, cpu: CpuId) -> Result<(), SimError> {
        if self.cpu(cpu).mode != Mode::Kernel {
            self.enter_kernel(cpu);
        }
        self.advance(cpu)
    }

    fn disk_event(&mut self, disk: u32) -> Result<(), SimError> {
        let requests = &mut self.resources.disks[disk as usize].requests;
        let (done, _) = requests
            .pop_front()
            .expect("the disk was serving a request");
        if let Some(&(_, service)) = requests.front() {
            self.queue.arm(Actor::Disk(disk), self.now + Ns(service));
        }
        self.wake_from_irq(done)
    }

    fn timer_event(&mut self, task: TaskId) -> Result<(), SimError> {
        if self.task(task).state == State::Unborn {
            return self.start_task(task);
        }
        self.wake_from_irq(task)
    }

    /// A timer or device interrupt wakes a task; it is taken on the CPU the task used last.
    fn wake_from_irq(&mut self, task: TaskId) -> Result<(), SimError> {
        let cpu = CpuId(self.host.task(task).cpu);
        self.want_awake(cpu, task, schedlab_policy::enq::IRQ, WakeContext::Irq)?;
        self.interrupt(cpu)
    }

    // ---- CPUs -------------------------------------------------------------------------

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

    /// Leaves a CPU a piece of kernel work and interrupts it.
    pub(crate) fn post(&mut self, cpu: CpuId, work: KernelWork) -> Result<(), SimError> {
        self.cpu_mut(cpu).pending.push_back(work);
        self.interrupt(cpu)
    }

    /// A CPU that can be interrupted looks at its kernel work; one in the kernel will when it is done.
    pub(crate) fn interrupt(&mut self, cpu: CpuId) -> Result<(), SimError> {
        let idle_exit = self.setup.machine.costs.idle_exit;
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

    /// Another CPU has been asked to reschedule: an interrupt tells it, unless it will see for itself.
    pub(crate) fn kick(&mut self, cpu: CpuId) {
        let costs = &self.setup.machine.costs;
        let delay = match self.cpu(cpu).mode {
            Mode::Idle => costs.ipi + costs.idle_exit,
            Mode::User => costs.ipi,
            Mode::Kernel | Mode::Spinning => return,
        };
        self.queue.arm_no_later(Actor::Cpu(cpu.0), self.now + delay);
    }

    /// Books what the CPU did up to now and puts it into the kernel.
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

    /// The CPU does its kernel work, reschedules if it must, and returns to its task or idles.
    pub(crate) fn advance(&mut self, cpu: CpuId) -> Result<(), SimError> {
        loop {
            if self.cpu(cpu).kernel_until > self.now {
                let until = self.cpu(cpu).kernel_until;
                self.queue.arm(Actor::Cpu(cpu.0), until);
                return Ok(());
            }
            self.count_step(cpu)?;
            let done = if let Some(&work) = self.cpu(cpu).pending.front() {
                self.kernel_work(cpu, work)?
            } else if self.must_schedule(cpu) {
                self.try_schedule(cpu)?
            } else {
                match self.cpu(cpu).curr {
                    None => return Ok(self.go_idle(cpu)),
                    Some(task) if self.task(task).computing == Computing::Nothing => {
                        self.step(cpu, task)?;
                        true
                    }
                    Some(task) => return Ok(self.go_user(cpu, task)),
                }
            };
            if !done {
                return Ok(()); // It spins on a lock; whoever releases that lets it go on.
            }
        }
    }

    /// One piece of kernel work; false if the CPU spins for it.
    fn kernel_work(&mut self, cpu: CpuId, work: KernelWork) -> Result<bool, SimError> {
        match work {
            KernelWork::Wake {
                task,
                flags,
                target,
            } => return self.try_wake(cpu, task, flags, target),
            KernelWork::Tick => {
                self.cpu_mut(cpu).pending.pop_front();
                let curr = self.cpu(cpu).curr;
                self.call(cpu, |host| host.tick(cpu, curr))?;
                let cost = self.setup.machine.costs.tick + self.work_cost();
                self.charge(cpu, Overhead::Tick, cost);
            }
            KernelWork::PolicyTimer(id) => {
                self.cpu_mut(cpu).pending.pop_front();
                self.call(cpu, |host| host.timer(id))?;
                let cost = self.work_cost();
                self.charge(cpu, Overhead::Tick, cost);
            }
        }
        self.drain_requests(cpu)?;
        Ok(true)
    }

    fn must_schedule(&self, cpu: CpuId) -> bool {
        if self.host.need_resched(cpu) {
            return true;
        }
        self.cpu(cpu).curr.is_some_and(|task| {
            let t = self.task(task);
            t.yielding || t.move_to.is_some() || !matches!(t.state, State::Running(_))
        })
    }

    fn go_idle(&mut self, cpu: CpuId) {
        self.queue.cancel(Actor::Cpu(cpu.0));
        let now = self.now;
        let c = self.cpu_mut(cpu);
        c.mode = Mode::Idle;
        c.since = now;
    }

    fn go_user(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.now;
        let c = self.cpu_mut(cpu);
        c.mode = Mode::User;
        c.since = now;
        self.arm_completion(cpu, task);
    }

    fn arm_completion(&mut self, cpu: CpuId, task: TaskId) {
        let done = self.completion(cpu, task);
        self.queue.arm(Actor::Cpu(cpu.0), done);
    }

    /// When the task will have done what it computes, if nothing comes between.
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
            left.div_ceil(WORK_UNITS_PER_NS) // The usual case, without a division.
        } else if left <= while_refilling {
            left.div_ceil(slow)
        } else {
            t.refill_ns + (left - while_refilling).div_ceil(rate)
        };
        self.now + Ns(ns)
    }

    /// Work units a task on this CPU gets done in a nanosecond.
    fn rate(&self, cpu: CpuId) -> u64 {
        let capacity = u64::from(self.setup.machine.cpus[cpu.index()].capacity);
        let siblings = &self.cpu(cpu).siblings;
        if siblings.iter().any(|&s| self.cpu(s).curr.is_some()) {
            (capacity * u64::from(self.setup.machine.smt_speed_milli) / 1000).max(1)
        } else {
            capacity
        }
    }

    /// Books the time since a CPU's last change of mode.
    pub(crate) fn settle(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.cpus[cpu.index()];
        let ns = Ns(now.0.saturating_sub(c.clock.0));
        match c.mode {
            Mode::Kernel => return, // Booked when it was charged.
            Mode::Idle => c.idle_ns += ns.0,
            Mode::User => c.run_ns += ns.0,
            Mode::Spinning => c.overhead_ns[Overhead::Lock as usize] += ns.0,
        }
        c.clock = now;
        c.since = now;
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

    /// The task has computed on this CPU for `ns`.
    fn progress(&mut self, cpu: CpuId, task: TaskId, ns: Ns) {
        let rate = self.rate(cpu);
        let now = self.now;
        let t = self.task_mut(task);
        let slow_ns = ns.0.min(t.refill_ns);
        t.refill_ns -= slow_ns;
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

    /// Before a CPU becomes busy or idle: its SMT siblings have run at the old speed so far.
    pub(crate) fn settle_siblings(&mut self, cpu: CpuId) {
        for i in 0..self.cpu(cpu).siblings.len() {
            let sibling = self.cpu(cpu).siblings[i];
            if self.cpu(sibling).mode == Mode::User {
                self.settle(sibling);
            }
        }
    }

    /// After it: they run at the new speed from now on.
    pub(crate) fn rearm_siblings(&mut self, cpu: CpuId) {
        for i in 0..self.cpu(cpu).siblings.len() {
            let sibling = self.cpu(cpu).siblings[i];
            if let (Mode::User, Some(task)) = (self.cpu(sibling).mode, self.cpu(sibling).curr) {
                self.arm_completion(sibling, task);
            }
        }
    }

    fn settle_all(&mut self) {
        for cpu in 0..self.cpus.len() as u32 {
            self.settle(CpuId(cpu));
        }
    }

    // ---- the policy ---------------------------------------------------------------------

    /// Calls a hook here and now.
    #[inline]
    pub(crate) fn call<T>(
        &mut self,
        cpu: CpuId,
        hook: impl FnOnce(&mut Host) -> Result<T, schedlab_policy::Fault>,
    ) -> Result<T, SimError> {
        self.host.at(self.now, cpu);
        hook(&mut self.host).map_err(|fault| SimError::Fault {
            time: self.now,
            cpu,
            fault,
        })
    }

    /// Does what the hooks just called on `cpu` asked for.
    #[inline]
    pub(crate) fn drain_requests(&mut self, cpu: CpuId) -> Result<(), SimError> {
        if !self.host.take_requests() {
            return Ok(());
        }
        while let Some((task, from)) = self.host.take_moved() {
            self.task_moved(cpu, task, from)?;
        }
        while let Some(target) = self.host.take_resched() {
            if target != cpu {
                self.kick(target);
            }
        }
        if let Some(timers) = self.host.take_timers() {
            for (id, &expires) in timers.iter().enumerate() {
                match expires {
                    0 => self.queue.cancel(Actor::PolicyTimer(id as u32)),
                    at => self
                        .queue
                        .arm(Actor::PolicyTimer(id as u32), Time(at).max(self.now)),
                }
            }
        }
        if !self.counters_seen.is_empty() {
            self.emit_counters(cpu);
        }
        Ok(())
    }

    fn emit_counters(&mut self, cpu: CpuId) {
        for counter in 0..self.counters_seen.len() {
            let value = self.host.counters()[counter];
            let by = value - std::mem::replace(&mut self.counters_seen[counter], value);
            if by > 0 {
                self.emit(
                    cpu,
                    EventKind::Count {
                        counter: counter as u32,
                        by,
                    },
                );
            }
        }
    }

    /// What the examining, recalculating and locking of the hooks just called costs.
    pub(crate) fn work_cost(&mut self) -> Ns {
        let work = self.host.take_work();
        self.price(work)
    }

    pub(crate) fn price(&self, work: schedlab_policy::ffi::Work) -> Ns {
        let costs = &self.setup.machine.costs;
        Ns(u64::from(work.examined) * costs.examine.0
            + u64::from(work.recalculated) * costs.recalculate.0
            + u64::from(work.locks) * costs.lock_transfer.0)
    }

    /// Records the task's priority if it has changed.
    #[inline]
    pub(crate) fn note_priority(&mut self, cpu: CpuId, task: TaskId) -> Result<(), SimError> {
        let Some(priority) = self.call(cpu, |host| host.priority(task))? else {
            return Ok(());
        };
        if self.task_mut(task).last_priority.replace(priority) != Some(priority) {
            self.emit(cpu, EventKind::Priority { task, priority });
        }
        Ok(())
    }

    /// Kernel steps without time passing have a bound, so that nothing goes on forever at one moment.
    #[inline]
    fn count_step(&mut self, cpu: CpuId) -> Result<(), SimError> {
        self.idle_steps += 1;
        if self.idle_steps > STEPS_AT_ONCE + 1000 * self.tasks.len() as u64 {
            let task = self.cpu(cpu).curr.unwrap_or(TaskId(0));
            return Err(SimError::Stalled {
                time: self.now,
                task,
                name: self.name(task),
            });
        }
        Ok(())
    }

    /// The task's name, for messages.
    pub(crate) fn name(&self, task: TaskId) -> String {
        self.tasks.get(task.index()).map_or_else(String::new, |t| {
            instance_name(&self.setup.workload.tasks[t.spec as usize], t.instance)
        })
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

fn topology(setup: &Setup) -> Vec<Topology> {
    let place = |cpu: &schedlab_machine::Cpu| Topology {
        core: cpu.core,
        llc: cpu.cache,
        node: cpu.node,
    };
    setup.machine.cpus.iter().map(place).collect()
}

/// The other CPUs of the same core.
fn siblings(setup: &Setup, cpu: u32) -> Vec<CpuId> {
    let cpus = &setup.machine.cpus;
    let core = cpus[cpu as usize].core;
    let same_core = |&(i, c): &(usize, &schedlab_machine::Cpu)| c.core == core && i as u32 != cpu;
    cpus.iter()
        .enumerate()
        .filter(same_core)
        .map(|(i, _)| CpuId(i as u32))
        .collect()
}

/// Address spaces are numbered from 1; the workload's shared ones come first.
fn first_free_mm(tasks: &[TaskSpec]) -> u32 {
    let shared = tasks.iter().filter_map(|t| match t.process {
        Process::Shared(number) => Some(number),
        _ => None,
    });
    shared.max().unwrap_or(0) + 1
}

fn instance_name(spec: &TaskSpec, instance: u32) -> String {
    if spec.count == 1 && instance == 0 {
        spec.name.clone()
    } else {
        format!("{}-{instance}", spec.name)
    }
}

pub(crate) fn class_of(class: TaskClass) -> Class {
    match class {
        TaskClass::Normal => Class::Normal,
        TaskClass::Batch => Class::Batch,
        TaskClass::Idle => Class::Idle,
        TaskClass::Fifo => Class::Fifo,
        TaskClass::Rr => Class::Rr,
    }
}
