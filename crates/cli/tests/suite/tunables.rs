//! Tunables, including tables, from the command line, from files and from variants.

use std::fs;

use crate::common::{argument, json, refused, root};
use serde_json::{json, Value};

/// A run of the policy with a table, of one task that wakes once.
fn run_of<'a>(policy: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "--policy", policy, "--workload", "hogs --count 1"];
    [
        &run[..],
        &["--duration", "1ms", "--machine", "ideal-1"],
        more,
    ]
    .concat()
}

fn policy(variant: &str) -> String {
    let source = root().join("crates/cli/tests/policies/tabled.c");
    format!("{}{variant}", argument(&source))
}

/// What the policy read: the first and the last row, times the unit.
#[track_caller]
fn read(variant: &str, more: &[&str]) -> (Value, Value) {
    let result = json(&run_of(&policy(variant), more));
    let counters = &result["counters"];
    let value = |name: &str| counters[name].clone();
    (value("first"), value("last"))
}

#[track_caller]
fn says(more: &[&str], message: &str) {
    assert_eq!(refused(&run_of(&policy(""), more)), message);
}

#[test]
fn rows_and_tables_reach_the_policy() {
    let pair = |first: u64, last: u64| (first.into(), last.into());
    assert_eq!(read("", &[]), pair(0, 3));
    assert_eq!(read(":steep", &[]), pair(0, 60));
    assert_eq!(read(":steep", &["--set", "step[3]=40"]), pair(0, 80));
    assert_eq!(read("", &["--set", "tabled.step=5,6,7,8"]), pair(5, 8));
}

#[test]
fn files_come_before_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    fs::write(&path, "unit = 10\nstep = [\n 1, 2,\n 3, 4]\n").unwrap();
    let file = ["--tunables", argument(&path)];
    assert_eq!(read("", &file), (10.into(), 40.into()));
    let set = [&file[..], &["--set", "step[0]=0", "--set", "unit=1"]].concat();
    assert_eq!(read("", &set), (0.into(), 4.into()));
    let result = json(&run_of(&policy(""), &set));
    assert_eq!(
        result["tunables"],
        json!({"unit": "1", "step": "1,2,3,4", "step[0]": "0"})
    );
    let command = result["command"].as_str().unwrap();
    let again = format!(
        "--tunables {} --set 'step[0]=0' --set unit=1",
        argument(&path)
    );
    assert!(command.contains(&again), "{command}");
}

#[test]
fn files_name_the_policy_they_are_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    fs::write(&path, "hz = 200\n[elsc]\nhz = 50\n").unwrap();
    let compare = [
        "compare",
        "--policies",
        "elsc,linux24",
        "--workload",
        "hogs --count 1",
    ];
    let more = ["--duration", "20ms", "--tunables", argument(&path)];
    let result = json(&[&compare[..], &more].concat());
    assert_eq!(result["runs"][0]["tunables"], json!({"hz": "50"}));
    assert_eq!(result["runs"][1]["tunables"], json!({"hz": "200"}));
}

#[test]
fn mistakes_name_the_row() {
    says(
        &["--set", "step[3]=101"],
        "--set: step[3]: 101 is out of range; expected 0 to 100: the height of each step [none]",
    );
    says(
        &["--set", "step[4]=1"],
        "--set: step[4]: there is no row 4; expected 0 to 3",
    );
    says(
        &["--set", "unit[0]=1"],
        "--set: unit[0]: the tunable is a single number, not a table; expected unit=VALUE",
    );
    says(
        &["--set", "step=1"],
        "--set: step: there is one value; expected a table: 4 values, or step[ROW] for one row",
    );
    says(
        &["--set", "step[1=1"],
        "--set: step[1: this is not a row of a table; expected NAME=VALUE, NAME[ROW]=VALUE or \
         POLICY.NAME=VALUE, VALUE being a whole number",
    );
}

#[test]
fn a_policy_says_which_row_is_absurd() {
    let message = refused(&run_of(&policy(""), &["--set", "step[2]=0"]));
    let fault = "policy tabled:plain, hook init: policy_error: a step goes down (row 2)";
    assert!(message.ends_with(fault), "{message}");
}

#[test]
fn mistakes_in_files_name_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    let shown = argument(&path);
    for (text, message) in [
        (
            "unit = 2\nstep = [1, 2,\n 101, 4]\n",
            ":3: step[2]: 101 is out of range; expected 0 to 100: the height of each step [none]",
        ),
        (
            "\nstpe = [1, 2, 3, 4]\n",
            ":2: stpe: PATH:plain has no such tunable; expected one of step, unit (did you mean \"step\"?)",
        ),
        (
            "step = [1,\n true]\n",
            ":2: step[1]: true is not valid here; expected a whole number",
        ),
        (
            "step = []\n",
            ":1: step: there is no value; expected one for each row",
        ),
        (
            "[o1]\nhz = 1\n",
            ":2: hz: \"o1\" is not a policy of this run; expected PATH:plain",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let said = refused(&run_of(&policy(""), &["--tunables", shown]));
        assert_eq!(said, format!("{shown}{}", message.replace("PATH", "tabled")));
    }
    says(
        &["--tunables", "my.txt"],
        "--tunables: \"my.txt\" has no known extension; expected a file ending in .toml or .dispadmin",
    );
}

/// What "dispadmin -c TS -g" prints of a table in which each quantum is 150 ms.
fn dispadmin(rows: u32) -> String {
    let row = |i: u32| format!("150 {} {} 0 {} # {i}\n", i / 2, (i + 1).min(59), i.max(50));
    let rows: String = (0..rows).map(row).collect();
    format!("# Time Sharing Dispatcher Configuration\nRES=1000\n\n{rows}")
}

#[test]
fn solaris_tables_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ts.dispadmin");
    let load = ["--tunables", argument(&path)];
    fs::write(&path, dispadmin(60)).unwrap();
    let result = json(&run_of("svr4", &load));
    assert_eq!(result["tunables"]["quantum"], ["15"; 60].join(","));
    assert!(result["tunables"]["tqexp"]
        .as_str()
        .unwrap()
        .ends_with(",28,29,29"));
    fs::write(&path, dispadmin(59)).unwrap();
    assert_eq!(
        refused(&run_of("svr4", &load)),
        format!(
            "{}:4: quantum: there are 59 values; expected a table: 60 values, or quantum[ROW] for one row",
            argument(&path)
        )
    );
    let absurd = dispadmin(60).replace("150 6 13 0 50 # 12", "150 13 13 0 50 # 12");
    fs::write(&path, absurd).unwrap();
    let message = refused(&run_of("svr4", &load));
    let fault = "tqexp is above its row: a task would gain by using up a quantum (row 12)";
    assert!(message.ends_with(fault), "{message}");
}
