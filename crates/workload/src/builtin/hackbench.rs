//! hackbench: groups of senders and receivers; every sender of a group writes to every receiver.

use schedlab_input::Diagnostic;
use schedlab_trace::{Ns, TaskClass};

use super::errors::bad_option;
use super::values::{number, size, time};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Op, Process, ProgramId, TaskSpec, Times, Workload};

/// The options; the short ones are hackbench's own.
#[derive(clap::Parser, Debug)]
pub(super) struct Hackbench {
    /// Groups.
    #[arg(short, long, default_value_t = 10, value_parser = number(1, 10_000))]
    groups: u32,
    /// Senders, and receivers, in each group.
    #[arg(short, long, default_value_t = 20, value_parser = number(1, 200))]
    fds: u32,
    /// Messages each sender writes to each receiver.
    #[arg(short, long, default_value_t = 100, value_parser = number(1, 10_000_000))]
    loops: u32,
    /// Bytes in a message.
    #[arg(short = 's', long, default_value_t = 100, value_parser = number(1, 1_048_576))]
    datasize: u32,
    /// Pipes instead of socket pairs.
    #[arg(short, long)]
    pipe: bool,
    /// Threads of one process.
    #[arg(short = 'T', long, conflicts_with = "process")]
    threads: bool,
    /// A process for each (the default).
    #[arg(short = 'P', long)]
    process: bool,
    /// SCHED_FIFO, priority 1.
    #[arg(short = 'F', long)]
    fifo: bool,
    /// CPU time of a write without copying.
    ///
    /// Like --read an assumption from one recording: 320,000 messages in 0.208 s on two CPUs
    /// are 1.3 us for each, scheduling included.
    #[arg(long, default_value = "600ns", value_name = "TIME", value_parser = time)]
    write: Ns,
    /// CPU time of a read without copying.
    #[arg(long, default_value = "500ns", value_name = "TIME", value_parser = time)]
    read: Ns,
    /// Memory each task touches again and again.  Assumed.
    #[arg(long, default_value = "8KiB", value_name = "SIZE", value_parser = size)]
    working_set: u64,
}

/// Copying a byte costs about 0.1 ns: 10 GB/s, assumed.
const COPY_PS_PER_BYTE: u64 = 100;

/// How many tasks a run may have.
const TASKS_MAX: u64 = 1_000_000;

impl Benchmark for Hackbench {
    const NAME: &'static str = "hackbench";
    const SUMMARY: &'static str =
        "groups of senders that each write to every receiver of their group";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        self.check()?;
        let start = builder.barrier(2 * self.groups * self.fds);
        let mark = builder.mark("message");
        for group in 0..self.groups {
            let channels: Vec<u32> = (0..self.fds)
                .map(|_| builder.channel(self.capacity()))
                .collect();
            let sender = builder.program(self.sender(start, &channels));
            builder.task(self.spec("sender", group, None, self.fds, sender));
            for (number, channel) in channels.into_iter().enumerate() {
                let receiver = builder.program(self.receiver(start, channel, mark));
                builder.task(self.spec("receiver", group, Some(number), 1, receiver));
            }
        }
        Ok(builder.finish())
    }
}

impl Hackbench {
    /// Refuses more tasks than a run may have.
    fn check(&self) -> Result<(), Diagnostic> {
        let tasks = 2 * u64::from(self.groups) * u64::from(self.fds);
        if tasks <= TASKS_MAX {
            return Ok(());
        }
        Err(bad_option(
            Self::NAME,
            "--groups",
            format!("{tasks} tasks are too many"),
            format!("at most {TASKS_MAX} (2 x groups x fds)"),
        ))
    }

    /// Writes a message to each receiver, so many times.
    fn sender(&self, start: u32, channels: &[u32]) -> Ops {
        let mut ops = Ops::new();
        ops.push(Op::Barrier(start));
        ops.repeat(Times::Fixed(self.loops), |ops| {
            for &channel in channels {
                ops.run(self.cost(self.write));
                ops.push(Op::Send { channel, count: 1 });
            }
        });
        ops
    }

    /// Reads what all senders of its group write to it.
    fn receiver(&self, start: u32, channel: u32, mark: schedlab_trace::MarkId) -> Ops {
        let mut ops = Ops::new();
        ops.push(Op::Barrier(start));
        ops.repeat(Times::Fixed(self.fds.saturating_mul(self.loops)), |ops| {
            ops.push(Op::Receive { channel, count: 1 });
            ops.run(self.cost(self.read));
            ops.push(Op::Mark { mark, count: 1 });
        });
        ops
    }

    /// Senders or one receiver of a group.
    fn spec(
        &self,
        role: &str,
        group: u32,
        number: Option<usize>,
        count: u32,
        program: ProgramId,
    ) -> TaskSpec {
        let number = number.map(|n| format!("-{n:03}")).unwrap_or_default();
        TaskSpec {
            group: role.to_string(),
            count,
            process: if self.threads {
                Process::Shared(1)
            } else {
                Process::Own
            },
            class: if self.fifo {
                TaskClass::Fifo
            } else {
                TaskClass::Normal
            },
            rt_priority: u8::from(self.fifo),
            working_set_bytes: self.working_set,
            ..task(format!("{role}-{group:04}{number}"), program)
        }
    }

    /// A call with copying.
    fn cost(&self, call: Ns) -> Amount {
        Amount::Fixed(call + Ns(u64::from(self.datasize) * COPY_PS_PER_BYTE / 1000))
    }

    /// Messages a channel holds, from Linux's defaults: a pipe has 16 pages and puts small writes
    /// into one page together; a socket pair may hold 212,992 bytes of buffers, each of which
    /// weighs its data and 320 bytes rounded up to a power of two, and a descriptor of 256.
    fn capacity(&self) -> u32 {
        let size = self.datasize;
        if self.pipe {
            return if size <= 4096 {
                16 * (4096 / size)
            } else {
                (65_536 / size).max(1)
            };
        }
        let weight = (size + 320).next_power_of_two() + 256;
        (212_992 / weight).max(1)
    }
}
