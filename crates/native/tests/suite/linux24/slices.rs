//! The length of slices, which task is charged, and how fork, exit and recalculation distribute ticks.

use super::*;

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

/// Two sleepers after this many recalculations; one dies and the other reaps it.
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
