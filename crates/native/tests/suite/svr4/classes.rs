//! IA, RT, SYS, and changes of class.

use schedlab_policy::NewTask;

use super::*;

fn focused(nice: i8) -> NewTask {
    NewTask {
        foreground: true,
        ..normal(nice)
    }
}

fn kernel_thread() -> NewTask {
    NewTask { mm: 0, ..normal(0) }
}

#[test]
fn the_foreground_is_ten_levels_up() {
    let mut m = Machine::new("svr4", 1, &[]);
    let (window, other) = (m.add(&focused(0)), m.add(&normal(0)));
    assert_eq!(standing(&m, window), (29, 39, 12, 0));
    assert_eq!(standing(&m, other), (29, 29, 12, 0));
    let mut m = Machine::new("svr4", 1, &[("ia_everyone", 1), ("ia_boost", 4)]);
    let (window, other) = (m.add(&focused(0)), m.add(&normal(0)));
    assert_eq!(state(&m, window).umdpri, 33);
    assert_eq!(state(&m, other).umdpri, 25);
}

#[test]
fn the_foreground_wakes_at_the_front() {
    let (mut m, _) = one_running();
    let first = m.start(&focused(0));
    let second = m.add(&focused(0));
    m.wake(second);
    assert_eq!(m.schedule(0), Some(second));
    assert_eq!(m.block(0), Some(first));
}

/// rt_quantum has a row for ten of 60 levels; 99 priorities share them: 1 to 17 the first, 84 to 99 the last.
#[test]
fn real_time_quanta_shrink_with_the_level() {
    for (rt_priority, quantum) in [
        (1, 100),
        (17, 100),
        (18, 80),
        (50, 60),
        (51, 40),
        (83, 20),
        (84, 10),
        (99, 10),
    ] {
        let mut m = Machine::new("svr4", 1, &[]);
        let a = m.start(&real_time(Class::Rr, rt_priority));
        let b = m.start(&real_time(Class::Rr, rt_priority));
        assert_eq!(m.schedule(0), Some(a));
        assert_eq!(state(&m, a).timeleft, quantum, "priority {rt_priority}");
        assert!(!m.ticks(0, quantum as u32 - 1), "priority {rt_priority}");
        assert!(m.ticks(0, 1));
        assert_eq!(m.schedule(0), Some(b), "behind its equal");
        assert_eq!(state(&m, a).timeleft, quantum, "with a fresh quantum");
        assert_eq!(
            m.priority(a),
            99 + i32::from(rt_priority),
            "at a fixed priority"
        );
    }
}

#[test]
fn fifo_and_interrupts_have_no_quantum() {
    let mut m = Machine::new("svr4", 1, &[]);
    let fifo = m.start(&real_time(Class::Fifo, 99));
    m.schedule(0);
    assert!(!m.ticks(0, 500));
    let interrupt = m.add(&NewTask {
        mm: 0,
        ..real_time(Class::Rr, 1)
    });
    assert_eq!(m.wake(interrupt), [0], "above every real-time task");
    assert_eq!(m.schedule(0), Some(interrupt));
    assert!(!m.ticks(0, 500));
    assert_eq!(m.block(0), Some(fifo));
}

#[test]
fn a_preempted_real_time_task_keeps_its_place_and_its_quantum() {
    let mut m = Machine::new("svr4", 1, &[]);
    let a = m.start(&real_time(Class::Rr, 10));
    m.schedule(0);
    let equal = m.start(&real_time(Class::Rr, 10));
    m.ticks(0, 30);
    let better = m.add(&real_time(Class::Rr, 11));
    assert_eq!(m.wake(better), [0]);
    m.schedule(0);
    assert_eq!(m.block(0), Some(a));
    assert_eq!(state(&m, a).timeleft, 70);
    assert_eq!(m.block(0), Some(equal));
}

#[test]
fn kernel_threads_run_until_they_block() {
    let (mut m, user) = one_running();
    let (a, b) = (m.add(&kernel_thread()), m.add(&kernel_thread()));
    m.wake(a);
    m.wake(b);
    assert_eq!(m.schedule(0), Some(a));
    assert!(!m.ticks(0, 500));
    m.timer(0);
    assert!(!m.ticks(0, 1));
    assert_eq!(m.priority(a), 60);
    assert_eq!(m.block(0), Some(b));
    assert_eq!(m.block(0), Some(user));
}

#[test]
fn idle_class_is_time_sharing_at_the_bottom() {
    let (mut m, _) = one_running();
    let idle = m.start(&NewTask {
        class: Class::Idle,
        ..normal(0)
    });
    m.timer(0);
    assert_eq!(standing(&m, idle), (52, 0, 12, 0));
}

#[test]
fn who_comes_back_to_time_sharing_starts_in_the_middle() {
    let (mut m, a) = one_running();
    m.ticks(0, 12);
    m.schedule(0);
    assert_eq!(state(&m, a).cpupri, 19);
    m.set_class(a, Class::Fifo, 5);
    assert_eq!(m.priority(a), 104);
    m.set_class(a, Class::Normal, 0);
    assert_eq!(standing(&m, a), (29, 29, 12, 0));
    let waiting = m.start(&normal(0));
    assert_eq!(m.set_class(waiting, Class::Rr, 1), [0], "now it preempts");
    assert_eq!(m.schedule(0), Some(waiting));
    assert_eq!(m.set_class(waiting, Class::Normal, 0), []);
    assert_eq!(state(&m, waiting).backq, NOTHING);
}
