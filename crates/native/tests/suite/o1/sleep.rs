//! Sleep average, bonus and priority.

use crate::o1::kernel::{nice, normal, Kernel, MS};
use crate::o1::{slept, up, DISK, IRQ};
use schedlab_policy::{enq, NewTask};

#[test]
fn bonus_is_a_tenth_of_the_sleep_average() {
    // CURRENT_BONUS = sleep_avg * 10 / 1000 ms; prio = 120 - (bonus - 5).
    for (ms, bonus) in [(0, 0), (99, 0), (100, 1), (549, 5), (999, 9), (1000, 10)] {
        let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", ms)]);
        let task = k.start(normal());
        assert_eq!(k.state(task).bonus, bonus, "{ms} ms");
        assert_eq!(k.prio(task), 125 - bonus as i32, "{ms} ms");
    }
}

#[test]
fn priority_stays_within_100_and_139() {
    let mut k = Kernel::up("2.6.11", &[]);
    let hog = k.start(nice(19)); // 139 + 5
    assert_eq!(k.prio(hog), 139);
    let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", 1000)]);
    let best = k.start(nice(-20)); // 100 - 5
    assert_eq!(k.prio(best), 100);
}

#[test]
fn at_250_hz_the_bonus_counts_jiffies() {
    // MAX_SLEEP_AVG is 250 jiffies: 24 jiffies * 10 / 250 = 0, 25 * 10 / 250 = 1.
    for (sleep_us, bonus) in [(9_999, 0), (10_000, 1)] {
        let mut k = Kernel::up("2.6.13", &[]);
        k.start(nice(-20)); // keeps the sleeper's wait from being credited
        let task = slept(&mut k, normal(), sleep_us * 1000, enq::WAKEUP); // ten times that
        assert_eq!(k.state(task).bonus, bonus, "{sleep_us} us");
    }
}

#[test]
fn a_short_sleep_counts_by_ten_minus_the_bonus() {
    let mut k = up();
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 20 * MS, enq::WAKEUP);
    // 20 ms * (10 - 0)
    assert_eq!(k.state(task).sleep_avg, 200 * MS);
    assert_eq!(k.prio(task), 123);
    assert_eq!(k.state(task).activated, 1);
    let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", 650)]);
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 20 * MS, IRQ);
    // 650 + 20 * (10 - 6) = 730
    assert_eq!(k.state(task).sleep_avg, 730 * MS);
    assert_eq!(k.state(task).activated, 2);
    let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", 1000)]);
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 20 * MS, IRQ);
    assert_eq!(k.state(task).sleep_avg, 1000 * MS, "the cap");
}

#[test]
fn interactive_sleep_by_nice() {
    // 1000 * (5 + DELTA + 1) / 10 - 1 ms, DELTA = nice * 10 / 40 + 2 truncated toward 0.  One ns
    // more makes 900 ms of any sleep_avg; up to it ten times the sleep counts, here to the cap.
    let table = [
        (-20, 299), // DELTA -3
        (-10, 599), // 0
        (-5, 699),  // -1 + 2
        (-1, 799),  // -10/40 = 0
        (0, 799),
        (5, 899),
        (10, 999),
    ];
    for (level, ms) in table {
        let mut k = up();
        k.start(nice(-20));
        let at = slept(&mut k, nice(level), ms * MS, enq::WAKEUP);
        assert_eq!(k.state(at).sleep_avg, 1000 * MS, "nice {level}");
        let mut k = up();
        k.start(nice(-20));
        let above = slept(&mut k, nice(level), ms * MS + 1, enq::WAKEUP);
        assert_eq!(k.state(above).sleep_avg, 900 * MS, "nice {level}");
    }
}

#[test]
fn no_sleep_is_long_at_nice_15_and_19() {
    // 1099 and 1199 ms exceed the second a sleep counts at most.
    for level in [15, 19] {
        let mut k = up();
        k.start(nice(-20));
        let task = slept(&mut k, nice(level), 5000 * MS, enq::WAKEUP);
        assert_eq!(k.state(task).sleep_avg, 1000 * MS, "nice {level}");
    }
}

#[test]
fn a_long_sleep_can_cost_an_interactive_task() {
    // The 900 ms are not a floor but the result.
    let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", 1000)]);
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 900 * MS, IRQ);
    assert_eq!(k.state(task).sleep_avg, 900 * MS);
}

#[test]
fn uninterruptible_sleep_ends_at_just_interactive() {
    let mut k = up();
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 50 * MS, DISK);
    assert_eq!(
        k.state(task).sleep_avg,
        500 * MS,
        "below the limit it counts"
    );
    assert_eq!(k.state(task).activated, -1);
    let mut k = up();
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 100 * MS, DISK);
    assert_eq!(
        k.state(task).sleep_avg,
        799 * MS,
        "1000 ms would exceed 799"
    );
    let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", 850)]);
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 100 * MS, DISK);
    assert_eq!(
        k.state(task).sleep_avg,
        850 * MS,
        "beyond it nothing is added"
    );
}

#[test]
fn a_long_uninterruptible_sleep_is_no_idling() {
    // 2 s count as 1 s, that times 10, clipped at 799 ms: not the 900 ms of a long sleep.
    let mut k = up();
    k.start(nice(-20));
    let task = slept(&mut k, normal(), 2000 * MS, DISK);
    assert_eq!(k.state(task).sleep_avg, 799 * MS);
}

#[test]
fn kernel_threads_know_neither_limit() {
    for flags in [DISK, IRQ] {
        let mut k = up();
        k.start(nice(-20));
        let kthread = NewTask { mm: 0, ..normal() };
        let task = slept(&mut k, kthread, 2000 * MS, flags);
        assert_eq!(k.state(task).sleep_avg, 1000 * MS);
    }
}

#[test]
fn waiting_after_a_wakeup_counts_as_sleep() {
    // The hog has prio 125.  The sleeper is woken at 1 ms with 10 ms of sleep_avg: prio 125 too,
    // so it waits until the hog's slice ends at 100 ms.
    let waited = |flags| {
        let mut k = up();
        k.start(normal());
        let task = slept(&mut k, normal(), MS, flags);
        assert_eq!(k.asked(), [0; 0]);
        assert_eq!(k.ticks_to_switch(1000), 99);
        assert_eq!(k.state(task).activated, 0);
        k.state(task)
    };
    // Woken by a task: 30 * 128 / 100 = 38, 99 ms * 38 / 128 = 29.390625 ms, times 10.
    assert_eq!(waited(enq::WAKEUP).sleep_avg, 10 * MS + 293_906_250);
    assert_eq!(waited(enq::WAKEUP).prio, 122);
    // By an interrupt: 99 ms in full, times 10.
    assert_eq!(waited(IRQ).sleep_avg, 1000 * MS);
    // From disk: not at all.
    assert_eq!(waited(DISK).sleep_avg, 10 * MS);
}

#[test]
fn the_credited_task_runs_even_if_requeued_behind_others() {
    // A and B wait at prio 125; A, credited, moves to another list and is the one to run.
    let mut k = up();
    k.start(normal());
    let a = slept(&mut k, normal(), MS, enq::WAKEUP);
    let b = k.sleeper(normal());
    k.enqueue(b, enq::WAKEUP); // slept 0 ms
    k.ticks_to_switch(1000);
    assert_eq!(k.curr(0), Some(a));
    assert_eq!(k.prio(b), 125);
}

#[test]
fn running_costs_less_with_a_bonus() {
    let run_10_ms = |variant, ms| {
        let mut k = Kernel::up(variant, &[("initial_sleep_avg_ms", ms)]);
        let task = k.start(normal());
        k.after(10 * MS).block();
        k.state(task).sleep_avg
    };
    assert_eq!(run_10_ms("2.6.11", 1000), 999 * MS, "10 ms / 10");
    assert_eq!(run_10_ms("2.6.11", 550), 548 * MS, "10 ms / 5");
    assert_eq!(run_10_ms("2.6.11", 250), 245 * MS, "10 ms / 2");
    assert_eq!(run_10_ms("2.6.11", 150), 140 * MS, "10 ms / 1");
    assert_eq!(run_10_ms("2.6.11", 50), 40 * MS, "10 ms / max(0, 1)");
    assert_eq!(run_10_ms("2.6.11", 5), 0);
    assert_eq!(
        run_10_ms("2.6.10", 1000),
        990 * MS,
        "divided with HIGH_CREDIT only"
    );
}

/// Yields so often with no sleep_avg that the task has that many credits less.
fn lose_credit(k: &mut Kernel, n: u32) {
    for _ in 0..n {
        k.yields();
    }
}

#[test]
fn low_credit_limits_a_sleep_to_one_slice() {
    let woken = |variant, yields| {
        let mut k = Kernel::up(variant, &[]);
        let task = k.start(normal());
        lose_credit(&mut k, yields);
        assert_eq!(k.running(0), k.block());
        k.after(50 * MS);
        k.wake(task);
        k.state(task)
    };
    // 50 ms * 10 = 500 ms, or 100 ms, the slice, with a credit below -100.  Blocking costs
    // another credit: from -100 it goes to -101, and no further.
    assert_eq!(woken("2.6.10", 100).sleep_avg, 100 * MS);
    assert_eq!(woken("2.6.10", 200).interactive_credit, -101);
    assert_eq!(woken("2.6.10", 99).sleep_avg, 500 * MS);
    assert_eq!(woken("2.6.11", 200).sleep_avg, 500 * MS);
}

#[test]
fn high_credit_lifts_the_limit_on_disk_sleep() {
    // Each sleep of 850 ms is a long one and earns a credit: 101 make HIGH_CREDIT.
    let after_naps = |naps: u32| {
        let mut k = Kernel::up("2.6.10", &[]);
        let task = k.sleeper(normal());
        for _ in 0..naps {
            k.after(850 * MS);
            k.wake(task);
            k.settle().block();
        }
        k.after(100 * MS);
        k.enqueue(task, DISK);
        k.state(task)
    };
    // 900 ms is beyond 799: a disk sleep adds nothing.  With HIGH_CREDIT 100 ms * (10 - 9) = 100.
    assert_eq!(after_naps(100).sleep_avg, 900 * MS);
    assert_eq!(after_naps(101).sleep_avg, 1000 * MS);
}
