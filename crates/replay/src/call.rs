//! System calls in programs.

use schedlab_recording::flow::{ChannelId, Flow, Reason};
use schedlab_workload::Op;

/// A system call that a task is in.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub flow: Flow,
    pub reason: Reason,
    /// The index in the task's program at its entry.
    pub entry: usize,
    /// Whether its operation is in the program.
    pub placed: bool,
    /// The task's work at the entry.
    pub done: u64,
    /// How often the task slept in it, and how often it woke another task.
    pub sleeps: u32,
    pub wakes: u32,
}

impl Call {
    /// Its operation in a program, if its object is known.
    pub fn op(&self) -> Option<Op> {
        match self.flow {
            Flow::Read {
                channel: ChannelId(channel),
                bytes: count,
            } => Some(Op::Receive { channel, count }),
            Flow::Write {
                channel: ChannelId(channel),
                bytes: count,
            } => Some(Op::Send { channel, count }),
            _ => None,
        }
    }
}
