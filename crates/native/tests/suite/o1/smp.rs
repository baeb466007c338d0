//! Several CPUs: where tasks wake up, and how load is balanced.
//!
//! A load is 128 times the queue's length.  At each tick 2.6.11 averages it with the past load,
//! half and half.  The own load is the maximum, another CPU's the minimum of average and queue.

use crate::o1::kernel::{normal, on, Kernel, MS};
use schedlab_policy::{enq, NewTask};
use schedlab_trace::TaskId;

/// cpu_flags of 2.6.11 without SD_LOAD_BALANCE: no balancing but by newly idle CPUs.
const NEWIDLE_ONLY: (&str, i64) = ("cpu_flags", 118);

fn start(k: &mut Kernel, lengths: &[u32]) -> Vec<TaskId> {
    let cpus = (0..).zip(lengths);
    let each = cpus.flat_map(|(cpu, &n)| (0..n).map(move |_| cpu));
    each.collect::<Vec<u32>>()
        .into_iter()
        .map(|cpu| k.start(on(cpu)))
        .collect()
}

/// Queue lengths after a while of hogs that start so; and how many tasks moved.
fn settled(variant: &str, lengths: &[u32]) -> (Vec<usize>, u64) {
    let mut k = Kernel::smp(variant, lengths.len() as u32, &[]);
    start(&mut k, lengths);
    k.after(3000 * MS);
    (k.lengths(), k.counter("balance_moves"))
}

// ---- find_busiest_group() ---------------------------------------------------------

#[test]
fn a_quarter_more_is_balanced() {
    for variant in ["2.6.10", "2.6.11", "2.6.13"] {
        // 100 * 5 <= 125 * 4
        assert_eq!(settled(variant, &[5, 4]), (vec![5, 4], 0), "{variant}");
        // 100 * 10 <= 125 * 8, though a whole task is out of balance.
        assert_eq!(settled(variant, &[10, 8]), (vec![10, 8], 0), "{variant}");
        // 100 * 6 > 125 * 4, and min(6 - 5, 5 - 4) = 1 moves.
        assert_eq!(settled(variant, &[6, 4]), (vec![5, 5], 1), "{variant}");
        // min(7 - 5, 5 - 3) = 2
        assert_eq!(settled(variant, &[7, 3]), (vec![5, 5], 2), "{variant}");
    }
}

#[test]
fn neither_side_crosses_the_average() {
    // Average 5.  CPU 1 takes min(9 - 5, 5 - 3) = 2; then CPU 2 min(7 - 5, 5 - 3) = 2.
    for variant in ["2.6.11", "2.6.13"] {
        assert_eq!(
            settled(variant, &[9, 3, 3]),
            (vec![5, 5, 5], 4),
            "{variant}"
        );
    }
}

#[test]
fn less_than_a_task_moves_for_a_difference_of_two_only() {
    for variant in ["2.6.11", "2.6.13"] {
        // Average 1.5: half a task is out of balance; 2 - 1 is less than two.
        assert_eq!(settled(variant, &[2, 1]), (vec![2, 1], 0), "{variant}");
        assert_eq!(
            settled(variant, &[2, 1, 1, 1]),
            (vec![2, 1, 1, 1], 0),
            "{variant}"
        );
        // Average 1.5, min(3 - 1.5, 1.5 - 1) = 0.5, but 3 - 1 is two.
        let (mut lengths, moves) = settled(variant, &[3, 1, 1, 1]);
        lengths.sort_unstable();
        assert_eq!((lengths, moves), (vec![1, 1, 2, 2], 1), "{variant}");
    }
}

#[test]
fn idle_cpus_get_work() {
    for variant in ["2.6.11", "2.6.13"] {
        assert_eq!(settled(variant, &[4, 0, 0, 0]).0, [1, 1, 1, 1], "{variant}");
        assert_eq!(settled(variant, &[2, 0]).0, [1, 1], "{variant}");
    }
}

#[test]
fn nodes_share_as_well() {
    for variant in ["2.6.11", "2.6.13"] {
        let mut k = Kernel::new(variant, &[(0, 0), (1, 0), (2, 1), (3, 1)], &[]);
        start(&mut k, &[8]);
        k.after(3000 * MS);
        assert_eq!(k.lengths(), [2, 2, 2, 2], "{variant}");
    }
}

#[test]
fn a_node_counts_by_its_cpus() {
    // One CPU here, three there: load is measured per power.
    for variant in ["2.6.11", "2.6.13"] {
        let mut k = Kernel::new(variant, &[(0, 0), (1, 1), (2, 1), (3, 1)], &[]);
        start(&mut k, &[8]);
        k.after(3000 * MS);
        assert_eq!(k.lengths(), [2, 2, 2, 2], "{variant}");
    }
}

#[test]
fn a_thousand_cpus() {
    let mut k = Kernel::smp("2.6.11", 1024, &[]);
    start(&mut k, &[3]);
    k.ticks(8);
    let busy: usize = k.lengths().iter().sum();
    assert_eq!(busy, 3);
    assert_eq!(k.lengths().iter().max(), Some(&1));
}

// ---- move_tasks() ---------------------------------------------------------------------

#[test]
fn expired_tasks_move_first_the_last_of_them() {
    // At 250 ms A and B have expired, C runs, D waits.  A newly idle CPU takes B.
    let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
    let tasks = start(&mut k, &[4, 1]);
    k.after(250 * MS + MS / 2).from(1).block();
    assert_eq!(k.curr(1), Some(tasks[1]));
    assert_eq!(k.lengths(), [3, 1]);
    assert_eq!(k.counter("balance_moves"), 1);
}

#[test]
fn of_active_tasks_the_last_moves() {
    let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
    let tasks = start(&mut k, &[3, 1]);
    k.after(50 * MS).from(1).block();
    assert_eq!(k.curr(1), Some(tasks[2]));
}

#[test]
fn of_several_priorities_the_best_moves() {
    let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
    let nice = |nice| NewTask { nice, ..on(0) };
    k.start(nice(-5));
    let better = k.start(nice(0));
    k.start(nice(5));
    k.start(on(1));
    k.after(50 * MS).from(1).block();
    assert_eq!(k.curr(1), Some(better));
}

#[test]
fn affinity_is_respected() {
    let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
    let cpu_set = k.host.add_cpu_set(&[0]);
    k.start(on(0));
    let free = k.start(on(0));
    k.start(NewTask { cpu_set, ..on(0) });
    k.start(on(1));
    k.after(50 * MS).from(1).block();
    assert_eq!(k.curr(1), Some(free), "not the last one, which must stay");
}

#[test]
fn a_pulled_task_stays_active_or_expired() {
    // Averages converge while three attempts find balance, so the interval is 256 ticks and CPU 1
    // (500 ahead) balances next at tick 204.  A and B have expired then: B moves, expired still.
    let mut k = Kernel::smp("2.6.11", 2, &[]);
    let tasks = start(&mut k, &[3, 1]);
    k.ticks(203);
    assert_eq!(k.counter("balance_moves"), 0);
    k.ticks(1);
    assert_eq!(k.lengths(), [2, 2]);
    assert_eq!(k.cpu_of(tasks[1]), 1);
    assert_eq!(k.curr(1), Some(tasks[3]));
    assert_ne!(k.state(tasks[1]).array, k.state(tasks[3]).array);
}

/// CPU 0 has A and B, CPU 1 a task that blocks `us` after A's slice ended at 100 ms.  On return
/// the newly idle CPU 1 has looked for work.
fn blocked_after_expiry(us: u64, set: &[(&str, i64)]) -> Kernel {
    let mut k = Kernel::smp("2.6.11", 2, set);
    start(&mut k, &[2, 1]);
    k.after(100 * MS + us * 1000).from(1).block();
    k
}

#[test]
fn a_cache_hot_task_is_left_alone() {
    // Hot: it ran within 2.5 ms before the last tick.
    assert_eq!(blocked_after_expiry(500, &[]).lengths(), [2, 0]);
    assert_eq!(
        blocked_after_expiry(2_500, &[]).lengths(),
        [2, 0],
        "2 ms before the tick"
    );
    assert_eq!(blocked_after_expiry(3_000, &[]).lengths(), [1, 1]);
    assert_eq!(
        blocked_after_expiry(500, &[("cpu_cache_hot_us", 0)]).lengths(),
        [1, 1]
    );
}

#[test]
fn a_child_is_as_hot_as_its_parent() {
    // The parent last stopped, for an instant, at 99.5 ms: 1.5 ms before CPU 1's last tick.
    let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
    start(&mut k, &[1, 1]);
    k.after(99 * MS + MS / 2).from(0).yields();
    k.after(MS).fork(normal());
    k.after(MS).from(1).block();
    assert_eq!(k.lengths(), [2, 0]);
}

#[test]
fn an_idle_cpu_pulls_hot_tasks_up_to_2_6_12() {
    let mut k = blocked_after_expiry(500, &[]);
    assert_eq!(k.ticks(1).lengths(), [1, 1]);
}

#[test]
fn failures_to_balance_make_hot_tasks_move() {
    // 50 ms hot.  Ticks 101 and 102 fail; then nr_balance_failed 2 exceeds cache_nice_tries 1.
    let set = [("cpu_cache_hot_us", 50_000), ("idle_ignores_cache", 0)];
    let mut k = blocked_after_expiry(500, &set);
    assert_eq!(k.ticks(2).lengths(), [2, 0]);
    assert_eq!(k.ticks(1).lengths(), [1, 1]);
    let set = [
        ("cpu_cache_hot_us", 50_000),
        ("idle_ignores_cache", 0),
        ("cpu_cache_nice_tries", 2),
    ];
    let mut k = blocked_after_expiry(500, &set);
    assert_eq!(k.ticks(3).lengths(), [2, 0]);
    assert_eq!(k.ticks(1).lengths(), [1, 1]);
}

#[test]
fn newly_idle_2_6_13_goes_by_load_alone() {
    // 2 against an average of 1 that has just become 0: half a task is out of balance, no move.
    // 2.6.11 pulls nevertheless; 2.6.13 at the next tick, when its load index 1 shows the idling.
    let lengths = |variant| {
        let mut k = Kernel::smp(variant, 2, &[]);
        start(&mut k, &[2, 1]);
        k.after(50 * MS + MS / 2).from(1).block();
        (k.lengths(), k.ticks(1).lengths())
    };
    assert_eq!(lengths("2.6.11"), (vec![1, 1], vec![1, 1]));
    assert_eq!(lengths("2.6.13"), (vec![2, 0], vec![1, 1]));
}

// ---- active balancing --------------------------------------------------------------------

#[test]
fn the_running_task_is_pushed_when_nothing_else_may_move() {
    // CPU 0 runs A; B waits but must stay.  CPU 1 fails to balance; with more than
    // cache_nice_tries + 2 = 3 failures it has A pushed.  2.6.11 sees 128 at the first tick, no
    // imbalance, and fails at ticks 2 to 5; 2.6.13's load index 1 shows 256 at once: 1 to 4.
    for (variant, ticks) in [("2.6.11", 5), ("2.6.13", 4)] {
        let mut k = Kernel::smp(variant, 2, &[]);
        let cpu_set = k.host.add_cpu_set(&[0]);
        let a = k.start(on(0));
        let b = k.start(NewTask { cpu_set, ..on(0) });
        k.ticks(ticks - 1);
        assert_eq!(k.lengths(), [2, 0], "{variant}");
        k.ticks(1);
        assert_eq!((k.curr(0), k.curr(1)), (Some(b), Some(a)), "{variant}");
        assert_eq!(k.counter("active_balance"), 1);
    }
}

/// In which of the first ticks does CPU 1 ask for active balancing, in vain?
fn kicks(variant: &str) -> Vec<u64> {
    let mut k = Kernel::smp(variant, 2, &[("max_pinned_interval_ms", 0)]);
    let cpu_set = k.host.add_cpu_set(&[0]);
    k.start(NewTask { cpu_set, ..on(0) });
    k.start(NewTask { cpu_set, ..on(0) });
    let mut kicked = |tick| {
        let before = k.counter("active_balance");
        (k.ticks(1).counter("active_balance") > before).then_some(tick)
    };
    (1..=11).filter_map(&mut kicked).collect()
}

#[test]
fn active_balancing_is_asked_for_again() {
    // 2.6.11 goes back to cache_nice_tries failures: three more make 4.  2.6.13 to one more: two.
    assert_eq!(kicks("2.6.11"), [5, 8, 11]);
    assert_eq!(kicks("2.6.13"), [4, 6, 8, 10]);
}

#[test]
fn balance_forgives_failures_from_2_6_13() {
    // A runs on CPU 0 and B must stay.  After three failed ticks A sleeps and B is alone: balanced
    // at the next tick.  A returns: four more failures, not one, until it is pushed.
    let mut k = Kernel::smp("2.6.13", 2, &[]);
    let cpu_set = k.host.add_cpu_set(&[0]);
    let a = k.start(NewTask { nice: -10, ..on(0) });
    k.start(NewTask { cpu_set, ..on(0) });
    k.ticks(3);
    assert_eq!(k.block(), a);
    k.ticks(1).wake(a);
    assert_eq!(k.settle().curr(0), Some(a));
    assert_eq!(k.ticks(3).lengths(), [2, 0]);
    assert_eq!(k.ticks(1).lengths(), [1, 1]);
}

#[test]
fn a_failed_balance_adds_a_millisecond_in_2_6_11() {
    // CPU 1, 500 ticks behind, finds balance at once and fails from then on, 2, 3, 4... ms apart:
    // 1 + 2 + ... + 54 = 1485 of the 1500 ticks due.  CPU 0 finds balance after 64, 128, 256 and 512.
    let mut k = Kernel::smp("2.6.11", 2, &[("cpu_max_interval_ms", 100)]);
    let cpu_set = k.host.add_cpu_set(&[0]);
    k.start(NewTask { cpu_set, ..on(0) });
    k.start(NewTask { cpu_set, ..on(0) });
    k.ticks(1000);
    assert_eq!(k.counter("balance_attempts"), 54 + 4);
}

#[test]
fn a_lone_task_leaves_a_busy_core_for_an_idle_one() {
    // CPUs 0 and 2 are siblings, as are 1 and 3.  Two siblings have a power of 140: the busy core's
    // load is 256 * 128 / 140 = 234, the average 117: a task too much.
    for variant in ["2.6.11", "2.6.13"] {
        let mut k = Kernel::new(variant, &[(0, 0), (1, 0), (0, 0), (1, 0)], &[]);
        start(&mut k, &[1, 0, 1, 0]);
        k.ticks(20);
        let lengths = k.lengths();
        assert_eq!(lengths[0] + lengths[2], 1, "{variant}: {lengths:?}");
        assert_eq!(lengths[1] + lengths[3], 1, "{variant}: {lengths:?}");
        assert_eq!(k.counter("active_balance"), 1, "{variant}");
    }
}

#[test]
fn balancing_backs_off_while_all_are_pinned_from_2_6_13() {
    let attempts = |max_pinned| {
        let mut k = Kernel::smp("2.6.13", 2, &[("max_pinned_interval_ms", max_pinned)]);
        let cpu_set = k.host.add_cpu_set(&[0]);
        k.start(NewTask { cpu_set, ..on(0) });
        k.start(NewTask { cpu_set, ..on(0) });
        k.after(10_000 * MS);
        assert_eq!(k.lengths(), [2, 0]);
        (k.counter("balance_attempts"), k.counter("active_balance"))
    };
    // 512 ms apart, but for some hundred at the start (CPU 1 is 125 ticks behind its schedule);
    // otherwise in every tick of 4 ms, 2500 of them, asking in vain for active balancing.
    let (few, none) = attempts(512);
    assert!(few < 300 && none == 0, "{few}, {none}");
    let (many, vain) = attempts(0);
    assert!(many > 2400 && vain > 0, "{many}, {vain}");
}

// ---- wakeups --------------------------------------------------------------------------------

/// Where a task that last ran on CPU 0 wakes after so long, woken on CPU 1.
fn wakes_on(variant: &str, lengths: &[u32], ns: u64, flags: u32, set: &[(&str, i64)]) -> u32 {
    let mut k = Kernel::smp(variant, lengths.len() as u32, set);
    start(&mut k, lengths);
    let task = k.sleeper(normal());
    k.after(ns).from(1).enqueue(task, enq::WAKEUP | flags);
    k.cpu_of(task)
}

#[test]
fn wakeups_of_2_6_11() {
    let cpu = |lengths: &[u32], ns, flags| wakes_on("2.6.11", lengths, ns, flags, &[NEWIDLE_ONLY]);
    let cold = 10 * MS + MS / 2;
    let hot = MS + MS / 2;
    assert_eq!(cpu(&[1, 1], cold, 0), 1, "cache-cold: to the waker");
    assert_eq!(cpu(&[1, 1], hot, 0), 0, "hot: 137 * 128 > 100 * 64");
    // After one tick the averages are half the queue: 256 / 2 and 384 / 2.
    assert_eq!(cpu(&[2, 1], hot, 0), 0, "hot: 137 * 128 > 100 * 128");
    assert_eq!(cpu(&[3, 1], hot, 0), 1, "hot: 137 * 128 <= 100 * 192");
    assert_eq!(
        cpu(&[5, 2], hot, 0),
        0,
        "hot: 137 * 256 > 100 * 320, though not 125 * 256"
    );
    assert_eq!(
        cpu(&[0, 1], cold, 0),
        0,
        "not from an idle CPU to a busy one"
    );
    assert_eq!(
        cpu(&[0, 1], cold, enq::SYNC),
        1,
        "unless the waker is about to sleep"
    );
}

#[test]
fn wakeups_of_2_6_13() {
    let cpu =
        |lengths: &[u32], flags| wakes_on("2.6.13", lengths, 41 * MS, flags, &[("cpu_flags", 38)]);
    assert_eq!(cpu(&[1, 1], 0), 0, "1 + 1 > 1, 100 * 2 > 112 * 1");
    assert_eq!(cpu(&[2, 1], 0), 1, "100 * 2 <= 112 * 2");
    assert_eq!(cpu(&[1, 1], enq::SYNC), 1, "0 <= 1, 0 + 1 <= 1");
    assert_eq!(cpu(&[0, 1], 0), 0, "1 > 0, 100 * 2 > 0");
    assert_eq!(cpu(&[0, 1], enq::SYNC), 1, "0 <= 0, 0 + 0 <= 1");
}

#[test]
fn passive_balancing_of_2_6_13_where_it_is_on() {
    // SD_WAKE_BALANCE without SD_WAKE_AFFINE, as between nodes: 112 * ours <= 100 * theirs.
    let cpu = |lengths: &[u32]| wakes_on("2.6.13", lengths, 41 * MS, 0, &[("cpu_flags", 66)]);
    assert_eq!(cpu(&[1, 1]), 0);
    assert_eq!(cpu(&[2, 1]), 1);
}

#[test]
fn wake_idle_avoids_a_busy_cpu() {
    // Cold, so it would go to CPU 1, which is busy; CPU 2 idles.
    let cpu = |mode| {
        let set = [NEWIDLE_ONLY, ("wake_idle", mode)];
        wakes_on("2.6.11", &[1, 1, 0], 10 * MS + MS / 2, 0, &set)
    };
    assert_eq!(cpu(0), 1);
    assert_eq!(cpu(1), 1, "built for SMT machines only");
    assert_eq!(cpu(2), 2);
    // On an SMT machine: core 0 has CPUs 0 and 2, core 1 has 1 and 3.  The waker's sibling idles.
    let mut k = Kernel::new("2.6.11", &[(0, 0), (1, 0), (0, 0), (1, 0)], &[NEWIDLE_ONLY]);
    start(&mut k, &[1, 1, 0, 0]);
    let task = k.sleeper(normal());
    k.after(10 * MS + MS / 2).from(1).wake(task);
    assert_eq!(k.cpu_of(task), 3);
}

#[test]
fn sync_spares_the_waker_on_its_own_cpu_only() {
    let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
    let cpu_set = k.host.add_cpu_set(&[0]);
    start(&mut k, &[1, 1]);
    let task = k.sleeper(NewTask { cpu_set, ..on(0) });
    k.after(20 * MS);
    assert_eq!(k.from(1).enqueue(task, enq::WAKEUP | enq::SYNC), [0]);
}

#[test]
fn granularity_grows_with_the_cpus() {
    // Two tasks with full bonus on CPU 0 of 4: pieces of 4 * 10 ms.
    let mut k = Kernel::smp("2.6.11", 4, &[("initial_sleep_avg_ms", 1000)]);
    let cpu_set = k.host.add_cpu_set(&[0]);
    k.start(NewTask { cpu_set, ..on(0) });
    k.start(NewTask { cpu_set, ..on(0) });
    assert_eq!(k.ticks_to_switch(1000), 40);
}

// ---- fork and exec ------------------------------------------------------------------------------

#[test]
fn exec_of_2_6_11_leaves_company_only() {
    let exec = |cpu, lengths: &[u32]| {
        let mut k = Kernel::smp("2.6.11", 2, &[NEWIDLE_ONLY]);
        start(&mut k, lengths);
        k.after(20 * MS).from(cpu).exec_cpu()
    };
    assert_eq!(exec(0, &[1, 0]), 0, "alone");
    assert_eq!(exec(0, &[2, 0]), 1, "112 * 0 < 100 * (2 + 1)");
    assert_eq!(exec(0, &[2, 3]), 0, "the least loaded CPU is this one");
    // Of equals the first is the least loaded, and 112 * 2 < 100 * (2 + 1).
    assert_eq!(exec(0, &[2, 2]), 0);
    assert_eq!(exec(1, &[2, 2]), 0);
    assert_eq!(exec(1, &[9, 8]), 1, "itself");
    assert_eq!(exec(1, &[9, 9]), 1, "112 * 9 > 100 * (9 + 1)");
}

#[test]
fn exec_of_2_6_13_compares_what_is() {
    let exec = |lengths: &[u32]| {
        let mut k = Kernel::smp("2.6.13", 2, &[("cpu_flags", 38)]);
        start(&mut k, lengths);
        k.after(20 * MS).exec_cpu()
    };
    assert_eq!(exec(&[1, 0]), 1, "100 * 1 >= 112 * 0");
    assert_eq!(exec(&[1, 1]), 0, "100 * 1 < 112 * 1");
    assert_eq!(exec(&[2, 1]), 1, "100 * 2 >= 112 * 1");
}

#[test]
fn fork_balances_between_nodes_from_2_6_13() {
    let child_on = |variant| {
        let mut k = Kernel::new(variant, &[(0, 0), (1, 0), (2, 1), (3, 1)], &[]);
        k.start(on(0));
        let child = k.fork(NewTask { mm: 2, ..normal() });
        k.cpu_of(child)
    };
    assert_eq!(child_on("2.6.11"), 0);
    assert_eq!(child_on("2.6.13"), 2);
    // Within the less loaded node the idle CPU: 100 * 2 >= 112 * 1.
    let mut k = Kernel::new("2.6.13", &[(0, 0), (1, 0), (2, 1), (3, 1)], &[]);
    start(&mut k, &[1, 1, 1]);
    k.ticks(1);
    let child = k.fork(NewTask { mm: 2, ..normal() });
    assert_eq!(k.cpu_of(child), 3);
}

#[test]
fn a_child_on_another_cpu_is_queued_there() {
    let mut k = Kernel::new("2.6.13", &[(0, 0), (1, 1)], &[]);
    let parent = k.start(on(0));
    let child = k.fork(NewTask { mm: 2, ..normal() });
    assert_eq!(k.asked(), [1]);
    k.settle();
    assert_eq!((k.curr(0), k.curr(1)), (Some(parent), Some(child)));
}

#[test]
fn affinity_set_later_decides_where_a_task_wakes() {
    let mut k = Kernel::smp("2.6.11", 4, &[]);
    let task = k.sleeper(on(0));
    let cpu_set = k.host.add_cpu_set(&[2, 3]);
    k.host.set_cpus(task, cpu_set).unwrap();
    k.wake(task);
    assert_eq!(k.cpu_of(task), 2, "the lowest allowed");
}
