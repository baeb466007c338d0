//! Lists the existing tasks, from procfs.

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_trace::TaskClass;

use crate::identity::{KnownFile, KnownTask};

/// The flag of kernel threads (`PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// `O_ACCMODE`, `O_WRONLY`, `O_CLOEXEC`
const ACCESS: u64 = 0o3;
const WRITE_ONLY: u64 = 0o1;
const CLOSE_ON_EXEC: u64 = 0o2_000_000;

/// All tasks of the machine. Tasks of the processes `observers` belong to the recording program.
///
/// Tasks may start and end during the call. A task that is missed is introduced by its first event.
pub fn all_tasks(observers: &[u32], with_files: bool) -> Vec<KnownTask> {
    let mut tasks = Vec::new();
    for (tgid, process) in numbered(Path::new("/proc")) {
        for (pid, task) in numbered(&process.join("task")) {
            let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
            let known = parse_stat(&stat, tgid, observers.contains(&tgid));
            tasks.extend(known.map(|known| KnownTask {
                files: match with_files && pid == tgid {
                    true => files(&process),
                    false => Vec::new(),
                },
                ..known
            }));
        }
    }
    tasks
}

/// The open files of a process.
fn files(process: &Path) -> Vec<KnownFile> {
    let known = |(fd, link): (u32, PathBuf)| {
        let target = fs::read_link(link).ok()?.to_string_lossy().into_owned();
        let info = fs::read_to_string(process.join(format!("fdinfo/{fd}"))).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u64::from_str_radix(flags.trim(), 8).ok()?;
        Some(KnownFile {
            fd,
            target,
            written: flags & ACCESS == WRITE_ONLY,
            closed_by_exec: flags & CLOSE_ON_EXEC != 0,
        })
    };
    let descriptors = numbered(&process.join("fd"));
    descriptors.into_iter().filter_map(known).collect()
}

/// The entries of a folder whose names are numbers, in numerical order.
fn numbered(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut numbered: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))
        })
        .collect();
    numbered.sort();
    numbered
}

/// Parses a line of /proc/PID/stat (proc_pid_stat(5)). The name is in parentheses and may contain
/// some.
fn parse_stat(line: &str, tgid: u32, observer: bool) -> Option<KnownTask> {
    let (pid, rest) = line.split_once(" (")?;
    let (comm, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first element is field 3 of the man page.
    let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
    let class = match number(41)? {
        1 => TaskClass::Fifo,
        2 => TaskClass::Rr,
        3 => TaskClass::Batch,
        5 => TaskClass::Idle,
        // Real-time FIFO is the closest class to deadline.
        6 => TaskClass::Fifo,
        _ => TaskClass::Normal,
    };
    Some(KnownTask {
        pid: pid.parse().ok()?,
        tgid,
        comm: comm.into(),
        kernel: number(9)? as u64 & KERNEL_THREAD != 0,
        observer,
        nice: number(19)?.clamp(-20, 19) as i8,
        class,
        rt_priority: number(40)?.clamp(0, 99) as u8,
        files: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields 3 (state) to 52 of the man page: flags are 9, nice is 19, the real-time priority is
    /// 40, the policy 41.
    fn stat(flags: u64, nice: i32, rt_priority: u32, policy: u32) -> String {
        let mut fields = vec!["0".to_string(); 50];
        fields[0] = "S".into();
        fields[9 - 3] = flags.to_string();
        fields[19 - 3] = nice.to_string();
        fields[40 - 3] = rt_priority.to_string();
        fields[41 - 3] = policy.to_string();
        format!("77 (a (b) c) {}\n", fields.join(" "))
    }

    #[test]
    fn names_may_hold_brackets_and_blanks() {
        let task = parse_stat(&stat(0, -5, 0, 3), 70, false).unwrap();
        assert_eq!(
            (task.pid, task.tgid, task.comm.as_str()),
            (77, 70, "a (b) c")
        );
        assert_eq!(
            (task.nice, task.class, task.kernel),
            (-5, TaskClass::Batch, false)
        );
    }

    #[test]
    fn threads_of_the_kernel_and_real_time_tasks() {
        let task = parse_stat(&stat(0x0420_8040, 0, 99, 1), 77, false).unwrap();
        assert_eq!(
            (task.kernel, task.class, task.rt_priority),
            (true, TaskClass::Fifo, 99)
        );
        assert_eq!(parse_stat("77 (cut) S 1 2", 77, false), None);
    }

    /// This test runs, so it must find itself.
    #[test]
    fn finds_its_own_process() {
        let me = std::process::id();
        let tasks = all_tasks(&[me], true);
        let mine = tasks.iter().find(|task| task.pid == me).unwrap();
        assert!(mine.observer && !mine.kernel && mine.tgid == me);
        assert!(mine.files.iter().any(|file| file.fd == 0));
    }
}
