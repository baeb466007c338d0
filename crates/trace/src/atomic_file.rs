//! Output files that appear whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file written aside, in the folder where it will stand, and moved to its name by
/// [`finish`](AtomicFile::finish).  Dropped unfinished, it leaves nothing behind, and a file
/// that stood under that name before keeps standing.
///
/// A name that stands for something other than a regular file (a pipe, a terminal,
/// `/dev/null`) is written to directly: replacing it would be wrong.
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
    /// What the system says when the folder is missing or not writable, or `path` is a folder.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => OpenOptions::new()
                .write(true)
                .open(path)
                .map(Target::Direct),
            Ok(_) => Target::aside(fs::canonicalize(path)?),
            Err(_) => Target::aside(path.to_path_buf()),
        }?;
        Ok(AtomicFile { target })
    }

    /// What it is called until it is finished, if it is written aside: whoever ends the process
    /// without dropping it should remove this.
    pub fn aside(&self) -> Option<&Path> {
        match &self.target {
            Target::Aside { file, .. } => Some(file.path()),
            Target::Direct(_) => None,
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// What the system says when it cannot be written or renamed; nothing is left behind then.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self.target {
            Target::Aside { file, path } => file.persist(path).map(drop).map_err(|e| e.error),
            Target::Direct(_) => Ok(()),
        }
    }
}

impl Target {
    fn aside(path: PathBuf) -> io::Result<Target> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = new_file_beside(folder)?;
        Ok(Target::Aside { file, path })
    }
}

/// An unnamed-yet file with the permissions any new file gets: the umask decides.
fn new_file_beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".schedlab-").suffix(".part");
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(permissions);
    builder.tempfile_in(folder)
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
            "the name must not appear before the content is whole"
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
