//! Answers to system calls about the machine and the user.

use std::collections::HashMap;
use std::os::fd::AsRawFd;

use super::child::Child;
use super::notify::{Answer, Call};
use super::peer::{BadAddress, Peer};
use super::sysfs::RELEASE;

/// Bytes of a name in struct utsname.
const NAME: usize = 65;

/// What a loader sees of machine and user: root on a machine with so many CPUs.
#[derive(Debug)]
pub struct System {
    cpus: usize,
    /// On which CPUs threads want to run, if they said so.
    wanted: HashMap<u32, Vec<u8>>,
    /// The random numbers of each thread: which thread asks first is not the same in every load.
    random: HashMap<u32, u64>,
}

impl System {
    /// A machine with so many CPUs.
    pub fn new(cpus: usize) -> System {
        System {
            cpus,
            wanted: HashMap::new(),
            random: HashMap::new(),
        }
    }

    /// The answer to a call; none if it is another's.
    pub fn answer(&mut self, call: &Call, child: &Child) -> Option<Answer> {
        let peer = Peer(call.thread);
        let answer = match call.nr {
            libc::SYS_uname => written(&peer, call.args[0], &names()),
            libc::SYS_sched_setaffinity => self.want(&peer, call),
            libc::SYS_sched_getaffinity => self.affinity(&peer, call),
            // It changes nothing, and nobody sees it.
            libc::SYS_sched_setscheduler
            | libc::SYS_sched_setattr
            | libc::SYS_setpriority
            | libc::SYS_mlockall
            | libc::SYS_getuid
            | libc::SYS_geteuid
            | libc::SYS_getgid
            | libc::SYS_getegid => Ok(Answer::Value(0)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_setrlimit => Ok(Answer::Value(0)),
            libc::SYS_prlimit64 => match call.args[3] {
                0 => Ok(Answer::Value(0)),
                at => written(&peer, at, &[0xff; 16]),
            },
            libc::SYS_capget => match call.args[1] {
                0 => Ok(Answer::Value(0)),
                at => written(&peer, at, &[0xff; 24]),
            },
            libc::SYS_prctl => Ok(Answer::Value(1)),
            libc::SYS_getcpu => self.cpu(&peer, call),
            libc::SYS_getrandom => self.random(&peer, call, child),
            libc::SYS_bind => Ok(bind(&peer, call, child)),
            _ => return None,
        };
        Some(answer.unwrap_or(Answer::Error(libc::EFAULT)))
    }

    fn affinity(&self, peer: &Peer, call: &Call) -> Result<Answer, BadAddress> {
        let size = self.cpus.div_ceil(64) * 8;
        if (call.args[1] as usize) < size || call.args[1] % 8 != 0 {
            return Ok(Answer::Error(libc::EINVAL));
        }
        let mut mask = match self.wanted.get(&whose(call)) {
            Some(mask) => mask.clone(),
            None => self.all(),
        };
        mask.resize(size, 0);
        peer.write(call.args[2], &mask)?;
        Ok(Answer::Value(size as i64))
    }

    fn all(&self) -> Vec<u8> {
        let mut mask = vec![0_u8; self.cpus.div_ceil(64) * 8];
        for cpu in 0..self.cpus {
            mask[cpu / 8] |= 1 << (cpu % 8);
        }
        mask
    }

    fn want(&mut self, peer: &Peer, call: &Call) -> Result<Answer, BadAddress> {
        let all = self.all();
        let asked = peer.read(call.args[2], (call.args[1] as usize).min(all.len()))?;
        let mask: Vec<u8> = asked.iter().zip(&all).map(|(a, b)| a & b).collect();
        if mask.iter().all(|&bits| bits == 0) {
            return Ok(Answer::Error(libc::EINVAL));
        }
        self.wanted.insert(whose(call), mask);
        Ok(Answer::Value(0))
    }

    /// The CPU a thread is on: the first it wants.
    pub fn cpu_of(&self, thread: u32) -> u32 {
        let mask = self.wanted.get(&thread);
        let mut bits = mask.into_iter().flatten().zip((0..).step_by(8));
        let first = bits.find(|(bits, _)| **bits != 0);
        first.map_or(0, |(bits, at)| at + bits.trailing_zeros())
    }

    fn cpu(&self, peer: &Peer, call: &Call) -> Result<Answer, BadAddress> {
        for &at in call.args[..2].iter().filter(|&&at| at != 0) {
            peer.write(at, &[0; 4])?;
        }
        if call.args[0] != 0 {
            peer.write(call.args[0], &self.cpu_of(call.thread).to_le_bytes())?;
        }
        Ok(Answer::Value(0))
    }

    /// The same numbers in every load.
    fn random(&mut self, peer: &Peer, call: &Call, child: &Child) -> Result<Answer, BadAddress> {
        if !self.random.contains_key(&call.thread) {
            // Threads are numbered in the order in which they were made.
            let known = self.random.len() as u64;
            let new = child.threads().into_iter();
            let new = new.filter(|thread| !self.random.contains_key(thread));
            let new: Vec<(u32, u64)> = new.zip(known + 1..).collect();
            self.random.extend(new);
        }
        let random = self.random.entry(call.thread).or_default();
        let len = call.args[1].min(1 << 20);
        let byte = |_| {
            *random = random.wrapping_mul(6364136223846793005);
            *random = random.wrapping_add(1442695040888963407);
            (*random >> 56) as u8
        };
        let bytes: Vec<u8> = (0..len).map(byte).collect();
        peer.write(call.args[0], &bytes)?;
        Ok(Answer::Value(len as i64))
    }
}

/// The thread a call is about.
fn whose(call: &Call) -> u32 {
    match call.args[0] as u32 {
        0 => call.thread,
        thread => thread,
    }
}

fn written(peer: &Peer, at: u64, bytes: &[u8]) -> Result<Answer, BadAddress> {
    peer.write(at, bytes)?;
    Ok(Answer::Value(0))
}

fn names() -> Vec<u8> {
    let machine = std::env::consts::ARCH;
    let names = ["Linux", "schedlab", RELEASE, "#1 SMP", machine, ""];
    let name = |name: &str| {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(NAME, 0);
        bytes
    };
    names.into_iter().flat_map(name).collect()
}

/// A socket gets a name that is no file of the host's; nobody can reach a loader over a network.
fn bind(peer: &Peer, call: &Call, child: &Child) -> Answer {
    let family = peer.read(call.args[1], 2);
    let family = family.map_or(0, |bytes| i32::from(bytes[0]) | i32::from(bytes[1]) << 8);
    if family != libc::AF_UNIX {
        return Answer::Error(libc::EACCES);
    }
    let Ok(socket) = child.file(call.int(0)) else {
        return Answer::Error(libc::EBADF);
    };
    let family = libc::AF_UNIX as libc::sa_family_t;
    // SAFETY: an address without a name: the kernel gives the socket one that is no file.
    let bound = unsafe {
        let address = (&family as *const libc::sa_family_t).cast();
        libc::bind(socket.as_raw_fd(), address, size_of_val(&family) as u32)
    };
    match bound {
        0 => Answer::Value(0),
        _ => Answer::Error(libc::EADDRINUSE),
    }
}
