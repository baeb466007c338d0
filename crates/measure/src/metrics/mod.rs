//! The metric families, one file each, and which observations each of them gets.

mod control_groups;
mod cpus;
mod fairness;
mod idle_while_runnable;
mod latency;
mod marks;
mod scheduler;
mod shares;
mod tasks;
mod timeline;
mod waiting;

use schedlab_trace::{CpuId, Overhead, PrevState, TaskId, TraceInfo};

use crate::observation::{Load, WaitEnd, Who};

pub(crate) use control_groups::ControlGroups;
pub(crate) use cpus::Cpus;
pub(crate) use fairness::{fairness, Lasting};
pub(crate) use idle_while_runnable::Idling;
pub(crate) use latency::Latencies;
pub(crate) use marks::Marks;
pub(crate) use scheduler::Scheduler;
pub(crate) use shares::Shares;
pub(crate) use tasks::{Tally, Tasks};
pub(crate) use timeline::Timeline;
pub(crate) use waiting::Waiting;

/// All families, with a method for each kind of observation.
#[derive(Debug)]
pub(crate) struct Families {
    pub tasks: Tasks,
    pub latencies: Latencies,
    pub cpus: Cpus,
    pub control_groups: ControlGroups,
    pub idling: Idling,
    pub scheduler: Scheduler,
    pub marks: Marks,
    pub waiting: Waiting,
    pub shares: Shares,
    pub timeline: Timeline,
}

impl Families {
    pub fn new(info: &TraceInfo) -> Families {
        Families {
            tasks: Tasks::default(),
            latencies: Latencies::default(),
            cpus: Cpus::new(info.nr_cpus),
            control_groups: ControlGroups::new(info.nr_cpus),
            idling: Idling::default(),
            scheduler: Scheduler::default(),
            marks: Marks::new(info),
            waiting: Waiting::new(info.nr_cpus),
            shares: Shares::default(),
            timeline: Timeline::new(info.nr_cpus),
        }
    }

    /// A task did its own work on a CPU.
    #[inline]
    pub fn ran(&mut self, cpu: CpuId, who: Who, from: u64, to: u64) {
        self.tasks.ran(who.task, to - from);
        self.control_groups.ran(who.task, to - from);
        self.cpus.ran(cpu, to - from);
        self.shares.ran(who.group, from, to);
    }

    /// A CPU idled.
    #[inline]
    pub fn idled(&mut self, cpu: CpuId, from: u64, to: u64) {
        self.cpus.idled(cpu, to - from);
        self.shares.idled(from, to);
    }

    /// A CPU was busy with overhead.
    #[inline]
    pub fn overhead(&mut self, cpu: CpuId, kind: Overhead, from: u64, to: u64) {
        self.cpus.overhead(cpu, kind, to - from);
        self.shares.overhead(from, to);
    }

    /// A wait on a run queue ended.
    #[inline]
    pub fn waited(&mut self, wait: &WaitEnd) {
        self.tasks.waited(wait);
        self.control_groups.waited(wait);
        self.latencies.waited(wait);
        self.timeline.waited(wait);
    }

    /// A task left its CPU.
    #[inline]
    pub fn switched_out(&mut self, cpu: CpuId, task: TaskId, why: PrevState, now: u64) {
        self.tasks.switched_out(task, why);
        self.timeline.switched_out(cpu, now);
    }

    /// A task got a CPU, which may differ from the one it ran on last.
    #[inline]
    pub fn switched_in(&mut self, cpu: CpuId, task: TaskId, migrated: bool, now: u64) {
        self.tasks.switched_in(task, migrated);
        self.timeline.switched_in(cpu, task, now);
    }

    /// A CPU switched, to or from idle or between tasks.
    #[inline]
    pub fn switched(&mut self, cpu: CpuId) {
        self.cpus.switched(cpu);
    }

    /// The numbers of waiting tasks and idle CPUs from now on.
    #[inline]
    pub fn load(&mut self, load: Load, now: u64) {
        self.idling.load(load, now);
        self.waiting.load(load, now);
    }

    /// The trace ends.
    pub fn end(&mut self, now: u64) {
        self.idling.end(now);
        self.control_groups.end(now);
        self.waiting.end(now);
        self.shares.end(now);
        self.timeline.end(now);
    }
}

/// A length of time as a share of the machine's CPU time (duration times number of CPUs); 0 of none.
pub(crate) fn share(ns: u64, cpu_time: u128) -> f64 {
    match cpu_time {
        0 => 0.0,
        _ => ns as f64 / cpu_time as f64,
    }
}
