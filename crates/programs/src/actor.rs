//! A task of a play: a thread or process that executes the task's program.
//!
//! It executes the operations of the simulator, draws the same random numbers and waits by the same
//! rules. The kernel decides how long operations take and which task runs.

mod attributes;
mod processes;

use std::io;
use std::sync::atomic::Ordering::SeqCst;

use schedlab_trace::{MarkId, Ns, TaskClass, Time};
use schedlab_workload::{
    Amount, Cursor, Op, SpecId, Stream, TaskSpec, TimerScope, Workload, LONGEST, MAX_OWN_TIMERS,
};

use crate::groups::Groups;
use crate::resources::NotOwner;
use crate::stage::{Slot, Stage, TaskSlot, What};
use crate::system::{
    now, rest, set_cpus, set_name, set_standing, sleep, sleep_until, wake, Standing,
};
use crate::work::Work;

/// Stack of a thread; programs need little.
const STACK_BYTES: usize = 128 << 10;

/// The data that every task of a play has.
#[derive(Clone, Copy)]
pub struct Play {
    pub workload: &'static Workload,
    pub stage: &'static Stage,
    pub work: Work,
    pub groups: &'static Groups,
    pub seed: u64,
    /// CPUs of the machine.
    pub nr_cpus: u32,
}

/// How a task was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Born {
    /// It exists before the workload begins, and waits for its start.
    Cast,
    /// The process was forked by a task.
    Process {
        /// The parent.
        parent: TaskSlot,
    },
    /// The thread was started by a task.
    Thread {
        /// The parent.
        parent: TaskSlot,
    },
}

/// Why a task cannot continue, as text.
type Problem = String;

impl Play {
    /// The specification of a task.
    pub fn spec(&self, slot: TaskSlot) -> &'static TaskSpec {
        &self.workload.tasks[self.stage.slot(slot).spec.load(SeqCst) as usize]
    }

    /// The name of a task.
    pub fn name(&self, slot: TaskSlot) -> String {
        let instance = self.stage.slot(slot).instance.load(SeqCst);
        self.spec(slot).instance_name(instance)
    }

    /// Sets a thread's class, priority, nice value, CPUs and control group by its specification.
    pub fn apply(&self, slot: TaskSlot) -> Result<(), Problem> {
        let spec = self.spec(slot);
        let thread = self.stage.slot(slot).thread.load(SeqCst);
        if let Some(set) = spec.cpus {
            self.bind(thread, Some(set))?;
        }
        let standing = Standing {
            class: spec.class,
            rt_priority: spec.rt_priority,
            nice: spec.nice,
            slice: spec.slice.unwrap_or(Ns::ZERO),
            clamps: spec.clamps,
        };
        set_standing(thread, standing)
            .map_err(|error| format!("{}: {}: {error}", self.name(slot), in_words(standing)))?;
        match spec.control_group {
            Some(group) => self.groups.join(thread, Some(group)),
            None => Ok(()),
        }
    }

    fn bind(&self, thread: u32, set: Option<u32>) -> Result<(), Problem> {
        let all: Vec<u32> = (0..self.nr_cpus).collect();
        let named = set.map_or(&all, |set| &self.workload.cpu_sets[set as usize]);
        let there: Vec<u32> = named
            .iter()
            .copied()
            .filter(|c| *c < self.nr_cpus)
            .collect();
        let numbers: Vec<String> = named.iter().map(u32::to_string).collect();
        let cpus = |e: io::Error| format!("CPUs {} of {}: {e}", numbers.join(", "), self.nr_cpus);
        set_cpus(thread, &there).map_err(cpus)
    }

    /// Executes a task's program to its end, then ends the task.
    pub fn act(self, slot: TaskSlot, born: Born) {
        let mut actor = Actor::new(self, slot);
        match actor.play(born) {
            Ok(()) => actor.bow(born),
            Err(problem) => {
                self.stage.fail(&problem);
                rest()
            }
        }
    }
}

fn in_words(standing: Standing) -> String {
    match standing.class {
        TaskClass::Fifo | TaskClass::Rr => {
            format!("real-time priority {}", standing.rt_priority)
        }
        _ => format!("nice {}", standing.nice),
    }
}

struct Actor {
    play: Play,
    me: TaskSlot,
    slot: &'static Slot,
    ops: &'static [Op],
    cursor: Cursor,
    work: Work,
    start: Time,
    clock: Time,
    /// The clock in the message that it received last.
    received_clock: Time,
    own_timers: [Option<Time>; MAX_OWN_TIMERS],
}

impl Actor {
    fn new(play: Play, me: TaskSlot) -> Actor {
        let (slot, spec) = (play.stage.slot(me), play.spec(me));
        let instance = slot.instance.load(SeqCst);
        Actor {
            play,
            me,
            slot,
            ops: &play.workload.programs[spec.program.0 as usize].ops,
            cursor: Cursor::new(Stream::of_task(play.seed, &spec.name, instance)),
            work: play.work,
            start: Time::ZERO,
            clock: Time::ZERO,
            received_clock: Time::ZERO,
            own_timers: [None; MAX_OWN_TIMERS],
        }
    }

    /// Executes all operations from the first to the last.
    fn play(&mut self, born: Born) -> Result<(), Problem> {
        set_name(&self.play.name(self.me));
        self.slot.introduce();
        match born {
            Born::Cast => self.wait_for_start()?,
            _ => {
                self.take_standing()?;
                self.start = now();
            }
        }
        (self.clock, self.received_clock) = (self.start, self.start);
        while let Some(op) = self.cursor.step(self.ops) {
            if op == Op::Exit {
                break;
            }
            self.perform(op)?;
        }
        Ok(())
    }

    /// Sleeps until the workload begins, or until the task's own start.
    fn wait_for_start(&mut self) -> Result<(), Problem> {
        let spec = self.play.spec(self.me);
        if spec.dormant {
            let first = self.cursor.step(self.ops);
            let Some(Op::SemWait(semaphore) | Op::SemSleep(semaphore)) = first else {
                return Err(
                    self.problem("is dormant, but its program does not begin with a semaphore")
                );
            };
            self.play.stage.lie_down(self.me, semaphore);
        }
        // Warms the caches before the measured part.
        self.work.run_a_moment();
        self.slot.get_ready();
        self.slot.park();
        self.start = self.play.stage.start() + spec.start;
        Ok(())
    }

    /// Ends the task and tells the tasks that wait for it.
    fn bow(&self, born: Born) {
        let stage = self.play.stage;
        self.slot.dead.store(1, SeqCst);
        if !self.play.spec(self.me).background {
            stage.leave_foreground();
        }
        if let Born::Thread { parent } = born {
            let ended = &stage.slot(parent).ended_threads;
            ended.fetch_add(1, SeqCst);
            wake(ended);
        }
    }

    fn perform(&mut self, op: Op) -> Result<(), Problem> {
        let stage = self.play.stage;
        match op {
            Op::Run(amount) => {
                let amount = self.amount(amount);
                self.work.run(amount);
            }
            Op::RunInKernel(amount) => self.work.run(amount.min(LONGEST)),
            Op::RunFor(amount) => {
                let end = now() + self.amount(amount);
                while now() < end {
                    self.work.run_a_moment();
                }
            }
            Op::Sleep(amount) => sleep(self.amount(amount)),
            Op::SleepUntil(since_start) => sleep_until(stage.start() + since_start),
            Op::Rest => self.rest(),
            Op::Uninterruptible | Op::WorkingSet(_) | Op::Exec | Op::Exit => {}
            // The cursor executes these operations.
            Op::Loop { .. } | Op::EndLoop { .. } => {}
            Op::TimedSleep(amount) => {
                let amount = self.amount(amount);
                self.clock = now() + amount;
                sleep(amount);
            }
            Op::Timer {
                timer,
                period,
                relative,
            } => self.wait_for_timer(timer, period.min(LONGEST), relative),
            Op::Lock(mutex) => stage.lock(self.me, mutex),
            Op::Unlock(mutex) => {
                let unlocked = stage.unlock(self.me, mutex);
                unlocked.map_err(|problem| self.misuse(problem))?;
            }
            Op::CondWait { condition, mutex } => {
                let waited = stage.wait_for_signal(self.me, condition, mutex);
                waited.map_err(|problem| self.misuse(problem))?;
            }
            Op::CondSignal(condition) => {
                stage.signal(condition);
            }
            Op::CondBroadcast(condition) => while stage.signal(condition) {},
            Op::SemPost(semaphore) => stage.post(semaphore),
            Op::SemWait(semaphore) | Op::SemSleep(semaphore) => stage.wait(self.me, semaphore),
            Op::Barrier(barrier) => stage.meet(self.me, barrier),
            Op::Send { channel, count } => stage.send(self.me, channel, count, self.clock),
            Op::Receive { channel, count } => {
                let clock = stage.receive(self.me, channel, count);
                self.received_clock = clock.unwrap_or(self.received_clock);
            }
            Op::ReceiveAll { channel } => {
                let (received, clock) = stage.receive_all(self.me, channel);
                self.cursor.received = received;
                self.received_clock = clock.unwrap_or(self.received_clock);
            }
            Op::Disk { disk, service } => {
                let service = self.amount(service);
                sleep_until(stage.disk(disk, now(), service.0));
            }
            Op::Fork(SpecId(spec)) => self.fork(spec)?,
            Op::WaitChild => self.wait_for_child(),
            Op::WaitAll => while self.wait_for_one() {},
            Op::Reap => self.reap(),
            Op::Yield => rustix::thread::sched_yield(),
            Op::SetNice(nice) => self.renice(self.me, nice)?,
            Op::SetClass(class, rt_priority) => self.reclass(self.me, class, rt_priority)?,
            Op::SetSlice(slice) => self.reslice(slice)?,
            Op::SetCpus(set) => self.play.bind(0, set)?,
            Op::Renice(spec, nice) => self.for_each_of(spec, |task| self.renice(task, nice))?,
            Op::Reclass(spec, class, rt_priority) => {
                self.for_each_of(spec, |task| self.reclass(task, class, rt_priority))?;
            }
            Op::Repin(spec, set) => self.for_each_of(spec, |task| {
                self.play.bind(stage.slot(task).thread.load(SeqCst), set)
            })?,
            Op::SetGroup(group) => self.regroup(self.me, group)?,
            Op::Regroup(spec, group) => self.for_each_of(spec, |task| self.regroup(task, group))?,
            Op::Weigh(group, weight) => self.play.groups.weigh(group, weight)?,
            Op::Limit(group, max) => self.play.groups.limit(group, max)?,
            Op::Mark { mark, count } => stage.mark(self.me, mark, What::Count(count)),
            Op::StartClock => self.clock = now(),
            Op::TakeClock => self.clock = self.received_clock,
            Op::StopClock { mark } => self.stop_clock(mark),
        }
        Ok(())
    }

    fn amount(&mut self, amount: Amount) -> Ns {
        let distributions = &self.play.workload.distributions;
        self.cursor.amount(amount, distributions)
    }

    fn problem(&self, problem: &str) -> Problem {
        format!("{} {problem}", self.play.name(self.me))
    }

    fn misuse(&self, _: NotOwner) -> Problem {
        self.problem("releases a mutex that it does not hold")
    }

    // ---- time ---------------------------------------------------------------------------

    fn rest(&self) -> ! {
        if !self.play.spec(self.me).background {
            self.play.stage.leave_foreground();
        }
        rest()
    }

    fn stop_clock(&self, mark: MarkId) {
        let time = Ns(now().0.saturating_sub(self.clock.0));
        self.play.stage.mark(self.me, mark, What::Time(time));
    }

    fn wait_for_timer(&mut self, timer: TimerScope, period: Ns, relative: bool) {
        let (now, start) = (now(), self.start);
        // Returns whether the period was missed, and when the timer expires next.
        let advance = |last: Time| {
            let next = last + period;
            let missed = next <= now;
            (missed, if missed && relative { now } else { next })
        };
        let (missed, next) = match timer {
            TimerScope::Own(index) => {
                let slot = &mut self.own_timers[index as usize];
                let (missed, next) = advance(slot.unwrap_or(start));
                *slot = Some(next);
                (missed, next)
            }
            TimerScope::Shared(index) => {
                let mut shared = self.play.stage.timers[index as usize].lock();
                let last = Some(Time(shared.next)).filter(|last| *last > Time::ZERO);
                let (missed, next) = advance(last.unwrap_or(start));
                shared.next = next.0;
                (missed, next)
            }
        };
        if !missed {
            sleep_until(next);
        }
    }
}
