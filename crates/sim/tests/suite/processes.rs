//! fork, exec, exit, wait: parents and children.

use crate::common::lab::{fork, mark, run, sleep, times, Lab};
use schedlab_policy::Tuned;
use schedlab_sim::EndReason::Finished;
use schedlab_trace::{EventKind, Ns, Overhead};
use schedlab_workload::{Op, Process};

/// (dead task, reaper) in order.
fn reaped(ran: &crate::common::lab::Ran) -> Vec<(u32, Option<u32>)> {
    ran.pick(|e| match e.kind {
        EventKind::Reap { task, reaper } => Some((task.0, reaper.map(|r| r.0))),
        _ => None,
    })
}

#[test]
fn a_child_runs_beside_its_parent_where_there_is_room() {
    // The parent forks at 1 ms and goes on; the child, task 1, begins at 1 ms on the idle CPU.
    let ran = Lab::new(2)
        .task(vec![run(1000), fork(1), run(5000)])
        .template(vec![run(2000)])
        .run();
    assert_eq!(ran.began(1), [(1000, 1)]);
    assert_eq!(ran.exits(), [(3000, 1), (6000, 0)]);
}

#[test]
fn on_one_cpu_the_parent_goes_on_until_its_slice_is_over() {
    let ran = Lab::new(1)
        .task(vec![run(1000), fork(1), run(5000)])
        .template(vec![run(2000)])
        .run();
    assert_eq!(ran.exits(), [(6000, 0), (8000, 1)]);
}

#[test]
fn waiting_for_a_child_takes_them_as_they_die() {
    // Children 2, 3, 4 of 3, 1 and 2 ms on CPUs of their own: they die in the order 3, 4, 2.
    let ran = Lab::new(4)
        .task(vec![
            fork(1),
            fork(2),
            fork(3),
            Op::WaitChild,
            mark(1),
            Op::WaitChild,
            mark(2),
            Op::WaitChild,
            mark(3),
            Op::WaitChild,
            mark(4),
        ])
        .template(vec![run(3000)])
        .template(vec![run(1000)])
        .template(vec![run(2000)])
        .run();
    assert_eq!(
        ran.marks(),
        [(1000, 0, 1), (2000, 0, 2), (3000, 0, 3), (3000, 0, 4)]
    );
    assert_eq!(
        reaped(&ran),
        [(2, Some(0)), (3, Some(0)), (1, Some(0)), (0, None)]
    );
}

#[test]
fn waiting_for_all_waits_for_the_last() {
    // As above: it wakes for each death and goes on after the third; those that died while it
    // computed are reaped at once.
    let ran = Lab::new(4)
        .task(vec![
            fork(1),
            fork(2),
            fork(3),
            run(1500),
            Op::WaitAll,
            mark(0),
        ])
        .template(vec![run(3000)])
        .template(vec![run(1000)])
        .template(vec![run(2000)])
        .run();
    assert_eq!(ran.marks(), [(3000, 0, 0)]);
    assert_eq!(ran.wakings(0), 2);
}

#[test]
fn waiting_without_children_does_nothing() {
    Lab::new(1)
        .task(vec![Op::WaitChild, Op::WaitAll, run(5)])
        .run()
        .ends(5, Finished);
}

#[test]
fn the_dead_wait_for_their_parent_on_whatever_cpu() {
    // The child dies on CPU 1 at 1 ms; the parent computes on CPU 0 until 4 ms and reaps it then.
    let ran = Lab::new(2)
        .task(vec![fork(1), run(4000), Op::WaitChild])
        .template(vec![run(1000)])
        .run();
    let reaps = ran.pick(|e| match e.kind {
        EventKind::Reap { task, .. } => Some((e.time.0 / 1000, e.cpu.0, task.0)),
        _ => None,
    });
    assert_eq!(reaps[0], (4000, 0, 1));
}

#[test]
fn orphans_are_reaped_by_nobody_as_soon_as_they_die() {
    // Parent 0 leaves at 2 ms a dead child (1, died at 1 ms) and a living one (2, dies at 5 ms).
    let ran = Lab::new(3)
        .task(vec![fork(1), fork(2), run(2000)])
        .template(vec![run(1000)])
        .template(vec![run(5000)])
        .run();
    assert_eq!(reaped(&ran), [(1, None), (0, None), (2, None)]);
    ran.ends(5000, Finished);
}

#[test]
fn grandchildren_are_not_waited_for() {
    // 0 forks 1, which forks 2 (10 ms) and exits at once: 0 goes on at 1 ms.
    let ran = Lab::new(3)
        .task(vec![fork(1), Op::WaitAll, mark(0)])
        .template(vec![run(1000), fork(2)])
        .template(vec![run(10_000)])
        .run();
    assert_eq!(ran.marks(), [(1000, 0, 0)]);
    ran.ends(11_000, Finished);
}

#[test]
fn a_forked_task_can_be_background() {
    // The run ends with the foreground parent, at 3 ms, not with its child.
    let ran = Lab::new(2)
        .task(vec![fork(1), run(3000)])
        .template(vec![run(100_000)])
        .but(|t| t.background = true)
        .run();
    ran.ends(3000, Finished);
}

#[test]
fn the_run_waits_for_foreground_orphans() {
    let ran = Lab::new(2)
        .task(vec![fork(1), run(3000)])
        .template(vec![run(100_000)])
        .run();
    ran.ends(100_000, Finished);
}

#[test]
fn a_childs_timers_start_when_it_is_forked() {
    let ran = Lab::new(2)
        .task(vec![run(4000), fork(1), Op::WaitAll])
        .template(vec![crate::common::lab::own_timer(10_000, false)])
        .run();
    ran.ends(14_000, Finished);
}

#[test]
fn exec_empties_the_cache_and_loads_an_address_space() {
    // 100 KB at 10 ns a byte: 1 ms of stall, when it starts and again after exec().
    let ran = Lab::new(1)
        .task(vec![run(2000), Op::Exec, run(2000)])
        .but(|t| t.working_set_bytes = 100_000)
        .machine(|m| {
            m.caches[0].size_bytes = 1 << 20;
            m.caches[0].refill_ps_per_byte = 10_000;
            m.costs.exec = Ns::from_us(300);
            m.costs.mm_switch = Ns::from_us(7);
        })
        .run();
    // The switch to it loads its first address space; exec() pays for the second.
    ran.ends(7 + 3000 + 300 + 3000, Finished);
    assert_eq!(ran.overhead(Overhead::Switch), [(0, 0, 7000)]);
}

#[test]
fn after_exec_a_thread_has_an_address_space_of_its_own() {
    // Two threads of one process yield to each other: no price; after one's exec() each switch
    // between them costs.
    let lab = |exec: bool| {
        let mut program = times(4, &[run(100), Op::Yield]);
        if exec {
            program.insert(0, Op::Exec);
            program = program
                .into_iter()
                .map(|op| match op {
                    Op::Loop { times, end } => Op::Loop {
                        times,
                        end: end + 1,
                    },
                    Op::EndLoop { start } => Op::EndLoop { start: start + 1 },
                    op => op,
                })
                .collect();
        }
        Lab::new(1)
            .task(times(4, &[run(100), Op::Yield]))
            .but(|t| t.process = Process::Shared(1))
            .task(program)
            .but(|t| t.process = Process::Shared(1))
            .machine(|m| m.costs.mm_switch = Ns::from_us(1))
            .run()
    };
    // To the process once; the rest is within it.
    assert_eq!(lab(false).overhead(Overhead::Switch).len(), 1);
    // Four turns each and one more to exit: 10.  Task 1's first begins with the process's
    // address space (free) and its exec() loads its own; task 0's first and all later ones pay.
    assert_eq!(lab(true).overhead(Overhead::Switch).len(), 9);
}

#[test]
fn exec_moves_to_the_cpu_the_policy_chooses() {
    // select_cpu() takes the shortest queue: at 1 ms both CPUs have one task; at 3 ms, CPU 1 has
    // none and CPU 0 has two, so exec() moves over, and has CPU 1 for itself.
    let ran = Lab::new(2)
        .task(vec![run(3000), Op::Exec, run(2000)])
        .on(&[0, 1])
        .task(vec![run(2000)])
        .on(&[1])
        .task(vec![run(4000)])
        .on(&[0])
        .run();
    assert_eq!(ran.began(0), [(0, 0), (3000, 1)]);
    assert_eq!(ran.exits(), [(2000, 1), (5000, 0), (7000, 2)]);
    let moves = ran.pick(|e| match e.kind {
        EventKind::Migrate { task, from, to } => Some((task.0, from.0, to.0)),
        _ => None,
    });
    assert_eq!(moves, [(0, 0, 1)]);
}

#[test]
fn many_children_are_no_trouble() {
    // 20,000 children die while their parent sleeps; it reaps them. Its own parent, which also had
    // 20,000, ends without reaping them.
    let children = times(20_000, &[fork(2)]);
    let mut patient = children.clone();
    patient.extend([sleep(1_000_000), Op::WaitAll]);
    let ran = Lab::under(4, Tuned::defaults(crate::common::fifo()))
        .task(patient)
        .task(children)
        .template(vec![run(1)])
        .run();
    assert_eq!(ran.outcome.tasks, 40_002);
    let (waited_for, alone): (Vec<_>, Vec<_>) = reaped(&ran)
        .into_iter()
        .partition(|(_, reaper)| reaper.is_some());
    assert_eq!((waited_for.len(), alone.len()), (20_000, 20_002));
}
