//! The main loop of a simulation.

use schedlab_machine::Preemption;
use schedlab_policy::{
    Clamps, Class, Disturbance, Host, LockScope, NewTask, Nice, Platform, Topology,
};
use schedlab_trace::{CpuId, Ns, Sink, TaskClass, TaskId, Time, TraceInfo, WakeContext};
use schedlab_workload::{Periodic, Process, Stream, TaskSpec};

use crate::cache::CacheState;
use crate::check::Population;
use crate::cpu::{Cpu, KernelWork, Mode};
use crate::error::SimError;
use crate::groups::Groups;
use crate::lock::RqLock;
use crate::nice::NiceWatch;
use crate::queue::{Actor, EventQueue, Slots};
use crate::resources::Resources;
use crate::task::{State, Task};
use crate::ticks::Ticks;
use crate::{Setup, TieBreak};

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// All foreground tasks have ended.
    Finished,
    /// Its duration was over.
    TimeUp,
    /// Every remaining task waits for something that cannot happen.
    Deadlock,
}

/// The state of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// There is more to simulate.
    Running,
    /// It is over.
    Ended(EndReason),
}

/// The result of a simulation, beside the trace.
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
    /// Was a random number used (by the policy, a task, the machine, or for the order of
    /// simultaneous events)? If not, every seed gives the same run.
    pub seed_used: bool,
}

/// A running simulation. It is not generic over the sink, so that it is compiled once; each event
/// costs a virtual call.
pub struct Simulation<'a> {
    pub(crate) setup: Setup<'a>,
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) host: Host,
    pub(crate) queue: EventQueue,
    pub(crate) now: Time,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) locks: Vec<RqLock>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) resources: Resources,
    pub(crate) caches: Vec<CacheState>,
    pub(crate) population: Population,
    pub(crate) groups: Groups,
    /// Longest wait that the policy promises; `None` without a promise or outside its conditions.
    pub(crate) starvation_bound: Option<Ns>,
    /// There is or was a real-time task.
    pub(crate) has_realtime: bool,
    pub(crate) nice_watch: Option<NiceWatch>,
    pub(crate) tick_ns: u64,
    /// Additional duration of ticks.
    pub(crate) jitter: Stream,
    pub(crate) ticks: Ticks,
    /// Host numbers of the workload's CPU sets.
    pub(crate) cpu_sets: Vec<u32>,
    /// Next instance number of each task specification.
    pub(crate) instances: Vec<u32>,
    /// Tasks of each specification, oldest first; dead ones are removed when the list is used.
    pub(crate) members: Vec<Vec<TaskId>>,
    /// Foreground tasks that have not ended.
    pub(crate) foreground: u32,
    pub(crate) next_mm: u32,
    end_at: Time,
    has_foreground: bool,
    events: u64,
    /// Kernel steps: pieces of kernel work and operations of programs.
    pub(crate) steps: u64,
    /// Kernel steps since time last moved.
    pub(crate) steps_at_once: u64,
    pub(crate) counters_seen: Vec<u64>,
    ended: Option<EndReason>,
}

impl<'a> Simulation<'a> {
    /// A machine after boot; the workload's tasks are about to start.
    ///
    /// # Errors
    /// The policy does not initialise, or a task may use no CPU of this machine.
    pub fn new(setup: &Setup<'a>, sink: &'a mut dyn Sink) -> Result<Self, SimError> {
        let machine = setup.machine;
        let platform = Platform {
            cpus: &topology(setup),
            smp: machine.smp,
            lazy: machine.preemption == Preemption::Lazy,
            hz: machine.hz,
        };
        let mut host = Host::new(setup.tuned, &platform, setup.seed).map_err(|fault| {
            let (time, cpu) = (Time::ZERO, CpuId(0));
            SimError::Fault { time, cpu, fault }
        })?;
        if setup.checks_policy {
            host.watch_memory();
        }
        let nr_cpus = machine.cpus.len() as u32;
        let nr_locks = match setup.tuned.policy.lock_scope() {
            LockScope::Global => 1,
            LockScope::PerCpu => nr_cpus,
        };
        let slots = Slots {
            locks: nr_locks,
            cpus: nr_cpus,
            policy_timers: schedlab_policy::ffi::MAX_TIMERS as u32,
            hrticks: nr_cpus,
            disks: setup.workload.nr_disks,
        };
        let end = setup
            .duration
            .or(setup.workload.duration)
            .unwrap_or(setup.limits.time);
        let kernel_tick_ns = match machine.kernel_hz {
            Some(hz) => 1_000_000_000 / u64::from(hz),
            None => host.tick_ns(),
        };
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
            groups: Groups::default(),
            starvation_bound: promised_wait(setup),
            has_realtime: false,
            nice_watch: NiceWatch::of(setup),
            tick_ns: host.tick_ns(),
            jitter: Stream::of_machine(setup.seed),
            ticks: Ticks::new(nr_cpus, kernel_tick_ns, machine.tick_phase),
            cpu_sets: Vec::new(),
            instances: vec![0; setup.workload.tasks.len()],
            members: vec![Vec::new(); setup.workload.tasks.len()],
            foreground: 0,
            next_mm: first_free_mm(&setup.workload.tasks),
            end_at: Time::ZERO + end.min(setup.limits.time),
            has_foreground: false,
            events: 0,
            steps: 0,
            steps_at_once: 0,
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
            release: None,
            has_costs: true,
            nice_is_weighted: self.setup.tuned.policy.promise().nice == Nice::Weighted,
            is_flat: !self.setup.tuned.policy.has_groups(),
            knows_future: self.setup.tuned.policy.knows_future(),
        };
        self.sink.begin(&info);
        self.register_cpu_sets()?;
        self.create_groups()?;
        self.drain_requests(CpuId(0))?;
        let workload = self.setup.workload;
        for (spec, description) in workload.tasks.iter().enumerate() {
            for _ in 0..description.count {
                let start = Time::ZERO + description.start;
                let cpu = CpuId(self.tasks.len() as u32 % self.cpus.len() as u32);
                let task = self.create_task(spec as u32, None, cpu, start)?;
                match description.dormant {
                    true => self.lay_down(task)?,
                    false => self.queue.arm(Actor::Task(task.0), start),
                }
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

    /// Registers the workload's CPU sets: CPUs beyond the machine are removed if others remain.
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
            self.cpu_sets.push(self.host.add_cpu_set(&there));
        }
        Ok(())
    }

    /// Creates a task; the policy does not know it yet.
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
        self.note_class(description.class);
        let new = NewTask {
            nice: description.nice,
            class: class_of(description.class),
            rt_priority: description.rt_priority,
            mm: self.mm_for(description.process, parent),
            cpu_set: description
                .cpus
                .map_or(0, |set| self.cpu_sets[set as usize]),
            cpu,
            foreground: description.foreground,
            group: self.first_group(description.control_group, parent),
            slice: description.slice.unwrap_or(Ns::ZERO),
            clamps: clamps_of(description),
        };
        let id = self.host.add_task(&new, parent);
        if let Some(Periodic {
            runtime,
            deadline,
            period,
        }) = description.periodic
        {
            self.host.set_period(id, runtime, deadline, period);
        }
        if self.host.wants_names() {
            let name = description.instance_name(instance);
            self.host.name_task(id, &name);
        }
        let numbers = Stream::of_task(self.setup.seed, &description.name, instance);
        let task = Task::new(
            spec,
            instance,
            numbers,
            start,
            description.working_set_bytes,
        );
        self.tasks.push(task);
        self.members[spec as usize].push(id);
        self.join_group(id, new.group);
        self.population.born();
        self.foreground += u32::from(!description.background);
        self.sink.task(&schedlab_trace::TaskInfo {
            id,
            name: description.instance_name(instance),
            group: description.group.clone(),
            control_group: new.group,
            process: new.mm,
            pid: None,
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

    /// From now on hooks see refused locks and later times; see [`Disturbance`]. For tests.
    pub fn disturb(&mut self, chosen: Disturbance) {
        self.host.disturb(chosen);
    }

    // ---- the main loop ------------------------------------------------------------

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The latest end of the run.
    pub fn end_at(&self) -> Time {
        self.end_at
    }

    /// Events processed so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Runs until `limit` or the end of the run.
    ///
    /// # Errors
    /// The policy broke the contract, a check failed, or a limit was reached.
    pub fn run_until(&mut self, limit: Time) -> Result<Status, SimError> {
        while self.ended.is_none() {
            let (next, is_tick) = self.next_event();
            if self.queue.only_routine() && !self.waits_for_quota() && !self.timers_may_help() {
                self.ended = Some(self.quiescent()?);
            } else if next > self.end_at {
                self.ended = Some(self.time_up()?);
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

    /// Completes the accounts of a simulation, which ends it if it still runs.
    ///
    /// # Errors
    /// The accounts do not balance.
    pub fn finish(mut self) -> Result<Outcome, SimError> {
        let reason = self.ended.unwrap_or(EndReason::TimeUp);
        self.settle_all();
        self.check_final()?;
        let outcome = Outcome {
            end: self.now,
            reason,
            events: self.events,
            tasks: self.tasks.len() as u32,
            seed_used: self.seed_used(),
        };
        self.check_drain()?;
        self.sink.end(self.now);
        Ok(outcome)
    }

    /// Ends a run early, after an error or an interrupt; the sink has all events up to now.
    pub fn abandon(mut self) {
        self.settle_all();
        self.sink.end(self.now);
    }

    /// Was a random number drawn by the policy, a task or the machine?
    fn seed_used(&self) -> bool {
        matches!(self.setup.tie_break, TieBreak::Shuffled(_))
            || self.host.drew_random()
            || self.jitter != Stream::of_machine(self.setup.seed)
            || self.tasks.iter().any(|task| task.cursor.has_drawn())
    }

    /// The task's name, for messages.
    pub(crate) fn name(&self, task: TaskId) -> String {
        self.tasks.get(task.index()).map_or_else(String::new, |t| {
            self.setup.workload.tasks[t.spec as usize].instance_name(t.instance)
        })
    }

    /// The run's duration is over: the requested one, or the limit.
    fn time_up(&mut self) -> Result<EndReason, SimError> {
        self.now = self.end_at;
        let limit = self.setup.limits.time;
        if self.asked_for().is_some_and(|asked| asked <= limit) {
            return Ok(EndReason::TimeUp);
        }
        Err(SimError::TooLong { limit })
    }

    /// The duration from the user, or from the workload.
    fn asked_for(&self) -> Option<Ns> {
        self.setup.duration.or(self.setup.workload.duration)
    }

    /// Does a task wait for a timer of the policy that will make it run?
    fn timers_may_help(&self) -> bool {
        self.setup.tuned.policy.acts_on_timers()
            && self.population.waiting > 0
            && self.host.timers().iter().any(|&expires| expires > 0)
    }

    /// No event is left, except the policy's timers.
    fn quiescent(&self) -> Result<EndReason, SimError> {
        self.check_none_waits()?;
        let over = match self.has_foreground {
            true => self.foreground == 0,
            false => !self.anybody_sleeps(),
        };
        Ok(if over {
            EndReason::Finished
        } else {
            EndReason::Deadlock
        })
    }

    /// The time of the next event, and whether it is a tick.
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
            self.steps_at_once = 0;
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
            // A tick is lost if the previous one is still pending, like an interrupt.
            if !self.cpu(cpu).pending.contains(&KernelWork::Tick) {
                self.post(cpu, KernelWork::Tick)?;
            }
        } else {
            self.act()?;
            self.queue.done();
        }
        self.check_nice()?;
        self.check_policy()?;
        self.check_books()
    }

    /// Processes the next event of an actor.
    fn act(&mut self) -> Result<(), SimError> {
        match self.queue.begin() {
            Actor::Lock(lock) => self.grant_lock(lock),
            Actor::Cpu(cpu) => self.cpu_event(CpuId(cpu)),
            Actor::PolicyTimer(id) => self.post(CpuId(0), KernelWork::PolicyTimer(id)),
            Actor::Hrtick(cpu) => self.post(CpuId(cpu), KernelWork::Hrtick),
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

    /// A timer or a device interrupt wakes a task, on the CPU that the task used last.
    fn wake_from_irq(&mut self, task: TaskId) -> Result<(), SimError> {
        let cpu = CpuId(self.host.task(task).cpu);
        self.want_awake(cpu, task, schedlab_policy::enq::IRQ, WakeContext::Irq)?;
        self.interrupt(cpu)
    }
}

fn topology(setup: &Setup) -> Vec<Topology> {
    let place = |cpu: &schedlab_machine::Cpu| Topology {
        core: cpu.core,
        llc: cpu.cache,
        node: cpu.node,
        capacity: cpu.capacity,
    };
    setup.machine.cpus.iter().map(place).collect()
}

fn clamps_of(task: &TaskSpec) -> Clamps {
    task.clamps
        .map_or(Clamps::NONE, |(min, max)| Clamps { min, max })
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

/// The first free number of an address space; the workload's shared ones are numbered from 1.
fn first_free_mm(tasks: &[TaskSpec]) -> u32 {
    let shared = tasks.iter().filter_map(|t| match t.process {
        Process::Shared(number) => Some(number),
        _ => None,
    });
    shared.max().unwrap_or(0) + 1
}

/// The longest wait that the policy promises; `None` if a tunable was changed on which it depends.
fn promised_wait(setup: &Setup) -> Option<Ns> {
    let promise = setup.tuned.policy.promise();
    let mut depends_on = promise.bound_tunables.split_whitespace();
    let changed = |name: &str| setup.tuned.changed().iter().any(|set| set.name == name);
    let holds = !depends_on.any(changed);
    promise.starvation_bound_ns.filter(|_| holds).map(Ns)
}

pub(crate) fn class_of(class: TaskClass) -> Class {
    match class {
        TaskClass::Normal => Class::Normal,
        TaskClass::Batch => Class::Batch,
        TaskClass::Idle => Class::Idle,
        TaskClass::Iso => Class::Iso,
        TaskClass::Fifo => Class::Fifo,
        TaskClass::Rr => Class::Rr,
    }
}
