//! linux24 driven alone: every number is worked out from the algorithm in the comment beside it.
//!
//! Notation: a task's goodness is counter + weight (+15 on the CPU it ran on last, SMP only; +1 in
//! the previous task's address space), weight being 20 - nice.  `priority()` is goodness without
//! the bonuses and 0 for an exhausted task.

mod script;

use schedlab_policy::{enq, Class, NewTask, Policy, Tuned};
use schedlab_trace::{CpuId, TaskId};
use script::{normal, random, real_time, Machine};

const VARIANTS: [&str; 3] = ["linux24:2.4.16", "linux24:2.4.0", "linux24:2.3.99"];

/// Ticks left; weight is 20 - nice in 2.4 and, at 100 Hz, in 2.3.99 too.
fn counter(m: &mut Machine, task: TaskId) -> i32 {
    match m.priority(task) {
        0 => 0,
        priority => priority - (20 - m.host.task(task).nice),
    }
}

/// The run queue, front to back; its list is the first thing in the policy's global state.
fn queue(m: &Machine) -> Vec<TaskId> {
    // SAFETY: struct runqueue begins with the list head.
    unsafe { m.tasks_of(m.host.global_state().cast()) }
}

fn on_cpu(cpu: u32, nice: i8) -> NewTask {
    NewTask {
        cpu: CpuId(cpu),
        ..normal(nice)
    }
}

fn with_mm(mm: u32, nice: i8) -> NewTask {
    NewTask { mm, ..normal(nice) }
}

/// A task that may only run on this CPU.
fn pinned(m: &mut Machine, cpu: u32, nice: i8) -> NewTask {
    NewTask {
        cpu_set: m.host.add_cpu_set(&[cpu]),
        ..on_cpu(cpu, nice)
    }
}

/// Starts a task and has idle `cpu` run it.
fn run_on(m: &mut Machine, cpu: u32, new: &NewTask) -> TaskId {
    let task = m.start(&NewTask {
        cpu: CpuId(cpu),
        ..*new
    });
    assert_eq!(m.schedule(cpu), Some(task));
    task
}

/// A nice 19 task has slices of one tick: alone on the CPU it causes a recalculation a tick.
fn recalculate(m: &mut Machine, cpu: u32) {
    m.work();
    assert!(m.ticks(cpu, 1));
    m.schedule(cpu);
    assert_eq!(m.work().recalculations, 1);
}

// ---- declarations ---------------------------------------------------------------------

#[test]
fn the_default_is_2_4_16_and_tasks_are_small() {
    let policy = Policy::find("linux24").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "2.4.16");
    assert!(policy.task_size() <= 96);
}

#[test]
fn a_kernel_without_smp_refuses_several_cpus() {
    assert!(Machine::try_new("linux24", 1, &[("smp", 0)]).is_ok());
    let refused = Machine::try_new("linux24", 2, &[("smp", 0)]).err().unwrap();
    assert!(refused.contains("smp=0"), "{refused}");
}

// ---- slices -----------------------------------------------------------------------------

/// A fresh task's slice: its priority less its weight, which in 2.3.99 is as large as the slice.
fn slice(name: &str, hz: i64, nice: i8) -> i32 {
    let mut m = Machine::new(name, 1, &[("hz", hz)]);
    let task = m.add(&normal(nice));
    match name {
        "linux24:2.3.99" => m.priority(task) / 2,
        _ => m.priority(task) - (20 - i32::from(nice)),
    }
}

#[test]
fn nice_to_ticks_at_100_hz() {
    // NICE_TO_TICKS(n) = ((20 - n) >> 2) + 1
    let table = [
        (-20, 11),
        (-10, 8),
        (-5, 7),
        (-1, 6),
        (0, 6),
        (5, 4),
        (10, 3),
        (15, 2),
        (19, 1),
    ];
    for (nice, ticks) in table {
        assert_eq!(slice("linux24:2.4.16", 100, nice), ticks, "nice {nice}");
        assert_eq!(slice("linux24:2.4.0", 100, nice), ticks, "nice {nice}");
    }
}

#[test]
fn nice_to_ticks_scales_with_hz() {
    // TICK_SCALE(20) = 20 >> 2, >> 1, 20, << 1, << 2 below 200, 400, 800, 1600 Hz and above.
    for (hz, ticks) in [(199, 6), (200, 11), (400, 21), (800, 41), (1600, 81)] {
        assert_eq!(slice("linux24", hz, 0), ticks, "{hz} Hz");
    }
    // At 1024 Hz nice 0 has 41 ticks, 40 ms; nice -20: (40 << 1) + 1; nice 19: (1 << 1) + 1.
    for (nice, ticks) in [(-20, 81), (0, 41), (19, 3)] {
        assert_eq!(slice("linux24", 1024, nice), ticks, "nice {nice}");
    }
}

#[test]
fn slices_of_2_3_99_are_the_priority() {
    for (nice, ticks) in [(-20, 40), (-10, 30), (0, 20), (10, 10), (19, 1)] {
        assert_eq!(slice("linux24:2.3.99", 100, nice), ticks, "nice {nice}");
    }
    // At 1024 Hz DEF_PRIORITY = 20 * 1024 / 100 = 204; nice scales to (|nice| * 204 + 10) / 20:
    // 204 for 20, 194 for 19.
    for (nice, ticks) in [(-20, 408), (0, 204), (19, 10)] {
        assert_eq!(slice("linux24:2.3.99", 1024, nice), ticks, "nice {nice}");
    }
    // At 10 Hz it is 2, and (19 * 2 + 10) / 20 = 2 would leave nothing: at least 1.
    assert_eq!(slice("linux24:2.3.99", 10, 19), 1);
}

#[test]
fn sleepers_converge_to_nearly_two_slices() {
    // counter <- (counter >> 1) + slice for every task in the system
    let cases: [(&str, i8, &[i32]); 4] = [
        ("linux24", 0, &[6, 9, 10, 11, 11]),
        ("linux24", -20, &[11, 16, 19, 20, 21, 21]),
        ("linux24", 19, &[1, 1]),
        ("linux24:2.3.99", 0, &[20, 30, 35, 37, 38, 39, 39]),
    ];
    for (name, nice, counters) in cases {
        let mut m = Machine::new(name, 1, &[]);
        let sleeper = m.add(&normal(nice));
        run_on(&mut m, 0, &normal(19));
        for &expected in counters {
            assert_eq!(counter(&mut m, sleeper), expected, "{name} nice {nice}");
            recalculate(&mut m, 0);
        }
    }
}

#[test]
fn the_tick_charges_and_the_last_one_reschedules() {
    for (name, slice) in [("linux24", 6), ("linux24:2.3.99", 20)] {
        let mut m = Machine::new(name, 1, &[]);
        let task = run_on(&mut m, 0, &normal(0));
        assert!(!m.ticks(0, slice - 1), "{name}");
        assert_eq!(counter(&mut m, task), 1);
        assert!(m.ticks(0, 1), "{name}");
        assert_eq!(counter(&mut m, task), 0);
    }
}

#[test]
fn real_time_tasks_are_charged_but_picked_again() {
    let mut m = Machine::new("linux24", 1, &[]);
    m.start(&normal(0));
    let fifo = m.start(&real_time(Class::Fifo, 1));
    assert_eq!(m.schedule(0), Some(fifo));
    for _ in 0..3 {
        // Its counter stays 0 once it is exhausted: every tick from the sixth on reschedules.
        m.ticks(0, 6);
        assert!(m.host.need_resched(CpuId(0)));
        assert_eq!(m.schedule(0), Some(fifo));
    }
}

#[test]
fn fork_shares_the_parents_ticks() {
    let mut m = Machine::new("linux24", 1, &[]);
    let parent = run_on(&mut m, 0, &normal(0));
    // child = (parent + 1) >> 1, parent >>= 1
    for (left, childs, parents) in [(6, 3, 3), (3, 2, 1)] {
        assert_eq!(counter(&mut m, parent), left);
        let child = m.fork(0, &normal(0));
        assert_eq!(counter(&mut m, child), childs);
        assert_eq!(counter(&mut m, parent), parents);
        assert_eq!(m.asked(), []);
    }
    // One tick: the child gets it and the parent has to reschedule.
    let child = m.fork(0, &normal(0));
    assert_eq!((counter(&mut m, child), counter(&mut m, parent)), (1, 0));
    assert_eq!(m.asked(), [0]);
}

#[test]
fn fork_can_lose_the_odd_tick() {
    let mut m = Machine::new("linux24", 1, &[("fork_odd_tick", 0)]);
    let parent = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 1);
    let child = m.fork(0, &normal(0)); // 5 >> 1 each
    assert_eq!((counter(&mut m, child), counter(&mut m, parent)), (2, 2));
}

/// Two sleepers after so many recalculations; one dies and the other reaps it.
fn reaped(name: &str, set: &[(&str, i64)], recalculations: u32) -> i32 {
    let mut m = Machine::new(name, 1, set);
    let reaper = m.add(&normal(0));
    let dying = m.add(&normal(0));
    run_on(&mut m, 0, &normal(19));
    for _ in 0..recalculations {
        recalculate(&mut m, 0);
    }
    m.block(0);
    m.wake(dying);
    assert_eq!(m.schedule(0), Some(dying));
    m.die(0);
    m.reap(dying, reaper);
    counter(&mut m, reaper)
}

#[test]
fn a_dead_childs_ticks_go_to_its_reaper_up_to_a_cap() {
    assert_eq!(reaped("linux24", &[], 0), 6 + 6);
    assert_eq!(reaped("linux24", &[], 3), 20); // 11 + 11, capped at 20 * HZ / 100
    assert_eq!(reaped("linux24", &[("reap_cap_ms", 100)], 3), 10);
    assert_eq!(reaped("linux24:2.3.99", &[], 0), 39); // 20 + 20, capped at 2 * 20 - 1
}

#[test]
fn reaping_adds_below_the_cap() {
    let mut m = Machine::new("linux24:2.3.99", 1, &[]);
    let parent = run_on(&mut m, 0, &normal(0));
    let child = m.fork(0, &normal(0)); // 20 is shared as 10 and 10
    m.enqueue(child, enq::NEW);
    m.block(0);
    m.ticks(0, 4);
    m.die(0);
    m.reap(child, parent);
    assert_eq!(counter(&mut m, parent), 10 + 6);
}

// ---- goodness and choice ------------------------------------------------------------------

#[test]
fn the_greatest_goodness_runs() {
    // 2.4.16: counter + weight = 6 + 20, 7 + 25, 4 + 15
    let mut m = Machine::new("linux24", 1, &[]);
    let middle = m.start(&normal(0));
    let best = m.start(&normal(-5));
    let worst = m.start(&normal(5));
    let goodness = [best, middle, worst].map(|t| m.priority(t));
    assert_eq!(goodness, [32, 26, 19]);
    assert_eq!(m.schedule(0), Some(best));
    assert_eq!(m.block(0), Some(middle));
    assert_eq!(m.block(0), Some(worst));
    assert_eq!(m.block(0), None);
}

#[test]
fn real_time_is_above_all_and_ordered() {
    let mut m = Machine::new("linux24", 1, &[]);
    let normal = m.start(&normal(-20));
    let low = m.start(&real_time(Class::Fifo, 1));
    let high = m.start(&real_time(Class::Rr, 99));
    assert_eq!([low, high].map(|t| m.priority(t)), [1001, 1099]);
    assert_eq!(m.schedule(0), Some(high));
    assert_eq!(m.block(0), Some(low));
    assert_eq!(m.block(0), Some(normal));
}

#[test]
fn batch_and_idle_tasks_are_ordinary() {
    let mut m = Machine::new("linux24", 1, &[]);
    for class in [Class::Batch, Class::Idle] {
        let task = m.add(&NewTask { class, ..normal(0) });
        assert_eq!(m.priority(task), 26);
    }
}

/// On CPU 0, `home` (which ran there last) against `away` (which did not) with so much more nice weight.
fn picks_away(extra: i8, away_in_front: bool, set: &[(&str, i64)]) -> bool {
    let mut m = Machine::new("linux24", 2, set);
    let home = m.add(&on_cpu(0, 0));
    let away = m.add(&on_cpu(1, 0));
    m.set_nice(away, -extra);
    let order = if away_in_front {
        [home, away]
    } else {
        [away, home]
    };
    for task in order {
        m.wake(task);
    }
    m.schedule(0) == Some(away)
}

#[test]
fn having_run_here_is_worth_15() {
    // home: 6 + 20 + 15 = 41; away: 6 + 20 + extra
    assert!(!picks_away(14, true, &[]));
    assert!(picks_away(15, true, &[])); // a tie: the front wins
    assert!(!picks_away(15, false, &[]));
    assert!(picks_away(16, false, &[]));
    assert!(picks_away(1, false, &[("proc_change_penalty", 0)]));
    assert!(!picks_away(20, false, &[("proc_change_penalty", 20)]));
}

/// Task 0 with address space 7 runs and blocks.  Does a task with `mm` then run before one with
/// another address space that is in front of it and has `extra` more nice weight?
fn mm_wins(mm: u32, extra: i8, set: &[(&str, i64)]) -> bool {
    let mut m = Machine::new("linux24", 1, set);
    run_on(&mut m, 0, &with_mm(7, 0));
    let same = m.start(&with_mm(mm, 0));
    let other = m.add(&with_mm(8, 0));
    m.set_nice(other, -extra);
    m.wake(other);
    m.block(0) == Some(same)
}

#[test]
fn sharing_the_address_space_is_worth_1() {
    assert!(mm_wins(7, 0, &[])); // 27 against 26
    assert!(!mm_wins(7, 1, &[])); // 27 against 27: the front wins
    assert!(mm_wins(7, 1, &[("mm_bonus", 2)]));
    assert!(!mm_wins(7, 0, &[("mm_bonus", 0)]));
    assert!(mm_wins(0, 0, &[])); // kernel threads have no address space to switch to
    assert!(!mm_wins(0, 0, &[("mm_bonus_kthreads", 0)]));
}

#[test]
fn a_kernel_thread_borrows_the_address_space_before_it() {
    let mut m = Machine::new("linux24", 1, &[]);
    run_on(&mut m, 0, &with_mm(7, 0));
    let kthread = m.start(&with_mm(0, -5));
    assert_eq!(m.block(0), Some(kthread));
    let same = m.start(&with_mm(7, 0));
    m.start(&with_mm(8, 0)); // in front of it
    assert_eq!(m.block(0), Some(same));
}

#[test]
fn ties_go_to_the_previous_task_until_2_4_16() {
    for (name, previous_wins) in VARIANTS.into_iter().zip([false, true, true]) {
        let mut m = Machine::new(name, 1, &[]);
        let previous = run_on(&mut m, 0, &with_mm(7, 0));
        let front = m.start(&with_mm(7, 0));
        let winner = if previous_wins { previous } else { front };
        assert_eq!(m.schedule(0), Some(winner), "{name}");
    }
}

#[test]
fn prev_first_is_a_switch() {
    let mut m = Machine::new("linux24", 1, &[("prev_first", 1)]);
    let previous = run_on(&mut m, 0, &with_mm(7, 0));
    m.start(&with_mm(7, 0));
    assert_eq!(m.schedule(0), Some(previous));
}

#[test]
fn wakeups_queue_at_the_front_and_running_tasks_stay_queued() {
    let mut m = Machine::new("linux24", 1, &[]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    assert_eq!(queue(&m), [c, b, a]);
    assert_eq!(m.schedule(0), Some(c));
    assert_eq!(queue(&m), [c, b, a]);
    m.block(0);
    assert_eq!(queue(&m), [b, a]);
    m.unqueue(a);
    assert_eq!(queue(&m), [b]);
}

#[test]
fn everybody_is_examined_and_everybody_recalculated() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[]);
        m.add(&normal(0)); // two sleepers
        m.add(&normal(0));
        for _ in 0..3 {
            m.start(&normal(19)); // slices of one tick
        }
        for _ in 0..3 {
            m.schedule(0);
            let work = m.work();
            assert_eq!((work.examined, work.recalculations), (3, 0), "{name}");
            m.ticks(0, 1);
        }
        // All three are exhausted: one pass finds that out, all five tasks are renewed, and a
        // second pass chooses.
        m.schedule(0);
        let work = m.work();
        assert_eq!(
            (work.examined, work.recalculations, work.recalculated),
            (6, 1, 5),
            "{name}"
        );
    }
}

#[test]
fn an_empty_queue_idles_without_recalculation() {
    let mut m = Machine::new("linux24", 1, &[]);
    m.add(&normal(0));
    assert_eq!(m.schedule(0), None);
    assert_eq!(m.work().recalculations, 0);
}

// ---- affinity ---------------------------------------------------------------------------------

#[test]
fn tasks_forbidden_here_are_no_candidates() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 2, &[]);
        let elsewhere = pinned(&mut m, 1, 19);
        let elsewhere = m.start(&elsewhere);
        assert_eq!(m.schedule(0), None, "{name}");
        assert_eq!(m.schedule(1), Some(elsewhere));
        m.ticks(1, 1);
        let anywhere = m.start(&normal(0));
        assert_eq!(m.schedule(1), Some(anywhere), "{name}");
        // An exhausted task that may not run here is no reason to recalculate.
        m.work();
        assert_eq!(m.schedule(0), None, "{name}");
        assert_eq!(m.work().recalculations, 0, "{name}");
    }
}

// ---- sched_yield() --------------------------------------------------------------------------------

#[test]
fn a_lone_yield_in_2_3_99_recalculates_on_smp_kernels() {
    // The yielding task counts as 0 and, marked has_cpu, is not looked at again: nobody else is
    // better than 0.  20 ticks left become 10 + 20.
    let mut m = Machine::new("linux24:2.3.99", 1, &[("smp", 1)]);
    let task = run_on(&mut m, 0, &normal(0));
    m.work();
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.work().recalculations, 1);
    assert_eq!(counter(&mut m, task), 30);
}

#[test]
fn a_lone_yield_in_2_3_99_is_harmless_on_up_kernels() {
    // Without SMP there is no has_cpu: the walk looks at the task again, its yield bit cleared.
    let mut m = Machine::new("linux24:2.3.99", 1, &[("smp", 0)]);
    let task = run_on(&mut m, 0, &normal(0));
    m.work();
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.work().recalculations, 0);
}

#[test]
fn a_lone_yield_in_2_4_does_nothing() {
    for name in ["linux24:2.4.16", "linux24:2.4.0"] {
        let mut m = Machine::new(name, 1, &[]);
        run_on(&mut m, 0, &normal(0));
        m.add(&normal(0)); // sleeps
        assert_eq!(m.yields(0), None, "{name}");
    }
    // As many runnable tasks as busy CPUs: nobody is pending.
    let mut m = Machine::new("linux24", 2, &[]);
    run_on(&mut m, 0, &normal(0));
    run_on(&mut m, 1, &normal(0));
    assert_eq!(m.yields(0), None);
    m.start(&normal(0));
    assert!(m.yields(0).is_some());
}

#[test]
fn a_yield_gives_way_to_far_worse_tasks() {
    // 1 + 1 against 0 (2.3.99, SMP) or -1 (2.4).
    for (name, smp) in [
        ("linux24:2.4.16", 0),
        ("linux24:2.4.0", 0),
        ("linux24:2.3.99", 1),
    ] {
        let mut m = Machine::new(name, 1, &[("smp", smp)]);
        let task = run_on(&mut m, 0, &normal(-20));
        let worse = m.start(&normal(19));
        assert_eq!(m.yields(0), Some(worse), "{name}");
        // The yield is forgotten once the task has been switched away.
        assert_eq!(m.schedule(0), Some(task), "{name}");
    }
}

#[test]
fn a_yield_to_exhausted_tasks_recalculates() {
    for name in ["linux24:2.4.16", "linux24:2.4.0"] {
        let mut m = Machine::new(name, 1, &[]);
        let exhausted = run_on(&mut m, 0, &normal(19));
        m.ticks(0, 1);
        let task = m.start(&normal(0));
        assert_eq!(m.schedule(0), Some(task));
        m.work();
        // task: -1, exhausted: 0.  The best is 0, so slices are renewed; -1 is still less.
        assert_eq!(m.yields(0), Some(exhausted), "{name}");
        assert_eq!(m.work().recalculations, 1, "{name}");
    }
}

#[test]
fn a_yield_without_effect_is_forgotten() {
    let mut m = Machine::new("linux24", 2, &[]);
    let task = run_on(&mut m, 0, &normal(0));
    run_on(&mut m, 1, &normal(0));
    let elsewhere = pinned(&mut m, 1, 0);
    m.start(&elsewhere); // somebody waits, but not for this CPU
    assert_eq!(m.yields(0), Some(task));
    m.start(&normal(19));
    assert_eq!(m.schedule(0), Some(task));
}

/// Who runs when the tasks of one address space do nothing but yield.
fn yield_order(name: &str) -> Vec<u32> {
    let mut m = Machine::new(name, 1, &[]);
    for _ in 0..3 {
        m.start(&with_mm(7, 0));
    }
    m.schedule(0); // task 2, the front
    (0..4).map(|_| m.yields(0).unwrap().0).collect()
}

#[test]
fn yields_rotate_where_they_move_to_the_tail() {
    // 2.4.16: [2 1 0] -> 2 moves back, 1 runs -> 0 -> 2 -> 1.
    assert_eq!(yield_order("linux24:2.4.16"), [1, 0, 2, 1]);
    // 2.4.0 moves nothing: the first two of the list take turns.
    assert_eq!(yield_order("linux24:2.4.0"), [1, 2, 1, 2]);
}

#[test]
fn a_real_time_yield_only_moves_to_the_tail() {
    for (name, gives_way) in VARIANTS.into_iter().zip([true, false, false]) {
        let mut m = Machine::new(name, 1, &[]);
        let first = run_on(&mut m, 0, &real_time(Class::Fifo, 5));
        let second = m.start(&real_time(Class::Fifo, 5));
        // Both have goodness 1005; before 2.4.16 the previous task wins the tie.
        let next = if gives_way { second } else { first };
        assert_eq!(m.yields(0), Some(next), "{name}");
    }
}

// ---- SCHED_RR -----------------------------------------------------------------------------------

#[test]
fn round_robin_rotates_in_2_4_16() {
    let mut m = Machine::new("linux24", 1, &[]);
    let a = m.start(&real_time(Class::Rr, 5));
    let b = m.start(&real_time(Class::Rr, 5));
    assert_eq!(m.schedule(0), Some(b));
    for next in [a, b, a] {
        assert!(!m.ticks(0, 5)); // a slice of 6 ticks
        assert!(m.ticks(0, 1));
        assert_eq!(m.schedule(0), Some(next));
    }
}

#[test]
fn round_robin_does_not_rotate_where_prev_wins_ties() {
    // It is refilled and moved to the tail, but judged first: 1005 is not greater than 1005.
    for (name, slice) in [("linux24:2.4.0", 6), ("linux24:2.3.99", 20)] {
        let mut m = Machine::new(name, 1, &[]);
        let a = m.start(&real_time(Class::Rr, 5));
        let b = m.start(&real_time(Class::Rr, 5));
        assert_eq!(m.schedule(0), Some(b));
        assert!(m.ticks(0, slice));
        assert_eq!(m.schedule(0), Some(b), "{name}");
        assert_eq!(queue(&m), [a, b]);
        assert!(!m.ticks(0, slice - 1), "{name}: a full slice again");
    }
}

#[test]
fn an_exhausted_round_robin_task_is_refilled_even_if_it_blocks() {
    let mut m = Machine::new("linux24", 1, &[]);
    let task = run_on(&mut m, 0, &real_time(Class::Rr, 5));
    m.ticks(0, 6);
    m.block(0);
    m.set_class(task, Class::Normal, 0);
    assert_eq!(counter(&mut m, task), 6);
}

// ---- wakeups: reschedule_idle() ------------------------------------------------------------------

/// Does a fresh task preempt one of the same nice that has run for so many ticks?
fn preempts_after(name: &str, ticks: u32, set: &[(&str, i64)]) -> bool {
    let mut m = Machine::new(name, 1, set);
    run_on(&mut m, 0, &normal(0));
    m.ticks(0, ticks);
    let fresh = m.add(&normal(0));
    !m.wake(fresh).is_empty()
}

#[test]
fn a_woken_task_preempts_above_the_threshold() {
    // fresh - running = slice + 20 - (slice - ticks + 20 + 1) = ticks - 1; the 1 is the mm bonus.
    for (name, threshold) in VARIANTS.into_iter().zip([0, 1, 0]) {
        for ticks in 0..5 {
            let expected = i64::from(ticks) - 1 > threshold;
            assert_eq!(
                preempts_after(name, ticks, &[]),
                expected,
                "{name} {ticks} ticks"
            );
        }
    }
    assert!(!preempts_after("linux24", 4, &[("preempt_threshold", 3)]));
    assert!(preempts_after("linux24", 5, &[("preempt_threshold", 3)]));
}

#[test]
fn an_idle_cpu_is_always_woken() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[]);
        let task = m.add(&normal(19));
        assert_eq!(m.wake(task), [0], "{name}");
    }
}

/// Four CPUs: 0 is busy; 2, 1 and 3 have switched to idle in this order.
fn one_busy(name: &str) -> Machine {
    let mut m = Machine::new(name, 4, &[]);
    for cpu in 0..4 {
        run_on(&mut m, cpu, &normal(0));
    }
    for cpu in [2, 1, 3] {
        m.after(1_000_000).block(cpu);
    }
    m
}

#[test]
fn the_last_cpu_is_taken_if_it_idles() {
    for name in VARIANTS {
        let mut m = one_busy(name);
        let task = m.add(&on_cpu(1, 0));
        assert_eq!(m.wake(task), [1], "{name}");
    }
}

#[test]
fn else_the_least_recently_active_or_the_highest_idle_cpu() {
    for (name, target) in VARIANTS.into_iter().zip([2, 2, 3]) {
        let mut m = one_busy(name);
        let task = m.add(&on_cpu(0, 0));
        assert_eq!(m.wake(task), [target], "{name}");
    }
    let mut m = one_busy("linux24:2.4.16");
    let cpu_set = m.host.add_cpu_set(&[0, 1, 3]);
    let task = m.add(&NewTask {
        cpu_set,
        ..normal(0)
    });
    assert_eq!(m.wake(task), [1], "CPU 2 is forbidden");
}

#[test]
fn among_equally_idle_cpus_2_4_takes_the_lowest() {
    let mut m = Machine::new("linux24", 4, &[]);
    run_on(&mut m, 0, &normal(0));
    let task = m.add(&normal(0));
    assert_eq!(m.wake(task), [1]); // 1, 2 and 3 have never switched
}

#[test]
fn an_idle_cpu_is_better_than_any_preemption() {
    for (idle, busy) in [(1, 2), (2, 1)] {
        let mut m = Machine::new("linux24", 3, &[]);
        run_on(&mut m, 0, &normal(-20));
        run_on(&mut m, busy, &normal(0));
        m.ticks(busy, 6); // exhausted: nobody would be easier to preempt
        let task = m.add(&normal(-20));
        assert_eq!(m.wake(task), [idle]);
    }
}

/// Four busy CPUs: nice -20 on CPU 0; nice 0 elsewhere, charged 4, 5 and 2 ticks.
fn all_busy(name: &str, set: &[(&str, i64)]) -> Machine {
    let mut m = Machine::new(name, 4, set);
    run_on(&mut m, 0, &normal(-20));
    for (cpu, ticks) in [(1, 4), (2, 5), (3, 2)] {
        run_on(&mut m, cpu, &normal(0));
        m.ticks(cpu, ticks);
    }
    m
}

#[test]
fn preemption_in_2_4_is_where_it_gains_most() {
    // Woken, nice -20, last on CPU 0: 11 + 40 = 51, there 66.
    // CPU 0: 66 - (51 + 16) = -1; CPU 1: 51 - (2 + 36) = 13; CPU 2: 51 - (1 + 36) = 14;
    // CPU 3: 51 - (4 + 36) = 11.
    let mut m = all_busy("linux24", &[]);
    let task = m.add(&normal(-20));
    assert_eq!(m.wake(task), [2]);
    // nice -6: 7 + 26 = 33, there 48: less than each of 67, 38, 37, 40.
    let task = m.add(&normal(-6));
    assert_eq!(m.wake(task), []);
}

#[test]
fn preemption_in_2_3_99_is_on_the_last_cpu_first() {
    // Woken, nice -20: 80, on its last CPU 95; CPU 0: 80 + 16 = 96; CPU 3: 18 + 36 = 54.
    let mut m = all_busy("linux24:2.3.99", &[]);
    let task = m.add(&on_cpu(1, -20));
    assert_eq!(m.wake(task), [1]);
    // Its last CPU is too good; it has never run, so its slices are short: highest CPU first.
    let task = m.add(&on_cpu(0, -20));
    assert_eq!(m.wake(task), [3]);
}

/// As before, but the woken task's average run is half of `ran_ns`.
fn wanders_after(ran_ns: u64, set: &[(&str, i64)]) -> bool {
    let mut m = Machine::new("linux24:2.3.99", 2, set);
    m.after(5_000_000);
    let task = run_on(&mut m, 0, &normal(-20));
    m.after(ran_ns).block(0);
    run_on(&mut m, 0, &normal(-20));
    run_on(&mut m, 1, &normal(0));
    m.wake(task) == [1]
}

#[test]
fn in_2_3_99_only_brief_tasks_preempt_elsewhere() {
    // cacheflush_time = 512 KiB / 350 MB/s = 524288 / 350 us = 1.49797 ms
    assert!(wanders_after(2_995_000, &[]));
    assert!(!wanders_after(2_996_000, &[]));
    assert!(wanders_after(2_996_000, &[("cache_kb", 1024)]));
    assert!(!wanders_after(2_995_000, &[("cache_mb_per_s", 700)]));
    assert!(!wanders_after(0, &[("cache_kb", 0)])); // the cache is unknown
}

#[test]
fn in_2_3_99_real_time_tasks_preempt_elsewhere_too() {
    let mut m = Machine::new("linux24:2.3.99", 2, &[("cache_kb", 0)]);
    run_on(&mut m, 0, &real_time(Class::Fifo, 50));
    run_on(&mut m, 1, &normal(0));
    let task = m.add(&real_time(Class::Fifo, 10));
    assert_eq!(m.wake(task), [1]);
}

#[test]
fn a_synchronous_wakeup_disturbs_nobody() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 2, &[]);
        run_on(&mut m, 0, &normal(0));
        let task = m.add(&normal(-20));
        assert_eq!(m.wake_sync(task), [], "{name}");
        assert_eq!(m.block(0), Some(task), "{name}");
    }
}

#[test]
fn from_2_4_16_on_unless_the_wakers_cpu_is_forbidden() {
    for (name, asked) in VARIANTS.into_iter().zip([&[1][..], &[], &[]]) {
        let mut m = Machine::new(name, 2, &[]);
        run_on(&mut m, 0, &normal(0));
        let task = pinned(&mut m, 1, 0);
        let task = m.add(&task);
        assert_eq!(m.wake_sync(task), asked, "{name}");
    }
}

// ---- after a switch ---------------------------------------------------------------------------------

#[test]
fn a_preempted_task_is_pushed_to_another_cpu() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 2, &[]);
        let task = run_on(&mut m, 0, &normal(0));
        let rt = NewTask {
            cpu_set: m.host.add_cpu_set(&[0]),
            ..real_time(Class::Fifo, 1)
        };
        let rt = m.add(&rt);
        assert_eq!(m.wake(rt), [0], "{name}");
        assert_eq!(m.schedule(0), Some(rt));
        assert_eq!(m.asked(), [1], "{name}");
        assert_eq!(m.schedule(1), Some(task));
    }
}

#[test]
fn a_blocked_task_is_not_pushed() {
    let mut m = Machine::new("linux24", 2, &[]);
    run_on(&mut m, 0, &normal(0));
    m.block(0);
    assert_eq!(m.asked(), []);
}

#[test]
fn a_task_that_yielded_is_pushed_in_2_3_99_only() {
    for (name, asked) in VARIANTS.into_iter().zip([&[][..], &[], &[1]]) {
        let mut m = Machine::new(name, 2, &[]);
        run_on(&mut m, 0, &normal(0));
        let other = pinned(&mut m, 0, 0);
        let other = m.add(&other);
        assert_eq!(m.wake(other), []); // no better than what runs, and forbidden on CPU 1
        assert_eq!(m.yields(0), Some(other), "{name}");
        assert_eq!(m.asked(), asked, "{name}");
    }
}

// ---- nice and class -----------------------------------------------------------------------------------

#[test]
fn nice_counts_from_the_next_choice_on() {
    let mut m = Machine::new("linux24", 1, &[]);
    let running = run_on(&mut m, 0, &normal(0));
    let waiting = m.start(&normal(0));
    assert_eq!(m.set_nice(waiting, -10), []); // preempts nobody
    assert_eq!(m.priority(waiting), 6 + 30); // the slice it has is the old one
    assert_eq!(m.schedule(0), Some(waiting));
    m.set_nice(waiting, 19);
    assert_eq!(m.schedule(0), Some(running));
}

#[test]
fn a_new_class_moves_to_the_front_and_reschedules_the_caller() {
    let mut m = Machine::new("linux24", 2, &[]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    m.from(1);
    assert_eq!(m.set_class(b, Class::Fifo, 7), [1]);
    assert_eq!(queue(&m), [b, c, a]);
    assert_eq!(m.priority(b), 1007);
    assert_eq!(m.schedule(1), Some(b));
    m.set_class(b, Class::Normal, 0);
    assert_eq!(m.priority(b), 26);
}

// ---- any order of events --------------------------------------------------------------------------------

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    for name in VARIANTS {
        for cpus in [1, 2, 5] {
            for seed in 1..=20 {
                random::live(&mut Machine::new(name, cpus, &[]), seed, 500);
            }
        }
    }
}
