//! Finds the two ends of each socket connection.
//!
//! System calls do not name the peer: addresses are in the program's memory, and only their length
//! is recorded. It gives the family, and for unix sockets the length of the name. A server's first
//! read from an accepted connection is matched with the accepted connection whose client has
//! written as many bytes, or at least as many, and wrote first. A wrong match gives a channel from
//! which more is read than written; such channels are not used.

use super::stream::Streams;
use super::ChannelId;

/// Lengths of IPv4 and IPv6 addresses.
const INTERNET: [u32; 2] = [16, 28];

/// A listening socket; its channel contains connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listener {
    pub channel: ChannelId,
    pub address_bytes: u32,
}

/// A connection that is not accepted yet.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The index of its connect call in the log.
    pub at: usize,
    pub address_bytes: u32,
    /// The channels that the client reads and writes.
    pub received: ChannelId,
    pub sent: ChannelId,
}

/// Connections in the order in which they were made.
#[derive(Default)]
pub struct Connections {
    made: Vec<Connection>,
    /// Accepted connections with their listeners; their descriptors in the server are not known
    /// yet.
    accepted: Vec<(Listener, Connection)>,
}

impl Connections {
    pub fn made(&mut self, connection: Connection) {
        self.made.push(connection);
    }

    /// A listener accepts the first connection to an address of its length, otherwise of its
    /// family. Returns the index of the connect call.
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

    /// The accepted connection that a server uses for the first time, with a read of `bytes` (0: a
    /// write).
    pub fn used(&mut self, of: &Listener, bytes: u32, streams: &Streams) -> Option<Connection> {
        let of_listener = self
            .accepted
            .iter()
            .enumerate()
            .filter(|(_, (l, _))| l == of);
        // A server is told of data in the order of its arrival.
        let (at, _) = of_listener.min_by_key(|(_, (_, connection))| {
            let held = streams.held(connection.sent);
            let begun = streams.begun(connection.sent).unwrap_or(u64::MAX);
            (held < bytes, held != bytes, begun)
        })?;
        Some(self.accepted.remove(at).1)
    }
}

/// Can addresses of these lengths name the same socket?
fn same_family(one: u32, other: u32) -> bool {
    INTERNET.contains(&one) == INTERNET.contains(&other)
}

/// Is a socket with an address of this length TCP?
pub fn is_internet(address_bytes: u32) -> bool {
    INTERNET.contains(&address_bytes)
}
