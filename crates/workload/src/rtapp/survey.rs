//! Checks that need all tasks: which task wakes which, how many tasks a barrier waits for,
//! which timers are absolute, which tasks are forked.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_input::{nearest, Diagnostic};

use super::event::{Event, MemoryRun};
use super::task::{Step, Task};
use super::SuspendMeaning;

/// rt-app lets a thread fork no more often than this.
const FORKS_MAX: u64 = 1024;

/// How many threads a file may ask for.
const THREADS_MAX: u64 = 1_000_000;

/// The result.
#[derive(Default)]
pub(super) struct Survey {
    tasks: BTreeSet<String>,
    resumed: BTreeSet<String>,
    absolute_timers: BTreeSet<(Option<String>, String)>,
    barriers: BTreeMap<String, u64>,
    meaning: SuspendMeaning,
}

impl Survey {
    /// Looks at all tasks.
    pub fn of(tasks: &[Task], meaning: SuspendMeaning) -> Self {
        let mut survey = Survey {
            meaning,
            ..Survey::default()
        };
        for task in tasks {
            survey.tasks.insert(task.name.clone());
            for step in steps(task) {
                survey.note(task, &step.event);
            }
        }
        survey
    }

    fn note(&mut self, task: &Task, event: &Event) {
        match event {
            Event::Resume(name) => drop(self.resumed.insert(name.clone())),
            Event::Timer(timer) if timer.absolute => {
                self.absolute_timers.insert(timer_key(task, &timer.name));
            }
            // rt-app counts each mention once for each instance, even if one task mentions a
            // barrier twice.
            Event::Barrier(name) => {
                *self.barriers.entry(name.clone()).or_default() += u64::from(task.instances);
            }
            _ => {}
        }
    }

    /// Does a missed timer of this name start again from now?
    pub fn is_relative(&self, task: &Task, timer: &str) -> bool {
        !self.absolute_timers.contains(&timer_key(task, timer))
    }

    /// How many a barrier waits for.
    pub fn barrier_users(&self, name: &str) -> u64 {
        self.barriers.get(name).copied().unwrap_or_default()
    }

    /// What a task that suspends itself waits for.
    ///
    /// Until 2025 that was the given string, since then it is the task's own name.  The two
    /// kinds of files can be told apart: a string that is resumed but is no task's name belongs to
    /// the old kind.
    pub fn suspends_on<'a>(&self, task: &'a Task, given: Option<&'a str>) -> &'a str {
        let Some(given) = given else {
            return &task.name;
        };
        let is_old = self.resumed.contains(given) && !self.tasks.contains(given);
        match self.meaning {
            SuspendMeaning::Named => given,
            SuspendMeaning::Auto if is_old => given,
            SuspendMeaning::Auto | SuspendMeaning::Own => &task.name,
        }
    }

    /// Refuses impossible combinations and warns of probable mistakes.
    pub fn check(&self, tasks: &[Task], warnings: &mut Vec<Diagnostic>) -> Result<(), Diagnostic> {
        let threads: u64 = tasks.iter().map(|task| u64::from(task.instances)).sum();
        if threads > THREADS_MAX {
            return Err(Diagnostic {
                key: "tasks".to_string(),
                problem: format!("{threads} threads are too many"),
                expected: format!("at most {THREADS_MAX}"),
                ..Diagnostic::default()
            });
        }
        let by_name = tasks
            .iter()
            .map(|task| (task.name.as_str(), task))
            .collect();
        for task in tasks {
            self.check_forks(task, &by_name, warnings)?;
            self.check_barriers(task)?;
        }
        check_buffers(tasks)?;
        self.warn_of_old_suspends(tasks, warnings);
        self.warn_of_sleepers(tasks, warnings);
        Ok(())
    }

    /// A forked task must exist; one that waits for a barrier must not only be forked.
    fn check_forks(
        &self,
        task: &Task,
        tasks: &BTreeMap<&str, &Task>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), Diagnostic> {
        for phase in &task.phases {
            for step in &phase.events {
                let Event::Fork(target) = &step.event else {
                    continue;
                };
                let Some(target) = tasks.get(target.as_str()) else {
                    let problem =
                        format!("there is no task \"{target}\" (rt-app stops with an error)");
                    return Err(Diagnostic {
                        nearest: nearest(target, self.tasks.iter().map(String::as_str)),
                        ..at(step, problem, "the name of a task")
                    });
                };
                if target.delay_us > 0 {
                    let problem = "the delay of the forked task is not applied";
                    warnings.push(at(step, problem, ""));
                }
                let rounds = phase.rounds.zip(task.rounds);
                let forks = rounds.map(|(a, b)| u64::from(a) * u64::from(b));
                if forks.is_none_or(|forks| forks > FORKS_MAX) {
                    let problem = format!("rt-app stops with an error after {FORKS_MAX} forks");
                    warnings.push(at(step, problem, ""));
                }
            }
        }
        Ok(())
    }

    fn check_barriers(&self, task: &Task) -> Result<(), Diagnostic> {
        for step in steps(task) {
            let Event::Barrier(name) = &step.event else {
                continue;
            };
            let problem = match self.barrier_users(name) {
                users if users > u64::from(u32::MAX) => "more tasks wait here than there can be",
                _ if task.instances == 0 => {
                    "a task without instances waits here; rt-app does not count forked threads, and they would wait for ever"
                }
                _ => continue,
            };
            return Err(at(step, problem, "barriers in tasks with instances"));
        }
        Ok(())
    }

    /// Says once for each name that it is read in the old way.
    fn warn_of_old_suspends(&self, tasks: &[Task], warnings: &mut Vec<Diagnostic>) {
        if self.meaning != SuspendMeaning::Auto {
            return;
        }
        let mut said = BTreeSet::new();
        for (task, step) in all_steps(tasks) {
            let Event::Suspend(Some(given)) = &step.event else {
                continue;
            };
            if self.suspends_on(task, Some(given)) != task.name && said.insert(given) {
                let problem = format!("waits for \"{given}\", as before May 2025; rt-app now waits for the task's own name and would wait for ever");
                warnings.push(at(step, problem, ""));
            }
        }
    }

    /// Warns once for each name that tasks wait for and no task wakes.
    fn warn_of_sleepers(&self, tasks: &[Task], warnings: &mut Vec<Diagnostic>) {
        let mut woken: BTreeSet<&str> = BTreeSet::new();
        for (_, step) in all_steps(tasks) {
            match &step.event {
                Event::Resume(name) | Event::Signal(name) | Event::Broadcast(name) => {
                    woken.insert(name);
                }
                Event::Sync(condition) => drop(woken.insert(&condition.name)),
                _ => {}
            }
        }
        for (task, step) in all_steps(tasks) {
            let name = match &step.event {
                Event::Suspend(given) => self.suspends_on(task, given.as_deref()),
                Event::Wait(condition) => &condition.name,
                _ => continue,
            };
            if woken.insert(name) {
                let problem = format!("waits for ever: no task resumes or signals \"{name}\"");
                warnings.push(at(step, problem, ""));
            }
        }
    }
}

/// Uses of one buffer must agree, or rt-app stops.
fn check_buffers(tasks: &[Task]) -> Result<(), Diagnostic> {
    let mut buffers: BTreeMap<&str, &MemoryRun> = BTreeMap::new();
    for (_, step) in all_steps(tasks) {
        let Event::MemoryRun(run) = &step.event else {
            continue;
        };
        let Some(name) = &run.buffer else {
            continue;
        };
        if *buffers.entry(name).or_insert(run) != run {
            let problem =
                format!("buffer \"{name}\" was used with other parameters before (rt-app stops with an error)");
            return Err(at(step, problem, "the same parameters, or another ref"));
        }
    }
    Ok(())
}

/// A unique timer is the task's own; all others are shared by all tasks.
fn timer_key(task: &Task, timer: &str) -> (Option<String>, String) {
    let owner = timer.starts_with("unique").then(|| task.name.clone());
    (owner, timer.to_string())
}

/// An error about an event.
pub(super) fn at(step: &Step, problem: impl Into<String>, expected: &str) -> Diagnostic {
    Diagnostic {
        line: step.line,
        key: step.key.clone(),
        problem: problem.into(),
        expected: expected.to_string(),
        ..Diagnostic::default()
    }
}

/// All events of a task.
fn steps(task: &Task) -> impl Iterator<Item = &Step> {
    task.phases.iter().flat_map(|phase| &phase.events)
}

/// All events of all tasks.
fn all_steps(tasks: &[Task]) -> impl Iterator<Item = (&Task, &Step)> {
    tasks
        .iter()
        .flat_map(|task| steps(task).map(move |step| (task, step)))
}
