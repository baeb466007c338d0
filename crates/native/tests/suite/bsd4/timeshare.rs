//! The time-sharing class: differences from 4.3BSD.

use super::*;

#[test]
fn priority_is_usage_and_nice_within_a_range() {
    // 295 / 8 = 36 points at most.  5.x: 160 + 36 + nice + 20, at most 223; 4.x: 50 + 36 + 2 * nice.
    let table = [
        ("bsd4:5.x", -20, 160, 196),
        ("bsd4:5.x", 0, 180, 216),
        ("bsd4:5.x", 7, 187, 223),
        ("bsd4:5.x", 19, 199, 223),
        ("bsd4:4.x", -20, 10, 46),
        ("bsd4:4.x", 0, 50, 86),
        ("bsd4:4.x", 19, 88, 124),
    ];
    for (name, nice, fresh, used) in table {
        let mut m = Machine::new(name, 1, &[]);
        let task = run_alone(&mut m, &normal(nice));
        assert_eq!(m.priority(task), fresh, "{name}, nice {nice}");
        m.ticks_at_once(0, 400);
        assert_eq!(
            (estcpu(&m, task), m.priority(task)),
            (295, used),
            "{name}, nice {nice}"
        );
    }
}

#[test]
fn every_eighth_tick_renews_the_priority() {
    let mut m = Machine::new("bsd4", 1, &[]);
    let task = run_alone(&mut m, &normal(0));
    for (ticks, pri) in [(7, 180), (1, 181), (7, 181), (1, 182)] {
        assert!(!m.ticks_at_once(0, ticks));
        assert_eq!(priorities(&m, task), (pri, pri));
    }
}

#[test]
fn a_second_forgets_by_load_alone() {
    // Load 1: 240 -> 160 -> 106, whatever nice is.
    for name in VARIANTS {
        for nice in [-20, 0, 19] {
            let mut m = Machine::new(name, 1, &[("held_load", 100)]);
            let task = run_alone(&mut m, &normal(nice));
            m.ticks_at_once(0, 240);
            m.timers_for(SECOND);
            assert_eq!(estcpu(&m, task), 160);
            m.timers_for(SECOND);
            assert_eq!(estcpu(&m, task), 106);
        }
    }
}

#[test]
fn nine_tenths_are_forgotten_in_five_times_the_load() {
    // ln 0.1 / ln (2 L / (2 L + 1)), as the source tabulates it.
    for name in VARIANTS {
        for (load, seconds) in [(1, 5.68), (2, 10.32), (3, 14.94), (4, 19.55)] {
            let took = seconds_to_a_tenth(name, load);
            assert!(
                (took - seconds).abs() < 0.01,
                "{name}, load {load}: {took} s"
            );
        }
    }
}

#[test]
fn children_inherit_usage_and_return_theirs() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[]);
        let parent = run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, 120);
        let child = m.fork(0, &normal(0));
        assert_eq!(estcpu(&m, child), 120);
        m.enqueue(child, enq::NEW);
        assert_eq!(m.block(0), Some(child));
        m.wake(parent);
        assert_eq!(m.die(0), Some(parent));
        m.reap(child, parent);
        assert_eq!(estcpu(&m, parent), 240);
        crate::bsd::double_estcpu(&mut m);
        assert_eq!(estcpu(&m, parent), 295); // not 480
    }
}

#[test]
fn who_ran_in_the_last_second_is_awake_in_5_x() {
    // It sleeps at each pass but ran before the first: only from the second on does 5.x count.
    for (name, counted) in [("bsd4:5.x", [0, 1, 2]), ("bsd4:4.x", [1, 2, 3])] {
        let mut m = Machine::new(name, 1, &[]);
        let task = run_alone(&mut m, &normal(0));
        m.block(0);
        for slptime in counted {
            m.timers_for(SECOND);
            assert_eq!(proc_of(&m, task).slptime, slptime, "{name}");
        }
    }
}

#[test]
fn the_load_average_knows_no_disk_waits_and_samples_at_random() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[("load_jitter_ms", 0)]);
        run_alone(&mut m, &normal(0));
        m.wait_for_disk(0);
        run_alone(&mut m, &normal(0));
        m.timers_for(5 * SECOND);
        assert_eq!(load(&m), 164, "{name}"); // one task: 2048 * 164 / 2048

        // Every 4 to 6 s otherwise: in 600 s, 100 to 150 times; and not by the clock.
        let mut m = Machine::new(name, 1, &[]);
        m.timers_for(600 * SECOND);
        let samples = m.host.counters()[3];
        assert!(
            (100..=150).contains(&samples) && samples != 120,
            "{samples}"
        );
    }
}

#[test]
fn who_wakes_is_queued_at_a_kernel_priority() {
    for (name, disk, other, user) in [("bsd4:5.x", 19, 23, 45), ("bsd4:4.x", 36, 40, 44)] {
        let mut m = Machine::new(name, 1, &[]);
        let reader = run_alone(&mut m, &normal(0));
        m.wait_for_disk(0);
        let sleeper = run_alone(&mut m, &normal(0));
        m.block(0);
        let hog = run_alone(&mut m, &normal(0));
        assert_eq!(m.wake(sleeper), [0]);
        m.wake(reader);
        assert_eq!(queues(&m), [(disk, vec![reader]), (other, vec![sleeper])]);
        assert_eq!(m.schedule(0), Some(reader));
        assert_eq!(m.schedule(0), Some(sleeper));
        assert_eq!(queues(&m), [(user, vec![hog, reader])], "{name}");
    }
}

#[test]
fn four_x_compares_queues() {
    // A woken task is at 32 in 4.x.  Against 34 (nice -8) that is less than a queue's four points, against
    // 36 (nice -7) it is not.  In 5.x one point is enough, and 92 is better than all user priorities.
    let table = [
        ("bsd4:4.x", -8, false),
        ("bsd4:4.x", -7, true),
        ("bsd4:5.x", -20, true),
    ];
    for (name, nice, preempts) in table {
        let mut m = Machine::new(name, 1, &[]);
        let sleeper = run_alone(&mut m, &normal(0));
        m.block(0);
        run_alone(&mut m, &normal(nice));
        let asked = m.wake(sleeper);
        assert_eq!(!asked.is_empty(), preempts, "{name}, nice {nice}");
    }
}

#[test]
fn interrupts_rotate_in_5_x() {
    // A timer of CPU 0 wakes a task for CPU 1; the thread that saw to it leaves CPU 0's behind its equals.
    for (name, rotates) in [("bsd4:5.x", true), ("bsd4:4.x", false)] {
        let mut m = Machine::new(name, 2, &[]);
        let pinned = m.pinned(1, 0);
        let elsewhere = m.add(&pinned);
        let hog = run_alone(&mut m, &normal(0));
        let equal = m.pinned(0, 0);
        let equal = m.start(&equal);
        let asked = m.from(0).enqueue(elsewhere, IRQ);
        assert_eq!(asked, if rotates { vec![0, 1] } else { vec![1] }, "{name}");
        assert_eq!(m.schedule(1), Some(elsewhere));
        if rotates {
            assert_eq!(m.schedule(0), Some(equal));
            assert_eq!(queues(&m), [(45, vec![hog])]);
        }
    }
}

#[test]
fn yield_goes_behind_equals_or_to_the_worst() {
    // Nice 19 is at 199: worse than 180, better than 223.
    for worst in [0, 1] {
        let mut m = Machine::new("bsd4", 1, &[("yield_to_worst", worst)]);
        let yielding = run_alone(&mut m, &normal(0));
        let nice = m.start(&normal(19));
        let next = if worst == 1 { nice } else { yielding };
        assert_eq!(m.yields(0), Some(next));
        let queued = if worst == 1 {
            (55, yielding)
        } else {
            (49, nice)
        };
        assert_eq!(queues(&m), [(queued.0, vec![queued.1])]);
    }
    // At the next pass it is at its user priority again.
    let mut m = Machine::new("bsd4", 1, &[("yield_to_worst", 1)]);
    let yielding = run_alone(&mut m, &normal(0));
    m.start(&normal(19));
    m.yields(0);
    m.timers_for(SECOND);
    assert_eq!(queues(&m), [(45, vec![yielding])]);
}

#[test]
fn renicing_is_seen_at_the_next_pass() {
    let mut m = Machine::new("bsd4", 1, &[]);
    let running = run_alone(&mut m, &normal(0));
    let waiting = m.start(&normal(0));
    m.set_nice(waiting, -10);
    assert_eq!(priorities(&m, waiting), (180, 170));
    assert_eq!(queues(&m), [(45, vec![waiting])]);
    m.timers_for(SECOND);
    assert_eq!(queues(&m), [(42, vec![waiting])]);
    assert_eq!(m.running(0), Some(running));
}

#[test]
fn an_idle_cpu_takes_who_wakes() {
    let mut m = Machine::new("bsd4", 2, &[]);
    let sleeper = m.add(&on_cpu(0, 0));
    run_alone(&mut m, &normal(0));
    assert_eq!(m.from(0).wake(sleeper), [1]);
    assert_eq!(m.timers_for(100 * MS), [0]);
}
