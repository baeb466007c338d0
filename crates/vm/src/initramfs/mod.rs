//! The guest's files in memory: a small part of the host's files, at the same paths.
//!
//! The files that a command needs are found from the command: the interpreter of a script, linked
//! shared libraries, files named by arguments, and busybox for other programs of a shell line.
//! Libraries that a program opens at run time are not found this way; the user names them.

mod archive;
mod programs;
mod strip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use schedlab_recording::NOTES_VARIABLE;

use crate::job::{Job, JOB_FILE, NOTES_FILE};
use crate::VmError;

use archive::Archive;

pub use programs::find_program;

/// Path of process 1.
pub const INIT: &str = "/init";

/// Folders every guest has.
const FOLDERS: [&str; 7] = ["/dev", "/proc", "/sys", "/tmp", "/run", "/root", "/etc"];

/// The folders searched for programs.
const STANDARD_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Content of a guest's initramfs.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// This program, which becomes process 1.
    pub init: PathBuf,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Names of programs that process 1 can act as; used for commands that the host lacks.
    pub own: &'static [&'static str],
    /// Another scheduler's program and its arguments.
    pub scheduler: Option<Vec<String>>,
    /// Generated files: path in the guest and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files and folders that the user added.
    pub with: Vec<PathBuf>,
    /// The working folder of the command.
    pub folder: PathBuf,
    /// The size of each CPU's trace buffer in KiB; `None`: do not record.
    pub buffer_kib: Option<u64>,
    /// Record system calls that move data or wait, too.
    pub data_flow: bool,
}

impl Content {
    /// The archive that the kernel unpacks (cpio, "newc"). Equal content gives equal bytes.
    ///
    /// # Errors
    /// The command was not found, or a file cannot be read.
    pub fn pack(&self) -> Result<Vec<u8>, VmError> {
        let mut archive = Archive::default();
        FOLDERS
            .iter()
            .for_each(|folder| archive.folder(Path::new(folder)));
        archive.device(Path::new("/dev/console"), 5, 1);
        archive.device(Path::new("/dev/null"), 1, 3);
        archive.file(
            "/etc/passwd",
            b"root:x:0:0:root:/root:/bin/sh\n".to_vec(),
            0o644,
        );
        archive.file("/etc/group", b"root:x:0:\n".to_vec(), 0o644);
        self.add_init(&mut archive)?;
        let busybox = Busybox::find();
        self.add_programs(&mut archive, &busybox)?;
        for (path, bytes) in &self.files {
            archive.file(path, bytes.clone(), 0o644);
        }
        for path in &self.with {
            archive.tree(path)?;
        }
        archive.host_folder(&self.folder)?;
        busybox.add(&mut archive)?;
        let job = serde_json::to_vec(&self.job(&archive)).map_err(VmError::json)?;
        archive.file(JOB_FILE, job, 0o644);
        archive.write()
    }

    /// Adds this program without debug information as process 1; commands can also call it.
    fn add_init(&self, archive: &mut Archive) -> Result<(), VmError> {
        let whole = fs::read(&self.init).map_err(VmError::reading(&self.init))?;
        archive.file(INIT, strip::loaded_part(whole), 0o755);
        programs::add_libraries(archive, &self.init)?;
        archive.optional_file(Path::new("/etc/ld.so.cache"))?;
        archive.host_folder(Path::new("/usr/bin"))?;
        archive.link(Path::new("/usr/bin/schedlab"), Path::new(INIT));
        Ok(())
    }

    fn add_programs(&self, archive: &mut Archive, busybox: &Busybox) -> Result<(), VmError> {
        let commands = [Some(&self.command), self.scheduler.as_ref()];
        for command in commands.into_iter().flatten() {
            let (program, arguments) = command.split_first().ok_or(VmError::NoCommand)?;
            match find_program(program, &self.folder) {
                Some(path) => programs::add_program(archive, &path)?,
                None if self.own.contains(&program.as_str()) => add_own(archive, program),
                None if busybox.has(program) || program == "schedlab" => {}
                None => return Err(VmError::NoProgram(program.clone())),
            }
            for argument in arguments {
                self.add_named(archive, program, argument, busybox)?;
            }
        }
        // Programs start the shell by this path.
        match find_program("/bin/sh", Path::new("/")) {
            Some(shell) => programs::add_program(archive, &shell),
            None => Ok(()),
        }
    }

    /// Adds what an argument names: a file, or programs of a shell line.
    fn add_named(
        &self,
        archive: &mut Archive,
        program: &str,
        argument: &str,
        busybox: &Busybox,
    ) -> Result<(), VmError> {
        // A workload's file name may be followed by options.
        let name = match program {
            "schedlab" => argument.split_whitespace().next().unwrap_or(argument),
            _ => argument,
        };
        for name in [argument, name] {
            let path = self.folder.join(name);
            if path.is_file() {
                return programs::add_program(archive, &path);
            }
        }
        if program == "schedlab" {
            return Ok(()); // This argument names a workload; it is not a shell line.
        }
        let words = argument.split(|c: char| c.is_whitespace() || ";|&(){}`\"'$<>".contains(c));
        for word in words.filter(|word| !word.is_empty() && !busybox.has(word)) {
            match find_program(word, &self.folder) {
                Some(path) => programs::add_program(archive, &path)?,
                None if self.own.contains(&word) => add_own(archive, word),
                None => {}
            }
        }
        Ok(())
    }

    fn job(&self, archive: &Archive) -> Job {
        let mut path = STANDARD_PATH.to_string();
        for folder in archive.program_folders() {
            if !path.split(':').any(|known| Path::new(known) == folder) {
                path += &format!(":{}", folder.display());
            }
        }
        let environment = [
            ("HOME", "/root"),
            ("LANG", "C.UTF-8"),
            ("PATH", &path),
            (NOTES_VARIABLE, NOTES_FILE),
        ];
        Job {
            command: self.command.clone(),
            folder: self.folder.clone(),
            environment: environment
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into(),
            scheduler: self.scheduler.clone(),
            buffer_kib: self.buffer_kib,
            data_flow: self.data_flow,
        }
    }
}

/// Adds another name of process 1.
fn add_own(archive: &mut Archive, name: &str) {
    archive.link(&Path::new("/usr/bin").join(name), Path::new(INIT));
}

/// Busybox, if the host has it.
struct Busybox {
    path: Option<PathBuf>,
    names: Vec<String>,
}

impl Busybox {
    fn find() -> Busybox {
        let path = find_program("busybox", Path::new("/"));
        let list = |path: &PathBuf| Command::new(path).arg("--list").output().ok();
        let output = path.as_ref().and_then(list);
        let names = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        Busybox {
            path,
            names: names
                .unwrap_or_default()
                .lines()
                .map(str::to_string)
                .collect(),
        }
    }

    fn has(&self, program: &str) -> bool {
        self.names.iter().any(|name| name == program)
    }

    /// Adds it under all its names for which the archive has no other program.
    fn add(&self, archive: &mut Archive) -> Result<(), VmError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        programs::add_program(archive, path)?;
        for name in &self.names {
            let taken = ["/usr/bin", "/usr/sbin"]
                .map(|folder| archive.has(&Path::new(folder).join(name)))
                .contains(&true);
            if !taken {
                archive.link(&Path::new("/usr/bin").join(name), path);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(command: &[&str]) -> Content {
        Content {
            init: find_program("sh", Path::new("/")).unwrap(),
            command: command.iter().map(|word| word.to_string()).collect(),
            folder: "/".into(),
            ..Content::default()
        }
    }

    #[test]
    fn equal_content_gives_equal_bytes() {
        let content = content(&["sh", "-c", "exit 3"]);
        assert_eq!(content.pack().unwrap(), content.pack().unwrap());
    }

    #[test]
    fn a_command_nobody_has_is_named() {
        let problem = content(&["no-such-program"]).pack().unwrap_err();
        assert!(matches!(problem, VmError::NoProgram(name) if name == "no-such-program"));
    }

    /// A path with `..` leads to the same file in the guest.
    #[test]
    fn folders_a_path_goes_through_come_along() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::create_dir(folder.join("detour")).unwrap();
        fs::write(folder.join("data"), "in the guest").unwrap();
        let content = Content {
            folder: folder.clone(),
            ..content(&["cat", "detour/../data"])
        };
        let packed = content.pack().unwrap();
        let text = String::from_utf8_lossy(&packed);
        let inside = folder.strip_prefix("/").unwrap();
        for wanted in ["detour", "data"] {
            let name = format!("{}\0", inside.join(wanted).display());
            assert!(text.contains(&name), "{wanted} is missing");
        }
    }

    /// Programs are added only where a command names them, so that other guests do not change.
    #[test]
    fn programs_of_our_own_are_there_when_they_are_called() {
        let packed = |command: &[&str]| {
            let content = Content {
                own: &["chatter", "sh"],
                ..content(command)
            };
            content.pack().unwrap()
        };
        let has_link = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("usr/bin/chatter\0");
        assert!(has_link(&packed(&["chatter", "-x"])));
        assert!(has_link(&packed(&["sh", "-c", "chatter | cat"])));
        assert!(!has_link(&packed(&["sh", "-c", "cat"])));
    }

    /// A script's interpreter, its libraries and the file that it reads are added.
    #[test]
    fn what_a_script_needs_comes_along() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let script = folder.join("script");
        fs::write(&script, "#!/bin/sh\ncat data\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("data"), "in the guest").unwrap();
        let content = Content {
            folder: folder.clone(),
            ..content(&["./script", "data"])
        };
        let packed = content.pack().unwrap();
        let text = String::from_utf8_lossy(&packed);
        for wanted in ["cat data\n", "in the guest", "libc.so.6"] {
            assert!(text.contains(wanted), "{wanted} is missing");
        }
    }
}
