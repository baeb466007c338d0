//! A plan ready to run: policies, workloads and machines were found, and every combination was
//! checked.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::Arc;

use schedlab_input::Diagnostic;
use schedlab_lab::choose::{self, Assignments, Written};
use schedlab_lab::{exact, identity, CommandLine, Error, Trial};
use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_sim::Limits;
use schedlab_trace::{Ns, TraceHash};
use schedlab_workload::{rtapp, Workload};

use crate::axis::{like, Axis};
use crate::constraint::Subject;
use crate::design::{combinations, count, Combination};
use crate::plan::Plan;

/// The most runs of one plan.
pub const MOST_RUNS: u128 = 10_000_000;

/// The context in which a plan's names are resolved.
pub struct Surroundings<'a> {
    /// Settings of all policies, and their flags.
    pub set: &'a Assignments,
    /// The flags of these settings, for command lines.
    pub set_flags: Vec<String>,
    /// Options for reading rt-app files.
    pub rtapp: &'a rtapp::Options,
    /// The command that attaches a BPF object; empty if there is none.
    pub attach: &'a [OsString],
    /// Limits of every run.
    pub limits: Limits,
    /// CPU time that one call of a hook may take.
    pub hook_timeout: Ns,
    /// schedlab's version; results of different versions are different.
    pub version: &'a str,
    /// Polled; true stops the preparation.
    pub stop: &'a dyn Fn() -> bool,
}

/// A policy with its settings, on a workload and a machine: a run without its seed.
#[derive(Clone)]
pub struct Setup {
    /// The hash of everything that determines the set-up; see [`run_key`].
    pub hash: TraceHash,
    /// Its names in reports: dimensions with their values.
    pub labels: Vec<(String, String)>,
    /// The policy with its settings, and the machine, as a command names them.
    pub(crate) written: [String; 2],
    /// The flags of settings of all policies.
    flags: Vec<String>,
    /// The hashes of the policy's source, the workload and the machine.
    inputs: [TraceHash; 3],
    pub(crate) trial: Trial,
}

impl Setup {
    /// The run with this seed.
    pub fn trial(&self, seed: u64) -> Trial {
        Trial {
            seed,
            ..self.trial.clone()
        }
    }

    /// The same set-up with another duration, for a search.
    pub fn lasting(&self, duration: Ns, version: &str) -> Setup {
        let trial = Trial {
            duration: Some(duration),
            ..self.trial.clone()
        };
        let mut setup = self.clone();
        setup.hash = hash(self.inputs, &trial, version);
        setup.labels.retain(|(name, _)| name != "duration");
        setup.labels.push(("duration".into(), exact(duration)));
        setup.trial = trial;
        setup
    }

    /// The command that repeats it, without `--seed`.
    pub fn command(&self) -> String {
        let [policy, machine] = &self.written;
        CommandLine::new("run")
            .flag("--policy", policy)
            .flag("--workload", &self.trial.workload.source)
            .flag("--machine", machine)
            .words(self.flags.iter().cloned())
            .flag_if("--duration", self.trial.duration.map(exact))
            .to_string()
    }

    /// The policy with its settings.
    pub fn tuned(&self) -> &Tuned {
        &self.trial.tuned
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The key of a run: equal keys have equal results.
pub fn run_key(setup: TraceHash, seed: u64) -> TraceHash {
    TraceHash::of_all([setup.to_string().as_str(), &seed.to_string()])
}

/// A plan ready to run.
pub struct Batch {
    /// Its set-ups, without duplicates.
    pub setups: Vec<Setup>,
    /// The seeds of each set-up.
    pub seeds: Vec<u64>,
    /// Combinations that the constraints excluded.
    pub excluded: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Why a plan cannot be run.
pub type Unready = Error;

impl Batch {
    /// Resolves and checks a plan.
    ///
    /// # Errors
    /// A name was not found, an axis belongs to no policy, or the plan has no runs or too
    /// many.
    pub fn new(plan: &Plan, around: &Surroundings) -> Result<Batch, Unready> {
        for (names, flag) in [
            (&plan.policies, "--policies"),
            (&plan.workloads, "--workload"),
            (&plan.machines, "--machine"),
        ] {
            if names.is_empty() {
                let mistake = Diagnostic::new("missing").at(flag, 0);
                return Err(mistake
                    .expected("at least one, in the plan or as a flag")
                    .into());
            }
        }
        let seeds = plan.seeds();
        check_size(plan, seeds.len())?;
        let policies = policies(plan, around)?;
        let axes = Axes::new(&plan.vary, &policies)?;
        check_constraints(plan, &policies)?;
        let mut making = Making {
            plan,
            around,
            policies: &policies,
            batch: Batch {
                setups: Vec::new(),
                seeds,
                excluded: 0,
                notes: Vec::new(),
            },
            seen: HashSet::new(),
        };
        making.all(&axes)?;
        let batch = making.batch;
        match batch.setups.is_empty() {
            true => Err(Diagnostic::new(format!(
                "the constraints exclude all {} combinations",
                batch.excluded
            ))
            .at("--constraint", 0)
            .expected("a combination that meets them")
            .into()),
            false => Ok(batch),
        }
    }

    /// Its number of runs.
    pub fn nr_runs(&self) -> usize {
        self.setups.len() * self.seeds.len()
    }
}

/// Refuses a plan that is too large before it is expanded.
fn check_size(plan: &Plan, seeds: usize) -> Result<(), Diagnostic> {
    let lists = [&plan.policies, &plan.workloads, &plan.machines];
    let crossed = lists
        .iter()
        .map(|list| list.len() as u128)
        .product::<u128>();
    let runs = count(&plan.vary, plan.design)?
        .saturating_mul(crossed)
        .saturating_mul(seeds as u128);
    match runs <= MOST_RUNS {
        true => Ok(()),
        false => Err(
            Diagnostic::new(format!("the plan has {} runs", grouped(runs)))
                .at("sweep", 0)
                .expected(format!(
                    "at most {}: fewer values or seeds, or a part of the combinations, such as \
                 --design latin-hypercube --samples 100",
                    grouped(MOST_RUNS)
                )),
        ),
    }
}

/// A number with commas between thousands.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn policies(plan: &Plan, around: &Surroundings) -> Result<Vec<(String, Tuned)>, Error> {
    let list = plan.policies.join(",");
    choose::policies("--policies", &list, around.set, around.stop)
}

/// The axes by their kind.
struct Axes<'a> {
    /// Tunables, with their indexes in a combination.
    tunables: Vec<(usize, &'a Axis)>,
    /// Options of workloads.
    options: Vec<(usize, &'a Axis)>,
    /// The duration.
    duration: Option<usize>,
}

/// Prefix of the names of workload options.
const WORKLOAD: &str = "workload.";

impl<'a> Axes<'a> {
    fn new(all: &'a [Axis], policies: &[(String, Tuned)]) -> Result<Axes<'a>, Diagnostic> {
        let mut axes = Axes {
            tunables: Vec::new(),
            options: Vec::new(),
            duration: None,
        };
        for (place, axis) in all.iter().enumerate() {
            match axis.name.as_str() {
                "duration" => axes.duration = Some(place),
                name if name.starts_with(WORKLOAD) => axes.options.push((place, axis)),
                _ => {
                    check_tunable(axis, policies)?;
                    axes.tunables.push((place, axis));
                }
            }
        }
        Ok(axes)
    }
}

/// Checks that an axis belongs to a policy and that its values are in range.
fn check_tunable(axis: &Axis, policies: &[(String, Tuned)]) -> Result<(), Diagnostic> {
    let plain: Vec<Tuned> = policies.iter().map(|(_, tuned)| tuned.clone()).collect();
    let ends = match &axis.values {
        crate::axis::Values::List(values) => values.clone(),
        crate::axis::Values::Range { low, high, .. } => vec![low.to_string(), high.to_string()],
    };
    for value in ends {
        let set = assignment(axis, &value)?;
        set.check(&plain).map_err(|mistake| {
            let places = ["policy", "workload", "machine", "duration"];
            let nearest = like(&axis.name, places);
            let own = axis.own(mistake);
            match own.nearest {
                Some(_) => own,
                None => Diagnostic { nearest, ..own },
            }
        })?;
        for tuned in &plain {
            set.apply(tuned.clone())
                .map_err(|mistake| axis.own(mistake))?;
        }
    }
    Ok(())
}

fn assignment(axis: &Axis, value: &str) -> Result<Assignments, Diagnostic> {
    let text = format!("{}={value}", axis.name);
    Assignments::read(&[], &[text]).map_err(|mistake| axis.own(mistake))
}

/// Refuses constraints about tunables that no policy has.
fn check_constraints(plan: &Plan, policies: &[(String, Tuned)]) -> Result<(), Diagnostic> {
    for constraint in &plan.constraints {
        for name in constraint.tunables() {
            let set = Assignments::read(&[], &[format!("{name}=0")])?;
            let plain: Vec<Tuned> = policies.iter().map(|(_, tuned)| tuned.clone()).collect();
            set.check(&plain).map_err(|mistake| Diagnostic {
                file: "--constraint".into(),
                key: constraint.text.clone(),
                ..mistake
            })?;
        }
    }
    Ok(())
}

/// A workload with its options, and a machine with the user's name for it.
type Place<'a> = (&'a Options, &'a Arc<Workload>, &'a (String, Arc<Machine>));

/// A batch under construction.
struct Making<'a> {
    plan: &'a Plan,
    around: &'a Surroundings<'a>,
    policies: &'a [(String, Tuned)],
    batch: Batch,
    seen: HashSet<TraceHash>,
}

impl Making<'_> {
    fn all(&mut self, axes: &Axes) -> Result<(), Error> {
        let combinations = combinations(&self.plan.vary, self.plan.design);
        let machines: Vec<Arc<Machine>> = choose::machines(&self.plan.machines)?
            .into_iter()
            .map(Arc::new)
            .collect();
        let machines: Vec<(String, Arc<Machine>)> =
            self.plan.machines.iter().cloned().zip(machines).collect();
        let workloads = self.workloads(axes, &combinations)?;
        let sources: Vec<TraceHash> = self
            .policies
            .iter()
            .map(|(_, tuned)| identity::source(tuned))
            .collect();
        for (options, workload) in &workloads {
            let work = identity::workload(workload);
            for machine in &machines {
                let hardware = identity::machine(&machine.1);
                for (policy, source) in self.policies.iter().zip(&sources) {
                    let inputs = [*source, work, hardware];
                    for combination in combinations.iter().filter(|c| options.fits(axes, c)) {
                        if (self.around.stop)() {
                            return Err(Error::Stopped);
                        }
                        let on = (options, workload, machine);
                        self.one(axes, inputs, on, policy, combination)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Every workload with every combination of its options.
    fn workloads(
        &mut self,
        axes: &Axes,
        combinations: &[Combination],
    ) -> Result<Vec<(Options, Arc<Workload>)>, Diagnostic> {
        let mut options: Vec<Options> = Vec::new();
        for base in &self.plan.workloads {
            for combination in combinations {
                let one = Options::of(base, axes, combination);
                if !options.contains(&one) {
                    options.push(one);
                }
                if axes.options.is_empty() {
                    break;
                }
            }
        }
        let texts: Vec<String> = options.iter().map(Options::text).collect();
        let mut workloads = choose::workloads(&texts, self.around.rtapp)?;
        for workload in &mut workloads {
            if self.plan.duration.is_none() && axes.duration.is_none() {
                workload.warnings.extend(workload.assumed_duration.take());
            }
            for warning in &workload.warnings {
                if !self.batch.notes.contains(warning) {
                    self.batch.notes.push(warning.clone());
                }
            }
        }
        let workloads = workloads.into_iter().map(Arc::new);
        Ok(options.into_iter().zip(workloads).collect())
    }

    fn one(
        &mut self,
        axes: &Axes,
        mut inputs: [TraceHash; 3],
        (options, workload, (machine_text, machine)): Place,
        (written, tuned): &(String, Tuned),
        combination: &Combination,
    ) -> Result<(), Error> {
        let mut tuned = tuned.clone();
        let mut varied = Vec::new();
        for &(place, axis) in &axes.tunables {
            let before = tuned.changed().len();
            let value = &combination[place];
            tuned = assignment(axis, value)?
                .apply(tuned)
                .map_err(|mistake| axis.own(mistake))?;
            varied.extend(
                tuned.changed()[before..]
                    .iter()
                    .map(|set| format!("{}={}", set.target(), set.values_text())),
            );
        }
        let subject = Subject {
            tuned: &tuned,
            workload: &options.base,
            machine: machine_text,
        };
        if !self.plan.constraints.iter().all(|one| one.holds(&subject)) {
            self.batch.excluded += 1;
            return Ok(());
        }
        let duration = match axes.duration {
            Some(place) => Some(duration(&self.plan.vary[place], &combination[place])?),
            None => self.plan.duration,
        };
        if tuned.policy.is_in_rust() {
            let one = [&mut tuned];
            let notes = choose::load(
                "--policies",
                one,
                machine,
                self.around.attach,
                self.around.stop,
            )?;
            inputs[0] = identity::source(&tuned);
            for note in notes {
                if !self.batch.notes.contains(&note) {
                    self.batch.notes.push(note);
                }
            }
        }
        let mut labels = vec![
            (
                "workload".to_string(),
                self.workload_label(options, workload),
            ),
            ("machine".to_string(), machine.name.clone()),
            ("policy".to_string(), tuned.name()),
        ];
        let scope = tuned.policy.name();
        for set in tuned.changed() {
            let name = format!("{scope}.{}", set.target());
            labels.retain(|(label, _)| *label != name);
            labels.push((name, set.values_text()));
        }
        labels.extend(
            options
                .options
                .iter()
                .map(|(name, value)| (format!("{WORKLOAD}{name}"), value.clone())),
        );
        if let Some(duration) = duration.filter(|_| axes.duration.is_some()) {
            labels.push(("duration".into(), exact(duration)));
        }
        let base = Written::parse(written).with_variant(tuned.variant);
        let policy = [base]
            .into_iter()
            .chain(varied)
            .collect::<Vec<_>>()
            .join(":");
        let trial = Trial {
            duration,
            limits: self.around.limits,
            hook_timeout: self.around.hook_timeout,
            ..Trial::new(tuned, Arc::clone(machine), Arc::clone(workload), 0)
        };
        let hash = hash(inputs, &trial, self.around.version);
        if self.seen.insert(hash) {
            self.batch.setups.push(Setup {
                hash,
                labels,
                written: [policy, machine_text.clone()],
                flags: self.around.set_flags.clone(),
                inputs,
                trial,
            });
        }
        Ok(())
    }

    /// A workload's name without the varied options.
    fn workload_label(&self, options: &Options, workload: &Workload) -> String {
        let is_only = self.plan.workloads.len() == 1;
        match options.options.is_empty() {
            true => workload.name.clone(),
            false if is_only => options.base.split_whitespace().next().unwrap_or("").into(),
            false => options.base.clone(),
        }
    }
}

/// The hash of everything that determines the results of a set-up. Names are not part of it: a
/// machine with two names gives one set-up.
pub(crate) fn hash(inputs: [TraceHash; 3], trial: &Trial, version: &str) -> TraceHash {
    let values: Vec<String> = trial.tuned.values().iter().map(i64::to_string).collect();
    let mut texts: Vec<String> = inputs.iter().map(TraceHash::to_string).collect();
    texts.push(values.join(","));
    texts.push(format!("{:?} {:?}", trial.duration, trial.limits));
    texts.push(version.to_string());
    TraceHash::of_all(texts.iter().map(String::as_str))
}

fn duration(axis: &Axis, text: &str) -> Result<Ns, Diagnostic> {
    let duration = schedlab_input::quantity::duration(text).map_err(|mistake| axis.own(mistake))?;
    match duration.0 {
        0 => Err(axis
            .mistake("\"0\" is not valid")
            .expected("a duration longer than 0")),
        _ => Ok(duration),
    }
}

/// A workload with the varied options.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Options {
    base: String,
    options: Vec<(String, String)>,
}

impl Options {
    fn of(base: &str, axes: &Axes, combination: &Combination) -> Options {
        let option = |&(place, axis): &(usize, &Axis)| {
            let name = axis.name.trim_start_matches(WORKLOAD).to_string();
            (name, combination[place].clone())
        };
        Options {
            base: base.trim().to_string(),
            options: axes.options.iter().map(option).collect(),
        }
    }

    /// Does a combination have these options?
    fn fits(&self, axes: &Axes, combination: &Combination) -> bool {
        Options::of(&self.base, axes, combination) == *self
    }

    fn text(&self) -> String {
        let options = self.options.iter();
        let options = options.map(|(name, value)| format!(" --{name} {value}"));
        [self.base.clone()].into_iter().chain(options).collect()
    }
}
