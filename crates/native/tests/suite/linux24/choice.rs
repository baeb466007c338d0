//! Which task schedule() chooses: goodness, its bonuses, ties, affinity, SCHED_RR.

use super::*;

// ---- goodness and choice ---------------------------------------------------------------------

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
fn batch_idle_and_iso_tasks_are_ordinary() {
    let mut m = Machine::new("linux24", 1, &[]);
    for class in [Class::Batch, Class::Idle, Class::Iso] {
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

// ---- affinity --------------------------------------------------------------------------------

#[test]
fn tasks_forbidden_here_are_no_candidates() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 2, &[]);
        let elsewhere = m.pinned(1, 19);
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

// ---- SCHED_RR --------------------------------------------------------------------------------

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
