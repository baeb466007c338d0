//! reschedule_idle(): the CPU that a woken or preempted task interrupts.

use super::*;

// ---- wakeups: reschedule_idle() --------------------------------------------------------------

/// Does a fresh task preempt one of the same nice that has run for this many ticks?
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
        let task = m.pinned(1, 0);
        let task = m.add(&task);
        assert_eq!(m.wake_sync(task), asked, "{name}");
    }
}

// ---- after a switch --------------------------------------------------------------------------

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
        let other = m.pinned(0, 0);
        let other = m.add(&other);
        assert_eq!(m.wake(other), []); // no better than what runs, and forbidden on CPU 1
        assert_eq!(m.yields(0), Some(other), "{name}");
        assert_eq!(m.asked(), asked, "{name}");
    }
}
