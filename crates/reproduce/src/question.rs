//! Questions that a real kernel with one CPU can answer, too: an experiment's in a smaller form.

use schedlab_lab::{in_parallel, Cancel};
use schedlab_measure::{Measure, Metrics};
use schedlab_report::quantity::Unit;
use schedlab_report::table::{Cell, Field, Layout, Subject, Table};
use schedlab_trace::{HashSink, Sink, Tee, TraceHash};
use serde::Serialize;

use crate::kernel::QUESTIONS;
use crate::staircase::{Requests, Served};
use crate::ule::Responses;
use crate::{Error, Lab, Runner, Trial};

/// Somewhere else than the simulator to run trials.
pub trait World: Sync {
    /// Runs a trial with its first seed before a sink, unless `stop` says to; what the programs printed that
    /// stand for its workload, if there are any.
    ///
    /// # Errors
    /// It cannot be run there.
    fn run(
        &self,
        trial: &Trial,
        programs: Option<&Programs>,
        sink: &mut dyn Sink,
        stop: &dyn Fn() -> bool,
    ) -> Result<String, Error>;
}

/// Real programs that stand for the workload of a question's trials elsewhere than in the simulator.
pub struct Programs {
    /// What the shell is told; it prints what is read.
    pub script: &'static str,
    /// Its programs, each with the package of Debian's that has it.
    pub needs: &'static [(&'static str, &'static str)],
    /// Files and folders they open by themselves.
    pub with: &'static [&'static str],
}

type Sinks = Tee<Measure, Tee<Responses, Requests>>;

fn sinks() -> Sinks {
    Tee(
        Measure::new(),
        Tee(Responses::default(), Requests::default()),
    )
}

/// What is seen of a run, in whichever world.
pub struct Look {
    /// What was measured.
    pub metrics: Metrics,
    pub(crate) responses: Responses,
    pub(crate) served: Option<Served>,
}

impl Look {
    fn new(sinks: Sinks, printed: Option<&str>) -> Look {
        let Tee(measure, Tee(responses, requests)) = sinks;
        Look {
            metrics: measure.finish(),
            responses,
            served: match printed {
                Some(text) => Served::printed(text),
                None => requests.served(),
            },
        }
    }
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
    /// What a real kernel runs; none: the same workload, played.
    pub programs: Option<Programs>,
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
        let one = |i: usize, cancel: &Cancel| -> Result<_, Error> {
            let (name, trial) = &trials[i];
            let (hash, look) = match world {
                None => self.simulated(question, trial)?,
                Some((_, world)) => {
                    let stop = || self.stopped() || cancel.cancelled();
                    self.elsewhere(question, trial, world, &stop)?
                }
            };
            Ok((hash, question.read(name, &look)?))
        };
        let read = in_parallel(trials.len(), self.threads, one, meanwhile)?;
        let name = world.map_or("simulator", |(name, _)| name);
        Ok(question.answer(name, &trials, read))
    }

    fn elsewhere(
        &self,
        question: &Question,
        trial: &Trial,
        world: &dyn World,
        stop: &dyn Fn() -> bool,
    ) -> Result<(TraceHash, Look), Error> {
        let _permit = self.permit();
        let programs = question.programs.as_ref();
        let mut sinks = Tee(HashSink::default(), sinks());
        let printed = world.run(trial, programs, &mut sinks, stop)?;
        let Tee(hash, sinks) = sinks;
        let printed = programs.map(|_| printed.as_str());
        Ok((hash.finish(), Look::new(sinks, printed)))
    }

    fn simulated(&self, question: &Question, trial: &Trial) -> Result<(TraceHash, Look), Error> {
        let testbed = question.testbed()?;
        let lab = Lab::new(self, question.experiment, &testbed, &|| false);
        let runs = lab.observe(std::slice::from_ref(trial), sinks)?;
        let first = runs.into_iter().flatten().next();
        first
            .map(|(hash, sinks)| (hash, Look::new(sinks, None)))
            .ok_or_else(|| Error::experiment(question.experiment, "a trial without a seed"))
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

    /// What is read off a run.
    fn read(&self, trial: &str, look: &Look) -> Result<Vec<f64>, Error> {
        let one = |(name, _, value): &Reading| match value(look) {
            value if value.is_finite() => Ok(value),
            _ => {
                let problem = format!("{trial}: nothing to be seen of \"{name}\"");
                Err(Error::experiment(self.experiment, problem))
            }
        };
        self.readings.iter().map(one).collect()
    }

    fn answer(
        &self,
        world: &str,
        trials: &[(&str, Trial)],
        read: Vec<(TraceHash, Vec<f64>)>,
    ) -> Answer {
        let names = trials.iter().map(|(name, _)| name.to_string());
        let rows = names
            .zip(read)
            .map(|(name, (hash, values))| (name, hash.to_string(), values));
        let rows: Vec<(String, String, Vec<f64>)> = rows.collect();
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
                    cells: values.map(|value| Cell::number(*value)).collect(),
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
