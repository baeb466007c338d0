//! After any failure of a loaded scheduler the kernel's own scheduler takes over, and every program finishes.

use std::fs;
use std::process::Output;

use schedlab_policy::Policy;

use crate::common::{argument, root, text};
use crate::guest::{have_kernel, vm};

/// What the scripts below share.
const PRELUDE: &str = r#"
state() { cat /sys/kernel/sched_ext/state; }
# Waits until the kernel is in a state.
await() {
    tries=0
    until [ "$(state)" = "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || { echo "never $1, but $(state)"; exit 9; }
        sleep 0.05
    done
}
# A scheduler in the background, attached; $loader is its process.  Old schedulers may let a task
# wait for all others' slices, and this machine may be slow: the watchdog is patient.  The work
# must not keep the loader from the CPU: the verifier needs it.
load() {
    schedlab load "$@" --stats none --timeout 30s & loader=$!
    renice -n -20 -p $loader >/dev/null
    await enabled
}
# Programs that are at work until "finish", which says whether all ended well.
work() {
    touch /tmp/at-work
    for i in 1 2; do
        (while [ -e /tmp/at-work ]; do hackbench -g 1 -l 20 >/dev/null || exit 7; done) &
        eval worker$i=$!
    done
}
finish() { rm /tmp/at-work; wait $worker1 && wait $worker2 && echo "all programs finished"; }
"#;

/// Runs a script in a guest with so many CPUs; all must be well in the end.
#[track_caller]
fn survives(cpus: &str, with: &[&str], script: &str) -> Output {
    let script = format!("{PRELUDE}\n{script}\nawait disabled\necho the end");
    // With several CPUs the deterministic clock, which runs one at a time: docs/vm.md says what a thread for each risks.
    let clock = if cpus == "1" { "fast" } else { "deterministic" };
    let machine = ["--no-record", "--cpus", cpus, "--clock", clock];
    let memory = ["--memory", "1GiB", "--timeout", "1h"];
    let with: Vec<&str> = with.iter().flat_map(|file| ["--with", file]).collect();
    let ran = vm(&[&machine[..], &memory, &with, &["--", "sh", "-c", &script]].concat());
    let (said, complaints) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{said}{complaints}");
    assert!(
        said.contains("all programs finished\n"),
        "{said}{complaints}"
    );
    assert!(said.ends_with("the end\n"), "{said}{complaints}");
    for trouble in ["BUG:", "WARNING:", "Oops", "hung task", "soft lockup"] {
        assert!(!complaints.contains(trouble), "{complaints}");
    }
    ran
}

const UNLOAD: &str = "sleep 0.05; kill $loader; wait $loader || exit 8; await disabled";

/// A closed terminal ends the loader as Ctrl-C does.
const HANG_UP: &str = "sleep 0.05; kill -HUP $loader; wait $loader || exit 8; await disabled";

const KILL: &str = "sleep 0.2; kill -9 $loader; wait $loader; await disabled";

/// Sets the CPUs of all that is at work to one of two, to the other, and to both.
const MOVE_ABOUT: &str = "for mask in 1 2 3; do for task in $(pidof schedlab); do \
     [ $task = $loader ] || taskset -p $mask $task >/dev/null 2>&1; done; done";

fn names() -> String {
    let names: Vec<&str> = Policy::for_kernels().map(Policy::name).collect();
    names.join(" ")
}

/// The object of one of the broken policies.
fn broken(name: &str, folder: &tempfile::TempDir) -> String {
    let source = root().join(format!("crates/cli/tests/policies/{name}.c"));
    let object = folder.path().join(format!("{name}.o"));
    fs::write(&object, schedlab_bpf::compile(&source).unwrap()).unwrap();
    argument(&object).to_string()
}

/// A broken policy in place of a sound one, while programs run; what was said of it.
#[track_caller]
fn thrown_out(name: &str, options: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let object = broken(name, &folder);
    let script = format!(
        "work; schedlab load linux24 --object {object} --stats none {options}; echo status $?; finish"
    );
    let ran = survives("2", &[&object], &script);
    let said = text(&ran.stdout);
    assert!(said.starts_with("status 3\n"), "{said}");
    text(&ran.stderr)
}

/// The watchdog ends it, and the reason is told.
#[test]
fn a_policy_that_loses_tasks_is_thrown_out() {
    if !have_kernel("a_policy_that_loses_tasks_is_thrown_out") {
        return;
    }
    let said = thrown_out("losing", "--timeout 2s");
    assert!(said.contains("runnable task stall"), "{said}");
    assert!(said.contains("back on its own scheduler"), "{said}");
}

#[test]
fn a_policy_that_spins_is_thrown_out() {
    if !have_kernel("a_policy_that_spins_is_thrown_out") {
        return;
    }
    let said = thrown_out("looping", "");
    assert!(said.contains("policy looping: enqueue() looped"), "{said}");
}

#[test]
fn a_stray_pointer_never_gets_into_the_kernel() {
    if !have_kernel("a_stray_pointer_never_gets_into_the_kernel") {
        return;
    }
    let said = thrown_out("stray", "");
    assert!(said.contains("the kernel refuses the program"), "{said}");
    assert!(said.contains("invalid mem access"), "{said}");
}

/// The verifier takes one policy of each family, and real programs run under it.  Of the fair ones `programs.rs` has one.
#[test]
fn one_policy_of_each_family_schedules() {
    if !have_kernel("one_policy_of_each_family_schedules") {
        return;
    }
    let play = "schedlab play --quiet massive-intr --duration 100ms || exit 7";
    let script = format!(
        "for policy in linux24 o1 bsd4 ule14 svr4 mlfq; do load $policy; {play}; {UNLOAD}; done\n\
         schedlab status; echo 'all programs finished'"
    );
    let said = text(&survives("1", &[], &script).stdout);
    assert!(said.contains("enabled so far: 6\n"), "{said}");
}

/// Loaded and unloaded, loaded and its tasks moved about, killed with no chance to clean up.
#[test]
fn schedulers_come_and_go() {
    if !have_kernel("schedulers_come_and_go") {
        return;
    }
    let script = format!(
        "work; load elsc; {UNLOAD}; load mlfq; {HANG_UP}\n\
         load o1; {MOVE_ABOUT}; {KILL}; finish; schedlab status"
    );
    let said = text(&survives("2", &[], &script).stdout);
    assert!(said.contains("scheduler: the kernel's own\n"), "{said}");
    assert!(said.contains("enabled so far: 3\n"), "{said}");
}

#[test]
#[ignore = "long: make test-vm"]
fn a_loader_may_be_killed_with_any_policy() {
    if !have_kernel("a_loader_may_be_killed_with_any_policy") {
        return;
    }
    let all = names();
    let script = format!("work; for policy in {all}; do load $policy; {KILL}; done; finish");
    survives("2", &[], &script);
}

#[test]
#[ignore = "long: make test-vm"]
fn policies_come_and_go_two_hundred_times() {
    if !have_kernel("policies_come_and_go_two_hundred_times") {
        return;
    }
    let all = names();
    let script = format!(
        "set -- {all}; work; for i in $(seq 200); do load $1; {UNLOAD}\n\
         policy=$1; shift; set -- \"$@\" $policy; done; finish; schedlab status"
    );
    let said = text(&survives("1", &[], &script).stdout);
    assert!(said.contains("enabled so far: 200\n"), "{said}");
}

/// With a thread for each CPU: what patches the kernel's code has the other CPU idle (crates/live/src/park.rs).
#[test]
#[ignore = "long: make test-vm"]
fn two_hundred_attaches_on_the_fast_clock() {
    if !have_kernel("two_hundred_attaches_on_the_fast_clock") {
        return;
    }
    let script = format!(
        "{PRELUDE}\nwork; for i in $(seq 200); do load mlfq; {UNLOAD}; done; finish; schedlab status"
    );
    let machine = ["--no-record", "--cpus", "2", "--clock", "fast"];
    let ran = vm(&[
        &machine[..],
        &["--timeout", "2h", "--", "sh", "-c", &script],
    ]
    .concat());
    let said = text(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", text(&ran.stderr));
    assert!(said.contains("enabled so far: 200\n"), "{said}");
}

#[test]
#[ignore = "long: make test-vm"]
fn affinity_may_change_under_any_policy() {
    if !have_kernel("affinity_may_change_under_any_policy") {
        return;
    }
    let all = names();
    let script = format!(
        "work; for policy in {all}; do load $policy\n\
         for round in 1 2 3; do {MOVE_ABOUT}; done; {UNLOAD}; done; finish"
    );
    survives("2", &[], &script);
}

/// Forks until the policy has no room: a clear error, and all that were forked run on.
#[test]
fn the_task_limit_is_a_clear_error() {
    if !have_kernel("the_task_limit_is_a_clear_error") {
        return;
    }
    let script = "load linux24 --max-tasks 300\n\
                  for i in $(seq 300); do sleep 3600 & done\n\
                  wait $loader; echo status $?; work; finish\n\
                  killall sleep; wait";
    let ran = survives("1", &[], script);
    assert!(
        text(&ran.stdout).contains("status 3\n"),
        "{}",
        text(&ran.stdout)
    );
    let said = text(&ran.stderr);
    assert!(
        said.contains("task limit of 300 reached; see --max-tasks"),
        "{said}"
    );
}

/// Half a thousand tasks, born as fast as can be, under every policy.
#[test]
#[ignore = "long: make test-vm"]
fn fork_bombs_go_off() {
    if !have_kernel("fork_bombs_go_off") {
        return;
    }
    let all = names();
    let bomb =
        "bomb() { [ $1 -gt 0 ] || exec sleep 1; bomb $(($1 - 1)) & bomb $(($1 - 1)) & wait; }";
    let each = format!("load $policy; (bomb 8); {UNLOAD}");
    let script = format!("{bomb}\nwork; for policy in {all}; do {each}; done; finish");
    survives("2", &[], &script);
}

/// Only tasks of class SCHED_EXT hear of a policy that was asked for no more.
#[test]
fn a_part_of_the_tasks_may_be_enough() {
    if !have_kernel("a_part_of_the_tasks_may_be_enough") {
        return;
    }
    let script =
        "work; schedlab load mlfq --partial --stats json >/tmp/stats & loader=$!; await enabled\n\
                  schedlab status; sleep 1.5\n\
                  schedlab dev hackbench -g 1 -l 5 --ext >/dev/null; kill $loader; wait $loader\n\
                  cat /tmp/stats; finish";
    let ran = survives("2", &[], script);
    let said = text(&ran.stdout);
    let status = "schedlab_mlfq_ostep schedules tasks of class SCHED_EXT";
    assert!(said.contains(status), "{said}");
    let counts: Vec<serde_json::Value> = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let sum = |name: &str| {
        counts
            .iter()
            .map(|one| one[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        counts[0]["switches"], 0,
        "others are none of its business: {said}"
    );
    assert!(sum("switches") > 40, "{said}");
}
