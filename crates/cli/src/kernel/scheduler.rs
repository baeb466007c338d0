//! Which scheduler a kernel shall run under.

use std::path::Path;

use schedlab_input::Diagnostic;
use schedlab_policy::{Assignment, Tuned};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use schedlab_lab::choose::{policies, policy, Assignments};

/// What the user calls the kernel's own scheduler.
const NONE: &str = "none";

/// A scheduler of a real kernel.
pub enum Scheduler {
    /// The kernel's own.
    Own,
    /// One of ours, beside what the user called it.
    Policy { written: String, tuned: Tuned },
    /// Anybody's: a program that attaches a sched_ext scheduler, and its arguments.
    Program(Vec<String>),
}

impl Scheduler {
    /// What `--policy` says.
    pub fn of_policy(
        written: &str,
        set: &Assignments,
        interrupt: &Interrupt,
    ) -> Result<Scheduler, Failure> {
        match written {
            NONE => Ok(Scheduler::Own),
            file if is_source(file) => Err(no_source("--policy", file)),
            written => Ok(Scheduler::Policy {
                written: written.to_string(),
                tuned: policy("--policy", written, set, &interrupt.stop())?,
            }),
        }
    }

    /// What `--scheduler` says.
    pub fn of_program(words: &str) -> Result<Scheduler, Failure> {
        let problem = |problem: &str| Diagnostic::new(problem).at("--scheduler", 0);
        let words = shlex::split(words).ok_or_else(|| problem("a quote has no end"))?;
        match words.is_empty() {
            true => Err(problem("its value is empty").expected("a program").into()),
            false => Ok(Scheduler::Program(words)),
        }
    }

    /// What `--policies` says: policies, "none", and paths of programs.
    pub fn of_list(
        flag: &str,
        list: &str,
        set: &Assignments,
        interrupt: &Interrupt,
    ) -> Result<Vec<Scheduler>, Failure> {
        let special = |name: &str| match name {
            NONE => Some(Scheduler::Own),
            name if name.contains('/') => Some(Scheduler::Program(vec![name.to_string()])),
            _ => None,
        };
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        if let Some(file) = names.iter().find(|name| is_source(name)) {
            return Err(no_source(flag, file));
        }
        let ours: Vec<&str> = names
            .iter()
            .copied()
            .filter(|n| special(n).is_none())
            .collect();
        let mut ours = match ours.is_empty() {
            true => Vec::new(),
            false => policies(flag, &ours.join(","), set, &interrupt.stop())?,
        }
        .into_iter();
        let mut schedulers = Vec::new();
        for name in names {
            match special(name) {
                Some(special) => schedulers.push(special),
                // "all" stands for several, so they come all at once.
                None => schedulers.extend(
                    ours.by_ref()
                        .map(|(written, tuned)| Scheduler::Policy { written, tuned }),
                ),
            }
        }
        Ok(schedulers)
    }

    /// Its name and variant in results.
    pub fn label(&self) -> (String, String) {
        match self {
            Scheduler::Own => (NONE.into(), "EEVDF".into()),
            Scheduler::Policy { tuned, .. } => {
                (tuned.policy.name().into(), tuned.variant.to_string())
            }
            Scheduler::Program(words) => {
                let name = Path::new(&words[0]).file_name().unwrap_or_default();
                (name.to_string_lossy().into_owned(), words[1..].join(" "))
            }
        }
    }

    /// What the user writes for it.
    pub fn flags(&self) -> Vec<String> {
        match self {
            Scheduler::Own => vec!["--policy".into(), NONE.into()],
            Scheduler::Policy { written, .. } => vec!["--policy".into(), written.clone()],
            Scheduler::Program(words) => {
                vec!["--scheduler".into(), schedlab_lab::quoted(words)]
            }
        }
    }

    /// The command that attaches it in the guest, if any is needed.
    pub fn command(&self) -> Option<Vec<String>> {
        match self {
            Scheduler::Own => None,
            Scheduler::Program(words) => Some(words.clone()),
            Scheduler::Policy { tuned, .. } => {
                let name = tuned.name();
                let words = ["schedlab", "load", &name, "--stats", "json"].map(str::to_string);
                let set = tuned.changed().iter();
                let set = set.flat_map(|one| ["--set".to_string(), assignment(one)]);
                Some(words.into_iter().chain(set).collect())
            }
        }
    }
}

/// Is it a policy's source?
fn is_source(name: &str) -> bool {
    name.ends_with(".c") || name.contains(".c:")
}

/// A guest has no compiler.
fn no_source(flag: &str, file: &str) -> Failure {
    let problem =
        format!("\"{file}\" would have to be compiled in the guest, which has no compiler");
    let mistake = Diagnostic::new(problem).at(flag, 0);
    mistake
        .expected(
            "a policy this program was built with: put its folder into policies/ and build again",
        )
        .into()
}

fn assignment(set: &Assignment) -> String {
    format!("{}={}", set.target(), set.values_text())
}
