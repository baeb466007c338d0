//! Data flow: what system calls say about why a task waits.
//!
//! ```text
//!   sys_enter, sys_exit ──> Calls (which call) ──> Files (which file a descriptor means) ──> Flow
//! ```
//!
//! A read of a pipe waits for bytes that another task writes.  Who is woken by whom depends on who runs first; what is
//! written and read does not.  Each call that was entered becomes a [`Flow`], in the order of the events.  Calls whose
//! object is unknown become [`Flow::Other`]: why they wait is not known.

mod calls;
mod files;
mod follow;

use std::fmt;

use crate::event::Pid;

/// One direction of a pipe or of a socket: an index into [`FlowLog::channels`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChannelId(pub u32);

/// What a system call is about, with its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Takes bytes from a channel; waits if and only if it is empty.
    Read {
        /// The channel.
        channel: ChannelId,
        /// How many bytes it got.
        bytes: u32,
    },
    /// Puts bytes into a channel; waits if and only if it is full.
    Write {
        /// The channel.
        channel: ChannelId,
        /// How many bytes it put.
        bytes: u32,
    },
    /// Waits for a value in memory to change.
    FutexWait {
        /// Its process and address.
        futex: (Pid, u64),
    },
    /// Wakes tasks that wait for a value in memory.
    FutexWake {
        /// Its process and address.
        futex: (Pid, u64),
        /// How many were woken.
        woken: u32,
    },
    /// Waits until one of several files is ready: poll(2), select(2), epoll_wait(2).
    Poll {
        /// How many are.
        ready: u32,
    },
    /// Waits for a connection.
    Accept,
    /// Waits for a time.
    Sleep,
    /// Waits for a child to end.
    Child,
    /// Anything else: why it waits, if it does, is not known.
    Other,
}

/// Why a task waits, for counting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// For bytes.
    Empty,
    /// For room.
    Full,
    /// For a value in memory.
    Futex,
    /// For one of several files.
    Poll,
    /// For a connection.
    Accept,
    /// For a time.
    Time,
    /// For a child's end.
    Child,
    /// Not known.
    Unknown,
}

impl Flow {
    /// Why a task waits in this call.
    pub fn reason(&self) -> Reason {
        match self {
            Flow::Read { .. } => Reason::Empty,
            Flow::Write { .. } => Reason::Full,
            Flow::FutexWait { .. } | Flow::FutexWake { .. } => Reason::Futex,
            Flow::Poll { .. } => Reason::Poll,
            Flow::Accept => Reason::Accept,
            Flow::Sleep => Reason::Time,
            Flow::Child => Reason::Child,
            Flow::Other => Reason::Unknown,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Empty => "for data",
            Reason::Full => "for room",
            Reason::Futex => "on futexes",
            Reason::Poll => "in poll",
            Reason::Accept => "for connections",
            Reason::Time => "for a time",
            Reason::Child => "for children",
            Reason::Unknown => "for reasons unknown",
        })
    }
}

/// What is known about a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Bytes it holds before writers wait.
    pub capacity_bytes: u32,
    /// Writers that wait go on when it holds no more than this.
    pub low_water_bytes: u32,
    /// Bytes in it when the recording began, as far as they were read.
    pub initial_bytes: u32,
}

/// The data flow of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowLog {
    /// Of each system call that was entered, in the order of the events.
    pub calls: Vec<Flow>,
    /// The channels.
    pub channels: Vec<Channel>,
}

pub use calls::filter;
pub(crate) use follow::follow;
