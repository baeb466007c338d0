//! Played recordings: the guarantees of a trace hold, whatever events a recording lacks.

use schedlab_measure::{Measure, Metrics};
use schedlab_recording::{
    Carries, KernelEvent, KernelEventKind, KernelState, KnownTask, Mended, Partial, Pid, Raw,
    Recording, TaskRef,
};
use schedlab_trace::{
    CpuId, Event, EventKind, PrevState, Sink, TaskClass, TaskId, TaskInfo, Time, TraceInfo,
    WakeContext,
};

/// Builds recordings. Tasks are named after their thread ids.
struct Script {
    recording: Recording,
    cpu: u32,
}

const BOTH: Carries = Carries {
    waking: true,
    wakeup: true,
};

impl Script {
    fn new(carries: Carries) -> Script {
        Script {
            recording: Recording::new(carries, 1),
            cpu: 0,
        }
    }

    fn on(&mut self, cpu: u32) -> &mut Script {
        self.cpu = cpu;
        self
    }

    fn task(&mut self, pid: u32) -> TaskRef {
        let comm = self.recording.comm(&format!("t{pid}"));
        TaskRef {
            pid: Pid(pid),
            comm,
            prio: Some(120),
        }
    }

    fn push(&mut self, time: u64, kind: KernelEventKind) -> &mut Script {
        let cpu = CpuId(self.cpu);
        let time = Time(time);
        self.recording.push(KernelEvent { time, cpu, kind });
        self
    }

    fn switch(&mut self, time: u64, prev: u32, state: &str, next: u32) -> &mut Script {
        let kind = KernelEventKind::Switch {
            prev: self.task(prev),
            prev_state: KernelState::of_letters(state),
            next: self.task(next),
        };
        self.push(time, kind)
    }

    fn waking(&mut self, time: u64, pid: u32) -> &mut Script {
        self.waking_for(time, pid, 0)
    }

    /// A waking of a task that is to be queued on this CPU.
    fn waking_for(&mut self, time: u64, pid: u32, target: u32) -> &mut Script {
        let kind = KernelEventKind::Waking {
            task: self.task(pid),
            by: WakeContext::Irq,
            target: CpuId(target),
        };
        self.push(time, kind)
    }

    fn wakeup(&mut self, time: u64, pid: u32) -> &mut Script {
        let kind = KernelEventKind::Wakeup {
            task: self.task(pid),
            by: WakeContext::Irq,
            target: CpuId(0),
        };
        self.push(time, kind)
    }

    /// A wakeup by a softirq.
    fn softirq(&mut self, time: u64, pid: u32) -> &mut Script {
        let (task, by, target) = (self.task(pid), WakeContext::SoftIrq, CpuId(self.cpu));
        self.push(time, KernelEventKind::Waking { task, by, target });
        self.push(time, KernelEventKind::Wakeup { task, by, target })
    }

    /// The kernel accounts CPU time.
    fn ran(&mut self, time: u64, pid: u32, ns: u64) -> &mut Script {
        let task = self.task(pid);
        self.push(time, KernelEventKind::Runtime { task, ns })
    }

    fn fork(&mut self, time: u64, parent: u32, child: u32) -> &mut Script {
        let child_comm = self.recording.comm(&format!("t{parent}"));
        let (parent, child) = (Pid(parent), Pid(child));
        self.push(
            time,
            KernelEventKind::Fork {
                parent,
                child,
                child_comm,
            },
        )
    }

    fn exit(&mut self, time: u64, pid: u32) -> &mut Script {
        let task = self.task(pid);
        self.push(time, KernelEventKind::Exit { task })
    }

    fn play(&mut self, start: u64, end: u64) -> Played {
        self.recording.finish(Some((Time(start), Time(end))));
        let mut played = Played::default();
        played.mended = self.recording.play(&TraceInfo::default(), &mut played);
        let mut measure = Measure::new();
        self.recording.play(&TraceInfo::default(), &mut measure);
        played.metrics = measure.finish();
        let error = &played.metrics.accounting_error;
        assert_eq!(*error, None, "the trace contradicts itself");
        played
    }
}

#[derive(Default)]
struct Played {
    tasks: Vec<TaskInfo>,
    events: Vec<Event>,
    mended: Mended,
    metrics: Metrics,
}

impl Sink for Played {
    fn task(&mut self, info: &TaskInfo) {
        self.tasks.push(info.clone());
    }
    fn event(&mut self, event: &Event) {
        self.events.push(*event);
    }
}

impl Played {
    fn task(&self, name: &str) -> &TaskInfo {
        let named = self.tasks.iter().find(|task| task.name == name);
        named.unwrap_or_else(|| panic!("no {name} in {:?}", self.tasks))
    }

    fn run_ns(&self, name: &str) -> u64 {
        let id = self.task(name).id;
        let task = self.metrics.tasks.iter().find(|task| task.id == id);
        task.unwrap().activity.run_ns.0
    }

    fn pid(&self, task: TaskId) -> u32 {
        let info = self.tasks.iter().find(|info| info.id == task);
        info.and_then(|info| info.pid).unwrap()
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.events.iter().map(|event| event.kind).collect()
    }
}

/// Task 1 ran from the start (0) to 100, slept, was woken at 150, queued at 151, ran 160 to 300.
#[test]
fn a_whole_recording_needs_no_mending() {
    let mut script = Script::new(BOTH);
    let played = script
        .switch(1100, 1, "S", 0)
        .waking(1150, 1)
        .wakeup(1151, 1)
        .switch(1160, 0, "R", 1)
        .switch(1300, 1, "R", 0)
        .play(1000, 1400);
    assert_eq!(played.mended, Mended::default());
    assert_eq!(played.run_ns("t1"), 100 + 140);
    let latency = played.metrics.total.wakeup_latency_ns.as_ref().unwrap();
    assert_eq!(latency.max.0, 10);
    assert_eq!(played.metrics.duration_ns.0, 400);
    assert_eq!(played.events[0].time, Time::ZERO);
    let task = Some(TaskId(0));
    let first = EventKind::Switch {
        prev: None,
        prev_state: PrevState::Idle,
        next: task,
    };
    assert_eq!(played.kinds()[1], first);
}

/// Recordings of `perf sched record` have no wakeups, others no wakings: both give latencies.
#[test]
fn either_half_of_a_waking_will_do() {
    for (waking, wakeup) in [(true, false), (false, true)] {
        let mut script = Script::new(Carries { waking, wakeup });
        script.switch(100, 1, "S", 0);
        match waking {
            true => script.waking(150, 1),
            false => script.wakeup(150, 1),
        };
        let played = script.switch(160, 0, "R", 1).play(0, 200);
        assert_eq!(played.mended, Mended::default(), "{waking} {wakeup}");
        let latency = played.metrics.total.wakeup_latency_ns.as_ref().unwrap();
        assert_eq!((latency.count, latency.max.0), (1, 10), "{waking} {wakeup}");
    }
}

/// Without wakeups a task is queued on the CPU of its waking: here CPU 3, which has no other event.
/// (Found by a fuzzer: fuzz/found/perfetto-wakeup-on-unknown-cpu.pftrace.)
#[test]
fn a_waking_names_a_cpu_too() {
    for wakeup in [false, true] {
        let mut script = Script::new(Carries {
            waking: true,
            wakeup,
        });
        script.switch(100, 1, "S", 0).waking_for(150, 1, 3);
        let played = script.switch(160, 0, "R", 1).play(0, 200);
        assert_eq!(script.recording.nr_cpus(), 4, "{wakeup}");
        assert_eq!(played.metrics.nr_cpus, 4, "{wakeup}");
    }
}

/// A waker may be faster than the sleeping task: woken at 95, asleep at 100, queued at 105.
#[test]
fn wanted_before_it_slept() {
    let mut script = Script::new(BOTH);
    let played = script
        .waking(95, 1)
        .switch(100, 1, "S", 0)
        .wakeup(105, 1)
        .switch(110, 0, "R", 1)
        .play(0, 200);
    assert_eq!(played.mended, Mended::default());
    let latency = played.metrics.total.wakeup_latency_ns.as_ref().unwrap();
    assert_eq!(latency.max.0, 15);
}

/// A shell (1) forks 2, which becomes a compiler and dies; then its thread id is reused.
#[test]
fn a_used_thread_id_is_a_new_task_and_the_last_name_counts() {
    let mut script = Script::new(BOTH);
    script.fork(10, 1, 2).wakeup(11, 2).switch(20, 1, "S", 2);
    let compiler = script.recording.comm("cc1");
    let pid = Pid(2);
    script.push(25, KernelEventKind::Exec { pid });
    script.push(
        26,
        KernelEventKind::Rename {
            pid,
            comm: compiler,
        },
    );
    let (dying, idle) = (
        TaskRef {
            pid,
            comm: compiler,
            prio: Some(120),
        },
        script.task(0),
    );
    script.push(30, KernelEventKind::Exit { task: dying });
    script.push(
        40,
        KernelEventKind::Switch {
            prev: dying,
            prev_state: KernelState::Dead,
            next: idle,
        },
    );
    script.waking(50, 1).wakeup(50, 1).switch(51, 0, "R", 1);
    script.fork(60, 1, 2).wakeup(61, 2).switch(70, 1, "S", 2);
    let played = script.play(0, 100);
    assert_eq!(played.mended, Mended::default());
    assert_eq!(played.run_ns("cc1"), 40 - 20);
    // The second task only ran, under the last name.
    assert_eq!(played.run_ns("t2"), 100 - 70);
    let ids: Vec<u32> = played.tasks.iter().map(|task| task.pid.unwrap()).collect();
    assert_eq!(ids, [1, 2, 2]);
}

/// The switch from 1 to 2 and the wakeup of 2 were lost; at 300 a switch shows that 2 ran.
#[test]
fn lost_events_are_mended_and_counted() {
    let mut script = Script::new(BOTH);
    let played = script
        .switch(100, 0, "R", 1)
        .switch(150, 2, "S", 0)
        .switch(200, 0, "R", 2)
        .switch(300, 2, "S", 0)
        .play(0, 400);
    // The switch 1 -> 2 at 150 and the wakeup of 2 at 200 were not recorded.
    assert_eq!((played.mended.switches, played.mended.wakeups), (1, 1));
    assert_eq!(played.run_ns("t1"), 50);
    assert_eq!(played.run_ns("t2"), 100);
}

/// The switch from the idle task to 1 at 160 was lost.  It was queued at 151 on an idle CPU.
#[test]
fn who_is_queued_on_an_idle_cpu_runs() {
    let mut script = Script::new(BOTH);
    let played = script
        .switch(100, 1, "S", 0)
        .waking(150, 1)
        .wakeup(151, 1)
        .switch(300, 1, "S", 0)
        .play(0, 400);
    assert_eq!((played.mended.switches, played.mended.wakeups), (1, 0));
    assert_eq!(played.run_ns("t1"), 100 + 149);
    assert_eq!(script.recording.events().len(), 4, "as recorded");
}

/// Without flags a sleep in state D ends by an interrupt, except if the sleeper's child wakes it.
#[test]
fn devices_answer_with_interrupts() {
    for (has_contexts, sleeper, state, woken_by) in [
        (false, 2, "D", WakeContext::Irq),
        (false, 2, "S", WakeContext::Task),
        (false, 3, "D", WakeContext::Task),
        (true, 2, "D", WakeContext::Task),
    ] {
        let mut script = Script::new(BOTH);
        script.recording.has_contexts = has_contexts;
        let kind = KernelEventKind::Waking {
            task: script.task(sleeper),
            by: WakeContext::Task,
            target: CpuId(0),
        };
        let played = script
            .fork(50, 3, 1)
            .switch(100, sleeper, state, 1)
            .push(150, kind)
            .wakeup(151, sleeper)
            .switch(300, 1, "R", sleeper)
            .play(0, 400);
        let wakings = played.events.iter().filter_map(|event| match event.kind {
            EventKind::Waking { by, .. } => Some(by),
            _ => None,
        });
        let case = format!("{sleeper} {state}, known: {has_contexts}");
        assert_eq!(wakings.collect::<Vec<_>>(), [woken_by], "{case}");
    }
}

/// 1 left CPU 0 without an event; CPU 1 shows that 1 runs there.
#[test]
fn nobody_runs_twice() {
    let mut script = Script::new(BOTH);
    script.recording.push(KernelEvent {
        time: Time(0),
        cpu: CpuId(1),
        kind: KernelEventKind::Yield { pid: Pid(0) },
    });
    let played = script
        .switch(100_000, 0, "R", 1)
        .on(1)
        .switch(200_000, 0, "R", 1)
        .switch(260_000, 1, "S", 0)
        .on(0)
        .switch(300_000, 1, "S", 0)
        .play(0, 400_000);
    // 1 leaves CPU 0 at 200 µs; at 300 µs it returns there, because a switch away from it follows.
    assert_eq!(played.mended.switches, 2);
    assert_eq!(played.run_ns("t1"), 100_000 + 60_000);
}

/// CPU 1's clock is 50 ns behind: task 1 seems to run there at 190, before it left CPU 0 at 200
/// and before it was woken (on CPU 0, at 230).
#[test]
fn clocks_may_differ_a_little() {
    let mut script = Script::new(BOTH);
    script.switch(100, 0, "R", 1);
    script.switch(200, 1, "R", 0);
    let played = script
        .on(1)
        .switch(50, 9, "S", 0)
        .switch(190, 0, "R", 1)
        .switch(210, 1, "S", 0)
        .on(0)
        .waking(230, 1)
        .wakeup(231, 1)
        .on(1)
        .switch(225, 0, "R", 1)
        .switch(300, 1, "S", 0)
        .play(0, 400);
    assert_eq!(script.recording.nr_straightened(), 2);
    assert_eq!(played.mended, Mended::default());
    // It then left CPU 0 at 190; the rest is as CPU 1 recorded it.
    assert_eq!(played.run_ns("t1"), 90 + 20 + 75);
}

/// R and R+ both are preemption; R after a yield is yielding.
#[test]
fn why_tasks_stop() {
    let mut script = Script::new(BOTH);
    script.switch(10, 1, "R", 2).switch(20, 2, "R+", 1);
    script.push(30, KernelEventKind::Yield { pid: Pid(1) });
    let played = script
        .switch(31, 1, "R", 2)
        .switch(40, 2, "D", 1)
        .play(0, 50);
    let states: Vec<PrevState> = played
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Switch {
                prev: Some(_),
                prev_state,
                ..
            } => Some(prev_state),
            _ => None,
        })
        .collect();
    let expected = [
        PrevState::Preempted,
        PrevState::Preempted,
        PrevState::Yielded,
        PrevState::DiskSleep,
    ];
    assert_eq!(states, expected);
    assert_eq!(played.mended, Mended::default());
}

/// Priority 120 is nice 0, 125 is nice 5, 49 is real-time priority 50; and back.
#[test]
fn priorities_become_nice_and_class() {
    let mut script = Script::new(BOTH);
    for (time, prio) in [(10, 120), (20, 125), (30, 49), (40, 120)] {
        let mut task = script.task(1);
        task.prio = Some(prio);
        let target = CpuId(0);
        let by = WakeContext::Task;
        script.push(time, KernelEventKind::Waking { task, by, target });
    }
    let played = script.play(0, 50);
    let changes: Vec<EventKind> = played
        .kinds()
        .into_iter()
        .filter(|kind| matches!(kind, EventKind::Nice { .. } | EventKind::Class { .. }))
        .collect();
    let task = TaskId(0);
    let class = |class, rt_priority| EventKind::Class {
        task,
        class,
        rt_priority,
    };
    assert_eq!(
        changes,
        [
            EventKind::Nice { task, nice: 5 },
            class(TaskClass::Fifo, 50),
            class(TaskClass::Normal, 0),
            EventKind::Nice { task, nice: 0 },
        ]
    );
}

/// A task that exits while it runs dies at the switch, also if it ran from the start.
#[test]
fn a_task_that_dies_first_thing() {
    let mut script = Script::new(BOTH);
    let played = script.exit(5, 1).switch(10, 1, "Z", 0).play(0, 20);
    assert_eq!(played.mended, Mended::default());
    assert_eq!(played.run_ns("t1"), 10);
}

/// The scheduler's counters have their names in the trace.
#[test]
fn counters_are_told_at_the_end() {
    let mut script = Script::new(BOTH);
    script.recording.counters = vec![("examined".into(), 7), ("passes".into(), 0)];
    let played = script.switch(10, 1, "S", 0).play(0, 30);
    assert_eq!(played.metrics.counters["examined"], 7);
    assert_eq!(played.events.last().unwrap().time, Time(30));
}

/// Known tasks have attributes that events lack: batch class, kernel, process, observer.
#[test]
fn known_tasks_and_groups() {
    let mut script = Script::new(BOTH);
    let known = |pid: u32, tgid: u32, kernel: bool, observer: bool| KnownTask {
        files: Vec::new(),
        pid,
        tgid,
        comm: String::new(),
        kernel,
        observer,
        nice: 0,
        class: TaskClass::Batch,
        rt_priority: 0,
    };
    script.recording.tasks = vec![
        known(2, 2, true, false),
        known(7, 6, false, false),
        known(9, 9, false, true),
    ];
    script.switch(10, 7, "S", 9).fork(11, 2, 20).wakeup(12, 20);
    let worker = script.recording.comm("pool-1-thread-3");
    script.push(
        13,
        KernelEventKind::Rename {
            pid: Pid(7),
            comm: worker,
        },
    );
    let played = script.switch(20, 9, "S", 20).play(0, 30);
    let task = played.task("pool-1-thread-3");
    assert_eq!((task.process, task.class), (6, TaskClass::Batch));
    assert_eq!(task.group, "pool-1-thread");
    assert_eq!(played.task("t9").group, "[schedlab]");
    assert_eq!(played.task("t20").group, "[kernel]");
}

/// Every sequence of events gives a consistent trace (checked by `play`).
#[test]
fn nonsense_is_mended_too() {
    let mut random = 12345u64;
    let mut next = move |below: u64| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    for trial in 0..300 {
        let (waking, wakeup) = (trial % 3 != 0, trial % 3 != 1);
        let mut script = Script::new(Carries { waking, wakeup });
        let mut time = 0;
        for _ in 0..120 {
            time += next(3);
            let (a, b) = (next(6) as u32, next(6) as u32);
            script.on(next(3) as u32);
            match next(8) {
                0 => script.fork(time, a, b),
                1 => script.exit(time, a.max(1)),
                2 if waking => script.waking(time, a.max(1)),
                3 if wakeup => script.wakeup(time, a.max(1)),
                4 => script.push(time, KernelEventKind::Yield { pid: Pid(a) }),
                5 => {
                    let comm = script.recording.comm("new");
                    let thread = b % 2 == 0;
                    script.push(
                        time,
                        KernelEventKind::NewTask {
                            pid: Pid(a.max(1)),
                            comm,
                            thread,
                        },
                    )
                }
                6 => {
                    let task = script.task(a.max(1));
                    let (from, to) = (CpuId(b % 3), CpuId(a % 3));
                    script.push(time, KernelEventKind::Migrate { task, from, to })
                }
                _ => script.switch(time, a, ["S", "R", "R+", "D", "Z"][next(5) as usize], b),
            };
        }
        script.play(0, time + 5);
    }
}

/// A client (1) and a server (2) on a busy CPU: the server's answer arrives in a softirq at the end
/// of send(). A third task gets packets from a device, also while the CPU idles.
#[test]
fn what_is_sent_on_the_machine_itself_is_the_senders() {
    let mut script = Script::new(BOTH);
    script.switch(0, 0, "R", 2);
    for round in 0..10 {
        let at = 1000 * round;
        script.softirq(at + 100, 1);
        script.switch(at + 200, 2, "S", 1);
        script.softirq(at + 300, 2);
        script.switch(at + 400, 1, "S", 2);
        script.softirq(at + 450, 3);
        script.switch(at + 500, 2, "R", 3);
        script.switch(at + 550, 3, "S", 0);
        script.softirq(at + 600, 3);
        script.switch(at + 620, 0, "R", 3);
        script.switch(at + 650, 3, "S", 2);
    }
    let played = script.play(0, 20_000);
    let mut by_task = [0; 4];
    for kind in played.kinds() {
        if let EventKind::Waking { task, by } = kind {
            by_task[played.pid(task) as usize] += u64::from(by == WakeContext::Task);
        }
    }
    assert_eq!(by_task, [0, 10, 10, 0]);
}

/// Task 1 seems to run until 900, but at 800 the kernel accounts 500 ns to task 2: it began at 300.
#[test]
fn an_account_tells_when_a_task_began() {
    for (later, place) in [
        ("wakes", PrevState::Sleeping),
        ("runs on", PrevState::Preempted),
    ] {
        let mut script = Script::new(BOTH);
        script.switch(0, 0, "R", 1);
        script.ran(800, 2, 500);
        script.switch(900, 2, "S", 0);
        if later == "wakes" {
            script.wakeup(950, 1);
        }
        script.switch(1000, 0, "R", 1);
        script.switch(1200, 1, "S", 0);
        let played = script.play(0, 1200);
        assert_eq!(
            (played.run_ns("t1"), played.run_ns("t2")),
            (300 + 200, 600),
            "{later}"
        );
        let left = |kind: &EventKind| match kind {
            EventKind::Switch {
                prev: Some(_),
                prev_state,
                next: Some(_),
            } => Some(*prev_state),
            _ => None,
        };
        assert_eq!(played.kinds().iter().find_map(left), Some(place), "{later}");
        assert_eq!(played.mended.switches, 1);
    }
}

/// CPU 0 queues a task on CPU 1 and so updates the account of the task that runs there.
#[test]
fn an_account_may_be_of_another_cpus_task() {
    let mut script = Script::new(BOTH);
    script.switch(0, 0, "R", 1);
    script.on(1).switch(0, 0, "R", 2);
    script.on(0).ran(500, 2, 500);
    script.switch(900, 1, "S", 0);
    script.on(1).switch(900, 2, "S", 0);
    let played = script.play(0, 900);
    assert_eq!((played.run_ns("t1"), played.run_ns("t2")), (900, 900));
    assert_eq!(played.mended.switches, 0);
}

/// CPU times are compared with the kernel's accounts; without accounts, with matching switches.
#[test]
fn raw_cpu_times_are_not_mended_ones() {
    let mut script = Script::new(BOTH);
    script.switch(0, 0, "R", 1);
    // The end of 1 and the start of 2 are missing.
    script.switch(900, 2, "S", 3);
    script.switch(1000, 3, "S", 0);
    script.recording.finish(None);
    let raw = Raw::of(&script.recording);
    let run_ns = |raw: &Raw, pid| raw.run_ns.get(&Pid(pid)).copied().unwrap_or_default().0;
    assert_eq!([1, 2, 3].map(|pid| run_ns(&raw, pid)), [0, 0, 100]);
    script.ran(950, 2, 700);
    script.recording.finish(None);
    assert_eq!(run_ns(&Raw::of(&script.recording), 2), 700);
}

#[test]
fn recordings_of_a_part_of_the_machine_are_known() {
    // Only one task was recorded: no switch to it is known.
    let mut script = Script::new(BOTH);
    for at in 0..100 {
        script.switch(100 * at, 1, "S", 2);
    }
    script.recording.finish(None);
    let partial = Raw::of(&script.recording).partial();
    assert_eq!(
        partial,
        Some(Partial::Switches {
            unfounded_percent: 99
        })
    );
    // Only CPU 0 was recorded: tasks are queued on CPU 1, which has no events.
    let mut script = Script::new(BOTH);
    script.switch(0, 0, "R", 1);
    let (task, by) = (script.task(2), WakeContext::Task);
    let target = CpuId(1);
    script.push(10, KernelEventKind::Wakeup { task, by, target });
    script.recording.finish(None);
    let partial = Raw::of(&script.recording).partial();
    assert_eq!(partial, Some(Partial::Cpus(vec![CpuId(1)])));
}
