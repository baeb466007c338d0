//! Real programs in a real kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{argument, json, schedlab, text};
use crate::guest::{have_kernel, vm};

const WORKLOAD: &str = r#"
title = "two groups that talk"
[channel.pipe]
capacity = 4
[task.talker]
count = 2
program = """
loop 40
  run 50us
  send pipe
end
"""
[task.listener-with-a-long-name]
program = """
loop 80
  receive pipe
  run 20us
  mark heard
end
"""
"#;

/// Counts and groups of a result.
fn figures(result: &serde_json::Value) -> BTreeMap<String, u64> {
    let of = |list: &str, value: fn(&serde_json::Value) -> u64| {
        let items = result[list].as_array().unwrap().iter();
        let items = items.map(|item| (item["name"].as_str().unwrap().to_string(), value(item)));
        items.collect::<Vec<_>>()
    };
    let marks = of("marks", |mark| mark["count"].as_u64().unwrap());
    let groups = of("groups", |group| group["nr_tasks"].as_u64().unwrap());
    let groups = groups
        .into_iter()
        .filter(|(name, _)| !name.starts_with('['));
    marks.into_iter().chain(groups).collect()
}

/// A policy that `schedlab new` writes, which no program was built with.
fn new_policy(folder: &Path) -> String {
    let words = ["new", "mine", "--dir", argument(folder)];
    let made = schedlab(&words).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    argument(&folder.join("mine/mine.c")).to_string()
}

/// Whether simulated or executed by a real kernel: the same tasks with the same names do the same.  The policy is the
/// user's own, and the way to the workload goes through a folder and a link.
#[test]
fn a_workload_is_the_same_in_both_worlds() {
    if !have_kernel("a_workload_is_the_same_in_both_worlds") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let policy = new_policy(folder.path());
    fs::create_dir(at("detour")).unwrap();
    fs::write(at("real.toml"), WORKLOAD).unwrap();
    std::os::unix::fs::symlink("detour/../real.toml", at("w.toml")).unwrap();
    let (file, result) = (at("detour/../w.toml"), at("x.json"));
    let words = ["--policy", &policy, "--workload", argument(&file)];
    let more = ["--watchdog", "20s", "--json", argument(&result)];
    let ran = vm(&[&words[..], &more].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let real: serde_json::Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let simulated = json(&[&["run"], &words[..]].concat());
    let wanted = [
        ("heard", 80),
        ("talker", 2),
        ("listener-with-a-long-name", 1),
    ];
    let wanted = wanted.map(|(name, count)| (name.to_string(), count));
    assert_eq!(figures(&simulated), wanted.clone().into());
    assert_eq!(figures(&real), wanted.into());
    // 80 x 70 us of work; what scheduling costs comes on top, what was before does not.
    let duration = real["duration_ns"].as_u64().unwrap();
    assert!((5_600_000..8_000_000).contains(&duration), "{duration}");
    assert_eq!(real["accounting_error"], serde_json::Value::Null);
    assert_eq!(real["policy"], "mine");
    let command = real["command"].as_str().unwrap();
    assert!(command.contains("--watchdog 20s"), "{command}");
}

/// One task alone: its work takes what it was told, to the microsecond.
#[test]
fn late_is_on_time_where_nothing_disturbs_it() {
    if !have_kernel("late_is_on_time_where_nothing_disturbs_it") {
        return;
    }
    let late = [
        "schedlab",
        "late",
        "--task",
        "job:run=2ms,sleep=1ms,cpu=20ms",
    ];
    let ran = vm(&[&["--no-record", "--"], &late[..]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let said = text(&ran.stdout);
    let row = said.lines().find(|line| line.starts_with("job")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..3], ["1", "10"], "{said}");
    let [work, late] = [cells[3], cells[5]].map(|cell| cell.parse::<f64>().unwrap());
    // A tick that falls into the work takes some 20 us.
    assert!((1.98..2.06).contains(&work), "{said}");
    assert!((0.0..0.1).contains(&late), "{said}");
}

/// 4.3BSD takes turns every 100 ms and renews priorities every second by nothing but its timers.
#[test]
fn a_policys_timers_expire() {
    if !have_kernel("a_policys_timers_expire") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("x.json");
    let hogs = "hogs --count 3 --duration 2500ms";
    let words = ["--policy", "bsd43", "--workload", hogs];
    let ran = vm(&[&words[..], &["--json", argument(&result)]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let real: serde_json::Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let renewed = real["counters"]["recalculations"].as_u64().unwrap();
    assert!(renewed >= 2, "once a second: {renewed}");
    let groups = real["groups"].as_array().unwrap();
    let hogs = groups.iter().find(|group| group["name"] == "hog-nice0");
    let longest = hogs.unwrap()["run_delay_ns"]["max"].as_u64().unwrap();
    assert!(
        longest < 400_000_000,
        "three take turns of 100 ms: {longest}"
    );
}

/// The kernel's ticks are never quite on time; at each of them two hogs take turns.
#[test]
fn a_policy_loses_no_tick() {
    if !have_kernel("a_policy_loses_no_tick") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("x.json");
    let hogs = "hogs --count 2 --duration 1s";
    let words = ["--policy", "cfs", "--workload", hogs];
    let ran = vm(&[&words[..], &["--json", argument(&result)]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let real: serde_json::Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let groups = real["groups"].as_array().unwrap();
    let hogs = groups.iter().find(|group| group["name"] == "hog-nice0");
    let switches = hogs.unwrap()["nr_switches"].as_u64().unwrap();
    assert!(switches >= 249, "250 ticks a second: {switches}");
}

/// Tasks of three weights that block often, so that CPUs pull from each other all the time.
const BALANCED: &str = r#"
duration = "15s"
[task.a]
count = 6
nice = -5
program = """
forever
  run exp(300us)
  sleep exp(300us)
end
"""
[task.b]
count = 6
nice = 10
program = """
forever
  run exp(2ms)
  sleep exp(1ms)
end
"""
[task.c]
count = 3
nice = 3
program = """
forever
  run exp(20ms)
  sleep exp(3ms)
end
"""
"#;

/// A CPU that takes the lock of another's run queue finds times there that are later than its hook's beginning.
#[test]
fn times_agree_between_cpus_that_balance() {
    if !have_kernel("times_agree_between_cpus_that_balance") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("balanced.toml");
    fs::write(&file, BALANCED).unwrap();
    let words = ["--policy", "eevdf", "--workload", argument(&file)];
    // A minute of one CPU's time, which takes a crowded machine longer than the usual limit.
    let machine = ["--cpus", "4", "--no-record", "--timeout", "1h"];
    let ran = vm(&[&machine[..], &words].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
}
