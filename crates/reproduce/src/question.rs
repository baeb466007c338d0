//! Questions for a real kernel with one CPU: experiments in a smaller form.

use schedlab_lab::{in_parallel, Cancel};
use schedlab_measure::{Measure, Metrics};
use schedlab_report::quantity::Unit;
use schedlab_report::table::{Cell, Field, Layout, Subject, Table};
use schedlab_trace::{HashSink, Sink, Tee, TraceHash};
use serde::Serialize;

use crate::kernel::QUESTIONS;
use crate::staircase::{Requests, Served};
use crate::ule::Responses;
use crate::{Case, Error, Lab, Runner};

/// A place other than the simulator to run cases.
pub trait World: Sync {
    /// Runs a case with its first seed into a sink, until `stop`.  Returns the output of the programs that
    /// replace its workload, if there are any.
    ///
    /// # Errors
    /// It cannot be run there.
    fn run(
        &self,
        case: &Case,
        programs: Option<&Programs>,
        sink: &mut dyn Sink,
        stop: &dyn Fn() -> bool,
    ) -> Result<String, Error>;
}

/// Real programs that replace the workload of a question's cases outside the simulator.
pub struct Programs {
    /// The shell script; its output is read.
    pub script: &'static str,
    /// Its programs, each with its Debian package.
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

/// What is known of a run, in any world.
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

/// A value read from each run: its name, its unit, and how to read it.
pub(crate) type Reading = (&'static str, Unit, fn(&Look) -> f64);
/// Is a claim's smaller form true?  Decided from the values, by trial and reading.
pub(crate) type Test = fn(&[Vec<f64>]) -> bool;

/// A question.
pub struct Question {
    /// The experiment of which it is the smaller form.
    pub experiment: &'static str,
    pub(crate) title: &'static str,
    pub(crate) cases: fn() -> Vec<(&'static str, Case)>,
    /// What a real kernel runs; none: the same workload, played.
    pub programs: Option<Programs>,
    pub(crate) readings: &'static [Reading],
    /// A claim's id, its smaller form, and the test of it.
    pub(crate) claims: &'static [(&'static str, &'static str, Test)],
}

/// All questions.
pub fn questions() -> &'static [Question] {
    QUESTIONS
}

/// The answer of a world.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The world's name.
    pub world: String,
    /// By case: its name, the hash of its trace, and the values read.
    pub rows: Vec<(String, String, Vec<f64>)>,
    /// By claim: its id, its smaller form, and whether that is true.
    pub claims: Vec<(String, String, bool)>,
}

impl Runner<'_> {
    /// Runs the question in a world; none: the simulator.
    ///
    /// # Errors
    /// A run that cannot go on, a signal.
    pub fn ask(
        &self,
        question: &Question,
        world: Option<(&str, &dyn World)>,
        meanwhile: impl FnMut(),
    ) -> Result<Answer, Error> {
        let cases = (question.cases)();
        let one = |i: usize, cancel: &Cancel| -> Result<_, Error> {
            let (name, case) = &cases[i];
            let (hash, look) = match world {
                None => self.simulated(question, case)?,
                Some((_, world)) => {
                    let stop = || self.stopped() || cancel.cancelled();
                    self.elsewhere(question, case, world, &stop)?
                }
            };
            Ok((hash, question.read(name, &look)?))
        };
        let read = in_parallel(cases.len(), self.threads, one, meanwhile)?;
        let name = world.map_or("simulator", |(name, _)| name);
        Ok(question.answer(name, &cases, read))
    }

    fn elsewhere(
        &self,
        question: &Question,
        case: &Case,
        world: &dyn World,
        stop: &dyn Fn() -> bool,
    ) -> Result<(TraceHash, Look), Error> {
        let _permit = self.permit();
        let programs = question.programs.as_ref();
        let mut sinks = Tee(HashSink::default(), sinks());
        let printed = world.run(case, programs, &mut sinks, stop)?;
        let Tee(hash, sinks) = sinks;
        let printed = programs.map(|_| printed.as_str());
        Ok((hash.finish(), Look::new(sinks, printed)))
    }

    fn simulated(&self, question: &Question, case: &Case) -> Result<(TraceHash, Look), Error> {
        let testbed = question.testbed()?;
        let lab = Lab::new(self, question.experiment, &testbed, &|| false);
        let runs = lab.observe(std::slice::from_ref(case), sinks)?;
        let first = runs.into_iter().flatten().next();
        first
            .map(|(hash, sinks)| (hash, Look::new(sinks, None)))
            .ok_or_else(|| Error::experiment(question.experiment, "a case without a seed"))
    }
}

impl Question {
    fn testbed(&self) -> Result<String, Error> {
        let find = crate::experiments()
            .iter()
            .find(|e| e.id == self.experiment);
        let experiment =
            find.ok_or_else(|| Error::experiment(self.experiment, "does not exist"))?;
        Ok(experiment.paper()?.testbed)
    }

    /// The values read from a run.
    fn read(&self, case: &str, look: &Look) -> Result<Vec<f64>, Error> {
        let one = |(name, _, value): &Reading| match value(look) {
            value if value.is_finite() => Ok(value),
            _ => {
                let problem = format!("{case}: there is no value of \"{name}\"");
                Err(Error::experiment(self.experiment, problem))
            }
        };
        self.readings.iter().map(one).collect()
    }

    fn answer(
        &self,
        world: &str,
        cases: &[(&str, Case)],
        read: Vec<(TraceHash, Vec<f64>)>,
    ) -> Answer {
        let names = cases.iter().map(|(name, _)| name.to_string());
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
        for (contest, (name, _)) in (self.cases)().iter().enumerate() {
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

    /// The verdict on each claim in each world.
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
