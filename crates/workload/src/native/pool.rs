//! What programs refer to by number: things shared between tasks, distributions, CPU sets, marks,
//! tasks to fork and the programs themselves.
//!
//! Things are numbered in alphabetical order; all else in the order of first use, task by task in
//! canonical order.  So the order of definition in the file changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_input::{quantity, Diagnostic, Table};
use schedlab_trace::{MarkId, Ns};

use super::amount::{amount, Written};
use super::expression::Scope;
use super::groups::Groups;
use super::names::{check_name, Kind, Names, Use};
use crate::{Amount, Channel, Distribution, Program, ProgramId, SpecId, Workload};

/// The most operations in all programs of a workload together.
const MAX_OPS: usize = 10_000_000;

/// What [`crate::Op::Fork`] can start.
pub(super) enum Target {
    /// The specification with this number.
    Spec(SpecId),
    /// A task with instances that differ.
    Varies,
}

/// All of it, growing while programs are read.
pub(super) struct Pool {
    names: Vec<Names>,
    pub groups: Groups,
    /// Tasks without a group are in that of their session.
    pub autogroup: bool,
    targets: BTreeMap<String, Target>,
    pub forked: BTreeSet<u32>,
    programs: Vec<Program>,
    /// The number of operations in all of them.
    nr_ops: usize,
    known_programs: BTreeMap<String, u32>,
    distributions: Vec<Distribution>,
    known_distributions: BTreeMap<String, u32>,
    cpu_sets: Vec<Vec<u32>>,
    known_cpu_sets: BTreeMap<Vec<u32>, u32>,
    marks: Vec<String>,
    known_marks: BTreeMap<String, u32>,
    pub warnings: Vec<String>,
}

impl Pool {
    /// Reads the tables of shared things.
    pub fn read(
        root: &Table<'_>,
        targets: BTreeMap<String, Target>,
        scope: &Scope,
    ) -> Result<Pool, Diagnostic> {
        let names = Kind::ALL.iter().map(|kind| Names::read(root, *kind, scope));
        Ok(Pool {
            names: names.collect::<Result<_, _>>()?,
            groups: Groups::read(root, scope)?,
            autogroup: root.boolean("autogroup")?.unwrap_or(false),
            targets,
            forked: BTreeSet::new(),
            programs: Vec::new(),
            nr_ops: 0,
            known_programs: BTreeMap::new(),
            distributions: Vec::new(),
            known_distributions: BTreeMap::new(),
            cpu_sets: Vec::new(),
            known_cpu_sets: BTreeMap::new(),
            marks: Vec::new(),
            known_marks: BTreeMap::new(),
            warnings: Vec::new(),
        })
    }

    fn names(&self, kind: Kind) -> &Names {
        &self.names[kind as usize]
    }

    /// The number of a shared thing that a statement on this line uses.
    pub fn resolve(
        &mut self,
        kind: Kind,
        text: &str,
        how: Use,
        line: usize,
    ) -> Result<u32, Diagnostic> {
        self.names[kind as usize].resolve(text, how, line)
    }

    /// Is there a shared timer of this name?
    pub fn shares_timer(&self, name: &str) -> bool {
        self.names(Kind::Timer).declares(name)
    }

    /// The name of a mutex, for messages.
    pub fn mutex_name(&self, mutex: u32) -> String {
        self.names(Kind::Mutex).name(mutex)
    }

    /// A fixed or random amount of time.
    pub fn amount(&mut self, text: &str) -> Result<Amount, Diagnostic> {
        Ok(match amount(text)? {
            Written::Fixed(ns) => Amount::Fixed(ns),
            Written::Drawn(Distribution::Uniform { low, high }) if low == high => {
                Amount::Fixed(Ns(low))
            }
            Written::Drawn(Distribution::LogNormal {
                median,
                sigma_milli: 0,
            }) => Amount::Fixed(Ns(median)),
            Written::Drawn(distribution) => {
                let key = format!("{distribution:?}");
                Amount::Drawn(intern(
                    &mut self.known_distributions,
                    &mut self.distributions,
                    key,
                    distribution,
                ))
            }
        })
    }

    /// A set of CPUs; none for "all".
    pub fn cpu_set(&mut self, text: &str) -> Result<Option<u32>, Diagnostic> {
        if text == "all" {
            return Ok(None);
        }
        let cpus = quantity::cpu_list(text).map_err(|d| Diagnostic {
            expected: format!("\"all\" or {}", d.expected),
            ..d
        })?;
        Ok(Some(intern(
            &mut self.known_cpu_sets,
            &mut self.cpu_sets,
            cpus.clone(),
            cpus,
        )))
    }

    /// Something counted or timed.
    pub fn mark(&mut self, name: &str) -> Result<MarkId, Diagnostic> {
        check_name(name).map_err(Diagnostic::new)?;
        Ok(MarkId(intern(
            &mut self.known_marks,
            &mut self.marks,
            name.to_string(),
            name.to_string(),
        )))
    }

    /// A task to fork.
    pub fn fork(&mut self, name: &str) -> Result<SpecId, Diagnostic> {
        let spec = self.task(name)?;
        self.forked.insert(spec.0);
        Ok(spec)
    }

    /// A task another one names.
    pub fn task(&self, name: &str) -> Result<SpecId, Diagnostic> {
        match self.targets.get(name) {
            Some(Target::Spec(spec)) => Ok(*spec),
            Some(Target::Varies) => Err(Diagnostic::new(format!(
                "task \"{name}\" cannot be named, as its instances differ"
            ))
            .expected(format!(
                "a task that does not use {{i}}, or one instance such as \"{name}-0\""
            ))),
            None => Err(Diagnostic::new(format!("there is no task \"{name}\""))
                .expected(format!("one with a table [task.{name}]"))
                .suggest(name, self.targets.keys().map(String::as_str))),
        }
    }

    /// The program with this text, if it has been read before.
    pub fn known_program(&self, text: &str) -> Option<ProgramId> {
        self.known_programs.get(text).copied().map(ProgramId)
    }

    /// Keeps a program that has been read.
    pub fn keep_program(
        &mut self,
        text: String,
        program: Program,
    ) -> Result<ProgramId, Diagnostic> {
        self.nr_ops += program.ops.len();
        if self.nr_ops > MAX_OPS {
            return Err(
                Diagnostic::new("the programs of all instances are too long together")
                    .expected(format!("at most {MAX_OPS} operations")),
            );
        }
        Ok(ProgramId(intern(
            &mut self.known_programs,
            &mut self.programs,
            text,
            program,
        )))
    }

    /// Once all programs are read: the checks that need them all, and everything into the workload.
    pub fn finish(mut self, file: &str, workload: &mut Workload) -> Result<(), Diagnostic> {
        for names in &self.names {
            self.warnings.extend(names.check_use(file)?);
        }
        workload.nr_mutexes = self.names(Kind::Mutex).total();
        workload.nr_conditions = self.names(Kind::Condition).total();
        workload.semaphores = self.names(Kind::Semaphore).parameters();
        workload.barriers = self.names(Kind::Barrier).parameters();
        let capacities = self.names(Kind::Channel).parameters();
        workload.channels = capacities.into_iter().map(Channel::holding).collect();
        workload.nr_disks = self.names(Kind::Disk).total();
        workload.nr_shared_timers = self.names(Kind::Timer).total();
        workload.control_groups = self.groups.finish();
        workload.programs = self.programs;
        workload.distributions = self.distributions;
        workload.cpu_sets = self.cpu_sets;
        workload.marks = self.marks;
        workload.warnings = self.warnings;
        Ok(())
    }
}

/// The number of an item known by a key; it is added if it is new.
fn intern<K: Ord, T>(known: &mut BTreeMap<K, u32>, items: &mut Vec<T>, key: K, item: T) -> u32 {
    *known.entry(key).or_insert_with(|| {
        items.push(item);
        items.len() as u32 - 1
    })
}
