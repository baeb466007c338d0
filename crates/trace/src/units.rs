//! Units as distinct types: times, durations, ids.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds since the machine started (or the recording began).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// A length of time in nanoseconds.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
pub struct Ns(pub u64);

/// A task: dense, unique during a run, never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TaskId(pub u32);

/// A logical CPU, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CpuId(pub u32);

/// A control group: dense, unique during a run.  The root is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct GroupId(pub u32);

/// A named thing a workload counts or times ("message", "frame"): an index into
/// [`TraceInfo::marks`](crate::TraceInfo::marks).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MarkId(pub u32);

impl Time {
    /// The start of the machine.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// Time since `earlier`, which must not be later.
    pub fn since(self, earlier: Time) -> Ns {
        debug_assert!(self >= earlier, "{self:?} is before {earlier:?}");
        Ns(self.0 - earlier.0)
    }
}

impl TaskId {
    /// The task's index in tables of tasks.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl GroupId {
    /// The group's index in tables of groups.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl CpuId {
    /// The CPU's index in tables of CPUs.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Ns {
    /// A duration of 0.
    pub const ZERO: Ns = Ns(0);

    /// Whole microseconds.
    pub const fn from_us(us: u64) -> Ns {
        Ns(us * 1_000)
    }

    /// Whole milliseconds.
    pub const fn from_ms(ms: u64) -> Ns {
        Ns(ms * 1_000_000)
    }

    /// Whole seconds.
    pub const fn from_secs(s: u64) -> Ns {
        Ns(s * 1_000_000_000)
    }

    /// In seconds, for output; never an input of a simulation.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Ns> for Time {
    type Output = Time;
    fn add(self, ns: Ns) -> Time {
        Time(self.0 + ns.0)
    }
}

impl AddAssign<Ns> for Time {
    fn add_assign(&mut self, ns: Ns) {
        self.0 += ns.0;
    }
}

impl Add for Ns {
    type Output = Ns;
    fn add(self, other: Ns) -> Ns {
        Ns(self.0 + other.0)
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Ns) {
        self.0 += other.0;
    }
}

impl Sub for Ns {
    type Output = Ns;
    fn sub(self, other: Ns) -> Ns {
        Ns(self.0 - other.0)
    }
}

impl fmt::Display for Ns {
    /// The largest unit that keeps the number at least 1, with up to three digits behind the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..=999 => return write!(f, "{} ns", self.0),
            1_000..=999_999 => (self.0 as f64 / 1e3, "µs"),
            1_000_000..=999_999_999 => (self.0 as f64 / 1e6, "ms"),
            _ => (self.0 as f64 / 1e9, "s"),
        };
        let digits = match value {
            v if v < 10.0 => 2,
            v if v < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

impl fmt::Display for Time {
    /// Seconds with nine digits, as kernel traces print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
