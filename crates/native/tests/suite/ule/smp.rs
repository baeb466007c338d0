//! Push, pull and hand-off, each separately.

use super::*;
use schedlab_policy::Class;

/// Without push, pull and hand-off, except those in `set`.
fn alone(cpus: u32, set: &[(&str, i64)]) -> Machine {
    let off = [("push", 0), ("pull", 0), ("handoff", 0)];
    let kept = off
        .iter()
        .filter(|(name, _)| !set.iter().any(|(n, _)| n == name));
    let all: Vec<(&str, i64)> = kept.chain(set).copied().collect();
    smp(cpus, &all)
}

/// A machine whose kseqs have these loads; every CPU runs one of its threads.
fn loaded(loads: &[u32], set: &[(&str, i64)]) -> Machine {
    let mut m = alone(loads.len() as u32, set);
    for (cpu, &load) in (0..).zip(loads) {
        for _ in 0..load {
            m.start(&on_cpu(cpu, 0));
        }
        if load > 0 {
            m.schedule(cpu);
        }
    }
    assert_eq!(loads_of(&m), loads);
    m
}

fn loads_of(m: &Machine) -> Vec<u32> {
    (0..m.cpus()).map(|cpu| kseq(m, cpu).load).collect()
}

/// Loads after one round of push migration.
fn pushed(loads: &[u32], rule: i64) -> Vec<u32> {
    let mut m = loaded(loads, &[("push", rule)]);
    m.timer(0);
    loads_of(&m)
}

#[test]
fn push_moves_half_the_difference_rounded_up() {
    assert_eq!(pushed(&[2, 1], 2), [1, 2], "an imbalance of one moves one");
    assert_eq!(pushed(&[1, 1], 2), [1, 1]);
    assert_eq!(pushed(&[1, 0], 2), [1, 0], "the running thread stays");
    assert_eq!(pushed(&[2, 0], 2), [1, 1]);
    assert_eq!(pushed(&[7, 2], 2), [4, 5], "ceil(5 / 2) = 3");
    assert_eq!(
        pushed(&[1, 4, 9, 0], 2),
        [1, 4, 4, 5],
        "the two most unbalanced only"
    );
}

#[test]
fn r3_leaves_an_imbalance_of_one() {
    assert_eq!(pushed(&[2, 1], 3), [2, 1]);
    assert_eq!(pushed(&[3, 1], 3), [2, 2]); // 3 - 1 against 1: one
    assert_eq!(pushed(&[2, 0], 3), [1, 1]);
    assert_eq!(pushed(&[7, 2], 3), [5, 4]); // 6 against 2: two
}

#[test]
fn push_comes_twice_a_second_or_not_at_all() {
    for (push, loads) in [(0, [4, 1]), (2, [2, 3])] {
        let mut m = loaded(&[4, 1], &[("push", push)]);
        assert_eq!(m.next_timer().is_some(), push != 0);
        m.timers_for(600_000_000);
        assert_eq!(loads_of(&m), loads);
    }
}

#[test]
fn push_takes_the_best_waiting_thread_and_respects_affinity() {
    let mut m = alone(2, &[("push", 2)]);
    hog_on(&mut m, 0, 0);
    let pinned = m.pinned(0, 0);
    let pinned = m.start(&pinned); // interactive: better than the other
    let [worse, better] = [5, 0].map(|nice| m.start(&on_cpu(0, nice)));
    m.timer(0); // 4 against 0: two
    assert_eq!(m.asked(), [1], "CPU 1 has something to do");
    assert_eq!(m.host.task(pinned).cpu, 0);
    assert_eq!((m.host.task(worse).cpu, m.host.task(better).cpu), (1, 1));
    assert_eq!(m.schedule(1), Some(better));
}

#[test]
fn r4_pushes_threads_of_the_next_queue_first() {
    for (rule, from_next) in [(2, false), (4, true)] {
        let mut m = alone(2, &[("push", rule)]);
        hog_on(&mut m, 0, 0);
        let expired = m.start(&on_cpu(0, 0));
        m.schedule(0);
        m.ticks(0, 1); // it is a hog, too
        m.schedule(0);
        let fresh = m.start(&on_cpu(0, 0));
        assert_eq!((current(&m, 0), next(&m, 0)), (vec![fresh], vec![expired]));
        run_on(&mut m, 1, &on_cpu(1, 0));
        m.timer(0);
        let moved = if from_next { expired } else { fresh };
        assert_eq!(m.host.task(moved).cpu, 1, "rule {rule}");
    }
}

#[test]
fn an_idle_cpu_pulls_from_the_most_loaded() {
    let mut m = loaded(&[2, 4, 1, 0], &[("pull", 3)]);
    let pulled = m.schedule(3).expect("something to run");
    assert_eq!(loads_of(&m), [2, 3, 1, 1]);
    assert_eq!(m.host.task(pulled).cpu, 3);
    // Without, it idles, and says so.
    let mut m = loaded(&[2, 4, 1, 0], &[]);
    assert_eq!(m.schedule(3), None);
    assert_eq!(kseq(&m, 3).idled, 1);
}

/// After a refused lock the CPU must try again: from R3 on no other CPU notifies it.
#[test]
fn an_idle_cpu_looks_again_after_a_refused_lock() {
    let mut m = loaded(&[2, 0], &[("pull", 3)]);
    assert_eq!(m.refuse_locks(true).schedule(1), None);
    assert_eq!(m.asked(), [1]);
    assert!(m.refuse_locks(false).schedule(1).is_some());
    assert_eq!(loads_of(&m), [1, 1]);
}

#[test]
fn numbers_that_select_no_rule_are_refused() {
    for (name, value) in [
        ("curr_rule", 1),
        ("push", 1),
        ("handoff", 1),
        ("handoff", 2),
    ] {
        let refused = Machine::try_new("ule", 1, &[(name, value)]).err().unwrap();
        assert!(refused.contains(&format!("{name}={value}")), "{refused}");
    }
}

#[test]
fn interrupt_threads_are_pulled_by_r2_only() {
    for (rule, gets_it) in [(2, true), (3, false)] {
        let mut m = alone(2, &[("pull", rule)]);
        let interrupt = |priority| NewTask {
            mm: 0,
            ..real_time(Class::Fifo, priority)
        };
        run_on(&mut m, 0, &interrupt(99));
        let waiting = m.start(&interrupt(1));
        assert_eq!(m.schedule(1), gets_it.then_some(waiting), "rule {rule}");
    }
}

#[test]
fn r4_pulls_from_smt_siblings_only() {
    let mut m = loaded(&[3, 0], &[("pull", 4)]);
    assert_eq!(m.schedule(1), None, "every CPU is a core of its own here");
}

/// Where a sleeper of CPU 0 goes when it wakes; CPU 0 runs something, CPU 1 is idle or not.
fn woken(cpu_1_idles: bool, set: &[(&str, i64)]) -> u32 {
    let mut m = alone(2, set);
    run_on(&mut m, 0, &on_cpu(0, 0));
    let sleeper = m.add(&on_cpu(0, 0));
    if !cpu_1_idles {
        run_on(&mut m, 1, &on_cpu(1, 0));
    }
    m.wake(sleeper);
    m.host.task(sleeper).cpu
}

#[test]
fn a_wakeup_on_a_busy_cpu_is_handed_to_an_idle_one() {
    for rule in [3, 4, 5] {
        assert_eq!(woken(true, &[("handoff", rule)]), 1, "rule {rule}");
        assert_eq!(woken(false, &[("handoff", rule)]), 0, "rule {rule}");
    }
    assert_eq!(woken(true, &[]), 0, "off: affinity sticks");
}

#[test]
fn an_idle_cpu_is_handed_one_thread_only() {
    let mut m = alone(2, &[("handoff", 3)]);
    run_on(&mut m, 0, &on_cpu(0, 0));
    let [a, b] = [0; 2].map(|nice| m.add(&on_cpu(0, nice)));
    m.wake(a);
    m.wake(b); // CPU 1 has not even looked yet, but is marked as taken.
    assert_eq!((m.host.task(a).cpu, m.host.task(b).cpu), (1, 0));
}

#[test]
fn without_other_load_a_thread_wakes_where_it_was() {
    let mut m = alone(4, &[("handoff", 3)]);
    let task = m.add(&on_cpu(2, 0));
    assert_eq!(m.wake(task), [2]);
    assert_eq!(m.host.task(task).cpu, 2);
}

#[test]
fn a_pinned_thread_is_neither_handed_off_nor_pulled() {
    let mut m = smp(2, &[]);
    run_on(&mut m, 0, &on_cpu(0, 0));
    let pinned = m.pinned(0, 0);
    let pinned = m.start(&pinned);
    assert_eq!(m.schedule(1), None);
    assert_eq!(m.host.task(pinned).cpu, 0);
}

#[test]
fn a_thread_that_loses_its_cpu_goes_to_one_it_may_use() {
    let mut m = smp(3, &[]);
    let task = run_on(&mut m, 0, &on_cpu(0, 0));
    let only_2 = m.host.add_cpu_set(&[2]);
    m.set_cpus(task, only_2);
    assert_eq!(m.host.task(task).cpu, 2);
    assert_eq!(m.schedule(2), Some(task));
    assert_eq!(loads_of(&m), [0, 0, 1]);
}

#[test]
fn an_idle_loop_that_polls_sees_a_waiting_thread_at_once() {
    for (polls, asked) in [(0, vec![]), (1, vec![1])] {
        let mut m = alone(2, &[("pull", 2), ("idle_polls", polls)]);
        run_on(&mut m, 0, &real_time(Class::Fifo, 50));
        m.start(&on_cpu(0, 0));
        assert_eq!(m.asked(), asked);
        m.start(&on_cpu(0, 0));
        assert_eq!(m.asked(), [], "CPU 1 is on its way");
    }
}
