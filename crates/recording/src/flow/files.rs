//! The file of each descriptor, followed through the calls that open, copy and close descriptors.

use std::collections::BTreeMap;

use super::sockets::Listener;
use super::ChannelId;

/// An open file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    /// The read end of a pipe.
    ReadEnd(ChannelId),
    /// The write end of a pipe.
    WriteEnd(ChannelId),
    /// A socket whose peer is known.
    Socket {
        /// What it receives.
        received: ChannelId,
        /// What it sends.
        sent: ChannelId,
    },
    /// A socket with an address of this length.
    Bound(u32),
    /// A socket that listens.
    Listener(Listener),
    /// A connection that this listener accepted; it is not known yet which one.
    Accepted(Listener),
    /// A counter that tasks wait for: eventfd(2).
    Event(ChannelId),
    /// A timer: timerfd_create(2).
    Timer,
    /// Anything else.
    Other,
}

/// The descriptors of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    open: BTreeMap<u32, Descriptor>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Descriptor {
    file: File,
    closed_by_exec: bool,
}

impl Files {
    /// The file of a descriptor.
    pub fn get(&self, fd: u32) -> File {
        self.open.get(&fd).map_or(File::Other, |open| open.file)
    }

    /// Opens a file as this descriptor.
    pub fn set(&mut self, fd: u32, file: File, closed_by_exec: bool) {
        let descriptor = Descriptor {
            file,
            closed_by_exec,
        };
        self.open.insert(fd, descriptor);
    }

    /// Changes the file of a descriptor that is open.
    pub fn change(&mut self, fd: u32, file: File) {
        let closed_by_exec = self.open.get(&fd).is_some_and(|open| open.closed_by_exec);
        self.set(fd, file, closed_by_exec);
    }

    /// Opens a file as the lowest free descriptor, as the kernel does.
    pub fn add(&mut self, file: File, closed_by_exec: bool) -> u32 {
        let taken = self.open.keys().zip(0..).take_while(|(fd, n)| **fd == *n);
        let fd = taken.count() as u32;
        self.set(fd, file, closed_by_exec);
        fd
    }

    /// Sets whether exec closes a descriptor.
    pub fn close_by_exec(&mut self, fd: u32, closed_by_exec: bool) {
        if let Some(open) = self.open.get_mut(&fd) {
            open.closed_by_exec = closed_by_exec;
        }
    }

    /// Closes the descriptors from `first` to `last`.
    pub fn close(&mut self, first: u32, last: u32) {
        self.open.retain(|fd, _| !(first..=last).contains(fd));
    }

    /// Closes all descriptors that exec closes.
    pub fn exec(&mut self) {
        self.open.retain(|_, open| !open.closed_by_exec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_descriptor_is_given_out() {
        let mut files = Files::default();
        for expected in [0, 1, 2, 3] {
            assert_eq!(files.add(File::Other, expected == 3), expected);
        }
        files.close(1, 1);
        let pipe = File::ReadEnd(ChannelId(7));
        assert_eq!((files.add(pipe, false), files.add(pipe, false)), (1, 4));
        files.exec();
        assert_eq!((files.get(1), files.get(3)), (pipe, File::Other));
        assert_eq!(files.add(pipe, false), 3);
    }
}
