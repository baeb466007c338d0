//! Section 5.1: the place of a task after add_to_runqueue() and the other functions, and top and next_top.

use super::*;

#[test]
fn the_list_is_static_goodness_by_four() {
    // (counter, priority, (counter + priority) / 4)
    let table = [
        (20, 20, 10),
        (19, 20, 9),
        (1, 20, 5),
        (39, 20, 14),
        (1, 1, 0),
        (1, 3, 1),
        (10, 10, 5),
        (39, 40, 19),
        (38, 38, 19),
    ];
    for (counter, priority, list) in table {
        assert_eq!(
            list_of(counter, priority, &[]),
            list,
            "{counter} {priority}"
        );
    }
    assert_eq!(list_of(20, 20, &[("list_width", 8)]), 5);
}

#[test]
fn great_static_goodness_stays_out_of_the_real_time_lists() {
    // (40 + 40) / 4 = 20 is the first of them.
    assert_eq!(list_of(40, 40, &[]), 19);
    assert_eq!(list_of(40, 40, &[("clamp_lists", 0)]), 20);
}

#[test]
fn real_time_lists_hold_ten_priorities_each() {
    for (rt_priority, list) in [(1, 20), (9, 20), (10, 21), (55, 25), (99, 29)] {
        let mut m = Machine::new("elsc", 1, &[]);
        let task = m.start(&real_time(Class::Fifo, rt_priority));
        assert_eq!(lists(&m), [(list, vec![task])]);
        assert_eq!(tops(&m), (list as i32, NONE));
    }
}

#[test]
fn an_exhausted_task_waits_where_its_next_slice_will_put_it() {
    // Predicted counter = priority: list 2 * priority / 4 = priority / 2, at most 19.
    for (nice, list) in [
        (0, 10),
        (-20, 19),
        (-1, 10),
        (1, 9),
        (10, 5),
        (17, 1),
        (19, 0),
    ] {
        let mut m = Machine::new("elsc", 1, &[]);
        let task = m.start(&normal(nice));
        m.schedule(0);
        assert!(m.ticks(0, (20 - i32::from(nice)) as u32));
        let fresh = m.start(&normal(0));
        assert_eq!(m.schedule(0), Some(fresh));
        assert_eq!(lists(&m), [(list, vec![task])], "nice {nice}");
        assert_eq!(tops(&m), (NONE, list as i32), "nice {nice}");
    }
}

#[test]
fn running_tasks_are_not_in_the_table() {
    let mut m = Machine::new("elsc", 1, &[]);
    let [a, b] = [0; 2].map(|nice| m.start(&normal(nice)));
    assert_eq!(lists(&m), [(10, vec![b, a])]);
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(lists(&m), [(10, vec![a])]);
    assert_eq!(m.block(0), Some(a));
    assert_eq!((lists(&m), tops(&m)), (vec![], (NONE, NONE)));
}

#[test]
fn an_epoch_step_by_step() {
    let mut m = Machine::new("elsc", 1, &[]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    assert_eq!(
        (lists(&m), tops(&m)),
        (vec![(10, vec![c, b, a])], (10, NONE))
    );
    assert_eq!(m.schedule(0), Some(c));
    assert_eq!(m.work().examined, 3);

    // c uses its slice up and is queued behind the tasks that have slices left.
    assert!(m.ticks(0, 20));
    assert_eq!(m.schedule(0), Some(b)); // looks at b, a and, to stop, c
    assert_eq!((lists(&m), tops(&m)), (vec![(10, vec![a, c])], (10, 10)));
    assert_eq!(m.work().examined, 3);

    // b goes to sleep with its slice unused.
    assert_eq!(m.block(0), Some(a));
    assert_eq!((lists(&m), tops(&m)), (vec![(10, vec![c])], (NONE, 10)));
    assert_eq!(m.work().examined, 2);

    // Only exhausted tasks are left: all three get a slice, b's is 20 / 2 + 20.
    assert_eq!(m.block(0), Some(c));
    let work = m.work();
    assert_eq!(
        (work.examined, work.recalculations, work.recalculated),
        (1, 1, 3)
    );
    assert_eq!((lists(&m), tops(&m)), (vec![], (NONE, NONE)));
    assert_eq!(m.priority(c), 20 + 20);
    assert_eq!(m.priority(b), 30 + 20);
    m.wake(b);
    assert_eq!((lists(&m), tops(&m)), (vec![(12, vec![b])], (12, NONE)));
}

#[test]
fn a_preempted_task_goes_to_the_front_of_its_list() {
    let mut m = Machine::new("elsc", 1, &[]);
    let [a, b] = [0; 2].map(|nice| m.start(&normal(nice)));
    m.schedule(0);
    m.ticks(0, 1); // b: 19 + 20, list 9
    let c = m.start(&normal(1)); // 19 + 19, list 9, in front of nobody yet
    assert_eq!(m.schedule(0), Some(a));
    assert_eq!(lists(&m), [(9, vec![b, c])]);
}

#[test]
fn removing_a_task_lowers_the_tops() {
    let mut m = Machine::new("elsc", 1, &[]);
    let low = m.start(&normal(10)); // 20 / 4
    let high = m.start(&normal(-10)); // 60 / 4
    assert_eq!(tops(&m), (15, NONE));
    m.unqueue(high);
    assert_eq!(tops(&m), (5, NONE));
    m.unqueue(low);
    assert_eq!(tops(&m), (NONE, NONE));
}

#[test]
fn a_task_is_filed_anew_when_its_nice_or_class_changes() {
    let mut m = Machine::new("elsc", 1, &[]);
    m.start(&normal(-20));
    m.schedule(0);
    let task = m.start(&normal(0));
    let other = m.start(&normal(0));
    m.set_nice(task, -20); // 20 + 40
    assert_eq!(lists(&m), [(15, vec![task]), (10, vec![other])]);
    assert_eq!(tops(&m), (15, NONE));
    m.set_nice(task, 19); // 20 + 1
    assert_eq!(lists(&m), [(10, vec![other]), (5, vec![task])]);
    assert_eq!(tops(&m), (10, NONE));
    assert_eq!(m.set_class(task, Class::Rr, 42), [0]); // the caller reschedules
    assert_eq!(lists(&m), [(24, vec![task]), (10, vec![other])]);
    assert_eq!(tops(&m), (24, NONE));
    m.set_class(task, Class::Normal, 0); // its slice is still there: 20 + 1
    assert_eq!(lists(&m), [(10, vec![other]), (5, vec![task])]);
}

#[test]
fn a_waiting_reaper_is_filed_anew() {
    let mut m = Machine::new("elsc", 1, &[]);
    let dying = m.start(&normal(0));
    m.schedule(0);
    let reaper = m.start(&normal(10)); // 10 + 10, list 5
    m.ticks(0, 12);
    m.unqueue(reaper);
    m.die(0);
    m.wake(reaper);
    m.reap(dying, reaper); // 10 + 8 ticks: (18 + 10) / 4 = 7
    assert_eq!(lists(&m), [(7, vec![reaper])]);
    assert_eq!(tops(&m), (7, NONE));
}
