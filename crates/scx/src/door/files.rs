//! Answers to system calls about files.

use std::io;
use std::mem::{size_of, zeroed};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::notify::{Answer, Call};
use super::peer::{BadAddress, Peer};
use super::tree::{memory_file, Node, Tree};

/// Where the running system keeps what is gone after a reboot: what is made there is thrown away.
const VOLATILE: &[&str] = &["/run", "/var/run", "/sys/fs/bpf"];

/// What may be opened to write to.
const WRITABLE: &[&str] = &["/dev", "/proc/self", "/proc/thread-self"];

/// Events of tracepoints: one folder each, with a file that has its number.
const EVENTS: &[&str] = &[
    "/sys/kernel/tracing/events",
    "/sys/kernel/debug/tracing/events",
];

/// Numbers of events start here.
const FIRST_EVENT: usize = 1000;

/// Types of file systems, as statfs(2) says.
const FILE_SYSTEMS: &[(&str, u32)] = &[
    ("/sys/fs/bpf", 0xcafe_4a11),
    ("/sys/fs/cgroup", 0x6367_7270),
    ("/sys/kernel/tracing", 0x7472_6163),
    ("/sys", 0x6265_6572),
];

/// The files a loader sees.
#[derive(Debug)]
pub struct Files {
    /// Those that are not the host's.
    pub tree: Tree,
    /// Tracepoints whose numbers were asked for, as "sched/sched_switch".
    events: Vec<String>,
    /// What it wanted to write to or to make.
    pub denied: Vec<PathBuf>,
}

/// What a system call about a file wants.
enum Wanted {
    Open { flags: u64 },
    Stat { at: u64 },
    Statx { at: u64 },
    Access,
    Link,
    FileSystem { at: u64 },
    Make,
}

impl Files {
    /// These files.
    pub fn new(tree: Tree) -> Files {
        Files {
            tree,
            events: Vec::new(),
            denied: Vec::new(),
        }
    }

    /// The answer to a call about a file; none if it is no such call.
    pub fn answer(&mut self, call: &Call) -> Option<Answer> {
        let (folder, path, wanted) = wanted(call)?;
        let answer = self.about(call, folder, path, wanted);
        Some(answer.unwrap_or(Answer::Error(libc::EFAULT)))
    }

    /// The tracepoint with this number.
    pub fn event(&self, number: u64) -> Option<&str> {
        let index = (number as usize).checked_sub(FIRST_EVENT)?;
        self.events.get(index).map(String::as_str)
    }

    fn about(
        &mut self,
        call: &Call,
        folder: i32,
        path: u64,
        wanted: Wanted,
    ) -> Result<Answer, BadAddress> {
        let peer = Peer(call.thread);
        let path = peer.read_path(path)?;
        if path.as_os_str().is_empty() {
            return Ok(Answer::Host);
        }
        let Some(path) = self.absolute(&peer, folder, &path) else {
            return Ok(Answer::Host);
        };
        let node = self.node(&path);
        self.answer_for(&peer, &path, node, wanted)
    }

    fn answer_for(
        &mut self,
        peer: &Peer,
        path: &Path,
        node: Node,
        wanted: Wanted,
    ) -> Result<Answer, BadAddress> {
        let mode = match &node {
            Node::File(content) => Some((libc::S_IFREG | 0o644, content.len())),
            Node::Folder => Some((libc::S_IFDIR | 0o755, 0)),
            _ => None,
        };
        match (wanted, mode) {
            (Wanted::Make, _) => Ok(self.make(path)),
            (Wanted::Open { flags }, _) if writes(flags) => Ok(self.open_to_write(path, &node)),
            (_, None) if node == Node::Host => Ok(Answer::Host),
            (_, None) => Ok(Answer::Error(libc::ENOENT)),
            (Wanted::Open { flags }, _) => Ok(self.open(path, node, flags)),
            (Wanted::Access, _) => Ok(Answer::Value(0)),
            (Wanted::Link, _) => Ok(Answer::Error(libc::EINVAL)),
            (Wanted::Stat { at }, Some((mode, size))) => {
                peer.write(at, bytes(&stat(mode, size)))?;
                Ok(Answer::Value(0))
            }
            (Wanted::Statx { at }, Some((mode, size))) => {
                peer.write(at, bytes(&statx(mode, size)))?;
                Ok(Answer::Value(0))
            }
            (Wanted::FileSystem { at }, _) => {
                peer.write(at, bytes(&file_system(path)))?;
                Ok(Answer::Value(0))
            }
        }
    }

    /// What is at a path.  Every tracepoint has a number.
    fn node(&mut self, path: &Path) -> Node {
        let event = EVENTS.iter().find_map(|root| path.strip_prefix(root).ok());
        let event = event.filter(|event| event.components().count() >= 2);
        let Some(event) = event else {
            return self.tree.find(path);
        };
        let name = match (event.components().count(), event.file_name()) {
            (2, _) => return Node::Folder,
            (3, Some(file)) if file == "id" => event.parent().unwrap_or(event),
            _ => return Node::Missing,
        };
        let name = name.display().to_string();
        let known = self.events.iter().position(|event| *event == name);
        let index = known.unwrap_or_else(|| {
            self.events.push(name);
            self.events.len() - 1
        });
        let number = format!("{}\n", FIRST_EVENT + index);
        Node::File(Arc::from(number.as_bytes()))
    }

    fn open(&mut self, path: &Path, node: Node, flags: u64) -> Answer {
        let opened = match node {
            Node::File(_) if flags & libc::O_DIRECTORY as u64 != 0 => {
                return Answer::Error(libc::ENOTDIR)
            }
            Node::File(content) => memory_file("schedlab-file", &content),
            _ => self.tree.open_folder(path),
        };
        opened.map_or_else(|error| Answer::Error(errno(&error)), Answer::File)
    }

    fn open_to_write(&mut self, path: &Path, node: &Node) -> Answer {
        let allowed = WRITABLE.iter().any(|root| path.starts_with(root));
        match node {
            Node::Host if allowed => Answer::Host,
            Node::Missing => Answer::Error(libc::ENOENT),
            Node::Folder => Answer::Error(libc::EISDIR),
            Node::File(_) | Node::Host => {
                self.denied.push(path.to_path_buf());
                Answer::Error(libc::EROFS)
            }
        }
    }

    fn make(&mut self, path: &Path) -> Answer {
        if VOLATILE.iter().any(|root| path.starts_with(root)) {
            return Answer::Value(0);
        }
        self.denied.push(path.to_path_buf());
        Answer::Error(libc::EROFS)
    }

    /// A path from the root, without "." and ".."; none if it starts where nobody knows.
    fn absolute(&self, peer: &Peer, folder: i32, path: &Path) -> Option<PathBuf> {
        let start = match (path.is_absolute(), folder) {
            (true, _) => PathBuf::from("/"),
            (false, libc::AT_FDCWD) => self.tree.original(peer.folder().ok()?),
            (false, folder) => self.tree.original(peer.path_of(folder)?),
        };
        let mut absolute = start;
        for part in path.components() {
            match part {
                Component::ParentDir => drop(absolute.pop()),
                Component::Normal(name) => absolute.push(name),
                _ => {}
            }
        }
        Some(absolute)
    }
}

/// The folder a path starts at, where the path is, and what is wanted.
fn wanted(call: &Call) -> Option<(i32, u64, Wanted)> {
    let args = &call.args;
    let here = libc::AT_FDCWD;
    let at = call.int(0);
    Some(match call.nr {
        libc::SYS_openat => (at, args[1], Wanted::Open { flags: args[2] }),
        libc::SYS_openat2 => {
            let how = Peer(call.thread).read(args[2], 8).ok()?;
            let flags = super::wire::number(&how, 0, 8);
            (at, args[1], Wanted::Open { flags })
        }
        libc::SYS_newfstatat => (at, args[1], Wanted::Stat { at: args[2] }),
        libc::SYS_statx => (at, args[1], Wanted::Statx { at: args[4] }),
        libc::SYS_faccessat | libc::SYS_faccessat2 => (at, args[1], Wanted::Access),
        libc::SYS_readlinkat => (at, args[1], Wanted::Link),
        libc::SYS_statfs => (here, args[0], Wanted::FileSystem { at: args[1] }),
        libc::SYS_mkdirat | libc::SYS_unlinkat => (at, args[1], Wanted::Make),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => (here, args[0], Wanted::Open { flags: args[1] }),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat | libc::SYS_lstat => (here, args[0], Wanted::Stat { at: args[1] }),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access => (here, args[0], Wanted::Access),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_readlink => (here, args[0], Wanted::Link),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_unlink => (here, args[0], Wanted::Make),
        _ => return None,
    })
}

fn writes(flags: u64) -> bool {
    let (access, made) = (libc::O_ACCMODE, libc::O_CREAT | libc::O_TRUNC);
    flags as i32 & access != libc::O_RDONLY || flags as i32 & made != 0
}

fn stat(mode: u32, size: usize) -> libc::stat {
    // SAFETY: numbers.
    let mut stat: libc::stat = unsafe { zeroed() };
    stat.st_mode = mode;
    stat.st_nlink = 1;
    stat.st_size = size as i64;
    stat.st_blksize = 4096;
    stat
}

fn statx(mode: u32, size: usize) -> libc::statx {
    // SAFETY: numbers.
    let mut stat: libc::statx = unsafe { zeroed() };
    stat.stx_mask = libc::STATX_BASIC_STATS;
    stat.stx_mode = mode as u16;
    stat.stx_nlink = 1;
    stat.stx_size = size as u64;
    stat.stx_blksize = 4096;
    stat
}

fn file_system(path: &Path) -> libc::statfs {
    // SAFETY: numbers.
    let mut system: libc::statfs = unsafe { zeroed() };
    let mut types = FILE_SYSTEMS.iter();
    let found = types.find(|(root, _)| path.starts_with(root));
    system.f_type = found.map_or(0, |&(_, number)| number.into());
    system.f_bsize = 4096;
    system
}

/// The bytes of a structure of the C library.
fn bytes<T>(structure: &T) -> &[u8] {
    // SAFETY: those structures were zeroed as a whole, padding included.
    unsafe { std::slice::from_raw_parts((structure as *const T).cast(), size_of::<T>()) }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
