//! The smallest part of a recording that still shows a symptom.
//!
//! Delta debugging: removes the end, then tasks, half of them at first, then fewer, as long as the
//! symptom remains. Wakeups by a removed task become events from outside.

use std::collections::BTreeSet;
use std::fmt;

use schedlab_trace::{Event, EventKind, Ns, PrevState, Sink, TaskId, Time};

use crate::{Mode, Options};

/// A symptom: a task waits too long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symptom {
    /// The task's name, group or thread id.
    pub task: String,
    /// Its longest wait for a CPU exceeds this time.
    pub longer_than: Ns,
}

impl Symptom {
    /// Parses "wait>10ms of TASK".
    ///
    /// # Errors
    /// The expected form.
    pub fn parse(text: &str) -> Result<Symptom, String> {
        let expected = || "\"wait>TIME of TASK\", such as \"wait>10ms of mariadbd\"".to_string();
        let rest = text.trim().strip_prefix("wait").ok_or_else(expected)?;
        let rest = rest.trim_start().strip_prefix('>').ok_or_else(expected)?;
        let (time, task) = rest.split_once(" of ").ok_or_else(expected)?;
        let time = schedlab_input::quantity::duration(time.trim()).map_err(|m| m.expected)?;
        match task.trim() {
            "" => Err(expected()),
            task => Ok(Symptom {
                task: task.to_string(),
                longer_than: time,
            }),
        }
    }
}

impl fmt::Display for Symptom {
    /// The parsed form, with the time in ns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wait>{}ns of {}", self.longer_than.0, self.task)
    }
}

/// Detects a symptom. As the inner sink of [`Identified`](crate::Identified) it needs ids of the
/// simulation.
#[derive(Clone, Debug)]
pub struct Watch {
    tasks: BTreeSet<TaskId>,
    longer_than: Ns,
    /// The start of each task's wait, by task id.
    since: Vec<Option<Time>>,
    seen: Option<(TaskId, Time, Ns)>,
}

impl Watch {
    /// Watches no task.
    pub fn new(longer_than: Ns) -> Watch {
        Watch {
            tasks: BTreeSet::new(),
            longer_than,
            since: Vec::new(),
            seen: None,
        }
    }

    /// Also watches this task.
    pub fn add(&mut self, task: TaskId) {
        self.tasks.insert(task);
    }

    /// The first task that waited too long, the end of its wait and the length.
    pub fn seen(&self) -> Option<(TaskId, Time, Ns)> {
        self.seen
    }

    fn waits(&mut self, task: TaskId, since: Option<Time>) -> Option<Time> {
        if self.since.len() <= task.index() {
            self.since.resize(task.index() + 1, None);
        }
        std::mem::replace(&mut self.since[task.index()], since)
    }

    fn runs(&mut self, task: TaskId, now: Time) {
        let Some(since) = self.waits(task, None) else {
            return;
        };
        let waited = now.since(since);
        if waited > self.longer_than && self.seen.is_none() && self.tasks.contains(&task) {
            self.seen = Some((task, now, waited));
        }
    }
}

impl Sink for Watch {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Wakeup { task, .. } => {
                let before = self.waits(task, Some(event.time));
                if before.is_some() {
                    self.waits(task, before);
                }
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let stays = matches!(
                    prev_state,
                    PrevState::Preempted | PrevState::Yielded | PrevState::Moved
                );
                if let Some(prev) = prev.filter(|_| stays) {
                    self.waits(prev, Some(event.time));
                }
                if let Some(next) = next {
                    self.runs(next, event.time);
                }
            }
            _ => {}
        }
    }
}

/// The smallest part found.
#[derive(Clone, Debug)]
pub struct Minimised {
    /// The options that rebuild this part.
    pub options: Options,
    /// Number of replays.
    pub replays: u32,
    /// Number of remaining tasks and of all tasks.
    pub tasks: (usize, usize),
}

/// The resolution of the search for the end: this fraction of the span.
const FINEST: u64 = 256;

/// Finds a part that still shows the symptom and from which no single task can be removed.
///
/// `all` are the recording's tasks; tasks in `needed` are kept. `shows` runs a replay and returns
/// the time of the symptom, if it occurred.
///
/// # Errors
/// Those of `shows`. `None` if the whole recording does not show the symptom.
pub fn minimise<E>(
    mode: Mode,
    all: &BTreeSet<TaskId>,
    needed: &BTreeSet<TaskId>,
    mut shows: impl FnMut(&Options) -> Result<Option<Time>, E>,
) -> Result<Option<Minimised>, E> {
    let mut replays = 1;
    let whole = Options {
        mode,
        ..Options::default()
    };
    let Some(showed) = shows(&whole)? else {
        return Ok(None);
    };
    let mut counted = |options: &Options| {
        replays += 1;
        shows(options).map(|showed| showed.is_some())
    };
    let until = cut_end(&whole, showed, &mut counted)?;
    let options = leave_out(
        Options { until, ..whole },
        all.difference(needed).copied().collect(),
        needed,
        &mut counted,
    )?;
    let left = options.keep.as_ref().map_or(all.len(), BTreeSet::len);
    Ok(Some(Minimised {
        options,
        replays,
        tasks: (left, all.len()),
    }))
}

/// The earliest end, within the resolution, with which the symptom still occurs.
fn cut_end<E>(
    whole: &Options,
    showed: Time,
    shows: &mut impl FnMut(&Options) -> Result<bool, E>,
) -> Result<Option<Time>, E> {
    let step = (showed.0 / FINEST).max(1);
    let (mut too_early, mut late) = (0, None);
    // Replayed time differs from recorded time: the end may have to be later than the symptom.
    for end in [showed.0 + step, showed.0 + showed.0 / 8, showed.0 * 2] {
        let options = Options {
            until: Some(Time(end)),
            ..whole.clone()
        };
        if shows(&options)? {
            late = Some(end);
            break;
        }
        too_early = end;
    }
    let Some(mut late) = late else {
        return Ok(None);
    };
    while late - too_early > step {
        let end = too_early + (late - too_early) / 2;
        let options = Options {
            until: Some(Time(end)),
            ..whole.clone()
        };
        match shows(&options)? {
            true => late = end,
            false => too_early = end,
        }
    }
    Ok(Some(Time(late)))
}

/// Removes as many of `others` as possible.
fn leave_out<E>(
    options: Options,
    mut others: Vec<TaskId>,
    needed: &BTreeSet<TaskId>,
    shows: &mut impl FnMut(&Options) -> Result<bool, E>,
) -> Result<Options, E> {
    let with = |others: &[TaskId]| Options {
        keep: Some(needed.iter().chain(others).copied().collect()),
        ..options.clone()
    };
    let mut chunk = others.len().max(1);
    loop {
        let (mut at, before) = (0, others.len());
        while at < others.len() {
            let end = (at + chunk).min(others.len());
            let rest: Vec<TaskId> = [&others[..at], &others[end..]].concat();
            match shows(&with(&rest))? {
                true => others = rest,
                false => at = end,
            }
        }
        match chunk {
            1 if others.len() == before => return Ok(with(&others)),
            _ => chunk = (chunk / 2).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> BTreeSet<TaskId> {
        ids.iter().map(|&id| TaskId(id)).collect()
    }

    #[test]
    fn symptoms_are_read() {
        let symptom = Symptom::parse("wait>10ms of apache2").unwrap();
        assert_eq!(symptom.task, "apache2");
        assert_eq!(symptom.longer_than, Ns::from_ms(10));
        assert_eq!(Symptom::parse("wait > 1us of a b").unwrap().task, "a b");
        for wrong in [
            "",
            "wait",
            "wait>10ms",
            "wait>10 of x",
            "wait>1ms of ",
            "sleep>1ms of x",
        ] {
            assert!(Symptom::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_needed_is_left_and_nothing_else() {
        // The symptom needs the tasks 3 and 7 beside 0, and shows at 600 of 1000 ns.
        let all: BTreeSet<TaskId> = (0..20).map(TaskId).collect();
        let shows = |options: &Options| {
            let keep = options.keep.as_ref();
            let there = |id| keep.is_none_or(|keep| keep.contains(&TaskId(id)));
            let late = options.until.is_none_or(|until| until.0 >= 600);
            Ok::<_, ()>((there(3) && there(7) && late).then_some(Time(600)))
        };
        let found = minimise(Mode::Closed, &all, &ids(&[0]), shows)
            .unwrap()
            .unwrap();
        assert_eq!(found.options.keep, Some(ids(&[0, 3, 7])));
        assert_eq!(found.tasks, (3, 20));
        let until = found.options.until.unwrap().0;
        assert!((600..=602).contains(&until), "{until}");
    }

    #[test]
    fn what_never_shows_cannot_be_minimised() {
        let all = ids(&[0, 1]);
        let found = minimise(Mode::Open, &all, &ids(&[0]), |_| Ok::<_, ()>(None));
        assert!(found.unwrap().is_none());
    }
}
