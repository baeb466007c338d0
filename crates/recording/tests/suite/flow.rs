//! Data flow: the channel of each system call is found, however its descriptor was copied.

use schedlab_recording::flow::{Flow, FlowLog, Kind, Reason};
use schedlab_recording::{
    Carries, KernelEvent, KernelEventKind, KnownFile, KnownTask, Pid, Recording,
};
use schedlab_trace::{CpuId, TaskClass, Time};

const READ: u16 = 0;
const WRITE: u16 = 1;
const OPEN: u16 = 257;
const CLOSE: u16 = 3;
const PIPE: u16 = 293;
const SOCKET_PAIR: u16 = 53;
const DUP_TO: u16 = 33;
const FUTEX: u16 = 202;
const CLOEXEC: u64 = 0o2_000_000;

/// System calls, one after the other; each returns at once.
struct Calls {
    recording: Recording,
    now: u64,
}

impl Calls {
    fn new() -> Calls {
        let carries = Carries {
            waking: true,
            wakeup: true,
        };
        let mut calls = Calls {
            recording: Recording::new(carries, 1),
            now: 0,
        };
        // Standard input, output and error.
        for fd in 0..3 {
            calls.call(1, OPEN, [0, 0, 0], fd);
        }
        calls
    }

    fn push(&mut self, kind: KernelEventKind) {
        self.now += 1;
        let (time, cpu) = (Time(self.now), CpuId(0));
        self.recording.push(KernelEvent { time, cpu, kind });
    }

    fn call(&mut self, pid: u32, call: u16, arguments: [u64; 3], result: i64) -> &mut Calls {
        let pid = Pid(pid);
        self.push(KernelEventKind::Enter {
            pid,
            call,
            arguments,
        });
        self.push(KernelEventKind::Return { pid, call, result });
        self
    }

    fn fork(&mut self, parent: u32, child: u32, thread: bool) -> &mut Calls {
        let comm = self.recording.comm("task");
        let (parent, pid) = (Pid(parent), Pid(child));
        self.push(KernelEventKind::NewTask { pid, comm, thread });
        self.push(KernelEventKind::Fork {
            parent,
            child: pid,
            child_comm: comm,
        });
        self
    }

    fn flow(&mut self) -> FlowLog {
        self.recording.finish(None);
        self.recording.flow().unwrap()
    }

    /// The last calls as "read 0: 100".
    fn last<const N: usize>(&mut self) -> [String; N] {
        let flow_log = self.flow();
        let shown = flow_log.calls.iter().map(|flow| match flow {
            Flow::Read { channel, bytes } => format!("read {}: {bytes}", channel.0),
            Flow::Write { channel, bytes } => format!("write {}: {bytes}", channel.0),
            other => flow_log.reason(other).to_string(),
        });
        let shown: Vec<String> = shown.collect();
        std::array::from_fn(|at| shown[shown.len() - N + at].clone())
    }
}

#[test]
fn both_ends_of_a_pipe_are_one_channel() {
    let mut calls = Calls::new();
    calls.call(1, PIPE, [0, 0, 0], 0).fork(1, 2, false);
    calls.call(2, WRITE, [4, 0, 100], 100);
    calls.call(1, READ, [3, 0, 4096], 100);
    assert_eq!(calls.last(), ["write 0: 100", "read 0: 100"]);
}

#[test]
fn each_direction_of_a_socket_pair_is_a_channel() {
    let mut calls = Calls::new();
    calls.call(1, SOCKET_PAIR, [1, 1, 0], 0);
    calls.call(1, WRITE, [3, 0, 8], 8);
    calls.call(1, READ, [4, 0, 8], 8);
    calls.call(1, WRITE, [4, 0, 8], 8);
    calls.call(1, READ, [3, 0, 8], 8);
    let expected = ["write 1: 8", "read 1: 8", "write 0: 8", "read 0: 8"];
    assert_eq!(calls.last(), expected);
    // A message of 8 bytes takes 768 bytes of the 212,992 that a socket may have.
    let channel = calls.flow().channels[0];
    assert_eq!(
        (channel.capacity_bytes, channel.low_water_bytes),
        (278 * 8, 278 * 2)
    );
}

/// As in a shell: the pipe becomes standard output, and exec closes the other descriptors.
#[test]
fn descriptors_are_copied_closed_and_given_out_again() {
    let mut calls = Calls::new();
    calls.call(1, PIPE, [0, CLOEXEC, 0], 0).fork(1, 2, false);
    calls.call(2, DUP_TO, [4, 1, 0], 1);
    calls.push(KernelEventKind::Exec { pid: Pid(2) });
    calls.call(2, WRITE, [1, 0, 10], 10);
    calls.call(2, WRITE, [4, 0, 10], 10);
    calls.call(1, CLOSE, [4, 0, 0], 0);
    calls.call(1, OPEN, [0, 0, 0], 4);
    calls.call(1, WRITE, [4, 0, 10], 10);
    calls.call(1, READ, [3, 0, 10], 10);
    let unknown = "for unknown reasons";
    let expected = [
        "write 0: 10",
        unknown,
        unknown,
        unknown,
        unknown,
        "read 0: 10",
    ];
    assert_eq!(calls.last(), expected);
}

#[test]
fn threads_share_descriptors() {
    let mut calls = Calls::new();
    calls.fork(1, 2, true).call(1, PIPE, [0, 0, 0], 0);
    calls.call(2, WRITE, [4, 0, 1], 1);
    calls.call(1, READ, [3, 0, 1], 1);
    assert_eq!(calls.last(), ["write 0: 1", "read 0: 1"]);
}

/// More is read than was written: the record of the channel is incomplete.
#[test]
fn a_channel_with_unknown_writers_is_not_understood() {
    let mut calls = Calls::new();
    calls.call(1, PIPE, [0, 0, 0], 0);
    calls.call(1, WRITE, [4, 0, 10], 10);
    calls.call(1, READ, [3, 0, 10], 11);
    let unknown = Reason::Unknown.to_string();
    assert_eq!(calls.last(), [unknown.clone(), unknown]);
}

#[test]
fn calls_that_wait_for_something_else_are_told_apart() {
    let mut calls = Calls::new();
    calls.call(1, FUTEX, [0x1000, 128, 0], 0);
    calls.call(1, 232, [5, 0, 1], 1);
    calls.call(1, 230, [0, 0, 0], 0);
    calls.call(1, 61, [0, 0, 0], 7);
    calls.call(1, 288, [3, 0, 0], 5);
    calls.call(1, READ, [0, 0, 1], -11);
    let expected = [
        "on futexes",
        "in poll",
        "for timers",
        "for children",
        "for connections",
        "for unknown reasons",
    ];
    assert_eq!(calls.last(), expected);
}

/// procfs tells which files were open before; the pipe may already contain bytes.
#[test]
fn pipes_that_existed_are_known() {
    let mut calls = Calls::new();
    for (pid, fd, written) in [(7, 5, true), (8, 6, false)] {
        let target = "pipe:[123]".to_string();
        calls.recording.tasks.push(KnownTask {
            pid,
            tgid: pid,
            comm: "t".into(),
            kernel: false,
            observer: false,
            nice: 0,
            class: TaskClass::Normal,
            rt_priority: 0,
            files: vec![KnownFile {
                fd,
                target,
                written,
                closed_by_exec: false,
            }],
        });
    }
    calls.call(8, READ, [6, 0, 30], 30);
    calls.call(7, WRITE, [5, 0, 10], 10);
    assert_eq!(calls.last(), ["read 0: 30", "write 0: 10"]);
    assert_eq!(calls.flow().channels[0].initial_bytes, 30);
}

const SOCKET: u16 = 41;
const CONNECT: u16 = 42;
const BIND: u16 = 49;
const LISTEN: u16 = 50;
const ACCEPT: u16 = 288;
const EVENT_FD: u16 = 290;
const TIMER_FD: u16 = 283;
const EXIT: u16 = 231;
const IN_PROGRESS: i64 = -115;

/// A server (1) that listens on descriptor 3, with an address of this length.
fn server(calls: &mut Calls, address_bytes: u64) {
    calls.call(1, SOCKET, [1, 1, 0], 3);
    calls.call(1, BIND, [3, 0, address_bytes], 0);
    calls.call(1, LISTEN, [3, 128, 0], 0);
}

/// A client that connects on descriptor 3.
fn client(calls: &mut Calls, pid: u32, address_bytes: u64, result: i64) {
    calls.call(pid, SOCKET, [1, 1, 0], 3);
    calls.call(pid, CONNECT, [3, 0, address_bytes], result);
}

#[test]
fn connections_are_accepted_in_the_order_in_which_they_were_made() {
    let mut calls = Calls::new();
    server(&mut calls, 16);
    client(&mut calls, 7, 16, 0);
    client(&mut calls, 8, 16, IN_PROGRESS);
    calls.call(1, ACCEPT, [3, 0, 0], 4);
    calls.call(1, ACCEPT, [3, 0, 0], 5);
    calls.call(7, WRITE, [3, 0, 70], 70);
    calls.call(8, WRITE, [3, 0, 80], 80);
    calls.call(1, READ, [5, 0, 4096], 80);
    calls.call(1, READ, [4, 0, 4096], 70);
    calls.call(1, WRITE, [4, 0, 7], 7);
    calls.call(7, READ, [3, 0, 4096], 7);
    // Channel 0 contains the connections; each connection has a channel in each direction.
    let expected = [
        "read 0: 1",
        "read 0: 1",
        "write 2: 70",
        "write 4: 80",
        "read 4: 80",
        "read 2: 70",
        "write 1: 7",
        "read 1: 7",
    ];
    assert_eq!(calls.last(), expected);
    let kinds: Vec<Kind> = calls.flow().channels.iter().map(|c| c.kind).collect();
    let tcp = [Kind::Tcp; 4];
    assert_eq!(kinds, [&[Kind::Connections], &tcp[..]].concat());
}

/// A client of a unix socket is not the web server's; a client on another machine has no task.
#[test]
fn connections_to_another_family_are_others() {
    let mut calls = Calls::new();
    server(&mut calls, 16);
    client(&mut calls, 7, 24, 0);
    calls.call(1, ACCEPT, [3, 0, 0], 4);
    calls.call(7, WRITE, [3, 0, 70], 70);
    calls.call(1, READ, [4, 0, 4096], 70);
    let unknown = "for unknown reasons";
    assert_eq!(calls.last(), ["for connections", unknown, unknown]);
}

/// Four wakeups of an event loop; one read takes three of them.
#[test]
fn an_eventfd_holds_what_was_written() {
    let mut calls = Calls::new();
    calls.call(1, EVENT_FD, [0, 0, 0], 3).fork(1, 2, true);
    for _ in 0..3 {
        calls.call(2, WRITE, [3, 0, 8], 8);
    }
    calls.call(1, READ, [3, 0, 8], 8);
    calls.call(2, WRITE, [3, 0, 8], 8);
    calls.call(1, READ, [3, 0, 8], 8);
    let expected = ["write 0: 1", "read 0: 3", "write 0: 1", "read 0: 1"];
    assert_eq!(calls.last(), expected);
}

#[test]
fn waits_for_a_time_are_told_from_others() {
    let mut calls = Calls::new();
    calls.call(1, TIMER_FD, [1, 0, 0], 3);
    calls.call(1, READ, [3, 0, 8], 8);
    calls.call(1, 230, [1, 1, 0], 0);
    calls.call(1, 230, [1, 0, 0], 0);
    calls.call(1, 35, [0, 1, 0], 0);
    // epoll_wait and a futex that time out.
    calls.call(1, 232, [4, 0, 1], 0);
    calls.call(1, FUTEX, [0x1000, 128, 0], -110);
    calls.call(1, EXIT, [0, 0, 0], 0);
    let flow = calls.flow();
    let sleep = |absolute| Flow::Sleep { absolute };
    let last = &flow.calls[flow.calls.len() - 7..];
    assert_eq!(last[0], sleep(true), "timerfd");
    assert_eq!(last[1], sleep(true), "clock_nanosleep(TIMER_ABSTIME)");
    assert_eq!(last[2..6], [sleep(false); 4]);
}

/// If the wakers never wait, the futex passes something on; if the same tasks do both, it is a
/// lock.
#[test]
fn futexes_that_hand_over_are_told_from_locks() {
    const WAIT: u64 = 128;
    const WAKE: u64 = 129;
    let mut calls = Calls::new();
    calls.fork(1, 2, true);
    let (job, lock) = (0x1000, 0x2000);
    calls.call(2, FUTEX, [job, WAIT, 0], 0);
    calls.call(1, FUTEX, [job, WAKE, 1], 1);
    calls.call(1, FUTEX, [job, WAKE, 1], 0);
    for (waiter, waker) in [(1, 2), (2, 1)] {
        calls.call(waiter, FUTEX, [lock, WAIT, 2], 0);
        calls.call(waker, FUTEX, [lock, WAKE, 1], 1);
    }
    let lock = "on futexes";
    let nothing = "for unknown reasons";
    let expected = ["read 0: 1", "write 0: 1", nothing, lock, lock, lock, lock];
    assert_eq!(calls.last(), expected);
}

/// The end of a stream is no data, but a task waits for it.
#[test]
fn the_end_of_a_stream_is_known() {
    let mut calls = Calls::new();
    calls.call(1, PIPE, [0, 0, 0], 0);
    calls.call(1, READ, [3, 0, 10], 0);
    assert_eq!(calls.last(), ["for the end of a stream"]);
}
