//! Files that exist for the loader only: made from the simulated machine, kept in memory.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

/// Roots under which nothing of the host's is seen.
const ROOTS: &[&str] = &["/sys", "/boot"];

/// Below the roots, what stays the host's: it is about memory of processes, not about CPUs.
const HOSTS: &[&str] = &["/sys/kernel/mm"];

/// Files and folders by path.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<PathBuf, Arc<[u8]>>,
    folders: BTreeMap<PathBuf, BTreeMap<String, bool>>,
    /// Where opened folders are: a copy of their names, for the host's kernel to list.
    copies: Option<TempDir>,
}

/// What is at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A file with this content.
    File(Arc<[u8]>),
    /// A folder.
    Folder,
    /// Nothing, and the host's does not count.
    Missing,
    /// Whatever the host has.
    Host,
}

impl Tree {
    /// Adds a file and the folders it is in.
    pub fn add(&mut self, path: impl Into<PathBuf>, content: impl AsRef<[u8]>) {
        let path = path.into();
        self.enter(&path, false);
        self.files.insert(path, Arc::from(content.as_ref()));
    }

    /// Adds a folder and the folders it is in.
    pub fn add_folder(&mut self, path: impl Into<PathBuf>) {
        let path = path.into();
        self.folders.entry(path.clone()).or_default();
        self.enter(&path, true);
    }

    fn enter(&mut self, path: &Path, mut is_folder: bool) {
        let mut path = path;
        while let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let names = self.folders.entry(parent.to_path_buf()).or_default();
            let name = name.to_string_lossy().into_owned();
            if names.insert(name, is_folder).is_some() {
                return;
            }
            (path, is_folder) = (parent, true);
        }
    }

    /// What is at an absolute path without "." and "..".
    pub fn find(&self, path: &Path) -> Node {
        if let Some(content) = self.files.get(path) {
            return Node::File(content.clone());
        }
        let below = |roots: &[&str]| roots.iter().any(|root| path.starts_with(root));
        match () {
            () if !below(ROOTS) || below(HOSTS) => Node::Host,
            () if self.folders.contains_key(path) => Node::Folder,
            () => Node::Missing,
        }
    }

    /// A folder's copy, to be listed.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open_folder(&mut self, path: &Path) -> io::Result<OwnedFd> {
        if self.copies.is_none() {
            self.copies = Some(tempfile::Builder::new().prefix("schedlab-scx").tempdir()?);
        }
        let root = self.copies.as_ref().expect("it was just made").path();
        let copy = inside(root, path);
        fs::create_dir_all(&copy)?;
        for (name, is_folder) in self.folders.get(path).into_iter().flatten() {
            let entry = copy.join(name);
            match is_folder {
                true => fs::create_dir_all(entry)?,
                false => drop(File::create(entry)?),
            }
        }
        Ok(File::open(copy)?.into())
    }

    /// The path whose copy this is; itself if it is none.
    pub fn original(&self, path: PathBuf) -> PathBuf {
        let root = self.copies.as_ref().map(TempDir::path);
        match root.and_then(|root| path.strip_prefix(root).ok()) {
            Some(rest) => Path::new("/").join(rest),
            None => path,
        }
    }
}

/// A path below another root.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// An open file with this content.
///
/// # Errors
/// The system gives none.
pub fn memory_file(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: `name` is terminated.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made it.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(content)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_missing_and_the_rest_is_the_hosts() {
        let mut tree = Tree::default();
        tree.add("/sys/devices/system/cpu/online", "0-3\n");
        tree.add("/proc/cpuinfo", "");
        let find = |path: &str| tree.find(Path::new(path));
        let online = Arc::from(&b"0-3\n"[..]);
        assert_eq!(find("/sys/devices/system/cpu/online"), Node::File(online));
        assert_eq!(find("/sys/devices/system/cpu"), Node::Folder);
        assert_eq!(find("/sys"), Node::Folder);
        assert_eq!(find("/sys/devices/system/cpu/present"), Node::Missing);
        assert_eq!(find("/sys/kernel/mm/transparent_hugepage"), Node::Host);
        assert_eq!(find("/proc/self/maps"), Node::Host);
        assert_eq!(find("/etc/ld.so.cache"), Node::Host);
    }

    #[test]
    fn folders_can_be_listed() {
        let mut tree = Tree::default();
        tree.add("/sys/a/b", "");
        tree.add("/sys/a/c/d", "");
        let folder = tree.open_folder(Path::new("/sys/a")).unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder));
        let names = fs::read_dir(&path).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["b", "c"]);
        let copy = fs::read_link(path).unwrap();
        assert_eq!(tree.original(copy), Path::new("/sys/a"));
    }
}
