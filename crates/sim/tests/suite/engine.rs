//! The engine under the template policy: traces computed by hand.

use schedlab_machine::{Cache, Machine, Timers};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::{EndReason, Outcome, Setup, SimError};
use schedlab_trace::{
    Event, EventKind, HashSink, Ns, Overhead, PrevState, TaskClass, TaskId, Tee, Time, TraceHash,
};
use schedlab_workload::{Amount, Op, Process, Program, ProgramId, TaskSpec, Times, Workload};

fn ideal(nr_cpus: u32) -> Machine {
    Machine::ideal(nr_cpus)
}

fn spec(name: &str, count: u32, program: u32) -> TaskSpec {
    TaskSpec {
        name: name.into(),
        group: name.into(),
        count,
        program: ProgramId(program),
        nice: 0,
        class: TaskClass::Normal,
        rt_priority: 0,
        periodic: None,
        cpus: None,
        control_group: None,
        slice: None,
        clamps: None,
        process: Process::Own,
        working_set_bytes: 0,
        start: Ns::ZERO,
        dormant: false,
        background: false,
        foreground: false,
    }
}

fn run_ms(ms: u64) -> Op {
    Op::Run(Amount::Fixed(Ns::from_ms(ms)))
}

fn workload(tasks: Vec<TaskSpec>, programs: Vec<Vec<Op>>) -> Workload {
    let programs = programs.into_iter().map(|ops| Program { ops }).collect();
    Workload {
        name: "test".into(),
        tasks,
        programs,
        ..Workload::default()
    }
}

type Run = (Outcome, Vec<Event>, TraceHash);

fn simulate(machine: &Machine, workload: &Workload) -> Result<Run, SimError> {
    simulate_under(crate::common::fifo_with(&[]), machine, workload)
}

fn simulate_under(policy: Policy, machine: &Machine, workload: &Workload) -> Result<Run, SimError> {
    let tuned = Tuned::defaults(policy);
    let setup = Setup::new(machine, workload, &tuned);
    let sink = Tee(HashSink::default(), Vec::new());
    let (outcome, Tee(hash, events)) = setup.run(sink)?;
    Ok((outcome, events, hash.finish()))
}

/// (time in µs, prev, next) of every switch.
fn switches(events: &[Event]) -> Vec<(u64, Option<u32>, Option<u32>)> {
    events
        .iter()
        .filter_map(|e| match e.kind {
            EventKind::Switch { prev, next, .. } => {
                Some((e.time.0 / 1000, prev.map(|t| t.0), next.map(|t| t.0)))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn two_hogs_alternate_by_slices() {
    // Two tasks of 25 ms, slices of 10 ms: A 0-10, B 10-20, A 20-30, B 30-40, A 40-45, B 45-50.
    let w = workload(vec![spec("hog", 2, 0)], vec![vec![run_ms(25)]]);
    let (outcome, events, _) = simulate(&ideal(1), &w).unwrap();
    assert_eq!(outcome.end, Time(50_000_000));
    assert_eq!(outcome.reason, EndReason::Finished);
    let (a, b) = (Some(0), Some(1));
    let expected = [
        (0, None, a),
        (10_000, a, b),
        (20_000, b, a),
        (30_000, a, b),
        (40_000, b, a),
        (45_000, a, b),
        (50_000, b, None),
    ];
    assert_eq!(switches(&events), expected);
}

#[test]
fn a_sleeper_wakes_when_it_said() {
    let sleep = Op::Sleep(Amount::Fixed(Ns::from_ms(5)));
    let w = workload(
        vec![spec("t", 1, 0)],
        vec![vec![run_ms(1), sleep, run_ms(1)]],
    );
    let (outcome, events, _) = simulate(&ideal(1), &w).unwrap();
    assert_eq!(outcome.end, Time(7_000_000));
    let t = Some(0);
    assert_eq!(
        switches(&events),
        [
            (0, None, t),
            (1_000, t, None),
            (6_000, None, t),
            (7_000, t, None)
        ]
    );
}

#[test]
fn jiffies_round_a_sleep_up_and_add_one() {
    // Tick 1 ms.  At 1.5 ms it asks for 5 ms: the tick in progress (to 2 ms), then 5 more: 7 ms.
    let mut machine = ideal(1);
    machine.timers = Timers::Tick;
    let run = Op::Run(Amount::Fixed(Ns::from_us(1500)));
    let sleep = Op::Sleep(Amount::Fixed(Ns::from_ms(5)));
    let w = workload(vec![spec("t", 1, 0)], vec![vec![run, sleep, run_ms(1)]]);
    let (outcome, _, _) = simulate(&machine, &w).unwrap();
    assert_eq!(outcome.end, Time(8_000_000));
}

#[test]
fn costs_delay_and_are_booked() {
    // schedule() 2 µs and a switch 3 µs, twice (in and out): the work of 1 ms ends at 1.005 ms;
    // the switch to idle costs schedule() only.
    let mut machine = ideal(1);
    machine.costs.schedule = Ns::from_us(2);
    machine.costs.context_switch = Ns::from_us(3);
    let w = workload(vec![spec("t", 1, 0)], vec![vec![run_ms(1)]]);
    let (outcome, _, _) = simulate(&machine, &w).unwrap();
    assert_eq!(outcome.end, Time(1_005_000));
}

#[test]
fn a_contended_lock_makes_cpus_wait_their_turn() {
    // One lock for all: four CPUs are told to schedule() at the same moment, 2 µs each, so they
    // wait 0, 2, 4 and 6 µs, and the last task's millisecond ends at 8 µs + 1 ms.
    let mut machine = ideal(4);
    machine.costs.schedule = Ns::from_us(2);
    let w = workload(vec![spec("t", 4, 0)], vec![vec![run_ms(1)]]);
    let global = [(".lock = LOCK_PER_CPU", ".lock = LOCK_GLOBAL")];
    let (outcome, events, _) =
        simulate_under(crate::common::fifo_with(&global), &machine, &w).unwrap();
    let spun: Vec<u64> = events
        .iter()
        .filter_map(|e| match e.kind {
            EventKind::Overhead {
                kind: Overhead::Lock,
                ns,
            } if e.time < Time(100_000) => Some(ns.0),
            _ => None,
        })
        .collect();
    assert_eq!(spun, [2_000, 4_000, 6_000]);
    assert_eq!(outcome.end, Time(1_008_000));

    // A lock for each CPU: nothing to wait for.
    let (outcome, events, _) = simulate(&machine, &w).unwrap();
    assert_eq!(outcome.end, Time(1_002_000));
    let spins = |e: &Event| {
        matches!(
            e.kind,
            EventKind::Overhead {
                kind: Overhead::Lock,
                ..
            }
        )
    };
    assert!(!events.iter().any(spins));
}

#[test]
fn smt_siblings_share_their_core() {
    // Two tasks of 6 ms on two siblings at 600/1000: both run at 0.6, so 10 ms.
    let mut machine = ideal(2);
    machine.cpus[1].core = 0;
    machine.smt_speed_milli = 600;
    let w = workload(vec![spec("t", 2, 0)], vec![vec![run_ms(6)]]);
    let (outcome, _, _) = simulate(&machine, &w).unwrap();
    // 6 ms * 1024 / (1024 * 600 / 1000 = 614) rounded up.
    assert_eq!(outcome.end, Time((6_000_000u64 * 1024).div_ceil(614)));
}

#[test]
fn a_cold_cache_stalls_once() {
    // 100 KB at 10 ns a byte: 1 ms of stall, once, and none after a sleep alone.
    let mut machine = ideal(1);
    machine.caches = vec![Cache {
        size_bytes: 1 << 20,
        refill_ps_per_byte: 10_000,
    }];
    let sleep = Op::Sleep(Amount::Fixed(Ns::from_ms(5)));
    let mut t = spec("t", 1, 0);
    t.working_set_bytes = 100_000;
    let w = workload(vec![t], vec![vec![run_ms(3), sleep, run_ms(3)]]);
    let (outcome, _, _) = simulate(&machine, &w).unwrap();
    assert_eq!(outcome.end, Time(12_000_000));
}

#[test]
fn fork_wait_and_exit() {
    let mut child = spec("child", 0, 1);
    child.process = Process::Own;
    let fork = Op::Fork(schedlab_workload::SpecId(0));
    // Sorted by name: child is specification 0, parent 1.
    let programs = vec![vec![fork, fork, Op::WaitAll, run_ms(1)], vec![run_ms(2)]];
    let w = workload(vec![child, spec("parent", 1, 0)], programs);
    let (outcome, events, _) = simulate(&ideal(1), &w).unwrap();
    assert_eq!(outcome.tasks, 3);
    assert_eq!(outcome.end, Time(5_000_000));
    let reaped: Vec<_> = events
        .iter()
        .filter_map(|e| match e.kind {
            EventKind::Reap { task, reaper } => Some((task.0, reaper)),
            _ => None,
        })
        .collect();
    assert_eq!(
        reaped,
        [(1, Some(TaskId(0))), (2, Some(TaskId(0))), (0, None)]
    );
}

#[test]
fn yield_gives_the_other_its_turn() {
    let program = vec![
        Op::Loop {
            times: Times::Fixed(2),
            end: 3,
        },
        run_ms(1),
        Op::Yield,
        Op::EndLoop { start: 0 },
    ];
    let w = workload(vec![spec("t", 2, 0)], vec![program]);
    let (_, events, _) = simulate(&ideal(1), &w).unwrap();
    let yields = events
        .iter()
        .filter(|e| {
            matches!(
                e.kind,
                EventKind::Switch {
                    prev_state: PrevState::Yielded,
                    ..
                }
            )
        })
        .count();
    // A yields to B, B to A, A to B, B to A; A and B then exit.
    assert_eq!(yields, 4);
}

#[test]
fn a_loop_that_takes_no_time_is_an_error() {
    let program = vec![
        Op::Loop {
            times: Times::Forever,
            end: 2,
        },
        Op::StartClock,
        Op::EndLoop { start: 0 },
    ];
    let w = workload(vec![spec("spinner", 1, 0)], vec![program]);
    let error = simulate(&ideal(1), &w).unwrap_err();
    assert!(matches!(error, SimError::Stalled { .. }), "{error}");
    assert!(error.to_string().contains("spinner"));
}

#[test]
fn waiting_for_nothing_is_a_deadlock() {
    let mut w = workload(vec![spec("t", 1, 0)], vec![vec![Op::SemWait(0)]]);
    w.semaphores = vec![0];
    let (outcome, _, _) = simulate(&ideal(1), &w).unwrap();
    assert_eq!(outcome.reason, EndReason::Deadlock);
}

#[test]
fn the_same_setup_gives_the_same_hash() {
    let w = workload(vec![spec("hog", 5, 0)], vec![vec![run_ms(25)]]);
    let one = simulate(&ideal(2), &w).unwrap();
    let two = simulate(&ideal(2), &w).unwrap();
    assert_eq!(one.2, two.2);
    assert_eq!(one.1, two.1);
}
