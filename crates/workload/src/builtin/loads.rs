//! What interbench runs beside what it measures: burners, a ring, and programs that wait
//! for a disk.
//!
//! The disk is one of 2005 and assumed: 50 MB/s.  Copying to or from the
//! page cache costs 5 us for 4 KiB, system call included: assumed.

use schedlab_trace::Ns;

use crate::builder::{task, Builder, Ops};
use crate::{Amount, Op, Process, TaskSpec, Times};

/// A request of 128 KiB, which is what reading ahead asks for at once.
const REQUEST: Ns = Ns::from_us(2600);
/// Copying that much.
const COPY: Ns = Ns::from_us(160);
/// Requests a writer can have before it must wait for the disk: 1 MiB.
const DIRTY: u64 = 8;
/// A burner computes in pieces of this size; it makes no difference to a scheduler.
const PIECE: Ns = Ns::from_secs(1);
/// More than any cache holds.
const MUCH_MEMORY: u64 = 256 << 20;

/// Adds loads to a workload.  They never end, and no run waits for them.
pub(super) struct Loads<'b> {
    builder: &'b mut Builder,
    nice: i8,
    process: Process,
    disk: Option<u32>,
}

impl<'b> Loads<'b> {
    /// Loads of this nice value, all in such a process.
    pub fn new(builder: &'b mut Builder, nice: i8, process: Process) -> Self {
        Loads {
            builder,
            nice,
            process,
            disk: None,
        }
    }

    /// So many that only compute.
    pub fn burn(&mut self, count: u32) {
        self.endless("burn", count, 0, |ops| {
            ops.run(Amount::Fixed(PIECE));
        });
    }

    /// One that touches more memory than there is.  Swapping is not modelled: it computes.
    pub fn memory(&mut self) {
        self.endless("memload", 1, MUCH_MEMORY, |ops| {
            ops.run(Amount::Fixed(PIECE));
        });
    }

    /// So many that pass tokens round, each of which costs them so much work.
    pub fn ring(&mut self, count: u32, tokens: u32, work: Ns) {
        let seats: Vec<u32> = (0..count)
            .map(|seat| self.builder.semaphore(u32::from(seat < tokens)))
            .collect();
        for (seat, &own) in seats.iter().enumerate() {
            let next = seats[(seat + 1) % seats.len()];
            self.endless(&format!("ring-{seat}"), 1, 0, |ops| {
                ops.push(Op::SemWait(own)).run(Amount::Fixed(work));
                ops.push(Op::SemPost(next));
            });
        }
    }

    /// One that reads a file larger than memory.
    pub fn read(&mut self) {
        let disk = self.disk();
        self.endless("read", 1, 0, |ops| {
            read_128k(ops, disk);
        });
    }

    /// One that writes such a file: it fills the page cache and waits for the disk by turns.
    pub fn write(&mut self) {
        let disk = self.disk();
        self.endless("write", 1, 0, |ops| {
            ops.run(Amount::Fixed(Ns(DIRTY * COPY.0)));
            let service = Amount::Fixed(Ns(DIRTY * REQUEST.0));
            ops.push(Op::Disk { disk, service });
        });
    }

    fn disk(&mut self) -> u32 {
        *self.disk.get_or_insert_with(|| self.builder.disk())
    }

    fn endless(&mut self, name: &str, count: u32, bytes: u64, body: impl FnOnce(&mut Ops)) {
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, body);
        let program = self.builder.program(ops);
        self.builder.task(TaskSpec {
            count,
            nice: self.nice,
            group: "load".to_string(),
            process: self.process,
            working_set_bytes: bytes,
            background: true,
            ..task(format!("load-{name}"), program)
        });
    }
}

/// Reads the next 128 KiB.
fn read_128k(ops: &mut Ops, disk: u32) {
    let service = Amount::Fixed(REQUEST);
    ops.push(Op::Disk { disk, service })
        .run(Amount::Fixed(COPY));
}
