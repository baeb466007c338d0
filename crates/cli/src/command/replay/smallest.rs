//! `--minimise`: the smallest part of the recording that shows a symptom.

use std::collections::BTreeSet;
use std::fmt;

use schedlab_input::Diagnostic;
use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_replay::{minimise, Identities, Options, Replay, Symptom, Watch};
use schedlab_sim::{Limits, Setup, Simulation, TieBreak};
use schedlab_trace::{Ns, Sink, TaskId, TaskInfo, Time};
use serde::Serialize;

use super::Source;
use crate::failure::Failure;

/// What was found.
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
    /// The wait that shows it: whose, when it ended, how long it was.
    pub shown: (String, Time, Ns),
    #[serde(skip)]
    pub replay: Replay,
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

/// Finds it; there must be one policy.
pub fn find(
    source: &Source,
    whole: &Replay,
    symptom: &Symptom,
    machine: &Machine,
    policies: &[Tuned],
) -> Result<Smallest, Failure> {
    let mistake = |problem: String| Diagnostic::new(problem).at("--minimise", 0);
    let [tuned] = policies else {
        let problem = format!(
            "{} policies may show the symptom each in its own way",
            policies.len()
        );
        return Err(mistake(problem)
            .expected("one policy: --policies NAME")
            .into());
    };
    let needed: BTreeSet<TaskId> = whole.find(&symptom.task).into_iter().collect();
    if needed.is_empty() {
        let names: BTreeSet<&str> = whole.tasks.iter().map(|task| task.group.as_str()).collect();
        return Err(mistake(format!("no task is called \"{}\"", symptom.task))
            .expected("a name, a group or a thread id of the recording")
            .suggest(&symptom.task, names)
            .into());
    }
    let all = whole.tasks.iter().map(|task| task.id).collect();
    let shows = |options: &Options| -> Result<Option<Time>, Failure> {
        let (_, seen) = try_part(source, options, symptom, machine, tuned, &needed)?;
        Ok(seen.map(|(_, end, _)| end))
    };
    let found = minimise(whole.mode, &all, &needed, shows)?;
    let Some(found) = found else {
        let problem = format!("under {} nobody waits so long: {symptom}", tuned.name());
        return Err(mistake(problem).expected("a symptom that shows").into());
    };
    let (replay, seen) = try_part(source, &found.options, symptom, machine, tuned, &needed)?;
    let shown = seen.ok_or_else(|| Failure::Other("the symptom is gone".into()))?;
    Ok(Smallest {
        symptom: symptom.to_string(),
        tasks: replay.tasks.len(),
        of_tasks: found.tasks.1,
        until: found.options.until,
        replays: found.replays,
        shown,
        replay,
    })
}

type Seen = Option<(String, Time, Ns)>;

/// Replays a part and says whether the symptom shows.
fn try_part(
    source: &Source,
    options: &Options,
    symptom: &Symptom,
    machine: &Machine,
    tuned: &Tuned,
    needed: &BTreeSet<TaskId>,
) -> Result<(Replay, Seen), Failure> {
    let mut replay = source.rebuild(options);
    replay.fit(machine.cpus.len() as u32);
    let setup = Setup {
        machine,
        workload: &replay.workload,
        tuned,
        seed: 1,
        duration: None,
        limits: Limits::default(),
        tie_break: TieBreak::Canonical,
    };
    let sink = Chosen {
        identities: Identities::of(&replay),
        needed: needed.clone(),
        watch: Watch::new(symptom.longer_than),
        names: Vec::new(),
    };
    let failed = |error| Failure::Simulation {
        run: tuned.name(),
        error,
    };
    let simulation = Simulation::new(&setup, sink).map_err(failed)?;
    let (_, sink) = simulation.run().map_err(failed)?;
    let seen = sink.watch.seen().map(|(task, end, waited)| {
        let name = sink.names.iter().find(|(id, _)| *id == task);
        (
            name.map_or_else(String::new, |(_, name)| name.clone()),
            end,
            waited,
        )
    });
    Ok((replay, seen))
}

/// Watches those tasks of a replay that were needed in the recording.
struct Chosen {
    identities: Identities,
    needed: BTreeSet<TaskId>,
    watch: Watch,
    names: Vec<(TaskId, String)>,
}

impl Sink for Chosen {
    fn task(&mut self, info: &TaskInfo) {
        let recorded = self.identities.get(&info.name);
        if recorded.is_some_and(|recorded| self.needed.contains(&recorded.id)) {
            self.watch.add(info.id);
            self.names.push((info.id, info.name.clone()));
        }
    }

    fn event(&mut self, event: &schedlab_trace::Event) {
        self.watch.event(event);
    }
}
