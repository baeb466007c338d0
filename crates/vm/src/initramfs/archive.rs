//! The guest's files, by path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use cpio::newc::{trailer, Builder, ModeFileType};

use crate::VmError;

/// Most symbolic links in one path, as in the kernel.
const MOST_LINKS: usize = 40;

enum Entry {
    Folder,
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Device { major: u32, minor: u32 },
}

/// An archive that files are added to.
#[derive(Default)]
pub struct Archive {
    entries: BTreeMap<PathBuf, Entry>,
    /// Folders that contain programs.
    program_folders: BTreeSet<PathBuf>,
}

impl Archive {
    /// Adds a folder and its parents.
    pub fn folder(&mut self, path: &Path) {
        for folder in path.ancestors().filter(|path| *path != Path::new("/")) {
            let entry = self.entries.entry(folder.to_path_buf());
            entry.or_insert(Entry::Folder);
        }
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &Path, major: u32, minor: u32) {
        self.put(path, Entry::Device { major, minor });
    }

    /// Adds a file with these bytes.
    pub fn file(&mut self, path: &str, bytes: Vec<u8>, mode: u32) {
        self.put(Path::new(path), Entry::File { bytes, mode });
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &Path, target: &Path) {
        self.put(path, Entry::Link(target.to_path_buf()));
    }

    /// Does the archive contain this path?
    pub fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Folders that contain programs.
    pub fn program_folders(&self) -> impl Iterator<Item = &Path> {
        self.program_folders.iter().map(PathBuf::as_path)
    }

    /// Adds a file of the host at its own path, with the symbolic links of that path; returns the
    /// path without links.
    pub fn host_file(&mut self, path: &Path) -> Result<PathBuf, VmError> {
        let place = self.resolve(path)?;
        if !self.has(&place) {
            let bytes = fs::read(&place).map_err(VmError::reading(path))?;
            let mode = fs::metadata(&place).map_err(VmError::reading(path))?;
            let mode = mode.permissions().mode() & 0o777;
            self.put(&place, Entry::File { bytes, mode });
        }
        Ok(place)
    }

    /// As `host_file`; a missing file is no error.
    pub fn optional_file(&mut self, path: &Path) -> Result<(), VmError> {
        match path.is_file() {
            true => self.host_file(path).map(drop),
            false => Ok(()),
        }
    }

    /// Adds a program of the host.
    pub fn host_program(&mut self, path: &Path) -> Result<PathBuf, VmError> {
        if let Some(folder) = path.parent() {
            self.program_folders.insert(folder.to_path_buf());
        }
        self.host_file(path)
    }

    /// Adds a folder of the host without its content.
    pub fn host_folder(&mut self, path: &Path) -> Result<(), VmError> {
        let place = self.resolve(path)?;
        self.folder(&place);
        Ok(())
    }

    /// Adds a file, or a folder with all its content.
    pub fn tree(&mut self, path: &Path) -> Result<(), VmError> {
        let path = std::path::absolute(path).map_err(VmError::reading(path))?;
        let found = fs::metadata(&path).map_err(VmError::reading(&path))?;
        if found.is_file() {
            return super::programs::add_program(self, &path);
        } else if !found.is_dir() {
            return Ok(()); // Sockets, pipes and devices are of no use in the guest.
        }
        self.host_folder(&path)?;
        for entry in fs::read_dir(&path).map_err(VmError::reading(&path))? {
            let entry = entry.map_err(VmError::reading(&path))?.path();
            // Skip broken links.
            if entry.exists() {
                self.tree(&entry)?;
            }
        }
        Ok(())
    }

    /// Adds all symbolic links of a path; returns the path without links.
    fn resolve(&mut self, path: &Path) -> Result<PathBuf, VmError> {
        let mut left: Vec<PathBuf> = parts(path);
        let (mut place, mut nr_links) = (PathBuf::from("/"), 0);
        while let Some(part) = left.pop() {
            if part == Path::new("..") {
                // The guest's kernel also looks up this folder.
                self.folder(&place);
                place.pop();
                continue;
            }
            let next = place.join(&part);
            let Ok(target) = fs::read_link(&next) else {
                place = next;
                continue;
            };
            nr_links += 1;
            if nr_links > MOST_LINKS {
                let circle = io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error());
                return Err(VmError::reading(path)(circle));
            }
            if target.is_absolute() {
                place = PathBuf::from("/");
            }
            left.extend(parts(&target));
            self.put(&next, Entry::Link(target));
        }
        Ok(place)
    }

    fn put(&mut self, path: &Path, entry: Entry) {
        if let Some(folder) = path.parent() {
            self.folder(folder);
        }
        self.entries.insert(path.to_path_buf(), entry);
    }

    /// The archive's bytes.
    pub fn write(&self) -> Result<Vec<u8>, VmError> {
        let mut bytes = Vec::new();
        for (number, (path, entry)) in self.entries.iter().enumerate() {
            let name = path.strip_prefix("/").unwrap_or(path);
            let name = name.to_str().ok_or_else(|| VmError::name(path))?;
            let header = Builder::new(name).ino(number as u32 + 1);
            bytes = append(bytes, header, entry).map_err(VmError::reading(path))?;
        }
        trailer(bytes).map_err(VmError::reading(Path::new("initramfs")))
    }
}

fn append(bytes: Vec<u8>, header: Builder, entry: &Entry) -> io::Result<Vec<u8>> {
    let (kind, mode, content) = match entry {
        Entry::Folder => (ModeFileType::Directory, 0o755, &[][..]),
        Entry::File { bytes, mode } => (ModeFileType::Regular, *mode, bytes.as_slice()),
        Entry::Link(target) => (
            ModeFileType::Symlink,
            0o777,
            target.as_os_str().as_encoded_bytes(),
        ),
        Entry::Device { .. } => (ModeFileType::Char, 0o600, &[][..]),
    };
    let mut header = header.mode(mode).set_mode_file_type(kind);
    if let Entry::Device { major, minor } = entry {
        header = header.rdev_major(*major).rdev_minor(*minor);
    }
    let size = u32::try_from(content.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut writer = header.write(bytes, size);
    writer.write_all(content)?;
    writer.finish()
}

/// A path's components, last first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    });
    let mut names: Vec<PathBuf> = names.collect();
    names.reverse();
    names
}
