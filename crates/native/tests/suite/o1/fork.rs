//! Slices shared at fork and returned at exit.

use crate::o1::kernel::{nice, normal, Kernel, MS};
use crate::o1::up;
use schedlab_policy::NewTask;

#[test]
fn parent_and_child_share_the_slice() {
    let mut k = up();
    let parent = k.start(normal());
    k.ticks(1);
    let child = k.fork(NewTask { mm: 2, ..normal() });
    // Of 99 the child gets (99 + 1) / 2, the parent keeps 99 / 2.
    assert_eq!(k.state(child).time_slice, 50);
    assert_eq!(k.state(parent).time_slice, 49);
    assert_eq!(k.state(child).first_time_slice, 1);
    let second = k.fork(NewTask { mm: 3, ..normal() });
    assert_eq!(k.state(second).time_slice, 25);
    assert_eq!(k.state(parent).time_slice, 24);
}

#[test]
fn a_parent_with_one_jiffy_expires_in_fork() {
    let mut k = up();
    let parent = k.start(normal());
    let other = k.start(normal());
    k.ticks(99);
    assert_eq!(k.state(parent).time_slice, 1);
    let child = k.fork(NewTask { mm: 2, ..normal() });
    // The child gets (1 + 1) / 2 = 1.  The parent's 0 becomes 1 and the tick takes it: refilled,
    // expired, to be rescheduled.  The child joins it in its list, before it.
    assert_eq!(k.state(child).time_slice, 1);
    assert_eq!(k.state(parent).time_slice, 100);
    assert_eq!(k.state(child).array, k.state(parent).array);
    assert_ne!(k.state(other).array, k.state(parent).array);
    k.settle();
    assert_eq!(k.curr(0), Some(other));
    k.ticks(100); // other expires, the arrays switch: child, parent, other
    assert_eq!(k.curr(0), Some(child));
    assert_eq!(k.ticks_to_switch(10), 1);
    assert_eq!(k.curr(0), Some(parent));
}

#[test]
fn forking_costs_fractions_of_a_bonus() {
    // Child: bonus * 95 / 100 * 1000 / 10 ms, so b becomes b - 1 from 1 on; parent: whole levels.
    for (ms, child_ms, parent_ms) in [
        (1000, 900, 1000),
        (850, 700, 800),
        (150, 0, 100),
        (50, 0, 0),
    ] {
        let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", ms)]);
        let parent = k.start(normal());
        let child = k.fork(NewTask { mm: 2, ..normal() });
        assert_eq!(k.state(child).sleep_avg, child_ms * MS, "child of {ms} ms");
        assert_eq!(
            k.state(parent).sleep_avg,
            parent_ms * MS,
            "parent of {ms} ms"
        );
    }
}

#[test]
fn a_child_with_its_own_memory_runs_first() {
    let mut k = up();
    let parent = k.start(normal());
    let other = k.start(normal());
    let child = k.fork(NewTask { mm: 2, ..normal() });
    assert_eq!(k.asked(), [0]);
    k.settle();
    // In the list: child, parent, other.
    assert_eq!(k.curr(0), Some(child));
    k.block();
    assert_eq!(k.curr(0), Some(parent));
    k.block();
    assert_eq!(k.curr(0), Some(other));
}

#[test]
fn the_child_takes_its_parents_priority() {
    // Its own bonus is 9 (prio 116), the parent's 10 (prio 115): it joins the parent's list.
    let mut k = Kernel::up("2.6.11", &[("initial_sleep_avg_ms", 1000)]);
    let parent = k.start(normal());
    let child = k.fork(NewTask { mm: 2, ..normal() });
    assert_eq!(k.prio(parent), 115);
    assert_eq!(k.prio(child), 115);
    assert_eq!(k.state(child).bonus, 9);
}

#[test]
fn a_thread_runs_last() {
    let mut k = up();
    let parent = k.start(normal());
    let other = k.start(normal());
    let thread = k.fork(normal());
    assert_eq!(k.asked(), [0; 0]);
    assert_eq!(k.curr(0), Some(parent));
    k.block();
    assert_eq!(k.curr(0), Some(other));
    k.block();
    assert_eq!(k.curr(0), Some(thread));
}

#[test]
fn an_early_exit_gives_the_slice_back() {
    let mut k = up();
    let parent = k.start(normal());
    let child = k.fork(NewTask { mm: 2, ..normal() });
    k.settle().ticks(10); // the child runs 10 of its 50
    assert_eq!(k.die(), child);
    k.reap(child, parent);
    assert_eq!(k.state(parent).time_slice, 50 + 40);
}

#[test]
fn a_returned_slice_is_capped_by_the_childs_own() {
    // Parent at nice -1: 420.  The child's cap is that of its nice, 10: 50.
    let mut k = up();
    let parent = k.start(nice(-1));
    let child = k.fork(NewTask {
        mm: 2,
        nice: 10,
        ..normal()
    });
    assert_eq!(k.state(parent).time_slice, 210);
    k.block(); // the parent waits for its child
    assert_eq!(k.curr(0), Some(child));
    assert_eq!(k.die(), child);
    k.reap(child, parent);
    assert_eq!(k.state(parent).time_slice, 50);
}

#[test]
fn a_child_that_expired_gives_nothing_back() {
    let mut k = up();
    let parent = k.start(normal());
    let child = k.fork(NewTask { mm: 2, ..normal() });
    k.settle().ticks(50);
    assert_eq!(k.curr(0), Some(parent), "the child's 50 are over");
    k.block();
    assert_eq!(k.die(), child);
    k.reap(child, parent);
    assert_eq!(k.state(parent).time_slice, 50);
}

#[test]
fn a_hoggish_child_costs_its_parent() {
    // Parent 800 ms after the fork.  The child's 700 ms drop as it runs 50 ms: bonus 7, so
    // 50 / 7 = 7.142857 ms.  Parent: 800 / 4 * 3 + 692.857143 / 4, each division rounded down.
    let mut k = Kernel::up(
        "2.6.11",
        &[("initial_sleep_avg_ms", 850), ("granularity_ms", 0)],
    );
    let parent = k.start(normal());
    let child = k.fork(NewTask { mm: 2, ..normal() });
    k.settle().after(49 * MS + 999_999);
    assert_eq!(k.die(), child);
    let left = 700 * MS - (50 * MS - 1) / 7;
    assert_eq!(k.state(child).sleep_avg, left);
    // While the child ran the parent waited; that neither earns nor costs.
    assert_eq!(k.state(parent).sleep_avg, 800 * MS);
    k.reap(child, parent);
    assert_eq!(k.state(parent).sleep_avg, 600 * MS + left / 4);
}
