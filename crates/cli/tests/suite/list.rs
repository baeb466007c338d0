//! `schedlab list`: every item listed exists and has a description.

use crate::common::{argument, json, output, refused};

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

/// No line is longer than the terminal is wide.
#[test]
fn lists_fit_the_terminal() {
    let program = env!("CARGO_BIN_EXE_schedlab");
    let listing = format!("stty rows 24 cols 80; {program} list policies");
    let output = std::process::Command::new("script")
        .args(["-qec", &listing, "/dev/null"])
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("linux24"), "{shown}");
    let longest = shown
        .lines()
        .map(|line| line.trim_end().chars().count())
        .max();
    assert!(longest.unwrap() <= 80, "{shown}");
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

/// A variant is described alone; a policy of the user's own is compiled.
#[test]
fn variants_and_files_are_described() {
    let variant = json(&["list", "policies", "o1:2.6.13"]);
    let variants = variant["variants"].as_array().unwrap();
    assert_eq!(
        (variants.len(), &variants[0]["name"]),
        (1, &"2.6.13".into())
    );
    let text = output(&["list", "policies", "o1:2.6.13"]);
    assert!(
        text.contains("o1:2.6.13") && !text.contains("o1:2.6.11"),
        "{text}"
    );
    let file = output(&["list", "policies", "crates/cli/tests/policies/losing.c"]);
    assert!(file.starts_with("losing: "), "{file}");
}

#[test]
fn machines_and_workloads_are_described() {
    assert_eq!(json(&["list", "machines", "netfinity-7000-4p"])["cpus"], 4);
    assert_eq!(json(&["list", "machines", "ideal-3"])["cpus"], 3);
    assert!(output(&["list", "workloads", "volanomark"]).contains("--rooms"));
    assert!(output(&["list", "workloads", "mixed"]).starts_with("mixed: "));
}

/// A file of a user's own has options as the files that come along have.
#[test]
fn workload_files_have_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    let text = "title = \"clients\"\nduration = \"1s\"\n[options.clients]\nshort = \"c\"\ndefault = 2\nmost = 30\n\
                help = \"Clients\"\n[task.t]\ncount = \"{clients}\"\nprogram = \"run 1ms\"\n";
    std::fs::write(&file, text).unwrap();
    let file = argument(&file);
    let run = |options: &str| {
        let workload = format!("{file} {options}");
        json(&["run", "--policy", "o1", "--workload", &workload])
    };
    for options in ["--clients 20", "-c 20"] {
        let result = run(options);
        assert_eq!(result["tasks"].as_array().unwrap().len(), 20);
        assert!(result["command"].as_str().unwrap().contains(options));
    }
    let help = output(&[
        "run",
        "--policy",
        "o1",
        "--workload",
        &format!("{file} --help"),
    ]);
    assert!(help.contains("-c, --clients <CLIENTS>"), "{help}");
    assert_eq!(output(&["list", "workloads", file]), help);
    let workload = format!("{file} -c 31");
    assert_eq!(
        refused(&["run", "--policy", "o1", "--workload", &workload]),
        "--workload: my --clients: 31 is out of range; expected 0 to 30"
    );
}
