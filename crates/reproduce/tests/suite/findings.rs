//! Samples, verdicts and what an experiment has to judge.

use schedlab_report::quantity::Unit;
use schedlab_report::table::Cell;
use schedlab_reproduce::{Findings, Paper, Sample, Verdict, Verdicts, UNEXPLAINED};

/// A paper with a claim X1, with or without an explanation should it fail.
fn paper(explanation: &str) -> Paper {
    let claim =
        "[[claim]]\nid = \"X1\"\nsentence = \"It is so.\"\npaper = \"3\"\ncriterion = \"3\"\n";
    let text = format!("title = \"T\"\npaper = \"P\"\ntestbed = \"ideal\"\n{claim}{explanation}");
    Paper::parse("x", &text).unwrap()
}

const EXPLAINED: &str = "explanation = \"It is not.\"\n";

fn judged(holds: bool) -> Findings {
    let mut findings = Findings::new();
    findings.judge("X1", &Sample::from(2.0), Unit::Plain, holds);
    findings
}

fn problem(mut findings: Findings, paper: &Paper) -> String {
    findings.complete(paper).unwrap_err().to_string()
}

#[test]
fn a_claim_that_holds_needs_no_reason() {
    let mut findings = judged(true);
    findings.complete(&paper("")).unwrap();
    assert_eq!(findings.claims[0].verdict, Verdict::Holds);
}

#[test]
fn one_that_fails_is_reported_even_if_nobody_expected_it() {
    let mut findings = judged(false);
    findings.complete(&paper("")).unwrap();
    let claim = &findings.claims[0];
    assert_eq!(
        (claim.verdict, claim.reason.as_str()),
        (Verdict::Fails, UNEXPLAINED)
    );
    assert_eq!(claim.measured, "2.000");

    let mut findings = judged(false);
    findings.complete(&paper(EXPLAINED)).unwrap();
    let claim = &findings.claims[0];
    assert_eq!(
        (claim.verdict, claim.reason.as_str()),
        (Verdict::Fails, "It is not.")
    );
}

#[test]
fn what_is_judged_and_what_is_claimed_are_the_same() {
    assert!(problem(Findings::new(), &paper("")).contains("claim X1 is not judged"));
    let mut findings = judged(true);
    findings.judge("X2", &Sample::from(2.0), Unit::Plain, true);
    assert!(problem(findings, &paper("")).contains("claim X2 is not in paper.toml"));
}

#[test]
fn one_claim_holds_and_two_hold() {
    let text = |holds, fails, depend, not_testable| {
        Verdicts {
            holds,
            fails,
            depend,
            not_testable,
        }
        .to_string()
    };
    assert_eq!(
        text(1, 0, 0, 0),
        "1 claim: 1 holds, 0 fail, 0 not testable here"
    );
    assert_eq!(
        text(2, 1, 0, 1),
        "4 claims: 2 hold, 1 fails, 1 not testable here"
    );
    assert_eq!(
        text(0, 0, 2, 0),
        "2 claims: 0 hold, 0 fail, 2 depend, 0 not testable here"
    );
}

#[test]
fn moments_are_those_of_the_textbook() {
    let s: Sample = [2.0, 4.0, 4.0, 6.0].into_iter().collect();
    assert_eq!(
        (s.mean(), s.median(), s.min(), s.max()),
        (4.0, 4.0, 2.0, 6.0)
    );
    assert!((s.sd() - (8.0f64 / 3.0).sqrt()).abs() < 1e-12);
    let half = s.over(&s.map(|x| 2.0 * x));
    assert_eq!(half.values(), [0.5; 4]);
    assert_eq!(Sample::from(f64::NAN).cell(), Cell::Missing);
}
