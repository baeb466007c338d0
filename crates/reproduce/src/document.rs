//! Claims and verdicts as JSON and as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;

use crate::{Claim, Report, Verdicts};

#[derive(Serialize)]
struct Document<'a> {
    claims: Vec<&'a Claim>,
    experiments: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    id: &'a str,
    title: &'a str,
    paper: &'a str,
    testbed: &'a str,
    runs: Vec<Done<'a>>,
}

#[derive(Serialize)]
struct Done<'a> {
    command: &'a str,
    trace_hashes: &'a [String],
}

/// Everything but the figures, as JSON.
pub fn json(reports: &[Report]) -> String {
    let document = Document {
        claims: reports.iter().flat_map(|r| &r.findings.claims).collect(),
        experiments: reports.iter().map(part).collect(),
    };
    let mut text =
        serde_json::to_string_pretty(&document).expect("strings and numbers can be written");
    text.push('\n');
    text
}

fn part(report: &Report) -> Part<'_> {
    let runs = report.findings.runs.iter();
    Part {
        id: report.experiment.id,
        title: &report.paper.title,
        paper: &report.paper.paper,
        testbed: &report.paper.testbed,
        runs: runs.map(Done::from).collect(),
    }
}

impl<'a> From<(&'a String, &'a Vec<String>)> for Done<'a> {
    fn from((command, trace_hashes): (&'a String, &'a Vec<String>)) -> Done<'a> {
        Done {
            command,
            trace_hashes,
        }
    }
}

/// The claims as a Markdown page, made by a command.
pub fn markdown(reports: &[Report], command: &str) -> String {
    let mut text = format!(
        "{HEAD}`{command}`, a part of `make results`; tests do some of it again and compare.\n"
    );
    text += &totals(reports);
    for report in reports {
        text += &section(report);
    }
    text
}

const HEAD: &str = "# Results

Every claim of the papers and its verdict on simulated versions of their machines. `schedlab reproduce all --report book`
writes a book with the figures, why a claim fails, and what changes when a mechanism is taken away; so does `schedlab
reproduce ID` for one claim on the terminal. Written by ";

/// The claims over their regions as a Markdown page, made by a command.
pub fn regions(reports: &[Report], command: &str) -> String {
    let claims = || reports.iter().flat_map(|report| &report.findings.claims);
    let mut text = format!("{REGIONS}`{command}`.\n\n");
    let _ = writeln!(text, "{}.\n", claims().collect::<Verdicts>());
    text += "| id | claim | verdict | as written | region |\n|---|---|---|---|---|\n";
    for claim in claims() {
        let Some(region) = &claim.region else {
            continue;
        };
        let cells = [&claim.id, &claim.sentence].map(|cell| cell.replace('|', "\\|"));
        let verdict = claim.verdict.text();
        let _ = writeln!(
            text,
            "| {} | **{verdict}** | {} | {} |",
            cells.join(" | "),
            claim.measured.replace('|', "\\|"),
            region.text()
        );
    }
    text += "\nParameters that papers do not state, of the experiments above:\n\n| parameter | range | why |\n|---|---|---|\n";
    let ranges = claims()
        .filter_map(|claim| claim.region.as_ref())
        .flat_map(|region| &region.parameters);
    let mut seen = BTreeSet::new();
    for range in ranges.filter(|range| seen.insert(&range.name)) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            range.name,
            range.text(),
            range.reason
        );
    }
    text
}

const REGIONS: &str = "# Verdicts over regions

Many verdicts hang on what a paper does not state.  A claim is tried, in the quick form of its experiment, at points drawn from what is
plausible (`experiments/unstated.toml`).  It *holds* if it holds at 95 % of the points, *fails* at 5 % or fewer, and *depends* otherwise: then
the parameter that tells best where it holds is named.  Trying ends early where a verdict is certain.  Claims that are not listed have nothing
of that file in their runs.  Written by ";

/// How many claims of each paper hold.
fn totals(reports: &[Report]) -> String {
    let mut text = String::from(
        "\n| source | claims | hold | fail | not testable here |\n|---|---:|---:|---:|---:|\n",
    );
    let mut papers: Vec<&str> = Vec::new();
    for report in reports {
        if !papers.contains(&report.paper.paper.as_str()) {
            papers.push(&report.paper.paper);
        }
    }
    let mut line = |name: &str, mine: &dyn Fn(&Report) -> bool| {
        let reports = reports.iter().filter(|r| mine(r));
        let verdicts: Verdicts = reports.flat_map(|r| &r.findings.claims).collect();
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} |",
            verdicts.all(),
            verdicts.holds,
            verdicts.fails,
            verdicts.not_testable
        );
    };
    for paper in papers {
        line(paper, &|report| report.paper.paper == paper);
    }
    line("**all**", &|_| true);
    text
}

/// One experiment's part of the page.
pub fn section(report: &Report) -> String {
    let id = report.experiment.id;
    let mut text = format!(
        "\n## {}\n\n{}. [Experiment](../experiments/{id}/README.md), `schedlab reproduce {id}`.\n",
        report.paper.title, report.paper.paper
    );
    if report.findings.claims.is_empty() {
        return text;
    }
    text += "\n| id | claim | paper | measured | verdict |\n|---|---|---|---|---|\n";
    for claim in &report.findings.claims {
        text += &row(claim);
    }
    text
}

fn row(claim: &Claim) -> String {
    let measured = match claim.interval.as_str() {
        "" => claim.measured.clone(),
        interval => format!("{} ({interval})", claim.measured),
    };
    let cells =
        [&claim.id, &claim.sentence, &claim.paper, &measured].map(|cell| cell.replace('|', "\\|"));
    format!("| {} | **{}** |\n", cells.join(" | "), claim.verdict.text())
}
