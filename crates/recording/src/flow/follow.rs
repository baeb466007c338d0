//! Follows a recording's system calls.

use rustc_hash::FxHashMap;

use super::calls::{call, Call, CLOEXEC};
use super::files::{File, Files};
use super::{Channel, ChannelId, Flow, FlowLog};
use crate::event::{KernelEvent, KernelEventKind, Pid};
use crate::identity::{KnownFile, KnownTask};
use crate::recording::Recording;

/// What a pipe holds: 16 pages, one of which has to be free before a writer goes on.
const PIPE_BYTES: u32 = 65_536;
const PAGE_BYTES: u32 = 4096;

/// What the packets of a socket may take (`net.core.wmem_default`), and what each takes beside its data.
const SOCKET_BYTES: u64 = 212_992;
const PACKET_BYTES: u64 = 320;
const HEAD_BYTES: u64 = 256;

/// `F_DUPFD`, `F_SETFD`, `F_DUPFD_CLOEXEC`
const DUPLICATE: u64 = 0;
const SET_FLAGS: u64 = 2;
const DUPLICATE_CLOEXEC: u64 = 1030;

/// The operations of futex(2) without their flags that wait: `FUTEX_WAIT`, `LOCK_PI`, `WAIT_BITSET`, `WAIT_REQUEUE_PI`.
const FUTEX_WAITS: [u64; 4] = [0, 6, 9, 11];
const FUTEX_COMMAND: u64 = 0x7f;

/// The data flow of a recording.
pub fn follow(recording: &Recording) -> FlowLog {
    let mut follower = Follower::new(recording);
    recording.events().iter().for_each(|e| follower.event(e));
    follower.finish()
}

struct Follower<'a> {
    recording: &'a Recording,
    log: FlowLog,
    /// By process.
    files: FxHashMap<Pid, Files>,
    processes: FxHashMap<Pid, Pid>,
    /// The calls that threads are in.
    inside: FxHashMap<Pid, Inside>,
    streams: Vec<Stream>,
    /// The task that was announced last, and whether it is a thread.
    newborn: Option<(Pid, bool)>,
}

/// A call that was entered.
struct Inside {
    /// Its place in the log.
    at: usize,
    number: u16,
    arguments: [u64; 3],
}

/// A channel while it is followed.
#[derive(Clone, Copy)]
struct Stream {
    is_pipe: bool,
    existed: bool,
    written: u64,
    writes: u64,
    read: u64,
    /// How much more was read than written at most.
    deficit: u64,
}

impl<'a> Follower<'a> {
    fn new(recording: &'a Recording) -> Follower<'a> {
        let mut follower = Follower {
            recording,
            log: FlowLog::default(),
            files: FxHashMap::default(),
            processes: FxHashMap::default(),
            inside: FxHashMap::default(),
            streams: Vec::new(),
            newborn: None,
        };
        follower.begin(&recording.tasks);
        follower
    }

    /// Files that were open when the recording began.
    fn begin(&mut self, tasks: &[KnownTask]) {
        let mut pipes: FxHashMap<String, ChannelId> = FxHashMap::default();
        for task in tasks {
            self.processes.insert(Pid(task.pid), Pid(task.tgid));
            for known in &task.files {
                let file = match known.target.starts_with("pipe:") {
                    true => {
                        let known_pipe = pipes.get(&known.target).copied();
                        let channel = known_pipe.unwrap_or_else(|| self.channel(true, true));
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
                    self.log.calls[inside.at] = self.returned(pid, &inside, result);
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

    fn channel(&mut self, is_pipe: bool, existed: bool) -> ChannelId {
        self.streams.push(Stream {
            is_pipe,
            existed,
            written: 0,
            writes: 0,
            read: 0,
            deficit: 0,
        });
        ChannelId(self.streams.len() as u32 - 1)
    }

    fn enter(&mut self, pid: Pid, number: u16, arguments: [u64; 3]) {
        let at = self.log.calls.len();
        self.log.calls.push(Flow::Other);
        let inside = Inside {
            at,
            number,
            arguments,
        };
        self.inside.insert(pid, inside);
    }

    /// What a call was about, now that its result is known.
    fn returned(&mut self, pid: Pid, inside: &Inside, result: i64) -> Flow {
        let Some(call) = call(inside.number) else {
            return Flow::Other;
        };
        let process = self.process(pid);
        let [first, second, third] = inside.arguments;
        let fd = first as u32;
        match call {
            Call::Read => self.read(pid, fd, result),
            Call::Write => self.write(pid, fd, result),
            Call::Futex => match FUTEX_WAITS.contains(&(second & FUTEX_COMMAND)) {
                true => Flow::FutexWait {
                    futex: (process, first),
                },
                false => Flow::FutexWake {
                    futex: (process, first),
                    woken: result.max(0) as u32,
                },
            },
            Call::Poll => Flow::Poll {
                ready: result.max(0) as u32,
            },
            Call::Sleep => Flow::Sleep,
            Call::Child => Flow::Child,
            Call::Accept { .. } if result < 0 => Flow::Accept,
            _ => {
                if result >= 0 {
                    self.files_change(pid, call, [first, second, third], result as u32);
                }
                match call {
                    Call::Accept { .. } => Flow::Accept,
                    _ => Flow::Other,
                }
            }
        }
    }

    fn read(&mut self, pid: Pid, fd: u32, result: i64) -> Flow {
        let (File::ReadEnd(channel)
        | File::Socket {
            received: channel, ..
        }) = self.of(pid).get(fd)
        else {
            return Flow::Other;
        };
        let Some(bytes) = u32::try_from(result).ok().filter(|bytes| *bytes > 0) else {
            return Flow::Other;
        };
        let stream = &mut self.streams[channel.0 as usize];
        stream.read += u64::from(bytes);
        stream.deficit = stream
            .deficit
            .max(stream.read.saturating_sub(stream.written));
        Flow::Read { channel, bytes }
    }

    fn write(&mut self, pid: Pid, fd: u32, result: i64) -> Flow {
        let (File::WriteEnd(channel) | File::Socket { sent: channel, .. }) = self.of(pid).get(fd)
        else {
            return Flow::Other;
        };
        let Some(bytes) = u32::try_from(result).ok().filter(|bytes| *bytes > 0) else {
            return Flow::Other;
        };
        let stream = &mut self.streams[channel.0 as usize];
        stream.written += u64::from(bytes);
        stream.writes += 1;
        Flow::Write { channel, bytes }
    }

    /// A call that succeeded made, copied or closed descriptors.
    fn files_change(&mut self, pid: Pid, call: Call, arguments: [u64; 3], result: u32) {
        let [first, second, third] = arguments;
        let has_flag = |at: Option<usize>| {
            at.is_some_and(|at| arguments.get(at).is_some_and(|flags| flags & CLOEXEC != 0))
        };
        match call {
            Call::Open { flags } | Call::Accept { flags } => {
                self.of(pid).set(result, File::Other, has_flag(flags));
            }
            Call::Socket => self.of(pid).set(result, File::Other, has_flag(Some(1))),
            Call::Pipe { flags } => {
                let channel = self.channel(true, false);
                let files = self.of(pid);
                files.add(File::ReadEnd(channel), has_flag(flags));
                files.add(File::WriteEnd(channel), has_flag(flags));
            }
            Call::SocketPair => {
                let (one, other) = (self.channel(false, false), self.channel(false, false));
                let files = self.of(pid);
                for (received, sent) in [(one, other), (other, one)] {
                    files.add(File::Socket { received, sent }, has_flag(Some(1)));
                }
            }
            Call::Close => self.of(pid).close(first as u32, first as u32),
            // With flags it may only mark them.
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

    fn copy(&mut self, pid: Pid, from: u32, to: u32, closed_by_exec: bool) {
        let files = self.of(pid);
        let file = files.get(from);
        files.set(to, file, closed_by_exec);
    }

    /// Of a channel from which more was read than written not everything is known: its calls are as others.
    fn finish(mut self) -> FlowLog {
        let streams = &self.streams;
        let is_whole = |channel: ChannelId| {
            let stream = &streams[channel.0 as usize];
            stream.existed || stream.read <= stream.written
        };
        for call in &mut self.log.calls {
            match *call {
                Flow::Read { channel, .. } | Flow::Write { channel, .. } if !is_whole(channel) => {
                    *call = Flow::Other;
                }
                _ => {}
            }
        }
        self.log.channels = self.streams.iter().map(Stream::channel).collect();
        self.log
    }
}

fn end_of_pipe(known: &KnownFile, channel: ChannelId) -> File {
    match known.written {
        true => File::WriteEnd(channel),
        false => File::ReadEnd(channel),
    }
}

impl Stream {
    fn channel(&self) -> Channel {
        let initial_bytes = match self.existed {
            true => self.deficit as u32,
            false => 0,
        };
        if self.is_pipe {
            return Channel {
                capacity_bytes: PIPE_BYTES,
                low_water_bytes: PIPE_BYTES - PAGE_BYTES,
                initial_bytes,
            };
        }
        // Packets are of as many bytes as the writes; their memory is a power of two.
        let mean = (self.written / self.writes.max(1)).max(1);
        let packet = (mean + PACKET_BYTES).next_power_of_two() + HEAD_BYTES;
        let capacity_bytes = (SOCKET_BYTES.div_ceil(packet) * mean).max(mean) as u32;
        Channel {
            capacity_bytes,
            low_water_bytes: capacity_bytes / 4,
            initial_bytes,
        }
    }
}
