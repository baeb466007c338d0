//! The system calls that data flow needs, by their numbers on x86-64.

/// The effect of a system call on files and waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Reads from the file of its first argument.
    Read,
    /// Writes to the file of its first argument.
    Write,
    /// Opens a file that is no channel; it is close-on-exec if this bit of this argument is set.
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
    /// Ends the thread or the process; it does not return.
    Exit,
    /// Waits for a signal.
    Signal,
}

impl Call {
    /// Does it put something into a channel?
    pub fn gives(self) -> bool {
        matches!(self, Call::Write | Call::Connect)
    }
}

/// `O_CLOEXEC`, which is also `SOCK_CLOEXEC`, `EPOLL_CLOEXEC` and so on.
pub const CLOEXEC: u64 = 0o2_000_000;

/// `TIMER_ABSTIME`
const ABSOLUTE: u64 = 1;

/// All known calls; the filter tests them in this order.
pub const CALLS: &[(u16, &str, Call)] = &[
    (0, "read", Call::Read),
    (1, "write", Call::Write),
    (44, "sendto", Call::Write),
    (45, "recvfrom", Call::Read),
    (202, "futex", Call::Futex),
    (232, "epoll_wait", Call::Poll),
    (7, "poll", Call::Poll),
    (3, "close", Call::Close),
    (46, "sendmsg", Call::Write),
    (47, "recvmsg", Call::Read),
    (281, "epoll_pwait", Call::Poll),
    (19, "readv", Call::Read),
    (20, "writev", Call::Write),
    (40, "sendfile64", Call::Write),
    (230, "clock_nanosleep", Call::Sleep { absolute: ABSOLUTE }),
    (35, "nanosleep", Call::Sleep { absolute: 0 }),
    (61, "wait4", Call::Child),
    (247, "waitid", Call::Child),
    (60, "exit", Call::Exit),
    (231, "exit_group", Call::Exit),
    (2, "open", Call::Open { flags: Some(1) }),
    (257, "openat", Call::Open { flags: Some(2) }),
    (22, "pipe", Call::Pipe { flags: None }),
    (293, "pipe2", Call::Pipe { flags: Some(1) }),
    (53, "socketpair", Call::SocketPair),
    (41, "socket", Call::Socket),
    (42, "connect", Call::Connect),
    (49, "bind", Call::Bind),
    (50, "listen", Call::Listen),
    (43, "accept", Call::Accept { flags: None }),
    (288, "accept4", Call::Accept { flags: Some(3) }),
    (32, "dup", Call::Dup),
    (33, "dup2", Call::DupTo { flags: false }),
    (292, "dup3", Call::DupTo { flags: true }),
    (72, "fcntl", Call::Fcntl),
    (59, "execve", Call::Exec),
    (322, "execveat", Call::Exec),
    (436, "close_range", Call::CloseRange),
    (23, "select", Call::Poll),
    (270, "pselect6", Call::Poll),
    (271, "ppoll", Call::Poll),
    (441, "epoll_pwait2", Call::Poll),
    (130, "rt_sigsuspend", Call::Signal),
    (128, "rt_sigtimedwait", Call::Signal),
    (34, "pause", Call::Signal),
    (284, "eventfd", Call::EventFd { flags: None }),
    (290, "eventfd2", Call::EventFd { flags: Some(1) }),
    (283, "timerfd_create", Call::TimerFd),
    (85, "creat", Call::Open { flags: None }),
    (437, "openat2", Call::Open { flags: None }),
    (213, "epoll_create", Call::Open { flags: None }),
    (291, "epoll_create1", Call::Open { flags: Some(0) }),
    (253, "inotify_init", Call::Open { flags: None }),
    (294, "inotify_init1", Call::Open { flags: Some(0) }),
    (282, "signalfd", Call::Open { flags: None }),
    (289, "signalfd4", Call::Open { flags: None }),
    (298, "perf_event_open", Call::Open { flags: None }),
    (319, "memfd_create", Call::Open { flags: None }),
    (425, "io_uring_setup", Call::Open { flags: None }),
    (434, "pidfd_open", Call::Open { flags: None }),
    (438, "pidfd_getfd", Call::Open { flags: None }),
];

/// The effect of a call; `None` for other calls.
pub fn call(number: u16) -> Option<Call> {
    let known = CALLS.iter().find(|(known, ..)| *known == number);
    known.map(|(_, _, call)| *call)
}

/// The names of these calls in the kernel's tracepoints.
pub fn names() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|(_, name, _)| *name)
}

/// The filter of `sys_enter` and `sys_exit` that accepts only these calls; frequent ones are tested
/// first.
pub fn filter() -> String {
    let terms: Vec<String> = CALLS.iter().map(|(n, ..)| format!("id=={n}")).collect();
    terms.join("||")
}
