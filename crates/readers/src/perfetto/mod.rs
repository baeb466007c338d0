//! Reads Perfetto traces. A packet contains bundles of the kernel's events (ftrace), each of one
//! CPU.
//!
//! A bundle contains single events, or switches and wakings in columns (CompactSched), or both. A
//! compact switch does not name the previous task: it is the next task of the CPU's previous
//! switch.

mod compact;
mod events;
mod message;
mod schema;

use std::io::{BufRead, BufReader, Read};

use schedlab_recording::{KernelState, Pid, Recording, TaskRef};
use schedlab_trace::{kernel_version, CpuId, SIMULATED_VERSION};

use self::compact::Compact;
use self::message::{Fields, Value};
use self::schema::{bundle, packet, process_tree, system_info, trace};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::intake::{self, Intake};
use crate::report::{FileFormat, ReadReport};

/// The longest packet in bytes, compressed or not.
const MAX_PACKET: u64 = 256 << 20;

/// A trace's first byte: field 1 ([`trace::PACKET`]), a message.
const PACKET_TAG: u8 = (trace::PACKET << 3 | 2) as u8;

/// The expected content, for messages.
const COMPLETE: &str = "a complete Perfetto trace";

/// Whether a file that begins with these bytes looks like a trace.
pub fn begins(head: &[u8]) -> bool {
    let mut rest = head;
    if head.first() != Some(&PACKET_TAG) {
        return false;
    }
    // Check the fields of the first packet, as far as they are in `head`.
    let Ok(Some(length)) = packet_length(&mut rest) else {
        return false;
    };
    let whole = rest.len() as u64 >= length;
    let mut fields = Fields::of(&rest[..rest.len().min(length as usize)]);
    loop {
        match fields.next() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return !whole,
        }
    }
}

/// Reads a trace.
pub fn read(stream: impl Read, budget: &Budget) -> Result<(Recording, ReadReport), Failure> {
    let mut stream = Counted {
        inner: BufReader::with_capacity(1 << 16, stream),
        position: 0,
    };
    let mut reader = Reader::new(budget.clone());
    let mut bytes = Vec::new();
    loop {
        let begin = stream.position;
        let damaged = |problem: String| Failure::at_byte(begin, problem).expected(COMPLETE);
        let Some(length) = packet_length(&mut stream).map_err(|e| damaged(e.to_string()))? else {
            break;
        };
        if length > MAX_PACKET {
            return Err(damaged(format!("a packet has {length} bytes")));
        }
        bytes.clear();
        (&mut stream).take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(damaged("the file ends inside this packet".into()));
        }
        reader.packet(&bytes, 0).map_err(|wrong| damaged(wrong.0))?;
    }
    reader.finish()
}

/// The length of the packet that follows; none at the end.
fn packet_length(stream: &mut impl Read) -> Result<Option<u64>, Wrong> {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(0) => return Ok(None),
        Ok(_) if byte[0] == PACKET_TAG => {}
        Ok(_) => return Err(Wrong("this is not the start of a packet".into())),
        Err(error) => return Err(Wrong(error.to_string())),
    }
    let mut length = 0u64;
    for shift in (0..35).step_by(7) {
        let read = stream.read_exact(&mut byte);
        read.map_err(|_| Wrong("the file is incomplete".into()))?;
        length |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(Some(length));
        }
    }
    Err(Wrong("the length of a packet is invalid".into()))
}

/// The problem with a packet.
struct Wrong(String);

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<quick_protobuf::Error> for Wrong {
    fn from(_: quick_protobuf::Error) -> Wrong {
        Wrong("a packet is not a protocol buffer".into())
    }
}

/// A stream that counts the bytes read.
struct Counted<R> {
    inner: R,
    position: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.position += length as u64;
        Ok(length)
    }
}

struct Reader {
    budget: Budget,
    intake: Intake,
    states: States,
    /// The running task of each CPU, from its last switch; `None` before the first.
    running: Vec<Option<TaskRef>>,
    compact: Compact,
}

impl Reader {
    fn new(budget: Budget) -> Reader {
        Reader {
            budget,
            intake: Intake::new(FileFormat::Perfetto),
            states: States::Since414,
            running: Vec::new(),
            compact: Compact::default(),
        }
    }

    /// Reads a packet inside `depth` compressed packets.
    fn packet(&mut self, bytes: &[u8], depth: u32) -> Result<(), Wrong> {
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                packet::FTRACE_EVENTS => self.bundle(value.bytes())?,
                packet::PROCESS_TREE => self.process_tree(value.bytes())?,
                packet::SYSTEM_INFO => self.system_info(value.bytes())?,
                packet::COMPRESSED_PACKETS => {
                    let inflate = flate2::read::ZlibDecoder::new(value.bytes());
                    self.compressed(inflate, depth)?;
                }
                packet::ZSTD_COMPRESSED_PACKETS => {
                    let inflate = zstd::Decoder::with_buffer(value.bytes());
                    let inflate = inflate.map_err(|e| Wrong(e.to_string()))?;
                    self.compressed(inflate, depth)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn compressed(&mut self, inflate: impl Read, depth: u32) -> Result<(), Wrong> {
        if depth > 0 {
            return Err(Wrong(
                "compressed packets contain compressed packets".into(),
            ));
        }
        let mut bytes = Vec::new();
        let inflated = inflate.take(MAX_PACKET + 1).read_to_end(&mut bytes);
        inflated.map_err(|_| Wrong("compressed packets are damaged".into()))?;
        if bytes.len() as u64 > MAX_PACKET {
            return Err(Wrong("compressed packets are too long".into()));
        }
        let spent = self.budget.decompressed(bytes.len() as u64);
        spent.map_err(|error| Wrong(format!("{error} (see --max-decompressed)")))?;
        let mut fields = Fields::of(&bytes);
        while let Some((number, value)) = fields.next()? {
            if number == trace::PACKET {
                self.packet(value.bytes(), depth + 1)?;
            }
        }
        Ok(())
    }

    fn bundle(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        // The CPU's number may come after the events.
        let mut cpu = 0;
        let mut fields = Fields::of(bytes);
        let mut lost = false;
        while let Some((number, value)) = fields.next()? {
            match number {
                bundle::CPU => cpu = value.number(),
                bundle::LOST_EVENTS => lost |= value.number() != 0,
                _ => {}
            }
        }
        let cpu = intake::cpu(cpu).ok_or_else(|| Wrong(format!("CPU number {cpu} is invalid")))?;
        self.intake.cpus(u64::from(cpu.0) + 1);
        if lost {
            self.intake.lost(None);
            *self.running(cpu) = None;
        }
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                bundle::EVENT => self.event(cpu, value.bytes())?,
                bundle::COMPACT_SCHED => self.compact_sched(cpu, value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The running task of a CPU.
    fn running(&mut self, cpu: CpuId) -> &mut Option<TaskRef> {
        if self.running.len() <= cpu.index() {
            self.running.resize(cpu.index() + 1, None);
        }
        &mut self.running[cpu.index()]
    }

    fn process_tree(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            if number == process_tree::THREADS {
                self.thread(value.bytes())?;
            }
        }
        Ok(())
    }

    fn thread(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let (mut tid, mut tgid) = (0, 0);
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                process_tree::THREAD_TID => tid = value.number(),
                process_tree::THREAD_TGID => tgid = value.number(),
                _ => {}
            }
        }
        let ids = intake::pid(tid).zip(intake::pid(tgid));
        if let Some((tid, tgid)) = ids.filter(|(_, tgid)| *tgid != Pid::IDLE) {
            self.intake.recording.thread(tid, tgid);
        }
        Ok(())
    }

    fn system_info(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                system_info::NUM_CPUS => self.intake.cpus(value.number()),
                system_info::UTSNAME => {}
                _ => continue,
            }
            let mut utsname = Fields::of(value.bytes());
            while let Some((number, value)) = utsname.next()? {
                match number {
                    system_info::UTSNAME_RELEASE => {
                        let release = text(value);
                        self.states = States::of_release(&release);
                        self.intake.recording.release = Some(release.into_owned());
                    }
                    system_info::UTSNAME_VERSION => {
                        self.intake.recording.is_simulated = text(value) == SIMULATED_VERSION;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Recording, ReadReport), Failure> {
        // A bundle separates switches and wakings; that does not count as out of order.
        self.intake.report.nr_out_of_order = 0;
        self.intake.finish()
    }
}

/// A text; invalid bytes are replaced.
fn text(value: Value<'_>) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(value.bytes())
}

/// The meaning of a task's state bits. Traces contain the kernel's own bits, which changed in 4.14.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum States {
    Since414,
    Before414,
}

impl States {
    fn of_release(release: &str) -> States {
        match kernel_version(release) {
            Some(version) if version < (4, 14) => States::Before414,
            _ => States::Since414,
        }
    }

    /// Before 4.14: 0x10 and 0x20 are dead, 0x40 dying, 0x200 parked. The bit above the last
    /// state's, which depends on the version, is preemption in the kernel.
    fn read(self, bits: u64) -> KernelState {
        match self {
            States::Since414 => intake::state_of_bits(bits),
            States::Before414 => match bits {
                _ if bits & 0x3f != 0 => intake::state_of_bits(bits & 0x3f),
                _ if bits & 0x40 != 0 => KernelState::Dead,
                _ if bits & 0x200 != 0 => KernelState::Parked,
                _ if bits >= 0x400 => KernelState::PreemptedInKernel,
                _ if bits == 0 => KernelState::Runnable,
                _ => KernelState::Sleeping,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_bits_are_those_of_the_release() {
        let old = States::of_release("4.9.0-9-amd64");
        assert_eq!(old, States::Before414);
        assert_eq!(States::of_release("4.14.1"), States::Since414);
        assert_eq!(States::of_release("6.12.0-schedlab"), States::Since414);
        assert_eq!(States::of_release("?"), States::Since414);
        // TASK_STATE_MAX was 0x1000 in 4.9; TASK_REPORT_MAX is 0x100 since 4.14.
        assert_eq!(old.read(0x1000), KernelState::PreemptedInKernel);
        assert_eq!(States::Since414.read(0x100), KernelState::PreemptedInKernel);
        // TASK_KILLABLE = TASK_WAKEKILL (0x80) | TASK_UNINTERRUPTIBLE (2).
        assert_eq!(old.read(0x82), KernelState::DiskSleep);
        assert_eq!(old.read(0x200), KernelState::Parked);
        assert_eq!(States::Since414.read(0x40), KernelState::Parked);
    }

    #[test]
    fn beginnings() {
        // A packet of three bytes: field 8 (timestamp) is 300.
        assert!(begins(&[0x0a, 3, 0x40, 0xac, 2]));
        assert!(!begins(&[0x0a, 3, 0x47, 0xac, 2]), "no such wire type");
        assert!(!begins(b"{}"));
        assert!(!begins(b""));
    }
}
