//! The loader as a process: started under the filter, and ended whatever happens.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::filter::Filter;
use super::notify::Listener;

/// Most bytes of its output that are kept: the last ones.
const OUTPUT_KEPT: usize = 64 << 10;

/// What is in the line that says best why a loader failed.
const COMPLAINTS: &[&str] = &[
    "failed to find kernel BTF",
    "not found in kernel",
    "incompatible with vmlinux",
    "panicked at",
    "error: ",
    "Error: ",
];

/// What the auxiliary vector calls the kernel's own library, with which programs read clocks without a system call.
const AT_SYSINFO_EHDR: u64 = 33;

/// A loader that runs.  Dropped, it and all it has started are dead.
pub struct Child {
    process: Process,
    /// Readable once it has ended.
    pub pidfd: OwnedFd,
    /// Where its system calls arrive.
    pub listener: Listener,
    /// What it says.
    pub outputs: [Output; 2],
}

/// One of its standard outputs.
pub struct Output {
    pipe: Option<Box<dyn Read + Send>>,
    text: Vec<u8>,
}

impl Child {
    /// Starts a program with arguments and with some variables of its environment changed.
    ///
    /// # Errors
    /// It cannot be started, or the system has no seccomp notification.
    pub fn start(
        program: &PathBuf,
        arguments: &[OsString],
        variables: &[(&str, &str)],
    ) -> io::Result<Child> {
        let (ours, theirs) = UnixDatagram::pair()?;
        let filter = Filter::new();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let parent = std::process::id();
        let socket = theirs.as_raw_fd();
        // SAFETY: nothing but system calls between fork() and exec().
        unsafe { command.pre_exec(move || prepare(&filter, parent, socket)) };
        let mut process = command.spawn()?;
        drop(theirs);
        let outputs = [
            Output::new(process.stderr.take()),
            Output::new(process.stdout.take()),
        ];
        let pid = process.id();
        let guard = Group(pid);
        let started = received(&ours).and_then(|(listener, traced)| {
            if traced {
                without_clock_library(pid)?;
            }
            Ok((listener, pidfd(pid)?))
        });
        match started {
            Ok((listener, pidfd)) => {
                std::mem::forget(guard);
                Ok(Child {
                    process,
                    pidfd,
                    listener: Listener::new(listener),
                    outputs,
                })
            }
            Err(error) => {
                drop(guard);
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its threads, in the order in which they were made.
    pub fn threads(&self) -> Vec<u32> {
        let folder = fs::read_dir(format!("/proc/{}/task", self.id()));
        let names = folder.into_iter().flatten().flatten();
        let mut threads: Vec<u32> = names
            .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
            .collect();
        threads.sort_unstable();
        threads
    }

    /// How it ended; waits until it has.
    pub fn ended(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    /// A file of its own, by its descriptor.
    ///
    /// # Errors
    /// It has no such descriptor.
    pub fn file(&self, fd: i32) -> io::Result<OwnedFd> {
        // SAFETY: a plain system call.
        let got = unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.pidfd.as_raw_fd(), fd, 0) };
        owned(got as i32)
    }

    /// Reads what it has said since; does not wait.
    pub fn read_outputs(&mut self) {
        self.outputs.iter_mut().for_each(Output::read);
    }

    /// The lines that say why it failed: the last ones of its standard error, or of its standard output, without
    /// colours; before them, the first complaint and what follows it.
    pub fn last_lines(&mut self, most: usize) -> Vec<String> {
        self.read_outputs();
        let [errors, output] = &self.outputs;
        let (errors, output) = (errors.lines(), output.lines());
        let complains = |line: &String| COMPLAINTS.iter().any(|words| line.contains(words));
        let all = errors.iter().chain(&output);
        let first = all.skip_while(|line| !complains(line)).take(2).cloned();
        let first: Vec<String> = first.collect();
        let lines = if errors.is_empty() { output } else { errors };
        let last = lines[lines.len().saturating_sub(most)..].to_vec();
        let first = first.into_iter().filter(|first| !last.contains(first));
        first.chain(last.iter().cloned()).collect()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(Group(self.process.id()));
        let _ = self.process.wait();
    }
}

/// Kills a process group when it is dropped.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: a plain system call.  The leader is not yet waited for: its number is not used again.
        unsafe { libc::kill(-(self.0 as i32), libc::SIGKILL) };
    }
}

impl Output {
    fn new(pipe: Option<impl Read + AsRawFd + Send + 'static>) -> Output {
        if let Some(pipe) = &pipe {
            // SAFETY: a plain system call on a descriptor that is open.
            unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        }
        Output {
            pipe: pipe.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            text: Vec::new(),
        }
    }

    /// Reads what there is.
    pub fn read(&mut self) {
        let mut bytes = [0; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut bytes) {
                Ok(0) => self.pipe = None,
                Ok(got) => self.text.extend_from_slice(&bytes[..got]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.pipe = None,
            }
            let excess = self.text.len().saturating_sub(OUTPUT_KEPT);
            self.text.drain(..excess);
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.text);
        let lines = text.lines().map(without_colours);
        lines.filter(|line| !line.is_empty()).collect()
    }
}

/// A line without what changes a terminal's colours.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    let plain = parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, rest)| rest)
    });
    plain.trim().to_string()
}

/// What happens between fork() and exec(): only system calls, no memory is allocated.
fn prepare(filter: &Filter, parent: u32, socket: RawFd) -> io::Result<()> {
    // SAFETY: plain system calls.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent as i32 {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // Addresses shall not differ from one load to the next.
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        // Whoever is traced already (strace -f) stays so.
        let traced = libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0;
        let listener = filter.install()?;
        send(socket, listener.as_raw_fd(), traced)
    }
}

/// After exec(), hides the library with which programs read clocks without asking the kernel, and lets it run.
fn without_clock_library(pid: u32) -> io::Result<()> {
    let mut status = 0;
    // SAFETY: a plain system call.
    let stopped = unsafe { libc::waitpid(pid as i32, &mut status, libc::__WALL) };
    if stopped != pid as i32 || !libc::WIFSTOPPED(status) {
        return Err(io::Error::other("it did not start"));
    }
    let changed = hide_clock_library(pid);
    // SAFETY: a plain system call.
    let detached = unsafe { libc::ptrace(libc::PTRACE_DETACH, pid as i32, 0, 0) };
    match detached {
        -1 => Err(io::Error::last_os_error()),
        _ => changed,
    }
}

/// Makes its auxiliary vector, which is on its stack, name that library 0.
fn hide_clock_library(pid: u32) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let vector = fs::read(format!("/proc/{pid}/auxv"))?;
    let words = vector.chunks_exact(8);
    let words: Vec<u64> = words
        .map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")))
        .collect();
    let pairs = words.chunks_exact(2);
    let is = |key: u64| move |pair: &&[u64]| pair[0] == key;
    let Some(library) = pairs.clone().find(is(AT_SYSINFO_EHDR)) else {
        return Ok(());
    };
    let memory = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(format!("/proc/{pid}/mem"))?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let stack = maps.lines().find(|line| line.ends_with("[stack]"));
    let range = stack.and_then(|line| line.split_ascii_whitespace().next()?.split_once('-'));
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let Some((Some(start), Some(end))) = range.map(|(start, end)| (number(start), number(end)))
    else {
        return Err(io::Error::other("it has no stack"));
    };
    let mut bytes = vec![0; (end - start) as usize];
    memory.read_exact_at(&mut bytes, start)?;
    let pair: Vec<u8> = library.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let aligned = (0..bytes.len() / 8).map(|i| 8 * i);
    let found = aligned
        .into_iter()
        .find(|&at| bytes[at..].starts_with(&pair));
    match found {
        Some(at) => memory.write_all_at(&[0; 8], start + at as u64 + 8),
        None => Err(io::Error::other("its auxiliary vector is not on its stack")),
    }
}

/// Sends a descriptor and a word; allocates nothing.
fn send(socket: RawFd, fd: RawFd, traced: bool) -> io::Result<()> {
    let mut control = Control::default();
    let mut byte = [u8::from(traced)];
    // SAFETY: `message` points to `control` and `byte`, which live long enough.
    let sent = unsafe {
        let mut vector = iovec(&mut byte);
        let message = control.message(&mut vector);
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        libc::sendmsg(socket, &message, 0)
    };
    match sent {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The descriptor and the word that were sent.
fn received(socket: &UnixDatagram) -> io::Result<(OwnedFd, bool)> {
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut control = Control::default();
    let mut byte = [0_u8];
    // SAFETY: as above; the kernel fills `control`.
    unsafe {
        let mut vector = iovec(&mut byte);
        let mut message = control.message(&mut vector);
        if libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) == -1 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("no descriptor came"));
        }
        let fd = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok((owned(fd)?, byte[0] == 1))
    }
}

/// Room for one descriptor in a message.
#[derive(Default)]
#[repr(align(8))]
struct Control([u8; 24]);

impl Control {
    fn message(&mut self, vector: &mut libc::iovec) -> libc::msghdr {
        // SAFETY: zeros are an empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = vector;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = self.0.len() as _;
        message
    }
}

fn iovec(byte: &mut [u8; 1]) -> libc::iovec {
    libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    }
}

fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32)
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    match fd {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel just made it for us.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

/// How a process ended, as a clause.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with status {code}"),
        (_, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".into(),
    }
}
