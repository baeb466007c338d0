//! The weight of estcpu and nice, the increase of estcpu in a tick and its decay each second.

use super::*;

#[test]
fn priority_is_usage_and_twice_nice() {
    // 50 + 2 * nice with nothing used.
    for (nice, pri) in [(-20, 10), (-5, 40), (0, 50), (1, 52), (19, 88)] {
        let mut m = Machine::new("bsd43", 1, &[]);
        let task = m.add(&normal(nice));
        assert_eq!(m.priority(task), pri, "nice {nice}");
        m.wake(task);
        m.schedule(0);
        m.ticks_at_once(0, 255);
        // 255 / 4 = 63 more, 127 at most.
        assert_eq!(
            m.priority(task),
            (pri + 63).min(127),
            "nice {nice}, 255 ticks"
        );
    }
}

#[test]
fn every_fourth_tick_renews_the_priority() {
    let mut m = Machine::new("bsd43", 1, &[]);
    let task = run_alone(&mut m, &normal(0));
    let waiting = m.start(&normal(0));
    for (ticks, est, pri) in [(3, 3, 50), (1, 4, 51), (3, 7, 51), (1, 8, 52), (4, 12, 53)] {
        // A task whose priority becomes worse than a waiting task's is not preempted for that.
        assert!(!m.ticks_at_once(0, ticks));
        assert_eq!(estcpu(&m, task), est);
        assert_eq!(priorities(&m, task), (pri, pri));
    }
    assert_eq!(priorities(&m, waiting), (50, 50));
}

/// p_cpu is an unsigned char in 4.3BSD; 4.4BSD's p_estcpu is wider and only the pass limits it.
#[test]
fn usage_saturates_at_a_tick_in_4_3_and_at_the_pass_in_4_4() {
    for (name, at_tick) in [("bsd43:4.3", 255), ("bsd43:4.4", 300)] {
        let mut m = Machine::new(name, 1, &[("held_load", 1_000_000)]);
        let task = run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, 300);
        assert_eq!(estcpu(&m, task), at_tick, "{name}");
        m.timers_for(SECOND);
        // 255 * 20000 / 20001, and the limit.
        assert_eq!(
            estcpu(&m, task),
            if at_tick == 255 { 254 } else { 255 },
            "{name}"
        );
    }
}

#[test]
fn a_second_forgets_by_load_and_adds_nice() {
    // Load 1: two thirds stay.  240 -> 160 -> 106 (106.7) -> 70 (70.7); and nice each time:
    // nice 5: 165 -> 115 -> 81 (76.7 + 5); nice -20: 140 -> 73 (93.3 - 20) -> 28 (48.7 - 20).
    for (nice, left) in [
        (0, [160, 106, 70]),
        (5, [165, 115, 81]),
        (-20, [140, 73, 28]),
    ] {
        let mut m = Machine::new("bsd43", 1, &LOAD_1);
        let task = run_alone(&mut m, &normal(nice));
        m.ticks_at_once(0, 240);
        let mut after = || {
            m.timers_for(SECOND);
            estcpu(&m, task)
        };
        assert_eq!([after(), after(), after()], left, "nice {nice}");
    }
}

#[test]
fn usage_stays_between_nothing_and_the_limit() {
    // Load 0 forgets all of it at once; then nice 19 alone remains, and -20 would be below 0.
    for (nice, left) in [(19, 19), (-20, 0)] {
        let mut m = Machine::new("bsd43", 1, &[("held_load", 0)]);
        let task = run_alone(&mut m, &normal(nice));
        m.ticks_at_once(0, 200);
        m.timers_for(SECOND);
        assert_eq!(estcpu(&m, task), left);
    }
    // Load 100: 255 * 200 / 201 = 253, and 19 more.
    let mut m = Machine::new("bsd43", 1, &[("held_load", 10_000)]);
    let task = run_alone(&mut m, &normal(19));
    m.ticks_at_once(0, 255);
    m.timers_for(SECOND);
    assert_eq!(estcpu(&m, task), 255);
}

#[test]
fn a_sum_below_nothing_wraps_only_if_asked_to() {
    // 15 * 2 / 3 - 20 = -10: nothing in 4.3BSD, the greatest unsigned char as 4.4BSD is written.
    for name in VARIANTS {
        for (wraps, left) in [(0, 0), (1, 255)] {
            let mut m = Machine::new(name, 1, &[LOAD_1[0], ("nice_wraps", wraps)]);
            let task = run_alone(&mut m, &normal(-20));
            m.ticks_at_once(0, 15);
            m.timers_for(SECOND);
            assert_eq!(estcpu(&m, task), left);
        }
        assert_eq!(
            Tuned::new(Policy::find("bsd43").unwrap(), Some(&name[6..]), &[])
                .unwrap()
                .get("nice_wraps"),
            Some(0)
        );
    }
}

#[test]
fn nine_tenths_are_forgotten_in_five_times_the_load() {
    // ln 0.1 / ln (2 L / (2 L + 1)), as the sources tabulate it.
    for (load, seconds) in [(1, 5.68), (2, 10.32), (3, 14.94), (4, 19.55)] {
        let took = seconds_to_a_tenth("bsd43:4.4", load);
        assert!((took - seconds).abs() < 0.01, "load {load}: {took} s");
    }
}

#[test]
fn a_sleeper_is_left_out_and_catches_up() {
    // 243 -> 162 at the first pass, which finds it asleep for less than a second.  Four more pass
    // it over (slptime 5), so 5 - 2 = 3 decays are missing: 162 -> 108 -> 72 -> 48.
    let mut m = Machine::new("bsd43", 1, &LOAD_1);
    let task = run_alone(&mut m, &normal(7));
    m.ticks_at_once(0, 243);
    m.block(0);
    m.timers_for(SECOND);
    assert_eq!((estcpu(&m, task), proc_of(&m, task).slptime), (162 + 7, 1));
    m.timers_for(4 * SECOND);
    assert_eq!((estcpu(&m, task), proc_of(&m, task).slptime), (162 + 7, 5));
    // Nice is not added for these: 169 -> 112 -> 74 -> 49.
    m.wake(task);
    assert_eq!((estcpu(&m, task), proc_of(&m, task).slptime), (49, 0));
    // 50 + 12 + 14, but it waits at the kernel priority it slept at.
    assert_eq!(priorities(&m, task), (30, 76));
}

#[test]
fn a_second_asleep_needs_no_catching_up() {
    for passes in [1, 2] {
        let mut m = Machine::new("bsd43", 1, &LOAD_1);
        let task = run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, 240);
        m.block(0);
        m.timers_for(passes * SECOND);
        m.wake(task);
        assert_eq!(
            estcpu(&m, task),
            160,
            "slptime {passes}: {passes} - 2 decays are missing"
        );
    }
}

#[test]
fn sleeping_seconds_are_counted_in_a_char_before_4_4() {
    for (name, seconds) in [("bsd43:4.3", 127), ("bsd43:4.4", 200)] {
        let mut m = Machine::new(name, 1, &[]);
        let task = run_alone(&mut m, &normal(0));
        m.block(0);
        m.timers_for(200 * SECOND);
        assert_eq!(proc_of(&m, task).slptime, seconds);
    }
}

#[test]
fn long_sleeps_do_not_clear_usage_as_4_4_is_written() {
    // Load 1: 12 s asleep are more than 10.  240 -> 160, then 10 decays: 106 70 46 30 20 13 8 5 3 2.
    for (long_sleep, left) in [(0, 2), (1, 2), (2, 0)] {
        let mut m = Machine::new("bsd43:4.4", 1, &[LOAD_1[0], ("long_sleep", long_sleep)]);
        let task = run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, 240);
        m.block(0);
        m.timers_for(12 * SECOND);
        m.wake(task);
        assert_eq!(estcpu(&m, task), left, "long_sleep={long_sleep}");
    }
}
