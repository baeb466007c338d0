//! Facts about the machine that are not topology.

use std::fs;
use std::path::Path;

use crate::config;

/// The kernel's tick and preemption model, and limits of what this process can see.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Surroundings {
    /// Ticks per second and the file that says so.
    pub hz: Option<(u32, String)>,
    /// Preemption model of the kernel.
    pub preemption: Option<&'static str>,
    /// Sentences on virtual machines, containers and limits.
    pub notes: Vec<String>,
}

/// Reads the facts about a machine; `root` is as in `from_sysfs`.
pub fn surroundings(root: &Path) -> Surroundings {
    let mut found = Surroundings {
        hz: config::hz(root),
        preemption: config::preemption(root),
        notes: Vec::new(),
    };
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let flags = read("proc/cpuinfo");
    let hypervisor = flags.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    if hypervisor {
        found.notes.push(
            "A virtual machine: the host may hide which CPUs are siblings and share caches.".into(),
        );
    }
    if let Some(percent) = steal_percent(&read("proc/stat")).filter(|&percent| percent > 0.1) {
        found.notes.push(format!(
            "Since boot the host has stolen {percent:.1} % of its CPU time; this is not modelled."
        ));
    }
    if root.join(".dockerenv").exists() || root.join("run/.containerenv").exists() {
        found.notes.push(
            "A container: its limits on CPUs and CPU time are not part of this description.".into(),
        );
    }
    let quota = read("sys/fs/cgroup/cpu.max");
    if quota
        .split_whitespace()
        .next()
        .is_some_and(|quota| quota != "max")
    {
        found.notes.push(format!(
            "The control group has a quota (cpu.max: {}); it is not part of this description.",
            quota.trim()
        ));
    }
    found
}

/// Stolen time in percent, from the first line of /proc/stat.
fn steal_percent(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line
        .split_whitespace()
        .map_while(|n| n.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guest time is part of user time.
    let all: u64 = times.iter().take(8).sum();
    let steal = *times.get(7)?;
    (all > 0).then(|| 100.0 * steal as f64 / all as f64)
}
