//! fork, sleep, wakeup, preemption, yield, nice.

use schedlab_policy::enq;

use super::*;

/// fork() ends in ts_forkret(), lwp_create() does not: a thread costs its creator nothing.
#[test]
fn threads_cost_their_creator_nothing() {
    let (mut m, process) = one_running();
    let mm = m.host.task(process).mm;
    m.ticks(0, 3);
    let thread = m.fork(0, &NewTask { mm, ..normal(0) });
    assert_eq!(m.enqueue(thread, enq::NEW), []);
    assert_eq!(standing(&m, process), (29, 29, 9, 0));
    assert_eq!(standing(&m, thread), (29, 29, 12, 0));
    assert_eq!(m.block(0), Some(thread));
}

/// The child is queued as any woken task: behind its equals, or in front of them in the foreground.
#[test]
fn a_child_waits_behind_its_equals() {
    for (foreground, first) in [(false, 0), (true, 1)] {
        let (mut m, _) = one_running();
        let shell = m.add(&NewTask {
            foreground,
            ..normal(0)
        });
        m.wake(shell);
        let equal = m.add(&normal(0));
        let level = m.priority(shell);
        m.block(0);
        assert_eq!(m.running(0), Some(shell));
        place(&m, equal, level, 12, 0);
        m.wake(equal);
        let child = m.fork(
            0,
            &NewTask {
                foreground,
                ..normal(0)
            },
        );
        m.enqueue(child, enq::NEW);
        assert_eq!(
            m.schedule(0),
            Some([equal, child][first]),
            "foreground: {foreground}"
        );
    }
}

/// A shell that forks four children in a row walks down ten levels with each.
#[test]
fn forks_cost_the_parent_a_quantum_and_the_child_is_first() {
    let (mut m, shell) = one_running();
    for (inherits, falls_to, quantum) in [(29, 19, 16), (19, 9, 20), (9, 0, 20), (0, 0, 20)] {
        m.after(TICK_NS);
        state(&m, shell).timeleft = 1;
        let child = m.fork(0, &normal(0));
        assert_eq!(m.enqueue(child, enq::NEW), [0]);
        assert_eq!(state(&m, child).cpupri, inherits);
        assert_eq!(standing(&m, shell), (falls_to, falls_to, quantum, 0));
        assert_eq!(m.schedule(0), Some(child), "from {inherits}");
        assert_eq!(m.block(0), Some(shell));
    }
}

#[test]
fn a_child_takes_its_own_nice() {
    let (mut m, _) = one_running();
    let child = m.fork(0, &normal(5));
    assert_eq!(standing(&m, child), (29, 14, 12, 0));
}

/// t_disp_time is when a task left its CPU: one that wakes in that tick is first among its equals, or else last.
#[test]
fn wakeups_go_to_the_back_unless_the_task_just_ran() {
    for (slept_ns, next) in [(0, 0), (TICK_NS, 2)] {
        let (mut m, a) = one_running();
        let b = m.start(&normal(0));
        let c = m.start(&normal(0));
        m.after(5 * TICK_NS);
        assert_eq!(m.block(0), Some(b));
        m.after(slept_ns);
        assert_eq!(m.wake(a), [], "an equal does not preempt");
        assert_eq!(m.block(0), Some([a, b, c][next]));
    }
}

/// ts_wakeup() looks at t_disp_time for TS alone: not for IA, and not for a task that holds kernel locks.
#[test]
fn only_ts_without_kernel_locks_profits_from_having_just_run() {
    for (set, disk) in [([("ia_everyone", 1)], false), ([("ia_everyone", 0)], true)] {
        let mut m = Machine::new("svr4", 1, &set);
        let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
        for _ in [a, b] {
            m.schedule(0);
            if disk {
                m.wait_for_disk(0)
            } else {
                m.block(0)
            };
        }
        let rt = m.start(&real_time(Class::Fifo, 1));
        assert_eq!(m.schedule(0), Some(rt));
        m.wake(a);
        m.wake(b);
        assert_eq!(m.block(0), Some(a), "{set:?}");
    }
}

#[test]
fn only_a_better_task_preempts_and_who_is_preempted_stays_in_front() {
    let (mut m, a) = one_running();
    let other = m.start(&normal(0));
    m.ticks(0, 5);
    let better = m.add(&normal(-1));
    assert_eq!(m.wake(better), [0]);
    assert_eq!(m.schedule(0), Some(better));
    assert_eq!(m.block(0), Some(a), "before its equal, which waits longer");
    assert_eq!(
        standing(&m, a),
        (29, 29, 7, 0),
        "with what is left of 12 ticks"
    );
    let worse = m.add(&normal(1));
    assert_eq!(m.wake(worse), []);
    assert_eq!(m.block(0), Some(other));
}

#[test]
fn a_used_up_quantum_goes_behind_its_new_equals() {
    let (mut m, a) = one_running();
    let low = m.add(&normal(0));
    place(&m, low, 19, 16, 0);
    m.wake(low);
    assert!(m.ticks(0, 12));
    assert_eq!(
        m.schedule(0),
        Some(low),
        "both are at 19 now, and it was there first"
    );
    assert_eq!(standing(&m, a), (19, 19, 16, 0));
}

/// A task preempted at a tick by a better one is queued at the back with a new quantum.
#[test]
fn a_tick_beside_a_better_task_ends_the_turn() {
    let (mut m, a) = one_running();
    let equal = m.start(&normal(0));
    let better = m.start(&normal(-1));
    assert!(m.ticks(0, 1), "it has not been rescheduled yet");
    assert_eq!(m.schedule(0), Some(better));
    assert_eq!(standing(&m, a), (29, 29, 12, 0));
    assert_eq!(m.block(0), Some(equal));
}

#[test]
fn yield_goes_to_the_back_with_the_same_quantum() {
    let (mut m, a) = one_running();
    let b = m.start(&normal(0));
    m.ticks(0, 3);
    assert_eq!(m.yields(0), Some(b));
    assert_eq!(m.yields(0), Some(a));
    assert_eq!(standing(&m, a), (29, 29, 9, 0));
}

#[test]
fn a_wakeup_does_not_refill_the_quantum() {
    let (mut m, a) = one_running();
    m.ticks(0, 5);
    m.block(0);
    m.wake(a);
    assert_eq!(standing(&m, a), (29, 29, 7, 0));
}

/// One update without a used-up quantum, and the next sleep returns to slpret of row 29.
#[test]
fn sleep_return_is_earned_by_an_update() {
    let (mut m, a) = one_running();
    m.block(0);
    m.after(TICK_NS);
    state(&m, a).dispwait = 1;
    m.wake(a);
    assert_eq!(
        standing(&m, a),
        (52, 52, 4, 0),
        "with the quantum of row 52"
    );
    assert_eq!(m.priority(a), 52);
}

#[test]
fn nice_moves_at_once() {
    let (mut m, a) = one_running();
    let b = m.start(&normal(0));
    m.ticks(0, 4);
    state(&m, a).dispwait = 7;
    assert_eq!(m.set_nice(a, -1), [], "it runs and is still the best");
    assert_eq!(standing(&m, a), (29, 32, 12, 0));
    assert_eq!(m.set_nice(b, -2), [0], "35 preempts 32");
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(m.set_nice(b, 1), [0], "26 gives way to 32");
    assert_eq!(m.schedule(0), Some(a));
    m.set_nice(a, 5); // 14
    m.schedule(0);
    assert_eq!(m.running(0), Some(b));
    assert_eq!(m.priority(a), 14);
}
