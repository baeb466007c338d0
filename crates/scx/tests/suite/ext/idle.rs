//! Which CPU the kernel's own choice falls on.

use schedlab_policy::{NewTask, Topology};
use schedlab_trace::CpuId;

use super::kernel::{flat, normal, Script};
use super::scheduler::Attached;

/// Idle CPUs only; `set[0]` says which rules apply.
const DEFAULT: &str = r#"
OP(select_cpu) {
	bool idle = 0;
	s32 cpu = scx_bpf_select_cpu_dfl(TASK, ctx[1], ctx[2], &idle);

	note(idle ? "idle" : "busy", number_of(TASK), cpu);
	if (idle)
		scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, 0);
	return cpu;
}
OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }
"#;

/// 4 cores of two threads, two caches.
fn two_caches() -> Vec<Topology> {
    (0..8)
        .map(|cpu| Topology {
            core: cpu / 2,
            llc: cpu / 4,
            node: 0,
            capacity: 1024,
        })
        .collect()
}

fn on(cpu: u32) -> NewTask {
    NewTask {
        cpu: CpuId(cpu),
        ..normal(0)
    }
}

/// What select_cpu() noted.
fn choices(s: &mut Script) -> Vec<String> {
    let mut notes = s.notes();
    notes.retain(|note| note.starts_with("idle") || note.starts_with("busy"));
    notes
}

#[test]
fn whole_cores_first_and_near_ones() {
    let mut s = Script::new(&two_caches(), DEFAULT, Attached::default());
    let tasks: Vec<_> = (0..9).map(|i| s.add(&on(u32::from(i > 0)))).collect();
    for &task in &tasks {
        s.wake_new(0, task);
    }
    let expected = [
        "idle 1000 0", // Its own core is idle.
        "idle 1001 2", // CPU 1's is not; the other one of its cache is.
        "idle 1002 4", // Then the cores elsewhere, each from the last choice on.
        "idle 1003 6",
        "idle 1004 1", // No whole core: its own CPU.
        "idle 1005 3", // Then one of its cache.
        "idle 1006 5",
        "idle 1007 7",
        "busy 1008 1",
    ];
    assert_eq!(choices(&mut s), expected);
}

#[test]
fn affinity_limits_the_choice() {
    let mut s = Script::new(&two_caches(), DEFAULT, Attached::default());
    let tasks: Vec<_> = (0..3).map(|_| s.add(&on(0))).collect();
    for &task in &tasks {
        s.set_cpus(0, task, &[5, 6]);
        s.wake_new(0, task);
    }
    // CPU 0 is not theirs; both cores are idle, 5 is first.  The third finds none, and is queued where it may be.
    assert_eq!(
        choices(&mut s),
        ["idle 1000 5", "idle 1001 6", "busy 1002 0"]
    );
    assert_eq!(s.host.task(tasks[2]).cpu, 5);
}

#[test]
fn a_waker_that_sleeps_leaves_the_task_where_its_cache_is() {
    let mut s = Script::new(&flat(2), DEFAULT, Attached::default());
    let [waker, wakee] = [0, 1].map(|cpu| s.add(&on(cpu)));
    s.wake_new(0, waker);
    s.schedule(0);
    choices(&mut s);
    s.wake_sync(0, wakee);
    assert_eq!(choices(&mut s), ["idle 1001 1"]);
    // Its CPU is taken: the kernel would take the waker's, but looks at sets that are kept per node only.
    s.schedule(1);
    let third = s.add(&on(1));
    s.wake_sync(0, third);
    assert_eq!(choices(&mut s), ["busy 1002 1"]);
}

#[test]
fn idle_again_after_a_look() {
    let source = r#"
OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }
OP(select_cpu) { return 0; }
OP(update_idle) { note("update_idle", ctx[0], ctx[1]); return 0; }
OP(dispatch) {
	note("idle", 0, scx_bpf_get_idle_cpumask() ? ((struct cpumask *)scx_bpf_get_idle_cpumask())->bits[0] : 0);
	note("cores", 0, ((struct cpumask *)scx_bpf_get_idle_smtmask())->bits[0]);
	return 0;
}
"#;
    // SCX_OPS_KEEP_BUILTIN_IDLE
    let attached = Attached {
        flags: 1,
        ..Attached::default()
    };
    let mut s = Script::new(&two_caches(), source, attached);
    let t0 = s.add(&on(0));
    s.wake_new(0, t0);
    s.schedule(0);
    let mut notes = s.notes();
    notes.retain(|note| note.starts_with("update") || note.starts_with("running"));
    assert_eq!(
        notes,
        ["update_idle 0 0", "running 1000 0"],
        "it leaves idle before it runs"
    );
    assert_eq!(s.block(0), None);
    let mut notes = s.notes();
    notes.retain(|note| !note.starts_with("stopping") && !note.starts_with("quiescent"));
    assert_eq!(notes, ["idle 0 fe", "cores 0 fc", "update_idle 0 1"]);
    // A look that finds nothing is no transition.
    assert_eq!(s.schedule(0), None);
    assert_eq!(s.notes(), ["idle 0 ff", "cores 0 ff"]);
}

#[test]
fn without_built_in_tracking_asking_is_an_error() {
    let source = "OP(select_cpu) { return scx_bpf_pick_idle_cpu(TASK->cpus_ptr, 0); }
OP(enqueue) { return 0; }
OP(update_idle) { return 0; }";
    let mut s = Script::new(&flat(2), source, Attached::default());
    let t0 = s.add(&on(0));
    s.wake_new(0, t0);
    assert!(
        s.ended().contains("built-in idle tracking is disabled"),
        "{}",
        s.ended()
    );
}

#[test]
fn one_set_for_each_node() {
    let nodes: Vec<Topology> = (0..4)
        .map(|cpu| Topology {
            core: cpu,
            llc: cpu / 2,
            node: cpu / 2,
            capacity: 1024,
        })
        .collect();
    // SCX_OPS_BUILTIN_IDLE_PER_NODE
    let attached = Attached {
        flags: 1 << 6,
        ..Attached::default()
    };
    let mut s = Script::new(&nodes, DEFAULT, attached);
    let tasks: Vec<_> = (0..5).map(|_| s.add(&on(3))).collect();
    for &task in &tasks {
        s.wake_new(0, task);
    }
    // Its own CPU, its node, then the other one.
    let expected = [
        "idle 1000 3",
        "idle 1001 2",
        "idle 1002 0",
        "idle 1003 1",
        "busy 1004 3",
    ];
    assert_eq!(choices(&mut s), expected);
}
