//! What ends a scheduler, with the kernel's words.

use super::kernel::{flat, normal, Script, MS};
use super::scheduler::Attached;

/// Runs one task on a machine of two CPUs until the scheduler ends; returns what it said.
fn ended(source: &str, attached: Attached) -> String {
    let mut s = match Script::try_new(&flat(2), source, attached) {
        Ok(script) => script,
        Err(fault) => return fault.to_string(),
    };
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.set_cpus(0, t0, &[0]);
    for task in [t0, t1] {
        if s.fault.is_none() {
            s.wake_new(0, task);
        }
    }
    for cpu in [0, 1] {
        if s.fault.is_none() {
            s.schedule(cpu);
        }
    }
    if s.fault.is_none() {
        s.tick(0, 4 * MS);
    }
    s.ended()
}

fn says(source: &str, message: &str) {
    let said = ended(source, Attached::default());
    assert!(
        said.contains(&format!("sched_ext: test: {message}")),
        "{said}"
    );
}

/// The scheduler's enqueue() does this.
fn enqueue_says(body: &str, message: &str) {
    let source = format!("OP(enqueue) {{ {body}; return 0; }} OP(select_cpu) {{ return 0; }}");
    says(&source, &format!("runtime error: {message}"));
}

#[test]
fn direct_dispatch() {
    enqueue_says(
		"scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, 0); scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, 0)",
		"t0[1000] already direct-dispatched (in ops.enqueue)",
	);
    let other = r#"
static struct task_struct *first;
OP(select_cpu) { return 0; }
OP(enqueue) {
	if (!first)
		first = TASK;
	scx_bpf_dsq_insert(first, SCX_DSQ_LOCAL, SLICE, 0);
	return 0;
}"#;
    says(
		other,
		"runtime error: scheduling for t1[1001] but trying to direct-dispatch t0[1000] (in ops.enqueue)",
	);
}

#[test]
fn queues_and_cpus() {
    enqueue_says(
        "scx_bpf_dsq_insert(TASK, 7, SLICE, 0)",
        "non-existent DSQ 0x7",
    );
    enqueue_says(
        "scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL_ON | 1, SLICE, 0)",
        "SCX_DSQ_LOCAL[_ON] target CPU 1 not allowed for t0[1000]",
    );
    enqueue_says(
        "scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL_ON | 9, SLICE, 0)",
        "invalid CPU 9 in SCX_DSQ_LOCAL_ON dispatch verdict",
    );
    enqueue_says(
        "scx_bpf_dsq_insert_vtime(TASK, SCX_DSQ_GLOBAL, SLICE, 5, 0)",
        "cannot use vtime ordering for built-in DSQs",
    );
    enqueue_says(
        "scx_bpf_dsq_insert(0, SCX_DSQ_GLOBAL, SLICE, 0)",
        "called with NULL task",
    );
    enqueue_says(
        "scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 1ULL << 56)",
        "invalid enq_flags 0x100000000000000",
    );
    enqueue_says(
        "scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, SCX_ENQ_IMMED)",
        "SCX_ENQ_IMMED on a non-local DSQ 0x8000000000000001",
    );
    enqueue_says(
        "scx_bpf_dsq_peek(SCX_DSQ_GLOBAL)",
        "peek disallowed on builtin DSQ 0x8000000000000001",
    );
    enqueue_says("scx_bpf_dsq_peek(3)", "peek on non-existent DSQ 0x3");
    enqueue_says("scx_bpf_kick_cpu(-1, 0)", "invalid CPU -1");
    enqueue_says(
        "scx_bpf_kick_cpu(0, SCX_KICK_IDLE | SCX_KICK_PREEMPT)",
        "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE",
    );
    enqueue_says(
        "scx_bpf_dsq_reenq(SCX_DSQ_GLOBAL, 0)",
        "DSQ 0x8000000000000001 not allowed for reenq",
    );
    enqueue_says(
        "scx_bpf_task_cgroup(scx_bpf_cpu_curr(0))",
        "called on a task not being operated on",
    );
    says(
        "OP(select_cpu) { return 77; }",
        "runtime error: invalid CPU 77 from ops.select_cpu()",
    );
}

#[test]
fn orders_that_do_not_mix() {
    let mixed = |first: &str, second: &str| {
        format!(
            "OP(init) {{ return scx_bpf_create_dsq(7, -1); }}
OP(select_cpu) {{ return 0; }}
static u64 seen;
OP(enqueue) {{ if (seen++) {second}; else {first}; return 0; }}"
        )
    };
    let fifo = "scx_bpf_dsq_insert(TASK, 7, SLICE, 0)";
    let vtime = "scx_bpf_dsq_insert_vtime(TASK, 7, SLICE, 5, 0)";
    let fifo_first = "runtime error: DSQ ID 0x0000000000000007 already had FIFO-enqueued tasks";
    says(&mixed(fifo, vtime), fifo_first);
    let vtime_first = "runtime error: DSQ ID 0x0000000000000007 already had PRIQ-enqueued tasks";
    says(&mixed(vtime, fifo), vtime_first);
    let destroyed = "scx_bpf_destroy_dsq(7)";
    let in_use = "runtime error: attempting to destroy in-use dsq 0x0000000000000007 (nr=1)";
    says(&mixed(fifo, destroyed), in_use);
}

#[test]
fn dispatching() {
    let dispatch = |body: &str| {
        format!(
            "static struct task_struct *kept;
OP(select_cpu) {{ return 0; }}
OP(enqueue) {{ kept = TASK; return 0; }}
OP(dispatch) {{ {body}; return 0; }}"
        )
    };
    let unknown = "runtime error: invalid DSQ ID 0x0000000000000063 (in ops.dispatch)";
    says(&dispatch("scx_bpf_dsq_move_to_local(99)"), unknown);
    says(
        &dispatch("scx_bpf_dispatch_cancel()"),
        "runtime error: dispatch buffer underflow",
    );
    let two = "scx_bpf_dsq_insert(kept, SCX_DSQ_GLOBAL, SLICE, 0); scx_bpf_dsq_insert(kept, SCX_DSQ_GLOBAL, SLICE, 0)";
    let attached = Attached {
        batch: 1,
        ..Attached::default()
    };
    let said = ended(&dispatch(two), attached);
    assert!(said.contains("dispatch buffer overflow"), "{said}");
}

#[test]
fn calls_from_the_wrong_place() {
    let running = "OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }
OP(running) { scx_bpf_dsq_move_to_local(7); return 0; }";
    says(
        running,
        "runtime error: scx_bpf_dsq_move_to_local() called from ops.running, where the kernel allows no such call",
    );
}

#[test]
fn beginning() {
    says(
        "OP(init) { return -12; }",
        "runtime error: ops.init() failed (-12)",
    );
    says(
        "OP(init) { return 5; }",
        "runtime error: ops.init() returned an invalid errno 5",
    );
    says(
        "OP(init) { scx_bpf_locked_rq(); return 0; }",
        "runtime error: accessing rq without holding rq lock",
    );
    says(
        "OP(init_task) { return -1; }",
        "runtime error: ops.init_task() failed (-1)",
    );
    let partial = Attached {
        flags: 8,
        ..Attached::default()
    };
    assert!(ended("", partial).contains("SCX_OPS_SWITCH_PARTIAL"));
    let long = Attached {
        timeout_ms: 30_001,
        ..Attached::default()
    };
    assert!(ended("", long).contains("ops.timeout_ms is more than 30 s"));
    let no_enqueue = Attached {
        flags: 2,
        without: &["enqueue"],
        ..Attached::default()
    };
    assert!(
        ended("", no_enqueue).contains("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented")
    );
}

#[test]
fn a_scheduler_ends_itself() {
    let source = |call: &str| {
        format!(
			"OP(tick) {{ char f[] = \"task %d, %s\", w[] = \"why\"; unsigned long long d[2]; d[0] = 7; d[1] = (u64)w; {call}; return 0; }}
OP(enqueue) {{ scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }}"
		)
    };
    let error = source("scx_bpf_error_bstr(f, d, sizeof(d))");
    says(&error, "scx_bpf_error: task 7, why (in ops.tick)");
    let exit = source("scx_bpf_exit_bstr(3, f, d, sizeof(d))");
    says(&exit, "unregistered from BPF: task 7, why (in ops.tick)");
}

#[test]
fn ops_exit_hears_why() {
    let source = "OP(enqueue) { scx_bpf_dsq_insert(TASK, 7, SLICE, 0); return 0; }
OP(dump) { note(\"dump\", ((struct scx_dump_ctx *)ctx[0])->kind, 0); return 0; }";
    let mut s = Script::new(&flat(1), source, Attached::default());
    let t0 = s.add(&normal(0));
    s.notes();
    s.wake_new(0, t0);
    // SCX_EXIT_ERROR, SCX_EFLAG_INITIALIZED.
    assert_eq!(
        s.notes(),
        ["runnable 1000 80008", "dump 1024 0", "exit 1024 1"]
    );
    assert!(s.ended().contains("policy_error"), "{}", s.ended());
}

#[test]
fn a_task_that_never_runs_stalls() {
    let keeps = "OP(enqueue) { return 0; }";
    let attached = Attached {
        timeout_ms: 1000,
        ..Attached::default()
    };
    let mut s = Script::new(&flat(1), keeps, attached);
    let t0 = s.add(&normal(0));
    s.wake_new(0, t0);
    assert_eq!(s.schedule(0), None);
    // The watchdog looks every half of its time; the task has waited for longer only at 1.5 s.
    for _ in 0..2 {
        s.expire(1);
        assert!(s.fault.is_none());
    }
    s.expire(1);
    let said = s.ended();
    let stall = "sched_ext: test: runnable task stall: t0[1000] failed to run for 1.500s";
    assert!(said.contains(stall), "{said}");
}

#[test]
fn reenqueueing_without_end() {
    // Each time it is enqueued again to where it cannot run at once.
    let source = r#"
OP(select_cpu) { return 0; }
OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, set[0]); return 0; }
"#;
    let attached = Attached {
        set: [1 << 33, 0, 0, 0, 0, 0, 0, 0],
        ..Attached::default()
    };
    let mut s = Script::new(&flat(1), source, attached);
    let [t0, t1] = [0; 2].map(|nice| s.add(&normal(nice)));
    s.wake_new(0, t0);
    assert_eq!(
        s.schedule(0),
        Some(t0),
        "the CPU is free: SCX_ENQ_IMMED is kept"
    );
    s.wake_new(0, t1);
    assert!(
        s.ended()
            .contains("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times"),
        "{}",
        s.ended()
    );
}
