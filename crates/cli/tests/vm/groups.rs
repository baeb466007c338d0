//! Control groups of a workload in a real kernel, and in the simulator under the `eevdf` nearest to it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{argument, json, text};
use crate::guest::{have_kernel, number, vm};

/// Three levels, a quota, and hogs in each innermost group.
const TREE: &str = r#"
[group.user]
weight = 300
[group.services]
[group.web]
parent = "services"
weight = 200
[group.workers]
parent = "web"
[group.logs]
parent = "web"
weight = 50
[group.backup]
parent = "services"
quota = "5ms"
period = "100ms"
[task.editor]
group = "user"
count = 2
program = """
forever
  run 1s
end
"""
[task.worker]
group = "workers"
count = 3
program = """
forever
  run 1s
end
"""
[task.log]
group = "logs"
program = """
forever
  run 1s
end
"""
[task.copy]
group = "backup"
count = 2
program = """
forever
  run 1s
end
"""
"#;

/// Groups that change while they run: after a second the mover joins the other group, which then gets twice the weight, and a quota at last.
const CHANGES: &str = r#"
duration = "3s"
[group.left]
[group.right]
[task.mover]
group = "left"
program = """
run-for 1s
group right
run-for 1s
weight right 300
quota right 40ms 100ms
forever
  run 1s
end
"""
[task.stayer]
group = "left"
program = """
forever
  run 1s
end
"""
[task.other]
group = "right"
program = """
forever
  run 1s
end
"""
"#;

/// The run of a workload under the kernel's own scheduler.
#[track_caller]
fn real(file: &Path, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("x.json");
    let words = ["--policy", "none", "--workload", argument(file)];
    let ran = vm(&[&words[..], &["--json", argument(&result)], more].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    serde_json::from_slice(&fs::read(&result).unwrap()).unwrap()
}

fn simulated(file: &Path, more: &[&str]) -> Value {
    let machine = ["--machine", "qemu-icount", "--policy", "eevdf:7.1"];
    json(&[&["run", "--workload", argument(file)], &machine[..], more].concat())
}

fn group<'a>(run: &'a Value, name: &str) -> &'a Value {
    let mut groups = run["control_groups"].as_array().unwrap().iter();
    let group = groups.find(|group| group["name"] == name);
    group.unwrap_or_else(|| panic!("no group {name}"))
}

/// A group's part of the time of two groups that have all tasks.
fn share(run: &Value, name: &str, all: [&str; 2]) -> f64 {
    let ran = |name: &str| number(&group(run, name)["run_ns"]) as f64;
    ran(name) / all.map(ran).iter().sum::<f64>()
}

/// The mean length of a throttling: a kernel's sum does not count one that has not ended.
fn throttling_ns(run: &Value, name: &str) -> f64 {
    let group = group(run, name);
    number(&group["throttled_ns"]) as f64 / number(&group["nr_throttles"]) as f64
}

/// A second with groups that are moved between, weighted and limited on the way.
#[test]
fn groups_of_a_workload_are_cgroups_of_the_kernel() {
    if !have_kernel("groups_of_a_workload_are_cgroups_of_the_kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("changes.toml");
    fs::write(&file, CHANGES).unwrap();
    let run = real(&file, &[]);
    let ms = |name: &str| {
        let mut tasks = run["groups"].as_array().unwrap().iter();
        let task = tasks.find(|task| task["name"] == name).unwrap();
        number(&task["run_ns"]) / 1_000_000
    };
    // One second of halves of a half, one of thirds of which one is alone in its group, and one in which "right" has 40 %.
    let wanted = [
        ("mover", 250 + 250 + 200),
        ("stayer", 250 + 500 + 600),
        ("other", 500 + 250 + 200),
    ];
    for (name, wanted) in wanted {
        let got = ms(name);
        assert!(
            got.abs_diff(wanted) < 60,
            "{name} ran for {got} ms, not {wanted}"
        );
    }
    // With three quarters of the CPU 40 ms last for 53 ms.
    let throttled = number(&group(&run, "right")["throttled_ns"]) / 1_000_000;
    assert!(
        (400..480).contains(&throttled),
        "47 ms in each of ten periods: {throttled}"
    );
    assert_eq!(number(&group(&run, "left")["nr_throttles"]), 0);
}

/// Shares within 1 %, and throttled time within 2 %.
#[test]
#[ignore = "long: make test-vm"]
fn a_tree_of_groups_gets_in_a_kernel_what_the_simulator_says() {
    if !have_kernel("a_tree_of_groups_gets_in_a_kernel_what_the_simulator_says") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tree.toml");
    fs::write(&file, TREE).unwrap();
    let time = ["--duration", "20s"];
    let (real, simulated) = (real(&file, &time), simulated(&file, &time));
    let all = ["user", "services"];
    for name in ["user", "services", "web", "workers", "logs", "backup"] {
        let [real, simulated] = [&real, &simulated].map(|run| share(run, name, all));
        let points = (real - simulated).abs() * 100.0;
        assert!(
            points < 1.0,
            "{name}: {real} in the kernel, {simulated} simulated"
        );
    }
    let [real, simulated] = [&real, &simulated].map(|run| throttling_ns(run, "backup"));
    let error = (simulated / real - 1.0).abs();
    assert!(
        error < 0.02,
        "{real} ns in the kernel, {simulated} ns simulated"
    );
}
