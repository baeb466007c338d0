//! `schedlab list`: everything listed exists, and is described.

use crate::common::{json, output};

#[test]
fn everything_is_listed() {
    let list = json(&["list"]);
    for (catalogue, name) in [
        ("policies", "o1"),
        ("machines", "desktop"),
        ("workloads", "volanomark"),
        ("workloads", "mixed"),
    ] {
        let listed = list[catalogue].as_array().unwrap();
        assert!(
            listed.iter().any(|entry| entry["name"] == name),
            "{catalogue}: {name}"
        );
        let text = output(&["list", catalogue]);
        assert!(
            text.lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{text}"
        );
    }
    assert!(output(&["list"]).contains("Workloads (--workload)\n  ab "));
}

#[test]
fn policy_is_described_in_full() {
    let text = output(&["list", "policies", "linux24"]);
    for part in [
        "linux24:2.4.16 (default)",
        "linux24:2.3.99",
        "\n  hz ",
        "Promises",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let policy = json(&["list", "policies", "linux24"]);
    assert_eq!(policy["variants"][0]["default"], true);
    let hz = &policy["tunables"].as_array().unwrap()[0];
    assert_eq!((&hz["name"], &hz["default"]), (&"hz".into(), &100.into()));
    assert!(!hz["doc"].as_str().unwrap().is_empty());
}

#[test]
fn machines_and_workloads_are_described() {
    assert_eq!(json(&["list", "machines", "netfinity-7000-4p"])["cpus"], 4);
    assert_eq!(json(&["list", "machines", "ideal-3"])["cpus"], 3);
    assert!(output(&["list", "workloads", "volanomark"]).contains("--rooms"));
    assert!(output(&["list", "workloads", "mixed"]).starts_with("mixed: "));
}
