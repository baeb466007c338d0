//! The scheduler of a kernel.

use std::path::Path;

use schedlab_bpf::CompileError;
use schedlab_input::Diagnostic;
use schedlab_policy::{Assignment, Tuned};
use schedlab_trace::Ns;

use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use schedlab_lab::choose::{
    expand_for_kernels, items, names, policies, policy, policy_file, Assignments,
};
use schedlab_lab::exact;

/// The user's name of the kernel's own scheduler.
const NONE: &str = "none";

/// A scheduler of a real kernel.
pub enum Scheduler {
    /// The kernel's own.
    Own,
    /// One of ours, with the user's name of it.
    Policy {
        written: String,
        tuned: Tuned,
        /// For a policy in a C file: the files that the guest needs.
        compiled: Option<Compiled>,
    },
    /// Another one: a program that attaches a sched_ext scheduler, and its arguments.
    Program(Vec<String>),
}

/// A user's policy, compiled on this machine because the guest has no compiler.
pub struct Compiled {
    /// For the loader, which reads the policy's tables in it.
    library: Vec<u8>,
    /// For the kernel.
    object: Vec<u8>,
}

/// The guest's folder of compiled policies.
const FOLDER: &str = "/etc/schedlab";

impl Compiled {
    /// None of a policy that comes with the program.
    fn of(tuned: &Tuned, source: Option<&Path>) -> Result<Option<Compiled>, Failure> {
        let (Some(library), Some(source)) = (tuned.policy.library(), source) else {
            return Ok(None);
        };
        let object = compile_for_kernel(source)?;
        Ok(Some(Compiled { library, object }))
    }
}

/// The BPF object of the policy in a C file.
pub fn compile_for_kernel(source: &Path) -> Result<Vec<u8>, Failure> {
    schedlab_bpf::compile(source).map_err(|error| {
        let exit = match &error {
            CompileError::Rejected(..) => Exit::BadInput,
            CompileError::NoCompiler(_) | CompileError::Io(..) => Exit::System,
        };
        Failure::Ended(exit, error.to_string())
    })
}

/// Refuses a policy that asks for what only a simulator can tell.
pub fn for_kernels(tuned: &Tuned) -> Result<(), Failure> {
    match tuned.policy.knows_future() {
        false => Ok(()),
        true => Err(Failure::Ended(
            Exit::BadInput,
            format!(
                "{} asks how much work each task has left, which no kernel can know; it runs in the simulator only",
                tuned.name()
            ),
        )),
    }
}

impl Scheduler {
    /// One of ours.
    pub fn ours(written: String, tuned: Tuned) -> Result<Scheduler, Failure> {
        for_kernels(&tuned)?;
        Ok(Scheduler::Policy {
            compiled: Compiled::of(&tuned, policy_file(&written))?,
            written,
            tuned,
        })
    }

    /// The policy with its settings, if it is one of ours.
    pub fn tuned(&self) -> Option<&Tuned> {
        match self {
            Scheduler::Policy { tuned, .. } => Some(tuned),
            _ => None,
        }
    }

    /// The names a user can give it.
    pub fn names(&self) -> Vec<String> {
        match self {
            Scheduler::Policy { written, tuned, .. } => names(&(written.clone(), tuned.clone())),
            Scheduler::Program(words) => words.iter().take(1).cloned().collect(),
            Scheduler::Own => vec![NONE.to_string()],
        }
    }

    /// The scheduler of `--policy`.
    pub fn of_policy(
        written: &str,
        set: &Assignments,
        interrupt: &Interrupt,
    ) -> Result<Scheduler, Failure> {
        match written {
            NONE => Ok(Scheduler::Own),
            written => {
                let tuned = policy("--policy", written, set, &interrupt.stop())?;
                Scheduler::ours(written.to_string(), tuned)
            }
        }
    }

    /// The scheduler of `--scheduler`.
    pub fn of_program(words: &str) -> Result<Scheduler, Failure> {
        let problem = |problem: &str| Diagnostic::new(problem).at("--scheduler", 0);
        let words = shlex::split(words).ok_or_else(|| problem("a quote has no end"))?;
        match words.is_empty() {
            true => Err(problem("its value is empty").expected("a program").into()),
            false => Ok(Scheduler::Program(words)),
        }
    }

    /// The schedulers of `--policies`: policies, "none", and paths of programs.
    pub fn of_list(
        flag: &str,
        list: &str,
        set: &Assignments,
        interrupt: &Interrupt,
    ) -> Result<Vec<Scheduler>, Failure> {
        let special = |name: &str| match name {
            NONE => Some(Scheduler::Own),
            name if policy_file(name).is_some() => None,
            name if name.contains('/') => Some(Scheduler::Program(vec![name.to_string()])),
            _ => None,
        };
        let names: Vec<&str> = items(list)
            .into_iter()
            .flat_map(expand_for_kernels)
            .collect();
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
                None => {
                    let one = ours
                        .next()
                        .map(|(name, tuned)| Scheduler::ours(name, tuned));
                    schedulers.extend(one.transpose()?);
                }
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

    /// Its name with its settings, which differs from those of all others in a list.
    pub fn full_name(&self) -> String {
        match self {
            Scheduler::Policy { tuned, .. } => tuned.full_name(),
            other => {
                let (name, variant) = other.label();
                [name, variant].join(" ").trim().to_string()
            }
        }
    }

    /// Its flags on the command line.
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
    pub fn command(&self, watchdog: Option<Ns>) -> Option<Vec<String>> {
        match self {
            Scheduler::Own => None,
            Scheduler::Program(words) => Some(words.clone()),
            Scheduler::Policy {
                tuned, compiled, ..
            } => {
                let mut words = vec!["schedlab".to_string(), "load".into()];
                words.extend(self.named_in_guest(tuned, compiled.is_some()));
                words.extend(["--stats".into(), "json".into()]);
                words.extend(watchdog_flag(watchdog));
                let set = tuned.changed().iter();
                words.extend(set.flat_map(|one| ["--set".to_string(), assignment(one)]));
                Some(words)
            }
        }
    }

    /// The policy's name for `load` in the guest.
    fn named_in_guest(&self, tuned: &Tuned, is_compiled: bool) -> Vec<String> {
        if !is_compiled {
            return vec![tuned.name()];
        }
        let [library, object] = places(tuned);
        let policy = match tuned.variant {
            "" => library,
            variant => format!("{library}:{variant}"),
        };
        vec![policy, "--object".into(), object]
    }

    /// Files for the guest, by their paths there.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        match self {
            Scheduler::Policy {
                tuned,
                compiled: Some(compiled),
                ..
            } => places(tuned)
                .into_iter()
                .zip([compiled.library.clone(), compiled.object.clone()])
                .collect(),
            _ => Vec::new(),
        }
    }

    /// A watchdog is set only for our policies.
    ///
    /// # Errors
    /// A watchdog is given, but none of the schedulers is ours.
    pub fn check_watchdog(all: &[Scheduler], watchdog: Option<Ns>) -> Result<(), Failure> {
        let ours = |one: &Scheduler| matches!(one, Scheduler::Policy { .. });
        if watchdog.is_none() || all.iter().any(ours) {
            return Ok(());
        }
        let mistake = Diagnostic::new("there is no policy to which it applies");
        Err(mistake
            .at("--watchdog", 0)
            .expected("a policy of schedlab's beside it")
            .into())
    }
}

/// The paths of the two files of a compiled policy in the guest.
fn places(tuned: &Tuned) -> [String; 2] {
    let name = tuned.policy.name().replace('/', "-");
    ["so", "bpf.o"].map(|extension| format!("{FOLDER}/{name}.{extension}"))
}

/// `--watchdog` as written.
pub fn watchdog_flag(watchdog: Option<Ns>) -> Vec<String> {
    match watchdog {
        Some(time) => vec!["--watchdog".into(), exact(time)],
        None => Vec::new(),
    }
}

fn assignment(set: &Assignment) -> String {
    format!("{}={}", set.target(), set.values_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_its_order() {
        let interrupt = Interrupt::listen().unwrap();
        let set = Assignments::read(&[], &[]).unwrap();
        let labels = |list| {
            let schedulers = Scheduler::of_list("--policies", list, &set, &interrupt);
            let schedulers = schedulers.unwrap_or_else(|_| panic!("{list} is a list"));
            schedulers
                .iter()
                .map(|one| one.label().0)
                .collect::<Vec<_>>()
        };
        assert_eq!(labels("o1,none,ule"), ["o1", "none", "ule"]);
        assert_eq!(labels("/bin/x,o1, none"), ["x", "o1", "none"]);
        let all = labels("none,all,/bin/x");
        assert_eq!((&*all[0], &*all[1]), ("none", "eevdf"));
        assert_eq!(all.last().unwrap(), "x");
    }
}
