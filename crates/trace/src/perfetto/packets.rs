//! A Perfetto trace as a stream of packets.

use std::io::{self, Write};

use super::schema::{packet, trace, SEQ_INCREMENTAL_STATE_CLEARED};
use crate::output::Output;
use crate::proto::Message;
use crate::Time;

/// Every packet names the sequence it belongs to; we write one.
const SEQUENCE_ID: u64 = 1;

/// Writes packets.
pub struct Packets<W: Write> {
    out: Output<W>,
    scratch: Message,
    first: bool,
}

impl<W: Write> Packets<W> {
    pub fn new(writer: W) -> Self {
        Packets {
            out: Output::new(writer),
            scratch: Message::default(),
            first: true,
        }
    }

    /// Writes one packet with what `build` puts into it.  Bundles of scheduler events carry their
    /// own times; all others get one.
    pub fn packet(&mut self, time: Option<Time>, build: impl FnOnce(&mut Message)) {
        let first = std::mem::take(&mut self.first);
        self.scratch.clear();
        self.scratch.message(trace::PACKET, |p| {
            if let Some(time) = time {
                p.uint(packet::TIMESTAMP, time.0);
            }
            p.uint(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE_ID);
            if first {
                p.uint(packet::SEQUENCE_FLAGS, SEQ_INCREMENTAL_STATE_CLEARED);
            }
            build(p);
        });
        self.out.bytes(self.scratch.as_bytes());
    }

    pub fn finish(self) -> io::Result<W> {
        self.out.finish()
    }
}
