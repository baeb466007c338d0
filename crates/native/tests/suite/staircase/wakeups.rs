//! Version 7.G's wakeups: which tasks return to the top, and which continue their slice.

use crate::script::{normal, Machine};
use crate::staircase::{state, up, MS};
use schedlab_policy::enq;
use schedlab_trace::TaskId;

const DISK: u32 = enq::WAKEUP | enq::UNINTERRUPTIBLE;

/// A task of nice 0 that runs since now, alone.
fn running(m: &mut Machine) -> TaskId {
    let task = m.start(&normal(0));
    m.schedule(0);
    task
}

/// It runs and sleeps for this many ms, this many times, and is left running.
fn cycles(m: &mut Machine, task: TaskId, n: u32, run_ms: u64, sleep_ms: u64) {
    for _ in 0..n {
        m.after(run_ms * MS).block(0);
        m.after(sleep_ms * MS).wake(task);
        m.schedule(0);
    }
}

#[test]
fn whoever_ran_a_jiffy_is_lifted_however_short_the_sleep() {
    let mut m = up(&[]);
    let task = running(&mut m);
    m.ticks(0, 1);
    m.schedule(0);
    assert_eq!((m.priority(task), state(&m, task).slice), (121, 19));
    cycles(&mut m, task, 1, 10, 0);
    let s = state(&m, task);
    assert_eq!((s.prio, s.slice, s.time_slice, s.burst), (120, 20, 1, 1));
    assert_eq!(s.totalrun, 0);
}

#[test]
fn whoever_slept_an_interval_is_lifted_however_short_the_run() {
    // 3 + 7 ms are a whole interval, 3 + 6 are not.
    for (sleep_ms, burst) in [(7, 1), (6, 0)] {
        let mut m = up(&[]);
        let task = running(&mut m);
        cycles(&mut m, task, 1, 3, sleep_ms);
        assert_eq!(state(&m, task).burst, burst, "{sleep_ms} ms");
    }
}

#[test]
fn short_runs_add_up_to_a_slice() {
    let mut m = up(&[]);
    let task = running(&mut m);
    // 3 ms run, 2 ms slept: 9 ms of running are no jiffy yet, 12 ms are one.
    cycles(&mut m, task, 3, 3, 2);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.slice, s.prio), (9 * MS, 20, 120));
    cycles(&mut m, task, 1, 3, 2);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.slice, s.prio), (12 * MS, 19, 121));
    // 66 times 3 ms: 198 ms, 19 jiffies, one is left and that at the foot.
    cycles(&mut m, task, 62, 3, 2);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.slice, s.prio), (198 * MS, 1, 139));
    // 201 ms are all of the slice.
    cycles(&mut m, task, 1, 3, 2);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.slice, s.prio), (0, 20, 120));
}

#[test]
fn only_what_was_run_since_the_last_step_is_charged() {
    // Five steps and 2 ms, then 1 ms of sleep: `runtime` begins anew in every schedule(), so this
    // is a run of 2 ms, too short to be lifted for; but the renewed slice is charged no more.
    let mut m = up(&[]);
    let task = running(&mut m);
    for _ in 0..5 {
        m.ticks(0, 1);
        m.schedule(0);
    }
    assert_eq!((m.priority(task), state(&m, task).slice), (125, 15));
    cycles(&mut m, task, 1, 2, 1);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.prio, s.slice, s.burst), (2 * MS, 120, 20, 0));
}

#[test]
fn waiting_for_a_disk_lifts_but_earns_no_burst() {
    let mut m = up(&[]);
    let task = running(&mut m);
    m.ticks(0, 5);
    m.schedule(0);
    m.after(10 * MS).wait_for_disk(0);
    m.after(50 * MS).enqueue(task, DISK);
    let s = state(&m, task);
    assert_eq!((s.prio, s.slice, s.burst, s.flags), (120, 20, 0, 0));
}

#[test]
fn whoever_forked_continues_his_slice_once() {
    let mut m = up(&[]);
    let parent = running(&mut m);
    let child = m.fork(0, &normal(0));
    m.enqueue(child, enq::NEW);
    m.after(30 * MS).block(0);
    m.after(100 * MS).wake(parent);
    // It ran 30 ms, three jiffies of its slice.
    let s = state(&m, parent);
    assert_eq!(
        (s.totalrun, s.slice, s.prio, s.burst),
        (30 * MS, 17, 123, 0)
    );
    assert_eq!(s.flags, 0);
}

#[test]
fn an_overrun_slice_is_a_new_one_unless_arithmetic_is_unsigned() {
    // Nice 19 has a slice of one jiffy; it forked and ran for three.
    for (unsigned, slice) in [(0, 1), (1, 1_u32.wrapping_sub(3))] {
        let mut m = up(&[("unsigned_slice", unsigned)]);
        let parent = m.start(&normal(19));
        m.schedule(0);
        let child = m.fork(0, &normal(19));
        m.enqueue(child, enq::NEW);
        m.after(30 * MS).block(0);
        m.after(100 * MS).wake(parent);
        assert_eq!(state(&m, parent).slice, slice);
    }
}

#[test]
fn without_interactive_long_runs_continue_too() {
    // Run and sleep are shorter than an interval of 30 ms together; the run is a jiffy or more.
    for (interactive, slice, burst) in [(0, 58, 0), (1, 60, 1)] {
        let mut m = up(&[("interactive", interactive), ("rr_interval_ms", 30)]);
        let task = running(&mut m);
        cycles(&mut m, task, 1, 20, 5);
        let s = state(&m, task);
        assert_eq!((s.slice, s.burst), (slice, burst));
    }
}

#[test]
fn a_child_starts_where_its_parent_is_but_without_burst() {
    let mut m = up(&[]);
    let parent = running(&mut m);
    cycles(&mut m, parent, 4, 10, 10); // a burst of 4: five intervals at the top
    m.ticks(0, 7);
    assert_eq!((m.priority(parent), state(&m, parent).slice), (123, 13));
    let child = m.fork(0, &normal(0));
    assert_eq!(m.enqueue(child, enq::NEW), [], "nobody is preempted");
    let s = state(&m, child);
    assert_eq!((s.prio, s.slice, s.burst), (123, 13, 0));
    // No slice was shared.
    assert_eq!((state(&m, parent).slice, state(&m, parent).burst), (13, 4));
    // With another task's nice value it starts at its own top step.
    let other = m.fork(0, &normal(5));
    m.enqueue(other, enq::NEW);
    assert_eq!((m.priority(other), state(&m, other).slice), (125, 15));
}
