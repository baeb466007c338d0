//! `sweep`, `merge`, `report` and `search` on the command line.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{argument, failed, json, output, refused, text};
use crate::common::{BAD_INPUT, SYSTEM};
use serde_json::Value;

/// Two settings of one policy and another policy, two machines, three seeds: eighteen short runs.
const PLAN: &str = "\
policies = [\"o1\", \"eevdf\"]
workloads = \"late\"
machines = [\"ideal-1\", \"ideal-2\"]
seeds = 3
duration = \"100ms\"

[vary]
o1.max_timeslice_ms = [20, 200]
";

/// Runs schedlab, whatever its status.
fn schedlab(arguments: &[&str]) -> Output {
    crate::common::schedlab(arguments).output().unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::write(folder.path("plan.toml"), PLAN).unwrap();
        folder
    }

    fn path(&self, name: &str) -> String {
        argument(&self.0.path().join(name)).to_string()
    }

    /// Sweeps the plan into a file, and returns what it says without the file's name.
    fn sweep(&self, db: &str, more: &[&str]) -> String {
        let (plan, db) = (self.path("plan.toml"), self.path(db));
        let said = output(&[&["sweep", &plan, "-o", &db], more].concat());
        said.split_once(": ").unwrap().1.trim().to_string()
    }

    fn setups(&self, db: &str) -> Vec<Value> {
        json(&["report", &self.path(db)])["setups"]
            .as_array()
            .unwrap()
            .clone()
    }
}

#[test]
fn a_sweep_does_every_run_once() {
    let folder = Folder::new();
    assert_eq!(folder.sweep("a.db", &[]), "18 runs done");
    let again = folder.sweep("a.db", &[]);
    assert_eq!(again, "0 runs done, 18 known before or equal for all seeds");
    let setups = folder.setups("a.db");
    let labels: Vec<String> = setups
        .iter()
        .map(|setup| {
            let label = |name: &str| setup["labels"][name].as_str().unwrap_or("-").to_string();
            [
                label("machine"),
                label("policy"),
                label("o1.max_timeslice_ms"),
            ]
            .join(" ")
        })
        .collect();
    assert_eq!(
        labels,
        [
            "ideal-1 o1:2.6.11 20",
            "ideal-1 o1:2.6.11 200",
            "ideal-1 eevdf:6.12 -",
            "ideal-2 o1:2.6.11 20",
            "ideal-2 o1:2.6.11 200",
            "ideal-2 eevdf:6.12 -"
        ]
    );
    let metric = &setups[0]["metrics"]["nr_switches"];
    let values: Vec<f64> = ["lo", "median", "hi"]
        .iter()
        .map(|k| metric[k].as_f64().unwrap())
        .collect();
    assert!(values[0] <= values[1] && values[1] <= values[2], "{metric}");
}

/// A run of a sweep is the run that its command does.
#[test]
fn the_command_of_a_set_up_gives_its_results() {
    let folder = Folder::new();
    folder.sweep("a.db", &[]);
    let setups = folder.setups("a.db");
    let command = setups[0]["command"].as_str().unwrap();
    let words = shlex::split(command).unwrap();
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let switches: Vec<f64> = ["1", "2", "3"]
        .iter()
        .map(|seed| {
            let run = json(&[&words[..], &["--seed", seed]].concat());
            let headlines = run["headlines"].as_array().unwrap().clone();
            let mut found = headlines.iter().filter(|h| h["id"] == "nr_switches");
            found.next().unwrap()["value"].as_f64().unwrap()
        })
        .collect();
    let lowest = switches.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(setups[0]["metrics"]["nr_switches"]["lo"], lowest);
}

#[test]
fn the_number_of_jobs_and_shards_changes_nothing() {
    let folder = Folder::new();
    folder.sweep("one.db", &["--jobs", "1"]);
    assert_eq!(folder.sweep("1.db", &["--shard", "1/2"]), "9 runs done");
    assert_eq!(folder.sweep("2.db", &["--shard", "2/2"]), "9 runs done");
    let [a, b, all] = ["1.db", "2.db", "all.db"].map(|name| folder.path(name));
    let said = output(&["merge", &a, &b, "-o", &all]);
    assert!(said.ends_with(": 18 new runs\n"), "{said}");
    let by_command = |db: &str| {
        let mut setups = folder.setups(db);
        setups.sort_by_key(|setup| setup["command"].to_string());
        setups
    };
    assert_eq!(by_command("one.db"), by_command("all.db"));
    // Merged once more there is nothing new, and the plan goes on from there.
    assert!(output(&["merge", &a, "-o", &all]).ends_with(": 0 new runs\n"));
    let known = "0 runs done, 18 known before or equal for all seeds";
    assert_eq!(folder.sweep("all.db", &[]), known);
}

/// Two processes on one file, the first killed in the middle: the other one finishes, and nothing is done twice.
#[test]
fn a_killed_process_loses_only_what_it_was_running() {
    let folder = Folder::new();
    let plan = PLAN.replace("100ms", "20s");
    fs::write(folder.path("plan.toml"), plan).unwrap();
    let db = folder.path("a.db");
    let arguments = ["sweep", &folder.path("plan.toml"), "-o", &db, "--jobs", "1"];
    let mut first = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Wait for the first result.
    let done = || {
        let results = schedlab(&["report", &db, "--format", "json"]);
        serde_json::from_slice::<Value>(&results.stdout)
            .ok()
            .map_or(0, |json| count_runs(&json))
    };
    while done() == 0 {
        assert!(first.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let before = done();
    let said = folder.sweep("a.db", &[]);
    let rest: usize = said.split(' ').next().unwrap().parse().unwrap();
    assert!(
        rest + before >= 18 - 1 && rest <= 18 - before,
        "{before} were done; {said}"
    );
    assert_eq!(count_runs(&json(&["report", &db])), 18);
}

#[test]
fn two_processes_share_the_runs() {
    let folder = Folder::new();
    fs::write(folder.path("plan.toml"), PLAN.replace("100ms", "2s")).unwrap();
    let (plan, db) = (folder.path("plan.toml"), folder.path("a.db"));
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_schedlab"))
            .args(["sweep", &plan, "-o", &db, "--jobs", "1"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start(), start()];
    let done: Vec<usize> = both
        .into_iter()
        .map(|process| {
            let ended = process.wait_with_output().unwrap();
            assert!(ended.status.success());
            let said = text(&ended.stdout);
            let count = said.split_once(": ").unwrap().1.split(' ').next();
            count.unwrap().parse().unwrap()
        })
        .collect();
    assert_eq!(done.iter().sum::<usize>(), 18, "{done:?}");
    assert_eq!(count_runs(&json(&["report", &db])), 18);
}

fn count_runs(report: &Value) -> usize {
    let setups = report["setups"].as_array().unwrap();
    setups
        .iter()
        .map(|setup| setup["seeds"].as_array().unwrap().len())
        .sum()
}

#[test]
fn a_failed_run_is_a_row_with_its_error() {
    let folder = Folder::new();
    let losing = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/losing.c");
    let db = folder.path("a.db");
    let policies = format!("{},o1", argument(&losing));
    let arguments = [
        "sweep",
        "-o",
        &db,
        "--policies",
        &policies,
        "--workload",
        "hogs",
        "--machine",
        "ideal-1",
        "--duration",
        "50ms",
    ];
    let swept = schedlab(&arguments);
    assert_eq!(swept.status.code(), Some(1), "{}", text(&swept.stderr));
    assert!(text(&swept.stdout).contains("2 runs done, 1 failed"));
    let report = output(&["report", &db]);
    assert!(
        report.contains("failed: hogs on ideal-1, losing, seed 1: "),
        "{report}"
    );
    // It is not done again unless the user asks.
    assert!(text(&schedlab(&arguments).stdout).contains("0 runs done"));
    let again = schedlab(&[&arguments[..], &["--retry-failed"]].concat());
    assert!(text(&again.stdout)
        .contains("1 runs done, 1 known before or equal for all seeds, 1 failed"));
}

#[test]
fn seeds_that_change_nothing_are_said_to_be_equal() {
    let folder = Folder::new();
    let db = folder.path("a.db");
    let said = output(&[
        "sweep",
        "-o",
        &db,
        "--policies",
        "o1",
        "--workload",
        "hogs",
        "--machine",
        "ideal-1",
        "--duration",
        "50ms",
        "--seeds",
        "5",
    ]);
    assert!(
        said.ends_with(": 1 runs done, 4 known before or equal for all seeds\n"),
        "{said}"
    );
    let report = output(&["report", &db]);
    assert!(
        report.contains("Equal for all seeds: all set-ups"),
        "{report}"
    );
    assert!(!report.contains("Medians of"), "{report}");
}

#[test]
fn results_are_judged_against_values_and_a_baseline() {
    let folder = Folder::new();
    let (old, new) = (folder.path("old.json"), folder.path("new.json"));
    // Half the CPUs under the name of the other machine: a change of the hardware alone.
    for (file, cpus) in [(&old, "2"), (&new, "1")] {
        output(&[
            "run",
            "--policy",
            "o1",
            "--workload",
            "hogs --count 2",
            "--machine",
            &format!("ideal-{cpus}"),
            "--duration",
            "1s",
            "--json",
            file,
        ]);
        let renamed = fs::read_to_string(file)
            .unwrap()
            .replace(&format!("ideal-{cpus}"), "m");
        fs::write(file, renamed).unwrap();
    }
    let status = |more: &[&str]| schedlab(&[&["report", &new], more].concat()).status.code();
    assert_eq!(status(&["--fail-if", "delay.p99 > 1ms"]), Some(7));
    assert_eq!(status(&["--fail-if", "delay.p99 > 100s"]), Some(0));
    assert_eq!(status(&["--fail-if", "worse", "--baseline", &old]), Some(7));
    assert_eq!(status(&["--fail-if", "worse", "--baseline", &new]), Some(0));
    assert_eq!(
        status(&["--fail-if", "wait > 1.5 of baseline", "--baseline", &new]),
        Some(0)
    );
    let report = output(&["report", &new, "--baseline", &old, "--metric", "delay.p99"]);
    assert!(report.contains("worse"), "{report}");
    let same = output(&["report", &new, "--baseline", &new, "--metric", "delay.p99"]);
    assert!(same.contains("equal") && !same.contains("worse"), "{same}");
}

#[test]
fn results_of_several_machines_become_one_page() {
    let folder = Folder::new();
    let files: Vec<String> = ["ideal-1", "ideal-2"]
        .iter()
        .map(|machine| {
            let file = folder.path(&format!("{machine}.json"));
            output(&[
                "compare",
                "--policies",
                "o1,o1:max_timeslice_ms=20",
                "--workload",
                "late",
                "--machine",
                machine,
                "--duration",
                "100ms",
                "--json",
                &file,
            ]);
            file
        })
        .collect();
    let page = folder.path("all.html");
    let report = output(&["report", &files[0], &files[1], "--html", &page]);
    assert!(
        report.contains("late on ideal-1") && report.contains("late on ideal-2"),
        "{report}"
    );
    let html = fs::read_to_string(page).unwrap();
    for part in ["id=\"effects\"", "id=\"setups\"", "late on ideal-2"] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn a_search_finds_what_is_better_and_says_how_to_see_it() {
    let folder = Folder::new();
    let db = folder.path("s.db");
    let arguments = [
        "search",
        "-o",
        &db,
        "--policies",
        "o1",
        "--workload",
        "hogs --count 3",
        "--machine",
        "ideal-1",
        "--vary",
        "o1.max_timeslice_ms=20,50,200",
        "--vary",
        "o1.min_timeslice_ms=1,5",
        "--minimise",
        "wait",
        "--duration",
        "900ms",
        "--candidates",
        "4",
        "--held-out",
        "hogs --count 4",
    ];
    let said = output(&arguments);
    assert!(
        said.contains("\nwinner: o1:2.6.11:max_timeslice_ms=20"),
        "{said}"
    );
    assert!(said.contains("hogs on ideal-1: better: "), "{said}");
    let command = said.lines().last().unwrap().trim();
    let words = shlex::split(command).unwrap();
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    assert!(output(&words).contains("Longest wait"));
    // Nothing is done again.
    assert!(output(&arguments).contains(" 0 runs done"));
}

#[test]
fn bad_input_is_refused_and_nothing_is_lost() {
    let folder = Folder::new();
    let (plan, db) = (folder.path("plan.toml"), folder.path("a.db"));
    folder.sweep("a.db", &[]);
    let says = |arguments: &[&str], part: &str| {
        let message = refused(arguments);
        assert!(message.contains(part), "{message}");
    };
    let sweep = |more: &[&'static str]| -> Vec<String> {
        let start = [
            "sweep",
            "-o",
            &folder.path("b.db"),
            "--policies",
            "o1",
            "--workload",
            "hogs",
        ];
        start.iter().chain(more).map(ToString::to_string).collect()
    };
    let bad = |more: &[&'static str], part: &str| {
        let arguments = sweep(more);
        says(
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
            part,
        );
    };
    bad(
        &["--vary", "o1.max_timeslic_ms=1"],
        "has no such tunable; expected one that",
    );
    bad(
        &["--vary", "o1.max_timeslice_ms=-1"],
        "--vary: o1.max_timeslice_ms: -1 is out of range",
    );
    bad(
        &["--vary", "o1.max_timeslice_ms=10..20"],
        "a grid needs a step",
    );
    bad(
        &[
            "--vary",
            "o1.max_timeslice_ms=10,20",
            "--constraint",
            "o1.max_timeslice_ms > 30",
        ],
        "the constraints exclude all 2 combinations",
    );
    bad(
        &["--constraint", "o1.nothing > 30"],
        "o1.nothing > 30: o1:2.6.11 has no such tunable",
    );
    bad(
        &[
            "--vary",
            "max_timeslice_ms=1..1000/1",
            "--vary",
            "min_timeslice_ms=1..1000/1",
            "--seeds",
            "1000",
        ],
        "the plan has 1,000,000,000 runs; expected at most 10,000,000",
    );
    bad(
        &["--design", "random"],
        "a random design needs a number of samples",
    );
    bad(
        &["--shard", "3/2"],
        "--shard: \"3/2\" is not valid; expected I/N",
    );
    assert!(
        !Path::new(&folder.path("b.db")).exists(),
        "no file is made for a plan that is wrong"
    );
    // Another plan, and no file of results.
    says(
        &["sweep", &plan, "--seeds", "4", "-o", &db],
        "the file has the results of another plan",
    );
    says(
        &["sweep", &plan, "-o", &plan],
        "the file is not a file of results",
    );
    says(&["report", &plan], "the file is neither SQLite nor JSON");
    assert_eq!(fs::read_to_string(&plan).unwrap(), PLAN);
    let extended = folder.sweep("a.db", &["--seeds", "4", "--extend"]);
    assert!(extended.starts_with("6 runs done, 18 known"), "{extended}");
    says(
        &["report", &db, "--fail-if", "nothing > 3"],
        "there is no metric \"nothing\"",
    );
    says(
        &["report", &db, "--fail-if", "worse"],
        "this condition compares with a baseline; expected --baseline FILE",
    );
    says(
        &["report", &db, "--heat", "a,b"],
        "the results do not differ in \"a\"",
    );
}

/// A file that may not grow, as on a full disk.
#[test]
fn a_full_disk_ends_the_sweep_and_keeps_what_is_finished() {
    let folder = Folder::new();
    let (plan, db) = (folder.path("plan.toml"), folder.path("a.db"));
    let script = format!(
        "ulimit -f 2000; trap '' XFSZ; exec {} sweep {plan} -o {db} --seeds 50 --jobs 1",
        env!("CARGO_BIN_EXE_schedlab")
    );
    let ended = Command::new("sh").args(["-c", &script]).output().unwrap();
    let message = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(SYSTEM), "{message}");
    assert!(
        message.contains("a.db: ") && message.contains("finished results are kept"),
        "{message}"
    );
    let kept = count_runs(&json(&["report", &db]));
    let said = folder.sweep("a.db", &["--seeds", "50"]);
    assert!(
        kept > 0 && said.ends_with("known before or equal for all seeds"),
        "{kept}: {said}"
    );
    assert_eq!(count_runs(&json(&["report", &db])), 300);
}

#[test]
fn another_version_of_the_tables_is_refused() {
    let folder = Folder::new();
    let db = folder.path("a.db");
    folder.sweep("a.db", &[]);
    // The version is the 32-bit number at byte 60 of an SQLite file.
    let mut bytes = fs::read(&db).unwrap();
    bytes[63] = 9;
    fs::write(&db, bytes).unwrap();
    let message = failed(BAD_INPUT, &["report", &db]);
    assert!(
        message.contains("its tables have version 9; expected version 2"),
        "{message}"
    );
}
