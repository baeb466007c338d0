//! `schedlab reproduce` on the command line.

use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::common::{argument, failed, json, names, output, refused, schedlab, text, SYSTEM};

#[test]
fn an_unknown_experiment_is_refused_with_the_nearest() {
    let message = refused(&["reproduce", "elsc-figure3"]);
    assert!(
        message.contains("there is no experiment and no claim \"elsc-figure3\""),
        "{message}"
    );
    assert!(
        message.contains("did you mean \"elsc-figure-3\"?"),
        "{message}"
    );
    assert!(
        message.contains(" or some of ") && message.contains(" elsc-figure-2, "),
        "{message}"
    );
}

#[test]
fn a_claim_names_its_experiment() {
    let by_claims = json(&["reproduce", "c42", "ule-smt", "C42", "--quick"]);
    assert_eq!(by_claims, json(&["reproduce", "ule-smt", "--quick"]));
}

#[test]
fn claims_and_verdicts_are_json() {
    let document = json(&["reproduce", "ule-rules", "ule-smt", "--quick"]);
    let claims = document["claims"].as_array().unwrap();
    let ids: Vec<&str> = claims.iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        ["C13", "C14", "C15", "C33", "C34", "C35", "C36", "C43", "C42"]
    );
    for claim in claims {
        for field in ["sentence", "measured", "interval", "paper", "reason"] {
            assert!(claim[field].is_string(), "{claim}: {field}");
        }
        let verdict = claim["verdict"].as_str().unwrap();
        let reason = claim["reason"].as_str().unwrap();
        assert!(
            ["holds", "fails", "not testable here"].contains(&verdict),
            "{verdict}"
        );
        assert_eq!(verdict == "holds", reason.is_empty(), "{claim}");
    }
    assert_eq!(claims[4]["verdict"], "not testable here");
    assert_eq!(claims[0]["measured"], "13.9");
}

#[test]
fn the_table_has_every_claim_and_their_sum() {
    let table = output(&["reproduce", "ule-smt", "--quick"]);
    assert!(table.contains("  C42   fails "), "{table}");
    assert!(
        table.ends_with("1 claim: 0 hold, 1 fails, 0 not testable here\n"),
        "{table}"
    );
}

/// The same whatever the number of threads, and whatever else is done beside it.
#[test]
fn results_do_not_depend_on_jobs_and_company() {
    let of = |arguments: &[&str]| {
        let document = json(&[&["reproduce", "--quick"], arguments].concat());
        let experiments = document["experiments"].as_array().unwrap().clone();
        let wanted = experiments.into_iter().find(|e| e["id"] == "ule-smp");
        wanted.expect("ule-smp was done")
    };
    let alone = of(&["ule-smp", "--jobs", "1"]);
    assert_eq!(
        alone,
        of(&["ule-rules", "ule-smp", "ule-smt", "--jobs", "3"])
    );
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The book has the figures with their commands, and every command works from the book's folder.
#[test]
fn the_book_has_figures_commands_and_workloads() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book");
    output(&["reproduce", "ule-smt", "--report", argument(&book)]);
    let expected = [
        "figures",
        "index.html",
        "results.json",
        "results.md",
        "workloads",
    ];
    assert_eq!(names(&book), expected);
    assert_eq!(names(&book.join("figures")), ["ule-smt-1.svg"]);
    assert_eq!(names(&book.join("workloads")), ["ule-smt-two-hogs.toml"]);
    let page = read(&book.join("index.html"));
    assert!(page.contains("<a href=\"#C42\">C42</a>"));
    // Slashes are escaped in the page.
    let line = "ule-smt-two-hogs.toml --machine dual-xeon-ht --set handoff=5";
    assert!(page.contains(line), "{line}");
    let results: serde_json::Value =
        serde_json::from_str(&read(&book.join("results.json"))).unwrap();
    let runs = results["experiments"][0]["runs"].as_array().unwrap();
    for run in runs {
        let command = run["command"].as_str().unwrap();
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let said = schedlab(&[&words[..], &["--format", "json"]].concat())
            .current_dir(&book)
            .output()
            .unwrap();
        let said = text(&said.stdout);
        let hash = run["trace_hashes"][0].as_str().unwrap();
        assert!(said.contains(hash), "{command}: {hash} is not in {said}");
    }
}

/// Whatever is linked to within the book is there, if the whole of it is written.
#[test]
fn links_within_the_book_lead_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book");
    let some = ["molnar-axax", "ule-rules", "staircase-shares", "ule-smp"];
    let quick = ["--quick", "--report", argument(&book)];
    output(&[&["reproduce"], &some[..], &quick].concat());
    let page = read(&book.join("index.html"));
    let links: Vec<&str> = page
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(links.len() > 20, "{links:?}");
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "#{link}");
    }
    assert!(!page.contains("href=\"../"));
}

#[test]
fn a_real_kernel_answers_some_questions_only() {
    let message = refused(&["reproduce", "elsc-table-2", "--world", "vm"]);
    assert!(
        message.contains("\"elsc-table-2\" has no form for a real kernel"),
        "{message}"
    );
    assert!(
        message.contains(
            "ule-figure-3, ule-figure-5, ule-figure-6, elsc-figure-4, staircase-apache, staircase-mysql"
        ),
        "{message}"
    );
    let message = refused(&[
        "reproduce",
        "ule-figure-3",
        "--world",
        "vm",
        "--report",
        "x",
    ]);
    assert!(
        message.contains("the book contains only results of the simulator"),
        "{message}"
    );
}

#[test]
fn programs_that_are_not_here_are_named_with_their_packages() {
    let folder = tempfile::tempdir().unwrap();
    let refused = schedlab(&["reproduce", "staircase-mysql", "--world", "vm"])
        .env("PATH", folder.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(SYSTEM));
    assert_eq!(
        text(&refused.stderr),
        "schedlab: staircase-mysql needs real programs, and this machine has no mariadbd and sysbench\n\
         hint: apt-get install mariadb-server-core sysbench\n"
    );
}

#[test]
fn interrupted_it_leaves_nothing_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book");
    let child = schedlab(&["reproduce", "elsc-figure-3", "--report", argument(&book)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(1500));
    let id = child.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(kill.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
    assert_eq!(text(&ended.stderr), "schedlab: interrupted\n");
    assert_eq!(text(&ended.stdout), "");
    assert!(!book.exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let book = ["reproduce", "ule-smt", "--quick", "--report", "/proc/book"];
    let message = failed(SYSTEM, &book);
    assert!(message.contains("/proc/book"), "{message}");
}

/// Experiments take long: a place for the book that cannot be written to is refused before they begin.
#[test]
fn a_place_that_cannot_be_written_to_is_refused_first() {
    let message = failed(
        SYSTEM,
        &["reproduce", "all", "--report", "/proc/book/of/results"],
    );
    assert!(message.starts_with("/proc/book/of/results: "), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let below = file.join("book");
    let message = failed(SYSTEM, &["reproduce", "all", "--report", argument(&below)]);
    assert!(message.starts_with(argument(&below)), "{message}");
    assert_eq!(names(folder.path()), ["file"]);
}
