//! SCHED_BATCH, which runs if no other task is runnable, and SCHED_ISO, which descends fast.

use crate::script::{normal, Machine};
use crate::staircase::{state, up, MS};
use schedlab_policy::{enq, Class, NewTask};
use schedlab_trace::TaskId;

const DISK: u32 = enq::WAKEUP | enq::UNINTERRUPTIBLE;

fn of_class(class: Class, nice: i8) -> NewTask {
    NewTask {
        class,
        ..normal(nice)
    }
}

fn prio_and_slices(m: &Machine, task: TaskId) -> (u32, u32, u32) {
    let s = state(m, task);
    (s.prio, s.slice, s.time_slice)
}

#[test]
fn batch_and_idle_tasks_are_below_the_stairs() {
    for class in [Class::Batch, Class::Idle] {
        let mut m = up(&[]);
        // 40 - user_prio intervals: 20 at nice 0, 1 at 19; the first turn is all of them.
        let batch = m.start(&of_class(class, 0));
        assert_eq!(prio_and_slices(&m, batch), (140, 20, 20));
        let low = m.start(&of_class(class, 19));
        assert_eq!(prio_and_slices(&m, low), (140, 1, 1));
        let normal = m.start(&normal(19));
        assert_eq!(m.schedule(0), Some(normal));
        for _ in 0..50 {
            m.ticks(0, 1);
            assert_eq!(m.schedule(0), Some(normal));
        }
        assert_eq!(m.block(0), Some(batch));
    }
}

#[test]
fn batch_turns_after_the_first_are_ten_intervals() {
    let mut m = up(&[]);
    let a = m.start(&of_class(Class::Batch, 0));
    let b = m.start(&of_class(Class::Batch, 0));
    m.schedule(0);
    let turns: Vec<(TaskId, u32)> = (0..4)
        .map(|_| {
            let task = m.running(0).unwrap();
            let ticks = (1..).find(|_| m.ticks(0, 1)).unwrap();
            m.schedule(0);
            (task, ticks)
        })
        .collect();
    assert_eq!(turns, [(a, 20), (b, 20), (a, 10), (b, 10)]);
}

#[test]
fn a_batch_task_comes_back_from_the_disk_among_the_others_once() {
    let mut m = up(&[]);
    let batch = m.start(&of_class(Class::Batch, 0));
    m.schedule(0);
    m.after(MS).wait_for_disk(0);
    let hog = m.start(&normal(19)); // 139
    m.schedule(0);
    m.after(10 * MS).enqueue(batch, DISK);
    assert_eq!(m.priority(batch), 139);
    m.ticks(0, 1); // the hog goes behind it
    assert_eq!(m.schedule(0), Some(batch));
    assert_eq!(
        m.priority(batch),
        140,
        "chosen, it is an ordinary batch task"
    );
    assert_eq!(m.schedule(0), Some(hog));
}

#[test]
fn a_batch_task_that_yields_stays_where_it_is() {
    let mut m = up(&[]);
    let a = m.start(&of_class(Class::Batch, 0));
    let b = m.start(&of_class(Class::Batch, 0));
    m.schedule(0);
    assert_eq!(m.yields(0), Some(b));
    assert_eq!(m.priority(a), 140);
    assert_eq!(state(&m, a).flags, 0);
}

#[test]
fn the_kernels_own_threads_are_never_batch() {
    let mut m = up(&[]);
    let task = m.start(&NewTask {
        mm: 0,
        ..of_class(Class::Batch, 0)
    });
    assert_eq!(m.priority(task), 120);
}

#[test]
fn iso_tasks_start_higher_and_come_down_twice_as_fast() {
    // An interval of 40 ms for normal tasks, 20 for SCHED_ISO.  At nice 0 user_prio is 20 / 2 = 10:
    // the top is 110, the slice 30 intervals of 40 ms.
    let mut m = up(&[("rr_interval_ms", 40)]);
    let iso = m.start(&of_class(Class::Iso, 0));
    assert_eq!(prio_and_slices(&m, iso), (110, 120, 2));
    m.schedule(0);
    let mut prios = Vec::new();
    for _ in 0..120 {
        prios.push(m.priority(iso));
        m.ticks(0, 1);
        m.schedule(0);
    }
    // Two ticks a step: after 58 it is at 139, where it stays for the rest of its slice.
    let mut expected: Vec<i32> = (0..58).map(|tick| 110 + tick / 2).collect();
    expected.resize(120, 139);
    assert_eq!(prios, expected);
    assert_eq!(prio_and_slices(&m, iso), (110, 120, 2));
}

#[test]
fn iso_tasks_gain_bursts_that_do_not_count() {
    let mut m = up(&[]);
    let iso = m.start(&of_class(Class::Iso, 0));
    m.schedule(0);
    m.after(10 * MS).block(0);
    m.after(10 * MS).wake(iso);
    m.schedule(0);
    assert_eq!(state(&m, iso).burst, 1);
    m.ticks(0, 1);
    assert_eq!(m.priority(iso), 111, "one interval at the top all the same");
}

#[test]
fn an_iso_task_beats_a_normal_one_of_equal_nice() {
    let mut m = up(&[]);
    m.start(&normal(0));
    m.schedule(0);
    let iso = m.add(&of_class(Class::Iso, 0));
    m.after(20 * MS);
    assert_eq!(m.wake(iso), [0]);
}
