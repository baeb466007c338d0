//! Preemption by wakeups, sched_yield(), setpriority(), sched_setscheduler().

use crate::o1::kernel::{nice, normal, MS};
use crate::o1::up;
use schedlab_policy::{enq, Class, NewTask};

#[test]
fn a_wakeup_preempts_if_its_priority_is_better() {
    let asked = |level, sleep_ms, flags| {
        let mut k = up();
        k.start(normal()); // prio 125
        let task = k.sleeper(nice(level));
        k.after(sleep_ms * MS);
        k.enqueue(task, flags)
    };
    assert_eq!(asked(0, 10, enq::WAKEUP), [0], "bonus 1: 124");
    assert_eq!(asked(0, 9, enq::WAKEUP), [0; 0], "equal");
    assert_eq!(asked(1, 10, enq::WAKEUP), [0; 0], "125 too");
    assert_eq!(
        asked(0, 10, enq::WAKEUP | enq::SYNC),
        [0; 0],
        "the waker sleeps soon"
    );
}

#[test]
fn yield_goes_behind_the_expired_and_keeps_the_slice() {
    let mut k = up();
    let (a, b, c) = (k.start(normal()), k.start(normal()), k.start(normal()));
    k.ticks(100); // a has expired, b runs
    k.ticks(30).yields();
    assert_eq!(k.curr(0), Some(c));
    assert_eq!(k.state(b).array, k.state(a).array, "expired");
    assert_eq!(k.state(b).time_slice, 70);
    k.ticks(100);
    assert_eq!(k.curr(0), Some(a));
    k.ticks(100);
    assert_eq!(k.curr(0), Some(b));
    assert_eq!(k.ticks_to_switch(1000), 70);
}

#[test]
fn a_lone_task_yields_to_itself() {
    let mut k = up();
    let task = k.start(normal());
    k.yields();
    assert_eq!(k.curr(0), Some(task));
}

#[test]
fn a_real_time_task_yields_to_its_equals_only() {
    let mut k = up();
    let fifo = NewTask {
        class: Class::Fifo,
        rt_priority: 1,
        ..normal()
    };
    let (a, b) = (k.start(fifo), k.start(fifo));
    k.start(normal());
    k.yields();
    assert_eq!(k.curr(0), Some(b));
    k.yields();
    assert_eq!(k.curr(0), Some(a));
}

#[test]
fn set_nice_forgets_the_bonus_until_the_next_recalculation() {
    let mut k = up();
    let task = k.start(normal());
    assert_eq!(k.prio(task), 125);
    assert_eq!(k.set_nice(task, 5), [0; 0], "125 before and after");
    assert_eq!(k.prio(task), 125);
    assert_eq!(k.set_nice(task, 10), [0], "it runs, and is worse now");
    assert_eq!(k.prio(task), 130);
    assert_eq!(k.set_nice(task, -10), [0], "better");
    assert_eq!(k.prio(task), 110);
    k.settle().block();
    assert_eq!(k.set_nice(task, 0), [0; 0], "it sleeps");
    assert_eq!(k.prio(task), 120);
    k.wake(task);
    assert_eq!(k.prio(task), 125, "recalculated");
}

#[test]
fn set_nice_of_a_waiting_task() {
    let mut k = up();
    let hog = k.start(normal());
    let task = k.start(nice(10)); // 135
    assert_eq!(k.set_nice(task, 15), [0; 0], "135 still");
    assert_eq!(k.set_nice(task, 19), [0; 0], "worse, and waiting");
    assert_eq!(k.set_nice(task, 0), [0], "better");
    k.settle();
    assert_eq!(k.curr(0), Some(task), "120 against 125");
    // The old array is kept: expired stays expired.
    k.ticks(100);
    assert_eq!(k.curr(0), Some(hog));
    k.set_nice(task, -20);
    k.settle();
    assert_eq!(k.curr(0), Some(hog), "100 in the expired array");
}

#[test]
fn set_class_to_real_time_and_back() {
    let mut k = up();
    k.start(normal());
    let task = k.start(normal());
    assert_eq!(k.set_class(task, Class::Fifo, 99), [0]);
    assert_eq!(k.prio(task), 0);
    k.settle();
    assert_eq!(k.curr(0), Some(task));
    assert_eq!(
        k.set_class(task, Class::Normal, 0),
        [0],
        "it runs, and is worse now"
    );
    assert_eq!(k.prio(task), 120, "the static priority");
}

#[test]
fn set_nice_of_a_real_time_task_waits_for_its_return() {
    let mut k = up();
    let task = k.start(NewTask {
        class: Class::Fifo,
        rt_priority: 50,
        ..normal()
    });
    k.set_nice(task, 7);
    assert_eq!(k.prio(task), 49);
    k.set_class(task, Class::Normal, 0);
    assert_eq!(k.prio(task), 127);
}

#[test]
fn cpu_time_is_booked_in_ticks_and_switches() {
    let mut k = up();
    let a = k.start(normal());
    let b = k.start(normal());
    k.after(130 * MS + 123).block();
    assert_eq!(k.state(a).sched_time, 100 * MS);
    assert_eq!(k.state(b).sched_time, 30 * MS + 123);
}
