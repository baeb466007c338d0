//! Control groups and tracepoints: what a scheduler hears of them, and when.

use schedlab_trace::{CpuMax, GroupWeight};

use super::kernel::{flat, normal, Script, MS};
use super::scheduler::Attached;

/// Groups are noted by their number: the root is 1.
const GROUPS: &str = r#"
static inline u64 group(u64 cgroup) { return ((struct cgroup *)cgroup)->kn->id; }
static inline u64 level(u64 cgroup) { return ((struct cgroup *)cgroup)->level; }
OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }
OP(cgroup_init) {
	struct scx_cgroup_init_args *args = (void *)ctx[1];
	struct cgroup *cgroup = (void *)ctx[0];

	note("init", group(ctx[0]), args->weight);
	note("level", level(ctx[0]), cgroup->ancestors[0]->kn->id);
	if (args->bw_quota_us != -1)
		note("quota", args->bw_quota_us, args->bw_period_us);
	return 0;
}
OP(cgroup_prep_move) { note("prep", group(ctx[1]), group(ctx[2])); return 0; }
OP(cgroup_move) { note("move", group(ctx[1]), group((u64)scx_bpf_task_cgroup(TASK))); return 0; }
OP(cgroup_set_weight) { note("weight", group(ctx[0]), ctx[1]); return 0; }
OP(cgroup_set_bandwidth) { note("bandwidth", ctx[1], ctx[2]); return 0; }
OP(init_task) { note("init_task", number_of(TASK), group((u64)((struct scx_init_task_args *)ctx[1])->cgroup)); return 0; }
"#;

fn script(source: &str) -> Script {
    Script::new(&flat(1), source, Attached::default())
}

#[test]
fn groups_are_told_with_weights_and_limits() {
    let mut s = script(GROUPS);
    assert_eq!(s.notes(), ["init 1 64", "level 0 1"]);
    let outer = s.add_group(None, 300, None);
    assert_eq!(s.notes(), ["init 2 12c", "level 1 1"]);
    let limit = CpuMax {
        quota_us: 20_000,
        period_us: 100_000,
        burst_us: 0,
    };
    let inner = s.add_group(Some(outer), 50, Some(limit));
    assert_eq!(s.notes(), ["init 3 32", "level 2 1", "quota 20000 186a0"]);
    let mut new = normal(0);
    new.group = Some(inner);
    s.add(&new);
    assert_eq!(s.notes()[0], "init_task 1000 3");
    s.host
        .set_group_weight(outer, GroupWeight::Weight(300))
        .unwrap();
    assert_eq!(s.notes(), [""; 0], "it weighs what it weighed");
    s.host
        .set_group_weight(outer, GroupWeight::Weight(50))
        .unwrap();
    assert_eq!(s.notes(), ["weight 2 32"]);
    s.host.set_group_max(inner, None).unwrap();
    assert_eq!(s.notes(), ["bandwidth 100000 ffffffffffffffff"]);
}

#[test]
fn a_task_moves_while_it_is_off_the_queue() {
    let mut s = script(GROUPS);
    let (a, t) = (s.add_group(None, 100, None), normal(0));
    let t = s.add(&t);
    s.wake_new(0, t);
    s.schedule(0);
    s.notes();
    s.rescheds();
    s.join(t, Some(a));
    // DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK, SCX_DEQ_SCHED_CHANGE; ENQUEUE_RESTORE | ENQUEUE_MOVE | ENQUEUE_NOCLOCK.
    let moved = [
        "prep 1 2",
        "stopping 1000 0",
        "quiescent 1000 20000000e",
        "move 1 2",
        "runnable 1000 e",
        "running 1000 0",
    ];
    assert_eq!(s.notes(), moved);
    assert_eq!(s.rescheds(), [0]);
    s.join(t, Some(a));
    assert_eq!(s.notes(), [""; 0], "it is there already");
}

#[test]
fn a_move_that_the_scheduler_refuses_ends_it() {
    let refuses = GROUPS.replace(
        "OP(cgroup_prep_move) { note(\"prep\", group(ctx[1]), group(ctx[2])); return 0; }",
        "OP(cgroup_prep_move) { return -12; }",
    );
    let mut s = script(&refuses);
    let (a, t) = (s.add_group(None, 100, None), s.add(&normal(0)));
    s.join(t, Some(a));
    assert!(
        s.ended().contains("ops.cgroup_prep_move() failed (-12)"),
        "{}",
        s.ended()
    );
}

#[test]
fn a_scheduler_that_does_not_look_at_groups_has_none() {
    let s = script("OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }");
    assert!(!s.host.policy().has_groups());
    let told = script(GROUPS).host.policy();
    assert!(told.has_groups() && told.has_quotas());
    let without = GROUPS.replace(
        "OP(cgroup_set_bandwidth) { note(\"bandwidth\", ctx[1], ctx[2]); return 0; }",
        "",
    );
    let no_limits = script(&without).host.policy();
    assert!(
        no_limits.has_groups() && !no_limits.has_quotas(),
        "it is not held to limits"
    );
}

const LISTENS: &str = r#"
OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }
TRACEPOINT(sched_waking) { note("waking", number_of(TASK), 0); return 0; }
TRACEPOINT(sched_wakeup) { note("wakeup", number_of(TASK), 0); return 0; }
TRACEPOINT(sched_wakeup_new) { note("wakeup_new", number_of(TASK), 0); return 0; }
TRACEPOINT(sched_switch) {
	note("switch", number_of((void *)ctx[1]), number_of((void *)ctx[2]));
	note("state", ctx[0], ctx[3]);
	return 0;
}
TRACEPOINT(sched_migrate_task) { note("migrate", TASK->thread_info.cpu, ctx[1]); return 0; }
TRACEPOINT(sched_process_fork) { note("fork", number_of(TASK), number_of((void *)ctx[1])); return 0; }
TRACEPOINT(sched_process_exit) { note("process_exit", number_of(TASK), ctx[1] & 1); return 0; }
"#;

#[test]
fn tracepoints_are_heard_where_the_kernel_has_them() {
    let attached = Attached {
        without: &[
            "runnable",
            "dispatch",
            "enable",
            "set_weight",
            "set_cpumask",
            "init_task",
            "exit_task",
            "disable",
            "quiescent",
        ],
        ..Attached::default()
    };
    let mut s = Script::new(&flat(1), LISTENS, attached);
    let t0 = s.add(&normal(0));
    s.wake_new(0, t0);
    assert_eq!(s.notes(), ["wakeup_new 1000 0"]);
    s.schedule(0);
    assert_eq!(s.notes(), ["running 1000 0", "switch 0 3e8", "state 0 0"]);
    let t1 = s.fork(0, &normal(0));
    assert_eq!(s.notes(), ["fork 1000 3e9"]);
    s.wake_new(0, t1);
    s.now += MS;
    s.notes();
    assert_eq!(s.block(0), Some(t1));
    // TASK_INTERRUPTIBLE.
    let blocked = [
        "stopping 1000 0",
        "running 1001 0",
        "switch 1000 3e9",
        "state 0 1",
    ];
    assert_eq!(s.notes(), blocked);
    s.wake(0, t0);
    assert_eq!(s.notes(), ["waking 1000 0", "wakeup 1000 0"]);
    // Both share an address space: the process has another thread.
    s.exit(0);
    assert_eq!(s.notes()[0], "process_exit 1001 0");
    s.notes();
    s.exit(0);
    assert_eq!(s.notes()[0], "process_exit 1000 1");
}
