//! union bpf_attr, as it comes from a loader, and structures that go back.

use super::peer::{BadAddress, Peer};

/// The largest union bpf_attr that is understood; what is behind it is ignored, as an older kernel would if it is zero.
const MOST: usize = 256;

/// The argument of a bpf(2) call.
#[derive(Debug)]
pub struct Attr {
    bytes: Vec<u8>,
    /// Where it is in the loader.
    pub address: u64,
}

impl Attr {
    /// Reads it from the caller.
    ///
    /// # Errors
    /// It is not there.
    pub fn read(peer: &Peer, address: u64, size: u64) -> Result<Attr, BadAddress> {
        let mut bytes = peer.read(address, (size as usize).min(MOST))?;
        bytes.resize(MOST, 0);
        Ok(Attr { bytes, address })
    }

    /// A 32-bit field.
    pub fn u32(&self, at: usize) -> u32 {
        number(&self.bytes, at, 4) as u32
    }

    /// A file descriptor.
    pub fn fd(&self, at: usize) -> i32 {
        self.u32(at) as i32
    }

    /// A 64-bit field.
    pub fn u64(&self, at: usize) -> u64 {
        number(&self.bytes, at, 8)
    }

    /// A name of 16 bytes.
    pub fn name(&self, at: usize) -> String {
        text(&self.bytes[at..at + 16])
    }
}

/// A little-endian number in bytes; 0 beyond them.
pub fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let bytes = bytes.get(at..at + len).unwrap_or_default();
    bytes
        .iter()
        .rev()
        .fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// Bytes up to the first zero.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A structure that is written field by field.
#[derive(Debug)]
pub struct Record(Vec<u8>);

impl Record {
    /// Zeros.
    pub fn new(size: usize) -> Record {
        Record(vec![0; size])
    }

    /// With a 32-bit field.
    pub fn u32(self, at: usize, value: u32) -> Record {
        self.bytes(at, &value.to_le_bytes())
    }

    /// With a 64-bit field.
    pub fn u64(self, at: usize, value: u64) -> Record {
        self.bytes(at, &value.to_le_bytes())
    }

    /// With bytes.
    pub fn bytes(mut self, at: usize, bytes: &[u8]) -> Record {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// With a name of 16 bytes.
    pub fn name(self, at: usize, name: &str) -> Record {
        let bytes = name.as_bytes();
        self.bytes(at, &bytes[..bytes.len().min(15)])
    }

    /// Its first bytes.
    pub fn first(&self, len: usize) -> &[u8] {
        &self.0[..len.min(self.0.len())]
    }
}
