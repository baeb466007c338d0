//! Which connection of one process is which of another one.
//!
//! The calls do not say it: addresses are in the program's memory.  The length of an address tells its family, and of unix
//! sockets the name's.  Of the connections that a listener has accepted the first whose other end has written as much is the
//! one that a server reads from first.  What is matched wrongly gives channels from which more is read than written, and is
//! not believed.

use super::stream::Streams;
use super::ChannelId;

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
}

/// Connections in the order in which they were made.
#[derive(Default)]
pub struct Connections {
    made: Vec<Connection>,
    /// Accepted, with their listeners; which of them a server's descriptor is is not known yet.
    accepted: Vec<(Listener, Connection)>,
}

impl Connections {
    pub fn made(&mut self, connection: Connection) {
        self.made.push(connection);
    }

    /// A listener accepts a connection: the first to an address of that length, or else family.  Its place in the log.
    pub fn accept(&mut self, listener: &Listener) -> Option<usize> {
        let fits = |c: &Connection| same_family(c.address_bytes, listener.address_bytes);
        let exact = |c: &Connection| c.address_bytes == listener.address_bytes;
        let at = self.made.iter().position(exact);
        let at = at.or_else(|| self.made.iter().position(fits))?;
        let connection = self.made.remove(at);
        let place = connection.at;
        self.accepted.push((*listener, connection));
        Some(place)
    }

    /// The connection from which a server reads so many bytes for the first time, or to which it writes.
    pub fn used(&mut self, of: &Listener, bytes: u32, streams: &Streams) -> Option<Connection> {
        let of_listener = self
            .accepted
            .iter()
            .enumerate()
            .filter(|(_, (l, _))| l == of);
        // Servers hear of data in the order in which it comes.
        let (at, _) = of_listener.min_by_key(|(_, (_, connection))| {
            let held = streams.held(connection.sent);
            let begun = streams.begun(connection.sent).unwrap_or(u64::MAX);
            (held < bytes, held != bytes, begun)
        })?;
        Some(self.accepted.remove(at).1)
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
