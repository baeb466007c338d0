//! Queues of the scheduler's own, iterators, preemption and kicks.

use super::kernel::{flat, normal, Script, MS};
use super::scheduler::Attached;

/// All tasks wait on queue 7, on CPU 0.
fn on_queue_7(insert: &str, dispatch: &str) -> String {
    format!(
        "OP(init) {{ return scx_bpf_create_dsq(7, -1); }}
OP(select_cpu) {{ return 0; }}
OP(enqueue) {{ note(\"enqueue\", number_of(TASK), ctx[1]); {insert}; return 0; }}
OP(dispatch) {{ {dispatch}; return 0; }}"
    )
}

const FIFO: &str = "scx_bpf_dsq_insert(TASK, 7, SLICE, 0)";

fn waiting(source: &str, nr: usize) -> (Script, Vec<schedlab_trace::TaskId>) {
    let attached = Attached {
        without: &["dequeue"],
        ..Attached::default()
    };
    let mut s = Script::new(&flat(1), source, attached);
    let tasks: Vec<_> = (0..nr).map(|_| s.add(&normal(0))).collect();
    for &task in &tasks {
        s.wake_new(0, task);
    }
    s.notes();
    (s, tasks)
}

#[test]
fn vtime_decides() {
    // 1000: 30, 1001: 20, 1002: 10, 1003: 20.
    let by_vtime = "static const u64 vtimes[] = { 30, 20, 10, 20 }; \
		scx_bpf_dsq_insert_vtime(TASK, 7, SLICE, vtimes[(number_of(TASK) - 1000) & 3], 0)";
    let source = on_queue_7(by_vtime, "scx_bpf_dsq_move_to_local(7)");
    let (mut s, tasks) = waiting(&source, 4);
    let mut order = vec![s.schedule(0).unwrap()];
    for _ in 0..3 {
        order.push(s.block(0).unwrap());
    }
    assert_eq!(order, [2, 1, 3, 0].map(|i| tasks[i]));
    assert_eq!(s.block(0), None);
}

#[test]
fn an_iterator_moves_what_it_stands_at() {
    let dispatch = r#"
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	note("queued", 7, scx_bpf_dsq_nr_queued(7));
	note("peek", number_of(scx_bpf_dsq_peek(7)), 0);
	bpf_iter_scx_dsq_new(&it, 7, set[0]);
	for (int i = 0; i < 8 && (p = bpf_iter_scx_dsq_next(&it)); i++) {
		if (p->pid & 1) {
			scx_bpf_dsq_move_set_slice(&it, 5000000);
			note("moved", number_of(p), scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL, 0));
			note("again", number_of(p), scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL, 0));
		} else {
			note("seen", number_of(p), 0);
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
"#;
    let source = on_queue_7(FIFO, dispatch);
    let (mut s, tasks) = waiting(&source, 4);
    assert_eq!(s.schedule(0), Some(tasks[1]));
    let forwards = [
        "queued 7 4",
        "peek 1000 0",
        "seen 1000 0",
        "moved 1001 1",
        "again 1001 0",
        "seen 1002 0",
        "moved 1003 1",
        "again 1003 0",
        "running 1001 0",
    ];
    assert_eq!(s.notes(), forwards);
    // The slice that was set for the move: 5 ms.
    assert_eq!([s.tick(0, 4 * MS), s.tick(0, 4 * MS)], [false, true]);
    assert_eq!(s.block(0), Some(tasks[3]));
}

#[test]
fn iterators_go_backwards() {
    let dispatch = r#"
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, 7, SCX_DSQ_ITER_REV);
	for (int i = 0; i < 8 && (p = bpf_iter_scx_dsq_next(&it)); i++)
		note("seen", number_of(p), 0);
	bpf_iter_scx_dsq_destroy(&it);
	note("unknown", 8, bpf_iter_scx_dsq_new(&it, 8, 0));
	note("none", number_of(bpf_iter_scx_dsq_next(&it)), 0);
	bpf_iter_scx_dsq_destroy(&it);
"#;
    let (mut s, _) = waiting(&on_queue_7(FIFO, dispatch), 3);
    assert_eq!(s.schedule(0), None);
    // -ENOENT
    let seen = [
        "seen 1002 0",
        "seen 1001 0",
        "seen 1000 0",
        "unknown 8 fffffffffffffffe",
        "none 0 0",
    ];
    assert_eq!(s.notes(), seen);
}

#[test]
fn reenqueueing_a_queue() {
    let source = on_queue_7(FIFO, "if (set[0]) scx_bpf_dsq_reenq(7, 0)");
    let attached = Attached {
        set: [1, 0, 0, 0, 0, 0, 0, 0],
        without: &["dequeue"],
        ..Attached::default()
    };
    let mut s = Script::new(&flat(1), &source, attached);
    let tasks = [0; 2].map(|nice| s.add(&normal(nice)));
    for task in tasks {
        s.wake_new(0, task);
    }
    s.notes();
    assert_eq!(s.schedule(0), None);
    // SCX_ENQ_REENQ, each once, when the CPU is done.
    assert_eq!(
        s.notes(),
        ["enqueue 1000 10000000000", "enqueue 1001 10000000000"]
    );
}

#[test]
fn preemption_ends_the_slice_and_comes_first() {
    let source = "OP(select_cpu) { return 0; }
OP(enqueue) {
	scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, number_of(TASK) == 1002 ? SCX_ENQ_PREEMPT : 0);
	return 0;
}";
    let (mut s, tasks) = waiting(source, 2);
    assert_eq!(s.schedule(0), Some(tasks[0]));
    s.rescheds();
    let hasty = s.add(&normal(0));
    s.now += MS;
    s.wake_new(0, hasty);
    assert_eq!(s.rescheds(), [0]);
    assert_eq!(
        s.schedule(0),
        Some(hasty),
        "before 1001, which waits for longer"
    );
    assert_eq!(s.block(0), Some(tasks[1]));
    assert_eq!(s.block(0), Some(tasks[0]));
}

#[test]
fn kicks() {
    let source = "OP(select_cpu) { return ctx[1]; }
OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, 0); return 0; }
OP(tick) { scx_bpf_kick_cpu(set[0], set[1]); return 0; }";
    let kicked = |target: u64, flags: u64| {
        let attached = Attached {
            set: [target, flags, 0, 0, 0, 0, 0, 0],
            ..Attached::default()
        };
        let mut s = Script::new(&flat(3), source, attached);
        let tasks = [0; 2].map(|nice| s.add(&normal(nice)));
        for (cpu, task) in (0..).zip(tasks) {
            s.set_cpus(0, task, &[cpu]);
            s.wake_new(0, task);
            if cpu == 1 {
                s.evict(0, task);
            }
            s.schedule(cpu);
        }
        s.rescheds();
        s.notes();
        s.tick(0, MS);
        let asked = s.rescheds();
        s.notes();
        let stays =
            s.schedule(1).is_some() && !s.notes().iter().any(|note| note.starts_with("dispatch"));
        (asked, stays)
    };
    const IDLE: u64 = 1;
    const PREEMPT: u64 = 2;
    assert_eq!(kicked(2, IDLE), (vec![2], true));
    assert_eq!(kicked(1, IDLE), (vec![], true), "it is busy");
    assert_eq!(
        kicked(1, 0),
        (vec![1], true),
        "it looks, and goes on: there is slice left"
    );
    assert_eq!(kicked(1, PREEMPT), (vec![1], false), "its slice is over");
    assert_eq!(kicked(0, 0).0, [0]);
}
