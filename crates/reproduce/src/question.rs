//! Questions that a real kernel with one CPU can answer, too: an experiment's in a smaller form.

use schedlab_measure::{Measure, Metrics};
use schedlab_parallel::{in_parallel, Cancel};
use schedlab_report::quantity::Unit;
use schedlab_report::table::{Cell, Field, Layout, Subject, Table};
use schedlab_trace::{HashSink, Sink, Tee, TraceHash};
use serde::Serialize;

use crate::kernel::QUESTIONS;
use crate::ule::Responses;
use crate::{Error, Lab, Runner, Trial};

/// Somewhere else than the simulator to run trials.
pub trait World: Sync {
    /// Runs a trial with its first seed before a sink, unless `stop` says to.
    ///
    /// # Errors
    /// It cannot be run there.
    fn run(&self, trial: &Trial, sink: &mut dyn Sink, stop: &dyn Fn() -> bool)
        -> Result<(), Error>;
}

type Sinks = Tee<Measure, Responses>;

fn sinks() -> Sinks {
    Tee(Measure::new(), Responses::default())
}

/// What is seen of a run, in whichever world.
pub struct Look {
    /// What was measured.
    pub metrics: Metrics,
    pub(crate) responses: Responses,
}

/// What is read off each run: a name, the unit, the value.
pub(crate) type Reading = (&'static str, Unit, fn(&Look) -> f64);
/// Has a claim's smaller form been seen?  From the values, by trial and reading.
pub(crate) type Test = fn(&[Vec<f64>]) -> bool;

/// A question.
pub struct Question {
    /// The experiment it is the smaller form of.
    pub experiment: &'static str,
    pub(crate) title: &'static str,
    pub(crate) trials: fn() -> Vec<(&'static str, Trial)>,
    pub(crate) readings: &'static [Reading],
    /// A claim's id, what is left of it here, and the test of that.
    pub(crate) claims: &'static [(&'static str, &'static str, Test)],
}

/// All that there are.
pub fn questions() -> &'static [Question] {
    QUESTIONS
}

/// What a world answers.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The world's name.
    pub world: String,
    /// By trial: its name, the hash of its trace, and what was read off it.
    pub rows: Vec<(String, String, Vec<f64>)>,
    /// By claim: its id, what is left of it here, and whether that was seen.
    pub claims: Vec<(String, String, bool)>,
}

impl Runner<'_> {
    /// Asks a world; none: the simulator.
    ///
    /// # Errors
    /// A run that cannot go on, a signal.
    pub fn ask(
        &self,
        question: &Question,
        world: Option<(&str, &dyn World)>,
        meanwhile: impl FnMut(),
    ) -> Result<Answer, Error> {
        let trials = (question.trials)();
        let one = |i: usize, cancel: &Cancel| {
            let trial = &trials[i].1;
            match world {
                None => self.simulated(question, trial),
                Some((_, world)) => {
                    let _permit = self.permit();
                    let mut sinks = Tee(HashSink::default(), sinks());
                    let stop = || self.stopped() || cancel.cancelled();
                    world.run(trial, &mut sinks, &stop)?;
                    let Tee(hash, sink) = sinks;
                    Ok((hash.finish(), sink))
                }
            }
        };
        let looks = in_parallel(trials.len(), self.threads, one, meanwhile)?;
        let name = world.map_or("simulator", |(name, _)| name);
        Ok(question.answer(name, &trials, looks))
    }

    fn simulated(&self, question: &Question, trial: &Trial) -> Result<(TraceHash, Sinks), Error> {
        let testbed = question.testbed()?;
        let lab = Lab::new(self, question.experiment, &testbed, &|| false);
        let runs = lab.observe(std::slice::from_ref(trial), sinks)?;
        let first = runs.into_iter().flatten().next();
        first.ok_or_else(|| Error::experiment(question.experiment, "a trial without a seed"))
    }
}

impl Question {
    fn testbed(&self) -> Result<String, Error> {
        let find = crate::experiments()
            .iter()
            .find(|e| e.id == self.experiment);
        let experiment = find.ok_or_else(|| Error::experiment(self.experiment, "is not there"))?;
        Ok(experiment.paper()?.testbed)
    }

    fn answer(
        &self,
        world: &str,
        trials: &[(&str, Trial)],
        looks: Vec<(TraceHash, Sinks)>,
    ) -> Answer {
        let read = |Tee(measure, responses): Sinks| {
            let metrics = measure.finish();
            let look = Look { metrics, responses };
            self.readings
                .iter()
                .map(|(_, _, value)| value(&look))
                .collect()
        };
        let row = |((name, _), (hash, sinks)): (&(&str, Trial), (TraceHash, _))| {
            (name.to_string(), hash.to_string(), read(sinks))
        };
        let rows: Vec<(String, String, Vec<f64>)> = trials.iter().zip(looks).map(row).collect();
        let values: Vec<Vec<f64>> = rows.iter().map(|row| row.2.clone()).collect();
        let claims = self.claims.iter();
        Answer {
            world: world.to_string(),
            claims: claims
                .map(|(id, text, test)| (id.to_string(), text.to_string(), test(&values)))
                .collect(),
            rows,
        }
    }

    /// Answers of several worlds side by side.
    pub fn table(&self, answers: &[Answer]) -> Table {
        let mut subjects = Vec::new();
        for (contest, (name, _)) in (self.trials)().iter().enumerate() {
            for answer in answers {
                let values = answer.rows[contest].2.iter();
                subjects.push(Subject {
                    labels: vec![name.to_string(), answer.world.clone()],
                    contest,
                    cells: values.map(|value| cell(*value)).collect(),
                });
            }
        }
        let fields = self.readings.iter();
        Table {
            title: self.title.to_string(),
            stubs: vec!["scheduler".to_string(), "world".to_string()],
            fields: fields
                .map(|(name, unit, _)| Field::new(*name, *unit))
                .collect(),
            subjects,
            layout: Layout::FieldsAsColumns,
            notes: self.notes(answers),
        }
    }

    /// What became of each claim in each world.
    fn notes(&self, answers: &[Answer]) -> Vec<String> {
        let note = |(i, (id, text, _)): (usize, &(&str, &str, Test))| {
            let seen = |answer: &Answer| {
                let verdict = if answer.claims[i].2 { "yes" } else { "no" };
                format!("{} {verdict}", answer.world)
            };
            let seen: Vec<String> = answers.iter().map(seen).collect();
            format!("{id}: {text}: {}", seen.join(", "))
        };
        self.claims.iter().enumerate().map(note).collect()
    }
}

fn cell(value: f64) -> Cell {
    match value.is_finite() {
        true => Cell::number(value),
        false => Cell::Missing,
    }
}
