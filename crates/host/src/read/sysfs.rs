//! Layouts from the kernel's files in /sys and /proc.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schedlab_input::quantity::{cpu_list, size};
use schedlab_input::Diagnostic;

use crate::layout::CacheSize;
use crate::{Layout, Place};

/// The layout of a running machine. `root` is the folder that contains `sys` and `proc`: "/" for
/// this machine.
///
/// # Errors
/// The folder has no list of CPUs, or one that is not a list.
pub fn from_sysfs(root: &Path) -> Result<Layout, Diagnostic> {
    let files = Files {
        cpus: root.join("sys/devices/system/cpu"),
        nodes: root.join("sys/devices/system/node"),
    };
    let online = files.cpus.join("online");
    let text = fs::read_to_string(&online).map_err(|error| {
        Diagnostic::new(schedlab_input::reason(&error))
            .at(online.display().to_string(), 0)
            .expected("the list of CPUs that are online")
    })?;
    let numbers = cpu_list(text.trim()).map_err(|e| e.at(online.display().to_string(), 1))?;
    let mut layout = Layout {
        model: model(&root.join("proc/cpuinfo")),
        ..Layout::default()
    };
    let nodes = files.nodes_of_cpus();
    let (speeds, from) = files.speeds(&numbers);
    layout.speeds_from = from;
    let mut caches = BTreeMap::new();
    for (&number, speed) in numbers.iter().zip(speeds) {
        let (cache, size) = files.last_level_cache(number, &numbers);
        caches.insert(cache, size);
        let package = files
            .number(number, "topology/physical_package_id")
            .unwrap_or(0);
        layout.cpus.push(Place {
            number,
            core: files
                .first_of(number, "topology/thread_siblings_list", &numbers)
                .unwrap_or(number),
            package,
            node: nodes.get(&number).copied().unwrap_or(0),
            cache: cache.unwrap_or(package),
            speed,
        });
    }
    if caches.contains_key(&None) {
        layout.notes.push(
            "The kernel does not report which CPUs share a cache; it is assumed that the CPUs of a package do."
                .into(),
        );
    }
    layout.caches = caches
        .into_iter()
        .filter_map(|(first, size)| Some((first?, size)))
        .collect();
    layout.distances = files.distances();
    layout.idle_states_us = files.idle_states_us(numbers[0]);
    Ok(layout.dense())
}

struct Files {
    cpus: PathBuf,
    nodes: PathBuf,
}

impl Files {
    fn text(&self, cpu: u32, file: &str) -> Option<String> {
        let path = self.cpus.join(format!("cpu{cpu}")).join(file);
        Some(fs::read_to_string(path).ok()?.trim().to_string())
    }

    fn number(&self, cpu: u32, file: &str) -> Option<u32> {
        self.text(cpu, file)?.parse().ok()
    }

    /// The first online CPU in a list of CPUs.
    fn first_of(&self, cpu: u32, file: &str, online: &[u32]) -> Option<u32> {
        let list = cpu_list(&self.text(cpu, file)?).ok()?;
        let there = list.iter().find(|other| online.contains(other));
        there.copied().filter(|_| list.contains(&cpu))
    }

    /// The last-level cache of a CPU, identified by the first CPU that uses it, and its size.
    fn last_level_cache(&self, cpu: u32, online: &[u32]) -> (Option<u32>, CacheSize) {
        let level = |index: &u32| self.number(cpu, &format!("cache/index{index}/level"));
        let kind = |index: &u32| self.text(cpu, &format!("cache/index{index}/type"));
        let indices = (0..16).take_while(|index| level(index).is_some());
        let data = indices.filter(|index| kind(index).as_deref() != Some("Instruction"));
        let Some(index) = data.max_by_key(level) else {
            return (
                None,
                CacheSize {
                    bytes: 0,
                    line_bytes: 0,
                },
            );
        };
        let file = |name: &str| format!("cache/index{index}/{name}");
        let bytes = self
            .text(cpu, &file("size"))
            .and_then(|text| kernel_size(&text));
        let line = self.text(cpu, &file("coherency_line_size"));
        let cache = CacheSize {
            bytes: bytes.unwrap_or(0),
            line_bytes: line.and_then(|text| text.parse().ok()).unwrap_or(0),
        };
        (self.first_of(cpu, &file("shared_cpu_list"), online), cache)
    }

    /// The speed of each CPU, and the source of the speeds.
    fn speeds(&self, cpus: &[u32]) -> (Vec<u32>, &'static str) {
        let sources = [
            ("cpu_capacity", "/sys: cpu_capacity"),
            ("acpi_cppc/highest_perf", "/sys: acpi_cppc/highest_perf"),
            ("cpufreq/cpuinfo_max_freq", "/sys: cpufreq/cpuinfo_max_freq"),
        ];
        for (file, source) in sources {
            let speeds: Option<Vec<u32>> = cpus.iter().map(|&cpu| self.number(cpu, file)).collect();
            if let Some(speeds) = speeds.filter(|speeds| speeds.iter().all(|&speed| speed > 0)) {
                return (speeds, source);
            }
        }
        (vec![1024; cpus.len()], "assumed: all CPUs are equally fast")
    }

    /// The idle states of a CPU without the shallowest real one, in the order of depth.
    fn idle_states_us(&self, cpu: u32) -> Vec<(u64, u64)> {
        let state = |n: u32| {
            let file = |name: &str| {
                self.text(cpu, &format!("cpuidle/state{n}/{name}"))?
                    .parse()
                    .ok()
            };
            Some((file("residency")?, file("latency")?))
        };
        let mut states: Vec<(u64, u64)> = (0..32).map_while(state).collect();
        // Polling has no exit latency. The exit latency of the first real state is a cost
        // (`idle_exit`).
        states.retain(|&(_, exit)| exit > 0);
        states.sort_unstable();
        states.dedup_by_key(|state| state.0);
        states.split_off(1.min(states.len()))
    }

    /// The nodes that exist, in order.
    fn node_numbers(&self) -> Vec<u32> {
        let list = fs::read_to_string(self.nodes.join("online")).ok();
        list.and_then(|text| cpu_list(text.trim()).ok())
            .unwrap_or_default()
    }

    fn nodes_of_cpus(&self) -> BTreeMap<u32, u32> {
        let mut nodes = BTreeMap::new();
        for node in self.node_numbers() {
            let list = fs::read_to_string(self.nodes.join(format!("node{node}/cpulist")));
            let cpus = list.ok().and_then(|text| cpu_list(text.trim()).ok());
            nodes.extend(cpus.into_iter().flatten().map(|cpu| (cpu, node)));
        }
        nodes
    }

    /// Distances between the nodes that have CPUs.
    fn distances(&self) -> Vec<Vec<u32>> {
        let all = self.node_numbers();
        let with_cpus: Vec<usize> = (0..all.len())
            .filter(|&index| {
                let list = self.nodes.join(format!("node{}/cpulist", all[index]));
                fs::read_to_string(list).is_ok_and(|text| !text.trim().is_empty())
            })
            .collect();
        let row = |&index: &usize| {
            let file = self.nodes.join(format!("node{}/distance", all[index]));
            let text = fs::read_to_string(file).ok()?;
            let row: Vec<u32> = text
                .split_whitespace()
                .map_while(|n| n.parse().ok())
                .collect();
            with_cpus.iter().map(|&to| row.get(to).copied()).collect()
        };
        let rows: Option<Vec<Vec<u32>>> = with_cpus.iter().map(row).collect();
        rows.unwrap_or_default()
    }
}

/// A cache size in the kernel's format, "32768K".
fn kernel_size(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'K' => "KiB",
        'M' => "MiB",
        'G' => "GiB",
        _ => return text.parse().ok(),
    };
    size(&format!("{}{unit}", &text[..text.len() - 1])).ok()
}

/// The processor's name in /proc/cpuinfo.
fn model(cpuinfo: &Path) -> String {
    let text = fs::read_to_string(cpuinfo).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or(String::new(), |(_, name)| name.trim().to_string())
}
