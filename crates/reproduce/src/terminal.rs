//! Claims and verdicts for a terminal.

use std::fmt::Write;

use textwrap::{fill, Options};

use crate::{Claim, Report, Verdicts};

/// Width of the columns before the text: id and verdict.
const INDENT: usize = 8 + 21;

/// Every claim with its verdict, experiment by experiment, in lines of at most `width` columns.
pub fn claims_table(reports: &[Report], width: usize) -> String {
    let mut text = String::new();
    for report in reports {
        let claims = &report.findings.claims;
        let _ = writeln!(text, "{}", report.paper.title);
        let _ = writeln!(text, "  {} ({})", report.paper.paper, report.experiment.id);
        for claim in claims {
            text += &one(claim, width.max(INDENT + 30));
        }
        text.push('\n');
    }
    text + &totals(reports)
}

fn one(claim: &Claim, width: usize) -> String {
    let indent = " ".repeat(INDENT);
    let paragraph = |first: &str, body: &str| {
        let options = Options::new(width)
            .initial_indent(first)
            .subsequent_indent(&indent);
        fill(body, options) + "\n"
    };
    let head = format!("  {:<6}{:<21}", claim.id, claim.verdict.text());
    let mut text = paragraph(&head, &claim.sentence);
    let measured = match (claim.measured.as_str(), claim.interval.as_str()) {
        ("", _) => String::new(),
        (value, "") => format!("measured {value}; "),
        (value, interval) => format!("measured {value} ({interval}); "),
    };
    text += &paragraph(&indent, &format!("{measured}paper: {}", claim.paper));
    if let Some(region) = &claim.region {
        text += &paragraph(&indent, &region.text());
    }
    if !claim.reason.is_empty() {
        text += &paragraph(&indent, &claim.reason);
    }
    for ablation in &claim.ablations {
        let line = format!(
            "with {}: {}; {}",
            ablation.change, ablation.measured, ablation.lesson
        );
        text += &paragraph(&indent, &line);
    }
    text
}

fn totals(reports: &[Report]) -> String {
    let claims = reports.iter().flat_map(|r| &r.findings.claims);
    format!("{}\n", claims.collect::<Verdicts>())
}
