//! Which operations are called, in what order, with what arguments.

use super::kernel::{flat, normal, Script, MS};
use super::scheduler::Attached;

/// All tasks on the global queue.
const GLOBAL: &str = r#"
OP(enqueue) {
	note("enqueue", number_of(TASK), ctx[1]);
	scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, ctx[1]);
	return 0;
}
"#;

/// As scx_simple: an idle CPU at once, or else a queue of its own.
const OWN_QUEUE: &str = r#"
OP(select_cpu) {
	bool idle = 0;
	s32 cpu = scx_bpf_select_cpu_dfl(TASK, ctx[1], ctx[2], &idle);

	note("select_cpu", number_of(TASK), ctx[2]);
	if (idle)
		scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, 0);
	return cpu;
}
OP(enqueue) {
	note("enqueue", number_of(TASK), ctx[1]);
	scx_bpf_dsq_insert(TASK, 7, SLICE, ctx[1]);
	return 0;
}
OP(dispatch) {
	note("dispatch", ctx[0], number_of((void *)ctx[1]));
	scx_bpf_dsq_move_to_local(7);
	return 0;
}
OP(init) { return scx_bpf_create_dsq(7, -1); }
"#;

/// The scheduler keeps its tasks: number 0 is what it dispatches.
const KEEPS: &str = r#"
static struct task_struct *kept;
OP(enqueue) {
	note("enqueue", number_of(TASK), ctx[1]);
	kept = TASK;
	return 0;
}
"#;

fn one_cpu(source: &str, flags: u64) -> Script {
    let attached = Attached {
        flags,
        ..Attached::default()
    };
    Script::new(&flat(1), source, attached)
}

/// SCX_OPS_ENQ_LAST.
const ENQ_LAST: u64 = 2;

#[test]
fn a_life() {
    let mut s = one_cpu(GLOBAL, 0);
    let t0 = s.add(&normal(0));
    let born = [
        "init_task 1000 0",
        "enable 1000 0",
        "set_weight 1000 64",
        "set_cpumask 1000 1",
    ];
    assert_eq!(s.notes(), born);
    // ENQUEUE_INITIAL | ENQUEUE_NOCLOCK; a task of one CPU has no select_cpu().
    s.wake_new(0, t0);
    assert_eq!(s.notes(), ["runnable 1000 80008", "enqueue 1000 80008"]);
    assert_eq!(s.rescheds(), [0]);
    assert_eq!(s.schedule(0), Some(t0));
    assert_eq!(s.notes(), ["running 1000 0"]);

    let t1 = s.fork(0, &normal(-20));
    assert_eq!(
        s.notes(),
        ["init_task 1001 1", "enable 1001 0", "set_weight 1001 21dc"]
    );
    s.wake_new(0, t1);
    assert_eq!(s.notes(), ["runnable 1001 80008", "enqueue 1001 80008"]);
    assert_eq!(
        s.rescheds(),
        [0; 0],
        "one task of the class does not preempt another"
    );

    // 20 ms, in ticks of 4 ms.
    assert_eq!(
        [(); 5].map(|()| s.tick(0, 4 * MS)),
        [false, false, false, false, true]
    );
    s.rescheds();
    assert_eq!(s.notes(), [""; 0]);
    assert_eq!(s.schedule(0), Some(t1));
    assert_eq!(
        s.notes(),
        ["stopping 1000 1", "enqueue 1000 0", "running 1001 0"]
    );

    s.now += MS;
    assert_eq!(s.block(0), Some(t0));
    assert_eq!(
        s.notes(),
        ["stopping 1001 0", "quiescent 1001 9", "running 1000 0"]
    );
    assert_eq!(s.exit(0), None);
    // sched_autogroup_exit_task(), and then DEQUEUE_SLEEP | DEQUEUE_NOCLOCK | DEQUEUE_SPECIAL.
    let end = [
        "stopping 1000 0",
        "quiescent 1000 20000000e",
        "runnable 1000 e",
        "running 1000 0",
        "stopping 1000 0",
        "quiescent 1000 10009",
        "dispatch 0 3e8",
        "disable 1000 0",
        "exit_task 1000 0",
    ];
    assert_eq!(s.notes(), end);
    s.wake(0, t1);
    assert_eq!(s.notes(), ["runnable 1001 9", "enqueue 1001 9"]);
    assert_eq!(s.schedule(0), Some(t1));
    assert!(s.fault.is_none());
}

#[test]
fn a_task_alone_goes_on_with_a_new_slice() {
    let mut s = one_cpu(GLOBAL, 0);
    let t0 = s.add(&normal(0));
    s.wake_new(0, t0);
    s.schedule(0);
    s.notes();
    for round in 0..3 {
        let expired = [(); 5].map(|()| s.tick(0, 4 * MS));
        assert!(expired[4], "round {round}");
        assert_eq!(s.schedule(0), Some(t0));
        assert_eq!(
            s.notes(),
            ["dispatch 0 3e8"],
            "neither stopping nor running"
        );
    }
    // With slice left there is nothing to ask.
    s.now += MS;
    assert_eq!(s.schedule(0), Some(t0));
    assert_eq!(s.notes(), [""; 0]);
}

#[test]
fn enq_last_hands_over_a_task_that_is_alone() {
    let mut s = one_cpu(GLOBAL, ENQ_LAST);
    let t0 = s.add(&normal(0));
    s.wake_new(0, t0);
    s.schedule(0);
    s.notes();
    s.tick(0, 20 * MS);
    assert_eq!(s.schedule(0), None);
    let handed = [
        "dispatch 0 3e8",
        "stopping 1000 1",
        "enqueue 1000 20000000000",
    ];
    assert_eq!(s.notes(), handed);
    assert!(s.host.queued(t0).unwrap());
    // The follow-up is up to the scheduler; once the CPU looks, the task is there.
    assert_eq!(s.schedule(0), Some(t0));
}

#[test]
fn yielding_gives_up_the_slice() {
    let mut s = one_cpu(GLOBAL, 0);
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.wake_new(0, t0);
    s.schedule(0);
    s.wake_new(0, t1);
    s.notes();
    s.now += MS;
    assert_eq!(s.yields(0), Some(t1));
    assert_eq!(
        s.notes(),
        ["stopping 1000 1", "enqueue 1000 0", "running 1001 0"]
    );
    // ops.yield() instead of that.
    let own =
        format!("{GLOBAL}\nOP(yield) {{ note(\"yield\", number_of(TASK), ctx[1]); return 1; }}");
    let mut s = one_cpu(&own, 0);
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.wake_new(0, t0);
    s.schedule(0);
    s.wake_new(0, t1);
    s.notes();
    assert_eq!(s.yields(0), Some(t0), "it has slice left");
    assert_eq!(s.notes(), ["yield 1000 0"]);
}

#[test]
fn weights_change_off_the_queues() {
    let mut s = one_cpu(GLOBAL, 0);
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.wake_new(0, t0);
    s.schedule(0);
    s.wake_new(0, t1);
    s.notes();
    // DEQUEUE_SAVE | DEQUEUE_NOCLOCK | SCX_DEQ_SCHED_CHANGE; ENQUEUE_RESTORE | ENQUEUE_NOCLOCK.
    s.set_nice(0, t0, 10);
    let running = [
        "stopping 1000 0",
        "quiescent 1000 20000000a",
        "set_weight 1000 b",
        "runnable 1000 a",
        "running 1000 0",
    ];
    assert_eq!(s.notes(), running);
    s.set_nice(0, t1, -5);
    let waiting = [
        "quiescent 1001 20000000a",
        "set_weight 1001 131",
        "runnable 1001 a",
        "enqueue 1001 a",
    ];
    assert_eq!(s.notes(), waiting);
    s.block(0);
    s.notes();
    s.set_nice(0, t0, 0);
    assert_eq!(
        s.notes(),
        ["set_weight 1000 64"],
        "asleep, it is on no queue"
    );
}

#[test]
fn an_idle_cpu_gets_its_task_without_enqueue() {
    let mut s = Script::new(&flat(2), OWN_QUEUE, Attached::default());
    let t0 = s.add(&normal(0));
    s.notes();
    s.wake_new(0, t0);
    // SCX_WAKE_FORK; wake_up_new_task() does not say that select_cpu() was called.
    assert_eq!(s.notes(), ["select_cpu 1000 4", "runnable 1000 80008"]);
    assert_eq!(s.rescheds(), [0]);
    assert_eq!(s.schedule(0), Some(t0));
    assert_eq!(
        s.notes(),
        ["running 1000 0"],
        "dispatch() is for empty local queues"
    );
    assert_eq!(s.block(0), None);
    let asleep = ["stopping 1000 0", "quiescent 1000 9", "dispatch 0 3e8"];
    assert_eq!(s.notes(), asleep);
    s.wake(1, t0);
    // SCX_WAKE_TTWU; SCX_ENQ_CPU_SELECTED | ENQUEUE_NOCLOCK | SCX_ENQ_WAKEUP.
    assert_eq!(s.notes(), ["select_cpu 1000 8", "runnable 1000 100009"]);
}

#[test]
fn custody_ends_with_dequeue() {
    let mut s = one_cpu(OWN_QUEUE, 0);
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.wake_new(0, t0);
    s.notes();
    s.schedule(0);
    // The task leaves a queue of the scheduler's own for the local one.
    assert_eq!(
        s.notes(),
        ["dispatch 0 0", "dequeue 1000 0", "running 1000 0"]
    );
    s.wake_new(0, t1);
    s.notes();
    s.set_nice(0, t1, 0);
    let taken = [
        "dequeue 1001 20000000a",
        "quiescent 1001 20000000a",
        "set_weight 1001 64",
        "runnable 1001 a",
        "enqueue 1001 a",
    ];
    assert_eq!(s.notes(), taken);
}

#[test]
fn a_scheduler_may_keep_its_tasks() {
    let source = format!(
        "{KEEPS}
static struct task_struct *sleeper;
OP(quiescent) {{ sleeper = TASK; return 0; }}
OP(dispatch) {{
	note(\"dispatch\", ctx[0], number_of((void *)ctx[1]));
	if (sleeper && kept == sleeper)
		return 0;
	if (sleeper || kept)
		scx_bpf_dsq_insert(sleeper ? sleeper : kept, SCX_DSQ_LOCAL, SLICE, 0);
	return 0;
}}"
    );
    let mut s = one_cpu(&source, 0);
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.wake_new(0, t0);
    assert!(s.host.queued(t0).unwrap());
    s.notes();
    assert_eq!(s.schedule(0), Some(t0));
    assert_eq!(
        s.notes(),
        ["dispatch 0 0", "dequeue 1000 0", "running 1000 0"]
    );
    // It is asleep and still dispatched: ignored, but dispatched it was.
    assert_eq!(s.block(0), None);
    s.wake_new(0, t1);
    s.notes();
    s.rescheds();
    assert_eq!(s.schedule(0), None);
    let dispatches = s.notes().len();
    assert_eq!(dispatches, 32, "SCX_DSP_MAX_LOOPS");
    assert_eq!(s.rescheds(), [0], "and then the CPU is kicked");
    assert!(s.fault.is_none());
}

#[test]
fn a_slice_given_while_dispatching_keeps_the_task() {
    let source = format!("{GLOBAL}\nOP(dispatch) {{ if (ctx[1]) ((struct task_struct *)ctx[1])->scx.slice = 5000000; return 0; }}");
    let mut s = one_cpu(&source, 0);
    let t0 = s.add(&normal(0));
    s.wake_new(0, t0);
    s.schedule(0);
    s.tick(0, 20 * MS);
    assert_eq!(s.schedule(0), Some(t0));
    assert_eq!([s.tick(0, 4 * MS), s.tick(0, 4 * MS)], [false, true]);
}

#[test]
fn a_local_queue_of_another_cpu_is_filled_when_the_lock_is_dropped() {
    let source = r#"
OP(select_cpu) { return ctx[1]; }
OP(enqueue) {
	note("enqueue", number_of(TASK), ctx[1]);
	scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL_ON | !TASK->thread_info.cpu, SLICE, 0);
	return 0;
}"#;
    let mut s = Script::new(&flat(2), source, Attached::default());
    let t0 = s.add(&normal(0));
    s.notes();
    s.wake_new(0, t0);
    // It moves without quiescent() and runnable().
    assert_eq!(s.notes(), ["runnable 1000 80008", "enqueue 1000 80008"]);
    assert_eq!((s.host.task(t0).cpu, s.rescheds()), (1, vec![0, 1]));
    assert_eq!((s.schedule(0), s.schedule(1)), (None, Some(t0)));
    // A task that is alone goes on; with another one it leaves for CPU 0, once CPU 1 has switched.
    let t1 = s.add(&normal(0));
    s.wake_new(0, t1);
    s.schedule(0);
    s.tick(1, 20 * MS);
    s.rescheds();
    s.notes();
    assert_eq!(s.schedule(1), Some(t1));
    let left = ["stopping 1000 1", "enqueue 1000 0", "running 1001 0"];
    assert_eq!(s.notes(), left);
    assert_eq!((s.host.task(t0).cpu, s.rescheds()), (0, vec![0]));
    assert_eq!(s.schedule(0), Some(t0));
}

#[test]
fn affinity_moves_a_waiting_task_without_runnable_and_quiescent() {
    let mut s = Script::new(&flat(2), OWN_QUEUE, Attached::default());
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.set_cpus(0, t0, &[0]);
    s.set_cpus(0, t1, &[0]);
    s.wake_new(0, t0);
    s.schedule(0);
    s.wake_new(0, t1);
    s.notes();
    s.rescheds();
    s.set_cpus(0, t1, &[1]);
    let changed = [
        "dequeue 1001 20000000a",
        "quiescent 1001 20000000a",
        "set_cpumask 1001 2",
        "runnable 1001 a",
        "enqueue 1001 a",
    ];
    assert_eq!(s.notes(), changed);
    assert_eq!(s.evict(0, t1).0, 1);
    // move_queued_task(): DEQUEUE_NOCLOCK, then ENQUEUE_MIGRATED.
    assert_eq!(s.notes(), ["dequeue 1001 200000008", "enqueue 1001 40000"]);
    assert_eq!(s.rescheds(), [1]);
    assert_eq!(s.schedule(1), Some(t1));
}

#[test]
fn real_time_tasks_take_the_cpu() {
    let own = format!(
        "{OWN_QUEUE}
OP(cpu_release) {{ note(\"release\", ctx[0], ((struct scx_cpu_release_args *)ctx[1])->reason); return 0; }}
OP(cpu_acquire) {{ note(\"acquire\", ctx[0], 0); return 0; }}"
    );
    let mut s = Script::new(&flat(1), &own, Attached::default());
    let t0 = s.add(&normal(0));
    let better = schedlab_policy::NewTask {
        class: schedlab_policy::Class::Fifo,
        rt_priority: 50,
        ..normal(0)
    };
    let rt = s.add(&better);
    let mut notes = s.notes();
    assert_eq!(
        notes.pop().unwrap(),
        "init_task 1001 0",
        "it is not enabled"
    );
    s.wake_new(0, t0);
    s.schedule(0);
    s.notes();
    s.now += MS;
    s.rescheds();
    s.wake_new(0, rt);
    assert_eq!(s.rescheds(), [0]);
    assert_eq!(s.schedule(0), Some(rt));
    // SCX_CPU_PREEMPT_RT; the task keeps its slice, at the head of the local queue.
    assert_eq!(s.notes(), ["stopping 1000 1", "release 0 0"]);
    assert_eq!(s.block(0), Some(t0));
    assert_eq!(s.notes(), ["acquire 0 0", "running 1000 0"]);
    assert_eq!(
        [s.tick(0, 16 * MS), s.tick(0, 4 * MS)],
        [false, true],
        "1 ms of 20 was used"
    );
}

#[test]
fn a_task_changes_its_class() {
    let mut s = one_cpu(GLOBAL, 0);
    let t0 = s.add(&normal(0));
    s.wake_new(0, t0);
    s.schedule(0);
    s.notes();
    s.host
        .set_class(t0, schedlab_policy::Class::Fifo, 9)
        .unwrap();
    let left = [
        "stopping 1000 0",
        "quiescent 1000 20000004e",
        "disable 1000 0",
        "set_weight 1000 64",
    ];
    assert_eq!(s.notes(), left);
    s.tick(0, 100 * MS);
    assert_eq!(s.schedule(0), Some(t0));
    assert_eq!(s.notes(), [""; 0]);
    s.host
        .set_class(t0, schedlab_policy::Class::Normal, 0)
        .unwrap();
    let back = [
        "enable 1000 0",
        "set_weight 1000 64",
        "set_cpumask 1000 1",
        "runnable 1000 1004e",
        "running 1000 0",
    ];
    assert_eq!(s.notes(), back);
}
