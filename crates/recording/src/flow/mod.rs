//! Data flow: the reasons why tasks wait, from their system calls.
//!
//! ```text
//!   sys_enter, sys_exit ──> Calls (which call) ──> Files (which file a descriptor means) ──> Flow
//! ```
//!
//! A read of a pipe waits for bytes that another task writes. Which task wakes which depends on the
//! schedule; the bytes read and written do not. Each system call becomes a [`Flow`], in the order
//! of entry. A call on an unknown object becomes [`Flow::Other`]: the reason of its wait is
//! unknown.

mod calls;
mod files;
mod follow;
mod futexes;
mod sockets;
mod stream;

use std::fmt;

use stream::Streams;

use crate::event::Pid;

/// Something with a content that tasks wait for, such as one direction of a socket: an index into
/// [`FlowLog::channels`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChannelId(pub u32);

/// The meaning of a system call, with its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Takes bytes from a channel; waits if and only if it is empty.
    Read {
        /// The channel.
        channel: ChannelId,
        /// Bytes taken.
        bytes: u32,
    },
    /// Puts bytes into a channel; waits if and only if it is full.
    Write {
        /// The channel.
        channel: ChannelId,
        /// Bytes put.
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
        /// Number of tasks woken.
        woken: u32,
    },
    /// Waits until one of several files is ready: poll(2), select(2), epoll_wait(2).
    Poll {
        /// Number of files that are ready.
        ready: u32,
    },
    /// Waits for a connection whose peer is unknown.
    Accept,
    /// Waits until all writers of a channel have closed it.
    Closed,
    /// Waits for a timer.
    Sleep {
        /// The time is absolute, not relative.
        absolute: bool,
    },
    /// Waits for a child to end.
    Child,
    /// Waits for a signal.
    Signal,
    /// Ends the task.
    Exit,
    /// Anything else; if it waits, the reason is unknown.
    Other,
}

/// Why a task waits, for counting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// For data in a channel.
    Empty,
    /// For room in a channel.
    Full,
    /// For a futex.
    Futex,
    /// For one of several files; it is unknown which.
    Poll,
    /// For the end of a stream.
    Closed,
    /// For a signal.
    Signal,
    /// For a connection.
    Accept,
    /// For a timer.
    Time,
    /// For the end of a child.
    Child,
    /// Not known.
    Unknown,
}

impl Reason {
    /// All reasons, in their order.
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
    /// Takes bytes from a channel.
    fn read(streams: &mut Streams, channel: ChannelId, bytes: u32) -> Flow {
        streams.read(channel, bytes);
        Flow::Read { channel, bytes }
    }

    /// Puts bytes into a channel; 0 bytes are no write.
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
            Reason::Time => "for timers",
            Reason::Child => "for children",
            Reason::Unknown => "for unknown reasons",
        })
    }
}

/// The kind of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A pipe.
    Pipe,
    /// One direction of a connection between unix sockets.
    Socket,
    /// One direction of a TCP connection within the machine.
    Tcp,
    /// A listener's queue of connections.
    Connections,
    /// A counter: eventfd(2).
    Event,
    /// What a waking task passes to a task that waits on a futex.
    Futex,
}

/// Properties of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Its kind.
    pub kind: Kind,
    /// Its capacity in bytes; a writer waits when it is full.
    pub capacity_bytes: u32,
    /// Waiting writers continue when it contains at most this number of bytes.
    pub low_water_bytes: u32,
    /// Bytes it contained when the recording began, if they were read later.
    pub initial_bytes: u32,
}

/// The data flow of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowLog {
    /// The flow of each system call, in the order of entry.
    pub calls: Vec<Flow>,
    /// The channels.
    pub channels: Vec<Channel>,
}

pub use calls::{filter, names};
pub(crate) use follow::follow;
