//! Channels while they are followed.

use super::{Channel, ChannelId, Kind};

/// What a pipe holds: 16 pages, one of which has to be free before a writer goes on.
const PIPE_BYTES: u32 = 65_536;
const PAGE_BYTES: u32 = 4096;

/// What the packets of a socket may take (`net.core.wmem_default`), and what each takes beside its data.
const SOCKET_BYTES: u64 = 212_992;
const PACKET_BYTES: u64 = 320;
const HEAD_BYTES: u64 = 256;

/// What TCP takes on the way to the same machine: the sender's buffer (`net.ipv4.tcp_wmem` as far as it grows) and the
/// receiver's window.
const TCP_BYTES: u32 = 4 << 20;

/// A channel while it is followed.
#[derive(Clone, Copy)]
pub struct Stream {
    kind: Kind,
    existed: bool,
    written: u64,
    writes: u64,
    read: u64,
    /// How much more was read than written at most.
    deficit: u64,
    /// How many writes to any channel came before its first one.
    begun: Option<u64>,
}

/// All of them.
#[derive(Default)]
pub struct Streams {
    all: Vec<Stream>,
    /// Writes until now.
    writes: u64,
}

impl Streams {
    /// A new channel; `existed`: it may hold something already.
    pub fn add(&mut self, kind: Kind, existed: bool) -> ChannelId {
        self.all.push(Stream {
            kind,
            existed,
            written: 0,
            writes: 0,
            read: 0,
            deficit: 0,
            begun: None,
        });
        ChannelId(self.all.len() as u32 - 1)
    }

    fn of(&mut self, channel: ChannelId) -> &mut Stream {
        &mut self.all[channel.0 as usize]
    }

    pub fn is_event(&self, channel: ChannelId) -> bool {
        self.all[channel.0 as usize].kind == Kind::Event
    }

    /// So much was put into a channel.
    pub fn write(&mut self, channel: ChannelId, bytes: u32) {
        self.writes += 1;
        let before = self.writes;
        let stream = self.of(channel);
        stream.begun.get_or_insert(before);
        stream.written += u64::from(bytes);
        stream.writes += 1;
    }

    /// So much was taken from it.
    pub fn read(&mut self, channel: ChannelId, bytes: u32) {
        let stream = self.of(channel);
        stream.read += u64::from(bytes);
        let deficit = stream.read.saturating_sub(stream.written);
        stream.deficit = stream.deficit.max(deficit);
    }

    /// When a channel was first written to, in the order of writes; none: never.
    pub fn begun(&self, channel: ChannelId) -> Option<u64> {
        self.all[channel.0 as usize].begun
    }

    /// What was put in and not taken.
    pub fn held(&self, channel: ChannelId) -> u32 {
        let stream = &self.all[channel.0 as usize];
        stream.written.saturating_sub(stream.read) as u32
    }

    /// Of a channel from which more was read than written not everything is known, nor of one in which more is left than it
    /// holds, or of which nobody reads.
    pub fn is_whole(&self, channel: ChannelId) -> bool {
        let stream = &self.all[channel.0 as usize];
        let left = stream.written.saturating_sub(stream.read);
        let is_read = stream.read > 0 && left <= u64::from(stream.room().0);
        is_read && (stream.existed || stream.read <= stream.written)
    }

    pub fn channels(&self) -> Vec<Channel> {
        self.all.iter().map(Stream::channel).collect()
    }
}

impl Stream {
    fn channel(&self) -> Channel {
        let (capacity_bytes, low_water_bytes) = self.room();
        Channel {
            kind: self.kind,
            capacity_bytes,
            low_water_bytes,
            initial_bytes: if self.existed { self.deficit as u32 } else { 0 },
        }
    }

    /// What it holds, and at which fill writers that wait go on.
    fn room(&self) -> (u32, u32) {
        match self.kind {
            Kind::Pipe => (PIPE_BYTES, PIPE_BYTES - PAGE_BYTES),
            Kind::Tcp => (TCP_BYTES, TCP_BYTES - TCP_BYTES / 3),
            Kind::Socket => {
                // Packets are of as many bytes as the writes; their memory is a power of two.
                let mean = (self.written / self.writes.max(1)).max(1);
                let packet = (mean + PACKET_BYTES).next_power_of_two() + HEAD_BYTES;
                let capacity = (SOCKET_BYTES.div_ceil(packet) * mean).max(mean) as u32;
                (capacity, capacity / 4)
            }
            Kind::Connections | Kind::Event | Kind::Futex => (u32::MAX, u32::MAX - 1),
        }
    }
}
