//! The control groups of a play: cgroups of version 2 below the one that this process is in, which stands for the
//! root.
//!
//! All of them are threaded, so threads of one process may be in different groups, and a group may have both tasks
//! and inner groups, as in the simulator.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schedlab_trace::{CpuMax, GroupWeight, Ns};
use schedlab_workload::{ControlGroup, Workload};

/// Where cgroup file systems of version 2 are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The groups, made for one play.
#[derive(Debug)]
pub struct Groups {
    /// The group of this process.
    root: PathBuf,
    /// Each group's folder, in the order of the workload.
    folders: Vec<PathBuf>,
}

/// How long and how often a group was throttled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Throttled {
    /// The time, summed over CPUs.
    pub time: Ns,
    /// The number of periods in which it was throttled.
    pub periods: u32,
}

/// Why groups cannot be made or changed.
type Problem = String;

impl Groups {
    /// Makes the workload's groups, each before those in it.
    ///
    /// # Errors
    /// There is no cpu controller of version 2, or no permission.  Nothing is left behind.
    pub fn make(workload: &Workload) -> Result<Groups, Problem> {
        let groups = &workload.control_groups;
        let mut made = Groups {
            root: PathBuf::new(),
            folders: Vec::new(),
        };
        if groups.is_empty() {
            return Ok(made);
        }
        made.root = own_group()?;
        has_cpu_controller(&made.root)?;
        let done = made.make_all(groups);
        done.inspect_err(|_| made.remove())?;
        Ok(made)
    }

    fn make_all(&mut self, groups: &[ControlGroup]) -> Result<(), Problem> {
        for group in groups {
            let folder = match group.parent {
                Some(parent) => self.folders[parent as usize].join(&group.name),
                // Plays that run at the same time have different process ids.
                None => self
                    .root
                    .join(format!("schedlab-{}-{}", std::process::id(), group.name)),
            };
            fs::create_dir(&folder).map_err(|e| in_words(&folder, &e))?;
            self.folders.push(folder.clone());
            set(&folder, "cgroup.type", "threaded")?;
            // The threaded group must exist first: it is what permits tasks beside groups.
            let parent = folder.parent().unwrap_or(&self.root);
            set(parent, "cgroup.subtree_control", "+cpu")?;
            weigh(&folder, group.weight)?;
            if group.max.is_some() {
                limit(&folder, group.max)?;
            }
        }
        Ok(())
    }

    /// Moves a thread to a group; none: the root.
    pub fn join(&self, thread: u32, group: Option<u32>) -> Result<(), Problem> {
        set(self.folder(group), "cgroup.threads", &thread.to_string())
    }

    /// Changes a group's weight.
    pub fn weigh(&self, group: u32, weight: GroupWeight) -> Result<(), Problem> {
        let folder = self.folder(Some(group));
        // The weight of an idle group cannot be set.
        if weight != GroupWeight::Idle {
            set(folder, "cpu.idle", "0")?;
        }
        weigh(folder, weight)
    }

    /// Changes a group's limit, or removes it.
    pub fn limit(&self, group: u32, max: Option<CpuMax>) -> Result<(), Problem> {
        limit(self.folder(Some(group)), max)
    }

    /// How much each group was throttled until now; a throttling that has not ended does not count.
    pub fn throttled(&self) -> Vec<Throttled> {
        let of = |folder: &PathBuf| {
            let text = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
            Throttled::read(&text)
        };
        self.folders.iter().map(of).collect()
    }

    /// Removes the groups.  Their tasks must have ended.
    pub fn remove(&self) {
        for folder in self.folders.iter().rev() {
            // A group that remains is empty and does no harm.
            let _ = fs::remove_dir(folder);
        }
    }

    fn folder(&self, group: Option<u32>) -> &Path {
        group.map_or(&self.root, |group| &self.folders[group as usize])
    }
}

impl Throttled {
    /// From the text of a `cpu.stat`.
    fn read(text: &str) -> Throttled {
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            let value = line.and_then(|value| value.trim().parse::<u64>().ok());
            value.unwrap_or(0)
        };
        Throttled {
            time: Ns(number("throttled_usec ").saturating_mul(1000)),
            periods: u32::try_from(number("nr_throttled ")).unwrap_or(u32::MAX),
        }
    }
}

/// The cgroup of version 2 that this process is in.
fn own_group() -> Result<PathBuf, Problem> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"));
    let path = path.ok_or("control groups: this kernel has none of version 2")?;
    Ok(Path::new(MOUNT).join(path))
}

fn has_cpu_controller(group: &Path) -> Result<(), Problem> {
    let place = group.join("cgroup.controllers");
    let controllers = fs::read_to_string(&place).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            format!("control groups: no file system of version 2 is mounted at {MOUNT}")
        }
        _ => in_words(&place, &e),
    })?;
    match controllers.split_whitespace().any(|name| name == "cpu") {
        true => Ok(()),
        false => Err(format!(
            "control groups: {} has no cpu controller",
            group.display()
        )),
    }
}

fn weigh(folder: &Path, weight: GroupWeight) -> Result<(), Problem> {
    match weight {
        GroupWeight::Weight(weight) => set(folder, "cpu.weight", &weight.to_string()),
        GroupWeight::Shares(shares) => {
            set(folder, "cpu.weight", &weight_of_shares(shares).to_string())
        }
        GroupWeight::Nice(nice) => set(folder, "cpu.weight.nice", &nice.to_string()),
        GroupWeight::Idle => set(folder, "cpu.idle", "1"),
    }
}

/// The weight of version 2 that is nearest to these shares of version 1.
fn weight_of_shares(shares: u32) -> u32 {
    let nearest = (u64::from(shares) * 100 + 512) / 1024;
    nearest.clamp(1, 10_000) as u32
}

/// Does a weight of version 2 say exactly this?
pub fn weight_is_exact(weight: GroupWeight) -> bool {
    match weight {
        GroupWeight::Shares(shares) => {
            GroupWeight::Weight(weight_of_shares(shares) as u16).shares() == shares
        }
        _ => true,
    }
}

fn limit(folder: &Path, max: Option<CpuMax>) -> Result<(), Problem> {
    // The burst must not exceed the quota at any time.
    set(folder, "cpu.max.burst", "0")?;
    let Some(max) = max else {
        return set(folder, "cpu.max", "max");
    };
    set(
        folder,
        "cpu.max",
        &format!("{} {}", max.quota_us, max.period_us),
    )?;
    match max.burst_us {
        0 => Ok(()),
        burst_us => set(folder, "cpu.max.burst", &burst_us.to_string()),
    }
}

fn set(folder: &Path, file: &str, value: &str) -> Result<(), Problem> {
    let place = folder.join(file);
    // One call: the kernel takes each as a whole value.
    let written = fs::OpenOptions::new().write(true).open(&place);
    let written = written.and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()));
    written.map_err(|e| format!("{}, {value}", in_words(&place, &e)))
}

fn in_words(place: &Path, error: &io::Error) -> Problem {
    format!("control groups: {}: {error}", place.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttled_time_is_read_from_the_kernels_text() {
        let text = "usage_usec 2000123\nnr_periods 100\nnr_throttled 97\nthrottled_usec 7761234\n";
        let read = Throttled::read(text);
        assert_eq!(read.time, Ns(7_761_234_000));
        assert_eq!(read.periods, 97);
        assert_eq!(
            Throttled::read("usage_usec 5\n"),
            Throttled::default(),
            "a kernel without quotas"
        );
    }

    #[test]
    fn shares_become_the_nearest_weight() {
        let exact = |shares| weight_is_exact(GroupWeight::Shares(shares));
        assert_eq!(
            [1024, 2048, 512, 2].map(weight_of_shares),
            [100, 200, 50, 1]
        );
        assert_eq!(weight_of_shares(262_144), 10_000);
        assert_eq!([1024, 1000, 2].map(exact), [true, false, false]);
    }
}
