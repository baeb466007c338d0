//! A trace instance: created, locked, removed. Instances of killed recorders are removed, too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};

use crate::decode::YIELD;

/// Prefix of the names of our instances; the process id follows.
const PREFIX: &str = "schedlab-";

/// A trace instance, removed when dropped. Its folder stays locked until then: an unlocked instance
/// belongs to a process that was killed.
pub struct Instance {
    tracefs: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl Instance {
    /// Removes instances of processes that were killed, and creates one of this process.
    ///
    /// # Errors
    /// tracefs refuses.
    pub fn create(tracefs: &Path) -> io::Result<Instance> {
        remove_stale(tracefs);
        let name = format!("{PREFIX}{}", std::process::id());
        let path = tracefs.join("instances").join(name);
        loop {
            fs::create_dir(&path)?;
            // Before it is locked, another recorder may take it for a stale one and remove it.
            if let Some(lock) = lock(&path) {
                return Ok(Instance {
                    tracefs: tracefs.into(),
                    path,
                    _lock: lock,
                });
            }
        }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The group of its probes.
    pub fn probe_group(&self) -> String {
        probe_group(&self.path)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        remove(&self.tracefs, &self.path);
    }
}

/// Locks a folder; `None` if it is already locked or has been removed.
fn lock(path: &Path) -> Option<File> {
    let folder = File::open(path).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (locked, named) = (folder.metadata().ok()?, fs::metadata(path).ok()?);
    (locked.ino() == named.ino()).then_some(folder)
}

/// Removes the instances that no process has locked.
fn remove_stale(tracefs: &Path) {
    let entries = fs::read_dir(tracefs.join("instances"));
    for entry in entries.into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_ours {
            continue;
        }
        if let Some(_lock) = lock(&entry.path()) {
            remove(tracefs, &entry.path());
        }
    }
}

/// Stops an instance and removes it with its probe. Errors are ignored: what is left does no harm.
fn remove(tracefs: &Path, instance: &Path) {
    let _ = overwrite(&instance.join("tracing_on"), "0");
    let _ = overwrite(&instance.join("events/enable"), "0");
    let probe = format!("-:{}/{YIELD}\n", probe_group(instance));
    let _ = append(&tracefs.join("kprobe_events"), &probe);
    let _ = fs::remove_dir(instance);
}

/// Groups of probes have no "-" in their names.
fn probe_group(instance: &Path) -> String {
    let name = instance.file_name().unwrap_or_default().to_string_lossy();
    name.replace('-', "_")
}

fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Appends to a file that takes one command with each write.
pub fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like tracefs with these instances, each of which traces.
    fn fake_tracefs(instances: &[&str]) -> tempfile::TempDir {
        let tracefs = tempfile::tempdir().unwrap();
        fs::create_dir(tracefs.path().join("instances")).unwrap();
        fs::write(tracefs.path().join("kprobe_events"), "").unwrap();
        for name in instances {
            let instance = tracefs.path().join("instances").join(name);
            fs::create_dir_all(instance.join("events")).unwrap();
            fs::write(instance.join("events/enable"), "1").unwrap();
            fs::write(instance.join("tracing_on"), "1").unwrap();
        }
        tracefs
    }

    fn traces(tracefs: &Path, name: &str) -> bool {
        let read = |file| fs::read_to_string(tracefs.join("instances").join(name).join(file));
        match (read("tracing_on").unwrap(), read("events/enable").unwrap()) {
            (on, enabled) if on == enabled => on == "1",
            mixed => panic!("{mixed:?}"),
        }
    }

    #[test]
    fn what_a_killed_recorder_left_is_stopped_and_its_probe_removed() {
        let tracefs = fake_tracefs(&["schedlab-123", "somebody-456"]);
        let instance = Instance::create(tracefs.path()).unwrap();
        assert!(!traces(tracefs.path(), "schedlab-123"));
        assert!(traces(tracefs.path(), "somebody-456"), "not ours");
        let probes = fs::read_to_string(tracefs.path().join("kprobe_events")).unwrap();
        assert_eq!(probes, format!("-:schedlab_123/{YIELD}\n"));
        assert!(instance.path().is_dir());
    }

    #[test]
    fn recorders_at_work_are_left_alone() {
        let tracefs = fake_tracefs(&["schedlab-123"]);
        let at_work = lock(&tracefs.path().join("instances/schedlab-123"));
        let _instance = Instance::create(tracefs.path()).unwrap();
        assert!(at_work.is_some() && traces(tracefs.path(), "schedlab-123"));
    }

    #[test]
    fn instances_are_removed() {
        let tracefs = fake_tracefs(&[]);
        let stale = tracefs.path().join("instances/schedlab-123");
        fs::create_dir(&stale).unwrap();
        let instance = Instance::create(tracefs.path()).unwrap();
        assert!(!stale.exists() && instance.path().exists());
        drop(instance);
        let left = fs::read_dir(tracefs.path().join("instances")).unwrap();
        assert_eq!(left.count(), 0);
    }
}
