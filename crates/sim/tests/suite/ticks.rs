//! Ticks and policies' timers.

use crate::common::lab::{fork, run, sleep, Lab, Ran};
use schedlab_machine::TickPhase;
use schedlab_policy::{Policy, Tuned};
use schedlab_trace::{EventKind, Ns, Overhead};

/// (when, CPU) of every tick, made visible by a cost of 1 ns.
fn ticks(lab: Lab) -> Vec<(u64, u32)> {
    let ran = lab.machine(|m| m.costs.tick = Ns(1)).run();
    let ticks = ran.overhead(Overhead::Tick);
    ticks
        .into_iter()
        .map(|(time, cpu, _)| (time, cpu))
        .collect()
}

#[test]
fn aligned_cpus_tick_together() {
    let lab = Lab::new(2).tasks(2, vec![run(2500)]);
    assert_eq!(ticks(lab), [(1000, 0), (1000, 1), (2000, 0), (2000, 1)]);
}

#[test]
fn staggered_cpus_tick_in_turn() {
    // Four CPUs, a period of 1 ms: 0.25 ms apart.
    let lab = Lab::new(4)
        .tasks(4, vec![run(1200)])
        .machine(|m| m.tick_phase = TickPhase::Staggered);
    assert_eq!(ticks(lab), [(250, 1), (500, 2), (750, 3), (1000, 0)]);
}

#[test]
fn an_idle_cpu_does_not_tick() {
    // It sleeps from 1.5 to 4.5 ms.
    let lab = Lab::new(1).task(vec![run(1500), sleep(3000), run(1000)]);
    assert_eq!(ticks(lab), [(1000, 0), (5000, 0)]);
}

#[test]
fn an_idle_cpu_ticks_for_a_policy_that_wants_it() {
    let source = [
        (
            "	.lock = LOCK_PER_CPU,",
            "	.lock = LOCK_PER_CPU,\n	.tick_when_idle = 1,",
        ),
        (
            "	if (rq_of(s, cpu)->nr_waiting &&",
            "	if (p && rq_of(s, cpu)->nr_waiting &&",
        ),
    ];
    let lab = Lab::under(1, Tuned::defaults(crate::common::fifo_with(&source))).task(vec![
        run(1500),
        sleep(2000),
        run(1000),
    ]);
    let times: Vec<u64> = ticks(lab).iter().map(|t| t.0).collect();
    assert_eq!(times, [1000, 2000, 3000, 4000]);
}

#[test]
fn a_slice_ends_with_the_first_tick_after_it() {
    // Slices of 10 ms that begin at 0.3 ms (a task of 0.3 ms comes first) end with the tick at 11.
    let ran = Lab::new(1)
        .task(vec![run(300)])
        .tasks(2, vec![run(30_000)])
        .run();
    let began: Vec<u64> = ran.began(2).iter().map(|b| b.0).collect();
    assert_eq!(began[0], 11_000);
}

/// The template with one more hook, which counts its calls, and with code that starts its timer
/// when a task is queued.
fn counting(hook: &str, takes: &str, on_enqueue: &str, on_call: &str) -> Policy {
    let counters =
        "#define FIFO_COUNTERS(C) C(calls)\nPOLICY_COUNTERS(FIFO_COUNTERS)\n\nPOLICY_STATE(";
    let function = format!(
        "static void fifo_{hook}({takes})\n{{\n	count(s, COUNTER_calls, 1);\n{on_call}}}\n\n/* For the checks:"
    );
    let enqueue = format!("	fifo_add(s, p);\n{on_enqueue}	if (!cpu_curr");
    let hooks = format!("	.tick = fifo_tick,\n	.{hook} = fifo_{hook},\n	COUNTERS,");
    crate::common::fifo_with(&[
        ("POLICY_STATE(", counters),
        ("	fifo_add(s, p);\n	if (!cpu_curr", &enqueue),
        ("/* For the checks:", &function),
        ("	.tick = fifo_tick,", &hooks),
    ])
}

fn timed(on_enqueue: &str, on_timer: &str) -> Policy {
    counting("timer", "sched_t *s, u32 id", on_enqueue, on_timer)
}

fn interrupted(on_enqueue: &str, on_hrtick: &str) -> Policy {
    let takes = "sched_t *s, u32 cpu, task_t *p";
    counting("hrtick", takes, on_enqueue, on_hrtick)
}

fn calls(ran: &Ran) -> Vec<u64> {
    ran.pick(|e| match e.kind {
        EventKind::Count { .. } => Some(e.time.0 / 1000),
        _ => None,
    })
}

#[test]
fn a_policy_timer_expires_once_when_it_said() {
    let policy = timed("	timer_start(s, 1, 2500000);\n", "");
    let ran = Lab::under(1, Tuned::defaults(policy))
        .task(vec![run(9000)])
        .run();
    assert_eq!(calls(&ran), [2500]);
}

#[test]
fn a_policy_timer_can_start_itself_again() {
    let policy = timed(
        "	timer_start(s, 0, 2000000);\n",
        "	timer_start(s, id, 3000000);\n",
    );
    let ran = Lab::under(1, Tuned::defaults(policy))
        .task(vec![run(9000)])
        .run();
    assert_eq!(calls(&ran), [2000, 5000, 8000]);
}

#[test]
fn policy_timers_alone_do_not_keep_a_run_going() {
    let policy = timed(
        "	timer_start(s, 0, 2000000);\n",
        "	timer_start(s, id, 2000000);\n",
    );
    let ran = Lab::under(1, Tuned::defaults(policy))
        .task(vec![run(3000)])
        .run();
    ran.ends(3000, schedlab_sim::EndReason::Finished);
}

#[test]
fn a_policy_timer_that_waits_for_its_cpu_expires_once() {
    // fork() keeps CPU 0 in the kernel from 1 to 5 ms.  Timer 0 expires at 2 ms and is handled at
    // 5 ms; that the child on CPU 1 starts timer 1 at 5 ms, too, does not expire it again.  The
    // other parent's fork on CPU 1 at 3 ms starts timer 1 while timer 0 is overdue.
    let policy = timed("	timer_start(s, p->id > 0, 2000000);\n", "");
    let lab = Lab::under(3, Tuned::defaults(policy))
        .task(vec![run(1000), fork(2), run(9000)])
        .task(vec![run(10_000)])
        .at(3000)
        .template(vec![run(100)])
        .machine(|m| m.costs.fork = Ns::from_ms(4));
    let ran = lab.run();
    // Timer 0: once, at 5.  Timer 1: started at 3 (task 1) and anew at 5 (the child): once, at 7.
    assert_eq!(calls(&ran), [5000, 7000]);
}

#[test]
fn a_policy_timer_stopped_before_its_cpu_could_handle_it_does_not_expire() {
    let policy = timed(
        "	if (p->id)\n		timer_stop(s, 0);\n	else\n		timer_start(s, 0, 2000000);\n",
        "",
    );
    let lab = Lab::under(3, Tuned::defaults(policy))
        .task(vec![run(1000), fork(2), run(9000)])
        .task(vec![run(10_000)])
        .at(3000)
        .template(vec![run(100)])
        .machine(|m| m.costs.fork = Ns::from_ms(4));
    assert_eq!(calls(&lab.run()), [0; 0]);
}

#[test]
fn an_hrtick_comes_on_its_own_cpu() {
    // Task 0 on CPU 0 at 2.5 ms, task 1 on CPU 1 at 3 + 2.5: the hook gets the running task.
    let policy = interrupted(
        "	hrtick_start(s, p->cpu, 2500000);\n",
        "	if (s->this_cpu != cpu || cpu_curr(s, cpu) != p)\n		policy_error(s, \"elsewhere\", p);\n",
    );
    let ran = Lab::under(2, Tuned::defaults(policy))
        .task(vec![run(9000)])
        .task(vec![run(9000)])
        .at(3000)
        .run();
    assert_eq!(calls(&ran), [2500, 5500]);
}

#[test]
fn an_hrtick_can_be_put_off_and_stopped() {
    // Two tasks on one CPU: the second, at 1 ms, puts it off from 2 to 3; the third, at 2 ms, stops it.
    let put_off = "	hrtick_start(s, 0, 2000000);\n";
    let stopped = "	if (p->id == 2)\n		hrtick_stop(s, 0);\n	else\n		hrtick_start(s, 0, 2000000);\n";
    for (on_enqueue, expected) in [(put_off, &[4000][..]), (stopped, &[])] {
        let lab = Lab::under(1, Tuned::defaults(interrupted(on_enqueue, "")))
            .task(vec![run(9000)])
            .task(vec![run(9000)])
            .at(1000)
            .task(vec![run(9000)])
            .at(2000);
        assert_eq!(calls(&lab.run()), expected);
    }
}

#[test]
fn hrticks_alone_do_not_keep_a_run_going() {
    let policy = interrupted(
        "	hrtick_start(s, p->cpu, 2000000);\n",
        "	hrtick_start(s, cpu, 2000000);\n",
    );
    let ran = Lab::under(1, Tuned::defaults(policy))
        .task(vec![run(3000)])
        .run();
    ran.ends(3000, schedlab_sim::EndReason::Finished);
}
