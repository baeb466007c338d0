//! The findings of an experiment.

use std::collections::BTreeMap;

use schedlab_report::quantity::Unit;
use schedlab_report::svg::Figure;
use schedlab_report::table::Table;

use crate::{Ablation, CaseResult, Claim, ClaimData, Error, Paper, Sample, Verdict};

/// A figure, and the runs it shows.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The figure.
    pub figure: Figure,
    /// What it shows, and where the paper's numbers are.
    pub caption: String,
    /// Ids of the claims it is about.
    pub claims: Vec<String>,
    /// The commands of the runs it shows.
    pub commands: Vec<String>,
}

/// The findings of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The claims, in the order of the paper's data.
    pub claims: Vec<Claim>,
    /// Figures.
    pub exhibits: Vec<Exhibit>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Each run's command with the hashes of its traces, by seed.
    pub runs: BTreeMap<String, Vec<String>>,
    /// Workloads of its own, by name.
    pub workloads: BTreeMap<String, String>,
    judged: BTreeMap<String, Judgement>,
}

#[derive(Clone, Debug, Default)]
struct Judgement {
    measured: String,
    interval: String,
    holds: bool,
    ablations: Vec<Ablation>,
}

impl Findings {
    /// Nothing yet.
    pub fn new() -> Findings {
        Findings::default()
    }

    /// Judges a claim by a value.
    pub fn judge(&mut self, id: &str, measured: &Sample, unit: Unit, holds: bool) {
        let (value, interval) = written(measured, unit);
        self.judge_text(id, value, interval, holds);
    }

    /// Judges a claim by more than a value: what was measured, in words, and the interval if there is one.
    pub fn judge_text(
        &mut self,
        id: &str,
        measured: impl Into<String>,
        interval: impl Into<String>,
        holds: bool,
    ) {
        let judgement = self.judged.entry(id.to_string()).or_default();
        judgement.measured = measured.into();
        judgement.interval = interval.into();
        judgement.holds = holds;
    }

    /// Adds a claim's number with one thing changed.
    pub fn ablation(
        &mut self,
        id: &str,
        change: &str,
        measured: &Sample,
        unit: Unit,
        lesson: &str,
    ) {
        let (value, interval) = written(measured, unit);
        let measured = match interval.as_str() {
            "" => value,
            interval => format!("{value} ({interval})"),
        };
        self.judged
            .entry(id.to_string())
            .or_default()
            .ablations
            .push(Ablation {
                change: change.to_string(),
                measured,
                lesson: lesson.to_string(),
            });
    }

    /// Adds a figure of all runs noted so far.
    pub fn exhibit(&mut self, figure: Figure, caption: impl Into<String>) {
        self.exhibit_of(figure, caption, &[], |_| true);
    }

    /// Adds a figure about some claims.  It shows those runs noted so far that have one of its commands.
    pub fn exhibit_of(
        &mut self,
        figure: Figure,
        caption: impl Into<String>,
        claims: &[&str],
        own: impl Fn(&str) -> bool,
    ) {
        let commands = self.runs.keys().filter(|command| own(command));
        self.exhibits.push(Exhibit {
            figure,
            caption: caption.into(),
            claims: claims.iter().map(|id| id.to_string()).collect(),
            commands: commands.cloned().collect(),
        });
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Notes what was run, so that a reader can repeat it.
    pub fn ran(&mut self, outcome: &CaseResult) {
        let hashes = outcome
            .runs
            .iter()
            .map(|run| run.hash.to_string())
            .collect();
        self.runs.insert(outcome.case.command(), hashes);
        if let crate::Work::Text { name, text } = &outcome.case.work {
            self.workloads.insert(name.clone(), text.clone());
        }
    }

    /// Matches judgements with the paper's claims: each claim is judged, or says why it cannot be.
    ///
    /// # Errors
    /// The claims that are not judged, and judgements of claims that the paper does not have.
    pub fn complete(&mut self, paper: &Paper) -> Result<(), Error> {
        let mut judged = std::mem::take(&mut self.judged);
        let wrong = |id: &str, problem: &str| {
            Error::experiment(&paper.title, format!("claim {id} {problem}"))
        };
        for data in &paper.claims {
            let claim = match (judged.remove(&data.id), &data.not_testable) {
                (Some(_), Some(_)) => {
                    return Err(wrong(&data.id, "is judged although it is not testable"))
                }
                (None, None) => return Err(wrong(&data.id, "is not judged")),
                (None, Some(reason)) => unjudged(data, reason),
                (Some(judgement), None) => verdict(data, judgement),
            };
            self.claims.push(Claim {
                experiment: paper.title.clone(),
                ..claim
            });
        }
        if let Some(id) = judged.keys().next() {
            return Err(wrong(id, "is not in paper.toml"));
        }
        self.check_exhibits(paper)
    }

    /// Each figure shows runs, and the claims it names are the experiment's.
    fn check_exhibits(&self, paper: &Paper) -> Result<(), Error> {
        for exhibit in &self.exhibits {
            let known = |id: &String| self.claims.iter().any(|claim| claim.id == *id);
            let problem = match exhibit.claims.iter().find(|id| !known(id)) {
                Some(id) => format!("a figure names claim {id}: \"{}\"", exhibit.caption),
                None if exhibit.commands.is_empty() => {
                    format!("a figure shows no run: \"{}\"", exhibit.caption)
                }
                None => continue,
            };
            return Err(Error::experiment(&paper.title, problem));
        }
        Ok(())
    }
}

fn unjudged(data: &ClaimData, reason: &str) -> Claim {
    Claim {
        id: data.id.clone(),
        experiment: String::new(),
        sentence: data.sentence.clone(),
        measured: String::new(),
        interval: String::new(),
        paper: data.paper.clone(),
        criterion: String::new(),
        verdict: Verdict::NotTestable,
        reason: reason.to_string(),
        ablations: Vec::new(),
        region: None,
    }
}

/// A claim with its verdict.  If it fails without an explanation in paper.toml, the reason says so.
fn verdict(data: &ClaimData, judgement: Judgement) -> Claim {
    let reason = match (judgement.holds, &data.explanation) {
        (true, _) => String::new(),
        (false, Some(explanation)) => explanation.clone(),
        (false, None) => UNEXPLAINED.to_string(),
    };
    Claim {
        measured: judgement.measured,
        interval: judgement.interval,
        criterion: data.criterion.clone(),
        verdict: match judgement.holds {
            true => Verdict::Holds,
            false => Verdict::Fails,
        },
        ablations: judgement.ablations,
        ..unjudged(data, &reason)
    }
}

/// The reason of a claim that fails without an explanation.
pub const UNEXPLAINED: &str = "It is expected to hold: paper.toml has no explanation.";

/// A sample's median and its interval, in one unit.
fn written(sample: &Sample, unit: Unit) -> (String, String) {
    match sample.summary() {
        None => ("no value".to_string(), String::new()),
        Some(s) if s.n == 1 || s.lo == s.hi => (unit.show(s.median), String::new()),
        Some(s) => (
            unit.show(s.median),
            format!("{} to {}", unit.show(s.lo), unit.show(s.hi)),
        ),
    }
}
