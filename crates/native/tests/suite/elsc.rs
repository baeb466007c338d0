//! elsc without a simulator: its table is compared, list by list, with the paper's rules.
//!
//! Unless said otherwise tasks are of nice 0: a slice of 20 ticks, priority 20, static goodness
//! 40, list 40 / 4 = 10, where they also are when exhausted ((20 + 20) / 4).  They have address
//! spaces of their own, so that on one CPU no bonus differs and the front of a list wins.

mod search;
mod table;
mod yields;

use crate::script::{normal, on_cpu, random, real_time, Machine};
use schedlab_policy::{ffi, Class, NewTask, Policy, Prev};
use schedlab_trace::{CpuId, TaskId};

const NR_LISTS: usize = 30;
const NONE: i32 = -1;

/// struct elsc_table
#[repr(C)]
struct Table {
    list: [ffi::List; NR_LISTS],
    top: i32,
    next_top: i32,
}

fn the_table(m: &Machine) -> *const Table {
    m.host.global_state().cast()
}

/// The lists that hold a task, highest first, each front to back.
fn lists(m: &Machine) -> Vec<(usize, Vec<TaskId>)> {
    // SAFETY: the policy's global state is one Table, and list nodes come first in its task state.
    let list = |i: usize| unsafe { (i, m.tasks_of(&raw const (*the_table(m)).list[i])) };
    let populated = |(_, tasks): &(usize, Vec<TaskId>)| !tasks.is_empty();
    (0..NR_LISTS).rev().map(list).filter(populated).collect()
}

/// (top, next_top)
fn tops(m: &Machine) -> (i32, i32) {
    // SAFETY: as above.
    unsafe { ((*the_table(m)).top, (*the_table(m)).next_top) }
}

/// A task with this many ticks left and this priority: a fresh slice is as long as the priority.
fn with_counter(m: &mut Machine, counter: i8, priority: i8) -> TaskId {
    let task = m.add(&normal(20 - counter));
    m.set_nice(task, 20 - priority);
    task
}

/// The only list a waiting task is in when it is alone.
fn list_of(counter: i8, priority: i8, set: &[(&str, i64)]) -> usize {
    let mut m = Machine::new("elsc", 1, set);
    let task = with_counter(&mut m, counter, priority);
    m.wake(task);
    let found = lists(&m);
    assert_eq!(found.len(), 1);
    assert_eq!(tops(&m), (found[0].0 as i32, NONE));
    found[0].0
}

// ---- declarations ----------------------------------------------------------------------------

#[test]
fn it_compiles_at_run_time_too() {
    let source = std::path::Path::new("../../policies/elsc/elsc.c");
    assert_eq!(Policy::compile(source).unwrap().name(), "elsc");
}

#[test]
fn task_state_is_small() {
    assert!(Policy::find("elsc").unwrap().task_size() <= 96);
}

// ---- unchanged rules -------------------------------------------------------------------------

#[test]
fn wakeups_are_those_of_2_3_99() {
    let mut m = Machine::new("elsc", 4, &[]);
    m.start(&normal(0));
    m.schedule(0);
    let woken = m.add(&normal(0));
    assert_eq!(m.wake(woken), [3]); // the highest idle CPU
    let mut m = Machine::new("elsc", 1, &[]);
    m.start(&normal(0));
    m.schedule(0);
    m.ticks(0, 2);
    let woken = m.add(&normal(0));
    assert_eq!(m.wake(woken), [0]); // 40 against 18 + 20 + 1: better by 1
}

#[test]
fn a_preempted_or_yielding_task_is_pushed_to_an_idle_cpu() {
    let mut m = Machine::new("elsc", 2, &[]);
    m.start(&normal(0));
    m.schedule(0);
    let other = m.pinned(0, 0);
    let other = m.start(&other);
    assert_eq!(m.yields(0), Some(other));
    assert_eq!(m.asked(), [1]);
}

// ---- any order of events ---------------------------------------------------------------------

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    let switches: [&[(&str, i64)]; 6] = [
        &[],
        &[("search_limit", 1)],
        &[("mm_shortcut", 0), ("yield_moves_last", 1)],
        &[("yield_searches_lower", 1), ("yield_recalculates", 1)],
        &[("clamp_lists", 0), ("list_width", 2)],
        &[("nice_to_ticks", 1), ("limit_is_hard", 0)],
    ];
    for set in switches {
        for cpus in [1, 2, 5] {
            for seed in 1..=10 {
                let mut m = Machine::new("elsc", cpus, set);
                random::live(&mut m, seed, 500);
                assert_tops_are_right(&m);
            }
        }
    }
}

/// The highest populated list is the one that top or next_top, whichever is higher, points to.
fn assert_tops_are_right(m: &Machine) {
    let highest = lists(m).first().map_or(NONE, |&(i, _)| i as i32);
    let (top, next_top) = tops(m);
    assert_eq!(top.max(next_top), highest);
}
