//! Time as a loader sees it: it stands still while the loader works, and jumps while all its threads sleep.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

use super::child::Child;
use super::notify::{Answer, Call};
use super::peer::{BadAddress, Peer};
use super::wire::number;
use crate::ext::UPTIME_NS;

/// How long a loader has, in its own time, until a run begins.
const LOADING: u64 = 60 * SECOND;

/// The time when a loader starts, since its machine was started and since 1970, in ns.
const MONOTONIC: u64 = UPTIME_NS - LOADING;
const REAL: u64 = 1_800_000_000 * SECOND;

/// How much time passes with each look at a clock: who waits in a loop shall see the end of it.
const LOOK: u64 = 1000;

/// How long sched_yield() takes, if nothing happens that a thread waits for.
///
/// FIDELITY: to a kernel it is a question of who else runs; a part in user space is no task here.
const YIELD: u64 = 100_000;

const SECOND: u64 = 1_000_000_000;

/// FUTEX_WAIT, FUTEX_WAIT_BITSET, and the operations that wake or move more than they say: FUTEX_REQUEUE,
/// FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP.
const WAIT: i32 = 0;
const WAIT_BITSET: i32 = 9;
const REQUEUE: i32 = 3;
const COMPARE_REQUEUE: i32 = 4;
const WAKE_OP: i32 = 5;

/// FUTEX_PRIVATE_FLAG: nobody but threads of the process wakes.
const PRIVATE: i32 = 128;

/// FUTEX_CLOCK_REALTIME.
const BY_REAL_TIME: i32 = 256;

/// What an operation of futex() is without its flags.
const OPERATION: i32 = 0x7f;

/// TIMER_ABSTIME.
const ABSOLUTE: u64 = 1;

/// A loader's clock, and its threads that wait.
#[derive(Debug, Default)]
pub struct Clock {
    /// Since the loader was started, in ns.
    pub now: u64,
    held: Vec<Held>,
    /// What each thread saw when it last looked.
    seen: HashMap<u32, u64>,
}

/// A system call that ends at a time, or never.
#[derive(Debug)]
struct Held {
    call: Call,
    deadline: u64,
    kind: Kind,
}

/// What else ends it.
#[derive(Debug)]
enum Kind {
    Sleep,
    Futex {
        address: u64,
        value: u32,
    },
    Files(Vec<(OwnedFd, i16)>),
    /// poll() that asks also for files of bpf(2), which are never ready here.
    Polled(Vec<Polled>),
}

/// A file of poll(); none: one that is never ready.
type Polled = (Option<OwnedFd>, libc::pollfd);

/// What to do with a call.
#[derive(Debug)]
pub enum Reply {
    /// This answer to it, and to calls that waited.
    Now(Answer, Vec<(Call, Answer)>),
    /// It waits.
    Later,
    /// It is another's.
    NotMine,
}

impl Clock {
    /// What to do with a call.
    pub fn answer(
        &mut self,
        call: &Call,
        child: &Child,
        is_never_ready: &dyn Fn(i32) -> bool,
        waits_for_rings: bool,
    ) -> Reply {
        let peer = Peer(call.thread);
        let replied = match call.nr {
            libc::SYS_futex => self.futex(&peer, call),
            _ => match self.look(&peer, call) {
                Some(answer) => answer.map(|answer| Reply::Now(answer, Vec::new())),
                None => self.wait(&peer, call, child, is_never_ready, waits_for_rings),
            },
        };
        let fault = || Reply::Now(Answer::Error(libc::EFAULT), Vec::new());
        replied.unwrap_or_else(|BadAddress| fault())
    }

    /// The call that ends first ends now: time jumps there.  None: no call waits for a time.
    pub fn jump(&mut self) -> Option<(Call, Answer)> {
        let deadlines = self.held.iter().enumerate();
        let (first, _) = deadlines.min_by_key(|(_, held)| (held.deadline, held.call.thread))?;
        if self.held[first].deadline == u64::MAX {
            return None;
        }
        let held = self.held.remove(first);
        self.now = self.now.max(held.deadline);
        let answer = match held.kind {
            Kind::Futex { .. } => Answer::Error(libc::ETIMEDOUT),
            Kind::Sleep | Kind::Files(_) | Kind::Polled(_) => Answer::Value(0),
        };
        Some((held.call, answer))
    }

    /// The same, if its time has come.
    pub fn due(&mut self) -> Option<(Call, Answer)> {
        match self.next() {
            Some(next) if next <= self.now => self.jump(),
            _ => None,
        }
    }

    /// It is this late on the machine whose scheduler the loader has attached.
    pub fn follow(&mut self, machine_ns: u64) {
        self.now = self.now.max(machine_ns.saturating_sub(MONOTONIC));
    }

    /// When the first waiting call ends, in the time of that machine.
    pub fn next_on_machine(&self) -> Option<u64> {
        self.next().map(|next| next + MONOTONIC)
    }

    /// The time for a thread that looks, or looked just now: each look takes a little, so that who waits in a loop sees
    /// the end of it.
    fn seen_by(&self, thread: u32) -> u64 {
        self.seen
            .get(&thread)
            .map_or(self.now, |&seen| seen.max(self.now))
    }

    /// When the first waiting call ends.
    pub fn next(&self) -> Option<u64> {
        let deadlines = self.held.iter().map(|held| held.deadline);
        deadlines.filter(|&deadline| deadline < u64::MAX).min()
    }

    /// Calls that need wait no longer: a file is ready.
    pub fn ready(&mut self) -> Vec<(Call, Answer)> {
        let mut over = Vec::new();
        self.held.retain(|held| {
            let answer = match &held.kind {
                Kind::Futex { address, value } => match word(held.call.thread, *address) {
                    Ok(now) if now == *value => return true,
                    _ => Answer::Value(0),
                },
                Kind::Files(files) if ready(files) => Answer::Host,
                Kind::Polled(files) => match poll_now(files) {
                    (0, _) => return true,
                    (ready, bytes) => {
                        let peer = Peer(held.call.thread);
                        let written = peer.write(held.call.args[0], &bytes);
                        written.map_or(Answer::Error(libc::EFAULT), |()| Answer::Value(ready))
                    }
                },
                _ => return true,
            };
            over.push((held.call, answer));
            false
        });
        over
    }

    /// The calls that wait.
    pub fn waiting(&self) -> Vec<Call> {
        self.held.iter().map(|held| held.call).collect()
    }

    /// Does a thread wait?
    pub fn holds(&self, thread: u32) -> bool {
        self.held.iter().any(|held| held.call.thread == thread)
    }

    /// Something has happened: who yielded looks again.
    pub fn end_yields(&mut self) {
        for held in &mut self.held {
            if held.call.nr == libc::SYS_sched_yield {
                held.deadline = self.now;
            }
        }
    }

    /// A call waits no longer: it was answered.
    pub fn forget(&mut self, call: &Call) {
        self.held.retain(|held| held.call.thread != call.thread);
    }

    /// Reads a clock.
    fn look(&mut self, peer: &Peer, call: &Call) -> Option<Result<Answer, BadAddress>> {
        let (thread, real) = (call.thread, libc::CLOCK_REALTIME);
        let (at, time, unit) = match call.nr {
            libc::SYS_clock_gettime => (call.args[1], self.time(thread, call.int(0)), 1),
            libc::SYS_gettimeofday => (call.args[0], self.time(thread, real), 1000),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_time => {
                let seconds = self.time(thread, real) / SECOND;
                return Some(match call.args[0] {
                    0 => Ok(Answer::Value(seconds as i64)),
                    at => peer
                        .write(at, &seconds.to_le_bytes())
                        .map(|()| Answer::Value(seconds as i64)),
                });
            }
            _ => return None,
        };
        self.seen.insert(thread, self.seen_by(thread) + LOOK);
        if at == 0 {
            return Some(Ok(Answer::Value(0)));
        }
        let parts = [time / SECOND, time % SECOND / unit];
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
        Some(peer.write(at, &bytes).map(|()| Answer::Value(0)))
    }

    fn time(&self, thread: u32, clock: i32) -> u64 {
        self.seen_by(thread)
            + match clock {
                libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => REAL,
                // It computes in no time; but who measures shall not divide by 0.
                libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
                _ => MONOTONIC,
            }
    }

    /// When a struct timespec says; none if there is none.
    fn deadline(
        &self,
        peer: &Peer,
        at: u64,
        absolute: Option<i32>,
    ) -> Result<Option<u64>, BadAddress> {
        let now = self.seen_by(peer.0);
        if at == 0 {
            return Ok(None);
        }
        let bytes = peer.read(at, 16)?;
        let seconds = number(&bytes, 0, 8).min(u64::MAX / SECOND / 4);
        let time = seconds * SECOND + number(&bytes, 8, 8) % SECOND;
        Ok(Some(match absolute {
            None => now + time,
            Some(clock) => now + time.saturating_sub(self.time(peer.0, clock)),
        }))
    }

    fn futex(&mut self, peer: &Peer, call: &Call) -> Result<Reply, BadAddress> {
        let (address, operation) = (call.args[0], call.int(1));
        let absolute = match (operation & OPERATION, operation & BY_REAL_TIME) {
            (WAIT, _) => None,
            (WAIT_BITSET, 0) => Some(libc::CLOCK_MONOTONIC),
            (WAIT_BITSET, _) => Some(libc::CLOCK_REALTIME),
            (REQUEUE | COMPARE_REQUEUE | WAKE_OP, _) => return Ok(self.wake_more(call)),
            _ => return Ok(self.wake(address, call.args[2])),
        };
        let deadline = self.deadline(peer, call.args[3], absolute)?;
        // The end of a thread wakes whoever joins it: the host's kernel does that.
        if deadline.is_none() && operation & PRIVATE == 0 {
            return Ok(host());
        }
        let value = word(call.thread, address)?;
        if value != call.args[2] as u32 {
            return Ok(Reply::Now(Answer::Error(libc::EAGAIN), Vec::new()));
        }
        let kind = Kind::Futex { address, value };
        self.hold(call, deadline.unwrap_or(u64::MAX), kind)
    }

    /// All who wait for these addresses are woken: a wait may end without reason.
    fn wake_more(&mut self, call: &Call) -> Reply {
        let mut woken = Vec::new();
        for address in [call.args[0], call.args[4]] {
            if let Reply::Now(_, more) = self.wake(address, u64::MAX) {
                woken.extend(more);
            }
        }
        Reply::Now(Answer::Host, woken)
    }

    /// Those who wait for this address and a time are woken here, those who wait for it alone by the host.
    fn wake(&mut self, address: u64, most: u64) -> Reply {
        let mut woken = Vec::new();
        let waits =
            |held: &Held| matches!(held.kind, Kind::Futex { address: a, .. } if a == address);
        while let Some(first) = self.held.iter().position(waits) {
            if woken.len() as u64 >= most {
                break;
            }
            woken.push((self.held.remove(first).call, Answer::Value(0)));
        }
        match woken.len() as u64 == most {
            true => Reply::Now(Answer::Value(most as i64), woken),
            false => Reply::Now(Answer::Host, woken),
        }
    }

    fn wait(
        &mut self,
        peer: &Peer,
        call: &Call,
        child: &Child,
        is_never_ready: &dyn Fn(i32) -> bool,
        waits_for_rings: bool,
    ) -> Result<Reply, BadAddress> {
        let args = &call.args;
        let now = self.seen_by(call.thread);
        let milliseconds = |ms: u64| match ms as i32 {
            ms if ms < 0 => None,
            ms => Some(now + ms as u64 * 1_000_000),
        };
        let (deadline, files) = match call.nr {
            // Whoever has nothing to do looks again in a while.
            libc::SYS_sched_yield => (Some(now + YIELD), None),
            libc::SYS_nanosleep => (self.deadline(peer, args[0], None)?, None),
            libc::SYS_clock_nanosleep => {
                let absolute = (args[1] & ABSOLUTE != 0).then_some(call.int(0));
                (self.deadline(peer, args[2], absolute)?, None)
            }
            libc::SYS_ppoll => {
                let deadline = self.deadline(peer, args[2], None)?;
                return self.poll(peer, call, deadline, child, is_never_ready);
            }
            libc::SYS_epoll_pwait => (milliseconds(args[3]), Some(epoll(call, child))),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => {
                let deadline = milliseconds(args[2]);
                return self.poll(peer, call, deadline, child, is_never_ready);
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => (milliseconds(args[3]), Some(epoll(call, child))),
            _ => return Ok(Reply::NotMine),
        };
        let deadline = match deadline {
            Some(deadline) if deadline <= now => return Ok(host()),
            None if !waits_for_rings => return Ok(host()),
            deadline => deadline.unwrap_or(u64::MAX),
        };
        match files {
            None => self.hold(call, deadline, Kind::Sleep),
            Some(files) if ready(&files) => Ok(host()),
            Some(files) => self.hold(call, deadline, Kind::Files(files)),
        }
    }

    fn poll(
        &mut self,
        peer: &Peer,
        call: &Call,
        deadline: Option<u64>,
        child: &Child,
        is_never_ready: &dyn Fn(i32) -> bool,
    ) -> Result<Reply, BadAddress> {
        let files = polled(peer, call, child, is_never_ready)?;
        let is_plain = files.iter().all(|(file, _)| file.is_some());
        let now = self.seen_by(call.thread);
        let is_over = deadline.is_some_and(|deadline| deadline <= now);
        if is_plain && (deadline.is_none() || is_over) {
            return Ok(host());
        }
        let (ready, bytes) = poll_now(&files);
        if ready > 0 || is_over {
            peer.write(call.args[0], &bytes)?;
            return Ok(Reply::Now(Answer::Value(ready), Vec::new()));
        }
        self.hold(call, deadline.unwrap_or(u64::MAX), Kind::Polled(files))
    }

    fn hold(&mut self, call: &Call, deadline: u64, kind: Kind) -> Result<Reply, BadAddress> {
        self.held.push(Held {
            call: *call,
            deadline,
            kind,
        });
        Ok(Reply::Later)
    }
}

/// A word of a thread's memory.
fn word(thread: u32, address: u64) -> Result<u32, BadAddress> {
    Ok(number(&Peer(thread).read(address, 4)?, 0, 4) as u32)
}

fn host() -> Reply {
    Reply::Now(Answer::Host, Vec::new())
}

/// The files of poll() and ppoll().
fn polled(
    peer: &Peer,
    call: &Call,
    child: &Child,
    is_never_ready: &dyn Fn(i32) -> bool,
) -> Result<Vec<Polled>, BadAddress> {
    let count = call.args[1].min(1024) as usize;
    let bytes = peer.read(call.args[0], 8 * count)?;
    let files = bytes.chunks_exact(8).map(|file| {
        let fd = number(file, 0, 4) as i32;
        let asked = libc::pollfd {
            fd,
            events: number(file, 4, 2) as i16,
            revents: 0,
        };
        match fd < 0 || is_never_ready(fd) {
            true => (None, asked),
            false => (child.file(fd).ok(), asked),
        }
    });
    Ok(files.collect())
}

/// How many files are ready, and what poll() writes.
fn poll_now(files: &[Polled]) -> (i64, Vec<u8>) {
    let (mut count, mut bytes) = (0, Vec::new());
    for (file, asked) in files {
        let mut asked = *asked;
        if let Some(file) = file {
            let mut own = libc::pollfd {
                fd: file.as_raw_fd(),
                ..asked
            };
            // SAFETY: one file.
            unsafe { libc::poll(&mut own, 1, 0) };
            asked.revents = own.revents;
        }
        count += i64::from(asked.revents != 0);
        bytes.extend(asked.fd.to_ne_bytes());
        bytes.extend(asked.events.to_ne_bytes());
        bytes.extend(asked.revents.to_ne_bytes());
    }
    (count, bytes)
}

/// The file of epoll_wait(): readable if one of its own is ready.
fn epoll(call: &Call, child: &Child) -> Vec<(OwnedFd, i16)> {
    let file = child.file(call.int(0)).ok();
    file.map(|file| (file, libc::POLLIN)).into_iter().collect()
}

fn ready(files: &[(OwnedFd, i16)]) -> bool {
    let file = |(file, events): &(OwnedFd, i16)| libc::pollfd {
        fd: file.as_raw_fd(),
        events: *events,
        revents: 0,
    };
    let mut files: Vec<libc::pollfd> = files.iter().map(file).collect();
    // SAFETY: as many as there are.
    unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, 0) > 0 }
}
