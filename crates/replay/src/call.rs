//! System calls in programs.

use schedlab_recording::flow::{ChannelId, Flow, Reason};
use schedlab_workload::Op;

/// A system call that a task is in.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub flow: Flow,
    pub reason: Reason,
    /// The place in its program where it was entered.
    pub entry: usize,
    /// Whether its operation is in the program.
    pub placed: bool,
    /// The task's work when it was entered.
    pub done: u64,
    /// How often it slept in it and woke others.
    pub sleeps: u32,
    pub wakes: u32,
}

impl Call {
    /// What it is in a program, if that is known.
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
