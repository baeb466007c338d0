//! Gives simulated tasks the names and thread ids of the recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_trace::{Event, GroupInfo, Sink, TaskId, TaskInfo, Time, TraceInfo};

use crate::Replay;

/// The recorded tasks, by their names in the simulation.
#[derive(Clone, Debug, Default)]
pub struct Identities(Arc<BTreeMap<String, TaskInfo>>);

impl Identities {
    /// The tasks of a replay.
    pub fn of(replay: &Replay) -> Identities {
        let specs = replay.workload.tasks.iter().zip(&replay.tasks);
        let named = specs.map(|(spec, info)| {
            // A simulation appends a number to the names of forked tasks.
            let name = match spec.count {
                0 => format!("{}-0", spec.name),
                _ => spec.name.clone(),
            };
            (name, info.clone())
        });
        Identities(Arc::new(named.collect()))
    }

    /// The recorded task with this name in the simulation, if there is one.
    pub fn get(&self, name: &str) -> Option<&TaskInfo> {
        self.0.get(name)
    }
}

/// Replaces the names and ids of tasks by those of the recording, and passes the trace to an inner
/// sink.
#[derive(Debug)]
pub struct Identified<S> {
    identities: Identities,
    recorded: Vec<Option<TaskId>>,
    sink: S,
}

impl<S> Identified<S> {
    /// A sink for traces of a replay.
    pub fn new(identities: Identities, sink: S) -> Identified<S> {
        Identified {
            identities,
            recorded: Vec::new(),
            sink,
        }
    }

    /// The recording's id of each task id of the simulation, and the inner sink.
    pub fn into_parts(self) -> (Vec<Option<TaskId>>, S) {
        (self.recorded, self.sink)
    }
}

impl<S: Sink> Sink for Identified<S> {
    fn begin(&mut self, info: &TraceInfo) {
        self.sink.begin(info);
    }

    fn group(&mut self, info: &GroupInfo) {
        self.sink.group(info);
    }

    fn task(&mut self, info: &TaskInfo) {
        let recorded = self.identities.get(&info.name);
        if self.recorded.len() <= info.id.index() {
            self.recorded.resize(info.id.index() + 1, None);
        }
        self.recorded[info.id.index()] = recorded.map(|recorded| recorded.id);
        match recorded {
            Some(recorded) => self.sink.task(&TaskInfo {
                id: info.id,
                ..recorded.clone()
            }),
            None => self.sink.task(info),
        }
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        self.sink.event(event);
    }

    fn end(&mut self, time: Time) {
        self.sink.end(time);
    }
}
