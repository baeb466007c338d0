//! The channel from the guest to the host: shared memory.
//!
//! The memory is a file on the host and BAR 2 of a PCI device in the guest (QEMU's
//! `ivshmem-plain`). Neither side needs a driver, and a write of the guest costs no device time.
//! Frames are only appended: the guest never waits for the host and cannot see how fast the host
//! is, which keeps deterministic runs deterministic. The host frees the pages that it has read.
//!
//! ```text
//!   0         8           4096
//!   | magic   | committed | frame | frame | frame | ...
//!                            frame: kind u32, length u32, bytes, padding to 8
//! ```
//! `committed` is the number of bytes of frames that may be read.  Integers are little-endian.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Offset of the first frame.
const FIRST_FRAME: u64 = 4096;

/// Offset of the number of committed bytes.
const COMMITTED: u64 = 8;

/// The first bytes of the memory; the host writes them.
pub const MAGIC: [u8; 8] = *b"schedlab";

/// Size of a frame's kind and length.
const HEADER: usize = 8;

/// The longest frame a reader accepts; writers cut their data into smaller ones.
const MOST_BYTES: usize = 64 << 20;

/// Content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// The kernel is up: a [`Hello`](crate::Hello) in JSON.
    Hello = 1,
    /// The command starts now.
    Started = 2,
    /// Bytes the command wrote to its standard output.
    Stdout = 3,
    /// Bytes the command wrote to its standard error.
    Stderr = 4,
    /// How to decode the trace: a [`Description`](schedlab_recording::Description) in JSON.
    Recording = 5,
    /// A page of a CPU's trace buffer: the CPU as u32, then the page.
    Page = 6,
    /// The command has ended: an [`Ended`](crate::Ended) in JSON.
    Ended = 7,
    /// Output of the scheduler's program: text.
    Scheduler = 8,
    /// Warnings and errors of the kernel's log: text.
    KernelLog = 9,
    /// The guest failed: the reason, as text.
    Failed = 10,
    /// The last frame.
    Done = 11,
    /// The trace is complete: a [`Report`](schedlab_recording::tracefs::Report) in JSON.
    Recorded = 12,
    /// A part of the command's [`Notes`](schedlab_recording::Notes), in bytes.
    Notes = 13,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::Hello,
        Kind::Started,
        Kind::Stdout,
        Kind::Stderr,
        Kind::Recording,
        Kind::Page,
        Kind::Ended,
        Kind::Scheduler,
        Kind::KernelLog,
        Kind::Failed,
        Kind::Done,
        Kind::Recorded,
        Kind::Notes,
    ];

    fn of(code: u32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|&kind| kind as u32 == code)
    }
}

/// Memory that can be written at any offset.
pub trait Region {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Copies `bytes` to `offset`. The caller ensures that all of it is inside the region.
    ///
    /// # Errors
    /// The memory cannot be reached.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes a number at `offset`; the other side sees it only after all earlier writes.
    ///
    /// # Errors
    /// The memory cannot be reached.
    fn publish(&mut self, offset: u64, number: u64) -> io::Result<()>;
}

/// The guest's end.
pub struct Writer<R: Region> {
    region: R,
    /// Bytes of frames written.
    written: u64,
}

impl<R: Region> Writer<R> {
    /// A writer that has written nothing yet.
    pub fn new(region: R) -> Writer<R> {
        Writer { region, written: 0 }
    }

    /// Sends one frame made of `parts`.
    ///
    /// # Errors
    /// The memory is full (`StorageFull`) or cannot be reached.
    pub fn send(&mut self, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let padded = (HEADER + length).next_multiple_of(8) as u64;
        let mut at = FIRST_FRAME + self.written;
        if length > MOST_BYTES || at + padded > self.region.size() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&(kind as u32).to_le_bytes());
        header[4..].copy_from_slice(&(length as u32).to_le_bytes());
        for part in std::iter::once(&header[..]).chain(parts.iter().copied()) {
            self.region.write_at(at, part)?;
            at += part.len() as u64;
        }
        self.written += padded;
        self.region.publish(COMMITTED, self.written)
    }
}

/// A frame that the host received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it carries.
    pub kind: Kind,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The host's end.
pub struct Reader {
    memory: File,
    read: u64,
}

impl Reader {
    /// Prepares an empty file of `size` bytes as the memory.
    ///
    /// # Errors
    /// The file cannot be written or made so large.
    pub fn prepare(memory: File, size: u64) -> io::Result<Reader> {
        memory.set_len(size)?;
        memory.write_all_at(&MAGIC, 0)?;
        Ok(Reader { memory, read: 0 })
    }

    /// The file both sides share.
    pub fn memory(&self) -> &File {
        &self.memory
    }

    /// The next frame, if there is one.
    ///
    /// # Errors
    /// The memory does not contain a valid frame there (`InvalidData`).
    pub fn receive(&mut self) -> io::Result<Option<Frame>> {
        if self.committed()? <= self.read {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        let at = FIRST_FRAME + self.read;
        self.memory.read_exact_at(&mut header, at)?;
        let number = |range| {
            let bytes: &[u8] = &header[range];
            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let (kind, length) = (Kind::of(number(0..4)), number(4..8) as usize);
        let kind = kind.filter(|_| length <= MOST_BYTES);
        let kind = kind.ok_or(io::ErrorKind::InvalidData)?;
        let mut bytes = vec![0; length];
        self.memory.read_exact_at(&mut bytes, at + HEADER as u64)?;
        self.forget((HEADER + length).next_multiple_of(8) as u64);
        Ok(Some(Frame { kind, bytes }))
    }

    fn committed(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.memory.read_exact_at(&mut bytes, COMMITTED)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Skips bytes that were read and frees whole blocks of the file.
    fn forget(&mut self, bytes: u64) {
        const STRETCH: u64 = 16 << 20;
        let (before, after) = (self.read / STRETCH, (self.read + bytes) / STRETCH);
        self.read += bytes;
        if after > before {
            let (from, to) = (before * STRETCH, after * STRETCH);
            let flags =
                rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
            // A file system without hole punching only needs more memory.
            let _ = rustix::fs::fallocate(&self.memory, flags, FIRST_FRAME + from, to - from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Region for &File {
        fn size(&self) -> u64 {
            self.metadata().unwrap().len()
        }
        fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            self.write_all_at(bytes, offset)
        }
        fn publish(&mut self, offset: u64, number: u64) -> io::Result<()> {
            self.write_all_at(&number.to_le_bytes(), offset)
        }
    }

    fn frame(kind: Kind, bytes: &[u8]) -> Frame {
        Frame {
            kind,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn frames_arrive_whole_and_in_order() {
        let file = tempfile::tempfile().unwrap();
        let mut reader = Reader::prepare(file.try_clone().unwrap(), 1 << 20).unwrap();
        let mut writer = Writer::new(&file);
        assert_eq!(reader.receive().unwrap(), None);
        writer.send(Kind::Hello, &[b"first"]).unwrap();
        writer.send(Kind::Page, &[&[1, 0, 0, 0], b"page"]).unwrap();
        let first = reader.receive().unwrap();
        assert_eq!(first, Some(frame(Kind::Hello, b"first")));
        let second = reader.receive().unwrap();
        assert_eq!(second, Some(frame(Kind::Page, b"\x01\0\0\0page")));
        assert_eq!(reader.receive().unwrap(), None);
        writer.send(Kind::Done, &[]).unwrap();
        assert_eq!(reader.receive().unwrap(), Some(frame(Kind::Done, b"")));
    }

    /// Frames of 1 MiB through 128 MiB: memory that was read is freed.
    #[test]
    fn read_pages_are_given_back() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        let mut reader = Reader::prepare(file.try_clone().unwrap(), 256 << 20).unwrap();
        let mut writer = Writer::new(&file);
        let content = vec![7; 1 << 20];
        for _ in 0..128 {
            writer.send(Kind::Stdout, &[&content]).unwrap();
            assert_eq!(reader.receive().unwrap().unwrap().bytes, content);
        }
        let kept = file.metadata().unwrap().blocks() * 512;
        assert!(kept < 64 << 20, "{kept} bytes are still held");
    }

    /// 4096 bytes of header and 8 of a frame's own leave 4088 of 8192.
    #[test]
    fn a_full_memory_is_an_error_and_leaves_the_rest_readable() {
        let file = tempfile::tempfile().unwrap();
        let mut reader = Reader::prepare(file.try_clone().unwrap(), 8192).unwrap();
        let mut writer = Writer::new(&file);
        let full = writer.send(Kind::Stdout, &[&[0; 4089]]);
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        writer.send(Kind::Stdout, &[&[1; 4088]]).unwrap();
        assert_eq!(reader.receive().unwrap().unwrap().bytes, [1; 4088]);
    }

    #[test]
    fn garbage_is_named() {
        let file = tempfile::tempfile().unwrap();
        let mut reader = Reader::prepare(file.try_clone().unwrap(), 8192).unwrap();
        file.write_all_at(&99u64.to_le_bytes(), FIRST_FRAME)
            .unwrap();
        file.write_all_at(&8u64.to_le_bytes(), COMMITTED).unwrap();
        assert_eq!(
            reader.receive().unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
