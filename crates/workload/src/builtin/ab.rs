//! ab: ApacheBench against an Apache 2.0 of the prefork kind that answers with a PHP page.
//!
//! The run of the Staircase article (Sys Admin, September 2005): `ab -c 150 -n 4000` on the server itself, a
//! script that draws a calendar.  ab is one process that keeps so many requests open; each is answered
//! by one of the server's processes.  "request" is ab's "Total" of "Connection Times": from connecting
//! until ab has read the answer.
//!
//! Its 16.356 s with O(1) on one CPU are 4.09 ms a request, of which the page is most.

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::errors::bad_option;
use super::values::{number, positive_time, sigma, size};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Op, SpecId, TaskSpec, Times, Workload};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct Ab {
    /// Requests open at a time.
    #[arg(short, long, default_value_t = 150, value_parser = number(1, 20_000))]
    concurrency: u32,
    /// Requests in all.
    #[arg(short = 'n', long, default_value_t = 4000, value_parser = number(1, 100_000_000))]
    requests: u32,
    /// Median CPU time of the server for one page.  Chosen from the article's own time with O(1).
    #[arg(long, default_value = "3.9ms", value_name = "TIME", value_parser = positive_time)]
    page: Ns,
    /// CPU time of ab for one request: connect, write, read and its books.  Assumed.
    #[arg(long, default_value = "150us", value_name = "TIME", value_parser = positive_time)]
    client: Ns,
    /// How much pages differ: standard deviation of the logarithm of their CPU time.  It is the same
    /// script each time.  Assumed.
    #[arg(long, default_value = "0.1", value_name = "SIGMA", value_parser = sigma)]
    variation: u32,
    /// StartServers of Apache's configuration: processes there are at the beginning.
    #[arg(long, default_value_t = 8, value_parser = number(1, 20_000))]
    start_servers: u32,
    /// MaxClients of Apache's configuration: the most processes there can be.
    #[arg(long, default_value_t = 150, value_parser = number(1, 20_000))]
    max_clients: u32,
    /// Working set of a server process that the others do not share: code is the same pages for all.
    /// Assumed.
    #[arg(long, default_value = "64KiB", value_name = "SIZE", value_parser = size)]
    working_set: u64,
}

/// Connections that may wait to be accepted: ListenBacklog of Apache 2.0.
const BACKLOG: u32 = 511;
/// MinSpareServers of Apache 2.0: fewer idle processes make it fork more.
const MIN_SPARE: u32 = 5;
/// The most it forks in one second; it begins with one and doubles.
const MAX_SPAWN_RATE: u32 = 32;

/// What ab and the server share.
#[derive(Clone, Copy)]
struct Sockets {
    connections: u32,
    answers: u32,
}

impl Benchmark for Ab {
    const NAME: &'static str = "ab";
    const SUMMARY: &'static str =
        "ApacheBench and an Apache with PHP: one client process, many servers";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        if self.requests < self.concurrency {
            let problem = format!("{} requests, {} at a time", self.requests, self.concurrency);
            let expected = "at least as many requests as are open at a time";
            return Err(bad_option(Self::NAME, "--requests", problem, expected));
        }
        let sockets = Sockets {
            connections: builder.channel(BACKLOG.max(self.concurrency)),
            answers: builder.channel(self.concurrency),
        };
        let ab = self.ab(&mut builder, sockets);
        let ab = builder.program(ab);
        builder.task(task("ab", ab));
        let server = self.server(&mut builder, sockets);
        let program = builder.program(server);
        let httpd = builder.task(TaskSpec {
            count: 0,
            background: true,
            working_set_bytes: self.working_set,
            ..task("httpd", program)
        });
        let parent = builder.program(self.parent(httpd));
        builder.task(TaskSpec {
            background: true,
            ..task("httpd-parent", parent)
        });
        Ok(builder.finish())
    }
}

impl Ab {
    /// Opens all connections, then one for each answer.
    fn ab(&self, builder: &mut Builder, sockets: Sockets) -> Ops {
        let request = builder.mark("request");
        let connect = |ops: &mut Ops| {
            let (channel, count) = (sockets.connections, 1);
            ops.push(Op::StartClock);
            ops.push(Op::Send { channel, count });
        };
        let read = |ops: &mut Ops| {
            let (channel, count) = (sockets.answers, 1);
            ops.push(Op::Receive { channel, count });
            ops.push(Op::TakeClock).run(Amount::Fixed(self.client));
            ops.push(Op::StopClock { mark: request });
            ops.push(Op::Mark {
                mark: request,
                count: 1,
            });
        };
        let open = self.concurrency;
        let mut ops = Ops::new();
        ops.repeat(Times::Fixed(open), connect);
        ops.repeat(Times::Fixed(self.requests - open), |ops| {
            read(ops);
            connect(ops);
        });
        ops.repeat(Times::Fixed(open), read);
        ops
    }

    /// Accepts a connection, draws the page and answers.
    fn server(&self, builder: &mut Builder, sockets: Sockets) -> Ops {
        let page = builder.around(self.page, self.variation);
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, |ops| {
            let (channel, count) = (sockets.connections, 1);
            ops.push(Op::Receive { channel, count });
            ops.push(Op::TakeClock).run(page);
            let (channel, count) = (sockets.answers, 1);
            ops.push(Op::Send { channel, count });
        });
        ops
    }

    /// Forks the first servers and more each second, while too few are idle.
    fn parent(&self, httpd: SpecId) -> Ops {
        let fork = |ops: &mut Ops| {
            ops.push(Op::Fork(httpd));
        };
        let wanted = (self.concurrency + MIN_SPARE).min(self.max_clients);
        let mut servers = self.start_servers.min(self.max_clients);
        let mut ops = Ops::new();
        ops.repeat(Times::Fixed(servers), fork);
        let mut rate = 1;
        while servers < wanted {
            let more = rate.min(wanted - servers);
            ops.push(Op::Sleep(Amount::Fixed(Ns::from_secs(1))));
            ops.repeat(Times::Fixed(more), fork);
            servers += more;
            rate = (2 * rate).min(MAX_SPAWN_RATE);
        }
        ops.push(Op::WaitAll);
        ops
    }
}
