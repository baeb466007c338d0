//! Completions in bash.

use std::fs;
use std::process::Command;

use crate::common::{argument, output, text};

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("schedlab.bash");
    fs::write(&script, output(&["completions", "bash"])).unwrap();
    let [.., previous, current] = words else {
        panic!("two words at least")
    };
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let bash = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={}; _schedlab schedlab '{current}' '{previous}' 2>/dev/null; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        argument(&script),
        quoted.join(" "),
        words.len() - 1,
    );
    let output = Command::new("bash").args(["-c", &bash]).output().unwrap();
    let lines = text(&output.stdout);
    let lines = lines.lines().filter(|line| !line.is_empty());
    lines.map(str::to_string).collect()
}

#[test]
fn names_are_completed() {
    let policies = offered(&["schedlab", "run", "--policy", "o"]);
    assert_eq!(policies[0], "o1");
    assert!(policies.iter().all(|name| name.starts_with("o1")));
    let variants = offered(&["schedlab", "run", "--policy", "o1:2.6.1"]);
    assert!(variants.contains(&"o1:2.6.13".to_string()), "{variants:?}");
    let all = offered(&["schedlab", "compare", "--policies", "al"]);
    assert_eq!(all, ["all"]);
    let workloads = offered(&["schedlab", "run", "--workload", "volano"]);
    assert_eq!(workloads, ["volanomark"]);
    let machines = offered(&["schedlab", "run", "--machine", "netfinity-7000-4"]);
    assert_eq!(machines, ["netfinity-7000-4p"]);
}

/// Where no name fits, bash offers files (`complete -o default`).
#[test]
fn files_are_left_to_bash() {
    let none = offered(&["schedlab", "run", "--policy", "mine/"]);
    assert_eq!(none, Vec::<String>::new());
    assert!(output(&["completions", "bash"]).contains("-o default schedlab"));
}

#[test]
fn hidden_commands_are_not_offered() {
    let commands = offered(&["schedlab", ""]);
    assert!(commands.contains(&"compare".to_string()), "{commands:?}");
    for hidden in ["dev", "conform", "hackbench", "fidelity"] {
        assert!(!commands.contains(&hidden.to_string()), "{hidden}");
    }
}
