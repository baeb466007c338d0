//! sysbench-oltp: sysbench's OLTP test on a MySQL with InnoDB tables.
//!
//! The run of the Staircase article (Sys Admin, September 2005): 8 threads, 10,000 transactions, a table of a million
//! rows.  A transaction is sysbench's "complex" one: 10 point selects, 4 selects of a hundred rows,
//! 4 changes of a row and BEGIN and COMMIT, 20 round trips between a client's thread and its own thread of the server.
//!
//! A change locks its row until the COMMIT.  Rows are chosen as sysbench does ("special"): 75 % of the changes
//! go to 1 % of the rows.  A transaction takes its locks in the order of the rows: there are no
//! deadlocks, which InnoDB would break.  COMMIT writes the log to disk, and each transaction reads
//! a page that is not in memory.

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::values::{number, positive_time, sigma, time};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Distribution, Op, Process, TaskSpec, Times};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct SysbenchOltp {
    /// Threads of the client, each with a connection.
    #[arg(short, long, default_value_t = 8, value_parser = number(1, 4096))]
    threads: u32,
    /// Transactions, of all threads together.
    #[arg(short = 'n', long, default_value_t = 10_000, value_parser = number(1, 100_000_000))]
    transactions: u32,
    /// Rows of the table.
    #[arg(long, default_value_t = 1_000_000, value_parser = number(100, 10_000_000))]
    rows: u32,
    /// Median CPU time of the server for a select of one row, or a change of one.  Assumed.
    #[arg(long, default_value = "120us", value_name = "TIME", value_parser = positive_time)]
    point: Ns,
    /// Median CPU time of the server for a select of a hundred rows.  Assumed.
    #[arg(long, default_value = "600us", value_name = "TIME", value_parser = positive_time)]
    range: Ns,
    /// CPU time of the client for one statement.  Assumed.
    #[arg(long, default_value = "40us", value_name = "TIME", value_parser = positive_time)]
    client: Ns,
    /// How much statements differ: standard deviation of the logarithm of their CPU time.  Assumed.
    #[arg(long, default_value = "0.3", value_name = "SIGMA", value_parser = sigma)]
    variation: u32,
    /// Mean disk time of the read of a page that is not in memory, one for each transaction; 0: none.  Chosen
    /// from the article's own time with O(1).
    #[arg(long, default_value = "9.4ms", value_name = "TIME", value_parser = time)]
    read: Ns,
    /// Mean disk time of a COMMIT's log write: half a turn of a disk with 7,200 a minute; 0: none.
    #[arg(long, default_value = "4.2ms", value_name = "TIME", value_parser = time)]
    flush: Ns,
}

/// Statements of a transaction.
const POINT_SELECTS: u32 = 10;
const RANGE_SELECTS: u32 = 4;
const CHANGES: u32 = 4;
/// Transactions with rows of their own; after them a thread repeats the same rows.
const REPEAT: u32 = 10;

/// What the server's threads draw from and share.
struct Server {
    point: Amount,
    range: Amount,
    read: Option<Op>,
    flush: Option<Op>,
}

/// A connection's two directions.
#[derive(Clone, Copy)]
struct Socket {
    requests: u32,
    answers: u32,
}

impl Benchmark for SysbenchOltp {
    const NAME: &'static str = "sysbench-oltp";
    const SUMMARY: &'static str =
        "transactions on a database: round trips, row locks, disk reads and log writes";

    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        let rows = self.changed_rows();
        let first = builder.mutexes(rows.len() as u32);
        let server = self.server(builder);
        let digits = (self.threads - 1).to_string().len();
        for thread in 0..self.threads {
            let socket = Socket {
                requests: builder.channel(1),
                answers: builder.channel(1),
            };
            let mine = self.transactions / self.threads
                + u32::from(thread < self.transactions % self.threads);
            let client = self.client(builder, socket, mine);
            let client = builder.program(client);
            let spec = |name: &str, process, program| TaskSpec {
                group: name.to_string(),
                process: Process::Shared(process),
                ..task(format!("{name}-{thread:0digits$}"), program)
            };
            builder.task(spec("sysbench", 1, client));
            let mysqld = self.connection(&server, socket, thread, (&rows, first));
            let mysqld = builder.program(mysqld);
            builder.task(TaskSpec {
                background: true,
                ..spec("mysqld", 2, mysqld)
            });
        }
        Ok(())
    }
}

impl SysbenchOltp {
    fn server(&self, builder: &mut Builder) -> Server {
        let disk = builder.disk();
        let mut request = |mean: Ns| {
            (mean > Ns::ZERO).then(|| {
                let mean = mean.0;
                let service = builder.drawn(Distribution::Exponential { mean });
                Op::Disk { disk, service }
            })
        };
        let (read, flush) = (request(self.read), request(self.flush));
        Server {
            point: builder.around(self.point, self.variation),
            range: builder.around(self.range, self.variation),
            read,
            flush,
        }
    }

    /// A thread of the client: one transaction after the other.
    fn client(&self, builder: &mut Builder, socket: Socket, transactions: u32) -> Ops {
        let mark = builder.mark("transaction");
        let statements = POINT_SELECTS + RANGE_SELECTS + CHANGES + 2;
        let mut ops = Ops::new();
        ops.repeat(Times::Fixed(transactions), |ops| {
            ops.push(Op::StartClock);
            ops.repeat(Times::Fixed(statements), |ops| {
                ops.run(Amount::Fixed(self.client));
                let (channel, count) = (socket.requests, 1);
                ops.push(Op::Send { channel, count });
                let (channel, count) = (socket.answers, 1);
                ops.push(Op::Receive { channel, count });
            });
            ops.push(Op::StopClock { mark });
            ops.push(Op::Mark { mark, count: 1 });
        });
        ops
    }

    /// A connection's thread in the server.
    fn connection(
        &self,
        server: &Server,
        socket: Socket,
        thread: u32,
        (rows, first): (&[u32], u32),
    ) -> Ops {
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, |ops| {
            for transaction in 0..REPEAT {
                let mine = self.rows_of(thread, transaction);
                let number = |row| first + rows.partition_point(|r| r < row) as u32;
                let locks: Vec<u32> = mine.iter().map(number).collect();
                server.transaction(ops, socket, &locks);
            }
        });
        ops
    }

    /// All rows that are ever changed, in order: each has a mutex.
    fn changed_rows(&self) -> Vec<u32> {
        let of_thread = |thread| (0..REPEAT).flat_map(move |t| self.rows_of(thread, t));
        let mut rows: Vec<u32> = (0..self.threads).flat_map(of_thread).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Rows a transaction changes, in order, each once: by a fixed hash of thread and transaction.
    fn rows_of(&self, thread: u32, transaction: u32) -> Vec<u32> {
        let hot = (self.rows / 100).max(1);
        let mut rows: Vec<u32> = (0..CHANGES)
            .map(|change| {
                let hash =
                    mixed(u64::from(thread) << 32 | u64::from(transaction * CHANGES + change));
                let among = if hash % 4 < 3 { hot } else { self.rows };
                (hash >> 8) as u32 % among
            })
            .collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

impl Server {
    /// BEGIN, the selects, the changes and COMMIT, with one read that has to wait for the disk.
    fn transaction(&self, ops: &mut Ops, socket: Socket, locks: &[u32]) {
        self.statement(ops, socket, |_| {});
        self.statement(ops, socket, |ops| {
            ops.run(self.point);
            ops.extend(self.read);
        });
        ops.repeat(Times::Fixed(POINT_SELECTS - 1), |ops| {
            self.statement(ops, socket, |ops| {
                ops.run(self.point);
            });
        });
        ops.repeat(Times::Fixed(RANGE_SELECTS), |ops| {
            self.statement(ops, socket, |ops| {
                ops.run(self.range);
            });
        });
        for change in 0..CHANGES as usize {
            self.statement(ops, socket, |ops| {
                ops.extend(locks.get(change).map(|lock| Op::Lock(*lock)));
                ops.run(self.point);
            });
        }
        self.statement(ops, socket, |ops| {
            ops.extend(self.flush);
            ops.extend(locks.iter().map(|lock| Op::Unlock(*lock)));
        });
    }

    /// A request, what it makes the server do, and the answer.
    fn statement(&self, ops: &mut Ops, socket: Socket, work: impl FnOnce(&mut Ops)) {
        let (channel, count) = (socket.requests, 1);
        ops.push(Op::Receive { channel, count });
        work(ops);
        let (channel, count) = (socket.answers, 1);
        ops.push(Op::Send { channel, count });
    }
}

/// A number as good as random (Steele, Lea and Flood's SplitMix64).
fn mixed(number: u64) -> u64 {
    let x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
