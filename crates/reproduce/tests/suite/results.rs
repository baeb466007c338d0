//! docs/results.md equals the program's results, and --quick gives the same verdicts.

use std::path::Path;

use schedlab_reproduce::{experiments, section, Experiment, Report, Runner, Verdict, UNEXPLAINED};

/// Experiments that take a moment; the others are compared by their ids and titles.
const CHEAP: [&str; 9] = [
    "elsc-table-2",
    "molnar-axax",
    "rbs-figure-1",
    "rbs-table-1",
    "staircase-shares",
    "ule-figure-3",
    "ule-rules",
    "ule-smp",
    "ule-smt",
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    std::fs::read_to_string(path).unwrap()
}

fn find(id: &str) -> &'static Experiment {
    let found = experiments().iter().find(|e| e.id == id);
    found.unwrap_or_else(|| panic!("there is no experiment {id}"))
}

fn done(quick: bool, ids: &[&str]) -> Vec<Report> {
    let chosen: Vec<_> = ids.iter().map(|id| find(id)).collect();
    let runner = Runner::new(quick, None, &|| false);
    let reports = runner.reproduce(&chosen, |_| ()).unwrap();
    let claims = reports.iter().flat_map(|r| &r.findings.claims);
    for claim in claims.filter(|claim| claim.verdict == Verdict::Fails) {
        let id = &claim.id;
        assert_ne!(
            claim.reason, UNEXPLAINED,
            "{id} fails, measured {}",
            claim.measured
        );
        assert!(
            !claim.ablations.is_empty(),
            "{id}: nothing was changed to find the reason"
        );
    }
    reports
}

/// An experiment's part of a page.
fn part<'a>(page: &'a str, title: &str) -> &'a str {
    let heading = format!("\n## {title}\n");
    let start = page.find(&heading).unwrap_or_else(|| panic!("no {title}"));
    let rest = &page[start + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end + 1])
}

#[test]
fn the_page_says_what_the_program_finds() {
    let page = page();
    let quick = page.contains("`schedlab reproduce all --quick`");
    for report in done(quick, &CHEAP) {
        let found = section(&report);
        let written = part(&page, &report.paper.title);
        let lines = written.trim().lines().zip(found.trim().lines());
        for (written, found) in lines {
            assert_eq!(written, found, "docs/results.md has drifted: make results");
        }
        assert_eq!(written.trim(), found.trim());
    }
}

#[test]
fn the_page_has_every_claim_of_every_experiment() {
    let page = page();
    for experiment in experiments() {
        let paper = experiment.paper().unwrap();
        let part = part(&page, &paper.title);
        for claim in &paper.claims {
            let row = format!("| {} | {} | ", claim.id, claim.sentence.replace('|', "\\|"));
            assert!(part.contains(&row), "{row}: make results");
        }
        let rows = part.lines().filter(|l| l.starts_with("| ")).count();
        assert_eq!(
            rows,
            paper.claims.len() + usize::from(rows > 0),
            "{}",
            paper.title
        );
    }
}

/// The verdicts of the page, by claim.
fn verdict<'a>(page: &'a str, id: &str) -> &'a str {
    let row = page.lines().find(|l| l.starts_with(&format!("| {id} | ")));
    let row = row.unwrap_or_else(|| panic!("{id} is not on the page"));
    row.rsplit("**").nth(1).unwrap()
}

fn quick_agrees(ids: &[&str]) {
    let page = page();
    for report in done(true, ids) {
        for claim in &report.findings.claims {
            let found = (claim.id.as_str(), claim.verdict.text());
            assert_eq!(found, (claim.id.as_str(), verdict(&page, &claim.id)));
        }
    }
}

#[test]
fn a_quick_look_comes_to_the_same_verdicts() {
    quick_agrees(&[
        "rbs-table-1",
        "staircase-shares",
        "ule-figure-1",
        "ule-figure-4",
        "ule-figure-5",
        "ule-figure-6",
        "ule-smp",
    ]);
}

#[test]
#[ignore = "a minute with optimisation, minutes without"]
fn a_quick_look_at_everything_comes_to_the_same_verdicts() {
    let ids: Vec<&str> = experiments().iter().map(|e| e.id).collect();
    quick_agrees(&ids);
}
