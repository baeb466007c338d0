//! hackbench with processes and sockets: in each group every sender writes to every receiver.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::family::{run, Work};
use crate::Cost;

/// Bytes of a message, as in hackbench.
const MESSAGE_BYTES: usize = 100;

/// The size of the workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hackbench {
    /// Groups; tasks of different groups do not communicate.
    pub groups: u32,
    /// Senders in a group; the number of receivers is the same.
    pub pairs: u32,
    /// Messages from each sender to each receiver of its group.
    pub messages: u32,
}

impl Hackbench {
    /// Runs hackbench.
    ///
    /// # Errors
    /// A process cannot be started, or fails.
    pub fn run(&self) -> io::Result<Cost> {
        let mut works = Vec::new();
        for _ in 0..self.groups {
            works.extend(self.group()?);
        }
        run(works)
    }

    fn group(&self) -> io::Result<Vec<Work>> {
        let sockets = (0..self.pairs).map(|_| UnixStream::pair());
        let (receiving, sending): (Vec<_>, Vec<_>) =
            sockets.collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
        let sending = Arc::new(sending);
        let (messages, pairs) = (self.messages, self.pairs);
        let receivers = receiving
            .into_iter()
            .map(|socket| -> Work { Box::new(move || receive(socket, messages * pairs)) });
        let senders = (0..pairs).map(|_| -> Work {
            let sending = Arc::clone(&sending);
            Box::new(move || send(&sending, messages))
        });
        Ok(receivers.chain(senders).collect())
    }
}

fn send(sockets: &[UnixStream], messages: u32) -> io::Result<()> {
    for _ in 0..messages {
        for mut socket in sockets {
            socket.write_all(&[0; MESSAGE_BYTES])?;
        }
    }
    Ok(())
}

fn receive(mut socket: UnixStream, messages: u32) -> io::Result<()> {
    (0..messages).try_for_each(|_| socket.read_exact(&mut [0; MESSAGE_BYTES]))
}
