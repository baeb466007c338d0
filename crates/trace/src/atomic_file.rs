//! Output files that appear complete or not at all.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file written under a temporary name, in the folder of its target, and renamed by [`finish`](AtomicFile::finish).
/// Dropped unfinished, it leaves no file, and an earlier file of the target's name stays.  A file that replaces another
/// gets its mode and, where permitted, its owner.
///
/// A target that is not a regular file (a pipe, a terminal, `/dev/null`) is written to directly.
///
/// A process that is killed leaves its temporary file; the next one that writes into the folder removes it.
pub struct AtomicFile {
    target: Target,
}

enum Target {
    Aside { file: NamedTempFile, path: PathBuf },
    Direct(File),
}

impl AtomicFile {
    /// Starts writing what will be `path`.  A symbolic link stays; what it points to is replaced.
    ///
    /// # Errors
    /// The folder is missing or not writable; `path` is a folder, a file that may not be written to, or a symbolic
    /// link to nothing.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        // Opening, not reading the link, decides: the system knows which links may be followed.
        let target = match OpenOptions::new().write(true).open(path) {
            Ok(old) => {
                let found = old.metadata()?;
                match found.is_file() {
                    true => Target::aside(fs::canonicalize(path)?, Some(&found)),
                    false => Ok(Target::Direct(old)),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                Target::aside(path.to_path_buf(), None)
            }
            Err(error) => Err(error),
        }?;
        Ok(AtomicFile { target })
    }

    /// Its temporary name, if it has one.  A process that ends without dropping it should remove this.
    pub fn aside(&self) -> Option<&Path> {
        match &self.target {
            Target::Aside { file, .. } => Some(file.path()),
            Target::Direct(_) => None,
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The system's error if it cannot be written or renamed; the temporary file is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self.target {
            Target::Aside { file, path } => file.persist(path).map(drop).map_err(|e| e.error),
            Target::Direct(_) => Ok(()),
        }
    }
}

impl Target {
    fn aside(path: PathBuf, old: Option<&Metadata>) -> io::Result<Target> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        remove_stale(folder);
        let file = loop {
            let file = temporary_file(folder)?;
            // Another process may have taken it for a stale one before it was locked.
            if file.as_file().try_lock().is_ok() && file.path().exists() {
                break file;
            }
        };
        if let Some(old) = old {
            resemble(file.as_file(), old)?;
        }
        Ok(Target::Aside { file, path })
    }
}

/// How the names of temporary files begin and end.
const PREFIX: &str = ".schedlab-";
const SUFFIX: &str = ".part";

/// A temporary file with the permissions any new file gets: the umask decides.
fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(permissions);
    builder.tempfile_in(folder)
}

/// Gives a file the mode and, where permitted, the owner of the file it will replace.
fn resemble(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{fchown, MetadataExt};
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

/// Removes temporary files of processes that were killed: those that no process has locked.
fn remove_stale(folder: &Path) {
    let entries = fs::read_dir(folder);
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            let stale = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if stale {
                // Without the permission to remove it, it stays.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Aside { file, .. } => file.write(bytes),
            Target::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Aside { file, .. } => file.flush(),
            Target::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn finished_file_has_its_name_and_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        assert!(
            !path.exists(),
            "the name must not appear before the content is complete"
        );
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[test]
    fn dropped_file_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[test]
    fn missing_folder_and_folder_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let missing = AtomicFile::create(&folder.path().join("no/out.txt"));
        assert_eq!(missing.err().unwrap().kind(), io::ErrorKind::NotFound);
        let is_folder = AtomicFile::create(folder.path());
        assert_eq!(is_folder.err().unwrap().kind(), io::ErrorKind::IsADirectory);
        assert!(names(folder.path()).is_empty());
    }

    /// As root, a rename would replace the device by a file.
    #[cfg(unix)]
    #[test]
    fn device_is_written_to_and_stays() {
        use std::os::unix::fs::FileTypeExt;
        let null = Path::new("/dev/null");
        let mut file = AtomicFile::create(null).unwrap();
        file.write_all(b"gone").unwrap();
        file.finish().unwrap();
        assert!(fs::metadata(null).unwrap().file_type().is_char_device());
    }

    #[cfg(unix)]
    #[test]
    fn mode_of_a_replaced_file_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    }

    /// A file without a lock is that of a process that was killed.
    #[test]
    fn temporary_files_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let stale = folder.path().join(".schedlab-x1y2z3.part");
        fs::write(&stale, "half").unwrap();
        let first = AtomicFile::create(&folder.path().join("a")).unwrap();
        assert!(!stale.exists());
        let second = AtomicFile::create(&folder.path().join("b")).unwrap();
        first.finish().unwrap();
        second.finish().unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    /// As cp does: the folder of a file that is not there may not be the one that was meant.
    #[cfg(unix)]
    #[test]
    fn symbolic_link_to_nothing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nothing", &link).unwrap();
        let refused = AtomicFile::create(&link).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        assert!(link.is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
    }
}
