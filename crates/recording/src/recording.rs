//! A recording: a kernel's events in order, and facts about its tasks.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuId, Sink, Time, TraceInfo};

use crate::context::guess_contexts;
use crate::event::{Comm, KernelEvent, KernelEventKind, Pid};
use crate::flow::{follow, FlowLog};
use crate::identity::KnownTask;
use crate::missing::{merged, missing_switches};
use crate::notes::Notes;
use crate::order::straighten;
use crate::play::{play, FlowSink, Mended, WithoutFlow};

/// The wakeup tracepoints of a recording; a missing one is inferred from the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carries {
    /// `sched_waking`; without it a task is woken when it is queued.
    pub waking: bool,
    /// `sched_wakeup`; without it a task is queued when it is woken.
    pub wakeup: bool,
}

/// A recording in memory. Fill it with [`push`](Recording::push), then call
/// [`finish`](Recording::finish) once. After that it can be played any number of times.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The tracepoints it has.
    pub carries: Carries,
    /// Whether the context of wakeups, task or interrupt, was recorded.
    pub has_contexts: bool,
    /// Start and end of the recording, on its clock.
    pub span: (Time, Time),
    /// The kernel's release, as printed by `uname -r`, if it is known.
    pub release: Option<String>,
    /// Is it the trace of a simulation?
    pub is_simulated: bool,
    /// Events that the kernel reports as lost.
    pub nr_lost: u64,
    /// Tasks that existed at the start.
    pub tasks: Vec<KnownTask>,
    /// CPU time that recording a system call costs its task, in ns.
    pub call_cost_ns: u64,
    /// The scheduler's own counters, by name.
    pub counters: Vec<(String, u64)>,
    notes: Option<Notes>,
    threads: FxHashMap<Pid, Pid>,
    events: Vec<KernelEvent>,
    names: Names,
    nr_cpus: u32,
    nr_straightened: u64,
    missing: Vec<KernelEvent>,
}

/// Names without duplicates.
#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<String>,
    numbers: FxHashMap<String, Comm>,
}

impl Recording {
    /// An empty recording of a machine with at least `nr_cpus` CPUs.
    pub fn new(carries: Carries, nr_cpus: u32) -> Recording {
        Recording {
            carries,
            has_contexts: true,
            span: (Time::ZERO, Time::ZERO),
            release: None,
            is_simulated: false,
            nr_lost: 0,
            tasks: Vec::new(),
            call_cost_ns: 0,
            counters: Vec::new(),
            notes: None,
            threads: FxHashMap::default(),
            events: Vec::new(),
            names: Names::default(),
            nr_cpus,
            nr_straightened: 0,
            missing: Vec::new(),
        }
    }

    /// The number of a name.
    pub fn comm(&mut self, name: &str) -> Comm {
        if let Some(&known) = self.names.numbers.get(name) {
            return known;
        }
        let comm = Comm(self.names.list.len() as u32);
        self.names.list.push(name.to_string());
        self.names.numbers.insert(name.to_string(), comm);
        comm
    }

    /// The name of a number.
    pub fn name(&self, comm: Comm) -> &str {
        &self.names.list[comm.0 as usize]
    }

    /// Sets the smallest number of CPUs; events may name higher ones.
    pub fn at_least_cpus(&mut self, nr_cpus: u32) {
        self.nr_cpus = self.nr_cpus.max(nr_cpus);
    }

    /// Records the process of a thread without a [`KnownTask`]. The first call for a thread counts.
    pub fn thread(&mut self, pid: Pid, tgid: Pid) {
        self.threads.entry(pid).or_insert(tgid);
    }

    /// The process of a thread, if it is known.
    pub fn process_of(&self, pid: Pid) -> Option<Pid> {
        self.threads.get(&pid).copied()
    }

    /// Adds an event.  The events of one CPU are added in order.
    pub fn push(&mut self, event: KernelEvent) {
        let also = match event.kind {
            KernelEventKind::Migrate { from, to, .. } => from.max(to),
            KernelEventKind::Waking { target, .. } | KernelEventKind::Wakeup { target, .. } => {
                target
            }
            _ => CpuId(0),
        };
        self.nr_cpus = self.nr_cpus.max(event.cpu.max(also).0 + 1);
        self.events.push(event);
    }

    /// Ends the recording: all events were added.  Without a span it lasts from the first event to the last.
    pub fn finish(&mut self, span: Option<(Time, Time)>) {
        // Equal times keep the order in which they were added.
        self.events.sort_by_key(|event| event.time);
        self.nr_straightened = straighten(&mut self.events, self.carries.wakeup);
        self.missing = missing_switches(&self.events);
        if !self.has_contexts {
            guess_contexts(&mut self.events, &self.missing);
        }
        self.events.shrink_to_fit();
        let time = |event: Option<&KernelEvent>| event.map_or(Time::ZERO, |event| event.time);
        let events = (time(self.events.first()), time(self.events.last()));
        let (start, end) = span.unwrap_or(events);
        self.span = (start, end.max(start));
    }

    /// Adds the notes of a program.  The recording is cut to the program's measured part, if it contains that.
    pub fn note(&mut self, notes: Notes) {
        let (start, end) = self.span;
        let within = |time: u64| Time(time).clamp(start, end);
        self.span = (within(notes.start_ns), within(notes.end_ns));
        self.notes = Some(notes);
    }

    /// The notes of a program.
    pub fn notes(&self) -> Option<&Notes> {
        self.notes.as_ref()
    }

    /// All events, in the order of their times once the recording is finished.
    pub fn events(&self) -> &[KernelEvent] {
        &self.events
    }

    /// Events of different CPUs that were in an impossible order and were moved by a few
    /// microseconds.
    pub fn nr_straightened(&self) -> u64 {
        self.nr_straightened
    }

    /// Number of inferred switches.
    pub(crate) fn nr_missing(&self) -> u64 {
        self.missing.len() as u64
    }

    /// All events, and the inferred switches.
    pub(crate) fn completed(&self) -> impl Iterator<Item = &KernelEvent> {
        merged(&self.events, &self.missing)
    }

    /// The number of CPUs, as far as the recording shows.
    pub fn nr_cpus(&self) -> u32 {
        self.nr_cpus
    }

    /// Were system calls recorded?
    pub fn has_calls(&self) -> bool {
        self.events.iter().any(is_call)
    }

    /// How many system calls were recorded.
    pub fn nr_calls(&self) -> u64 {
        self.events.iter().filter(|event| is_call(event)).count() as u64
    }

    /// The data flow, if system calls were recorded.
    pub fn flow(&self) -> Option<FlowLog> {
        self.has_calls().then(|| follow(self))
    }

    /// As [`play`](Recording::play), with the data flow.
    pub fn play_flow(&self, info: &TraceInfo, flow: &FlowLog, sink: &mut dyn FlowSink) -> Mended {
        play(self, &self.describe(info), &flow.calls, sink)
    }

    /// Plays the recording into a sink as a trace that begins at 0; returns the number of added
    /// events.
    ///
    /// Sets in `info` the number of CPUs, the kernel's release, the counters, the marks and whether
    /// there are costs.
    pub fn play(&self, info: &TraceInfo, sink: &mut dyn Sink) -> Mended {
        play(self, &self.describe(info), &[], &mut WithoutFlow(sink))
    }

    fn describe(&self, info: &TraceInfo) -> TraceInfo {
        TraceInfo {
            nr_cpus: self.nr_cpus,
            has_costs: false,
            nice_is_weighted: info.nice_is_weighted,
            is_flat: info.is_flat,
            knows_future: info.knows_future,
            release: self.release.clone(),
            counters: self.counters.iter().map(|(name, _)| name.clone()).collect(),
            marks: self
                .notes
                .as_ref()
                .map_or_else(Vec::new, |notes| notes.marks.clone()),
            ..info.clone()
        }
    }
}

fn is_call(event: &KernelEvent) -> bool {
    matches!(event.kind, KernelEventKind::Enter { .. })
}
