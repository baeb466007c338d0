//! ts_update(), once a second, and its effects.

use std::path::Path;

use schedlab_policy::{compile_shared, write_headers, COMPILER_FLAGS, INCLUDE_FOLDERS};

use super::*;

#[test]
fn a_running_task_only_learns_of_it_at_the_next_tick() {
    let (mut m, a) = one_running();
    m.ticks(0, 5);
    m.timer(0);
    assert_eq!(standing(&m, a), (29, 29, 7, 1));
    assert!(!m.ticks(0, 1));
    assert_eq!(
        standing(&m, a),
        (52, 52, 4, 0),
        "slpret, and the quantum of row 52"
    );
}

/// A quantum that ends with that tick comes first, and takes back what the update gave.
#[test]
fn a_quantum_used_up_in_that_tick_comes_first() {
    let (mut m, a) = one_running();
    m.ticks(0, 11);
    m.timer(0);
    assert!(m.ticks(0, 1));
    m.schedule(0);
    assert_eq!(standing(&m, a), (19, 19, 16, 0));
}

#[test]
fn a_waiting_task_is_raised_and_preempts() {
    let (mut m, _) = one_running();
    let low = m.add(&normal(0));
    place(&m, low, 0, 20, 0);
    m.wake(low);
    m.timer(0);
    assert_eq!(standing(&m, low), (50, 50, 4, 0));
    assert_eq!(m.asked(), [0], "50 against 29");
    assert_eq!(m.schedule(0), Some(low));
}

#[test]
fn sleeping_tasks_are_raised_if_wanted() {
    for (sleep_promote, asleep, dispwait) in [(1, 52, 0), (0, 29, 1)] {
        let mut m = Machine::new("svr4", 1, &[("sleep_promote", sleep_promote)]);
        let task = m.add(&normal(0));
        m.timer(0);
        assert_eq!(standing(&m, task), (asleep, asleep, 12, dispwait));
        m.after(TICK_NS);
        m.wake(task);
        assert_eq!(
            standing(&m, task).0,
            52,
            "the wakeup rewards it in any case"
        );
    }
}

/// ts_change_priority() puts a task of the foreground in front of its new equals and others behind them.
#[test]
fn a_raised_task_goes_behind_its_equals_unless_in_the_foreground() {
    for (foreground, first) in [(false, 0), (true, 1)] {
        let mut m = Machine::new("svr4", 1, &[]);
        let rt = m.start(&real_time(Class::Fifo, 1));
        m.schedule(0);
        let equal = m.add(&normal(0));
        place(&m, equal, 50, 4, 0);
        m.wake(equal);
        let raised = m.add(&NewTask {
            foreground,
            ..normal(0)
        });
        place(&m, raised, 0, 20, 0);
        state(&m, raised).boost = 0;
        m.wake(raised);
        state(&m, equal).dispwait = u32::MAX; // The update counts it to 0, so this one is not raised.
        m.timer(0);
        assert_eq!(m.priority(raised), 50);
        assert_eq!(m.block(0), Some([equal, raised][first]), "{rt}");
    }
}

/// nice 5 is at 50 - 15 = 35 after a promotion from row 0 and at 59 - 15 = 44 at best; nice -20 stays at 59.
#[test]
fn nice_5_never_reaches_nice_minus_20() {
    let mut m = Machine::new("svr4", 1, &[]);
    m.start(&normal(-20));
    m.schedule(0);
    let low = m.start(&normal(5));
    let levels: Vec<i32> = (0..5)
        .map(|_| {
            m.timer(0);
            m.priority(low)
        })
        .collect();
    // cpupri 29, 52, 59 and so on.
    assert_eq!(levels, [37, 44, 44, 44, 44]);
}

/// The thief has static variables, which are refused in a policy's file; a library may have them.
fn thief() -> Policy {
    let folder = tempfile::tempdir().unwrap();
    write_headers(folder.path()).unwrap();
    let include = |name| format!("-I{}", folder.path().join(name).display());
    let words = COMPILER_FLAGS.split_whitespace().map(String::from);
    let flags: Vec<String> = words.chain(INCLUDE_FOLDERS.map(include)).collect();
    let library = folder.path().join("svr4.so");
    let source = Path::new("tests/suite/svr4/thief/svr4.c");
    compile_shared(source, &flags, &library, &|| false).unwrap();
    Policy::from_library(&library).unwrap()
}

/// The task moves from CPU 0 to CPU 1 after the update has read where it is and before it has the lock.
#[test]
fn a_task_that_moves_before_the_lock_is_taken_is_followed() {
    let tuned = Tuned::defaults(thief());
    let mut m = Machine::of(&tuned, &[2]).unwrap();
    let pinned = m.pinned(0, -20);
    let hog = m.start(&pinned);
    assert_eq!(m.schedule(0), Some(hog));
    let pinned = m.pinned(0, 0);
    let task = m.start(&pinned);
    m.set_cpus(task, 0);
    assert_eq!(m.host.task(task).cpu, 0);
    m.timer(0);
    assert_eq!(m.host.task(task).cpu, 1, "an idle CPU took it meanwhile");
    assert_eq!(
        standing(&m, task),
        (52, 52, 4, 0),
        "and it was raised there"
    );
    assert_eq!(m.schedule(1), Some(task));
}

/// An update that cannot lock a task's queue passes the task over; the next one is in time.
#[test]
fn a_refused_lock_puts_the_promotion_off() {
    let mut m = Machine::new("svr4", 1, &[]);
    let task = m.add(&normal(0));
    m.refuse_locks(true).timer(0);
    assert_eq!(standing(&m, task), (29, 29, 12, 0));
    m.refuse_locks(false).timer(0);
    assert_eq!(standing(&m, task), (52, 52, 12, 0));
}

/// Work: all tasks are looked at, whatever they do, each under the lock of its CPU.
#[test]
fn an_update_is_a_pass_over_all_tasks() {
    let (mut m, _) = one_running();
    for _ in 0..9 {
        m.add(&normal(0));
    }
    m.work();
    m.timer(0);
    let work = m.work();
    assert_eq!(
        (work.recalculations, work.recalculated, work.locks),
        (1, 10, 10)
    );
}

/// With 16 waiting tasks an update begins one further each time, so that each is raised first in turn.
#[test]
fn updates_begin_with_another_sixteenth_each_time() {
    let mut m = Machine::new("svr4", 1, &[]);
    let tasks: Vec<TaskId> = (0..16).map(|_| m.add(&normal(0))).collect();
    let hog = m.start(&real_time(Class::Fifo, 1)); // the 17th
    m.schedule(0);
    for (update, first) in [(0, 0), (1, 1), (2, 2)] {
        for &task in &tasks {
            place(&m, task, 0, 20, 0);
            m.wake(task);
        }
        m.timer(0);
        assert_eq!(m.block(0), Some(tasks[first]), "update {update}");
        for _ in &tasks {
            m.block(0);
        }
        m.after(TICK_NS);
        m.wake(hog);
        m.schedule(0);
    }
}

#[test]
fn kernel_locks_lift_a_woken_task_until_it_is_in_user_mode() {
    let (mut m, a) = one_running();
    let best = m.start(&normal(-20)); // 59
    m.schedule(0);
    m.block(0);
    assert_eq!(m.wait_for_disk(0), None);
    m.wake(best);
    m.schedule(0);
    m.after(TICK_NS);
    assert_eq!(m.wake(a), [0], "60 preempts 59");
    assert_eq!(m.priority(a), 60);
    assert_eq!(m.schedule(0), Some(a));
    assert_eq!(m.priority(a), 29, "user mode");
    assert_eq!(m.asked(), [0], "where the other is better again");
    assert_eq!(m.schedule(0), Some(best));
    let mut m = Machine::new("svr4:illumos", 1, &[]);
    let a = m.start(&normal(0));
    m.schedule(0);
    m.wait_for_disk(0);
    m.wake(a);
    assert_eq!(m.priority(a), 29);
}
