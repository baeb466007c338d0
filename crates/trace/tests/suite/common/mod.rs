//! Traces to encode: a small one that can be checked by hand, and a long random one.

mod random;

use schedlab_trace::{
    CpuId, Event, EventKind, MarkId, Ns, PrevState, Sink, TaskClass, TaskId, TaskInfo, Time,
    TraceInfo, WakeContext,
};

#[allow(unused_imports)] // Not every test needs both.
pub use random::{random_trace, random_trace_without_ties};

/// A trace as a value.
pub struct Trace {
    pub info: TraceInfo,
    pub records: Vec<Record>,
    pub end: Time,
}

/// What a sink is told between begin and end.
pub enum Record {
    Task(TaskInfo),
    Event(Event),
}

impl Trace {
    pub fn new(nr_cpus: u32) -> Trace {
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
        let info = TraceInfo {
            nr_cpus,
            policy: "o1".into(),
            workload: "hand-made".into(),
            machine: "ideal".into(),
            counters: names(&["recalculations", "array switches"]),
            marks: names(&["message", "frame"]),
            release: None,
            has_costs: true,
            nice_is_weighted: false,
            is_flat: false,
            knows_future: false,
        };
        Trace {
            info,
            records: Vec::new(),
            end: Time::ZERO,
        }
    }

    pub fn task(&mut self, id: u32, name: &str, process: u32, nice: i8, rt_priority: u8) {
        let class = if rt_priority > 0 {
            TaskClass::Fifo
        } else {
            TaskClass::Normal
        };
        self.records.push(Record::Task(TaskInfo {
            id: TaskId(id),
            name: name.into(),
            group: name.into(),
            control_group: None,
            process,
            pid: None,
            nice,
            class,
            rt_priority,
        }));
    }

    pub fn event(&mut self, time: u64, cpu: u32, kind: EventKind) {
        self.end = Time(time);
        self.records.push(Record::Event(Event {
            time: Time(time),
            cpu: CpuId(cpu),
            kind,
        }));
    }

    pub fn play(&self, sink: &mut impl Sink) {
        sink.begin(&self.info);
        for record in &self.records {
            match record {
                Record::Task(info) => sink.task(info),
                Record::Event(event) => sink.event(event),
            }
        }
        sink.end(self.end);
    }

    /// Only the events.
    #[allow(dead_code)] // Not every test needs them.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.records.iter().filter_map(|record| match record {
            Record::Event(event) => Some(event),
            Record::Task(_) => None,
        })
    }
}

/// Three tasks on two CPUs: an editor (pid 1), a compiler (pid 2) and the compiler's real-time
/// thread (pid 3), with both kinds of wakeup, the three kinds of migration, and an exit.
pub fn small_trace() -> Trace {
    let mut t = Trace::new(2);
    let (editor, compiler, helper) = (TaskId(0), TaskId(1), TaskId(2));
    t.task(0, "editor", 10, 0, 0);
    t.event(
        0,
        0,
        EventKind::Fork {
            child: editor,
            parent: None,
        },
    );
    t.event(
        0,
        0,
        EventKind::Wakeup {
            task: editor,
            target: CpuId(0),
        },
    );
    t.task(1, "cc 1=x", 20, 5, 0);
    t.event(
        0,
        0,
        EventKind::Fork {
            child: compiler,
            parent: None,
        },
    );
    t.event(
        0,
        0,
        EventKind::Wakeup {
            task: compiler,
            target: CpuId(0),
        },
    );
    t.event(1_000, 0, switch(None, PrevState::Idle, Some(editor)));
    // Balancing takes the waiting compiler to CPU 1.
    t.event(
        1_500,
        1,
        EventKind::Migrate {
            task: compiler,
            from: CpuId(0),
            to: CpuId(1),
        },
    );
    t.event(2_000, 1, switch(None, PrevState::Idle, Some(compiler)));
    t.task(2, "helper", 20, 0, 10);
    t.event(
        3_000,
        1,
        EventKind::Fork {
            child: helper,
            parent: Some(compiler),
        },
    );
    t.event(
        3_000,
        1,
        EventKind::Wakeup {
            task: helper,
            target: CpuId(1),
        },
    );
    t.event(
        3_000,
        1,
        switch(Some(compiler), PrevState::Preempted, Some(helper)),
    );
    t.event(4_000, 0, switch(Some(editor), PrevState::Sleeping, None));
    // The helper wakes the editor on CPU 1 and blocks in the same nanosecond.
    t.event(
        4_500,
        1,
        EventKind::Waking {
            task: editor,
            by: WakeContext::Task,
        },
    );
    t.event(
        4_500,
        1,
        EventKind::Wakeup {
            task: editor,
            target: CpuId(1),
        },
    );
    t.event(
        4_500,
        1,
        switch(Some(helper), PrevState::DiskSleep, Some(editor)),
    );
    // A disk interrupt on CPU 0 wakes the helper there.
    t.event(
        5_000,
        0,
        EventKind::Waking {
            task: helper,
            by: WakeContext::Irq,
        },
    );
    t.event(
        5_000,
        0,
        EventKind::Wakeup {
            task: helper,
            target: CpuId(0),
        },
    );
    t.event(5_200, 0, switch(None, PrevState::Idle, Some(helper)));
    t.event(
        5_300,
        1,
        EventKind::Priority {
            task: editor,
            priority: -3,
        },
    );
    t.event(
        5_300,
        1,
        EventKind::Mark {
            task: editor,
            mark: MarkId(0),
            count: 2,
        },
    );
    t.event(
        5_400,
        1,
        EventKind::Mark {
            task: editor,
            mark: MarkId(0),
            count: 1,
        },
    );
    t.event(
        5_400,
        1,
        EventKind::Latency {
            task: editor,
            mark: MarkId(1),
            ns: Ns(700),
        },
    );
    t.event(5_400, 1, EventKind::Count { counter: 1, by: 4 });
    t.event(6_000, 0, EventKind::Exit { task: helper });
    t.event(6_000, 0, switch(Some(helper), PrevState::Exited, None));
    t.event(
        6_100,
        1,
        EventKind::Nice {
            task: compiler,
            nice: 7,
        },
    );
    t.event(7_000, 1, EventKind::Yield { task: editor });
    t.event(
        7_000,
        1,
        switch(Some(editor), PrevState::Yielded, Some(compiler)),
    );
    // The picker of CPU 0 takes the editor from CPU 1's queue without a balancing step.
    t.event(7_500, 0, switch(None, PrevState::Idle, Some(editor)));
    t.end = Time(8_000);
    t
}

pub fn switch(prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) -> EventKind {
    EventKind::Switch {
        prev,
        prev_state,
        next,
    }
}
