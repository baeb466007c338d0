//! Follows a recording's system calls.

use rustc_hash::FxHashMap;

use super::calls::{call, Call, CLOEXEC};
use super::files::{File, Files};
use super::futexes::Futexes;
use super::sockets::{is_internet, Connection, Connections, Listener};
use super::stream::Streams;
use super::{ChannelId, Flow, FlowLog, Kind};
use crate::event::{KernelEvent, KernelEventKind, Pid};
use crate::identity::{KnownFile, KnownTask};
use crate::recording::Recording;

/// `F_DUPFD`, `F_SETFD`, `F_DUPFD_CLOEXEC`
const DUPLICATE: u64 = 0;
const SET_FLAGS: u64 = 2;
const DUPLICATE_CLOEXEC: u64 = 1030;

/// The operations of futex(2), without flags, that wait: `FUTEX_WAIT`, `LOCK_PI`, `WAIT_BITSET`,
/// `WAIT_REQUEUE_PI`.
const FUTEX_WAITS: [u64; 4] = [0, 6, 9, 11];
const FUTEX_COMMAND: u64 = 0x7f;

/// `ETIMEDOUT`, `EINPROGRESS`
const TIMED_OUT: i64 = -110;
const IN_PROGRESS: i64 = -115;

/// The data flow of a recording.
pub fn follow(recording: &Recording) -> FlowLog {
    let mut follower = Follower::new(recording);
    follower.results = results(recording);
    recording.events().iter().for_each(|e| follower.event(e));
    follower.finish()
}

struct Follower<'a> {
    recording: &'a Recording,
    log: FlowLog,
    /// The result of each call, in the order of entry.
    results: Vec<Option<i64>>,
    /// The descriptors of each process.
    files: FxHashMap<Pid, Files>,
    processes: FxHashMap<Pid, Pid>,
    /// The call that each thread is in.
    inside: FxHashMap<Pid, Inside>,
    streams: Streams,
    futexes: Futexes,
    connections: Connections,
    /// The task of the last `task_newtask`, and whether it is a thread.
    newborn: Option<(Pid, bool)>,
}

/// The result of each call, in the order of entry; `None` if its return was not recorded.
fn results(recording: &Recording) -> Vec<Option<i64>> {
    let mut results = Vec::new();
    let mut inside: FxHashMap<Pid, (usize, u16)> = FxHashMap::default();
    for event in recording.events() {
        match event.kind {
            KernelEventKind::Enter { pid, call, .. } => {
                inside.insert(pid, (results.len(), call));
                results.push(None);
            }
            KernelEventKind::Return { pid, call, result } => {
                if let Some((at, _)) = inside.remove(&pid).filter(|(_, entered)| *entered == call) {
                    results[at] = Some(result);
                }
            }
            _ => {}
        }
    }
    results
}

/// A call between entry and return.
struct Inside {
    /// Its index in the log.
    at: usize,
    number: u16,
    arguments: [u64; 3],
}

impl<'a> Follower<'a> {
    fn new(recording: &'a Recording) -> Follower<'a> {
        let mut follower = Follower {
            recording,
            log: FlowLog::default(),
            results: Vec::new(),
            files: FxHashMap::default(),
            processes: FxHashMap::default(),
            inside: FxHashMap::default(),
            streams: Streams::default(),
            futexes: Futexes::default(),
            connections: Connections::default(),
            newborn: None,
        };
        follower.begin(&recording.tasks);
        follower
    }

    /// Adds the files that were open when the recording began.
    fn begin(&mut self, tasks: &[KnownTask]) {
        let mut pipes: FxHashMap<String, ChannelId> = FxHashMap::default();
        for task in tasks {
            self.processes.insert(Pid(task.pid), Pid(task.tgid));
            for known in &task.files {
                let file = match known.target.starts_with("pipe:") {
                    true => {
                        let known_pipe = pipes.get(&known.target).copied();
                        let channel =
                            known_pipe.unwrap_or_else(|| self.streams.add(Kind::Pipe, true));
                        pipes.insert(known.target.clone(), channel);
                        end_of_pipe(known, channel)
                    }
                    false => File::Other,
                };
                let files = self.files.entry(Pid(task.tgid)).or_default();
                files.set(known.fd, file, known.closed_by_exec);
            }
        }
    }

    fn event(&mut self, event: &KernelEvent) {
        match event.kind {
            KernelEventKind::NewTask { pid, thread, .. } => {
                self.newborn = Some((pid, thread));
            }
            KernelEventKind::Fork { parent, child, .. } => self.fork(parent, child),
            KernelEventKind::Exit { task } => {
                self.inside.remove(&task.pid);
                if self.process(task.pid) == task.pid {
                    self.files.remove(&task.pid);
                }
            }
            KernelEventKind::Exec { pid } => self.of(pid).exec(),
            KernelEventKind::Enter {
                pid,
                call,
                arguments,
            } => self.enter(pid, call, arguments),
            KernelEventKind::Return { pid, call, result } => {
                let inside = self.inside.remove(&pid);
                if let Some(inside) = inside.filter(|inside| inside.number == call) {
                    let at = inside.at;
                    self.log.calls[at] = self.returned(pid, inside, result);
                }
            }
            _ => {}
        }
    }

    fn process(&self, pid: Pid) -> Pid {
        let told = || self.recording.process_of(pid).unwrap_or(pid);
        self.processes.get(&pid).copied().unwrap_or_else(told)
    }

    fn of(&mut self, pid: Pid) -> &mut Files {
        let process = self.process(pid);
        self.files.entry(process).or_default()
    }

    /// A process gets a copy of its parent's descriptors; a thread shares them.
    fn fork(&mut self, parent: Pid, child: Pid) {
        let process = self.process(parent);
        let told = self.recording.process_of(child);
        let is_thread = match self.newborn.take() {
            Some((newborn, thread)) if newborn == child => thread,
            _ => told.is_some_and(|told| told == process),
        };
        if !is_thread {
            self.processes.insert(child, child);
            let files = self.files.get(&process).cloned().unwrap_or_default();
            self.files.insert(child, files);
        } else {
            self.processes.insert(child, process);
        }
    }

    fn enter(&mut self, pid: Pid, number: u16, arguments: [u64; 3]) {
        let at = self.log.calls.len();
        self.log.calls.push(match call(number) {
            Some(Call::Exit) => Flow::Exit,
            _ => Flow::Other,
        });
        let inside = Inside {
            at,
            number,
            arguments,
        };
        // A task that this call wakes may run before the call returns, so use the result now.
        match self.results[at].filter(|_| call(number).is_some_and(Call::gives)) {
            Some(result) => self.log.calls[at] = self.returned(pid, inside, result),
            None => {
                self.inside.insert(pid, inside);
            }
        }
    }

    /// The data flow of a call with its result.
    fn returned(&mut self, pid: Pid, inside: Inside, result: i64) -> Flow {
        let Some(call) = call(inside.number) else {
            return Flow::Other;
        };
        let [first, second, third] = inside.arguments;
        let fd = first as u32;
        match call {
            Call::Read => self.read(pid, fd, result),
            Call::Write => self.write(pid, fd, result),
            Call::Futex => self.futex(pid, first, second, result),
            Call::Poll if result == 0 => Flow::Sleep { absolute: false },
            Call::Poll => Flow::Poll {
                ready: result.max(0) as u32,
            },
            Call::Sleep { absolute } => Flow::Sleep {
                absolute: second & absolute != 0,
            },
            Call::Child => Flow::Child,
            Call::Signal => Flow::Signal,
            Call::Connect if result >= 0 || result == IN_PROGRESS => {
                self.connect(pid, inside, third as u32)
            }
            Call::Accept { flags } => self.accept(pid, &inside, flags, result),
            _ if result < 0 => Flow::Other,
            _ => {
                self.files_change(pid, call, [first, second, third], result as u32);
                Flow::Other
            }
        }
    }

    fn futex(&mut self, pid: Pid, address: u64, operation: u64, result: i64) -> Flow {
        let futex = (self.process(pid), address);
        if !FUTEX_WAITS.contains(&(operation & FUTEX_COMMAND)) {
            let woken = result.max(0) as u32;
            self.futexes.woke(futex, pid, woken);
            return Flow::FutexWake { futex, woken };
        }
        match result {
            0 => self.futexes.waited(futex, pid),
            TIMED_OUT => return Flow::Sleep { absolute: false },
            _ => {}
        }
        match result {
            0 => Flow::FutexWait { futex },
            _ => Flow::Other,
        }
    }

    /// The file of a descriptor. An accepted connection is identified at its first use: a read of
    /// `bytes`, or a write if `bytes` is 0.
    fn used(&mut self, pid: Pid, fd: u32, bytes: u32) -> File {
        let file = self.of(pid).get(fd);
        let File::Accepted(listener) = file else {
            return file;
        };
        let Some(made) = self.connections.used(&listener, bytes, &self.streams) else {
            return File::Other;
        };
        let file = File::Socket {
            received: made.sent,
            sent: made.received,
        };
        self.of(pid).change(fd, file);
        file
    }

    fn read(&mut self, pid: Pid, fd: u32, result: i64) -> Flow {
        let file = match u32::try_from(result) {
            Ok(bytes) if bytes > 0 => self.used(pid, fd, bytes),
            _ => self.of(pid).get(fd),
        };
        let channel = match file {
            File::ReadEnd(channel) | File::Event(channel) => channel,
            File::Socket { received, .. } => received,
            File::Accepted(_) if result == 0 => return Flow::Closed,
            File::Timer => return Flow::Sleep { absolute: true },
            _ => return Flow::Other,
        };
        let Ok(bytes) = u32::try_from(result) else {
            return Flow::Other;
        };
        match bytes {
            0 => Flow::Closed,
            // A read of an eventfd takes the sum of all writes.
            _ if self.streams.is_event(channel) => {
                let count = self.streams.held(channel).max(1);
                Flow::read(&mut self.streams, channel, count)
            }
            _ => Flow::read(&mut self.streams, channel, bytes),
        }
    }

    fn write(&mut self, pid: Pid, fd: u32, result: i64) -> Flow {
        let Some(bytes) = u32::try_from(result).ok().filter(|bytes| *bytes > 0) else {
            return Flow::Other;
        };
        let channel = match self.used(pid, fd, 0) {
            File::WriteEnd(channel) | File::Event(channel) => channel,
            File::Socket { sent, .. } => sent,
            _ => return Flow::Other,
        };
        match self.streams.is_event(channel) {
            true => Flow::write(&mut self.streams, channel, 1),
            false => Flow::write(&mut self.streams, channel, bytes),
        }
    }

    /// A connection waits in its listener's queue until it is accepted.
    fn connect(&mut self, pid: Pid, inside: Inside, address_bytes: u32) -> Flow {
        let fd = inside.arguments[0] as u32;
        // A second connect(2) of a non-blocking socket asks whether the connection is established.
        if let File::Socket { .. } = self.of(pid).get(fd) {
            return Flow::Other;
        }
        let kind = match is_internet(address_bytes) {
            true => Kind::Tcp,
            false => Kind::Socket,
        };
        let [received, sent] = [(); 2].map(|()| self.streams.add(kind, false));
        self.of(pid).change(fd, File::Socket { received, sent });
        self.connections.made(Connection {
            at: inside.at,
            address_bytes,
            received,
            sent,
        });
        Flow::Other
    }

    fn accept(&mut self, pid: Pid, inside: &Inside, flags: Option<usize>, result: i64) -> Flow {
        let Ok(fd) = u32::try_from(result) else {
            return Flow::Accept;
        };
        let listener = match self.of(pid).get(inside.arguments[0] as u32) {
            File::Listener(listener) => Some(listener),
            _ => None,
        };
        let made = listener.and_then(|of| Some((of, self.connections.accept(&of)?)));
        let (file, flow) = match made {
            Some((listener, at)) => {
                let channel = listener.channel;
                self.log.calls[at] = Flow::write(&mut self.streams, channel, 1);
                let flow = Flow::read(&mut self.streams, channel, 1);
                (File::Accepted(listener), flow)
            }
            None => (File::Other, Flow::Accept),
        };
        // The flags of accept4 are its fourth argument, which is not recorded.
        let closed_by_exec = flags.is_some();
        self.of(pid).set(fd, file, closed_by_exec);
        flow
    }

    /// Applies a successful call that opened, copied or closed descriptors.
    fn files_change(&mut self, pid: Pid, call: Call, arguments: [u64; 3], result: u32) {
        let [first, second, third] = arguments;
        let has_flag = |at: Option<usize>| {
            at.is_some_and(|at| arguments.get(at).is_some_and(|flags| flags & CLOEXEC != 0))
        };
        match call {
            Call::Open { flags } => self.of(pid).set(result, File::Other, has_flag(flags)),
            Call::TimerFd => self.of(pid).set(result, File::Timer, has_flag(Some(1))),
            Call::EventFd { flags } => {
                let channel = self.streams.add(Kind::Event, false);
                self.of(pid)
                    .set(result, File::Event(channel), has_flag(flags));
            }
            Call::Bind => self.of(pid).change(first as u32, File::Bound(third as u32)),
            Call::Listen => self.listen(pid, first as u32),
            Call::Socket => self.of(pid).set(result, File::Other, has_flag(Some(1))),
            Call::Pipe { flags } => {
                let channel = self.streams.add(Kind::Pipe, false);
                let files = self.of(pid);
                files.add(File::ReadEnd(channel), has_flag(flags));
                files.add(File::WriteEnd(channel), has_flag(flags));
            }
            Call::SocketPair => {
                let [one, other] = [(); 2].map(|()| self.streams.add(Kind::Socket, false));
                let files = self.of(pid);
                for (received, sent) in [(one, other), (other, one)] {
                    files.add(File::Socket { received, sent }, has_flag(Some(1)));
                }
            }
            Call::Close => self.of(pid).close(first as u32, first as u32),
            // With flags, close_range(2) may only mark the descriptors.
            Call::CloseRange if third == 0 => self.of(pid).close(first as u32, second as u32),
            Call::CloseRange => {}
            Call::Dup => self.copy(pid, first as u32, result, false),
            Call::DupTo { flags } => {
                let closed_by_exec = flags && third & CLOEXEC != 0;
                self.copy(pid, first as u32, result, closed_by_exec);
            }
            Call::Fcntl => match second {
                DUPLICATE | DUPLICATE_CLOEXEC => {
                    self.copy(pid, first as u32, result, second == DUPLICATE_CLOEXEC);
                }
                SET_FLAGS => self.of(pid).close_by_exec(first as u32, third & 1 != 0),
                _ => {}
            },
            _ => {}
        }
    }

    fn listen(&mut self, pid: Pid, fd: u32) {
        if let File::Bound(address_bytes) = self.of(pid).get(fd) {
            let channel = self.streams.add(Kind::Connections, false);
            let listener = Listener {
                channel,
                address_bytes,
            };
            self.of(pid).change(fd, File::Listener(listener));
        }
    }

    fn copy(&mut self, pid: Pid, from: u32, to: u32, closed_by_exec: bool) {
        let files = self.of(pid);
        let file = files.get(from);
        files.set(to, file, closed_by_exec);
    }

    /// Calls on a channel with an incomplete record become [`Flow::Other`].
    fn finish(mut self) -> FlowLog {
        for call in &mut self.log.calls {
            match *call {
                Flow::Read { channel, .. } | Flow::Write { channel, .. }
                    if !self.streams.is_whole(channel) =>
                {
                    *call = Flow::Other;
                }
                _ => {}
            }
        }
        self.futexes.resolve(&mut self.log.calls, &mut self.streams);
        self.log.channels = self.streams.channels();
        self.log
    }
}

fn end_of_pipe(known: &KnownFile, channel: ChannelId) -> File {
    match known.written {
        true => File::WriteEnd(channel),
        false => File::ReadEnd(channel),
    }
}
