//! The explanation of a wait, and its text.

use std::fmt;

use schedlab_trace::{printable, CpuId, Ns, PrevState, Time};
use serde::{Serialize, Serializer};

/// How a wait began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Began {
    /// The task waited when the trace began, or no event shows the begin of the wait.
    Unseen,
    /// This task woke the waiting task.
    WokenBy(String),
    /// An interrupt woke it.
    WokenByInterrupt,
    /// It was forked, by this task if the trace names it.
    Forked(Option<String>),
    /// This task preempted it; none: the CPU went idle.
    Preempted(Option<String>),
    /// It gave the CPU up, to this task.
    Yielded(Option<String>),
    /// It had to leave its CPU.
    Moved,
}

/// What ended a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The CPU idled.
    CpuWasIdle,
    /// This task left the CPU, and how.
    Left(String, Left),
    /// Nothing: the trace ended.
    NotYet,
}

/// How the task that ran before left the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It was displaced.
    Preempted,
    /// It yielded.
    Yielded,
    /// It went to sleep.
    Slept,
    /// It exited.
    Exited,
    /// It went to another CPU.
    Moved,
}

impl Left {
    pub(crate) fn of(state: PrevState) -> Left {
        match state {
            PrevState::Preempted => Left::Preempted,
            PrevState::Yielded => Left::Yielded,
            PrevState::Moved => Left::Moved,
            PrevState::Exited => Left::Exited,
            PrevState::Sleeping | PrevState::DiskSleep | PrevState::Idle => Left::Slept,
        }
    }
}

/// A task that ran instead.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Instead {
    /// The task; none: the CPU idled.
    pub task: Option<String>,
    /// The CPU.
    pub cpu: CpuId,
    /// How long it ran during the wait.
    pub ns: Ns,
    /// How many times it ran.
    pub turns: u64,
    /// Its priority when it last began to run; none of an idle CPU.
    pub priority: Option<i32>,
}

/// A wait.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Wait {
    /// The task that waited.
    pub task: String,
    /// When it began.
    pub start: Time,
    /// How long it was.
    pub ns: Ns,
    /// The task's own priority when it ended.
    pub priority: i32,
    /// How it began.
    pub began: Began,
    /// The run queues it waited on, in order.
    pub cpus: Vec<CpuId>,
    /// The tasks that ran there instead, the longest first.
    pub instead: Vec<Instead>,
    /// The CPU that ran it in the end.
    pub cpu: CpuId,
    /// What ended it.
    pub ended: Ended,
}

/// The worst waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    /// The policy, as the trace names it.
    pub policy: String,
    /// Tasks that were asked about and found.
    pub tasks: u64,
    /// Their waits.
    pub waits: u64,
    /// The sum of all these waits.
    pub waited: Ns,
    /// The worst ones, the longest first; equal ones by time.
    pub worst: Vec<Wait>,
}

impl fmt::Display for Began {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Began::Unseen => write!(f, "waiting already"),
            Began::WokenBy(task) => write!(f, "woken by {}", printable(task)),
            Began::WokenByInterrupt => write!(f, "woken by an interrupt"),
            Began::Forked(Some(task)) => write!(f, "forked by {}", printable(task)),
            Began::Forked(None) => write!(f, "new"),
            Began::Preempted(Some(task)) => write!(f, "preempted by {}", printable(task)),
            Began::Preempted(None) => write!(f, "preempted"),
            Began::Yielded(Some(task)) => write!(f, "yielded to {}", printable(task)),
            Began::Yielded(None) => write!(f, "yielded"),
            Began::Moved => write!(f, "sent to another CPU"),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ended::Left(task, left) = self else {
            return write!(
                f,
                "{}",
                match self {
                    Ended::CpuWasIdle => "the CPU was idle",
                    _ => "nothing: the trace ends",
                }
            );
        };
        let how = match left {
            Left::Preempted => "was preempted",
            Left::Yielded => "yielded",
            Left::Slept => "went to sleep",
            Left::Exited => "exited",
            Left::Moved => "went to another CPU",
        };
        write!(f, "{} {how}", printable(task))
    }
}

impl Serialize for Began {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Ended {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Wait {
    /// Several lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wait {
            task,
            start,
            ns,
            priority,
            began,
            ..
        } = self;
        writeln!(
            f,
            "{} waited {ns} from {start} at priority {priority}: {began}",
            printable(task)
        )?;
        let cpus: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
        writeln!(f, "    on the run queue of CPU {}", cpus.join(", then "))?;
        for instead in self.instead.iter().take(SHOWN) {
            writeln!(f, "    {instead}")?;
        }
        let rest = self.instead.get(SHOWN..).unwrap_or_default();
        if !rest.is_empty() {
            let ns = rest.iter().fold(Ns::ZERO, |sum, instead| sum + instead.ns);
            writeln!(f, "    {ns} of {} others", rest.len())?;
        }
        writeln!(f, "    ran on CPU {}: {}", self.cpu, self.ended)
    }
}

/// How many of the tasks that ran instead are shown; the others are summed up.
const SHOWN: usize = 5;

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ns, cpu) = (self.ns, self.cpu);
        match (&self.task, self.priority) {
            (Some(task), Some(priority)) => {
                let times = match self.turns {
                    1 => String::new(),
                    turns => format!(" in {turns} turns"),
                };
                write!(
                    f,
                    "{ns} of {} on CPU {cpu} at priority {priority}{times}",
                    printable(task)
                )
            }
            _ => write!(f, "{ns} of CPU {cpu} idling"),
        }
    }
}
