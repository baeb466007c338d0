//! Each cost of a machine delays exactly the expected operations, and has the right kind in the
//! trace.

use crate::common::lab::{fork, mark, run, sleep, Lab, Ran};
use schedlab_machine::Costs;
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::EndReason::Finished;
use schedlab_trace::{EventKind, Ns, Overhead};
use schedlab_workload::{Op, Process, SpecId};

fn costing(lab: Lab, change: impl FnOnce(&mut Costs)) -> Ran {
    lab.machine(|m| change(&mut m.costs)).run()
}

const US: fn(u64) -> Ns = Ns::from_us;

#[test]
fn a_system_call_costs_on_the_way_in_and_only_once() {
    // Three calls of 10 µs: two semaphore operations and a sleep of 100 µs that began when the
    // call did, at 20 µs.  It is woken at 120 µs; the 50 µs end at 170.
    let calls = vec![Op::SemPost(0), Op::SemWait(0), sleep(100), run(50)];
    let lab = Lab::new(1).task(calls).with(|w| w.semaphores = vec![0]);
    let ran = costing(lab, |c| c.syscall = US(10));
    let syscall = |t| (t, 0, 10_000);
    assert_eq!(ran.overhead(Overhead::Syscall), [0, 10, 20].map(syscall));
    ran.ends(170, Finished);
}

#[test]
fn an_operation_that_slept_is_not_called_again() {
    // The receiver enters the kernel once, at 0, though it takes its two messages in two goes.
    let lab = Lab::new(2)
        .task(vec![crate::common::lab::receive(2)])
        .task(vec![
            run(50),
            crate::common::lab::send(1),
            run(50),
            crate::common::lab::send(1),
        ])
        .channel(4);
    let ran = costing(lab, |c| c.syscall = US(10));
    let on_cpu_0 = |&(_, cpu, _): &(u64, u32, u64)| cpu == 0;
    let calls = ran.overhead(Overhead::Syscall);
    assert_eq!(
        calls.into_iter().filter(on_cpu_0).collect::<Vec<_>>(),
        [(0, 0, 10_000)]
    );
}

#[test]
fn fork_and_exit_cost_the_one_who_calls() {
    // CPU 0: fork 0-100, then 1000 of work, exit until 1130.  CPU 1: from 100 on 500, exit to 630.
    let lab = Lab::new(2)
        .task(vec![fork(1), run(1000)])
        .template(vec![run(500)]);
    let ran = costing(lab, |c| (c.fork, c.exit) = (US(100), US(30)));
    assert_eq!(ran.began(1), [(100, 1)]);
    assert_eq!(ran.exits(), [(600, 1), (1100, 0)]);
    let spent = [(0, 0, 100_000), (600, 1, 30_000), (1100, 0, 30_000)];
    assert_eq!(ran.overhead(Overhead::Syscall), spent);
}

#[test]
fn a_wakeup_costs_the_waker_and_delays_what_it_does_next() {
    // Three sleepers woken by one task, 20 µs each, before it goes on: 100 + 60 + 40.
    let wait = Op::CondWait {
        condition: 0,
        mutex: None,
    };
    let lab = Lab::new(4)
        .tasks(3, vec![wait])
        .task(vec![run(100), Op::CondBroadcast(0), run(40)])
        .with(|w| w.nr_conditions = 1);
    let ran = costing(lab, |c| c.wakeup = US(20));
    // Each sleeping task's CPU is notified at once, but has to wait until the waker releases its
    // queue.
    assert_eq!(ran.exits(), [(120, 0), (140, 1), (160, 2), (200, 3)]);
}

#[test]
fn an_interrupt_to_another_cpu_and_leaving_idle_take_their_time() {
    // The waker posts at 1000 µs (its own start: 25 µs late).  The sleeper's CPU idles: it runs
    // 20 µs (interrupt) and 5 µs (out of idle) later.
    let lab = Lab::new(2)
        .task(vec![Op::SemWait(0), mark(0)])
        .on(&[0])
        .task(vec![run(1000), Op::SemPost(0), run(1000)])
        .on(&[1])
        .with(|w| w.semaphores = vec![0]);
    let ran = costing(lab, |c| (c.ipi, c.idle_exit) = (US(20), US(5)));
    assert_eq!(ran.marks(), [(1050, 0, 0)]);
    // A timer is taken on the CPU itself: out of idle only.
    let lab = Lab::new(1).task(vec![sleep(1000), mark(0)]);
    let ran = costing(lab, |c| (c.ipi, c.idle_exit) = (US(20), US(5)));
    assert_eq!(ran.marks(), [(1030, 0, 0)]);
}

#[test]
fn an_address_space_costs_when_it_changes_and_kernel_threads_have_none() {
    // 0 and 1 are threads of one process, 2 a kernel thread, 3 another process.  They yield in
    // turn, twice round: 0 (loads), 1, 2 (free), 3 (loads), 0 (loads), 1, 2, 3 (loads).
    let turns = || crate::common::lab::times(2, &[run(10), Op::Yield]);
    let of = |process| move |t: &mut schedlab_workload::TaskSpec| t.process = process;
    let lab = Lab::new(1)
        .task(turns())
        .but(of(Process::Shared(1)))
        .task(turns())
        .but(of(Process::Shared(1)))
        .task(turns())
        .but(of(Process::Shared(0)))
        .task(turns());
    let ran = costing(lab, |c| (c.context_switch, c.mm_switch) = (US(1), US(3)));
    let costs: Vec<u64> = ran.overhead(Overhead::Switch).iter().map(|s| s.2).collect();
    let (same, other) = (1000, 4000);
    // Two rounds, and a last turn for each to exit.
    let round = [other, same, same, other];
    assert_eq!(costs, [round, round, round].concat());
}

#[test]
fn idle_borrows_the_last_address_space() {
    // It sleeps and finds its address space still loaded.
    let lab = Lab::new(1).task(vec![run(10), sleep(10), run(10)]);
    let ran = costing(lab, |c| c.mm_switch = US(3));
    ran.ends(33, Finished);
}

#[test]
fn a_tick_costs_the_task_it_interrupts() {
    // Ticks at 1, 2 and 3 ms, 10 µs each: 3 ms of work end at 3.03 ms.
    let ran = costing(Lab::new(1).task(vec![run(3000)]), |c| c.tick = US(10));
    ran.ends(3030, Finished);
    let ticks = [1000, 2000, 3000].map(|t| (t, 0, 10_000));
    assert_eq!(ran.overhead(Overhead::Tick), ticks);
}

#[test]
fn ticks_that_come_while_one_waits_are_lost() {
    // fork() takes 3.5 ms: of the ticks at 1, 2 and 3 ms one is left when it is over.
    let lab = Lab::new(1)
        .task(vec![fork(1), run(400)])
        .template(vec![run(1)]);
    let ran = costing(lab, |c| (c.fork, c.tick) = (US(3500), US(10)));
    assert_eq!(ran.overhead(Overhead::Tick)[0], (3500, 0, 10_000));
    assert_eq!(ran.overhead(Overhead::Tick).len(), 1);
}

#[test]
fn a_lock_costs_more_when_another_cpu_had_it_last() {
    // One lock for all.  CPU 1 wakes the sleeper of CPU 0 and takes the lock over; CPU 0's
    // schedule() takes it back.
    let global = crate::common::fifo_with(&[(".lock = LOCK_PER_CPU", ".lock = LOCK_GLOBAL")]);
    let lab = Lab::under(2, Tuned::defaults(global))
        .task(vec![run(50), Op::SemWait(0), run(100)])
        .on(&[0])
        .task(vec![run(1000), Op::SemPost(0), run(100)])
        .on(&[1])
        .with(|w| w.semaphores = vec![0]);
    let ran = costing(lab, |c| c.lock_transfer = US(2));
    // CPU 1 takes it over at 0, CPU 0 at 50, to sleep, CPU 1 at 1002 for the wakeup: 2 µs each.
    // CPU 0 waits for that and takes it over at 1004: its 100 µs begin at 1006.
    assert_eq!(ran.overhead(Overhead::Wakeup), [(1002, 1, 2000)]);
    assert_eq!(ran.exit_ns(0), 1_106_000);
}

#[test]
fn linux24_pays_for_each_task_it_examines_and_recalculates() {
    // Three tasks at nice 0, 2.4.16 at 100 Hz.  schedule() looks at all runnable tasks not
    // running elsewhere, here the waiting ones and, when it may go on, the one that ran.
    let tuned = Tuned::new(Policy::find("linux24").unwrap(), Some("2.4.16"), &[]).unwrap();
    let lab = Lab::under(1, tuned).tasks(3, vec![run(400_000)]);
    let ran = costing(lab, |c| (c.examine, c.recalculate) = (US(1), US(100)));
    let calls = ran.pick(|e| match e.kind {
        EventKind::Schedule {
            examined,
            recalculations,
        } => Some((examined, recalculations)),
        _ => None,
    });
    let prices: Vec<u64> = ran
        .overhead(Overhead::Schedule)
        .iter()
        .map(|s| s.2)
        .collect();
    // A recalculation touches all tasks there are: 3, until the first has exited.
    let price = |&(n, r): &(u32, u32)| u64::from(n) * 1000 + u64::from(r) * 3 * 100_000;
    let first_recalculation = calls.iter().position(|c| c.1 == 1).unwrap();
    for (call, paid) in calls.iter().zip(&prices).take(first_recalculation + 1) {
        assert_eq!(*paid, price(call), "{call:?}");
    }
    assert!(calls[..=first_recalculation].iter().any(|c| c.0 == 3));
}

#[test]
fn what_a_hook_examines_its_own_cpu_pays_for_at_once() {
    // set_nice() examines 7 tasks, switched() 5, select_cpu() 3, pick_next() 1, at 1 µs each.
    let busy = crate::common::fifo_with(&[
        (
            "	u32 cpu, best = p->cpu, best_load = ~0u;
",
            "	u32 cpu, best = p->cpu, best_load = ~0u;

	examined(s, 3);
",
        ),
        (
            "/* For the checks:",
            "static void fifo_nice(sched_t *s, task_t *p, s32 old)
{
	examined(s, 7);
}

static void fifo_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	if (next)
		examined(s, 5);
}

/* For the checks:",
        ),
        (
            "	.tick = fifo_tick,",
            "	.tick = fifo_tick,
	.set_nice = fifo_nice,
	.switched = fifo_switched,",
        ),
    ]);
    let lab = Lab::under(2, Tuned::defaults(busy))
        .task(vec![run(1000), Op::SetNice(5), sleep(1000), run(500)])
        .task(vec![run(200), Op::Renice(SpecId(1), 3), run(5000)]);
    let ran = costing(lab, |c| c.examine = US(1));
    let of_cpu = |kind, cpu: u32| -> Vec<(u64, u64)> {
        let all = ran.overhead(kind).into_iter().filter(|o| o.1 == cpu);
        all.map(|(time, _, ns)| (time, ns)).collect()
    };
    // Both start at 0 with pick_next() and switched(): 6 µs.  Then CPU 1's renice at 206 and
    // CPU 0's at 1006 cost 7 µs each.  CPU 0's task sleeps from 1013 to 2013: its wakeup chooses
    // a CPU (3), and it is picked and switched to (6) from 2016 on.
    assert_eq!(of_cpu(Overhead::Syscall, 1), [(206, 7000)]);
    assert_eq!(of_cpu(Overhead::Syscall, 0), [(1006, 7000)]);
    assert_eq!(of_cpu(Overhead::Wakeup, 0), [(2013, 3000)]);
    let schedules = [(0, 1000), (0, 5000), (2016, 1000), (2016, 5000)];
    assert_eq!(of_cpu(Overhead::Schedule, 0), schedules);
    assert_eq!(ran.exit_ns(0), 2_522_000);
}

/// Two nodes with a cache each; a task with 1 MiB of memory goes from one to the other.
#[test]
fn what_is_missing_takes_the_longer_the_farther_the_memory_is() {
    let away = |distances: Vec<Vec<u32>>| {
        let program = vec![run(10), Op::SetCpus(Some(1)), run(10_000), Op::Exit];
        let lab = Lab::new(2)
            .task(program)
            .on(&[0])
            .with(|w| w.cpu_sets.push(vec![1]))
            .but(|t| t.working_set_bytes = 1 << 20)
            .machine(|m| {
                m.cpus[1].node = 1;
                m.cpus[1].cache = 1;
                m.caches = vec![
                    schedlab_machine::Cache {
                        size_bytes: 2 << 20,
                        refill_ps_per_byte: 1000,
                    };
                    2
                ];
                m.distances = distances;
            });
        lab.run().exit_ns(0)
    };
    let near = away(Vec::new());
    assert_eq!(away(vec![vec![10, 10], vec![10, 10]]), near);
    let far = away(vec![vec![10, 25], vec![25, 10]]);
    // A local fetch of the whole working set takes 1,048,576 ns; at distance 25 it takes 2.5 times as long.
    assert_eq!(far - near, 1_048_576 * 3 / 2);
}

/// One sleep after the other, each longer than the last.
#[test]
fn a_cpu_that_idled_for_longer_takes_longer_to_come_back() {
    let state = |after, exit| schedlab_machine::IdleState {
        after: US(after),
        exit: US(exit),
    };
    let program = vec![
        sleep(50),
        mark(0),
        sleep(150),
        mark(0),
        sleep(1000),
        mark(0),
    ];
    let lab = Lab::new(1).task(program).machine(|m| {
        m.costs.idle_exit = US(2);
        m.idle_states = vec![state(100, 20), state(500, 70)];
    });
    // 2 for the start and 50 + 2; then 150 + 20; then 1000 + 70.
    let marks = lab.run().marks();
    let times: Vec<u64> = marks.iter().map(|mark| mark.0).collect();
    assert_eq!(times, [54, 224, 1294]);
}
