//! The topology of a machine's CPUs.

use std::collections::BTreeMap;

/// A logical CPU. Core, package, node and cache are arbitrary numbers; equal numbers mean the same
/// object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number in the kernel.
    pub number: u32,
    /// Physical core; CPUs with the same one are SMT siblings.
    pub core: u32,
    /// Socket.
    pub package: u32,
    /// Memory node.
    pub node: u32,
    /// Last-level cache.
    pub cache: u32,
    /// Speed in a unit that all CPUs of the machine share: 1,024ths, MHz or a rating of the firmware.
    pub speed: u32,
}

/// A last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheSize {
    /// Its size; 0: unknown.
    pub bytes: u64,
    /// Its line; 0: unknown.
    pub line_bytes: u64,
}

/// The topology of a machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The processor's name; empty if unknown.
    pub model: String,
    /// CPUs that are online, by number.
    pub cpus: Vec<Place>,
    /// Last-level caches, by the numbers in `cpus`.
    pub caches: BTreeMap<u32, CacheSize>,
    /// Distances between the nodes, in the order of their numbers; empty if unknown.
    pub distances: Vec<Vec<u32>>,
    /// Idle states except the shallowest: residency and exit latency in microseconds.
    pub idle_states_us: Vec<(u64, u64)>,
    /// Source of the speeds, for a comment.
    pub speeds_from: &'static str,
    /// Missing or unusual data: sentences for the head of the description.
    pub notes: Vec<String>,
}

impl Layout {
    /// Renumbers CPUs, nodes, packages and caches from 0 on, in their order.
    pub fn dense(mut self) -> Layout {
        self.cpus.sort_by_key(|cpu| cpu.number);
        if (0..).zip(&self.cpus).any(|(n, cpu)| cpu.number != n) {
            let numbers: Vec<u32> = self.cpus.iter().map(|cpu| cpu.number).collect();
            self.notes.push(format!(
                "CPUs {} are online; this file numbers them from 0.",
                ranges(&numbers)
            ));
        }
        for (n, cpu) in (0..).zip(&mut self.cpus) {
            cpu.number = n;
        }
        let caches = renumber(&mut self.cpus, |cpu| &mut cpu.cache);
        self.caches = std::mem::take(&mut self.caches)
            .into_iter()
            .filter_map(|(old, size)| Some((*caches.get(&old)?, size)))
            .collect();
        renumber(&mut self.cpus, |cpu| &mut cpu.core);
        renumber(&mut self.cpus, |cpu| &mut cpu.package);
        let nodes = renumber(&mut self.cpus, |cpu| &mut cpu.node);
        if self.distances.len() != nodes.len() || nodes.len() < 2 {
            self.distances.clear();
        }
        self
    }

    /// Largest number of threads of a core.
    pub fn most_threads(&self) -> usize {
        let mut threads: BTreeMap<u32, usize> = BTreeMap::new();
        for cpu in &self.cpus {
            *threads.entry(cpu.core).or_default() += 1;
        }
        threads.into_values().max().unwrap_or(1)
    }
}

/// Renumbers a field from 0 on, in the order of the old numbers. Returns the new number of each old
/// one.
fn renumber(cpus: &mut [Place], field: impl Fn(&mut Place) -> &mut u32) -> BTreeMap<u32, u32> {
    let mut old: Vec<u32> = cpus.iter_mut().map(|cpu| *field(cpu)).collect();
    old.sort_unstable();
    old.dedup();
    let new: BTreeMap<u32, u32> = old.into_iter().zip(0..).collect();
    for cpu in cpus {
        let number = field(cpu);
        *number = new[number];
    }
    new
}

/// Sorted numbers in the kernel's list format: "0-3,8".
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let texts = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    texts.collect::<Vec<_>>().join(",")
}
