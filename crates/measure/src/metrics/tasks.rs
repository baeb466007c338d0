//! Times and counts of each task: integers that add up over groups and the whole run.

use schedlab_trace::{Ns, PrevState, TaskId, Time};

use crate::observation::WaitEnd;
use crate::{Activity, Wait};

/// A task's or several tasks' sums and extremes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    run: u64,
    wait: u64,
    voluntary: u64,
    involuntary: u64,
    yield_switches: u64,
    yields: u64,
    migrations: u64,
    wakeups: u64,
    longest: Option<Wait>,
    /// Did it exist when the trace began?
    pub from_start: bool,
}

impl Tally {
    /// CPU time of its own, in nanoseconds.
    pub fn run_ns(&self) -> u64 {
        self.run
    }

    fn waited(&mut self, wait: Wait) {
        if self.longest.is_none_or(|longest| longest.ns < wait.ns) {
            self.longest = Some(wait);
        }
    }

    pub fn add(&mut self, other: &Tally) {
        self.run = self.run.saturating_add(other.run);
        self.wait = self.wait.saturating_add(other.wait);
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.yield_switches += other.yield_switches;
        self.yields += other.yields;
        self.migrations += other.migrations;
        self.wakeups += other.wakeups;
        if let Some(wait) = other.longest {
            self.waited(wait);
        }
    }

    /// Everything but the distributions.  `cpu_time` is the duration times the number of CPUs.
    pub fn activity(&self, cpu_time: u128) -> Activity {
        Activity {
            run_ns: Ns(self.run),
            cpu_share: super::share(self.run, cpu_time),
            wait_ns: Ns(self.wait),
            wakeup_latency_ns: None,
            run_delay_ns: None,
            nr_switches: self.voluntary + self.involuntary + self.yield_switches,
            nr_voluntary_switches: self.voluntary,
            nr_involuntary_switches: self.involuntary,
            nr_yield_switches: self.yield_switches,
            nr_yields: self.yields,
            nr_migrations: self.migrations,
            nr_wakeups: self.wakeups,
            longest_wait: self.longest,
        }
    }
}

/// The tallies of all tasks, by id.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<Tally>);

impl Tasks {
    /// Makes room for a task.
    pub fn announce(&mut self, task: TaskId) {
        let len = self.0.len().max(task.index() + 1);
        self.0.resize(len, Tally::default());
    }

    pub fn tally(&self, index: usize) -> &Tally {
        &self.0[index]
    }

    /// CPU time of all tasks, in nanoseconds.
    pub fn run_ns(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, tally| sum.saturating_add(tally.run))
    }

    pub fn forked(&mut self, task: TaskId, from_start: bool) {
        self.0[task.index()].from_start = from_start;
    }

    #[inline]
    pub fn woken(&mut self, task: TaskId) {
        self.0[task.index()].wakeups += 1;
    }

    #[inline]
    pub fn yielded(&mut self, task: TaskId) {
        self.0[task.index()].yields += 1;
    }

    #[inline]
    pub fn ran(&mut self, task: TaskId, ns: u64) {
        self.0[task.index()].run += ns;
    }

    #[inline]
    pub fn waited(&mut self, wait: &WaitEnd) {
        let ns = wait.end - wait.start;
        let tally = &mut self.0[wait.who.task.index()];
        tally.wait = tally.wait.saturating_add(ns);
        tally.waited(Wait {
            task: wait.who.task,
            start_ns: Time(wait.start),
            ns: Ns(ns),
        });
    }

    #[inline]
    pub fn switched_out(&mut self, task: TaskId, why: PrevState) {
        let tally = &mut self.0[task.index()];
        match why {
            PrevState::Preempted | PrevState::Moved => tally.involuntary += 1,
            PrevState::Yielded => tally.yield_switches += 1,
            _ => tally.voluntary += 1,
        }
    }

    #[inline]
    pub fn switched_in(&mut self, task: TaskId, migrated: bool) {
        self.0[task.index()].migrations += u64::from(migrated);
    }
}
