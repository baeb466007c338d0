//! The seven faults of Linux that kSTEP (OSDI 2026, figure 14) reproduced, built into our policies: `check` finds each, and
//! does not blame the fixed form.
//!
//! The short tests judge the smallest case that a search found, which is kept in the folder kstep. The long ones search.

use std::path::{Path, PathBuf};

use schedlab_check::{judge, Circumstances, Search};
use schedlab_policy::Tuned;

use crate::patched::{patched, sound, Patch};

/// Seeds of a long search; in a minute two CPUs do more.
const SEEDS: u64 = 4000;

/// A published fault.
struct Fault {
    /// What kSTEP calls it, and the folder of its case.
    name: &'static str,
    /// The policy.
    policy: &'static str,
    /// The fault, as a change of the policy; none: a variant has it.
    patches: &'static [Patch],
    /// The invariant that it breaks.
    breaks: &'static str,
    /// CPUs of the kept case, if that has no machine of its own.
    cpus: u32,
}

impl Fault {
    fn broken(&self) -> Tuned {
        match self.patches {
            [] => sound(self.policy),
            patches => patched(self.policy, patches),
        }
    }

    fn fixed(&self) -> Tuned {
        match self.patches {
            [] => Tuned::new(sound(self.policy).policy, Some("6.18"), &[]).unwrap(),
            _ => sound(self.policy),
        }
    }
}

/// "sched/fair: Fixup wake_up_sync() vs DELAYED_DEQUEUE" (aa3ee4f, 6.15): 6.12 to 6.14 have it, and so does our variant 6.12.
const SYNC_WAKEUP: Fault = Fault {
    name: "sync_wakeup",
    policy: "eevdf",
    patches: &[],
    breaks: "stays-with-waker",
    cpus: 2,
};

/// "sched/eevdf: Fix se->slice being set to U64_MAX and resulting crash" (bbce3de, 6.15): when a group falls asleep but stays
/// queued, the groups around it get the slice of a queue that is empty.
const VRUNTIME_OVERFLOW: Fault = Fault {
    name: "vruntime_overflow",
    policy: "eevdf",
    patches: &[
        Patch {
            file: "fair/groups.h",
            from: "leaves = true;\n\n	repeat_while(s, se) {\n		cfs_rq_t *cfs_rq = se->cfs_rq;\n\n		if (!leaves) {\n			update_load_avg(s, cfs_rq, se, UPDATE_TG);\n			update_cfs_group(s, se);\n			update_group_slice(s, se);\n		} else {\n			leaves = dequeue_entity(s, cfs_rq, se, flags);\n		}\n",
            to: "leaves = true;\n	u64 slice = group_queue(se) ? min_slice(s, group_queue(se)) : 0;\n\n	repeat_while(s, se) {\n		cfs_rq_t *cfs_rq = se->cfs_rq;\n\n		if (!leaves) {\n			update_load_avg(s, cfs_rq, se, UPDATE_TG);\n			update_cfs_group(s, se);\n			give_slice(s, se, slice);\n		} else {\n			leaves = dequeue_entity(s, cfs_rq, se, flags);\n			if (!leaves && group_queue(se))\n				give_slice(s, se, slice);\n		}\n		if (cfs_rq->nr_running)\n			slice = min_slice(s, cfs_rq);\n",
        },
        Patch {
            file: "fair/class.h",
            from: "static void update_group_slice(sched_t *s, entity_t *se);\n",
            to: "static void update_group_slice(sched_t *s, entity_t *se);\nstatic void give_slice(sched_t *s, entity_t *se, u64 slice);\nstatic u64 min_slice(sched_t *s, cfs_rq_t *cfs_rq);\n",
        },
        Patch {
            file: "eevdf/slices.h",
            from: "/* A group has the shortest slice of what is queued in it. */\n",
            to: "static void give_slice(sched_t *s, entity_t *se, u64 slice)\n{\n	u32 linked = tree_linked(&se->run_node);\n\n	if (linked)\n		unlink_slice(s, se->cfs_rq, se);\n	set_slice(s, se, slice);\n	if (linked)\n		link_slice(s, se->cfs_rq, se);\n}\n\n",
        },
    ],
    breaks: "own-books",
    cpus: 2,
};

/// "sched/fair: Fix external p->on_rq users" (cd9626e, 6.12): others take a sleeper that is still queued for runnable. In Linux
/// it was the freezer, which the simulator does not have; here it is what changes a task's nice value or class.
const FREEZE: Fault = Fault {
    name: "freeze",
    policy: "eevdf",
    patches: &[
        Patch {
            file: "fair/class.h",
            from: "	finish_delayed(s, p);\n	queued = p->se.on_rq && !task_is_rt(task);\n",
            to: "	queued = p->se.on_rq && !task_is_rt(task);\n",
        },
        Patch {
            file: "fair/class.h",
            from: "	finish_delayed(s, p);\n	queued = p->se.on_rq;\n	if (queued && was_rt)\n",
            to: "	queued = p->se.on_rq;\n	if (queued && was_rt)\n",
        },
    ],
    breaks: "own-books",
    cpus: 1,
};

/// "sched/fair: Fix the decision for load balance" (6d7e478, 6.7): two CPUs of a group balance for it.
const EXTRA_BALANCE: Fault = Fault {
    name: "extra_balance",
    policy: "eevdf",
    patches: &[Patch {
        file: "fair/balance.h",
        from: "	return here == (idle_smt == MAX_CPUS ? first : idle_smt);\n",
        to: "	return here == idle_smt || here == first;\n",
    }],
    breaks: "own-books",
    cpus: 2,
};

/// "sched/fair: Fix pelt lost idle time detection" (17e3e88, 6.10): not after a real-time task.
const UTIL_AVG: Fault = Fault {
    name: "util_avg",
    policy: "cfs",
    patches: &[Patch {
        file: "fair/class.h",
        from: "	update_idle_clock(s, rq);\n	return NULL;\n",
        to: "	if (!prev || !task_is_rt(prev))\n		update_idle_clock(s, rq);\n	return NULL;\n",
    }],
    breaks: "own-books",
    cpus: 2,
};

/// "Revert: sched/fair: Make sure to try to detach at least one movable task" (2feab24, 6.10): a balance looks at all tasks of a
/// CPU if none of them may leave it.
const LONG_BALANCE: Fault = Fault {
    name: "long_balance",
    policy: "cfs",
    patches: &[
        Patch {
            file: "fair/balance.h",
            from: "u32 tries = min_of((u32)tun(s)->nr_migrate, env->src->cfs.root.h_nr_running);",
            to: "u32 tries = env->src->cfs.root.h_nr_running, looked = 0;",
        },
        Patch {
            file: "fair/balance.h",
            from: "node != head && tries-- && env->imbalance > 0",
            to: "node != head && tries-- && (env->all_pinned || looked++ < (u32)tun(s)->nr_migrate) && env->imbalance > 0",
        },
    ],
    breaks: "bounded-choice",
    cpus: 2,
};

/// "sched/fair: Update min_vruntime for reweight_entity() correctly" (5068d84, 6.7).
const LAG_VRUNTIME: Fault = Fault {
    name: "lag_vruntime",
    policy: "eevdf",
    patches: &[Patch {
        file: "eevdf/eevdf.c",
        from: "		link_entity(s, cfs_rq, se);\n	update_min_vruntime(cfs_rq);\n}\n\nstatic void reweight_entity",
        to: "		link_entity(s, cfs_rq, se);\n}\n\nstatic void reweight_entity",
    }],
    breaks: "own-books",
    cpus: 2,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/kstep")
}

/// The ids that the kept case breaks.
fn breaks(fault: &Fault, tuned: &Tuned) -> Vec<String> {
    let path = |end: &str| folder().join(format!("{}{end}.toml", fault.name));
    let text = std::fs::read_to_string(path("")).unwrap();
    let workload = schedlab_workload::native::parse("case.toml", &text).unwrap();
    let machine = path("-machine");
    let machine = match machine.exists() {
        true => schedlab_machine::find(machine.to_str().unwrap()).unwrap(),
        false => schedlab_machine::Machine::ideal(fault.cpus),
    };
    let verdict = judge(tuned, &machine, &workload, &Circumstances::PLAIN).unwrap();
    assert_eq!(verdict.cut_short, None);
    verdict.broken.into_iter().map(|broken| broken.id).collect()
}

#[track_caller]
fn the_case_tells_them_apart(fault: &Fault) {
    let found = breaks(fault, &fault.broken());
    assert_eq!(found, [fault.breaks], "{}", fault.name);
    let blamed = breaks(fault, &fault.fixed());
    assert_eq!(blamed, [""; 0], "{}: the fixed form", fault.name);
}

/// The invariants that a search finds broken.
fn finds(tuned: &Tuned) -> Vec<String> {
    let search = Search {
        tuned,
        seeds: 1..=SEEDS,
        threads: 2,
        block: 64,
        shrinks: false,
        machine: None,
    };
    let results = search.run(|_| false).unwrap();
    results
        .found
        .into_iter()
        .map(|found| found.broken.id)
        .collect()
}

#[track_caller]
fn a_search_tells_them_apart(fault: &Fault) {
    let found = finds(&fault.broken());
    assert!(
        found.iter().any(|id| id == fault.breaks),
        "{}: {found:?}",
        fault.name
    );
    let blamed = finds(&fault.fixed());
    assert!(
        blamed.iter().all(|id| id != fault.breaks),
        "{}: {blamed:?}",
        fault.name
    );
}

macro_rules! tests {
    ($($name:ident: $fault:ident,)*) => {
        $(#[test]
        fn $name() {
            the_case_tells_them_apart(&$fault);
        })*

        /// The searches, some minutes long.
        mod long {
            use super::*;

            $(#[test]
            #[ignore = "a search of a minute"]
            fn $name() {
                a_search_tells_them_apart(&$fault);
            })*
        }
    };
}

tests! {
    synchronous_wakeups_beside_sleepers: SYNC_WAKEUP,
    slices_of_groups_that_fell_asleep: VRUNTIME_OVERFLOW,
    sleepers_taken_for_runnable: FREEZE,
    two_cpus_that_balance_for_one_group: EXTRA_BALANCE,
    lost_idle_time_after_a_real_time_task: UTIL_AVG,
    a_balance_that_looks_at_all_pinned_tasks: LONG_BALANCE,
    min_vruntime_after_a_new_weight: LAG_VRUNTIME,
}
