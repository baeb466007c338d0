//! elsc driven alone: its table is compared, list by list, with what the paper's rules give.
//!
//! Unless said otherwise tasks are of nice 0: a slice of 20 ticks, priority 20, static goodness
//! 40, list 40 / 4 = 10, where they also are when exhausted ((20 + 20) / 4).  They have address
//! spaces of their own, so that on one CPU no bonus tells them apart and the front of a list wins.

mod script;

use schedlab_policy::{ffi, Class, NewTask, Policy, Prev};
use schedlab_trace::{CpuId, TaskId};
use script::{normal, random, real_time, Machine};

const NR_LISTS: usize = 30;
const NONE: i32 = -1;

/// struct elsc_table
#[repr(C)]
struct Table {
    list: [ffi::List; NR_LISTS],
    top: i32,
    next_top: i32,
}

fn table(m: &Machine) -> *const Table {
    m.host.global_state().cast()
}

/// The lists that hold a task, highest first, each front to back.
fn lists(m: &Machine) -> Vec<(usize, Vec<TaskId>)> {
    // SAFETY: the policy's global state is one Table, and list nodes come first in its task state.
    let list = |i: usize| unsafe { (i, m.tasks_of(&raw const (*table(m)).list[i])) };
    let populated = |(_, tasks): &(usize, Vec<TaskId>)| !tasks.is_empty();
    (0..NR_LISTS).rev().map(list).filter(populated).collect()
}

/// (top, next_top)
fn tops(m: &Machine) -> (i32, i32) {
    // SAFETY: as above.
    unsafe { ((*table(m)).top, (*table(m)).next_top) }
}

/// A task with so many ticks left and this priority: a fresh slice is as long as the priority.
fn with_counter(m: &mut Machine, counter: i8, priority: i8) -> TaskId {
    let task = m.add(&normal(20 - counter));
    m.set_nice(task, 20 - priority);
    task
}

fn on_cpu(cpu: u32, nice: i8) -> NewTask {
    NewTask {
        cpu: CpuId(cpu),
        ..normal(nice)
    }
}

fn pinned(m: &mut Machine, cpu: u32, nice: i8) -> NewTask {
    NewTask {
        cpu_set: m.host.add_cpu_set(&[cpu]),
        ..on_cpu(cpu, nice)
    }
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

#[test]
fn it_compiles_at_run_time_too() {
    let source = std::path::Path::new("../../policies/elsc/elsc.c");
    assert_eq!(Policy::compile(source).unwrap().name(), "elsc");
}

// ---- the table ------------------------------------------------------------------------------

#[test]
fn task_state_is_small() {
    assert!(Policy::find("elsc").unwrap().task_size() <= 96);
}

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

    // c uses its slice up and goes behind those who have theirs.
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

// ---- the search ---------------------------------------------------------------------------------

fn examined_of_twelve(cpus: u32, set: &[(&str, i64)]) -> u32 {
    let mut m = Machine::new("elsc", cpus, set);
    for _ in 0..12 {
        m.start(&normal(0));
    }
    m.schedule(0);
    m.work().examined
}

#[test]
fn the_search_is_limited_to_half_the_cpus_plus_five() {
    for (cpus, limit) in [(1, 5), (2, 6), (3, 6), (4, 7), (8, 9)] {
        assert_eq!(examined_of_twelve(cpus, &[]), limit, "{cpus} CPUs");
    }
    assert_eq!(examined_of_twelve(4, &[("search_limit", 3)]), 3);
    assert_eq!(examined_of_twelve(4, &[("search_limit", 100)]), 12);
}

#[test]
fn the_front_wins_ties_and_the_sixth_task_is_not_seen() {
    let mut m = Machine::new("elsc", 1, &[("mm_bonus", 0)]);
    let best = with_counter(&mut m, 20, 23); // 43, in list 10 like the others
    m.wake(best);
    let mut front = best;
    for _ in 0..5 {
        front = m.start(&normal(0));
    }
    assert_eq!(m.schedule(0), Some(front));
    assert_eq!(m.block(0), Some(best)); // now it is the fifth
}

#[test]
fn the_bonus_for_the_cpu_decides_within_a_list() {
    let mut m = Machine::new("elsc", 2, &[]);
    let here = m.start(&on_cpu(0, 0)); // 40 + 15
    m.start(&on_cpu(1, 0)); // 40, in front
    assert_eq!(m.schedule(0), Some(here));
}

#[test]
fn but_lower_lists_are_not_searched() {
    // here: 19 + 19 + 15 = 53, list 9; there: 40, list 10.  goodness() prefers the first, ELSC
    // does not look at it: the deviation the paper admits to.
    for (name, prefers_here) in [("linux24:2.3.99", true), ("elsc", false)] {
        let mut m = Machine::new(name, 2, &[]);
        let here = m.start(&on_cpu(0, 1));
        let there = m.start(&on_cpu(1, 0));
        let next = if prefers_here { here } else { there };
        assert_eq!(m.schedule(0), Some(next), "{name}");
    }
}

/// After a task with address space 7: a task of 41 with the same one, behind one of 43 with another.
fn same_mm_wins(set: &[(&str, i64)]) -> (bool, u32) {
    let mut m = Machine::new("elsc", 1, set);
    m.start(&NewTask {
        mm: 7,
        ..normal(-10)
    });
    m.schedule(0);
    let same = m.add(&NewTask { mm: 7, ..normal(0) });
    m.set_nice(same, -1); // 20 + 21
    m.wake(same);
    let other = with_counter(&mut m, 20, 23);
    m.wake(other);
    m.work();
    let next = m.block(0);
    (next == Some(same), m.work().examined)
}

#[test]
fn on_a_up_kernel_the_same_address_space_ends_the_search() {
    assert_eq!(same_mm_wins(&[]), (true, 2));
    // Compared by utility it loses: 41 + 1 against 43.
    assert_eq!(same_mm_wins(&[("mm_shortcut", 0)]), (false, 2));
    assert_eq!(same_mm_wins(&[("smp", 1)]), (false, 2)); // an SMP kernel on one CPU: 57 against 58
}

#[test]
fn the_shortcut_stops_at_the_first_match() {
    let mut m = Machine::new("elsc", 1, &[]);
    for _ in 0..4 {
        m.start(&NewTask { mm: 7, ..normal(0) });
    }
    m.schedule(0);
    m.work();
    m.block(0);
    assert_eq!(m.work().examined, 1);
}

#[test]
fn so_a_preempted_task_keeps_a_up_kernel_from_its_list() {
    // It is put in front and shares its own address space: 40 is chosen before 43.
    for (shortcut, stays) in [(1, true), (0, false)] {
        let mut m = Machine::new("elsc", 1, &[("mm_shortcut", shortcut)]);
        let running = m.start(&normal(0));
        m.schedule(0);
        let better = with_counter(&mut m, 20, 23);
        assert_eq!(m.wake(better), [0]); // 43 against 40 + 1
        let next = if stays { running } else { better };
        assert_eq!(m.schedule(0), Some(next));
    }
}

#[test]
fn real_time_lists_are_searched_for_the_highest_priority() {
    let mut m = Machine::new("elsc", 1, &[]);
    let high = m.start(&real_time(Class::Fifo, 18));
    let low = m.start(&real_time(Class::Fifo, 11));
    m.start(&normal(-20));
    assert_eq!(lists(&m)[0], (21, vec![low, high]));
    assert_eq!(m.schedule(0), Some(high));
    assert_eq!(m.block(0), Some(low));
}

#[test]
fn exhausted_real_time_tasks_stay_selectable() {
    let mut m = Machine::new("elsc", 1, &[]);
    let fifo = m.start(&real_time(Class::Fifo, 1));
    m.start(&normal(0));
    m.schedule(0);
    assert!(m.ticks(0, 20));
    assert_eq!(m.schedule(0), Some(fifo));
    assert_eq!(m.work().recalculations, 0);
}

#[test]
fn an_exhausted_round_robin_task_moves_behind_its_peers() {
    let mut m = Machine::new("elsc", 1, &[]);
    let [a, b] = [15; 2].map(|rt_priority| m.start(&real_time(Class::Rr, rt_priority)));
    assert_eq!(m.schedule(0), Some(b));
    for next in [a, b, a] {
        assert!(!m.ticks(0, 19));
        assert!(m.ticks(0, 1));
        assert_eq!(m.schedule(0), Some(next));
    }
}

#[test]
fn list_0_is_searched_unless_zero_means_none() {
    // nice 19: (1 + 1) / 4 = 0
    let mut m = Machine::new("elsc", 1, &[]);
    let task = m.start(&normal(19));
    assert_eq!(tops(&m), (0, NONE));
    assert_eq!(m.schedule(0), Some(task));
    m.ticks(0, 1);
    assert_eq!(m.schedule(0), Some(task));
    assert_eq!(m.work().recalculations, 1);

    let mut m = Machine::new("elsc", 1, &[("zero_means_none", 1)]);
    m.start(&normal(19));
    assert_eq!(m.schedule(0), None);
}

// ---- tasks still running on another CPU, and affinity ----------------------------------------------

/// CPU 0 has chosen another task but not yet switched: in list 10, the previous task, still marked
/// running, is in front of one that waits.  Does CPU 1, with a limit of one task, find that one?
fn finds_behind_running(set: &[(&str, i64)]) -> bool {
    let mut set = set.to_vec();
    set.push(("search_limit", 1));
    let mut m = Machine::new("elsc", 2, &set);
    let prev = m.start(&normal(0));
    m.schedule(0);
    let waiting = m.start(&normal(0));
    let better = m.start(&normal(-10));
    let next = m.host.pick_next(CpuId(0), Some(prev), Prev::Preempted);
    assert_eq!(next, Ok(Some(better)));
    assert_eq!(lists(&m), [(10, vec![prev, waiting])]);
    m.host.pick_next(CpuId(1), None, Prev::None) == Ok(Some(waiting))
}

#[test]
fn tasks_running_elsewhere_are_skipped() {
    assert!(!finds_behind_running(&[]));
    assert!(finds_behind_running(&[("limit_counts_skipped", 0)]));
    assert!(finds_behind_running(&[("limit_is_hard", 0)]));
}

#[test]
fn a_list_without_candidates_falls_through_to_the_next() {
    let mut m = Machine::new("elsc", 2, &[("search_limit", 1)]);
    for _ in 0..3 {
        let elsewhere = pinned(&mut m, 1, -10);
        m.start(&elsewhere);
    }
    let low = m.start(&normal(0));
    m.work();
    assert_eq!(m.schedule(0), Some(low));
    assert_eq!(m.work().examined, 4);
}

#[test]
fn with_affinity_a_cpu_recalculates_for_the_exhausted_tasks_it_may_run() {
    let mut m = Machine::new("elsc", 2, &[]);
    let mine = pinned(&mut m, 0, 0);
    let mine = m.start(&mine);
    m.schedule(0);
    m.ticks(0, 20);
    let elsewhere = pinned(&mut m, 1, 0);
    let elsewhere = m.start(&elsewhere);
    m.work();
    // elsewhere has its slice but may not run here: renewed to 20 / 2 + 20 it belongs into
    // list (30 + 20) / 4.
    assert_eq!(m.schedule(0), Some(mine));
    assert_eq!(m.work().recalculations, 1);
    assert_eq!(lists(&m), [(12, vec![elsewhere])]);
    assert_eq!(tops(&m), (12, NONE));
}

#[test]
fn but_not_for_those_it_may_not() {
    let mut m = Machine::new("elsc", 2, &[]);
    let elsewhere = pinned(&mut m, 1, 0);
    let elsewhere = m.start(&elsewhere);
    m.schedule(1);
    m.ticks(1, 20);
    let fresh = m.start(&normal(0));
    assert_eq!(m.schedule(1), Some(fresh));
    assert_eq!(lists(&m), [(10, vec![elsewhere])]);
    m.work();
    assert_eq!(m.schedule(0), None);
    assert_eq!(m.work().recalculations, 0);
}

// ---- sched_yield() -----------------------------------------------------------------------------------

#[test]
fn a_lone_yield_runs_again_without_recalculation() {
    for smp in [0, 1] {
        let mut m = Machine::new("elsc", 1, &[("smp", smp)]);
        let task = m.start(&normal(0));
        m.schedule(0);
        m.work();
        assert_eq!(m.yields(0), Some(task));
        let work = m.work();
        assert_eq!((work.examined, work.recalculations), (1, 0));
    }
    // Stock, and the switch that does as stock: 20 ticks become 10 + 20.
    for (name, set) in [
        ("linux24:2.3.99", vec![("smp", 1)]),
        ("elsc", vec![("smp", 1), ("yield_recalculates", 1)]),
    ] {
        let mut m = Machine::new(name, 1, &set);
        let task = m.start(&normal(0));
        m.schedule(0);
        m.work();
        assert_eq!(m.yields(0), Some(task));
        assert_eq!(m.work().recalculations, 1, "{name}");
        assert_eq!(m.priority(task), 30 + 20, "{name}");
    }
}

#[test]
fn an_exhausted_lone_yield_recalculates() {
    let mut m = Machine::new("elsc", 1, &[]);
    let task = m.start(&normal(0));
    m.schedule(0);
    m.ticks(0, 20);
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.work().recalculations, 1);
}

#[test]
fn a_yield_gives_way_within_its_list() {
    let mut m = Machine::new("elsc", 1, &[("mm_shortcut", 0)]);
    let other = with_counter(&mut m, 20, 20);
    let task = with_counter(&mut m, 20, 23); // 43: better, same list
    m.wake(other);
    m.wake(task);
    assert_eq!(m.schedule(0), Some(task));
    assert_eq!(m.yields(0), Some(other));
    // The yield is forgotten: 43 against 40 + 1.
    assert_eq!(m.schedule(0), Some(task));
}

#[test]
fn but_not_to_a_lower_list() {
    for (searches_lower, gives_way) in [(0, false), (1, true)] {
        let mut m = Machine::new("elsc", 1, &[("yield_searches_lower", searches_lower)]);
        let lower = m.start(&normal(10));
        let task = m.start(&normal(0));
        assert_eq!(m.schedule(0), Some(task));
        let next = if gives_way { lower } else { task };
        assert_eq!(m.yields(0), Some(next));
    }
}

/// Who runs when three tasks do nothing but yield.
fn yield_order(set: &[(&str, i64)]) -> Vec<u32> {
    let mut m = Machine::new("elsc", 1, set);
    for _ in 0..3 {
        m.start(&normal(0));
    }
    m.schedule(0); // task 2, the front
    (0..4).map(|_| m.yields(0).unwrap().0).collect()
}

#[test]
fn the_last_two_to_yield_take_turns() {
    // [2 1 0]: 2 is passed over, 1 runs; [1 2 0]: 1 is passed over, 2 runs; and so on.
    assert_eq!(yield_order(&[]), [1, 2, 1, 2]);
    assert_eq!(yield_order(&[("yield_moves_last", 1)]), [1, 0, 2, 1]);
}

#[test]
fn moving_last_stays_before_the_exhausted_tasks() {
    let mut m = Machine::new("elsc", 1, &[("yield_moves_last", 1)]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    m.schedule(0);
    m.ticks(0, 20);
    assert_eq!(m.schedule(0), Some(b)); // c is exhausted
    assert_eq!(m.yields(0), Some(a));
    assert_eq!(lists(&m), [(10, vec![b, c])]);
}

// ---- what it leaves alone -------------------------------------------------------------------------------

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
    let other = pinned(&mut m, 0, 0);
    let other = m.start(&other);
    assert_eq!(m.yields(0), Some(other));
    assert_eq!(m.asked(), [1]);
}

// ---- any order of events --------------------------------------------------------------------------------

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
