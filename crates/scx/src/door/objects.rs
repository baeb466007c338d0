//! What file descriptors of a loader stand for.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use super::peer::{Inode, Peer};
use super::tree::memory_file;
use crate::{Btf, MapId, ProgramId};

/// Something that bpf(2) made.
#[derive(Clone, Debug)]
pub enum Object {
    /// A map.
    Map(MapId),
    /// The types of an object.
    Btf(Arc<Btf>, u32),
    /// A program that runs here.
    Program(ProgramId, u32),
    /// A program of a kind that does not run here: its name and its type.
    Idle(String, u32),
    /// An attachment.
    Link,
    /// A perf event; the name of its tracepoint, if it is one.
    PerfEvent(String),
}

/// All objects, found by the file that their descriptors are of, whatever a loader does with descriptors.
#[derive(Debug, Default)]
pub struct Objects {
    by_file: HashMap<Inode, Object>,
    /// One descriptor of each file stays open: its number is not used again.
    files: Vec<OwnedFd>,
}

impl Objects {
    /// A new object, and the file for the loader.
    ///
    /// # Errors
    /// The system gives no file.
    pub fn add(&mut self, object: Object) -> io::Result<OwnedFd> {
        let file = memory_file("schedlab-scx", &[])?;
        self.add_as(object, file)
    }

    /// A new object whose file is this one.
    ///
    /// # Errors
    /// The system has too many files open.
    pub fn add_as(&mut self, object: Object, file: OwnedFd) -> io::Result<OwnedFd> {
        self.by_file.insert(inode(&file)?, object);
        self.files.push(file.try_clone()?);
        Ok(file)
    }

    /// What a descriptor of the loader stands for.
    pub fn find(&self, peer: &Peer, fd: i32) -> Option<&Object> {
        self.by_file.get(&peer.inode(fd)?)
    }

    /// The files of all maps.
    pub fn maps(&self) -> impl Iterator<Item = (MapId, Inode)> + '_ {
        self.by_file
            .iter()
            .filter_map(|(&inode, object)| match object {
                Object::Map(map) => Some((*map, inode)),
                _ => None,
            })
    }
}

fn inode(file: &OwnedFd) -> io::Result<Inode> {
    let file = fs::metadata(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok((file.dev(), file.ino()))
}

/// A second descriptor of a file.
///
/// # Errors
/// The system has too many files open.
pub fn again(file: BorrowedFd) -> io::Result<OwnedFd> {
    file.try_clone_to_owned()
}
