//! A loader from its start to the attach, and a while beyond.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::calls::Bpf;
use super::child::{ending, Child};
use super::clock::{Clock, Reply};
use super::elf;
use super::files::Files;
use super::filter::{FORBIDDEN, FORKS};
use super::notify::{Answer, Call};
use super::objects::Object;
use super::peer::Peer;
use super::rings::Rings;
use super::sysfs;
use super::system::System;
use super::{Failure, Stop, Unloaded};
use crate::machine::Machine;
use crate::userspace::UserSpace;

/// How long a loader may work until it attaches, the time that answers take not counted.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it is watched after the attach, in its own time.
const WATCHED: u64 = 5_000_000_000;

/// How often it is looked at, in ms.
const LOOKS_MS: i32 = 2;

/// So many looks that find all threads asleep are enough to believe it.
const ENOUGH: u32 = 2;

/// So many looks at a loader all of whose threads sleep, and none for a time, are enough.
const STUCK: u32 = 1000;

/// Lines of its own that a message quotes.
const QUOTED: usize = 3;

/// CLONE_THREAD.
const THREAD: u64 = 0x10000;

/// PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT.
const PERF_SOFTWARE: u64 = 1;
const PERF_TRACEPOINT: u64 = 2;

/// PERF_EVENT_IOC_SET_BPF.
const SET_BPF: u64 = 0x4004_2408;

/// A loader and what answers it.
pub struct Session {
    child: Child,
    /// Answers to bpf(2), and what came of them.
    pub bpf: Bpf,
    files: Files,
    system: System,
    cpus: usize,
    clock: Clock,
    /// Real time when patience ends.
    deadline: Instant,
    forked: bool,
    forbidden: Vec<&'static str>,
    /// Tracepoints with programs that the simulator would have to run.
    unheard: Vec<String>,
    rings: Rings,
    /// The file that holds its BPF object.
    object: Vec<u8>,
    /// How often in a row all its threads were found asleep.
    asleep: u32,
    /// A thread has just begun to wait: perhaps it was the last one.
    may_sleep: bool,
    /// It asked for more than time since that was last forgotten.
    acts: bool,
    /// Its scheduler runs: what it does counts.
    is_live: bool,
    /// The call that attaches its scheduler, whose answer waits until it runs.
    attaching: Option<(Call, Answer)>,
}

impl Session {
    /// A loader that was just started.
    pub fn new(child: Child, bpf: Bpf, files: Files, cpus: usize, object: Vec<u8>) -> Session {
        Session {
            child,
            bpf,
            files,
            system: System::new(cpus),
            cpus,
            clock: Clock::default(),
            deadline: Instant::now() + PATIENCE,
            forked: false,
            forbidden: Vec::new(),
            unheard: Vec::new(),
            rings: Rings::default(),
            object,
            asleep: 0,
            may_sleep: false,
            acts: false,
            is_live: false,
            attaching: None,
        }
    }

    /// Answers until the loader has attached its scheduler and sleeps.
    ///
    /// # Errors
    /// It does not come to that.
    pub fn until_asleep(&mut self, m: &mut Machine, stop: Stop) -> Result<(), Unloaded> {
        while !(self.step(m, stop)? && self.bpf.attached.is_some()) {
            self.go_on_loading()?;
        }
        self.is_heard()
    }

    /// Answers until the loader attaches its scheduler, and lets it wait there: its programs will run.
    ///
    /// # Errors
    /// It does not come to that.
    pub fn until_attaching(&mut self, m: &mut Machine, stop: Stop) -> Result<(), Unloaded> {
        self.is_live = true;
        while self.attaching.is_none() {
            self.step(m, stop)?;
            self.go_on_loading()?;
        }
        self.is_heard()
    }

    /// Time jumps if the loader waits for it.
    fn go_on_loading(&mut self) -> Result<(), Unloaded> {
        match self.clock.next() {
            Some(_) if self.asleep() && self.attaching.is_none() => self.jump(),
            None if self.asleep >= STUCK => {
                let what = "it waits for what does not come, without having attached a scheduler";
                Err(self.failure(what.into()))
            }
            _ => Ok(()),
        }
    }

    /// Do all events happen that its programs wait for?
    fn is_heard(&self) -> Result<(), Unloaded> {
        match self.unheard.first() {
            Some(event) => Err(Unloaded::Unheard(event.clone())),
            None => Ok(()),
        }
    }

    /// Does it do more in the next seconds of its time than sleep and look at the clock?
    ///
    /// # Errors
    /// The system's, and `stop`.
    pub fn acts_later(&mut self, m: &mut Machine, stop: Stop) -> Result<bool, Unloaded> {
        let end = self.clock.now + WATCHED;
        self.acts = false;
        while self.clock.next().is_some_and(|next| next < end) {
            let watched = self.jump().and_then(|()| {
                while !(self.step(m, stop)? || self.acts) {}
                Ok(())
            });
            match watched {
                // It misses what ops.init() would have done.
                Err(Unloaded::Failed(_)) => return Ok(true),
                Ok(()) if self.acts => return Ok(true),
                watched => watched?,
            }
        }
        Ok(false)
    }

    /// The end of the loader; what came of its calls.
    pub fn into_bpf(self) -> Bpf {
        self.bpf
    }

    fn jump(&mut self) -> Result<(), Unloaded> {
        let Some((call, answer)) = self.clock.jump() else {
            return Ok(());
        };
        self.asleep = 0;
        let times = sysfs::times(&vec![0; self.cpus], self.clock.now);
        self.files.tree.add("/proc/stat", times);
        Ok(self.child.listener.answer(&call, answer)?)
    }

    fn asleep(&self) -> bool {
        self.asleep >= ENOUGH
    }

    /// Waits for something to happen, a little.  Are all threads asleep?
    fn step(&mut self, m: &mut Machine, stop: Stop) -> Result<bool, Unloaded> {
        let patience = if self.may_sleep { 0 } else { LOOKS_MS };
        if self.wait(patience)? {
            self.asleep = 0;
            if let Some(call) = self.child.listener.receive()? {
                self.serve(m, &call)?;
            }
            return self.go_on(stop).map(|()| false);
        }
        for (call, answer) in self.clock.ready() {
            self.asleep = 0;
            self.child.listener.answer(&call, answer)?;
        }
        self.child.read_outputs();
        if self.has_ended() {
            return Err(self.ended());
        }
        self.go_on(stop)?;
        self.asleep = match all_sleep(&self.child, &self.clock) {
            true => self.asleep + 1,
            false => 0,
        };
        self.may_sleep = (1..ENOUGH).contains(&self.asleep);
        Ok(self.asleep())
    }

    /// Is there a reason to give up?
    fn go_on(&mut self, stop: Stop) -> Result<(), Unloaded> {
        if stop() {
            return Err(Unloaded::Stopped);
        }
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(self.failure(format!("after {} s it was still busy", PATIENCE.as_secs()))),
        }
    }

    /// Is there a call to answer?
    fn wait(&self, patience_ms: i32) -> io::Result<bool> {
        let mut listener = libc::pollfd {
            fd: self.child.listener.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one file.
        match unsafe { libc::poll(&mut listener, 1, patience_ms) } {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
            _ => Ok(listener.revents & libc::POLLIN != 0),
        }
    }

    fn has_ended(&self) -> bool {
        let mut process = libc::pollfd {
            fd: self.child.pidfd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one file.
        unsafe { libc::poll(&mut process, 1, 0) == 1 }
    }

    fn ended(&mut self) -> Unloaded {
        if self.bpf.attached.is_none() {
            let missing = elf::missing(&self.object, &self.bpf.kernel_btf());
            if !missing.is_empty() {
                return Unloaded::Missing(missing.into_iter().collect());
            }
            if !self.bpf.refusals.is_empty() {
                return Unloaded::Refused(std::mem::take(&mut self.bpf.refusals));
            }
        }
        let what = match self.child.ended() {
            Ok(status) => ending(status),
            Err(error) => error.to_string(),
        };
        self.failure(match self.bpf.attached {
            Some(_) => format!("{what} after it had attached its scheduler"),
            None => format!("{what} before it attached a scheduler"),
        })
    }

    /// What went wrong, with what the loader says of it.
    fn failure(&mut self, what: String) -> Unloaded {
        let mut causes = Vec::new();
        if self.forked {
            causes.push("it wanted to start another process".to_string());
        }
        for call in std::mem::take(&mut self.forbidden) {
            causes.push(format!("it asked for {call}(2)"));
        }
        if let Some(path) = self.files.denied.first() {
            causes.push(format!("it wanted to change {}", path.display()));
        }
        Unloaded::Failed(Failure {
            what,
            causes,
            lines: self.child.last_lines(QUOTED),
        })
    }

    fn serve(&mut self, m: &mut Machine, call: &Call) -> Result<(), Unloaded> {
        let (peer, objects) = (Peer(call.thread), &self.bpf.objects);
        let is_object = |fd: i32| objects.find(&peer, fd).is_some();
        if let Some(answer) = self.rings.events(call, m) {
            return Ok(self.child.listener.answer(call, answer)?);
        }
        let for_rings = self.rings.are_in(call);
        let clock = &mut self.clock;
        let answer = match clock.answer(call, &self.child, &is_object, for_rings) {
            Reply::Later => {
                self.may_sleep = true;
                return Ok(());
            }
            Reply::Now(answer, woken) => {
                for (call, answer) in woken {
                    self.child.listener.answer(&call, answer)?;
                }
                answer
            }
            Reply::NotMine => {
                self.acts = true;
                self.answer(m, call)
            }
        };
        if self.is_live && !self.bpf.is_live && self.bpf.attached.is_some() {
            self.bpf.is_live = true;
            self.attaching = Some((*call, answer));
            return Ok(());
        }
        Ok(self.child.listener.answer(call, answer)?)
    }

    fn answer(&mut self, m: &mut Machine, call: &Call) -> Answer {
        if let Some(answer) = self.files.answer(call) {
            return answer;
        }
        if let Some(answer) = self.system.answer(call, &self.child) {
            return answer;
        }
        let peer = Peer(call.thread);
        match call.nr {
            libc::SYS_bpf => {
                let before = Instant::now();
                m.this_cpu = self.system.cpu_of(call.thread);
                let answer = self.bpf.answer(m, call);
                self.show_state();
                // Programs are compiled meanwhile: that is our time, not the loader's.
                self.deadline += before.elapsed();
                answer.unwrap_or_else(|errno| Answer::Error(errno.0))
            }
            libc::SYS_perf_event_open => self.perf_event(&peer, call),
            libc::SYS_ioctl => self.perf_ioctl(m, &peer, call),
            libc::SYS_epoll_ctl => match self.bpf.objects.find(&peer, call.int(2)) {
                Some(&Object::Map(map)) => self.rings.control(call, map),
                // Nothing else is ever ready.
                Some(_) => Answer::Value(0),
                None => Answer::Host,
            },
            nr if FORKS.contains(&nr) => self.fork(&peer, call),
            nr => self.forbid(nr),
        }
    }

    /// /sys/kernel/sched_ext says what was attached.
    fn show_state(&mut self) {
        if let Some(ops) = &self.bpf.attached {
            let root = "/sys/kernel/sched_ext";
            let tree = &mut self.files.tree;
            tree.add(format!("{root}/state"), "enabled\n");
            tree.add(format!("{root}/enable_seq"), "1\n");
            tree.add(format!("{root}/root/ops"), format!("{}\n", ops.name));
        }
    }

    fn fork(&mut self, peer: &Peer, call: &Call) -> Answer {
        let flags = match call.nr {
            libc::SYS_clone => call.args[0],
            libc::SYS_clone3 => peer
                .read(call.args[0], 8)
                .map_or(0, |bytes| super::wire::number(&bytes, 0, 8)),
            _ => 0,
        };
        if flags & THREAD != 0 {
            return Answer::Host;
        }
        self.forked = true;
        Answer::Error(libc::EPERM)
    }

    fn forbid(&mut self, nr: i64) -> Answer {
        let call = FORBIDDEN.iter().find(|&&(_, forbidden)| forbidden == nr);
        if let Some(&(name, _)) = call {
            self.forbidden.push(name);
        }
        Answer::Error(libc::EPERM)
    }

    fn perf_event(&mut self, peer: &Peer, call: &Call) -> Answer {
        let Ok(event) = peer.read(call.args[0], 16) else {
            return Answer::Error(libc::EFAULT);
        };
        let number = |at, len| super::wire::number(&event, at, len);
        let name = match number(0, 4) {
            PERF_SOFTWARE => "",
            PERF_TRACEPOINT => match self.files.event(number(8, 8)) {
                Some(name) => name,
                None => return Answer::Error(libc::ENOENT),
            },
            // The simulated machine counts nothing.
            _ => return Answer::Error(libc::ENOENT),
        };
        let object = Object::PerfEvent(name.to_string());
        match self.bpf.objects.add(object) {
            Ok(file) => Answer::File(file),
            Err(_) => Answer::Error(libc::EMFILE),
        }
    }

    fn perf_ioctl(&mut self, m: &mut Machine, peer: &Peer, call: &Call) -> Answer {
        let Some(Object::PerfEvent(name)) = self.bpf.objects.find(peer, call.int(0)) else {
            return Answer::Host;
        };
        if call.args[1] != SET_BPF {
            return Answer::Value(0);
        }
        // The simulator has these events, and would not run the program.
        if name.starts_with("sched/") {
            self.unheard.push(name.clone());
        }
        match self.bpf.attach_idle(m, peer, call.int(2)) {
            Ok(_) => Answer::Value(0),
            Err(errno) => Answer::Error(errno.0),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl UserSpace for Session {
    fn run(&mut self, m: &mut Machine) -> Result<Option<u64>, String> {
        let run = self.run_until_asleep(m);
        run.map_err(|unloaded| unloaded.to_string())
    }
}

impl Session {
    /// Ends the waits whose time has come, one after the other; when the next one ends.
    fn run_until_asleep(&mut self, m: &mut Machine) -> Result<Option<u64>, Unloaded> {
        self.deadline = Instant::now() + PATIENCE;
        self.clock.follow(m.now_ns);
        let times = sysfs::times(&m.busy_times(), m.now_ns);
        self.files.tree.add("/proc/stat", times);
        if std::mem::take(&mut m.user_space_hears) {
            self.clock.end_yields();
        }
        let attaching = self.attaching.take();
        let mut next = attaching
            .or_else(|| self.filled(m))
            .or_else(|| self.clock.due());
        while let Some((call, answer)) = next {
            (self.asleep, self.may_sleep) = (0, false);
            self.child.listener.answer(&call, answer)?;
            while !self.step(m, &|| false)? {}
            next = self.filled(m).or_else(|| self.clock.due());
        }
        Ok(self.clock.next_on_machine())
    }

    /// A call that waits no longer, because a ring buffer was filled.
    fn filled(&mut self, m: &Machine) -> Option<(Call, Answer)> {
        let mut waiting = self.clock.waiting().into_iter();
        let (call, answer) = waiting.find_map(|call| Some((call, self.rings.events(&call, m)?)))?;
        self.clock.forget(&call);
        Some((call, answer))
    }
}

/// Does each thread of a process sleep?  Those that wait for an answer of ours do.
fn all_sleep(child: &Child, clock: &Clock) -> bool {
    let threads = child.threads();
    let mut others = threads.iter().filter(|&&thread| !clock.holds(thread));
    !threads.is_empty()
        && others.all(|thread| {
            let stat = fs::read_to_string(format!("/proc/{}/task/{thread}/stat", child.id()));
            let stat = stat.unwrap_or_default();
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
            state == Some(b'S')
        })
}
