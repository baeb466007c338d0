//! Broken policies: each is the template with one error. The check made for this error must find it
//! and name it, and the hook that caused it.

use schedlab_machine::Machine;
use schedlab_policy::{FaultKind, Hook, LockFault, Policy, Tuned};
use schedlab_sim::{Rule, Setup, SimError};
use schedlab_trace::{HashSink, Ns, TaskClass};
use schedlab_workload::{builtin, random};

use crate::common::lab::{forever, run, sleep, Lab};

/// The first error within some random workloads on four CPUs.
fn first_error(policy: Policy) -> SimError {
    let tuned = Tuned::defaults(policy);
    let machine = Machine::ideal(4);
    for seed in 0..60 {
        let workload = random(seed, 4);
        let setup = Setup {
            seed,
            ..Setup::new(&machine, &workload, &tuned)
        };
        let end = setup.run(HashSink::default());
        if let Err(error) = end {
            return error;
        }
    }
    panic!("no check noticed");
}

#[track_caller]
fn violates(from: &str, to: &str, rule: Rule, hook: Option<Hook>) {
    match first_error(crate::common::fifo_with(&[(from, to)])) {
        SimError::Violation(found) => {
            assert_eq!((found.rule, found.hook), (rule, hook), "{found}");
            assert!(found.to_string().contains("policy fifo"));
        }
        other => panic!("caught as something else: {other}"),
    }
}

#[track_caller]
fn faults(from: &str, to: &str, hook: Hook, is_kind: fn(&FaultKind) -> bool) {
    match first_error(crate::common::fifo_with(&[(from, to)])) {
        SimError::Fault { fault, .. } => {
            assert!(fault.hook == hook && is_kind(&fault.kind), "{fault}");
            assert!(fault.to_string().contains(hook.name()));
        }
        other => panic!("caught as something else: {other}"),
    }
}

const TICK: &str = "	if (rq_of(s, cpu)->nr_waiting &&";
const PICK: &str = "	examined(s, 1);";

#[test]
fn the_template_itself_is_sound() {
    let sound = std::panic::catch_unwind(|| first_error(crate::common::fifo_with(&[])));
    assert!(sound.is_err(), "found {:?}", sound.unwrap());
}

/// eevdf with some of its text replaced, and two groups of hogs, one three times as heavy as the other.
fn broken_groups(changes: &[(&str, &str)], limit: &str) -> Result<(), SimError> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut source = std::fs::read_to_string(root.join("policies/eevdf/eevdf.c")).unwrap();
    for (from, to) in changes {
        assert!(source.contains(from), "eevdf has no {from:?}");
        source = source.replacen(from, to, 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eevdf.c");
    std::fs::write(&file, source).unwrap();
    let policy = Policy::compile(&file).unwrap_or_else(|error| panic!("{error}"));
    let hogs = "count = 2\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n";
    let text = format!(
        "duration = \"30s\"\n[group.a]\nweight = 300\n[group.b]\n{limit}[task.x]\ngroup = \"a\"\n{hogs}[task.y]\ngroup = \"b\"\n{hogs}"
    );
    let workload = schedlab_workload::native::parse("w.toml", &text).unwrap();
    let (machine, tuned) = (Machine::ideal(1), Tuned::defaults(policy));
    let setup = Setup::new(&machine, &workload, &tuned);
    setup.run(HashSink::default()).map(|_| ())
}

#[track_caller]
fn finds(rule: Rule, end: Result<(), SimError>) {
    match end {
        Err(SimError::Violation(found)) => assert_eq!(found.rule, rule, "{found}"),
        other => panic!("not caught: {other:?}"),
    }
}

#[test]
fn ignores_the_weight_of_a_group() {
    assert_eq!(broken_groups(&[], ""), Ok(()));
    let from = "	set_slice(s, se, glob_of(s)->base_slice);\n}\n\nstatic void fork_entity";
    let to = "	set_slice(s, se, glob_of(s)->base_slice);\n	set_weight(se, NICE_0_LOAD);\n}\n\nstatic void fork_entity";
    let reweight = "	if (se->on_rq) {\n		reweight_queued";
    let not = "	if (group_queue(se))\n		return;\n	if (se->on_rq) {\n		reweight_queued";
    finds(
        Rule::GroupWeight,
        broken_groups(&[(from, to), (reweight, not)], ""),
    );
}

#[test]
fn ignores_the_quota_of_a_group() {
    let limit = "quota = \"10ms\"\n";
    assert_eq!(broken_groups(&[], limit), Ok(()));
    let from = "	account_cfs_rq_runtime(s, cfs_rq, delta_exec);\n";
    finds(Rule::Quota, broken_groups(&[(from, "")], limit));
}

#[test]
fn forgets_the_tasks_of_a_group() {
    // A group's entity is not linked again when its task was preempted.
    let from =
        "	cfs_rq->curr = NULL;\n	link_entity(s, cfs_rq, se);\n}\n\n#include \"eevdf/wakeup.h";
    let to = "	cfs_rq->curr = NULL;\n	if (!group_queue(se))\n		link_entity(s, cfs_rq, se);\n}\n\n#include \"eevdf/wakeup.h";
    assert!(broken_groups(&[(from, to)], "").is_err());
}

#[test]
fn drops_a_new_or_woken_task() {
    let from = "	fifo_add(s, p);\n	if (!cpu_curr";
    violates(from, "	if (!cpu_curr", Rule::TaskLost, Some(Hook::Enqueue));
}

#[test]
fn breaks_its_promise_of_how_long_a_task_waits() {
    let hogs = builtin::parse("hogs --count 2").unwrap();
    let without_slices = crate::common::fifo_with(&[(TICK, "	if (0 &&")]);
    let run = |policy, seconds: u64| {
        let (machine, tuned) = (Machine::ideal(1), Tuned::defaults(policy));
        let setup = Setup {
            duration: Some(Ns::from_ms(1000 * seconds)),
            ..Setup::new(&machine, &hogs, &tuned)
        };
        setup.run(HashSink::default())
    };
    assert!(run(crate::common::fifo(), 5).is_ok());
    assert!(run(without_slices, 1).is_ok(), "it may wait a second");
    match run(without_slices, 2) {
        Err(SimError::Violation(found)) => assert_eq!(found.rule, Rule::Starvation, "{found}"),
        other => panic!("not caught: {:?}", other.map(|(outcome, _)| outcome)),
    }
}

/// One queue for eight CPUs, and only CPU 0 ever hears of a task.
#[test]
fn tells_no_idle_cpu_of_a_task_in_the_one_queue() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join("policies/fifo/fifo.c")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fifo.c");
    let tried = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let policy = Policy::compile(&file).unwrap_or_else(|error| panic!("{error}"));
        let hogs = Lab::under(8, Tuned::defaults(policy)).tasks(8, forever(&[run(1000)]));
        hogs.for_us(10_000_000).try_run().map(|_| ())
    };
    assert_eq!(tried(&source), Ok(()));
    let queue = "#include \"textbook/queue.h\"";
    let deaf = "#define resched_cpu(s, cpu) ((cpu) ? (void)0 : (resched_cpu)(s, cpu))\n";
    assert!(source.contains(queue));
    let text = source.replacen(queue, &format!("{deaf}{queue}"), 1);
    finds(Rule::WorkConservation, tried(&text));
}

const ENDS_SLICES: &str = "		resched_cpu(s, cpu);\n}\n\n/* For the checks";

/// Three hogs on two CPUs. At the end of a slice the task that waits moves to the other run queue, and no other runs.
#[test]
fn a_task_that_moves_waits_all_the_same() {
    let moves = "	{
		task_t *first = task_of(list_entry(rq_of(s, cpu)->queue.next, ts_t, node));

		if (!rq_lock(s, !cpu))
			return;
		fifo_remove(s, first);
		move_task(s, first, !cpu);
		fifo_add(s, first);
		rq_unlock(s, !cpu);
	}\n}\n\n/* For the checks";
    let policy = crate::common::fifo_with(&[(ENDS_SLICES, moves)]);
    let hogs = Lab::under(2, Tuned::defaults(policy)).tasks(3, forever(&[run(1000)]));
    finds(
        Rule::Starvation,
        hogs.for_us(10_000_000).try_run().map(|_| ()),
    );
}

const WITHOUT_SLICES: (&str, &str) = (TICK, "	if (0 &&");

/// Two hogs on one CPU for 10 s beside a real-time task that runs for this time and sleeps for 100 ms.
fn beside_a_real_time_task(tuned: Tuned, run_us: u64) -> Result<(), SimError> {
    let lab = Lab::under(1, tuned)
        .tasks(2, forever(&[run(1000)]))
        .task(forever(&[run(run_us), sleep(100_000)]))
        .but(|t| t.class = TaskClass::Fifo)
        .for_us(10_000_000);
    lab.try_run().map(|_| ())
}

#[test]
fn a_real_time_task_ends_no_promise() {
    let without_slices = Tuned::defaults(crate::common::fifo_with(&[WITHOUT_SLICES]));
    let end = beside_a_real_time_task(without_slices, 10);
    finds(Rule::Starvation, end);
}

#[test]
fn time_of_real_time_tasks_is_no_wait() {
    let rr = Tuned::defaults(Policy::find("rr").unwrap());
    assert_eq!(beside_a_real_time_task(rr, 3_000_000), Ok(()));
}

/// The bound of the template depends on its slice; a policy whose bound does not is held to it.
#[test]
fn only_tunables_of_the_bound_end_the_promise() {
    let depends = "		.bound_tunables = \"hz slice_ms\",\n";
    let hogs = |changes: &[(&str, &str)]| {
        let policy = crate::common::fifo_with(changes);
        let slice = [("slice_ms".to_string(), 3)];
        let tuned = Tuned::new(policy, None, &slice).unwrap();
        let hogs = Lab::under(1, tuned).tasks(2, forever(&[run(1000)]));
        hogs.for_us(10_000_000).try_run().map(|_| ())
    };
    assert_eq!(hogs(&[WITHOUT_SLICES]), Ok(()));
    finds(Rule::Starvation, hogs(&[WITHOUT_SLICES, (depends, "")]));
}

/// Two hogs on one CPU for 30 s, the nicer one second, under the template with changes.
fn two_hogs(changes: &[(&str, &str)]) -> Result<(), SimError> {
    let tuned = Tuned::defaults(crate::common::fifo_with(changes));
    let program = forever(&[run(1000)]);
    let lab = Lab::under(1, tuned)
        .task(program.clone())
        .task(program)
        .but(|t| t.nice = 10)
        .for_us(30_000_000);
    lab.try_run().map(|_| ())
}

#[track_caller]
fn breaks_its_promise_of_nice(changes: &[(&str, &str)]) {
    match two_hogs(changes) {
        Err(SimError::Violation(found)) => assert_eq!(found.rule, Rule::NicePromise, "{found}"),
        other => panic!("not caught: {other:?}"),
    }
}

const IGNORED: &str = ".nice = NICE_IGNORED";
const SLICE: &str = "(u64)tun(s)->slice_ms";

#[test]
fn gives_all_the_same_though_it_promises_shares() {
    breaks_its_promise_of_nice(&[(IGNORED, ".nice = NICE_WEIGHTED")]);
}

#[test]
fn gives_more_to_higher_nice() {
    for promise in [".nice = NICE_WEIGHTED", ".nice = NICE_ORDERED"] {
        let slice = "(u64)(30 + next->nice * 2)";
        breaks_its_promise_of_nice(&[(IGNORED, promise), (SLICE, slice)]);
    }
}

#[test]
fn keeps_its_promise_of_nice() {
    two_hogs(&[(IGNORED, ".nice = NICE_ORDERED")]).unwrap();
    let slice = "(u64)(30 - next->nice)";
    two_hogs(&[(IGNORED, ".nice = NICE_WEIGHTED"), (SLICE, slice)]).unwrap();
}

#[test]
fn drops_the_preempted_task() {
    violates(
        "		fifo_add(s, prev);",
        "		;",
        Rule::TaskLost,
        Some(Hook::PickNext),
    );
}

#[test]
fn drops_the_yielding_task_only() {
    let from = "if (why == PREV_YIELDED || why == PREV_PREEMPTED)";
    violates(
        from,
        "if (why == PREV_PREEMPTED)",
        Rule::TaskLost,
        Some(Hook::PickNext),
    );
}

#[test]
fn forgets_to_tell_an_idle_cpu() {
    violates(
        "		resched_cpu(s, p->cpu);",
        "		;",
        Rule::WorkConservation,
        Some(Hook::Enqueue),
    );
}

#[test]
fn idles_although_somebody_waits() {
    let to = "	if (random_u32(s) % 8 == 0) { fifo_add(s, next); return NULL; }\n	examined(s, 1);";
    violates(PICK, to, Rule::WorkConservation, Some(Hook::PickNext));
}

#[test]
fn runs_a_task_on_two_cpus() {
    let to =
        "	if (cpu_curr(s, (cpu + 1) % s->nr_cpus)) next = cpu_curr(s, (cpu + 1) % s->nr_cpus);";
    violates(PICK, to, Rule::DoubleRun, Some(Hook::PickNext));
}

#[test]
fn keeps_a_dead_task_queued() {
    let from = "	if (list_linked(&ts_of(p)->node))\n		fifo_remove(s, p);";
    let to = "	if (flags & DEQ_EXIT)\n		fifo_add(s, p);\n	else if (list_linked(&ts_of(p)->node))\n		fifo_remove(s, p);";
    violates(from, to, Rule::NotRunnable, Some(Hook::PickNext));
}

#[test]
fn steals_what_may_not_run_here() {
    let to = "	{
		rq_t *other = rq_of(s, (cpu + 1) % s->nr_cpus);
		if (!list_empty(&other->queue)) {
			task_t *stolen = task_of(list_entry(other->queue.next, ts_t, node));
			fifo_add(s, next);
			fifo_remove(s, stolen);
			next = stolen;
		}
	}";
    violates(PICK, to, Rule::Placement, Some(Hook::PickNext));
}

#[test]
fn moves_a_task_where_it_may_not_run() {
    let to = "	if (!list_empty(&rq->queue)) {
		task_t *p = task_of(list_entry(rq->queue.next, ts_t, node));
		if (p != prev && rq_lock(s, (cpu + 1) % s->nr_cpus)) {
			fifo_remove(s, p);
			move_task(s, p, (cpu + 1) % s->nr_cpus);
			fifo_add(s, p);
			rq_unlock(s, (cpu + 1) % s->nr_cpus);
		}
	}";
    violates(PICK, to, Rule::Placement, None);
}

#[test]
fn moves_a_running_task() {
    let to = "	u32 other = (cpu + 1) % s->nr_cpus;\n	if (s->now % 7 == 0 && rq_lock(s, other)) { move_task(s, p, other); rq_unlock(s, other); }\n	if (rq_of(s, cpu)->nr_waiting &&";
    match first_error(crate::common::fifo_with(&[(TICK, to)])) {
        SimError::Violation(found) => assert!(
            matches!(found.rule, Rule::NotRunnable | Rule::Placement),
            "{found}"
        ),
        other => panic!("caught as something else: {other}"),
    }
}

#[test]
fn ignores_affinity_when_choosing_a_cpu() {
    let bad_cpu = |kind: &FaultKind| matches!(kind, FaultKind::BadCpu { .. });
    faults(
        "		if (!cpu_allowed(p, cpu))\n			continue;",
        "",
        Hook::SelectCpu,
        bad_cpu,
    );
}

#[test]
fn chooses_a_cpu_that_does_not_exist() {
    let bad_cpu = |kind: &FaultKind| matches!(kind, FaultKind::BadCpu { cpu: 4, .. });
    faults(
        "	return best;",
        "	return s->nr_cpus;",
        Hook::SelectCpu,
        bad_cpu,
    );
}

#[test]
fn changes_a_tasks_cpu_behind_everybodys_back() {
    let to = "	if (!list_empty(&rq_of(s, cpu)->queue))
		task_of(list_entry(rq_of(s, cpu)->queue.next, ts_t, node))->cpu = (cpu + 1) % s->nr_cpus;
	if (rq_of(s, cpu)->nr_waiting &&";
    violates(TICK, to, Rule::TaskLost, None);
}

#[test]
fn loops_without_end() {
    let to = "	repeat_while(s, cpu < s->nr_cpus)\n		;\n	if (rq_of(s, cpu)->nr_waiting &&";
    faults(TICK, to, Hook::Tick, |kind| *kind == FaultKind::Looped);
}

#[test]
fn starts_a_timer_that_leaves_time_no_room() {
    let hooks = "	.pick_next = fifo_pick_next,\n";
    let policy = crate::common::fifo_with(&[
        ("	return 0;", "	timer_start(s, 0, 0);\n	return 0;"),
        (
            "static void fifo_add(",
            "static void fifo_timer(sched_t *s, u32 id)\n{\n	timer_start(s, id, 0);\n}\n\nstatic void fifo_add(",
        ),
        (hooks, "	.pick_next = fifo_pick_next,\n	.timer = fifo_timer,\n"),
    ]);
    match first_error(policy) {
        SimError::Fault { time, fault, .. } => {
            assert_eq!(
                (fault.hook, &fault.kind),
                (Hook::Timer, &FaultKind::TimerStorm)
            );
            assert!(time.0 < 1_000_000, "{time}");
        }
        other => panic!("caught as something else: {other}"),
    }
}

#[test]
fn answers_something_that_is_no_task() {
    let to = "	if (s->now) return (task_t *)((u8 *)next + 8);";
    faults(PICK, to, Hook::PickNext, |kind| {
        *kind == FaultKind::NotATask
    });
}

#[test]
fn finds_its_own_state_wrong() {
    let to = "	if (rq->nr_waiting > 2) policy_error(s, \"too many\", next);";
    let reported = |kind: &FaultKind| matches!(kind, FaultKind::Reported { message, task: Some(_), .. } if message == "too many");
    faults(PICK, to, Hook::PickNext, reported);
}

#[test]
fn fails_to_initialise() {
    faults("	return 0;", "	return -12;", Hook::Init, |kind| {
        *kind == FaultKind::InitFailed(-12)
    });
}

#[test]
fn has_no_way_to_choose_a_task() {
    faults(
        "	.pick_next = fifo_pick_next,\n",
        "",
        Hook::PickNext,
        |kind| *kind == FaultKind::Missing,
    );
}

#[test]
fn a_bare_loop_does_not_compile() {
    let result = std::panic::catch_unwind(|| {
        crate::common::fifo_with(&[(TICK, "	while (1);\n	if (rq_of(s, cpu)->nr_waiting &&")])
    });
    let message = *result.err().unwrap().downcast::<String>().unwrap();
    assert!(message.contains("poisoned"), "{message}");
}

#[test]
fn what_only_the_host_may_touch_does_not_compile() {
    for named in [
        "s->host_only.rng = 1;",
        "p->host_only.moved_from = 0;",
        "cpu_of(s, cpu)->host_only.resched_next = 0;",
    ] {
        let to = format!("	{named}\n	if (rq_of(s, cpu)->nr_waiting &&");
        let result = std::panic::catch_unwind(|| crate::common::fifo_with(&[(TICK, &to)]));
        let message = *result.err().unwrap().downcast::<String>().unwrap();
        assert!(message.contains("poisoned \"host_only\""), "{message}");
    }
}

const QUEUED: &str = "	return list_linked(&ts_of(p)->node);";
const ADD_PREV: &str = "		fifo_add(s, prev);";

/// The task that is dropped lies on a CPU that never idles, and queued() says that it is still there.
#[test]
fn drops_a_task_and_says_that_it_is_queued() {
    let drops = "		{ if (prev->id || s->now < 1000000) fifo_add(s, prev); }";
    let policy = crate::common::fifo_with(&[(QUEUED, "	return true;"), (ADD_PREV, drops)]);
    let hogs = Lab::under(1, Tuned::defaults(policy)).tasks(3, forever(&[run(1000)]));
    let end = hogs.for_us(500_000).try_run().map(|_| ());
    finds(Rule::TaskLost, end);
}

/// Both tasks run for ever, so no other check sees it.
#[test]
fn nothing_is_lost_if_all_tasks_are_queued() {
    let policy = crate::common::fifo_with(&[(QUEUED, "	return true;")]);
    let hogs = Lab::under(1, Tuned::defaults(policy)).tasks(3, forever(&[run(1000)]));
    hogs.for_us(500_000).try_run().unwrap();
}

/// The task that ran waits in the queue, and the CPU idles all the same.
#[test]
fn idles_although_the_task_that_ran_waits() {
    let empty = "	if (list_empty(&rq->queue))";
    let idles = "	if (list_empty(&rq->queue) || (prev && why == PREV_YIELDED))";
    let policy = crate::common::fifo_with(&[(empty, idles)]);
    let yields = forever(&[run(1000), schedlab_workload::Op::Yield]);
    let lab = Lab::under(1, Tuned::defaults(policy)).task(yields);
    finds(
        Rule::WorkConservation,
        lab.for_us(100_000).try_run().map(|_| ()),
    );
}

/// What a hook of the template does with locks, done in each tick of CPU 0.
#[track_caller]
fn misuses_a_lock(what: &str, wanted: LockFault) {
    let to = format!("	if (!cpu) {{ {what} }}\n	if (rq_of(s, cpu)->nr_waiting &&");
    faults(
        TICK,
        &to,
        Hook::Tick,
        match wanted {
            LockFault::Kept => |kind| matches!(kind, FaultKind::Lock(LockFault::Kept, _)),
            LockFault::NotHeld => |kind| matches!(kind, FaultKind::Lock(LockFault::NotHeld, _)),
            LockFault::Twice => |kind| matches!(kind, FaultKind::Lock(LockFault::Twice, _)),
            LockFault::Missing => |kind| matches!(kind, FaultKind::Lock(LockFault::Missing, _)),
        },
    );
}

#[test]
fn keeps_a_lock() {
    misuses_a_lock("if (!rq_lock(s, 1)) return;", LockFault::Kept);
}

#[test]
fn unlocks_what_it_has_not_locked() {
    misuses_a_lock("rq_unlock(s, 1);", LockFault::NotHeld);
}

#[test]
fn locks_its_own_run_queue() {
    misuses_a_lock("if (!rq_lock(s, cpu)) return;", LockFault::Twice);
}

#[test]
fn takes_a_task_without_the_lock_of_its_queue() {
    let steals = "		rq_t *other = rq_of(s, 1);
		if (!list_empty(&other->queue)) {
			task_t *stolen = task_of(list_entry(other->queue.next, ts_t, node));
			if (cpu_allowed(stolen, 0)) {
				fifo_remove(s, stolen);
				move_task(s, stolen, 0);
				fifo_add(s, stolen);
			}
		}";
    misuses_a_lock(steals, LockFault::Missing);
}

#[test]
fn writes_behind_the_last_run_queue() {
    let to = "	if (s->now > 2000000) rq_of(s, s->nr_cpus)->nr_waiting++;\n	if (rq_of(s, cpu)->nr_waiting &&";
    let policy = crate::common::fifo_with(&[(TICK, to)]);
    let mut hogs = Lab::under(2, Tuned::defaults(policy)).tasks(3, forever(&[run(1000)]));
    hogs.checks_policy = true;
    match hogs.for_us(100_000).try_run().map(|_| ()) {
        Err(SimError::Fault { fault, .. }) => {
            assert_eq!(
                (fault.hook, &fault.kind),
                (Hook::Tick, &FaultKind::WroteBeyond)
            );
        }
        other => panic!("not caught: {other:?}"),
    }
}
