//! The content of channels while calls are followed.

use super::{Channel, ChannelId, Kind};

/// Capacity of a pipe: 16 pages. A waiting writer continues when one page is free.
const PIPE_BYTES: u32 = 65_536;
const PAGE_BYTES: u32 = 4096;

/// Memory for the packets of a socket (`net.core.wmem_default`), and the overhead of a packet.
const SOCKET_BYTES: u64 = 212_992;
const PACKET_BYTES: u64 = 320;
const HEAD_BYTES: u64 = 256;

/// Capacity of a TCP connection within the machine: the sender's largest buffer
/// (`net.ipv4.tcp_wmem`) and the receiver's window.
const TCP_BYTES: u32 = 4 << 20;

/// A channel's content while calls are followed.
#[derive(Clone, Copy)]
pub struct Stream {
    kind: Kind,
    existed: bool,
    written: u64,
    writes: u64,
    read: u64,
    /// The largest number of bytes by which reads exceeded writes.
    deficit: u64,
    /// Number of writes to all channels before the first write to this one.
    begun: Option<u64>,
}

/// All channels.
#[derive(Default)]
pub struct Streams {
    all: Vec<Stream>,
    /// Number of writes up to now.
    writes: u64,
}

impl Streams {
    /// A new channel; `existed`: it may already contain something.
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

    /// Adds bytes to a channel.
    pub fn write(&mut self, channel: ChannelId, bytes: u32) {
        self.writes += 1;
        let before = self.writes;
        let stream = self.of(channel);
        stream.begun.get_or_insert(before);
        stream.written += u64::from(bytes);
        stream.writes += 1;
    }

    /// Takes bytes from a channel.
    pub fn read(&mut self, channel: ChannelId, bytes: u32) {
        let stream = self.of(channel);
        stream.read += u64::from(bytes);
        let deficit = stream.read.saturating_sub(stream.written);
        stream.deficit = stream.deficit.max(deficit);
    }

    /// The order of a channel's first write; `None` without writes.
    pub fn begun(&self, channel: ChannelId) -> Option<u64> {
        self.all[channel.0 as usize].begun
    }

    /// Bytes written and not read.
    pub fn held(&self, channel: ChannelId) -> u32 {
        let stream = &self.all[channel.0 as usize];
        stream.written.saturating_sub(stream.read) as u32
    }

    /// Is the record of a channel complete? Not if nothing was read, if more was read than written,
    /// or if it contains more than its capacity.
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

    /// Capacity, and the fill at which a waiting writer continues.
    fn room(&self) -> (u32, u32) {
        match self.kind {
            Kind::Pipe => (PIPE_BYTES, PIPE_BYTES - PAGE_BYTES),
            Kind::Tcp => (TCP_BYTES, TCP_BYTES - TCP_BYTES / 3),
            Kind::Socket => {
                // A packet contains one write of mean size; its memory is a power of two.
                let mean = (self.written / self.writes.max(1)).max(1);
                let packet = (mean + PACKET_BYTES).next_power_of_two() + HEAD_BYTES;
                let capacity = (SOCKET_BYTES.div_ceil(packet) * mean).max(mean) as u32;
                (capacity, capacity / 4)
            }
            Kind::Connections | Kind::Event | Kind::Futex => (u32::MAX, u32::MAX - 1),
        }
    }
}
