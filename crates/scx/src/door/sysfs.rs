//! /sys, /proc and /boot of the simulated machine.

use std::collections::BTreeMap;
use std::fmt::Write;

use schedlab_machine::Machine;

use super::tree::Tree;

/// The release of the simulated kernel, as uname(2) says.
pub const RELEASE: &str = "7.1.0-schedlab";

/// Bytes of a cache line.
const LINE: u64 = 64;

/// What a machine that does not say has: caches of a core, in KiB.
const L1_KIB: u64 = 32;
const L2_KIB: u64 = 1024;
const L3_KIB: u64 = 32 << 10;

/// The unit of times in /proc/stat: USER_HZ is 100.
const TICK_NS: u64 = 10_000_000;

/// The features of the kernel that loaders ask for.
const CONFIG: &[&str] = &[
    "BPF",
    "BPF_SYSCALL",
    "BPF_JIT",
    "BPF_EVENTS",
    "CGROUPS",
    "CGROUP_SCHED",
    "DEBUG_INFO_BTF",
    "EXT_GROUP_SCHED",
    "FAIR_GROUP_SCHED",
    "GROUP_SCHED_WEIGHT",
    "HIGH_RES_TIMERS",
    "NUMA",
    "PREEMPT",
    "SCHED_CLASS_EXT",
    "SCHED_MC",
    "SCHED_SMT",
    "SMP",
];

/// Everything below /sys, and the files of /proc that say what the machine is.
pub fn files(machine: &Machine, btf: &[u8]) -> Tree {
    let mut tree = Tree::default();
    tree.add("/sys/kernel/btf/vmlinux", btf);
    for (file, content) in [("state", "disabled"), ("switch_all", "0")] {
        tree.add(format!("/sys/kernel/sched_ext/{file}"), line(content));
    }
    for file in ["nr_rejected", "hotplug_seq", "enable_seq"] {
        tree.add(format!("/sys/kernel/sched_ext/{file}"), line("0"));
    }
    for folder in ["/sys/fs/bpf", "/sys/fs/cgroup", "/sys/class/net"] {
        tree.add_folder(folder);
    }
    tree.add_folder("/sys/bus/pci/devices");
    tree.add_folder("/sys/kernel/tracing/events");
    cpus(&mut tree, machine);
    nodes(&mut tree, machine);
    processes(&mut tree, machine);
    tree
}

fn line(text: impl AsRef<str>) -> String {
    format!("{}\n", text.as_ref())
}

fn cpus(tree: &mut Tree, machine: &Machine) {
    let root = "/sys/devices/system/cpu";
    let all: Vec<usize> = (0..machine.cpus.len()).collect();
    for file in ["online", "possible", "present"] {
        tree.add(format!("{root}/{file}"), line(list(&all)));
    }
    tree.add(format!("{root}/offline"), "\n");
    tree.add(format!("{root}/isolated"), "\n");
    tree.add(format!("{root}/nohz_full"), "\n");
    tree.add(format!("{root}/kernel_max"), line("8191"));
    let groups = Groups::of(machine);
    let smt = groups.cores.values().any(|cpus| cpus.len() > 1);
    tree.add(
        format!("{root}/smt/active"),
        line(if smt { "1" } else { "0" }),
    );
    let control = if smt { "on" } else { "notsupported" };
    tree.add(format!("{root}/smt/control"), line(control));
    for cpu in all {
        self::cpu(tree, machine, &groups, cpu);
    }
}

/// Which CPUs belong together.
struct Groups {
    cores: BTreeMap<u32, Vec<usize>>,
    packages: BTreeMap<u32, Vec<usize>>,
    nodes: BTreeMap<u32, Vec<usize>>,
    caches: BTreeMap<u32, Vec<usize>>,
}

impl Groups {
    fn of(machine: &Machine) -> Groups {
        let group = |key: fn(&schedlab_machine::Cpu) -> u32| {
            let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for (number, cpu) in machine.cpus.iter().enumerate() {
                groups.entry(key(cpu)).or_default().push(number);
            }
            groups
        };
        Groups {
            cores: group(|cpu| cpu.core),
            packages: group(|cpu| cpu.package),
            nodes: group(|cpu| cpu.node),
            caches: group(|cpu| cpu.cache),
        }
    }
}

fn cpu(tree: &mut Tree, machine: &Machine, groups: &Groups, number: usize) {
    let root = format!("/sys/devices/system/cpu/cpu{number}");
    let cpu = &machine.cpus[number];
    // CPU 0 cannot be taken away and says nothing of it.
    if number > 0 {
        tree.add(format!("{root}/online"), line("1"));
    }
    tree.add(
        format!("{root}/cpu_capacity"),
        line(cpu.capacity.to_string()),
    );
    tree.add_folder(format!("{root}/node{}", cpu.node));
    let core = &groups.cores[&cpu.core];
    let package = &groups.packages[&cpu.package];
    let cache = &groups.caches[&cpu.cache];
    let numbers = [
        ("physical_package_id", cpu.package.to_string()),
        ("die_id", "0".into()),
        ("core_id", cpu.core.to_string()),
        ("cluster_id", cpu.core.to_string()),
    ];
    for (file, number) in numbers {
        tree.add(format!("{root}/topology/{file}"), line(number));
    }
    let groups = [
        ("thread_siblings", core),
        ("core_cpus", core),
        ("cluster_cpus", core),
        ("core_siblings", package),
        ("package_cpus", package),
        ("die_cpus", package),
    ];
    for (file, cpus) in groups {
        tree.add(format!("{root}/topology/{file}_list"), line(list(cpus)));
        tree.add(format!("{root}/topology/{file}"), line(mask(cpus)));
    }
    let last_kib = match machine.caches.get(cpu.cache as usize) {
        Some(cache) if cache.size_bytes > 0 => cache.size_bytes >> 10,
        _ => L3_KIB,
    };
    let caches = [
        (1, "Data", L1_KIB, cpu.core, core),
        (1, "Instruction", L1_KIB, cpu.core, core),
        (2, "Unified", L2_KIB, cpu.core, core),
        (3, "Unified", last_kib, cpu.cache, cache),
    ];
    for (index, (level, kind, kib, id, shared)) in caches.into_iter().enumerate() {
        let root = format!("{root}/cache/index{index}");
        let files = [
            ("level", level.to_string()),
            ("type", kind.to_string()),
            ("size", format!("{kib}K")),
            ("id", id.to_string()),
            ("coherency_line_size", LINE.to_string()),
            ("shared_cpu_list", list(shared)),
            ("shared_cpu_map", mask(shared)),
        ];
        for (file, content) in files {
            tree.add(format!("{root}/{file}"), line(content));
        }
    }
}

fn nodes(tree: &mut Tree, machine: &Machine) {
    let root = "/sys/devices/system/node";
    let groups = Groups::of(machine);
    let ids: Vec<usize> = groups.nodes.keys().map(|&node| node as usize).collect();
    for file in ["online", "possible", "has_cpu", "has_memory"] {
        tree.add(format!("{root}/{file}"), line(list(&ids)));
    }
    for (&node, cpus) in &groups.nodes {
        let root = format!("{root}/node{node}");
        tree.add(format!("{root}/cpulist"), line(list(cpus)));
        tree.add(format!("{root}/cpumap"), line(mask(cpus)));
        let distances = groups.nodes.keys();
        let distances = distances.map(|&other| machine.distance(node, other).to_string());
        let distances: Vec<String> = distances.collect();
        tree.add(format!("{root}/distance"), line(distances.join(" ")));
        for cpu in cpus {
            tree.add_folder(format!("{root}/cpu{cpu}"));
        }
    }
}

fn processes(tree: &mut Tree, machine: &Machine) {
    let mut info = String::new();
    for (number, cpu) in machine.cpus.iter().enumerate() {
        let _ = write!(
            info,
            "processor\t: {number}\nvendor_id\t: schedlab\nmodel name\t: {}\nphysical id\t: {}\n\
             core id\t\t: {}\nflags\t\t:\n\n",
            machine.title, cpu.package, cpu.core
        );
    }
    tree.add("/proc/cpuinfo", info);
    tree.add("/proc/stat", times(&vec![0; machine.cpus.len()], 0));
    tree.add("/proc/kallsyms", "");
    let version = format!("Linux version {RELEASE} (schedlab)");
    tree.add("/proc/version", line(version));
    tree.add("/proc/sys/kernel/osrelease", line(RELEASE));
    tree.add("/proc/sys/kernel/perf_event_paranoid", line("-1"));
    tree.add("/proc/sys/kernel/bpf_stats_enabled", line("0"));
    tree.add("/proc/sys/kernel/unprivileged_bpf_disabled", line("0"));
    let mounts = "proc /proc proc rw 0 0\nsysfs /sys sysfs rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n\
                  cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n\
                  tracefs /sys/kernel/tracing tracefs rw 0 0\n";
    tree.add("/proc/mounts", mounts);
    // libbpf looks here first, and reads it without decompressing it if it is not compressed.
    tree.add(format!("/boot/config-{RELEASE}"), config(machine));
}

/// /proc/stat of a machine that is up for so long, and whose CPUs were busy for so long, in ns.
pub fn times(busy_ns: &[u64], now_ns: u64) -> String {
    let ticks = |busy: u64| (busy / TICK_NS, now_ns.saturating_sub(busy) / TICK_NS + 1);
    let all = busy_ns.iter().map(|&busy| ticks(busy));
    let (user, idle) = all.fold((0, 0), |sum, cpu| (sum.0 + cpu.0, sum.1 + cpu.1));
    let mut times = format!("cpu  {user} 0 0 {idle} 0 0 0 0 0 0\n");
    for (cpu, &busy) in busy_ns.iter().enumerate() {
        let (user, idle) = ticks(busy);
        let _ = writeln!(times, "cpu{cpu} {user} 0 0 {idle} 0 0 0 0 0 0");
    }
    times + "intr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
}

/// The kernel's configuration.
fn config(machine: &Machine) -> String {
    let mut config = String::new();
    for name in CONFIG {
        let _ = writeln!(config, "CONFIG_{name}=y");
    }
    let _ = writeln!(config, "CONFIG_HZ={}", machine.hz);
    let _ = writeln!(config, "CONFIG_NR_CPUS=8192");
    config
}

/// Numbers as "0-3,8".
pub fn list(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// Numbers as bits, in words of 32: "00000001,000000ff".
fn mask(numbers: &[usize]) -> String {
    let words = numbers.iter().max().map_or(1, |&most| most / 32 + 1);
    let mut bits = vec![0_u32; words];
    for &number in numbers {
        bits[number / 32] |= 1 << (number % 32);
    }
    let words: Vec<String> = bits
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[0, 1, 2, 8, 10, 11]), "0-2,8,10-11");
        assert_eq!(mask(&[0, 1, 33]), "00000002,00000003");
    }
}
