//! Chat over TCP: VolanoMark and chat, with real sockets.
//!
//! ```text
//!            client's process              │          server's process
//!  Receiver ──turn──▶ Sender ──── socket ──┼──▶ Receiver ──┬─▶ queue of every other user
//!     ▲                                    │               └─▶ own queue (confirmation)
//!     └───────────────────────── socket ◀──┼──── Sender ◀───── own queue
//! ```
//!
//! VolanoMark's users take turns, messages are confirmed and threads yield. chat's users send all
//! messages at once. The options are those of the built-in workloads; the CPU time of each step is
//! added to the cost of sockets and threads.

mod client;
mod server;

use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use schedlab_trace::Ns;
use schedlab_workload::builtin::VolanoMark;
use schedlab_workload::{Distribution, Stream};

use crate::memory::numbers;
use crate::system::{exit_process, fork, set_name};
use crate::work::Work;

/// Bytes of a message.
const MESSAGE_BYTES: usize = 100;

/// Stack of a thread.
const STACK_BYTES: usize = 128 << 10;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Chat rooms.
    pub rooms: u32,
    /// Users in each room.
    pub users: u32,
    /// Messages each user sends.
    pub count: u32,
    /// Median CPU time of writing a message to a socket.
    pub write: Ns,
    /// Median CPU time of reading it.
    pub read: Ns,
    /// Median CPU time of putting it into one user's queue.
    pub put: Ns,
    /// Standard deviation of the logarithm of these times, in thousandths.
    pub sigma_milli: u32,
    /// VolanoMark: users take turns, messages are confirmed, threads yield.
    pub polite: bool,
}

impl From<&VolanoMark> for Plan {
    fn from(options: &VolanoMark) -> Plan {
        Plan {
            rooms: options.rooms,
            users: options.users,
            count: options.count,
            write: options.write,
            read: options.read,
            put: options.put,
            sigma_milli: options.variation,
            polite: true,
        }
    }
}

/// The result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Score {
    /// Messages the clients sent.
    pub sent: u64,
    /// Messages they received, without confirmations.
    pub received: u64,
    /// Time from the moment when all users were ready to the last message.
    pub time: Ns,
}

/// Runs server and client, and counts.
///
/// # Errors
/// No port, no process, no threads, or a connection that broke.
pub fn run(plan: Plan) -> io::Result<Score> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let work = Work::calibrate();
    let counts = Counts(numbers(3)?);
    let server = child("chat-server", || server::serve(plan, &listener, work))?;
    let address = listener.local_addr()?;
    drop(listener);
    let client = child("chat-client", || client::run(plan, address, work, counts))?;
    let status = wait_for(client);
    // SAFETY: it takes numbers; the server is a child that has not been waited for.
    unsafe { libc::kill(server, libc::SIGKILL) };
    wait_for(server);
    match status {
        0 => Ok(counts.score()),
        _ => Err(io::Error::other("the client failed")),
    }
}

/// Starts a process that runs `life`; returns its id.
fn child(name: &str, life: impl FnOnce() -> io::Result<()>) -> io::Result<i32> {
    // SAFETY: in the child only the calling thread exists, and no lock is held.
    match unsafe { fork() }? {
        Some(pid) => Ok(pid as i32),
        None => {
            set_name(name);
            match life() {
                Ok(()) => exit_process(0),
                Err(error) => {
                    eprintln!("schedlab: {name}: {error}");
                    exit_process(1)
                }
            }
        }
    }
}

/// The raw exit status of a child.
fn wait_for(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the place lives through the call.
    while unsafe { libc::waitpid(pid, &mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    status
}

/// Counters of the client in memory shared with its parent: messages sent and received, and the time.
#[derive(Clone, Copy)]
struct Counts(&'static [AtomicU64]);

impl Counts {
    fn sent(self) {
        self.0[0].fetch_add(1, SeqCst);
    }

    fn received(self) {
        self.0[1].fetch_add(1, SeqCst);
    }

    fn time(self, time: Ns) {
        self.0[2].store(time.0, SeqCst);
    }

    fn score(self) -> Score {
        let [sent, received, time] = [0, 1, 2].map(|at: usize| self.0[at].load(SeqCst));
        Score {
            sent,
            received,
            time: Ns(time),
        }
    }
}

/// The CPU time of each step, drawn as in the simulator.
struct Labour {
    work: Work,
    numbers: Stream,
    sigma_milli: u32,
}

impl Labour {
    fn new(work: Work, plan: &Plan, name: &str) -> Labour {
        Labour {
            work,
            numbers: Stream::of_task(1, name, 0),
            sigma_milli: plan.sigma_milli,
        }
    }

    fn run(&mut self, median: Ns) {
        let amount = match (self.sigma_milli, median) {
            (0, median) | (_, median @ Ns::ZERO) => median,
            (sigma_milli, Ns(median)) => Ns(self.numbers.draw(&Distribution::LogNormal {
                median,
                sigma_milli,
            })),
        };
        self.work.run(amount);
    }
}

/// A message on the wire: its sender, and padding.
#[derive(Clone, Copy)]
struct Message {
    room: u32,
    user: u32,
}

impl Message {
    fn bytes(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [b'.'; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&self.room.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.user.to_le_bytes());
        bytes
    }

    /// The next message; `None` at the end of the stream.
    fn read(socket: &mut TcpStream) -> io::Result<Option<Message>> {
        let mut bytes = [0; MESSAGE_BYTES];
        match socket.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
            Ok(()) => {
                let word = |at: usize| {
                    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
                };
                Ok(Some(Message {
                    room: word(0),
                    user: word(4),
                }))
            }
        }
    }
}

/// Starts a thread that ends the process when it fails.
fn thread(
    name: String,
    life: impl FnOnce(&str) -> io::Result<()> + Send + 'static,
) -> io::Result<std::thread::JoinHandle<()>> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(move || {
        set_name(&name);
        if let Err(error) = life(&name) {
            eprintln!("schedlab: {name}: {error}");
            exit_process(1)
        }
    })
}
