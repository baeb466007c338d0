//! `schedlab sweep` and `schedlab merge`: many runs, their results in one file.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use schedlab_input::Diagnostic;
use schedlab_lab::choose::items;
use schedlab_lab::{threads, CommandLine};
use schedlab_sim::Limits;
use schedlab_sweep::{
    run, About, Batch, Design, Plan, Store, StoreError, Surroundings, Tally, Watch,
};

use crate::arguments::{MergeArguments, PlanArguments, SweepArguments};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::progress::Note;
use crate::version::VERSION;

use super::result::attaching;
use super::{note, print};

/// The machine of plans that name none.
const MACHINE: &str = "desktop";

/// Does all runs of a plan that are not done yet.
pub fn sweep(arguments: &SweepArguments) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut plan = read_plan(&arguments.plan)?;
    plan.design = design(arguments, plan.design)?;
    let batch = ready(&plan, &arguments.plan, &interrupt)?;
    let jobs = batch.jobs(arguments.shard);
    if arguments.dry_run {
        let excluded = match batch.excluded {
            0 => String::new(),
            n => format!(", {n} combinations excluded by constraints"),
        };
        let (setups, runs) = (batch.setups.len(), jobs.len());
        return print(&format!("{setups} set-ups, {runs} runs{excluded}\n"))
            .map(|()| Exit::Success);
    }
    let mut store = open(
        &arguments.output,
        &about(&plan, &arguments.plan),
        arguments.extend,
    )?;
    if arguments.retry_failed {
        store.forget_failed().map_err(failure)?;
    }
    let progress = Following::new(jobs.len(), &interrupt);
    let tally = run(
        &mut store,
        &batch,
        &jobs,
        threads(arguments.plan.jobs),
        &progress,
        || progress.show(),
    );
    let tally = tally.map_err(failure)?;
    drop(progress);
    print(&told(&arguments.output, &batch, tally))?;
    match interrupt.signal() {
        Some(signal) => Err(Failure::Interrupted(signal)),
        None if tally.failed > 0 => Ok(Exit::CheckFailed),
        None => Ok(Exit::Success),
    }
}

/// Puts the results of several files into one.
pub fn merge(arguments: &MergeArguments) -> Result<Exit, Failure> {
    let sources: Vec<Store> = arguments
        .files
        .iter()
        .map(|file| Store::read(file).map_err(failure))
        .collect::<Result<_, _>>()?;
    let about = sources[0].about().map_err(failure)?;
    let mut merged = open(&arguments.output, &about, true)?;
    let mut new = 0;
    for source in &sources {
        let other = source.about().map_err(failure)?;
        if other.version != about.version {
            let (a, b) = (&about.version, &other.version);
            let mistake = Diagnostic::new(format!(
                "the file was written by schedlab {b}, and {} by {a}",
                arguments.files[0].display()
            ));
            let file = source.path().display().to_string();
            return Err(mistake.at(file, 0).expected("files of one version").into());
        }
        new += merged.merge(source).map_err(failure)?;
    }
    let path = arguments.output.display();
    print(&format!("{path}: {new} new runs\n")).map(|()| Exit::Success)
}

/// The plan of a file with the flags; the design is not read.
pub fn read_plan(arguments: &PlanArguments) -> Result<Plan, Failure> {
    let mut plan = match &arguments.plan {
        Some(path) => Plan::read(path)?,
        None => Plan::default(),
    };
    if let Some(policies) = &arguments.policies {
        plan.policies = items(policies).into_iter().map(String::from).collect();
    }
    let replace = |list: &mut Vec<String>, flags: &[String]| {
        if !flags.is_empty() {
            *list = flags.to_vec();
        }
    };
    replace(&mut plan.workloads, &arguments.workload);
    replace(&mut plan.machines, &arguments.machine);
    plan.seeds = arguments.seeds.clone().or(plan.seeds);
    plan.duration = arguments.duration.or(plan.duration);
    for axis in arguments.axes()? {
        plan.add(axis)?;
    }
    plan.constraints.extend(arguments.constraints()?);
    if plan.machines.is_empty() {
        plan.machines.push(MACHINE.to_string());
    }
    Ok(plan)
}

fn design(arguments: &SweepArguments, planned: Design) -> Result<Design, Failure> {
    let none = arguments.design.is_none() && arguments.samples.is_none();
    if none && arguments.design_seed.is_none() {
        return Ok(planned);
    }
    let name = arguments.design.as_deref().unwrap_or(planned.name());
    let draw = planned.draw().filter(|_| name == planned.name());
    let samples = arguments.samples.map(|n| n as usize);
    let samples = samples.or(draw.map(|draw| draw.samples));
    let seed = arguments.design_seed.or(draw.map(|draw| draw.seed));
    let design = Design::new(name, samples, seed.unwrap_or(1));
    Ok(design.map_err(|mistake| mistake.at("--design", 0))?)
}

/// The plan with everything it names; its notes go to standard error.
pub fn ready(
    plan: &Plan,
    arguments: &PlanArguments,
    interrupt: &Interrupt,
) -> Result<Batch, Failure> {
    let set = arguments.settings.read()?;
    let attach: Vec<OsString> = match cfg!(feature = "live") {
        true => attaching()?,
        false => Vec::new(),
    };
    let batch = Batch::new(
        plan,
        &Surroundings {
            set: &set,
            set_flags: set_flags(arguments),
            rtapp: &arguments.rtapp.options(),
            attach: &attach,
            limits: Limits {
                events: arguments.bounds.max_events,
                tasks: arguments.bounds.max_tasks,
                ..Limits::default()
            },
            hook_timeout: arguments.bounds.hook_timeout,
            version: VERSION,
            stop: &interrupt.stop(),
        },
    )?;
    for text in &batch.notes {
        note(&format!("warning: {text}"));
    }
    Ok(batch)
}

/// The flags that set tunables in all runs.
fn set_flags(arguments: &PlanArguments) -> Vec<String> {
    let rtapp = arguments.rtapp.flags().into_iter();
    let rtapp = rtapp.flat_map(|(flag, value)| [flag.to_string(), value]);
    arguments
        .settings
        .flags()
        .into_iter()
        .chain(rtapp)
        .collect()
}

/// What the file of a plan says about itself.
pub fn about(plan: &Plan, arguments: &PlanArguments) -> About {
    let line = plan.flags(CommandLine::new("sweep"));
    About {
        version: VERSION.to_string(),
        plan: line.words(set_flags(arguments)).to_string(),
    }
}

/// Opens a file of results for writing.
pub fn open(path: &Path, about: &About, extend: bool) -> Result<Store, Failure> {
    Store::open(path, about, extend).map_err(failure)
}

/// The end that a file of results causes.
pub fn failure(error: StoreError) -> Failure {
    let exit = match error {
        StoreError::Other { .. } => Exit::BadInput,
        StoreError::System { .. } => Exit::System,
    };
    Failure::Ended(exit, error.to_string())
}

fn told(path: &Path, batch: &Batch, tally: Tally) -> String {
    let path = path.display();
    let mut parts = vec![format!("{} runs done", tally.done)];
    if tally.known > 0 {
        parts.push(format!(
            "{} known before or equal for all seeds",
            tally.known
        ));
    }
    if tally.failed > 0 {
        parts.push(format!("{} failed", tally.failed));
    }
    if tally.left > 0 {
        parts.push(format!("{} left: the same command goes on", tally.left));
    }
    if batch.excluded > 0 {
        parts.push(format!("{} combinations excluded", batch.excluded));
    }
    format!("{path}: {}\n", parts.join(", "))
}

/// Shows how far a sweep is, and stops it when a signal comes.
pub struct Following<'a> {
    interrupt: &'a Interrupt,
    runs: usize,
    over: AtomicUsize,
    failed: AtomicUsize,
    started: Instant,
    line: Note,
}

impl<'a> Following<'a> {
    /// Of this number of runs none is over.
    pub fn new(runs: usize, interrupt: &'a Interrupt) -> Following<'a> {
        Following {
            interrupt,
            runs,
            over: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            started: Instant::now(),
            line: Note::new(),
        }
    }

    /// Shows it on a terminal.
    pub fn show(&self) {
        let (over, failed) = (&self.over, &self.failed);
        let (over, failed) = (over.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
        let took = self.started.elapsed().as_secs_f64();
        self.line.show(&message(self.runs, over, failed, took));
    }
}

fn message(runs: usize, over: usize, failed: usize, took_s: f64) -> String {
    let mut text = format!("{over} of {runs} runs");
    if failed > 0 {
        text += &format!(", {failed} failed");
    }
    if over > 0 && took_s > 0.0 {
        let rate = over as f64 / took_s;
        let left = (runs - over.min(runs)) as f64 / rate;
        text += &format!(", {rate:.1} runs/s, {} left", time_left(left));
    }
    text
}

fn time_left(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        s @ 0..=99 => format!("{s} s"),
        s @ 100..=5999 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

impl Watch for Following<'_> {
    fn stop(&self) -> bool {
        self.interrupt.signal().is_some()
    }

    fn over(&self, failed: Option<&str>) {
        self.over.fetch_add(1, Ordering::Relaxed);
        if failed.is_some() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_how_long_it_takes() {
        assert_eq!(message(400, 0, 0, 3.0), "0 of 400 runs");
        assert_eq!(
            message(400, 100, 2, 10.0),
            "100 of 400 runs, 2 failed, 10.0 runs/s, 30 s left"
        );
        assert_eq!(time_left(119.5), "2 min");
        assert_eq!(time_left(7260.0), "2 h 1 min");
    }
}
