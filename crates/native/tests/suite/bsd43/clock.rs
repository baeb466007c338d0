//! The load average, round robin every 100 ms, and the cost of a pass.

use super::*;

/// The load average in 1/2048 after each of three samples of `nrun` tasks.
///
/// exp(-5/60) * 2048 = 1884.25, of which the kernels keep 1884; 164 of 2048 come in.
fn samples(nrun: u32) -> [u32; 3] {
    let next = |load: u32| (1884 * load + nrun * 2048 * 164) >> 11;
    let first = next(0);
    [first, next(first), next(next(first))]
}

#[test]
fn load_is_sampled_every_five_seconds() {
    assert_eq!(samples(1), [164, 314, 452]); // (1884 * 164 + 335872) / 2048 = 314.9, ...
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[]);
        run_alone(&mut m, &normal(0));
        m.start(&normal(0));
        m.timers_for(5 * SECOND - 1);
        assert_eq!(load(&m), 0);
        m.timers_for(1);
        assert_eq!(load(&m), samples(2)[0]);
        m.timers_for(10 * SECOND);
        assert_eq!(load(&m), samples(2)[2]);
    }
}

#[test]
fn load_comes_to_the_number_of_runnable_tasks() {
    let mut m = Machine::new("bsd43", 1, &[]);
    run_alone(&mut m, &normal(0));
    for _ in 0..3 {
        m.start(&normal(0));
    }
    m.add(&normal(0)); // who is not yet started counts as SIDL does
    let asleep = m.start(&normal(0));
    m.unqueue(asleep);
    m.timers_for(600 * SECOND);
    // 5 tasks; the difference is the error of rounding down: less than 2048 / 164 = 12.5.
    assert!(
        (5 * 2048 - 13..=5 * 2048).contains(&load(&m)),
        "{}",
        load(&m)
    );
}

#[test]
fn disk_waits_are_load() {
    // 4.3BSD counts them for good, 4.4BSD while slptime is at most 1: the sample at 5 s sees a task
    // that sleeps since 4.5 s (one pass), and not one that sleeps since 2.5 s (three).
    for (name, counted) in [("bsd43:4.3", [1, 1]), ("bsd43:4.4", [1, 0])] {
        for (since, counted) in [4500, 2500].into_iter().zip(counted) {
            let mut m = Machine::new(name, 1, &[]);
            run_alone(&mut m, &normal(0));
            m.timers_for(since * MS);
            m.wait_for_disk(0);
            m.timers_for((5000 - since) * MS);
            assert_eq!(load(&m), counted * 164, "{name}, asleep since {since} ms");
        }
    }
}

#[test]
fn kernel_threads_are_no_load() {
    let mut m = Machine::new("bsd43", 1, &[]);
    run_alone(&mut m, &NewTask { mm: 0, ..normal(0) });
    m.timers_for(5 * SECOND);
    assert_eq!(load(&m), 0);
}

#[test]
fn equals_take_turns_every_100_ms() {
    let mut m = Machine::new("bsd43", 1, &[]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    for running in [a, b, c, a, b] {
        assert_eq!(m.schedule(0), Some(running));
        assert_eq!(m.timers_for(100 * MS - 1), [] as [u32; 0]);
        assert_eq!(m.timers_for(1), [0]);
    }
}

#[test]
fn all_cpus_are_nudged_but_idle_ones() {
    let mut m = Machine::new("bsd43", 3, &[]);
    let a = m.start(&normal(0));
    assert_eq!((m.asked(), m.schedule(0)), (vec![0], Some(a)));
    m.from(2).start(&on_cpu(2, 0));
    assert_eq!((m.asked(), nr_idle(&m)), (vec![2], 2));
    m.schedule(2);
    assert_eq!(nr_idle(&m), 1);
    assert_eq!(m.timers_for(100 * MS), [0, 2]);
}

#[test]
fn the_pass_of_a_second_comes_before_the_choice_it_asks_for() {
    // 80 used: 70, queue 17, behind the other's 50 + 14 = 64, queue 16.  The pass leaves 53: 63, queue
    // 15, and adds 7 to the other's nothing: 65.  So the turn of that moment goes to the first.
    let mut m = Machine::new("bsd43", 1, &LOAD_1);
    let hog = run_alone(&mut m, &normal(0));
    let nice = m.start(&normal(7));
    m.ticks_at_once(0, 80);
    assert_eq!((m.priority(hog), m.priority(nice)), (70, 64));
    m.timers_for(900 * MS);
    assert_eq!(m.schedule(0), Some(nice));
    assert_eq!(m.timers_for(100 * MS), [0]);
    assert_eq!((m.priority(hog), m.priority(nice)), (63, 65));
    assert_eq!(m.schedule(0), Some(hog));
}

#[test]
fn a_pass_touches_everybody_asleep_or_not() {
    let mut m = Machine::new("bsd43", 1, &[]);
    let dead = run_alone(&mut m, &normal(0));
    for _ in 0..49 {
        m.add(&normal(0));
    }
    m.work();
    m.timers_for(SECOND);
    let work = m.work();
    assert_eq!((work.recalculations, work.recalculated), (1, 50));
    m.timers_for(4 * SECOND);
    // Four more, and the load average's own walk.
    assert_eq!(m.work().recalculated, 4 * 50 + 50);
    m.die(0);
    m.timers_for(SECOND);
    assert_eq!(m.work().recalculated, 49, "task {dead} is a zombie");
    assert_eq!(m.host.counters()[..2], [6, 6 * 50 - 1]); // second_passes, processes_passed
}
