//! Traces written by hand.

// Each test binary uses a part of this.
#![allow(dead_code)]

use schedlab_measure::{Measure, Metrics};
use schedlab_trace::{
    CpuId, Event, EventKind, MarkId, Ns, Overhead, PrevState, Sink, TaskClass, TaskId, TaskInfo,
    Time, TraceInfo, WakeContext,
};

/// What a script's events are about.
pub struct Script {
    pub info: TraceInfo,
    /// Name and group of each task; the index is the id.
    pub tasks: Vec<(String, String)>,
}

/// A simulated machine with tasks of these names; "vi-2" is in group "vi".
pub fn simulated(nr_cpus: u32, names: &[&str]) -> Script {
    let info = TraceInfo {
        nr_cpus,
        has_costs: true,
        ..TraceInfo::default()
    };
    let group = |name: &str| name.split('-').next().unwrap().to_string();
    Script {
        info,
        tasks: names.iter().map(|n| (n.to_string(), group(n))).collect(),
    }
}

/// The same as a recording of a kernel, without costs.
pub fn recorded(nr_cpus: u32, names: &[&str]) -> Script {
    let mut script = simulated(nr_cpus, names);
    script.info.has_costs = false;
    script
}

impl Script {
    /// Measures the events; all tasks are announced first.
    pub fn measure(&self, events: &[Event], end_ns: u64) -> Metrics {
        let mut measure = Measure::new();
        measure.begin(&self.info);
        for (index, (name, group)) in self.tasks.iter().enumerate() {
            measure.task(&task_info(index as u32, name, group));
        }
        events.iter().for_each(|event| measure.event(event));
        measure.end(Time(end_ns));
        measure.finish()
    }

    /// The same, and the trace must be without contradictions.
    pub fn measure_valid(&self, events: &[Event], end_ns: u64) -> Metrics {
        let metrics = self.measure(events, end_ns);
        assert_eq!(metrics.accounting_error, None);
        metrics
    }
}

pub fn task_info(id: u32, name: &str, group: &str) -> TaskInfo {
    TaskInfo {
        id: TaskId(id),
        name: name.into(),
        group: group.into(),
        control_group: None,
        process: id,
        pid: None,
        nice: 0,
        class: TaskClass::Normal,
        rt_priority: 0,
    }
}

pub fn event(time: u64, cpu: u32, kind: EventKind) -> Event {
    Event {
        time: Time(time),
        cpu: CpuId(cpu),
        kind,
    }
}

/// A task that is there from the start.
pub fn exists(task: u32) -> Event {
    event(
        0,
        0,
        EventKind::Fork {
            child: TaskId(task),
            parent: None,
        },
    )
}

pub fn fork(time: u64, cpu: u32, parent: u32, child: u32) -> Event {
    let (child, parent) = (TaskId(child), Some(TaskId(parent)));
    event(time, cpu, EventKind::Fork { child, parent })
}

pub fn waking(time: u64, cpu: u32, task: u32) -> Event {
    event(
        time,
        cpu,
        EventKind::Waking {
            task: TaskId(task),
            by: WakeContext::Irq,
        },
    )
}

/// The task is put on the queue of the CPU.
pub fn wakeup(time: u64, cpu: u32, task: u32) -> Event {
    event(
        time,
        cpu,
        EventKind::Wakeup {
            task: TaskId(task),
            target: CpuId(cpu),
        },
    )
}

fn switch(
    time: u64,
    cpu: u32,
    prev: Option<u32>,
    prev_state: PrevState,
    next: Option<u32>,
) -> Event {
    let (prev, next) = (prev.map(TaskId), next.map(TaskId));
    event(
        time,
        cpu,
        EventKind::Switch {
            prev,
            prev_state,
            next,
        },
    )
}

/// An idle CPU begins to run a task.
pub fn start(time: u64, cpu: u32, next: u32) -> Event {
    switch(time, cpu, None, PrevState::Idle, Some(next))
}

/// A CPU stops running a task and idles.
pub fn stop(time: u64, cpu: u32, prev: u32, why: PrevState) -> Event {
    switch(time, cpu, Some(prev), why, None)
}

/// A CPU goes from task to task.
pub fn swap(time: u64, cpu: u32, prev: u32, why: PrevState, next: u32) -> Event {
    switch(time, cpu, Some(prev), why, Some(next))
}

pub fn overhead(time: u64, cpu: u32, kind: Overhead, ns: u64) -> Event {
    event(time, cpu, EventKind::Overhead { kind, ns: Ns(ns) })
}

pub fn migrate(time: u64, task: u32, from: u32, to: u32) -> Event {
    let (task, from, to) = (TaskId(task), CpuId(from), CpuId(to));
    event(time, to.0, EventKind::Migrate { task, from, to })
}

pub fn yielding(time: u64, cpu: u32, task: u32) -> Event {
    event(time, cpu, EventKind::Yield { task: TaskId(task) })
}

pub fn exit(time: u64, cpu: u32, task: u32) -> Event {
    event(time, cpu, EventKind::Exit { task: TaskId(task) })
}

pub fn mark(time: u64, task: u32, mark: u32, count: u32) -> Event {
    event(
        time,
        0,
        EventKind::Mark {
            task: TaskId(task),
            mark: MarkId(mark),
            count,
        },
    )
}

pub fn latency(time: u64, task: u32, mark: u32, ns: u64) -> Event {
    event(
        time,
        0,
        EventKind::Latency {
            task: TaskId(task),
            mark: MarkId(mark),
            ns: Ns(ns),
        },
    )
}
