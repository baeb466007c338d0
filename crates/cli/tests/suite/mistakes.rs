//! Every kind of mistake and its message.  Lists of valid names are shortened here.

use std::fs;

use crate::common::{argument, failed, failure, names, output, refused, schedlab};
use crate::common::{BAD_INPUT, DEADLOCK, LIMIT_REACHED, SYSTEM};

/// A command and the message it gets; "…" stands for anything.
const MISTAKES: &[(&[&str], &str)] = &[
    (&[], "command line: nothing to do; expected list, run, compare or new; see schedlab --help"),
    (&["rnu"], "rnu: there is no such command; expected list, run, compare, replay, vm or another of schedlab --help (did you mean \"run\"?)"),
    (&["run", "--workload", "hogs"], "--policy: missing; expected schedlab run --policy <POLICY> --workload <WORKLOAD> [-- <COMMAND>...]"),
    (&["run", "--policy", "o1", "--wrokload", "hogs"], "--wrokload: there is no such flag; expected schedlab run … (did you mean \"--workload\"?)"),
    (&["run", "--policy", "o1", "--workload"], "--workload: its value is missing…"),
    (&["run", "--policy", "o2", "--workload", "hogs"], "--policy: there is no policy \"o2\"; expected one of …, a file ending in .c or .bpf.o, or a program that loads a sched_ext scheduler (did you mean \"o1\"?)"),
    (&["run", "--policy", "linux24:2.4.15", "--workload", "hogs"], "--policy: linux24:2.4.15: no such variant; expected one of 2.4.16, 2.4.0, 2.3.99 (did you mean \"2.4.16\"?)"),
    (&["run", "--policy", "no/such.c", "--workload", "hogs"], "no/such.c: the file cannot be opened (No such file or directory…)"),
    (&["compare", "--policies", "o1,elsk", "--workload", "hogs"], "--policies: there is no policy \"elsk\"; expected … (did you mean \"elsc\"?)"),
    (&["compare", "--policies", "o1,elsc,o1", "--workload", "hogs"], "--policies: o1:2.6.11 is named twice; expected policies that differ in source, variant or tunables"),
    (&["compare", "--policies", "", "--workload", "hogs"], "--policies: there is no policy \"\"; expected one of …"),
    (&["run", "--policy", "o1", "--workload", "hogz"], "--workload: there is no workload \"hogz\"; expected one of …, or a file ending in .toml or .json (did you mean \"hogs\"?)"),
    (&["run", "--policy", "o1", "--workload", "volanomark --romms 3"], "--workload: volanomark: there is no option \"--romms\"; expected an option of \"volanomark --help\" (did you mean \"--rooms\"?)"),
    (&["run", "--policy", "o1", "--workload", "hogs --count x"], "--workload: hogs --count: \"x\" is not valid; expected …"),
    (&["run", "--policy", "o1", "--workload", "hogs --count '1"], "--workload: a quote in \"hogs --count '1\" has no end"),
    (&["run", "--policy", "o1", "--workload", "no/such.toml"], "no/such.toml: the file cannot be opened (No such file or directory…)"),
    (&["run", "--policy", "o1", "--workload", "no/such.json"], "no/such.json: the file cannot be opened (No such file or directory…)"),
    (&["run", "--policy", "o1", "--workload", "Makefile"], "--workload: the file \"Makefile\" has no known extension; expected …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--machine", "desktpo"], "--machine: there is no machine \"desktpo\"; expected one of … (did you mean \"desktop\"?)"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--machine", "ideal-0"], "--machine: there is no machine \"ideal-0\"; expected ideal-1 to ideal-1024"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--duration", "10"], "--duration: \"10\" is not valid; expected a duration with its unit, such as …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--duration", "0s"], "--duration: \"0s\" is not valid; expected a duration longer than 0"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--seed", "-1"], "--seed: \"-1\" is not valid; expected a whole number from 0 to …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--seeds", "-5"], "--seeds: \"-5\" is not valid; expected a number of seeds (5), …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--jobs", "-1"], "--jobs: \"-1\" is not valid; expected a whole number from 1 to 65535"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--duration", "-1s"], "--duration: \"-1s\" is not valid; expected a duration with its unit, such as …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--max-events", "-1"], "--max-events: \"-1\" is not valid; expected a whole number from 1 to …"),
    (&["run", "--policy", "o1", "--workload", "hogs --count -1"], "--workload: hogs --count: -1 is out of range; expected 1 to 1000000"),
    (&["run", "--policy", "o1", "--workload", "hogs --count 1 --count 2"], "--workload: hogs --count: given twice"),
    (&["run", "--policy", "o1,elsc", "--workload", "hogs"], "--policy: \"o1,elsc\" is more than one policy; expected one; several: schedlab compare --policies o1,elsc"),
    (&["run", "--policy", "all", "--workload", "hogs"], "--policy: \"all\" is more than one policy; expected one; several: schedlab compare --policies all"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--machine", "ideal-007"], "--machine: there is no machine \"ideal-007\"; expected ideal-1 to ideal-1024 (did you mean \"ideal-7\"?)"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--seed", "many"], "--seed: \"many\" is not valid; expected a whole number from 0 to 18446744073709551615"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--seed", "1", "--seed", "2"], "--seed: given twice"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--seed", "1", "--seeds", "2"], "--seed: cannot be used with --seeds"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--seeds", "5..3"], "--seeds: \"5..3\" is not valid; expected a number of seeds (5), a range (3..7) or a list (1,4,9) …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--jobs", "0"], "--jobs: \"0\" is not valid; expected a whole number from 1 to 65535"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--set", "granularty_ms=1"], "--set: granularty_ms: o1:2.6.11 has no such tunable; expected one that \"schedlab list policies o1\" shows (did you mean \"granularity_ms\"?)"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--set", "granularity_ms"], "--set: \"granularity_ms\" has no \"=\"; expected NAME=VALUE, NAME[ROW]=VALUE or POLICY.NAME=VALUE, VALUE being a whole number"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--set", "granularity_ms=some"], "--set: granularity_ms: \"some\" is not a whole number; expected NAME=VALUE, …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--set", "hz=0"], "--set: hz: 0 is out of range; expected 10 to 10000: …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--set", "elsc.hz=100"], "--set: hz: \"elsc\" is not a policy of this run; expected o1:2.6.11"),
    (&["compare", "--policies", "o1,elsc", "--workload", "hogs", "--set", "o1.list_width=2"], "--set: list_width: o1:2.6.11 has no such tunable; expected one that …"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--format", "jsn"], "--format: \"jsn\" is not valid; expected table, markdown, json (did you mean \"json\"?)"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--trace", "x.pftrce"], "--trace: \"x.pftrce\" has no known extension; expected .pftrace (Perfetto) or .ftrace (text) (did you mean \"pftrace\"?)"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--trace", "x.pftrace", "--seeds", "101"], "--trace: 101 runs would write as many files; expected at most 100 runs with --trace"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--report", "x.htm"], "--report: \"x.htm\" has another extension; expected a name ending in .html"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--json", "x"], "--json: \"x\" has another extension; expected a name ending in .json"),
    (&["run", "--policy", "o1", "--workload", "hogs", "--hook-timeout", "1ms"], "--hook-timeout: \"1ms\" is not valid; expected at least 100ms"),
    (&["list", "polices"], "WHAT: \"polices\" is not valid; expected policies, machines, workloads, scx, invariants (did you mean \"policies\"?)"),
    (&["list", "policies", "elcs"], "list: there is no policy \"elcs\"; expected one of … (did you mean \"elsc\"?)"),
    (&["list", "workloads", "mixd"], "list: there is no workload \"mixd\"; expected one of … (did you mean \"mixed\"?)"),
    (&["list", "machines", "serve"], "list: there is no machine \"serve\"; expected one of … (did you mean \"server\"?)"),
    (&["completions", "bsh"], "SHELL: \"bsh\" is not valid; expected bash, … (did you mean \"bash\"?)"),
    (&["new", "My-Policy", "--dir", "."], "NAME: \"My-Policy\" cannot be the name of a policy; expected a lower-case letter, …"),
];

/// The same for what is no mistake of the user's, with its exit status.
const FAILURES: &[(i32, &[&str], &str)] = &[
    (
        SYSTEM,
        &[
            "run",
            "--policy",
            "o1",
            "--workload",
            "hogs",
            "--trace",
            "no/such/x.pftrace",
        ],
        "no/such/x.pftrace: cannot be written (No such file or directory…)",
    ),
    (
        SYSTEM,
        &[
            "run",
            "--policy",
            "o1",
            "--workload",
            "hogs",
            "--report",
            "no/such/x.html",
        ],
        "no/such/x.html: cannot be written (No such file or directory…)",
    ),
    (
        LIMIT_REACHED,
        &[
            "run",
            "--policy",
            "o1",
            "--workload",
            "mixed",
            "--max-events",
            "10",
        ],
        "o1:2.6.11 seed 1: the run reached its limit of 10 events at 0.…",
    ),
    (
        LIMIT_REACHED,
        &[
            "run",
            "--policy",
            "o1",
            "--workload",
            "hogs --count 9",
            "--max-tasks",
            "8",
        ],
        "o1:2.6.11 seed 1: the run reached its limit of 8 tasks at 0.000000000",
    ),
    (
        SYSTEM,
        &["man", "no/such"],
        "no/such: cannot be written (No such file or directory…)",
    ),
];

#[test]
fn every_mistake_has_its_message() {
    let mistakes = MISTAKES
        .iter()
        .map(|(words, said)| (BAD_INPUT, *words, *said));
    let wrong: Vec<String> = mistakes
        .chain(FAILURES.iter().copied())
        .filter_map(|(status, arguments, expected)| {
            let message = failed(status, arguments);
            (!matches(&message, expected))
                .then(|| format!("{arguments:?}\n  says     {message}\n  expected {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Is `text` the pattern, whose "…" stand for anything?
fn matches(text: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('…').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return text == pattern;
    };
    let (Some(mut rest), true) = (text.strip_prefix(first), text.ends_with(last)) else {
        return false;
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len()
}

#[test]
fn patterns_match_what_they_say() {
    assert!(matches("abc", "abc") && matches("abc", "a…c") && matches("abc", "a…"));
    assert!(!matches("abcd", "abc") && !matches("abc", "b…") && !matches("abc", "a…d"));
}

/// What is wrong with a file is said with its line.
#[test]
fn mistakes_in_files_have_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let toml = file("w.toml", b"[task.a]\nnise = 3\nprogram = [\"run 1ms\"]\n");
    let json = file(
        "w.json",
        b"{\n \"tasks\": {\n  \"a\": { \"run\": \"x\" }\n }\n}",
    );
    let binary = file("b.toml", b"title = \"a\"\n\xff\xfe");
    let machine = file("m.toml", b"title = 3\n");
    let run = |workload: &std::path::Path| {
        refused(&["run", "--policy", "o1", "--workload", argument(workload)])
    };
    let starts = |message: String, path: &std::path::Path, line: usize| {
        assert!(
            message.starts_with(&format!("{}:{line}: ", path.display())),
            "{message}"
        );
        message
    };
    let message = starts(run(&toml), &toml, 2);
    assert!(message.ends_with("(did you mean \"nice\"?)"), "{message}");
    starts(run(&json), &json, 3);
    starts(run(&binary), &binary, 2);
    let machine_flag = [
        "run",
        "--policy",
        "o1",
        "--workload",
        "hogs",
        "--machine",
        argument(&machine),
    ];
    starts(refused(&machine_flag), &machine, 1);
}

#[test]
fn files_that_are_no_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["w.toml", "w.json", "w.c"] {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        let flags = match name {
            "w.c" => ["--policy", argument(&path), "--workload", "hogs"],
            _ => ["--policy", "o1", "--workload", argument(&path)],
        };
        let message = refused(&[&["run"], &flags[..]].concat());
        assert!(
            message.starts_with(&format!("{}: this is a folder; expected", path.display())),
            "{message}"
        );
    }
}

/// The pipe has no writer: a program that opened it would wait for ever.
#[test]
fn pipes_are_refused_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["w.toml", "w.json", "m.toml", "p.c"] {
        let path = folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let flags = match name {
            "p.c" => ["--policy", argument(&path), "--workload", "hogs"],
            _ => ["--policy", "o1", "--workload", argument(&path)],
        };
        let message = refused(&[&["run"], &flags[..]].concat());
        assert_eq!(
            message,
            format!(
                "{}: this is not a file; expected a regular file",
                path.display()
            )
        );
    }
}

#[test]
fn huge_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    // Sparse: takes no space.
    fs::File::create(&path)
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    let message = refused(&["run", "--policy", "o1", "--workload", argument(&path)]);
    assert!(
        message.ends_with("huge.json: the file is too large; expected at most 64 MiB"),
        "{message}"
    );
}

/// Files that stood there before stand there after a run that fails.
#[test]
fn failed_run_leaves_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("x.html");
    fs::write(&report, "old").unwrap();
    let trace = folder.path().join("x.ftrace");
    let run = [
        "run",
        "--policy",
        "o1",
        "--workload",
        "mixed",
        "--max-events",
        "1000",
        "--report",
        argument(&report),
        "--trace",
        argument(&trace),
    ];
    failed(LIMIT_REACHED, &run);
    assert_eq!(names(folder.path()), ["x.ftrace", "x.html"]);
    // What went before is there to be explained.
    assert!(output(&["explain", argument(&trace)]).contains("waited"));
    assert_eq!(fs::read_to_string(&report).unwrap(), "old");
}

/// Of two runs that fail both are reported, in their order, however many run at a time.
#[test]
fn failures_do_not_depend_on_threads() {
    for jobs in ["1", "4"] {
        let compare = [
            "compare",
            "--policies",
            "elsc,o1",
            "--workload",
            "mixed",
            "--max-events",
            "5000",
            "--jobs",
            jobs,
        ];
        let message = failed(LIMIT_REACHED, &compare);
        let lines: Vec<&str> = message.lines().collect();
        let [elsc, o1] = lines[..] else {
            panic!("{message}")
        };
        assert!(
            elsc.starts_with("elsc seed 1: the run reached its limit"),
            "{elsc}"
        );
        let o1 = o1.strip_prefix("schedlab: o1:2.6.11 seed 1: ");
        assert!(
            o1.is_some_and(|o1| o1.starts_with("the run reached its limit")),
            "{message}"
        );
    }
}

#[test]
fn help_is_not_a_mistake() {
    assert!(output(&["--help"]).contains("Usage: schedlab"));
}

/// A deadlocked workload has a result, and a status of its own.
#[test]
fn deadlock_has_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("stuck.toml");
    let task = |name: &str, first: &str, second: &str| {
        format!("[task.{name}]\nprogram = \"\"\"\nlock {first}\nsleep 1ms\nlock {second}\nunlock {second}\nunlock {first}\n\"\"\"\n")
    };
    let tasks = task("a", "x", "y") + &task("b", "y", "x");
    fs::write(&workload, format!("[mutex.x]\n[mutex.y]\n{tasks}")).unwrap();
    let run = ["run", "--policy", "o1", "--workload", argument(&workload)];
    let output = schedlab(&run).output().unwrap();
    let said = crate::common::text(&output.stdout);
    assert_eq!(output.status.code(), Some(DEADLOCK), "{said}");
    assert!(said.contains("deadlock at"), "{said}");
}

/// The help lists every status these tests meet.
#[test]
fn exit_statuses_are_documented() {
    let help = output(&["--help"]);
    let table = help
        .split_once("Exit status:\n")
        .expect("the help has the table")
        .1;
    let statuses: Vec<&str> = table
        .lines()
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(statuses, ["0", "1", "2", "3", "4", "5", "6", "7", "128+N"]);
}

/// As on a full disk: what was written so far does not stay behind.
#[test]
fn files_that_cannot_grow_are_said_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.ftrace");
    let program = env!("CARGO_BIN_EXE_schedlab");
    let run = "run --policy o1 --workload mixed --duration 2s --trace";
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            &format!("ulimit -f 4; exec {program} {run} '{}'", trace.display()),
        ])
        .output()
        .unwrap();
    let message = failure(SYSTEM, output);
    assert_eq!(
        message,
        format!("{}: cannot be written (File too large)", trace.display())
    );
    assert_eq!(names(folder.path()), Vec::<String>::new());
}
