//! The papers' results, reproduced: experiments, their claims and the verdicts.
//!
//! An [`Experiment`] is one table, figure or section of a paper: a folder of `experiments/` with
//!
//! - `README.md`: the question, the set-up, what the paper leaves open and what was chosen;
//! - `paper.toml`: the paper's numbers and claims as data ([`Paper`]);
//! - `experiment.rs`: what to run and how to judge it, a function of a [`Lab`] that returns [`Findings`].
//!
//! No list names it.  Machines and workloads are chosen once for each testbed, never for a claim:
//! [`testbed`] lists them, and the lab refuses others.  A [`Runner`] runs experiments in parallel.

mod book;
mod case;
mod claim;
mod document;
mod error;
mod findings;
mod lab;
mod paper;
mod question;
mod region;
mod runner;
mod sample;
mod terminal;
pub mod testbed;

pub use book::{render_book, BookInfo};
pub use case::{Case, CaseResult, SeedResult, Work};
pub use claim::{Ablation, Claim, Verdict, Verdicts};
pub use document::{json, markdown, regions, section};
pub use error::Error;
pub use findings::{Exhibit, Findings, UNEXPLAINED};
pub use lab::{Lab, Observed};
pub use paper::{ClaimData, Paper};
pub use question::{questions, Answer, Look, Programs, Question, World};
pub use region::{
    explore, parameters, Design, Parameter, Point, Range, Region, Rule, Split, Step, Tried,
};
pub use runner::{Beat, Runner};
pub use sample::Sample;
pub use terminal::claims_table;

use std::collections::BTreeSet;

/// One table, figure or section of a paper, reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name: that of its folder.
    pub id: &'static str,
    /// Question, set-up and choices, in Markdown.
    pub readme: &'static str,
    data: &'static str,
    run: fn(&Lab, &Paper) -> Result<Findings, Error>,
}

/// An experiment and its findings.
#[derive(Debug)]
pub struct Report {
    /// The experiment.
    pub experiment: Experiment,
    /// What the paper says.
    pub paper: Paper,
    /// The findings.
    pub findings: Findings,
    /// What the paper does not state and the runner's point has changed, by name.
    pub unstated: BTreeSet<String>,
}

impl Experiment {
    /// The paper's numbers and claims.
    ///
    /// # Errors
    /// The data file has a mistake; a test keeps that from happening.
    pub fn paper(&self) -> Result<Paper, Error> {
        Paper::parse(self.id, self.data)
    }

    /// Runs it, unless `cancelled`.
    ///
    /// # Errors
    /// A run that cannot go on, a signal, or a claim without a verdict.
    fn reproduce(
        &self,
        runner: &Runner,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Report, Error> {
        let paper = self.paper()?;
        let lab = Lab::new(runner, self.id, &paper.testbed, cancelled);
        let mut findings = (self.run)(&lab, &paper)?;
        findings.complete(&paper)?;
        let unstated = lab.unstated();
        Ok(Report {
            experiment: *self,
            paper,
            findings,
            unstated,
        })
    }
}

/// All experiments, paper by paper, the classic tests last.
pub fn experiments() -> &'static [Experiment] {
    ALL
}

// What experiments need is at the root, so that they read like a notebook: use crate::*.
#[allow(unused_imports)] // Not every experiment draws every kind of figure.
mod prelude {
    pub(crate) use crate::{
        Ablation, Case, CaseResult, Error, Exhibit, Findings, Lab, Paper, Sample,
    };
    pub(crate) use schedlab_measure::Metrics;
    pub(crate) use schedlab_report::quantity::Unit;
    pub(crate) use schedlab_report::svg::{Axis, Bar, BarGroup, Bars, Plot, Series, Style};
    pub(crate) use schedlab_report::table::{Better, Cell, Field, Layout, Subject, Table};
    pub(crate) use schedlab_trace::Ns;
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));
