//! Control groups under cfs and eevdf: shares of trees worked out by hand, quotas, moves, changes.

use super::{measured, on_machine};
use schedlab_machine::Machine;
use schedlab_measure::Metrics;
use schedlab_policy::{Policy, Tuned};
use schedlab_workload::native;

/// Every variant that schedules groups.
const ALL: [(&str, &str); 6] = [
    ("cfs", "6.5"),
    ("cfs", "4.3"),
    ("eevdf", "6.6"),
    ("eevdf", "6.12"),
    ("eevdf", "6.18"),
    ("eevdf", "7.1"),
];

const HOG: &str = "program = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n";

/// A task that never sleeps, in a group ("" is the root).
fn hog(name: &str, group: &str, more: &str) -> String {
    let group = match group {
        "" => String::new(),
        group => format!("group = \"{group}\"\n"),
    };
    format!("[task.{name}]\n{group}{more}{HOG}")
}

fn run(policy: (&str, &str), cpus: u32, tasks: &str) -> Metrics {
    measured(
        policy.0,
        Some(policy.1),
        &[],
        &format!("ideal-{cpus}"),
        tasks,
    )
}

/// The part of all CPUs' time that the tasks of a kind got.
fn share(metrics: &Metrics, kind: &str) -> f64 {
    let of_kind = metrics.groups.iter().find(|g| &*g.name == kind);
    of_kind
        .unwrap_or_else(|| panic!("{kind}"))
        .activity
        .cpu_share
}

#[track_caller]
fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!(
        (got - expected).abs() <= tolerance,
        "{what}: {got}, not {expected}"
    );
}

/// Shares of one CPU, or of four, over 60 s, within 1 %.
#[track_caller]
fn shares(cpus: u32, tasks: &str, expected: &[(&str, f64)]) {
    for policy in ALL {
        let metrics = run(policy, cpus, &format!("duration = \"60s\"\n{tasks}"));
        for (kind, expected) in expected {
            let what = format!("{policy:?} {kind}");
            close(&what, share(&metrics, kind), *expected, 0.01);
        }
    }
}

#[test]
fn a_group_competes_as_one_however_many_are_in_it() {
    let tasks = "[group.a]\n[group.b]\n".to_string()
        + &hog("one", "a", "")
        + &hog("many", "b", "count = 7\n");
    shares(1, &tasks, &[("one", 0.5), ("many", 0.5)]);
}

#[test]
fn a_tree_of_three_levels_on_one_cpu() {
    // root: a 300, b 100, a task of nice 0 (100).  a: c 200, d 100, d: e 50, f 150.
    let tasks = "[group.a]\nweight = 300\n[group.b]\n[group.c]\nparent = \"a\"\nweight = 200\n\
                 [group.d]\nparent = \"a\"\n[group.e]\nparent = \"d\"\nweight = 50\n[group.f]\nparent = \"d\"\nweight = 150\n"
        .to_string()
        + &hog("r", "", "")
        + &hog("b", "b", "count = 2\n")
        + &hog("c", "c", "count = 3\n")
        + &hog("e", "e", "")
        + &hog("f", "f", "count = 2\n");
    let expected = [("r", 0.2), ("b", 0.2), ("c", 0.4), ("e", 0.05), ("f", 0.15)];
    shares(1, &tasks, &expected);
}

#[test]
fn nice_counts_within_a_group_only() {
    // 1024 : 335 is nice 0 to nice 5.
    let tasks = "[group.a]\n[group.b]\n".to_string()
        + &hog("fast", "a", "")
        + &hog("slow", "a", "nice = 5\n")
        + &hog("other", "b", "nice = 19\n");
    let fast = 0.5 * 1024.0 / 1359.0;
    shares(
        1,
        &tasks,
        &[("fast", fast), ("slow", 0.5 - fast), ("other", 0.5)],
    );
}

#[test]
fn an_autogroup_weighs_by_its_nice() {
    let tasks = "autogroup = true\n[group.editor]\nnice = 0\n[group.build]\nnice = 5\n".to_string()
        + &hog("vi", "", "session = \"editor\"\n")
        + &hog("cc", "", "session = \"build\"\ncount = 8\n");
    let vi = 1024.0 / 1359.0;
    shares(1, &tasks, &[("vi", vi), ("cc", 1.0 - vi)]);
}

#[test]
fn a_group_spreads_its_weight_over_four_cpus() {
    // Four tasks each: all CPUs are shared three to one.
    let tasks = "[group.a]\nweight = 300\n[group.b]\n".to_string()
        + &(0..4)
            .map(|cpu| {
                let on = format!("cpus = \"{cpu}\"\nkind = \"a\"\n");
                let other = format!("cpus = \"{cpu}\"\nkind = \"b\"\n");
                hog(&format!("a{cpu}"), "a", &on) + &hog(&format!("b{cpu}"), "b", &other)
            })
            .collect::<String>();
    shares(4, &tasks, &[("a", 0.75), ("b", 0.25)]);
}

#[test]
fn a_group_on_one_cpu_of_two_has_its_whole_weight_there() {
    // a (weight 100) has a task on each CPU: half of its weight on each.  b (100) is on CPU 0 alone with all of it.
    let tasks = "[group.a]\n[group.b]\n".to_string()
        + &hog("a0", "a", "cpus = \"0\"\n")
        + &hog("a1", "a", "cpus = \"1\"\n")
        + &hog("b0", "b", "cpus = \"0\"\n");
    let (a0, b0) = (0.5 / 3.0, 1.0 / 3.0);
    shares(2, &tasks, &[("a0", a0), ("b0", b0), ("a1", 0.5)]);
}

#[test]
fn a_sleeper_in_a_group_leaves_its_time_to_the_others() {
    // It runs 1 ms in 10 and is owed more; the group's hog has what it leaves of the group's half.
    let tasks = "[group.a]\n[group.b]\n".to_string()
        + "[task.sleeper]\ngroup = \"a\"\nprogram = \"\"\"\nforever\n  run 1ms\n  timer t 10ms\nend\n\"\"\"\n"
        + &hog("hog", "a", "")
        + &hog("other", "b", "");
    for policy in ALL {
        let metrics = run(policy, 1, &format!("duration = \"60s\"\n{tasks}"));
        close("other", share(&metrics, "other"), 0.5, 0.02);
        close("sleeper", share(&metrics, "sleeper"), 0.1, 0.01);
    }
}

#[test]
fn an_idle_group_has_what_others_leave() {
    let tasks =
        "[group.a]\n[group.b]\nidle = true\n".to_string() + &hog("a", "a", "") + &hog("b", "b", "");
    shares(1, &tasks, &[("a", 1024.0 / 1027.0), ("b", 3.0 / 1027.0)]);
}

#[test]
fn a_quota_is_exact_on_one_cpu() {
    for policy in ALL {
        for (quota, period, expected) in
            [(20, 100, 0.2), (5, 10, 0.5), (30, 100, 0.3), (1, 100, 0.01)]
        {
            let tasks = format!(
                "duration = \"60s\"\n[group.a]\nquota = \"{quota}ms\"\nperiod = \"{period}ms\"\n{}",
                hog("a", "a", "count = 2\n")
            );
            let metrics = run(policy, 1, &tasks);
            let what = format!("{policy:?} {quota} of {period} ms");
            close(&what, share(&metrics, "a"), expected, 0.002);
        }
    }
}

/// 5 ms last for 60 ms of a twelfth of the CPU.
#[test]
fn a_group_without_quota_competes_until_it_is_picked() {
    let tasks = "duration = \"20s\"\n[group.user]\nweight = 300\n[group.services]\n[group.web]\nparent = \"services\"\nweight = 200\n\
                 [group.backup]\nparent = \"services\"\nquota = \"5ms\"\n"
        .to_string()
        + &hog("user", "user", "count = 2\n")
        + &hog("web", "web", "count = 4\n")
        + &hog("backup", "backup", "count = 2\n");
    let throttling_ms = |set| {
        let metrics = measured("eevdf", Some("7.1"), set, "ideal-1", &tasks);
        let mut groups = metrics.control_groups.iter();
        let backup = groups.find(|group| group.name == "backup").unwrap();
        backup.throttled_ns.0 as f64 / backup.nr_throttles as f64 / 1e6
    };
    close("7.1", throttling_ms(&[]), 40.0, 1.0);
    // Until 6.17 it leaves behind its last request, and comes back in debt to the others, who have had theirs.
    let at_once = throttling_ms(&[("throttle_picked", 0)]);
    assert!(at_once > 41.0, "{at_once} ms");
}

/// On a machine where choosing takes time, a group whose request was served is rescheduled once, not until it has another.
#[test]
fn a_heavy_group_is_rescheduled_once_for_a_request() {
    let tasks = "duration = \"1s\"\n[group.a]\nweight = 300\n[group.b]\n".to_string()
        + &hog("a", "a", "count = 2\n")
        + &hog("b", "b", "");
    let metrics = measured("eevdf", Some("7.1"), &[], "qemu-icount", &tasks);
    // Requests of 0.7 ms.
    let switches = metrics.total.nr_switches;
    assert!((1000..1500).contains(&switches), "{switches} switches");
}

#[test]
fn a_quota_holds_for_all_cpus_together_and_for_the_groups_within() {
    let tasks = "duration = \"60s\"\n[group.a]\nweight = 10000\nquota = \"100ms\"\n[group.b]\nparent = \"a\"\n[group.c]\nparent = \"b\"\n"
        .to_string()
        + &hog("c", "c", "count = 3\n")
        + &hog("a", "a", "count = 3\n")
        + &hog("rest", "", "count = 4\n");
    for policy in ALL {
        let metrics = run(policy, 4, &tasks);
        let limited = share(&metrics, "c") + share(&metrics, "a");
        close(&format!("{policy:?}"), limited, 0.25, 0.01);
        close(&format!("{policy:?}"), share(&metrics, "rest"), 0.75, 0.01);
    }
}

#[test]
fn a_quota_within_a_quota() {
    let tasks = "duration = \"30s\"\n[group.a]\nquota = \"40ms\"\n[group.b]\nparent = \"a\"\nquota = \"10ms\"\n"
        .to_string()
        + &hog("a", "a", "")
        + &hog("b", "b", "");
    for policy in ALL {
        let metrics = run(policy, 1, &tasks);
        close("b", share(&metrics, "b"), 0.1, 0.005);
        close("a", share(&metrics, "a"), 0.3, 0.005);
    }
}

#[test]
fn throttled_tasks_are_no_reason_not_to_end() {
    // 30 ms of work at 10 ms in 100: the last of it is done in the third period.
    let tasks = "[group.a]\nquota = \"10ms\"\n[task.t]\ngroup = \"a\"\nprogram = \"run 30ms\"\n";
    for policy in ALL {
        let ended = run(policy, 1, tasks).duration_ns.0 / 1_000_000;
        assert!((200..=320).contains(&ended), "{policy:?}: {ended} ms");
    }
}

#[test]
fn weights_and_quotas_change_during_the_run() {
    let boss = "[task.boss]\nprogram = \"\"\"\nsleep 30s\nweight a 300\nsleep 30s\nquota b 10ms 100ms\nsleep 60s\n\"\"\"\n";
    let tasks = "[group.a]\n[group.b]\n".to_string()
        + &hog("a", "a", "background = true\n")
        + &hog("b", "b", "background = true\n")
        + boss;
    // a: 15 s, 22.5 s, 54 s of 120.
    for policy in ALL {
        let metrics = run(policy, 1, &tasks);
        close(
            &format!("{policy:?}"),
            share(&metrics, "a"),
            91.5 / 120.0,
            0.01,
        );
    }
}

#[test]
fn a_task_that_moves_counts_where_it_is() {
    // One hog in a, one that is in a for 30 s and in b for 30 s, one in b.
    let mover = "[task.mover]\ngroup = \"a\"\nprogram = \"\"\"\nrun-for 30s\ngroup b\nrun-for 30s\n\"\"\"\n";
    let tasks = "[group.a]\nweight = 300\n[group.b]\n".to_string()
        + &hog("a", "a", "background = true\n")
        + &hog("b", "b", "background = true\n")
        + mover;
    for policy in ALL {
        let metrics = run(policy, 1, &tasks);
        let what = format!("{policy:?}");
        close(&what, share(&metrics, "mover"), (0.375 + 0.125) / 2.0, 0.01);
        close(&what, share(&metrics, "a"), (0.375 + 0.75) / 2.0, 0.01);
        close(&what, share(&metrics, "b"), (0.25 + 0.125) / 2.0, 0.01);
    }
}

#[test]
fn others_move_waiting_and_sleeping_tasks() {
    let boss = "[task.boss]\nprogram = \"\"\"\nsleep 30s\nregroup w b\nregroup s b\nsleep 30s\nregroup w root\nsleep 1s\n\"\"\"\n";
    let tasks = "[group.a]\nweight = 1000\n[group.b]\n".to_string()
        + &hog("w", "a", "count = 2\nbackground = true\n")
        + &hog("x", "b", "background = true\n")
        + "[task.s]\ngroup = \"a\"\nbackground = true\nprogram = \"\"\"\nforever\n  sleep 7ms\n  run 10us\nend\n\"\"\"\n"
        + boss;
    for policy in ALL {
        let metrics = run(policy, 1, &tasks);
        // 10/11 for 30 s, 2/3 for 30 s, 2/3 for the last second.
        let expected = (30.0 * 10.0 / 11.0 + 31.0 * 2.0 / 3.0) / 61.0;
        close(&format!("{policy:?}"), share(&metrics, "w"), expected, 0.01);
    }
}

#[test]
fn a_policy_without_groups_takes_all_for_equal() {
    let tasks = "duration = \"20s\"\n[group.a]\nweight = 1000\n[group.b]\nquota = \"10ms\"\n"
        .to_string()
        + &hog("a", "a", "")
        + &hog("b", "b", "");
    let metrics = measured("o1", None, &[], "ideal-1", &tasks);
    close("a", share(&metrics, "a"), 0.5, 0.01);
}

#[test]
fn children_are_in_their_parents_group() {
    let tasks = "[group.a]\nquota = \"10ms\"\n[task.make]\ngroup = \"a\"\nprogram = \"\"\"\nfork cc\nfork cc\nwait-children\n\"\"\"\n\
                 [task.cc]\ncount = 0\nprogram = \"run 50ms\"\n";
    let workload = native::parse("w.toml", tasks).unwrap();
    let tuned = Tuned::defaults(Policy::find("eevdf").unwrap());
    let metrics = on_machine(&tuned, &Machine::ideal(2), &workload, None);
    let ended = metrics.duration_ns.0 / 1_000_000;
    assert!((800..=1050).contains(&ended), "{ended} ms");
}
