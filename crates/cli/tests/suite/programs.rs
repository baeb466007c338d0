//! Workloads as real programs on the machine of the tests: their counts are exact.

use std::fs;

use crate::common::{argument, refused, schedlab, text};

/// Runs to the end; what it prints.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let ran = schedlab(arguments).output().unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    text(&ran.stdout).to_string()
}

/// The count in a row of a result.
#[track_caller]
fn count(output: &str, mark: &str) -> u64 {
    let row = output.lines().find_map(|line| line.strip_prefix(mark));
    let cell = row.and_then(|row| row.split_whitespace().next());
    cell.unwrap_or_else(|| panic!("no {mark} in {output}"))
        .parse()
        .unwrap()
}

/// Everything tasks can wait for, in threads of one process and in processes of their own: the
/// counts are those of the simulator, and nobody is left behind.
#[test]
fn a_workload_is_played_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    fs::write(&file, WORKLOAD).unwrap();
    let played = printed(&["play", argument(&file)]);
    assert!(played.starts_with("w: 14 tasks, "), "{played}");
    for (mark, wanted) in [
        ("consumed", 60),
        ("signalled", 3),
        ("met", 20),
        ("child", 6),
        ("parent", 2),
    ] {
        assert_eq!(count(&played, mark), wanted, "{mark} in {played}");
    }
}

const WORKLOAD: &str = r#"
title = "everything"
[channel.pipe]
capacity = 2
[mutex.m]
[condition.c]
[semaphore.ready]
[barrier.meeting]
tasks = 2

[task.producer]
count = 2
process = "shared"
program = """
loop 30
  run exp(20us)
  send pipe
end
"""
[task.consumer]
program = """
loop 60
  receive pipe
  run 5us
  mark consumed
end
"""
[task.waiter]
process = "shared"
program = """
loop 3
  lock m
  post ready
  wait c m
  unlock m
  mark signalled
end
"""
[task.signaller]
program = """
loop 3
  wait-sem ready
  lock m
  signal c
  unlock m
end
"""
[task.pair]
count = 2
nice = 5
program = """
loop 10
  barrier meeting
  sleep 100us
  yield
  mark met
end
"""
[task.parent]
count = 1
program = """
loop 2
  fork child
  fork child
  fork child
  wait-children
  mark parent
end
"""
[task.child]
count = 0
program = """
run 10us
mark child
"""
"#;

/// 4 users send 5 messages each; each of the 3 others receives them.
#[test]
fn every_message_of_a_chat_arrives_once() {
    let volanomark = "volanomark --rooms 2 --users 4 --count 5";
    for line in [volanomark, "chat --rooms 2 --users 4 --messages 5"] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = printed(&words);
        assert!(
            said.contains(": 40 messages sent, 120 received, "),
            "{said}"
        );
        // The built-in workload of that name counts the same.
        assert_eq!(count(&printed(&["play", line]), "message"), 160, "{line}");
    }
}

/// Bursts of two periods, two batches of threads, and a process beside them.
#[test]
fn late_does_its_work_in_the_periods_it_was_told() {
    let threads = "job:run=5ms,sleep=1ms,cpu=20ms,count=2,batches=2,burst=2,threads=yes";
    let said = printed(&[
        "late",
        "--task",
        threads,
        "--task",
        "other:run=1ms,cpu=3ms,nice=5",
    ]);
    let row = |name: &str| -> Vec<String> {
        let row = said.lines().rfind(|line| line.starts_with(name));
        let row = row.unwrap_or_else(|| panic!("no {name} in {said}"));
        row.split_whitespace().map(str::to_string).collect()
    };
    // 4 tasks with 2 cycles of 2 periods each; each task slept twice for 2 x 1 ms.
    assert_eq!(row("job")[1..3], ["4", "16"], "{said}");
    assert_eq!(row("job")[9], "0.004", "{said}");
    assert_eq!(row("other")[1..3], ["1", "3"], "{said}");
}

#[test]
fn mistakes_are_named() {
    for (words, message) in [
        (&["play", "hoogs"][..], "there is no workload \"hoogs\""),
        (&["play", "hogs", "--duration", "0s"], "--duration"),
        (&["late", "--task", "x:run=1ms,burst=0"], "burst"),
        (&["volanomark", "--users", "1"], "--users"),
        (&["vm"], "COMMAND"),
        (&["vm", "--workload", "hogs", "--", "true"], "--workload"),
    ] {
        let said = refused(words);
        assert!(said.contains(message), "{words:?}: {said}");
    }
}
