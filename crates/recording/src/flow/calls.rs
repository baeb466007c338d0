//! Which system calls matter, by their numbers on x86-64.

/// What a call does with files and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Reads from the file of its first argument.
    Read,
    /// Writes to the file of its first argument.
    Write,
    /// Makes a file that is no channel; close-on-exec by this bit of this argument.
    Open {
        flags: Option<usize>,
    },
    Pipe {
        flags: Option<usize>,
    },
    SocketPair,
    Socket,
    Accept {
        flags: Option<usize>,
    },
    Close,
    CloseRange,
    Dup,
    DupTo {
        flags: bool,
    },
    Fcntl,
    Exec,
    Bind,
    Listen,
    Connect,
    EventFd {
        flags: Option<usize>,
    },
    TimerFd,
    Futex,
    Poll,
    /// Sleeps; until a point in time if this bit of its second argument is set.
    Sleep {
        absolute: u64,
    },
    /// Waits for a child.
    Child,
    /// Ends the thread or the process: it never returns.
    Exit,
    /// Waits for a signal.
    Signal,
}

/// `O_CLOEXEC`, which is also `SOCK_CLOEXEC`, `EPOLL_CLOEXEC` and so on.
pub const CLOEXEC: u64 = 0o2_000_000;

/// `TIMER_ABSTIME`
const ABSOLUTE: u64 = 1;

/// All calls of which something is known: the filter compares with them in this order.
pub const CALLS: &[(u16, Call)] = &[
    (0, Call::Read),
    (1, Call::Write),
    (44, Call::Write),
    (45, Call::Read),
    (202, Call::Futex),
    (232, Call::Poll),
    (7, Call::Poll),
    (3, Call::Close),
    (46, Call::Write),
    (47, Call::Read),
    (281, Call::Poll),
    (19, Call::Read),
    (20, Call::Write),
    (40, Call::Write),
    (230, Call::Sleep { absolute: ABSOLUTE }),
    (35, Call::Sleep { absolute: 0 }),
    (61, Call::Child),
    (247, Call::Child),
    (60, Call::Exit),
    (231, Call::Exit),
    (2, Call::Open { flags: Some(1) }),
    (257, Call::Open { flags: Some(2) }),
    (22, Call::Pipe { flags: None }),
    (293, Call::Pipe { flags: Some(1) }),
    (53, Call::SocketPair),
    (41, Call::Socket),
    (42, Call::Connect),
    (49, Call::Bind),
    (50, Call::Listen),
    (43, Call::Accept { flags: None }),
    (288, Call::Accept { flags: Some(3) }),
    (32, Call::Dup),
    (33, Call::DupTo { flags: false }),
    (292, Call::DupTo { flags: true }),
    (72, Call::Fcntl),
    (59, Call::Exec),
    (322, Call::Exec),
    (436, Call::CloseRange),
    (23, Call::Poll),
    (270, Call::Poll),
    (271, Call::Poll),
    (441, Call::Poll),
    (130, Call::Signal),
    (128, Call::Signal),
    (34, Call::Signal),
    (284, Call::EventFd { flags: None }),
    (290, Call::EventFd { flags: Some(1) }),
    (283, Call::TimerFd),
    (85, Call::Open { flags: None }),
    (437, Call::Open { flags: None }),
    (213, Call::Open { flags: None }),
    (291, Call::Open { flags: Some(0) }),
    (253, Call::Open { flags: None }),
    (294, Call::Open { flags: Some(0) }),
    (282, Call::Open { flags: None }),
    (289, Call::Open { flags: None }),
    (298, Call::Open { flags: None }),
    (319, Call::Open { flags: None }),
    (425, Call::Open { flags: None }),
    (434, Call::Open { flags: None }),
    (438, Call::Open { flags: None }),
];

/// What a call does; none if it is none of these.
pub fn call(number: u16) -> Option<Call> {
    let known = CALLS.iter().find(|(known, _)| *known == number);
    known.map(|(_, call)| *call)
}

/// The filter of `sys_enter` and `sys_exit` that lets these calls pass, the frequent ones first.
pub fn filter() -> String {
    let terms: Vec<String> = CALLS.iter().map(|(n, _)| format!("id=={n}")).collect();
    terms.join("||")
}
