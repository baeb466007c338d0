//! What the page asks.

use schedlab_input::Diagnostic;
use schedlab_workload::builtin;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

/// A question of the page.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Request {
    /// The machines, workloads and linked policies there are.
    Catalogue,
    /// The mistakes in a set-up.
    Check(SetUp),
    /// Runs a set-up under one of its policies.
    Run {
        /// The set-up.
        set_up: SetUp,
        /// The policy: an index into [`SetUp::policies`].
        policy: usize,
    },
    /// What happened at an event of a run, and who waited where.
    Moment {
        /// The run, by the order of runs.
        run: usize,
        /// The event, by the order of events.
        event: usize,
    },
    /// The report's sections about all runs.
    Report,
}

/// Everything that determines the runs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SetUp {
    /// The policies.
    pub policies: Vec<Choice>,
    /// The machine.
    pub machine: Source,
    /// The workload.
    pub workload: Source,
    /// The seed of all random numbers.
    pub seed: u64,
    /// When the run ends, such as "2s"; empty: what the workload says.
    pub duration: String,
}

/// A policy with its settings.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Choice {
    /// The policy's name.
    pub name: String,
    /// Its variant; empty: the default.
    pub variant: String,
    /// "name=value name=value"; may be empty.
    pub settings: String,
}

/// A machine or a workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Source {
    /// The name: of one that comes with schedlab, with its options; of the text, if there is one.
    pub name: String,
    /// The text of a file; empty for one that comes with schedlab.
    pub text: String,
}

impl Source {
    /// The file's name in messages and commands.
    pub(crate) fn file(&self) -> String {
        let name = self.name.split_whitespace().next();
        format!("{}.toml", name.unwrap_or("unnamed"))
    }

    /// The words behind the name.
    pub(crate) fn options(&self) -> Result<Vec<String>, Diagnostic> {
        let words = builtin::words(&self.name)?;
        Ok(words.into_iter().skip(1).collect())
    }

    /// What a command line says for it.
    pub(crate) fn on_command_line(&self) -> String {
        match self.text.is_empty() {
            true => self.name.trim().to_string(),
            false => {
                let words = self.options().unwrap_or_default().into_iter();
                let words: Vec<String> = [self.file()].into_iter().chain(words).collect();
                shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
            }
        }
    }
}

/// A part of a set-up, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Policy(usize),
    Machine,
    Workload,
    Duration,
    Run,
}

/// What is wrong, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    pub part: Part,
    /// The line of the text, from 1; 0: none.
    pub line: usize,
    pub message: String,
}

impl Mistake {
    pub fn in_part(part: Part) -> impl Fn(Diagnostic) -> Mistake {
        move |diagnostic| Mistake {
            part,
            line: diagnostic.line,
            message: diagnostic.to_string(),
        }
    }

    pub fn json(&self) -> Value {
        let (part, index) = match self.part {
            Part::Policy(index) => ("policy", index),
            Part::Machine => ("machine", 0),
            Part::Workload => ("workload", 0),
            Part::Duration => ("duration", 0),
            Part::Run => ("run", 0),
        };
        json!({ "part": part, "index": index, "line": self.line, "message": self.message })
    }
}
