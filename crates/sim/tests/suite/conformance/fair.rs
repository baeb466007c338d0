//! What CFS and EEVDF promise alike, over the engine: shares by weight, whatever the slices.

use schedlab_machine::Machine;
use schedlab_policy::{Policy, Tuned};
use schedlab_workload::native;

use super::run;

const VARIANTS: [&str; 8] = [
    "cfs:6.5",
    "cfs:4.3",
    "cfs:2.6.24",
    "eevdf:6.12",
    "eevdf:6.18",
    "eevdf:6.19",
    "eevdf:7.1",
    "eevdf:6.6",
];

/// CPU shares of endless tasks of these nice values on one CPU, within a hundredth.
#[track_caller]
fn shares(policy: &str, nice: &[i8], weights: &[f64]) {
    let values: Vec<String> = nice.iter().map(i8::to_string).collect();
    let metrics = run(
        policy,
        "ideal-1",
        &format!("hogs --nice={}", values.join(",")),
        Some(300),
    );
    let total: f64 = weights.iter().sum();
    for (nice, weight) in nice.iter().zip(weights) {
        let task = metrics.tasks.iter().find(|t| t.nice == *nice).unwrap();
        let (share, expected) = (task.activity.cpu_share, weight / total);
        assert!(
            (share / expected - 1.0).abs() < 0.01,
            "{policy}, nice {nice}: {share}, not {expected}"
        );
    }
}

#[test]
fn one_nice_level_is_55_to_45() {
    for policy in VARIANTS {
        // 1024 / 1844 = 55.5 %; 137 / 247 = 55.5 %; 9548 / 17168 = 55.6 %.
        shares(policy, &[0, 1], &[1024.0, 820.0]);
        shares(policy, &[9, 10], &[137.0, 110.0]);
        shares(policy, &[-10, -9], &[9548.0, 7620.0]);
    }
}

#[test]
fn each_level_is_worth_a_quarter_more() {
    for policy in VARIANTS {
        shares(
            policy,
            &[-2, -1, 0, 1, 2],
            &[1586.0, 1277.0, 1024.0, 820.0, 655.0],
        );
        // Five levels are a factor of three: 1.25^5 = 3.05.
        shares(policy, &[0, 5, 10], &[1024.0, 335.0, 110.0]);
    }
}

#[test]
fn the_extremes_are_68_to_1() {
    for policy in VARIANTS {
        shares(policy, &[0, 19], &[1024.0, 15.0]);
    }
}

#[test]
fn equals_have_equal_shares() {
    for policy in VARIANTS {
        let metrics = run(policy, "ideal-1", "hogs --count 20", Some(60));
        for task in &metrics.tasks {
            let share = task.activity.cpu_share * 20.0;
            assert!((share - 1.0).abs() < 0.01, "{policy}: {share}");
        }
    }
}

#[test]
fn hogs_spread_over_idle_cores_and_stay() {
    // Eight cores of two threads, of which the second adds little: placed well or moved there soon, each hog has a
    // core to itself.
    for policy in ["cfs", "eevdf"] {
        let metrics = run(policy, "desktop", "hogs --count 8 --work 4s", None);
        let seconds = metrics.duration_ns.0 as f64 / 1e9;
        assert!((4.0..4.1).contains(&seconds), "{policy}: {seconds}");
        let moves = metrics.total.nr_migrations;
        assert!(moves < 40, "{policy}: {moves}");
    }
}

#[test]
fn what_needs_a_fast_cpu_gets_one() {
    // A phone's two big cores do half a second of work in that time, its small ones in three.  Wherever the hogs
    // start, they are too big for that CPU within some 30 ms, and move.
    for policy in ["cfs:6.5", "eevdf:6.6", "eevdf:6.12", "eevdf:7.1"] {
        let metrics = run(policy, "phone", "hogs --count 2 --work 500ms", None);
        let seconds = metrics.duration_ns.0 as f64 / 1e9;
        assert!((0.5..0.6).contains(&seconds), "{policy}: {seconds}");
    }
}

/// Hogs of one kind in the native format.
fn kind(name: &str, count: u32, keys: &str, program: &str) -> String {
    format!("[task.{name}]\ncount = {count}\n{keys}\nprogram = \"\"\"\n{program}\n\"\"\"\n")
}

const HOG: &str = "forever\n  run 1s\nend";

#[test]
fn pinned_tasks_do_not_hide_movable_ones() {
    // CPU 0 has three tasks that must stay, CPU 1 two that need not; after a second CPU 2 has nothing to do.
    let tasks = format!(
        "duration = \"10s\"\n{}{}{}",
        kind("a", 3, "cpus = \"0\"", HOG),
        kind("b", 2, "", HOG),
        kind("c", 2, "cpus = \"2\"", "run 500ms")
    );
    for policy in VARIANTS {
        let (name, variant) = policy.split_once(':').unwrap();
        let metrics = super::measured(name, Some(variant), &[], "ideal-3", &tasks);
        let share = metrics.idle_while_runnable.share;
        assert!(share < 0.005, "{policy}: {share}");
    }
}

#[test]
fn affinity_across_two_caches_is_served() {
    // The case of sg_imbalanced(): four hogs for CPU 3 of one cache and three CPUs of the other, each has its own soon.
    let mut machine = Machine::ideal(8);
    machine.caches = vec![machine.caches[0]; 2];
    machine.cpus[4..].iter_mut().for_each(|cpu| cpu.cache = 1);
    let tasks = format!(
        "duration = \"20s\"\n{}{}",
        kind("a", 4, "cpus = \"3-6\"", HOG),
        kind("b", 2, "nice = -10", "run 500ms")
    );
    let workload = native::parse("tasks.toml", &tasks).unwrap();
    for policy in [
        "cfs:6.5",
        "eevdf:6.12",
        "eevdf:6.18",
        "eevdf:7.1",
        "eevdf:6.6",
    ] {
        let (name, variant) = policy.split_once(':').unwrap();
        let tuned = Tuned::new(Policy::find(name).unwrap(), Some(variant), &[]).unwrap();
        let metrics = super::on_machine(&tuned, &machine, &workload, None);
        for hog in &metrics.tasks[..4] {
            let share = hog.activity.cpu_share * 8.0;
            assert!(share > 0.95, "{policy}, {}: {share}", hog.name);
        }
    }
}

/// A task that wakes up often and asks for slices of 0.1 ms beside one that does not ask, and four that only compute.
#[test]
fn a_short_slice_means_sooner_and_not_more() {
    for (policy, sooner) in [
        ("eevdf:6.12", true),
        ("eevdf:6.18", true),
        ("eevdf:6.19", true),
        ("eevdf:7.1", true),
        ("eevdf:6.6", false),
    ] {
        let metrics = run(policy, "ideal-1", "short-slice", Some(30));
        let of = |name: &str| metrics.groups.iter().find(|g| &*g.name == name).unwrap();
        let (short, usual) = (&of("short").activity, &of("usual").activity);
        let delay = |a: &schedlab_measure::Activity| a.run_delay_ns.as_ref().unwrap().mean;
        let (asked, unasked) = (delay(short), delay(usual));
        assert_eq!(
            asked * 2.0 < unasked,
            sooner,
            "{policy}: {asked} and {unasked} ns"
        );
        assert!((short.cpu_share - usual.cpu_share).abs() < 0.01, "{policy}");
    }
}
