//! What is run: a policy on a machine under a workload, with several seeds.

use std::sync::Arc;

use schedlab_lab::{exact, CommandLine};
use schedlab_measure::Metrics;
use schedlab_policy::{Policy, Tuned};
use schedlab_trace::{Ns, TraceHash};
use schedlab_workload::{builtin, native, Workload};

use crate::{Error, Sample};

/// The workload of a case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Work {
    /// A built-in with its options, or a workload that comes with the program by its name.
    Named(String),
    /// A description in schedlab's own language; the book ships it as `workloads/NAME.toml`.
    Text {
        /// Its name.
        name: String,
        /// The description.
        text: String,
    },
}

/// A policy on a machine under a workload, with the seeds 1 to n.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Case {
    /// The policy, with its variant if it is not the default ("o1:2.6.13").
    pub policy: String,
    /// Tunables that are not at their defaults.
    pub set: Vec<(String, i64)>,
    /// The machine.
    pub machine: String,
    /// The workload.
    pub work: Work,
    /// End of each run; none: what the workload says.
    pub duration: Option<Ns>,
    /// How many seeds; at least 1.
    pub seeds: u64,
}

/// A case's runs, by seed.
#[derive(Debug)]
pub struct CaseResult {
    /// What was run.
    pub case: Case,
    /// One for each seed.
    pub runs: Vec<Arc<SeedResult>>,
}

/// One run.
#[derive(Debug)]
pub struct SeedResult {
    /// What was measured.
    pub metrics: Metrics,
    /// The name of its trace.
    pub hash: TraceHash,
}

impl Case {
    /// A workload by its command line under a policy on a machine, with one seed.
    pub fn new(policy: &str, machine: &str, workload: &str) -> Case {
        Case {
            policy: policy.to_string(),
            set: Vec::new(),
            machine: machine.to_string(),
            work: Work::Named(workload.to_string()),
            duration: None,
            seeds: 1,
        }
    }

    /// The same with a workload given as text.
    pub fn text(policy: &str, machine: &str, name: &str, text: impl Into<String>) -> Case {
        let work = Work::Text {
            name: name.to_string(),
            text: text.into(),
        };
        Case {
            work,
            ..Case::new(policy, machine, "")
        }
    }

    /// With a tunable set.
    pub fn set(mut self, name: &str, value: i64) -> Case {
        self.set.push((name.to_string(), value));
        self
    }

    /// Ends after this many simulated seconds.
    pub fn seconds(self, seconds: u64) -> Case {
        Case {
            duration: Some(Ns::from_secs(seconds)),
            ..self
        }
    }

    /// With the seeds 1 to n.
    pub fn seeds(self, seeds: u64) -> Case {
        Case { seeds, ..self }
    }

    /// The command that runs it; a workload given as text is a file of the book.
    pub fn command(&self) -> String {
        let workload = match &self.work {
            Work::Named(text) => text.clone(),
            Work::Text { name, .. } => format!("workloads/{name}.toml"),
        };
        let set = self.set.iter();
        CommandLine::new("run")
            .flag("--policy", &self.policy)
            .flag("--workload", workload)
            .flag("--machine", &self.machine)
            .flags("--set", set.map(|(name, value)| format!("{name}={value}")))
            .flag_if("--duration", self.duration.map(exact))
            .flag_if("--seeds", (self.seeds > 1).then(|| self.seeds.to_string()))
            .to_string()
    }

    /// The policy, variant and tunables applied.
    pub(crate) fn tuned(&self) -> Result<Tuned, Error> {
        let (name, variant) = match self.policy.split_once(':') {
            Some((name, variant)) => (name, Some(variant)),
            None => (self.policy.as_str(), None),
        };
        let unknown = || Error::experiment(&self.policy, format!("there is no policy \"{name}\""));
        let policy = Policy::find(name).ok_or_else(unknown)?;
        Ok(Tuned::new(policy, variant, &self.set)?)
    }

    /// The workload, parsed.
    pub(crate) fn workload(&self) -> Result<Workload, Error> {
        Ok(match &self.work {
            Work::Text { name, text } => native::parse(&format!("{name}.toml"), text)?,
            Work::Named(text) => builtin::parse(text)?,
        })
    }
}

impl CaseResult {
    /// A value of each run.
    pub fn each(&self, value: impl Fn(&Metrics) -> f64) -> Sample {
        self.runs.iter().map(|run| value(&run.metrics)).collect()
    }

    /// The first seed's metrics.
    pub fn first(&self) -> &Metrics {
        &self.runs[0].metrics
    }

    /// How long each run took, in seconds of simulated time.
    pub fn seconds(&self) -> Sample {
        self.each(|m| m.duration_ns.0 as f64 / 1e9)
    }

    /// How many of a mark were counted each second ("message").
    pub fn throughput(&self, mark: &str) -> Sample {
        self.each(|m| {
            m.marks
                .iter()
                .find(|x| x.name == mark)
                .map_or(f64::NAN, |x| x.per_second)
        })
    }

    /// The share of CPU time of a group of tasks.
    pub fn share(&self, group: &str) -> Sample {
        self.each(|m| {
            let group = m.groups.iter().find(|g| &*g.name == group);
            group.map_or(f64::NAN, |g| g.activity.cpu_share)
        })
    }
}
