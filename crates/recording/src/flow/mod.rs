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
mod futexes;
mod sockets;
mod stream;

use std::fmt;

use stream::Streams;

use crate::event::Pid;

/// What holds something that tasks wait for, such as one direction of a socket: an index into [`FlowLog::channels`].
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
    /// Waits for a connection whose other end is not known.
    Accept,
    /// Waits until all that could write to a channel is closed.
    Closed,
    /// Waits for a time.
    Sleep {
        /// It is a point in time, not a distance.
        absolute: bool,
    },
    /// Waits for a child to end.
    Child,
    /// Waits for a signal.
    Signal,
    /// Ends the task.
    Exit,
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
    /// For one of several files, which is not known.
    Poll,
    /// For the end of what another task writes.
    Closed,
    /// For a signal.
    Signal,
    /// For a connection.
    Accept,
    /// For a time.
    Time,
    /// For a child's end.
    Child,
    /// Not known.
    Unknown,
}

impl Reason {
    /// All of them, in their order.
    pub const ALL: [Reason; 10] = [
        Reason::Empty,
        Reason::Full,
        Reason::Futex,
        Reason::Poll,
        Reason::Closed,
        Reason::Signal,
        Reason::Accept,
        Reason::Time,
        Reason::Child,
        Reason::Unknown,
    ];
}

impl Flow {
    /// Takes so much from a channel.
    fn read(streams: &mut Streams, channel: ChannelId, bytes: u32) -> Flow {
        streams.read(channel, bytes);
        Flow::Read { channel, bytes }
    }

    /// Puts so much into a channel; nothing is no write.
    fn write(streams: &mut Streams, channel: ChannelId, bytes: u32) -> Flow {
        streams.write(channel, bytes);
        match bytes {
            0 => Flow::Other,
            _ => Flow::Write { channel, bytes },
        }
    }
}

impl FlowLog {
    /// Why a task waits in this call.
    pub fn reason(&self, flow: &Flow) -> Reason {
        match flow {
            Flow::Read { channel, .. } => match self.channels[channel.0 as usize].kind {
                Kind::Connections => Reason::Accept,
                Kind::Futex => Reason::Futex,
                _ => Reason::Empty,
            },
            Flow::Write { .. } => Reason::Full,
            Flow::FutexWait { .. } | Flow::FutexWake { .. } => Reason::Futex,
            Flow::Poll { .. } => Reason::Poll,
            Flow::Accept => Reason::Accept,
            Flow::Closed => Reason::Closed,
            Flow::Sleep { .. } => Reason::Time,
            Flow::Child => Reason::Child,
            Flow::Signal => Reason::Signal,
            Flow::Exit | Flow::Other => Reason::Unknown,
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
            Reason::Closed => "for the end of a stream",
            Reason::Signal => "for signals",
            Reason::Accept => "for connections",
            Reason::Time => "for a time",
            Reason::Child => "for children",
            Reason::Unknown => "for reasons unknown",
        })
    }
}

/// What a channel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A pipe.
    Pipe,
    /// One direction of a connection between unix sockets.
    Socket,
    /// One direction of a TCP connection of the machine with itself.
    Tcp,
    /// Connections that were made and not accepted yet.
    Connections,
    /// A counter: eventfd(2).
    Event,
    /// What a task hands over to one that waits for a value in memory.
    Futex,
}

/// What is known about a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// What it is.
    pub kind: Kind,
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

pub use calls::{filter, names};
pub(crate) use follow::follow;
