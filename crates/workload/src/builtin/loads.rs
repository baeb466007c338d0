//! The background loads of interbench: burners, a ring of tasks, and programs that wait for a disk.
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
/// A working set larger than any cache.
const MUCH_MEMORY: u64 = 256 << 20;

/// Adds loads to a workload.  They never end, and the run does not wait for them.
pub(super) struct Loads<'b> {
    builder: &'b mut Builder,
    nice: i8,
    process: Process,
    disk: Option<u32>,
}

impl<'b> Loads<'b> {
    /// Loads of this nice value and this kind of process.
    pub fn new(builder: &'b mut Builder, nice: i8, process: Process) -> Self {
        Loads {
            builder,
            nice,
            process,
            disk: None,
        }
    }

    /// `count` tasks that only compute.
    pub fn burn(&mut self, count: u32) {
        self.endless("burn", count, 0, |ops| {
            ops.run(Amount::Fixed(PIECE));
        });
    }

    /// A task that touches more memory than there is.  Swapping is not modelled: it computes.
    pub fn memory(&mut self) {
        self.endless("memload", 1, MUCH_MEMORY, |ops| {
            ops.run(Amount::Fixed(PIECE));
        });
    }

    /// `count` tasks that pass `tokens` round; each token costs each task `work`.
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

    /// A task that reads a file larger than memory.
    pub fn read(&mut self) {
        let disk = self.disk();
        self.endless("read", 1, 0, |ops| {
            read_128k(ops, disk);
        });
    }

    /// A task that writes such a file: it fills the page cache and waits for the disk alternately.
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
