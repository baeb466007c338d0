//! The file systems that programs expect.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::mount::{mount, MountFlags};

use super::Problem;

/// Type, place, options, and whether the guest needs it. /tmp and /run are not mounted: they are in
/// memory already and may hold files from the host.
const MOUNTS: [(&str, &str, &str, bool); 8] = [
    ("proc", "/proc", "", true),
    ("sysfs", "/sys", "", true),
    ("devtmpfs", "/dev", "", true),
    ("tmpfs", "/dev/shm", "mode=1777", true),
    ("devpts", "/dev/pts", "", false),
    ("tracefs", "/sys/kernel/tracing", "", false),
    ("bpf", "/sys/fs/bpf", "", false),
    ("cgroup2", "/sys/fs/cgroup", "", false),
];

/// Names in /dev that are links into /proc on every system.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Mounts all of them.
pub fn mount_all() -> Result<(), Problem> {
    for (kind, place, options, needed) in MOUNTS {
        let problem = |error| format!("{place}: {error}");
        // If the folder cannot be made, the mount reports it.
        let _ = fs::create_dir_all(place);
        let options = std::ffi::CString::new(options).expect("a constant without NUL");
        let mounted = mount(kind, place, kind, MountFlags::empty(), &*options);
        if needed {
            mounted.map_err(problem)?;
        }
    }
    for (target, link) in LINKS {
        symlink(target, link).map_err(|error| format!("{link}: {error}"))?;
    }
    Ok(())
}
