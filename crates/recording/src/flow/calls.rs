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
    Futex,
    Poll,
    Sleep,
    Child,
}

/// `O_CLOEXEC`, which is also `SOCK_CLOEXEC`, `EPOLL_CLOEXEC` and so on.
pub const CLOEXEC: u64 = 0o2_000_000;

/// All calls of which something is known.
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
    (230, Call::Sleep),
    (35, Call::Sleep),
    (61, Call::Child),
    (247, Call::Child),
    (2, Call::Open { flags: Some(1) }),
    (257, Call::Open { flags: Some(2) }),
    (22, Call::Pipe { flags: None }),
    (293, Call::Pipe { flags: Some(1) }),
    (53, Call::SocketPair),
    (41, Call::Socket),
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
    (85, Call::Open { flags: None }),
    (437, Call::Open { flags: None }),
    (213, Call::Open { flags: None }),
    (291, Call::Open { flags: Some(0) }),
    (284, Call::Open { flags: None }),
    (290, Call::Open { flags: Some(1) }),
    (253, Call::Open { flags: None }),
    (294, Call::Open { flags: Some(0) }),
    (282, Call::Open { flags: None }),
    (289, Call::Open { flags: None }),
    (283, Call::Open { flags: Some(1) }),
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
