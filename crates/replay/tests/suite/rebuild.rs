//! Recordings made by hand, and the programs rebuilt from them.

use schedlab_recording::{
    Carries, KernelEvent, KernelEventKind, KernelState, Pid, Recording, TaskRef,
};
use schedlab_replay::{fit, Mode, Options, Rebuild, Replay};
use schedlab_trace::{CpuId, Ns, TaskClass, Time, TraceInfo, WakeContext};
use schedlab_workload::{Amount, Op, Process};

/// A recording under construction; times in µs.
struct Script(Recording);

impl Script {
    fn new() -> Script {
        let carries = Carries {
            waking: true,
            wakeup: true,
        };
        Script(Recording::new(carries, 2))
    }

    fn task(&mut self, pid: u32, name: &str) -> TaskRef {
        let comm = self.0.comm(name);
        TaskRef {
            pid: Pid(pid),
            comm,
            prio: Some(120),
        }
    }

    fn push(&mut self, us: u64, cpu: u32, kind: KernelEventKind) {
        self.0.push(KernelEvent {
            time: Time(us * 1000),
            cpu: CpuId(cpu),
            kind,
        });
    }

    fn switch(&mut self, us: u64, cpu: u32, prev: TaskRef, state: &str, next: TaskRef) {
        let prev_state = KernelState::of_letters(state);
        self.push(
            us,
            cpu,
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            },
        );
    }

    fn wake(&mut self, us: u64, cpu: u32, task: TaskRef, by: WakeContext) {
        let target = CpuId(cpu);
        self.push(us, cpu, KernelEventKind::Waking { task, by, target });
        self.push(us, cpu, KernelEventKind::Wakeup { task, by, target });
    }

    fn rebuild(mut self, options: Options) -> Replay {
        self.0.finish(None);
        let mut rebuild = Rebuild::new(options);
        self.0.play(&TraceInfo::default(), &mut rebuild);
        rebuild.finish("test", "test.perf")
    }
}

fn run(us: u64) -> Op {
    Op::Run(Amount::Fixed(Ns::from_us(us)))
}

fn sleep(us: u64) -> Op {
    Op::Sleep(Amount::Fixed(Ns::from_us(us)))
}

/// The program of the task with this name, and when it starts.
fn program<'a>(replay: &'a Replay, name: &str) -> &'a [Op] {
    let spec = spec(replay, name);
    &replay.workload.programs[spec.program.0 as usize].ops
}

fn spec<'a>(replay: &'a Replay, name: &str) -> &'a schedlab_workload::TaskSpec {
    let spec = replay.workload.tasks.iter().find(|task| task.name == name);
    spec.unwrap_or_else(|| panic!("{name} is not among {:?}", replay.workload.tasks))
}

/// A client runs 0 to 100 µs and wakes the server at 60 µs; the server runs 100 to 250 µs, wakes the
/// client at 220 µs and sleeps, the client runs until 300 µs and waits for a device that an interrupt
/// says is ready at 900 µs; it runs until 1000 µs.
fn request() -> Script {
    let mut s = Script::new();
    let (idle, client, server) = (
        s.task(0, "swapper/0"),
        s.task(10, "client"),
        s.task(20, "server"),
    );
    s.switch(0, 0, idle, "R", client);
    s.wake(60, 0, server, WakeContext::Task);
    s.switch(100, 0, client, "S", server);
    s.wake(220, 0, client, WakeContext::Task);
    s.switch(250, 0, server, "S", client);
    s.switch(300, 0, client, "D", idle);
    s.wake(900, 0, client, WakeContext::Irq);
    s.switch(910, 0, idle, "R", client);
    s.switch(1000, 0, client, "Z", idle);
    s
}

#[test]
fn bursts_wakes_and_waits() {
    let replay = request().rebuild(Options::default());
    // 60 µs until the wakeup, 40 after it.  Waits since 300 for an interrupt at 900: 600 µs.
    let device = [Op::Uninterruptible, sleep(600)];
    let client = [run(60), Op::SemPost(1), run(40), Op::SemSleep(0), run(50)];
    let expected = [&client[..], &device, &[run(90), Op::Exit]].concat();
    assert_eq!(program(&replay, "client-10"), expected);
    // The recording ends: the server's next operation is unknown.
    let server = [Op::SemSleep(1), run(120), Op::SemPost(0), run(30), Op::Rest];
    assert_eq!(program(&replay, "server-20"), server);
    assert!(spec(&replay, "server-20").dormant);
    assert!(!spec(&replay, "client-10").dormant);
    assert_eq!(
        replay.counts.work_ns,
        Ns::from_us(60 + 40 + 50 + 90 + 120 + 30)
    );
    assert_eq!(replay.counts.woken_by_tasks, 1);
    assert_eq!(replay.counts.woken_from_outside, 1);
    assert_eq!(replay.span, Ns::from_us(1000));
}

/// At the end of the recording one task runs and one waits for the CPU; the third sleeps, as at the
/// end of a replay.
#[test]
fn tasks_cut_off_by_the_end_are_counted() {
    let mut s = Script::new();
    let (a, b, c) = (s.task(10, "a"), s.task(20, "b"), s.task(30, "c"));
    s.switch(100, 0, a, "S", b);
    s.switch(200, 0, b, "R", c);
    assert_eq!(s.rebuild(Options::default()).counts.cut_off, 2);
}

/// Both sleep from 100 to 500 µs. If a kernel thread comes late, its timer has already advanced.
#[test]
fn the_kernels_own_timers_do_not_wait() {
    for (name, sleeps) in [
        ("bash", sleep(400)),
        ("kdamond.0", Op::SleepUntil(Ns::from_us(500))),
    ] {
        let mut script = Script::new();
        let (task, idle) = (script.task(10, name), script.task(0, "swapper/0"));
        script.switch(0, 0, idle, "R", task);
        script.switch(100, 0, task, "S", idle);
        script.wake(500, 0, task, WakeContext::Irq);
        script.switch(510, 0, idle, "R", task);
        script.switch(600, 0, task, "S", idle);
        let replay = script.rebuild(Options::default());
        let ops = program(&replay, &format!("{name}-10"));
        assert_eq!(ops, [run(100), sleeps, run(90), Op::Rest], "{name}");
    }
}

#[test]
fn open_mode_keeps_the_times_of_the_world_outside() {
    let replay = request().rebuild(Options {
        mode: Mode::Open,
        ..Options::default()
    });
    let ops = program(&replay, "client-10");
    assert!(ops.contains(&Op::SleepUntil(Ns::from_us(900))), "{ops:?}");
}

#[test]
fn what_is_left_out_happens_from_outside() {
    let whole = request().rebuild(Options::default());
    let client = whole.find("client");
    let replay = request().rebuild(Options {
        keep: Some(client.into_iter().collect()),
        ..Options::default()
    });
    assert_eq!(replay.workload.tasks.len(), 1);
    // It waits from 100 to 220 µs; no waker is known.
    let ops = program(&replay, "client-10");
    assert_eq!(ops[..3], [run(100), sleep(120), run(50)]);
}

#[test]
fn what_begins_later_is_left_out() {
    let replay = request().rebuild(Options {
        until: Some(Time(260_000)),
        ..Options::default()
    });
    let ops = program(&replay, "client-10");
    assert_eq!(
        ops,
        [
            run(60),
            Op::SemPost(1),
            run(40),
            Op::SemSleep(0),
            run(10),
            Op::Rest
        ]
    );
    assert_eq!(replay.span, Ns::from_us(260));
}

#[test]
fn preemption_is_not_part_of_a_program() {
    let mut s = Script::new();
    let (a, b, idle) = (s.task(1, "a"), s.task(2, "b"), s.task(0, "swapper/0"));
    s.switch(0, 0, idle, "R", a);
    s.switch(10, 0, a, "R+", b);
    s.switch(30, 0, b, "R", a);
    s.switch(35, 0, a, "Z", b);
    s.switch(36, 0, b, "X", idle);
    let replay = s.rebuild(Options::default());
    assert_eq!(program(&replay, "a-1"), [run(15), Op::Exit]);
    assert_eq!(program(&replay, "b-2"), [run(21), Op::Exit]);
}

#[test]
fn forks_exits_and_the_parent_that_waits() {
    let mut s = Script::new();
    let (make, gcc, idle) = (s.task(1, "make"), s.task(2, "gcc"), s.task(0, "swapper/0"));
    s.switch(0, 0, idle, "R", make);
    s.push(
        40,
        0,
        KernelEventKind::Fork {
            parent: Pid(1),
            child: Pid(2),
            child_comm: gcc.comm,
        },
    );
    s.push(
        41,
        0,
        KernelEventKind::Wakeup {
            task: gcc,
            by: WakeContext::Task,
            target: CpuId(1),
        },
    );
    s.switch(50, 1, idle, "R", gcc);
    s.switch(60, 0, make, "S", idle);
    s.push(90, 1, KernelEventKind::Exit { task: gcc });
    s.wake(95, 1, make, WakeContext::Task);
    s.switch(99, 1, gcc, "Z", make);
    s.switch(120, 1, make, "Z", idle);
    let replay = s.rebuild(Options::default());
    let fork = Op::Fork(schedlab_workload::SpecId(1));
    let make = [
        run(40),
        fork,
        run(20),
        Op::SemSleep(0),
        Op::Reap,
        run(21),
        Op::Exit,
    ];
    assert_eq!(program(&replay, "make-1"), make);
    assert_eq!(
        program(&replay, "gcc-2"),
        [run(45), Op::SemPost(0), run(4), Op::Exit]
    );
    assert_eq!(spec(&replay, "gcc-2").count, 0);
}

#[test]
fn wakeups_of_tasks_that_do_not_sleep_change_nothing() {
    let mut s = Script::new();
    let (a, b, idle) = (s.task(1, "a"), s.task(2, "b"), s.task(0, "swapper/0"));
    s.switch(0, 0, idle, "R", a);
    s.switch(0, 1, idle, "R", b);
    s.wake(10, 0, b, WakeContext::Task);
    s.switch(30, 0, a, "Z", idle);
    s.switch(40, 1, b, "Z", idle);
    let replay = s.rebuild(Options::default());
    assert_eq!(program(&replay, "a-1"), [run(30), Op::Exit]);
    assert_eq!(program(&replay, "b-2"), [run(40), Op::Exit]);
    assert_eq!(replay.counts.spurious_wakeups, 1);
}

#[test]
fn a_wakeup_may_be_recorded_before_the_sleep_it_ends() {
    // The waker begins while the sleeping task is being switched away from.
    let mut s = Script::new();
    let (a, b, idle) = (s.task(1, "a"), s.task(2, "b"), s.task(0, "swapper/0"));
    s.switch(0, 0, idle, "R", a);
    s.switch(0, 1, idle, "R", b);
    let (by, target) = (WakeContext::Task, CpuId(1));
    s.push(
        10,
        0,
        KernelEventKind::Waking {
            task: b,
            by,
            target,
        },
    );
    s.switch(11, 1, b, "S", idle);
    s.push(
        12,
        1,
        KernelEventKind::Wakeup {
            task: b,
            by,
            target,
        },
    );
    s.switch(13, 1, idle, "R", b);
    s.switch(30, 0, a, "Z", idle);
    s.switch(40, 1, b, "Z", idle);
    let replay = s.rebuild(Options::default());
    assert_eq!(
        program(&replay, "a-1"),
        [run(10), Op::SemPost(1), run(20), Op::Exit]
    );
    assert_eq!(
        program(&replay, "b-2"),
        [run(11), Op::SemSleep(1), run(27), Op::Exit]
    );
}

#[test]
fn names_and_priorities_tell_the_kernels_threads() {
    let mut s = Script::new();
    let idle = s.task(0, "swapper/1");
    let mut migration = s.task(18, "migration/1");
    migration.prio = Some(0);
    let mut nice = s.task(30, "nice");
    nice.prio = Some(139);
    s.switch(0, 1, idle, "R", migration);
    s.switch(5, 1, migration, "S", nice);
    s.switch(10, 1, nice, "S", idle);
    let mut replay = s.rebuild(Options::default());
    let migration = spec(&replay, "migration/1-18").clone();
    assert_eq!(
        (migration.class, migration.rt_priority),
        (TaskClass::Fifo, 99)
    );
    assert_eq!(migration.process, Process::Shared(0));
    let set = migration.cpus.expect("it is bound") as usize;
    assert_eq!(replay.workload.cpu_sets[set], [1]);
    assert_eq!(spec(&replay, "nice-30").nice, 19);
    assert_eq!(spec(&replay, "nice-30").cpus, None);
    // On a machine with one CPU it is bound to this CPU.
    fit(&mut replay.workload, 1);
    assert_eq!(replay.workload.cpu_sets[set], [0]);
}

#[test]
fn yields_only_where_they_were_recorded() {
    let mut s = Script::new();
    let (a, b, idle) = (s.task(1, "a"), s.task(2, "b"), s.task(0, "swapper/0"));
    s.switch(0, 0, idle, "R", a);
    s.push(10, 0, KernelEventKind::Yield { pid: Pid(1) });
    s.switch(10, 0, a, "R", b);
    s.switch(30, 0, b, "S", a);
    s.switch(35, 0, a, "Z", idle);
    let replay = s.rebuild(Options::default());
    assert_eq!(
        program(&replay, "a-1"),
        [run(10), Op::Yield, run(5), Op::Exit]
    );
}

#[test]
fn a_thread_id_that_is_used_again_is_another_task() {
    let mut s = Script::new();
    let (a, idle) = (s.task(7, "a"), s.task(0, "swapper/0"));
    s.switch(0, 0, idle, "R", a);
    s.switch(10, 0, a, "Z", idle);
    s.switch(20, 0, idle, "R", a);
    s.switch(50, 0, a, "Z", idle);
    let replay = s.rebuild(Options::default());
    assert_eq!(program(&replay, "a-7"), [run(10), Op::Exit]);
    assert_eq!(program(&replay, "a-7#2"), [run(30), Op::Exit]);
}
