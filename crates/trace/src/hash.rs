//! The 128-bit hash that names a run: equal hashes, equal traces.

use std::{fmt, io};

use xxhash_rust::xxh3::Xxh3;

use crate::{
    CpuMax, Event, EventKind, GroupId, GroupInfo, GroupWeight, Overhead, PrevState, Sink,
    TaskClass, TaskInfo, Time, TraceInfo,
};

/// The hash of a whole trace (XXH3, 128 bits), printed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TraceHash(pub u128);

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl serde::Serialize for TraceHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl TraceHash {
    /// One name for several traces in this order, each by its printed hash.
    pub fn of_all<'a>(hashes: impl IntoIterator<Item = &'a str>) -> TraceHash {
        let mut sink = HashSink::default();
        hashes.into_iter().for_each(|hash| sink.text(hash));
        sink.finish()
    }
}

/// The hash of the bytes written to it, for things without a trace: sources, descriptions.
#[derive(Default)]
pub struct TextHash(HashSink);

impl TextHash {
    /// The hash of what was written.
    pub fn finish(&self) -> TraceHash {
        self.0.finish()
    }
}

impl io::Write for TextHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.state.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hashes a trace as its events arrive.  Every field of every event counts, in little-endian
/// order on every machine, and so do the tasks' names and the end time.
#[derive(Default)]
pub struct HashSink {
    state: Xxh3,
}

impl HashSink {
    /// The hash of the trace so far.
    pub fn finish(&self) -> TraceHash {
        TraceHash(self.state.digest128())
    }

    fn words(&mut self, words: [u64; 4]) {
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        self.state.update(&bytes);
    }

    fn text(&mut self, text: &str) {
        self.state.update(&(text.len() as u64).to_le_bytes());
        self.state.update(text.as_bytes());
    }
}

impl Sink for HashSink {
    fn begin(&mut self, info: &TraceInfo) {
        self.state.update(&info.nr_cpus.to_le_bytes());
    }

    fn group(&mut self, info: &GroupInfo) {
        self.text(&info.name);
        self.words([
            u64::from(info.id.0) | group_code(info.parent) << 32,
            weight_code(info.weight),
            max_code(info.max)[0],
            max_code(info.max)[1],
        ]);
    }

    fn task(&mut self, info: &TaskInfo) {
        self.text(&info.name);
        self.words([
            u64::from(info.id.0) | u64::from(info.process) << 32,
            info.nice as u64,
            class_code(info.class),
            u64::from(info.rt_priority),
        ]);
        // Traces without control groups hash as they did before there were any.
        if let Some(group) = info.control_group {
            self.words([u64::from(group.0), 0, 0, 0]);
        }
    }

    fn event(&mut self, event: &Event) {
        let (code, a, b) = encode(&event.kind);
        self.words([event.time.0, u64::from(event.cpu.0) | code << 32, a, b]);
    }

    fn end(&mut self, time: Time) {
        self.words([time.0, u64::MAX, 0, 0]);
    }
}

/// A task that may be absent, as a number no task has.
fn task_code(task: Option<crate::TaskId>) -> u64 {
    task.map_or(u64::from(u32::MAX), |t| u64::from(t.0))
}

fn group_code(group: Option<GroupId>) -> u64 {
    group.map_or(u64::from(u32::MAX), |g| u64::from(g.0))
}

fn weight_code(weight: GroupWeight) -> u64 {
    match weight {
        GroupWeight::Weight(weight) => u64::from(weight),
        GroupWeight::Shares(shares) => 3 << 32 | u64::from(shares),
        GroupWeight::Nice(nice) => 1 << 32 | u64::from(nice as u8),
        GroupWeight::Idle => 2 << 32,
    }
}

fn max_code(max: Option<CpuMax>) -> [u64; 2] {
    let Some(max) = max else { return [0, 0] };
    let both = u64::from(max.quota_us) | u64::from(max.period_us) << 32;
    [both, u64::from(max.burst_us)]
}

fn class_code(class: TaskClass) -> u64 {
    match class {
        TaskClass::Normal => 0,
        TaskClass::Batch => 1,
        TaskClass::Idle => 2,
        TaskClass::Fifo => 3,
        TaskClass::Rr => 4,
        TaskClass::Iso => 5,
    }
}

fn prev_state_code(state: PrevState) -> u64 {
    match state {
        PrevState::Preempted => 0,
        PrevState::Yielded => 1,
        PrevState::Moved => 2,
        PrevState::Sleeping => 3,
        PrevState::DiskSleep => 4,
        PrevState::Exited => 5,
        PrevState::Idle => 6,
    }
}

fn overhead_code(kind: Overhead) -> u64 {
    match kind {
        Overhead::Schedule => 0,
        Overhead::Switch => 1,
        Overhead::Wakeup => 2,
        Overhead::Lock => 3,
        Overhead::Tick => 4,
        Overhead::Syscall => 5,
    }
}

/// The event's code and its fields in two words.  The codes are part of the hash: do not renumber.
fn encode(kind: &EventKind) -> (u64, u64, u64) {
    let task = |t: crate::TaskId| u64::from(t.0);
    match *kind {
        EventKind::Fork { child, parent } => (1, task(child), task_code(parent)),
        EventKind::Exec { task: t } => (2, task(t), 0),
        EventKind::Exit { task: t } => (3, task(t), 0),
        EventKind::Reap { task: t, reaper } => (4, task(t), task_code(reaper)),
        EventKind::Waking { task: t, by } => (5, task(t), by as u64),
        EventKind::Wakeup { task: t, target } => (6, task(t), u64::from(target.0)),
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => (
            7,
            task_code(prev) | task_code(next) << 32,
            prev_state_code(prev_state),
        ),
        EventKind::Migrate { task: t, from, to } => {
            (8, task(t), u64::from(from.0) | u64::from(to.0) << 32)
        }
        EventKind::Yield { task: t } => (9, task(t), 0),
        EventKind::Schedule {
            examined,
            recalculations,
        } => (10, u64::from(examined), u64::from(recalculations)),
        EventKind::Overhead { kind, ns } => (11, overhead_code(kind), ns.0),
        EventKind::Nice { task: t, nice } => (12, task(t), nice as u64),
        EventKind::Class {
            task: t,
            class,
            rt_priority,
        } => (
            13,
            task(t),
            class_code(class) | u64::from(rt_priority) << 32,
        ),
        EventKind::Priority { task: t, priority } => (14, task(t), priority as u64),
        EventKind::Count { counter, by } => (15, u64::from(counter), by),
        EventKind::Mark {
            task: t,
            mark,
            count,
        } => (16, task(t) | u64::from(mark.0) << 32, u64::from(count)),
        EventKind::Latency { task: t, mark, ns } => (17, task(t) | u64::from(mark.0) << 32, ns.0),
        EventKind::Recalculate { passes } => (18, u64::from(passes), 0),
        EventKind::Regroup { task: t, group } => (19, task(t), group_code(group)),
        EventKind::Weigh { group, weight } => (20, u64::from(group.0), weight_code(weight)),
        EventKind::Limit { group, max } => {
            let [both, burst] = max_code(max);
            (21, u64::from(group.0) | burst << 32, both)
        }
        EventKind::Throttle { group, on } => (22, u64::from(group.0), u64::from(on.0)),
        EventKind::Unthrottle { group, on } => (23, u64::from(group.0), u64::from(on.0)),
        EventKind::Throttled { group, ns, times } => {
            (24, u64::from(group.0) | u64::from(times) << 32, ns.0)
        }
    }
}
