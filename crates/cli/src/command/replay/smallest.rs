//! `--minimise`: the smallest part of the recording that shows a symptom.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use schedlab_input::Diagnostic;
use schedlab_lab::Trial;
use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_replay::{fit, minimise, Identities, Options, Replay, Symptom, Watch};
use schedlab_trace::{Ns, Sink, TaskId, TaskInfo, Time};
use serde::Serialize;

use super::Source;
use crate::arguments::Bounds;
use crate::command::result::bounded;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// The result of the search.
#[derive(Serialize)]
pub struct Smallest {
    pub symptom: String,
    /// Tasks that are left.
    pub tasks: usize,
    /// Tasks of the recording.
    pub of_tasks: usize,
    /// The recording up to here is enough.
    pub until: Option<Time>,
    /// Replays it took.
    pub replays: u32,
    /// The wait that shows it: its task, its end, its length.
    pub shown: (String, Time, Ns),
}

impl fmt::Display for Smallest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, end, waited) = &self.shown;
        write!(
            f,
            "minimised in {} replays to {} of {} tasks",
            self.replays, self.tasks, self.of_tasks
        )?;
        if let Some(until) = self.until {
            write!(f, " and the first {}", until.since(Time::ZERO))?;
        }
        write!(f, ": {task} waits {waited} until {end}")
    }
}

/// The search: replays of ever smaller parts.
pub struct Search<'a> {
    pub source: &'a Source,
    pub symptom: &'a Symptom,
    pub machine: &'a Arc<Machine>,
    pub policies: &'a [Tuned],
    pub seed: u64,
    pub bounds: &'a Bounds,
    pub interrupt: &'a Interrupt,
}

/// A task that waited too long: its id in the recording, its name, when its wait ended and how long
/// it was.
type Seen = Option<(TaskId, String, Time, Ns)>;

impl Search<'_> {
    /// The smallest part that shows the symptom.
    pub fn find(&self, whole: &Replay) -> Result<(Smallest, Replay), Failure> {
        let tuned = self.policy()?;
        let meant = self.meant(whole)?;
        let all = whole.tasks.iter().map(|task| task.id).collect();
        let options = Options {
            mode: whole.mode,
            ..Options::default()
        };
        // The task that shows it in the whole has to show it in the part.
        let Some((first, ..)) = self.replay(&options, tuned, &meant)?.1 else {
            return Err(self.never(tuned));
        };
        let needed = BTreeSet::from([first]);
        let shows = |options: &Options| -> Result<Option<Time>, Failure> {
            let (_, seen) = self.replay(options, tuned, &needed)?;
            Ok(seen.map(|(_, _, end, _)| end))
        };
        let Some(found) = minimise(whole.mode, &all, &needed, shows)? else {
            return Err(self.never(tuned));
        };
        let (part, seen) = self.replay(&found.options, tuned, &needed)?;
        let Some((_, name, end, waited)) = seen else {
            return Err(self.never(tuned));
        };
        let smallest = Smallest {
            symptom: self.symptom.to_string(),
            tasks: part.tasks.len(),
            of_tasks: found.tasks.1,
            until: found.options.until,
            replays: found.replays,
            shown: (name, end, waited),
        };
        Ok((smallest, part))
    }

    fn policy(&self) -> Result<&Tuned, Failure> {
        let [tuned] = self.policies else {
            let problem = format!(
                "{} policies may each show the symptom differently",
                self.policies.len()
            );
            return Err(mistake(problem)
                .expected("one policy: --policies NAME")
                .into());
        };
        Ok(tuned)
    }

    /// The tasks that can show the symptom.
    fn meant(&self, whole: &Replay) -> Result<BTreeSet<TaskId>, Failure> {
        let task = &self.symptom.task;
        let meant: BTreeSet<TaskId> = whole.find(task).into_iter().collect();
        if meant.is_empty() {
            let names: BTreeSet<&str> = whole.tasks.iter().map(|t| t.group.as_str()).collect();
            return Err(mistake(format!("no task is called \"{task}\""))
                .expected("a name, a group or a thread id of the recording")
                .suggest(task, names)
                .into());
        }
        Ok(meant)
    }

    fn never(&self, tuned: &Tuned) -> Failure {
        let problem = format!(
            "under {} no task waits this long: {}",
            tuned.name(),
            self.symptom
        );
        mistake(problem).expected("a symptom that occurs").into()
    }

    /// Replays a part; returns the symptom if one of these tasks shows it.
    fn replay(
        &self,
        options: &Options,
        tuned: &Tuned,
        tasks: &BTreeSet<TaskId>,
    ) -> Result<(Replay, Seen), Failure> {
        let mut replay = self.source.rebuild(options);
        fit(&mut replay.workload, self.machine.cpus.len() as u32);
        let sink = Chosen {
            identities: Identities::of(&replay),
            tasks: tasks.clone(),
            watch: Watch::new(self.symptom.longer_than),
            found: Vec::new(),
        };
        let workload = Arc::new(std::mem::take(&mut replay.workload));
        let machine = Arc::clone(self.machine);
        let trial = Trial::new(tuned.clone(), machine, Arc::clone(&workload), self.seed);
        let trial = bounded(trial, self.bounds);
        let ran = trial.run(sink, |_| self.interrupt.signal().is_some());
        let ran = ran.map_err(|unfinished| Failure::of_run(trial.name(), unfinished.reason))?;
        drop(trial);
        replay.workload =
            Arc::try_unwrap(workload).unwrap_or_else(|_| unreachable!("the trial is gone"));
        let seen = ran.sink.seen();
        Ok((replay, seen))
    }
}

fn mistake(problem: String) -> Diagnostic {
    Diagnostic::new(problem).at("--minimise", 0)
}

/// Watches the tasks of a replay that correspond to the chosen tasks of the recording.
struct Chosen {
    identities: Identities,
    tasks: BTreeSet<TaskId>,
    watch: Watch,
    /// Those that have appeared: id in the simulation, id in the recording, name.
    found: Vec<(TaskId, TaskId, String)>,
}

impl Chosen {
    fn seen(&self) -> Seen {
        let (task, end, waited) = self.watch.seen()?;
        let (_, recorded, name) = self.found.iter().find(|(id, ..)| *id == task)?;
        Some((*recorded, name.clone(), end, waited))
    }
}

impl Sink for Chosen {
    fn task(&mut self, info: &TaskInfo) {
        let recorded = self.identities.get(&info.name).map(|recorded| recorded.id);
        if let Some(recorded) = recorded.filter(|recorded| self.tasks.contains(recorded)) {
            self.watch.add(info.id);
            self.found.push((info.id, recorded, info.name.clone()));
        }
    }

    fn event(&mut self, event: &schedlab_trace::Event) {
        self.watch.event(event);
    }
}
