//! For tests: a machine with a CPU for every task, on which nothing but the programs takes time.
//!
//! It shows what a workload does without any scheduler: which task computes when, the sums of
//! the marks, and whether every task ends.  Drawn amounts count as zero.

use std::collections::{BTreeMap, VecDeque};

use schedlab_trace::Ns;

use crate::{Amount, Cursor, Op, ProgramId, SpecId, Stream, TimerScope, Workload};

/// What happened.
#[derive(Default, Debug)]
pub(crate) struct Outcome {
    /// Sums of marks, by name.
    pub marks: BTreeMap<String, u64>,
    /// Recorded times, by name.
    pub clocks: BTreeMap<String, Vec<u64>>,
    /// Number of yields.
    pub yields: u64,
    /// When each task computed, by name of its specification: (from, to) in ns.
    pub runs: BTreeMap<String, Vec<(u64, u64)>>,
    /// When each task ended, by name of its specification.
    pub ends: BTreeMap<String, Vec<u64>>,
    /// When the run ended.
    pub end: u64,
    /// Foreground tasks that wait for ever.
    pub stuck: Vec<String>,
}

/// Runs a workload until no task can go on, its foreground is done or its duration is over.
pub(crate) fn run(workload: &Workload) -> Outcome {
    Ideal::new(workload).run()
}

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wait {
    Until(u64),
    Mutex(u32),
    Condition(u32),
    Semaphore(u32),
    Barrier(u32),
    Full(u32),
    Empty(u32),
    Children(bool),
    Done,
}

struct Task {
    spec: usize,
    program: ProgramId,
    parent: Option<usize>,
    cursor: Cursor,
    wait: Wait,
    since: u64,
    moved: u32,
    mutex: Option<u32>,
    clock: u64,
    received_clock: u64,
    start: u64,
    timers: [Option<u64>; 4],
    zombies: u32,
    children: u32,
}

struct Ideal<'a> {
    workload: &'a Workload,
    now: u64,
    tasks: Vec<Task>,
    mutexes: Vec<Option<usize>>,
    semaphores: Vec<u32>,
    channels: Vec<VecDeque<u64>>,
    shared_timers: Vec<Option<u64>>,
    order: u64,
    outcome: Outcome,
}

impl<'a> Ideal<'a> {
    fn new(workload: &'a Workload) -> Self {
        let mut ideal = Ideal {
            workload,
            now: 0,
            tasks: Vec::new(),
            mutexes: vec![None; workload.nr_mutexes as usize],
            semaphores: workload.semaphores.clone(),
            channels: vec![VecDeque::new(); workload.channels.len()],
            shared_timers: vec![None; workload.nr_shared_timers as usize],
            order: 0,
            outcome: Outcome::default(),
        };
        for (spec, task) in workload.tasks.iter().enumerate() {
            for _ in 0..task.count {
                ideal.spawn(spec, None, task.start.0);
            }
        }
        ideal
    }

    fn spawn(&mut self, spec: usize, parent: Option<usize>, start: u64) {
        self.tasks.push(Task {
            spec,
            program: self.workload.tasks[spec].program,
            parent,
            cursor: Cursor::new(Stream::of_task(0, "", 0)),
            wait: Wait::Until(start),
            since: 0,
            moved: 0,
            mutex: None,
            clock: 0,
            received_clock: 0,
            start,
            timers: [None; 4],
            zombies: 0,
            children: 0,
        });
    }

    fn run(mut self) -> Outcome {
        let limit = self.workload.duration.map_or(u64::MAX, |Ns(ns)| ns);
        loop {
            while self.settle() {}
            let foreground = |t: &Task| {
                let spec = &self.workload.tasks[t.spec];
                !spec.background && t.wait != Wait::Done
            };
            if !self.tasks.iter().any(foreground) {
                break;
            }
            let next = self.tasks.iter().filter_map(|t| match t.wait {
                Wait::Until(at) => Some(at),
                _ => None,
            });
            match next.min() {
                Some(at) if at <= limit => self.now = at,
                Some(_) => {
                    self.now = limit;
                    break;
                }
                None => {
                    let stuck = self.tasks.iter().filter(|t| foreground(t));
                    let names = stuck.map(|t| self.workload.tasks[t.spec].name.clone());
                    self.outcome.stuck = names.collect();
                    break;
                }
            }
        }
        self.outcome.end = self.now;
        self.outcome
    }

    /// Runs every task that can continue until it cannot; returns whether any could.
    fn settle(&mut self) -> bool {
        let mut any = false;
        for task in 0..self.tasks.len() {
            while self.tasks[task].wait == Wait::Until(self.now) || self.may_go_on(task) {
                any = true;
                self.tasks[task].wait = Wait::Until(u64::MAX);
                self.step(task);
            }
        }
        any
    }

    /// Is what the task waits for available?  Takes it if so.
    fn may_go_on(&mut self, task: usize) -> bool {
        match self.tasks[task].wait {
            Wait::Mutex(m) if self.mutexes[m as usize].is_none() && self.is_first(task) => {
                self.mutexes[m as usize] = Some(task);
                true
            }
            Wait::Semaphore(s) if self.semaphores[s as usize] > 0 && self.is_first(task) => {
                self.semaphores[s as usize] -= 1;
                true
            }
            Wait::Full(c) => {
                let messages = self.channels[c as usize].len();
                let room = messages < self.workload.channels[c as usize].capacity as usize;
                if room && self.is_first(task) {
                    self.tasks[task].cursor.step_back();
                    return true;
                }
                false
            }
            Wait::Empty(c) if !self.channels[c as usize].is_empty() && self.is_first(task) => {
                self.tasks[task].cursor.step_back();
                true
            }
            Wait::Children(all) => {
                let t = &mut self.tasks[task];
                let enough = if all {
                    t.zombies == t.children
                } else {
                    t.zombies > 0
                };
                if enough {
                    let reaped = if all { t.zombies } else { 1 };
                    t.children -= reaped;
                    t.zombies -= reaped;
                }
                enough
            }
            _ => false,
        }
    }

    /// Has no other task waited longer for the same?
    fn is_first(&self, task: usize) -> bool {
        let me = &self.tasks[task];
        self.tasks
            .iter()
            .all(|t| t.wait != me.wait || t.since >= me.since)
    }

    fn block(&mut self, task: usize, wait: Wait) {
        self.order += 1;
        self.tasks[task].wait = wait;
        self.tasks[task].since = self.order;
    }

    fn go_on(&mut self, task: usize) {
        self.tasks[task].wait = Wait::Until(self.now);
    }

    fn amount(amount: Amount) -> u64 {
        match amount {
            Amount::Fixed(Ns(ns)) => ns,
            Amount::Drawn(_) => 0,
        }
    }

    fn step(&mut self, task: usize) {
        let program = &self.workload.programs[self.tasks[task].program.0 as usize];
        let Some(op) = self.tasks[task].cursor.step(&program.ops) else {
            return self.exit(task);
        };
        self.go_on(task);
        match op {
            Op::RunInKernel(Ns(ns)) => self.compute(task, ns),
            Op::Run(ns) | Op::RunFor(ns) => self.compute(task, Self::amount(ns)),
            Op::Sleep(ns) => self.tasks[task].wait = Wait::Until(self.now + Self::amount(ns)),
            Op::SleepUntil(Ns(at)) => self.tasks[task].wait = Wait::Until(at.max(self.now)),
            Op::Rest => self.exit(task),
            Op::TimedSleep(ns) => {
                self.tasks[task].clock = self.now + Self::amount(ns);
                self.tasks[task].wait = Wait::Until(self.tasks[task].clock);
            }
            Op::Timer {
                timer,
                period,
                relative,
            } => self.timer(task, timer, period.0, relative),
            Op::Lock(m) => self.block(task, Wait::Mutex(m)),
            Op::Unlock(m) => {
                assert_eq!(
                    self.mutexes[m as usize],
                    Some(task),
                    "unlocks what it does not hold"
                );
                self.mutexes[m as usize] = None;
            }
            Op::CondWait { condition, mutex } => {
                if let Some(m) = mutex {
                    self.mutexes[m as usize] = None;
                }
                self.tasks[task].mutex = mutex;
                self.block(task, Wait::Condition(condition));
            }
            Op::CondSignal(c) => self.wake_condition(c, 1),
            Op::CondBroadcast(c) => self.wake_condition(c, usize::MAX),
            Op::SemPost(s) => self.semaphores[s as usize] += 1,
            Op::SemWait(s) | Op::SemSleep(s) => self.block(task, Wait::Semaphore(s)),
            Op::Barrier(b) => {
                self.block(task, Wait::Barrier(b));
                self.open_barrier(b);
            }
            Op::Send { channel, count } => self.send(task, channel, count),
            Op::Receive { channel, count } => self.receive(task, channel, count),
            Op::ReceiveAll { channel } => {
                let all = std::mem::take(&mut self.channels[channel as usize]);
                self.tasks[task].cursor.received = all.len() as u32;
                if let Some(&clock) = all.back() {
                    self.tasks[task].received_clock = clock;
                } else {
                    self.block(task, Wait::Empty(channel));
                }
            }
            Op::Disk { service, .. } => {
                self.tasks[task].wait = Wait::Until(self.now + Self::amount(service));
            }
            Op::Fork(SpecId(spec)) => {
                self.tasks[task].children += 1;
                self.spawn(spec as usize, Some(task), self.now);
            }
            Op::WaitChild if self.tasks[task].children == 0 => {}
            Op::WaitChild => self.block(task, Wait::Children(false)),
            Op::WaitAll => self.block(task, Wait::Children(true)),
            Op::Yield => self.outcome.yields += 1,
            Op::Loop { .. } | Op::EndLoop { .. } => {}
            Op::Mark { mark, count } => {
                let name = self.workload.marks[mark.0 as usize].clone();
                *self.outcome.marks.entry(name).or_default() += u64::from(count);
            }
            Op::StartClock => self.tasks[task].clock = self.now,
            Op::TakeClock => self.tasks[task].clock = self.tasks[task].received_clock,
            Op::StopClock { mark } => {
                let name = self.workload.marks[mark.0 as usize].clone();
                let ns = self.now - self.tasks[task].clock;
                self.outcome.clocks.entry(name).or_default().push(ns);
            }
            Op::Exit => self.exit(task),
            // Matters only to a scheduler.
            Op::Exec
            | Op::Uninterruptible
            | Op::Reap
            | Op::SetNice(_)
            | Op::SetClass(..)
            | Op::SetSlice(_)
            | Op::SetCpus(_)
            | Op::Renice(..)
            | Op::Reclass(..)
            | Op::Repin(..)
            | Op::SetGroup(_)
            | Op::Regroup(..)
            | Op::Weigh(..)
            | Op::Limit(..)
            | Op::WorkingSet(_) => {}
        }
    }

    fn compute(&mut self, task: usize, ns: u64) {
        let name = &self.workload.tasks[self.tasks[task].spec].name;
        let runs = self.outcome.runs.entry(name.clone()).or_default();
        runs.push((self.now, self.now + ns));
        self.tasks[task].wait = Wait::Until(self.now + ns);
    }

    fn exit(&mut self, task: usize) {
        self.tasks[task].wait = Wait::Done;
        let name = self.workload.tasks[self.tasks[task].spec].name.clone();
        self.outcome.ends.entry(name).or_default().push(self.now);
        if let Some(parent) = self.tasks[task].parent {
            self.tasks[parent].zombies += 1;
        }
    }

    fn timer(&mut self, task: usize, timer: TimerScope, period: u64, relative: bool) {
        let (now, start) = (self.now, self.tasks[task].start);
        let expiry = match timer {
            TimerScope::Own(n) => &mut self.tasks[task].timers[n as usize],
            TimerScope::Shared(n) => &mut self.shared_timers[n as usize],
        };
        let next = expiry.unwrap_or(start) + period;
        *expiry = Some(if next <= now && relative { now } else { next });
        self.tasks[task].wait = Wait::Until(next.max(now));
    }

    fn wake_condition(&mut self, condition: u32, most: usize) {
        let mut waiters: Vec<usize> = (0..self.tasks.len())
            .filter(|&t| self.tasks[t].wait == Wait::Condition(condition))
            .collect();
        waiters.sort_by_key(|&t| self.tasks[t].since);
        for waiter in waiters.into_iter().take(most) {
            match self.tasks[waiter].mutex {
                Some(m) => self.block(waiter, Wait::Mutex(m)),
                None => self.go_on(waiter),
            }
        }
    }

    fn open_barrier(&mut self, barrier: u32) {
        let waiting = |t: &Task| t.wait == Wait::Barrier(barrier);
        let there = self.tasks.iter().filter(|t| waiting(t)).count();
        if there as u32 == self.workload.barriers[barrier as usize] {
            let now = self.now;
            for t in self.tasks.iter_mut().filter(|t| waiting(t)) {
                t.wait = Wait::Until(now);
            }
        }
    }

    fn send(&mut self, task: usize, channel: u32, count: u32) {
        let c = channel as usize;
        while self.tasks[task].moved < count {
            if self.channels[c].len() == self.workload.channels[c].capacity as usize {
                return self.block(task, Wait::Full(channel));
            }
            let clock = self.tasks[task].clock;
            self.channels[c].push_back(clock);
            self.tasks[task].moved += 1;
        }
        self.tasks[task].moved = 0;
    }

    fn receive(&mut self, task: usize, channel: u32, count: u32) {
        let c = channel as usize;
        while self.tasks[task].moved < count {
            let Some(clock) = self.channels[c].pop_front() else {
                return self.block(task, Wait::Empty(channel));
            };
            self.tasks[task].received_clock = clock;
            self.tasks[task].moved += 1;
        }
        self.tasks[task].moved = 0;
    }
}
