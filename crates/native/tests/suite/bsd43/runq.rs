//! The queue of each task, and which task preempts which, on which CPU.

use super::*;

#[test]
fn who_wakes_is_queued_at_a_kernel_priority() {
    for (name, disk, other) in [("bsd43:4.3", 20, 30), ("bsd43:4.4", 16, 32)] {
        let mut m = Machine::new(name, 1, &[]);
        let reader = run_alone(&mut m, &normal(0));
        m.wait_for_disk(0);
        let sleeper = run_alone(&mut m, &normal(0));
        m.block(0);
        let hog = run_alone(&mut m, &normal(0));
        assert_eq!(m.wake(sleeper), [0]);
        assert_eq!(m.wake(reader), [] as [u32; 0]); // It was asked already.
        let by_queue = vec![(disk / 4, vec![reader]), (other / 4, vec![sleeper])];
        assert_eq!(queues(&m), by_queue);
        assert_eq!(priorities(&m, reader), (disk as i32, 50));
        // Back in user mode each is at its user priority: 50, queue 12, behind the earlier ones.
        assert_eq!(m.schedule(0), Some(reader));
        assert_eq!(priorities(&m, reader), (50, 50));
        assert_eq!(m.schedule(0), Some(sleeper));
        assert_eq!(queues(&m), [(12, vec![hog, reader])]);
    }
}

#[test]
fn a_wakeup_reschedules_even_for_nothing() {
    // At nice -20 the hog has priority 10, better than the 30 of a woken task.
    let mut m = Machine::new("bsd43", 1, &[]);
    let sleeper = run_alone(&mut m, &normal(0));
    m.block(0);
    let hog = run_alone(&mut m, &normal(-20));
    assert_eq!(m.wake(sleeper), [0]);
    assert_eq!(m.schedule(0), Some(hog));
}

#[test]
fn a_new_process_disturbs_nobody() {
    let mut m = Machine::new("bsd43", 1, &[]);
    let parent = run_alone(&mut m, &normal(10));
    let child = m.fork(0, &normal(0));
    assert_eq!(m.enqueue(child, enq::NEW), [] as [u32; 0]);
    assert_eq!(queues(&m), [(12, vec![child])]);
    assert_eq!(m.running(0), Some(parent));
}

#[test]
fn kernel_threads_never_return_to_user_mode() {
    let mut m = Machine::new("bsd43", 1, &[]);
    let kthread = run_alone(&mut m, &NewTask { mm: 0, ..normal(0) });
    m.wait_for_disk(0);
    m.wake(kthread);
    assert_eq!(m.schedule(0), Some(kthread));
    m.ticks_at_once(0, 8);
    assert_eq!(priorities(&m, kthread), (20, 52));
    let other = m.start(&normal(0));
    assert_eq!(m.schedule(0), Some(kthread));
    assert_eq!(queues(&m), [(12, vec![other])]);
}

#[test]
fn a_pass_moves_who_changes_queue() {
    // Load 1.  a: 16 used, 54, queue 13 -> 10, 52, queue 13: it stays in front of c, which stays as
    // well: 18, 54 -> 12, 53.  b: 40, 60, queue 15 -> 26, 56, 14.  d: 60, 65, queue 16 -> 40, 60, 15.
    let mut m = Machine::new("bsd43", 1, &LOAD_1);
    let [a, b, c, d] = [16, 40, 18, 60].map(|ticks| {
        let task = run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, ticks);
        m.block(0);
        task
    });
    // Each runs for an instant and is preempted, so that it waits at its user priority.
    for task in [a, b, c, d] {
        m.wake(task);
        assert_eq!(m.schedule(0), Some(task));
    }
    let running = m.start(&normal(-20));
    assert_eq!(m.schedule(0), Some(running));
    assert_eq!(queues(&m), [(13, vec![a, c]), (15, vec![b]), (16, vec![d])]);
    m.timers_for(SECOND);
    assert_eq!(queues(&m), [(13, vec![a, c]), (14, vec![b]), (15, vec![d])]);
    assert_eq!(m.host.counters()[2], 2); // requeued
}

#[test]
fn below_user_priority_a_pass_moves_nobody() {
    // Nice -20, 100 used: 10 + 25 = 35, queue 8; a pass leaves 66 - 20 = 46: 21.  As 35 is below 50
    // it is taken for a kernel priority, and the process waits on in queue 8.  The other: 12.
    let mut m = Machine::new("bsd43", 1, &LOAD_1);
    let hog = run_alone(&mut m, &normal(-20));
    m.ticks_at_once(0, 100);
    let other = m.start(&normal(-19));
    assert_eq!(m.schedule(0), Some(other));
    assert_eq!(queues(&m), [(8, vec![hog])]);
    m.timers_for(SECOND);
    assert_eq!(priorities(&m, hog), (35, 21));
    assert_eq!(queues(&m), [(8, vec![hog])]);
}

#[test]
fn renicing_preempts_at_once_but_moves_later() {
    let mut m = Machine::new("bsd43", 1, &LOAD_1);
    let running = run_alone(&mut m, &normal(0));
    let waiting = m.start(&normal(0));
    assert_eq!(m.set_nice(waiting, 5), [] as [u32; 0]);
    assert_eq!(priorities(&m, waiting), (50, 60));
    assert_eq!(m.set_nice(waiting, -1), [0]); // 48 is better than 50
    assert_eq!(m.schedule(0), Some(waiting)); // which was first in queue 12 all the time
    m.set_nice(running, 10);
    assert_eq!(queues(&m), [(12, vec![running])]);
    m.timers_for(SECOND); // 50 + (0 + 10) / 4 + 20 = 72
    assert_eq!(queues(&m), [(18, vec![running])]);
}

#[test]
fn yield_goes_behind_equals() {
    let mut m = Machine::new("bsd43", 1, &[]);
    let [a, b] = [0; 2].map(|nice| m.start(&normal(nice)));
    m.start(&normal(19));
    assert_eq!(m.schedule(0), Some(a));
    assert_eq!(m.yields(0), Some(b));
    assert_eq!(m.yields(0), Some(a));
}

// ---- several CPUs ------------------------------------------------------------------------------

#[test]
fn an_idle_cpu_takes_who_wakes_and_nobody_is_preempted() {
    let mut m = Machine::new("bsd43", 2, &[]);
    let sleeper = m.add(&normal(0));
    run_alone(&mut m, &normal(0));
    assert_eq!(m.from(0).wake(sleeper), [1]);
    assert_eq!(m.schedule(1), Some(sleeper));
}

#[test]
fn two_wakeups_do_not_tell_the_same_idle_cpu() {
    let mut m = Machine::new("bsd43", 3, &[]);
    run_alone(&mut m, &normal(0));
    let sleepers = [0; 2].map(|nice| m.add(&normal(nice)));
    assert_eq!(m.from(0).wake(sleepers[0]), [1]);
    assert_eq!(m.from(0).wake(sleepers[1]), [2]);
}

#[test]
fn who_was_preempted_goes_to_a_cpu_that_idles_now() {
    let mut m = Machine::new("bsd43", 2, &[]);
    let hog = run_alone(&mut m, &normal(0));
    let pinned = m.pinned(0, 0);
    let pinned = m.add(&pinned);
    assert_eq!(m.from(0).wake(pinned), [0]);
    assert_eq!(m.schedule(0), Some(pinned));
    assert_eq!(m.asked(), [1]);
    assert_eq!(m.schedule(1), Some(hog));
}

#[test]
fn who_is_pinned_elsewhere_preempts_there() {
    let mut m = Machine::new("bsd43", 2, &[]);
    run_alone(&mut m, &normal(0));
    let b = m.start(&on_cpu(1, 0));
    m.schedule(1);
    let pinned = m.pinned(1, 0);
    let pinned = m.add(&pinned);
    assert_eq!(m.from(0).wake(pinned), [1]);
    // CPU 0 passes it over and goes on.
    assert_eq!(m.schedule(0).map(|t| t == pinned), Some(false));
    assert_eq!(m.schedule(1), Some(pinned));
    assert_eq!(queues(&m), [(12, vec![b])]);
}

#[test]
fn wider_affinity_is_seen_by_an_idle_cpu() {
    let mut m = Machine::new("bsd43", 2, &[]);
    let pinned = m.pinned(0, 0);
    m.start(&pinned);
    m.schedule(0);
    let waiting = m.start(&pinned);
    assert_eq!(m.schedule(1), None);
    m.set_cpus(waiting, 0);
    assert_eq!(m.asked(), [1]);
    assert_eq!(m.schedule(1), Some(waiting));
}
