//! Slices, the calendar, preemption, classes.

use super::*;

#[test]
fn slices_shrink_with_load() {
    // Ten ticks; with n others waiting 10 / n, one from six on.
    for (others, slice) in [
        (0, 10),
        (1, 10),
        (2, 5),
        (3, 3),
        (4, 2),
        (5, 2),
        (6, 1),
        (20, 1),
    ] {
        let mut m = machine(1, &[]);
        let task = run_on(&mut m, 0, &normal(0));
        for _ in 0..others {
            m.start(&normal(19));
        }
        m.schedule(0);
        m.yields(0);
        let running = m.running(0).unwrap();
        let mut ticks = 1;
        m.schedule(0);
        while m.running(0) == Some(running) && !m.ticks(0, 1) {
            ticks += 1;
        }
        assert_eq!(ticks, slice, "{others} others, {task}");
    }
}

#[test]
fn at_128_hz_a_slice_is_12_ticks() {
    let mut m = Machine::new("ule14", 1, &[]);
    run_on(&mut m, 0, &normal(0));
    assert!(!m.ticks(0, 11));
    assert!(m.ticks(0, 1));
}

#[test]
fn nice_does_not_change_a_slice() {
    for nice in [-20, 19] {
        let mut m = machine(1, &[]);
        run_on(&mut m, 0, &normal(nice));
        assert!(!m.ticks(0, 9), "nice {nice}");
        assert!(m.ticks(0, 1), "nice {nice}");
    }
}

#[test]
fn the_calendar_has_a_bucket_for_each_distance() {
    // A new thread of nice n scores 50 (it has neither run nor slept) and has 172 + n, bucket
    // 64 * (20 + n) / 72 from the insert index.
    for (nice, bucket) in [(-20, 0), (-10, 8), (0, 17), (10, 26), (19, 34)] {
        let mut m = machine(1, &[]);
        let task = m.start(&normal(nice));
        assert_eq!(u32::from(thread(&m, task).bucket), bucket, "nice {nice}");
    }
}

#[test]
fn the_insert_index_moves_on_with_the_ticks_and_wraps() {
    let mut m = machine(1, &[]);
    run_on(&mut m, 0, &normal(0));
    m.ticks(0, 5);
    assert_eq!((tdq(&m, 0).idx, tdq(&m, 0).ridx), (5, 5), "nobody waits");
    let waits = m.start(&normal(19));
    assert_eq!(thread(&m, waits).bucket, 5 + 34);
    m.ticks(0, 55);
    // At 39 it has to wait for the waiting thread, one ahead.
    assert_eq!((tdq(&m, 0).idx, tdq(&m, 0).ridx), (40, 39));
    // Nothing is inserted into the bucket that is being emptied: 39 would be the last before 40,
    // a distance of 63.  Nice 0 is 17 away.
    let next = m.start(&normal(0));
    assert_eq!(thread(&m, next).bucket, 57);
    assert_eq!(m.block(0), Some(waits));
    assert_eq!(tdq(&m, 0).ridx, 40, "emptied");
    let mut m = machine(1, &[]);
    run_on(&mut m, 0, &normal(0));
    m.ticks(0, 60);
    let wrapped = m.start(&normal(19));
    assert_eq!(thread(&m, wrapped).bucket, (60 + 34) % 64);
}

#[test]
fn the_removal_index_comes_first_and_what_is_before_it_last() {
    let mut m = machine(1, &[]);
    run_on(&mut m, 0, &normal(0));
    m.ticks(0, 40);
    let wrapped = m.start(&normal(19)); // 40 + 34 = 10
    let ahead = m.start(&normal(-10)); // 48
    assert_eq!(thread(&m, wrapped).bucket, 10);
    assert_eq!(m.block(0), Some(ahead));
    assert_eq!(m.block(0), Some(wrapped));
}

#[test]
fn interactive_threads_come_before_all_others() {
    let mut m = machine(1, &[]);
    let interactive = lived(&mut m, 1, 40, 0);
    m.start(&normal(-20));
    assert_eq!(m.schedule(0), Some(interactive));
    assert_eq!(m.priority(interactive), 121); // 10 ms of 400: 10240 / 8192 = 1
}

#[test]
fn a_thread_wakes_with_the_best_batch_priority_if_it_has_none_better() {
    for (boost, pri) in [(152, 152), (1, 108), (0, 203)] {
        let mut m = machine(1, &[("static_boost", boost)]);
        let hog = run_on(&mut m, 0, &normal(0));
        m.ticks(0, 200);
        m.schedule(0);
        m.block(0);
        m.after(1_000_000).wake(hog);
        assert_eq!(i32::from(thread(&m, hog).pri), pri, "static_boost {boost}");
        m.schedule(0);
        assert_eq!(thread(&m, hog).pri, thread(&m, hog).user_pri, "user mode");
    }
}

#[test]
fn on_this_cpu_a_better_thread_runs_but_the_other_is_not_preempted() {
    // With PREEMPTION only priorities up to 80 preempt; 121 is seen to on return to user mode, so
    // the hog is put where its priority says.
    for (thresh, preempted) in [(80, false), (255, true)] {
        let mut m = machine(1, &[("preempt_thresh", thresh)]);
        let sleeper = lived(&mut m, 1, 40, 0);
        m.schedule(0);
        m.block(0);
        let hog = run_on(&mut m, 0, &normal(0));
        m.ticks(0, 3);
        m.schedule(0);
        assert_eq!(m.wake(sleeper), [0]);
        assert_eq!(tdq(&m, 0).owepreempt != 0, preempted);
        m.schedule(0);
        assert_eq!(m.running(0), Some(sleeper));
        let first = u32::from(thread(&m, hog).bucket) == tdq(&m, 0).ridx;
        assert_eq!(first, preempted, "preempt_thresh {thresh}");
    }
}

#[test]
fn another_cpu_is_disturbed_for_interactive_threads_only() {
    for (nice, asked) in [(0, vec![1]), (19, vec![])] {
        let mut m = machine(2, &[("balance", 0), ("steal_idle", 0)]);
        // 10 ms awake and 400 asleep score 1; 200 and 400 score 25, and nice makes that 44.
        let ran = if nice == 0 { 1 } else { 20 };
        let pinned = NewTask {
            cpu: CpuId(1),
            ..m.pinned(1, nice)
        };
        let sleeper = m.start(&pinned);
        m.schedule(1);
        m.ticks(1, ran);
        m.block(1);
        // It wakes with the priority it slept with, so it has to live once to be interactive.
        m.after(400_000_000).wake(sleeper);
        m.schedule(1);
        m.block(1);
        let busy = m.pinned(1, 0);
        let hog = m.start(&busy);
        m.schedule(1);
        m.ticks(1, 3);
        m.schedule(1);
        assert_eq!(m.running(1), Some(hog));
        m.from(0).after(10_000_000);
        assert_eq!(m.wake(sleeper), asked, "nice {nice}");
    }
}

#[test]
fn rr_takes_turns_and_fifo_does_not() {
    for (class, ends) in [(Class::Rr, true), (Class::Fifo, false)] {
        let mut m = machine(1, &[]);
        let a = run_on(&mut m, 0, &real_time(class, 50));
        let b = m.start(&real_time(class, 50));
        assert_eq!(m.ticks(0, 10), ends);
        let next = if ends { m.schedule(0) } else { m.running(0) };
        assert_eq!(next, Some(if ends { b } else { a }));
    }
}

#[test]
fn classes_have_ranges_of_their_own() {
    let mut m = machine(1, &[]);
    let idle = NewTask {
        class: Class::Idle,
        ..normal(0)
    };
    let interrupt = NewTask {
        mm: 0,
        ..real_time(Class::Fifo, 99)
    };
    // 48 + 49 * 32 / 99 = 63
    for (new, pri) in [
        (real_time(Class::Fifo, 50), 63),
        (interrupt, 0),
        (idle, 224),
    ] {
        let task = m.start(&new);
        assert_eq!(m.priority(task), pri);
    }
    assert_eq!(
        (tdq(&m, 0).load, tdq(&m, 0).sysload),
        (3, 2),
        "interrupt threads are no load"
    );
    let in_order = [m.schedule(0), m.block(0), m.block(0)];
    assert_eq!(in_order, [1, 0, 2].map(|n| Some(TaskId(n))));
}

#[test]
fn a_better_class_moves_a_waiting_thread() {
    let mut m = machine(1, &[]);
    run_on(&mut m, 0, &normal(0));
    let waits = m.start(&normal(19));
    assert_eq!(m.set_class(waits, Class::Fifo, 1), [0]);
    assert_eq!(m.schedule(0), Some(waits));
    assert_eq!(tdq(&m, 0).lowpri, 79);
}

#[test]
fn a_choice_looks_at_one_thread() {
    for n in [10, 1000] {
        let mut m = machine(1, &[]);
        for _ in 0..n {
            m.start(&normal(0));
        }
        m.schedule(0);
        for _ in 0..2 * n {
            m.ticks(0, 1);
            m.work();
            m.schedule(0);
            assert_eq!(m.work().examined, 1, "{n} threads");
        }
    }
}
