//! Which connection of one process is which of another one.
//!
//! The calls do not say it: addresses are in the program's memory.  A listener accepts connections in the order in which
//! they were made, and the length of an address tells its family, and of unix sockets the name's.  What is matched
//! wrongly gives channels from which more is read than written, and is not believed.

use super::ChannelId;
use crate::event::Pid;

/// Length of an address: IPv4 and IPv6.
const INTERNET: [u32; 2] = [16, 28];

/// A socket that listens: what it holds are connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listener {
    pub channel: ChannelId,
    pub address_bytes: u32,
}

/// A connection that was made and not accepted yet.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The place of the call in the log.
    pub at: usize,
    pub address_bytes: u32,
    /// What it receives and what it sends.
    pub received: ChannelId,
    pub sent: ChannelId,
    /// Threads that were woken while it was made.
    pub woke: Vec<Pid>,
}

/// Connections in the order in which they were made.
#[derive(Default)]
pub struct Connections(Vec<Connection>);

impl Connections {
    pub fn made(&mut self, connection: Connection) {
        self.0.push(connection);
    }

    /// The connection that this thread accepts: one whose maker woke it, or the first to an address of that kind.
    pub fn accepted(&mut self, listener: &Listener, by: Pid) -> Option<Connection> {
        let fits = |c: &Connection| same_family(c.address_bytes, listener.address_bytes);
        let exact = |c: &Connection| c.address_bytes == listener.address_bytes;
        let first = |wanted: &dyn Fn(&Connection) -> bool| self.0.iter().position(wanted);
        let at = first(&|c| exact(c) && c.woke.contains(&by))
            .or_else(|| first(&|c| exact(c) && c.woke.is_empty()))
            .or_else(|| first(&exact))
            .or_else(|| first(&fits))?;
        Some(self.0.remove(at))
    }
}

/// Whether addresses of these lengths can name the same socket.
fn same_family(one: u32, other: u32) -> bool {
    INTERNET.contains(&one) == INTERNET.contains(&other)
}

/// Whether a socket with such an address is TCP.
pub fn is_internet(address_bytes: u32) -> bool {
    INTERNET.contains(&address_bytes)
}
