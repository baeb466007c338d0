//! One policy with several settings, several workloads and machines.

use std::fs;

use crate::common::{argument, json, names, output, refused};
use serde_json::Value;

/// Short runs on a machine without costs.
const SHORT: [&str; 4] = ["--duration", "200ms", "--machine", "ideal-1"];

fn compared(policies: &str, more: &[&str]) -> Vec<Value> {
    let arguments = [
        &["compare", "--policies", policies, "--workload", "mixed"],
        &SHORT[..],
        more,
    ]
    .concat();
    json(&arguments)["runs"].as_array().unwrap().clone()
}

fn hashes(runs: &[Value]) -> Vec<&str> {
    runs.iter()
        .map(|run| run["trace_hash"].as_str().unwrap())
        .collect()
}

#[test]
fn one_policy_may_have_several_settings() {
    let runs = compared(
        "o1,o1:max_timeslice_ms=20,o1:2.6.13:max_timeslice_ms=20",
        &[],
    );
    let labels: Vec<(&str, &str)> = runs
        .iter()
        .map(|run| {
            let set = run["tunables"]["max_timeslice_ms"].as_str();
            (run["variant"].as_str().unwrap(), set.unwrap_or("default"))
        })
        .collect();
    assert_eq!(
        labels,
        [("2.6.11", "default"), ("2.6.11", "20"), ("2.6.13", "20")]
    );
    let arguments = [
        &["run", "--policy", "o1", "--set", "max_timeslice_ms=20"],
        &["--workload", "mixed"][..],
        &SHORT,
    ]
    .concat();
    let set = json(&arguments);
    assert_eq!(hashes(&runs)[1], set["trace_hash"].as_str().unwrap());
    assert_ne!(hashes(&runs)[0], hashes(&runs)[1]);
}

#[test]
fn settings_of_a_policy_override_those_of_all() {
    let runs = compared(
        "o1,o1:max_timeslice_ms=20",
        &["--set", "max_timeslice_ms=40"],
    );
    let set = |run: &Value| run["tunables"]["max_timeslice_ms"].clone();
    assert_eq!((set(&runs[0]), set(&runs[1])), ("40".into(), "20".into()));
}

#[test]
fn the_printed_command_gives_the_same_runs_again() {
    let policies = "o1,o1:max_timeslice_ms=20,svr4:quantum[45]=8";
    let runs = compared(policies, &[]);
    let command = shlex::split(runs[0]["command"].as_str().unwrap()).unwrap();
    let words: Vec<&str> = command[1..].iter().map(String::as_str).collect();
    let again = json(&words);
    let again = again["runs"].as_array().unwrap();
    assert_eq!(hashes(&runs), hashes(again));
}

#[test]
fn whole_tables_stand_in_quotes() {
    let table = vec!["3"; 60].join(",");
    let policy = format!("svr4:quantum=\"{table}\"");
    let runs = compared(&format!("{policy},svr4"), &[]);
    assert_eq!(runs[0]["tunables"]["quantum"], table);
    let command = runs[0]["command"].as_str().unwrap();
    assert!(command.contains("quantum="), "{command}");
}

#[test]
fn a_setting_names_the_baseline() {
    let runs = compared(
        "o1,o1:max_timeslice_ms=20",
        &["--baseline", "o1:max_timeslice_ms=20"],
    );
    assert_eq!(runs[0]["tunables"]["max_timeslice_ms"], "20");
}

#[test]
fn several_workloads_and_machines_are_grouped() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("all.html");
    let arguments = [
        "compare",
        "--policies",
        "o1,cfs",
        "--workload",
        "hogs --count 2",
        "--workload",
        "hogs --count 3",
        "--machine",
        "ideal-1",
        "--machine",
        "ideal-2",
        "--duration",
        "200ms",
        "--report",
        argument(&report),
    ];
    let text = output(&arguments);
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("hogs"))
        .collect();
    let on = |head: &str| head.split(" · ").next().unwrap().to_string();
    assert_eq!(
        heads.iter().map(|head| on(head)).collect::<Vec<_>>(),
        [
            "hogs --count 2 on ideal-1",
            "hogs --count 2 on ideal-2",
            "hogs --count 3 on ideal-1",
            "hogs --count 3 on ideal-2"
        ]
    );
    assert_eq!(text.matches("reproduce: ").count(), 1, "{text}");
    let html = fs::read_to_string(report).unwrap();
    for id in ["case-1", "case-4", "case-4-summary"] {
        assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
}

#[test]
fn traces_of_settings_have_names_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.ftrace");
    compared("o1,o1:max_timeslice_ms=20", &["--trace", argument(&trace)]);
    assert_eq!(
        names(folder.path()),
        [
            "x-o1-2.6.11-max_timeslice_ms-20.ftrace",
            "x-o1-2.6.11.ftrace"
        ]
    );
}

#[test]
fn files_that_declare_one_name_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = include_str!("../../../../policy/template/template.c").replace("NAME", "mine");
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    for (path, text) in [
        (&old, fifo.to_string()),
        (&new, format!("{fifo}\n/* new */\n")),
    ] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("mine.c"), text).unwrap();
    }
    let [old, new] = [old, new].map(|path| argument(&path.join("mine.c")).to_string());
    let runs = compared(&format!("{old},{new}"), &[]);
    assert_eq!(
        (&runs[0]["policy"], &runs[1]["policy"]),
        (&old.clone().into(), &new.into())
    );
    let message = refused(&[
        "compare",
        "--policies",
        &format!("{old},{old}"),
        "--workload",
        "hogs",
    ]);
    assert!(message.contains("is named twice"), "{message}");
}

#[test]
fn wrong_settings_are_refused() {
    let says = |policies: &str, expected: &str| {
        let message = refused(&["compare", "--policies", policies, "--workload", "hogs"]);
        assert!(message.starts_with(expected), "{message}");
    };
    says(
        "o1:max_timeslice=20",
        "--policies: max_timeslice: o1 has no tunable of this name; expected one of ",
    );
    says(
        "o1:max_timeslice_ms=-1",
        "--policies: max_timeslice_ms: -1 is out of range; expected ",
    );
    says(
        "o1:a=1,b=2",
        "--policies: \"b=2\" is not a policy; expected settings behind their policy",
    );
    says(
        "o1,o1:2.6.11",
        "--policies: \"o1\" and \"o1:2.6.11\" are equal; expected policies that differ",
    );
    says(
        "/bin/true:slice=1",
        "--policies: \"/bin/true\" is a program: it has no variants and no tunables; expected its own options",
    );
}
