//! The memory and the files of the loader, from outside.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Longest path.
const PATH_MAX: usize = 4096;

/// Most bytes that are read at once: no attribute of bpf(2) is larger than its largest map.
const MOST_BYTES: usize = 1 << 30;

/// A file by its identity: the same for every descriptor of it.
pub type Inode = (u64, u64);

/// A thread of the loader.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub u32);

/// Why its memory cannot be had: what its system call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadAddress;

impl Peer {
    /// Bytes of its memory.
    ///
    /// # Errors
    /// They are not all there.
    pub fn read(&self, address: u64, len: usize) -> Result<Vec<u8>, BadAddress> {
        if len > MOST_BYTES {
            return Err(BadAddress);
        }
        let mut bytes = vec![0; len];
        match self.read_some(address, &mut bytes) {
            got if got == len => Ok(bytes),
            _ => Err(BadAddress),
        }
    }

    /// A string of its memory.
    ///
    /// # Errors
    /// There is no end of a string.
    pub fn read_path(&self, address: u64) -> Result<PathBuf, BadAddress> {
        use std::os::unix::ffi::OsStringExt;
        let mut bytes = vec![0; PATH_MAX];
        // A page at a time: the next one may not be there.
        let first = (PATH_MAX - address as usize % PATH_MAX).min(PATH_MAX);
        let mut got = self.read_some(address, &mut bytes[..first]);
        if got == first && !bytes[..got].contains(&0) {
            got += self.read_some(address + got as u64, &mut bytes[got..]);
        }
        let end = bytes[..got].iter().position(|&b| b == 0);
        bytes.truncate(end.ok_or(BadAddress)?);
        Ok(std::ffi::OsString::from_vec(bytes).into())
    }

    fn read_some(&self, address: u64, bytes: &mut [u8]) -> usize {
        let (local, remote) = vectors(bytes.as_mut_ptr(), address, bytes.len());
        // SAFETY: `local` is `bytes`; the kernel checks `remote`.
        let got = unsafe { libc::process_vm_readv(self.0 as i32, &local, 1, &remote, 1, 0) };
        got.max(0) as usize
    }

    /// Writes into its memory.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        let (local, remote) = vectors(bytes.as_ptr().cast_mut(), address, bytes.len());
        // SAFETY: `local` is `bytes` and only read; the kernel checks `remote`.
        let put = unsafe { libc::process_vm_writev(self.0 as i32, &local, 1, &remote, 1, 0) };
        match put == bytes.len() as isize {
            true => Ok(()),
            false => Err(BadAddress),
        }
    }

    /// Which file a descriptor is; none if there is no such descriptor.
    pub fn inode(&self, fd: i32) -> Option<Inode> {
        let file = fs::metadata(format!("/proc/{}/fd/{fd}", self.0)).ok()?;
        Some((file.dev(), file.ino()))
    }

    /// Where a descriptor was opened.
    pub fn path_of(&self, fd: i32) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/fd/{fd}", self.0)).ok()
    }

    /// Its working directory.
    pub fn folder(&self) -> io::Result<PathBuf> {
        fs::read_link(format!("/proc/{}/cwd", self.0))
    }

    /// Where it has mapped a file, if it has.
    pub fn mapping(&self, inode: Inode) -> Option<u64> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.0)).ok()?;
        maps.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let start = words.next()?.split_once('-')?.0;
            let number = words.nth(3)?;
            let found = number.parse() == Ok(inode.1) && line.contains("/memfd:");
            found.then(|| u64::from_str_radix(start, 16).ok())?
        })
    }
}

fn vectors(local: *mut u8, remote: u64, len: usize) -> (libc::iovec, libc::iovec) {
    let vector = |base: *mut u8| libc::iovec {
        iov_base: base.cast(),
        iov_len: len,
    };
    (vector(local), vector(remote as *mut u8))
}
