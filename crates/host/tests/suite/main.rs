//! Machine descriptions from copies of /sys and from files, read back as machines.

use std::fs;
use std::path::Path;

use schedlab_host::measure::{measure, Results};
use schedlab_host::{describe, from_file, from_sysfs, surroundings, Layout, Surroundings};
use schedlab_machine::{Cpu, Machine};

/// The machine of a layout's description.
#[track_caller]
fn machine(layout: &Layout) -> Machine {
    let base = schedlab_machine::find("desktop").unwrap();
    let text = describe(layout, &Surroundings::default(), &Results::default(), &base);
    Machine::parse("m.toml", &text).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

/// One CPU of a copy of /sys.
struct SysCpu {
    core: u32,
    package: u32,
    siblings: &'static str,
    sharing: &'static str,
    capacity: u32,
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

fn sysfs(online: &str, cpus: &[(u32, SysCpu)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "sys/devices/system/cpu/online", online);
    for (number, cpu) in cpus {
        let at = |file: &str| format!("sys/devices/system/cpu/cpu{number}/{file}");
        let put = |file: &str, text: &str| write(root.path(), &at(file), text);
        put("topology/core_id", &cpu.core.to_string());
        put("topology/physical_package_id", &cpu.package.to_string());
        put("topology/thread_siblings_list", cpu.siblings);
        put("cpu_capacity", &cpu.capacity.to_string());
        for (index, (level, kind, sharing, size)) in [
            (1, "Data", cpu.siblings, "32K"),
            (1, "Instruction", cpu.siblings, "32K"),
            (3, "Unified", cpu.sharing, "16M"),
        ]
        .into_iter()
        .enumerate()
        {
            put(&format!("cache/index{index}/level"), &format!("{level}"));
            put(&format!("cache/index{index}/type"), kind);
            put(&format!("cache/index{index}/shared_cpu_list"), sharing);
            put(&format!("cache/index{index}/size"), size);
            put(&format!("cache/index{index}/coherency_line_size"), "64");
        }
    }
    root
}

fn cores(cpus: &[Cpu]) -> Vec<u32> {
    cpus.iter().map(|cpu| cpu.core).collect()
}

#[test]
fn a_hybrid_machine_keeps_its_numbers() {
    let fast = |siblings| SysCpu {
        core: 0,
        package: 0,
        siblings,
        sharing: "0-5",
        capacity: 1024,
    };
    let slow = |siblings| SysCpu {
        capacity: 512,
        ..fast(siblings)
    };
    let root = sysfs(
        "0-5",
        &[
            (0, fast("0-1")),
            (1, fast("0-1")),
            (2, fast("2-3")),
            (3, fast("2-3")),
            (4, slow("4")),
            (5, slow("5")),
        ],
    );
    for (state, residency, latency) in [(0, 0, 0), (1, 1, 1), (2, 600, 170), (3, 2000, 300)] {
        let at = format!("sys/devices/system/cpu/cpu0/cpuidle/state{state}");
        write(
            root.path(),
            &format!("{at}/residency"),
            &format!("{residency}"),
        );
        write(root.path(), &format!("{at}/latency"), &format!("{latency}"));
    }
    let machine = machine(&from_sysfs(root.path()).unwrap());
    let idle: Vec<(u64, u64)> = machine
        .idle_states
        .iter()
        .map(|s| (s.after.0, s.exit.0))
        .collect();
    assert_eq!(idle, [(600_000, 170_000), (2_000_000, 300_000)]);
    assert_eq!(cores(&machine.cpus), [0, 0, 1, 1, 2, 3]);
    let capacities: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.capacity).collect();
    assert_eq!(capacities, [1024, 1024, 1024, 1024, 512, 512]);
    assert_eq!(
        (machine.caches.len(), machine.caches[0].size_bytes),
        (1, 16 << 20)
    );
}

fn two_sockets() -> tempfile::TempDir {
    let cpu = |n: u32| {
        let package = n % 4 / 2;
        SysCpu {
            core: n % 2,
            package,
            siblings: ["0,4", "1,5", "2,6", "3,7"][n as usize % 4],
            sharing: ["0-1,4-5", "2-3,6-7"][package as usize],
            capacity: 1024,
        }
    };
    let cpus: Vec<(u32, SysCpu)> = (0..8).map(|n| (n, cpu(n))).collect();
    let root = sysfs("0-7", &cpus);
    let nodes = "sys/devices/system/node";
    write(root.path(), &format!("{nodes}/online"), "0-2");
    for (node, list, distances) in [
        (0, "0-1,4-5", "10 21 17"),
        (1, "2-3,6-7", "21 10 28"),
        // A node with memory but without CPUs.
        (2, "", "17 28 10"),
    ] {
        write(root.path(), &format!("{nodes}/node{node}/cpulist"), list);
        write(
            root.path(),
            &format!("{nodes}/node{node}/distance"),
            distances,
        );
    }
    root
}

#[test]
fn sockets_have_caches_nodes_and_distances() {
    let root = two_sockets();
    let machine = machine(&from_sysfs(root.path()).unwrap());
    assert_eq!(cores(&machine.cpus), [0, 1, 2, 3, 0, 1, 2, 3]);
    let places: Vec<(u32, u32, u32)> = machine
        .cpus
        .iter()
        .map(|cpu| (cpu.package, cpu.node, cpu.cache))
        .collect();
    assert_eq!(places[..4], [(0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1)]);
    assert_eq!(machine.distances, [[10, 21], [21, 10]]);
}

#[test]
fn cpus_that_are_offline_leave_no_holes() {
    let root = two_sockets();
    write(root.path(), "sys/devices/system/cpu/online", "1,3-5,7");
    let layout = from_sysfs(root.path()).unwrap();
    assert!(layout
        .notes
        .iter()
        .any(|note| note.contains("CPUs 1,3-5,7 are online")));
    let machine = machine(&layout);
    // 1 and 5 are siblings, and 3 and 7; 4 is alone.
    let [one, three, four, five, seven] = cores(&machine.cpus)[..] else {
        panic!("{} CPUs", machine.cpus.len())
    };
    assert_eq!((one, three), (five, seven));
    assert!(four != one && four != three);
}

#[test]
fn what_sysfs_does_not_say_is_assumed() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "sys/devices/system/cpu/online", "0-3");
    let layout = from_sysfs(root.path()).unwrap();
    let machine = machine(&layout);
    assert_eq!(cores(&machine.cpus), [0, 1, 2, 3]);
    assert_eq!(machine.caches.len(), 1);
    assert!(layout.notes[0].contains("does not report which CPUs share a cache"));
}

#[test]
fn files_that_lie_are_refused_or_ignored() {
    let root = two_sockets();
    let path = "sys/devices/system/cpu/online";
    write(root.path(), path, "0-7,9999999");
    let said = from_sysfs(root.path()).unwrap_err().to_string();
    assert!(said.contains("online:1: there is no CPU 9999999"), "{said}");
    fs::remove_file(root.path().join(path)).unwrap();
    let said = from_sysfs(root.path()).unwrap_err().to_string();
    assert!(said.contains("expected the list of CPUs"), "{said}");
    // A CPU that is not in its own list of siblings is a core of its own.
    write(root.path(), path, "0-7");
    write(
        root.path(),
        "sys/devices/system/cpu/cpu4/topology/thread_siblings_list",
        "0",
    );
    let lies = machine(&from_sysfs(root.path()).unwrap());
    assert_ne!(lies.cpus[4].core, lies.cpus[0].core);
    // A machine file refuses asymmetric distances: the message names them.
    write(
        root.path(),
        "sys/devices/system/node/node1/distance",
        "99 10 28",
    );
    let layout = from_sysfs(root.path()).unwrap();
    let base = schedlab_machine::find("desktop").unwrap();
    let text = describe(
        &layout,
        &Surroundings::default(),
        &Results::default(),
        &base,
    );
    let said = Machine::parse("m.toml", &text).unwrap_err().to_string();
    assert!(
        said.contains("from node 0 to node 1 is 21, back it is 99"),
        "{said}"
    );
}

#[test]
fn surroundings_are_told() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        "proc/cpuinfo",
        "model name\t: X\nflags\t\t: fpu hypervisor",
    );
    write(root.path(), "proc/stat", "cpu  60 0 20 10 0 0 0 10 0 0");
    write(root.path(), "sys/fs/cgroup/cpu.max", "50000 100000");
    write(root.path(), "proc/sys/kernel/osrelease", "6.12.1-test");
    write(
        root.path(),
        "boot/config-6.12.1-test",
        "CONFIG_HZ_300=y\nCONFIG_HZ=300\nCONFIG_PREEMPT_LAZY=y",
    );
    let found = surroundings(root.path());
    assert_eq!(found.hz, Some((300, "/boot/config-6.12.1-test".into())));
    assert_eq!(found.preemption, Some("lazy"));
    let notes = found.notes.join("\n");
    for part in [
        "A virtual machine",
        "stolen 10.0 % of its CPU time",
        "cpu.max: 50000 100000",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

fn in_file(text: &str) -> Result<Layout, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let name = file.path().display().to_string();
    from_file(file.path()).map_err(|mistake| mistake.to_string().replace(&name, "FILE"))
}

#[test]
fn lscpu_gives_a_layout() {
    let summary = r#"{"lscpu": [
        {"field": "Model name:", "data": "Some \"CPU\""},
        {"field": "Thread(s) per core:", "data": "2"},
        {"field": "Core(s) per socket:", "data": "4"},
        {"field": "Socket(s):", "data": "2"},
        {"field": "Caches", "data": null, "children": [{"field": "L3:", "data": "64 MiB (4 instances)"}]},
        {"field": "NUMA node0 CPU(s):", "data": "0-3,8-11"},
        {"field": "NUMA node1 CPU(s):", "data": "4-7,12-15"}]}"#;
    let of_summary = machine(&in_file(summary).unwrap());
    assert_eq!(of_summary.title, "Some \"CPU\", CPUs: 16");
    assert_eq!(
        (of_summary.caches.len(), of_summary.caches[0].size_bytes),
        (4, 16 << 20)
    );
    let five = of_summary.cpus[5];
    assert_eq!(
        (five.core, five.node, five.package, five.cache),
        (5, 1, 1, 2)
    );
    assert_eq!(of_summary.cpus[13], five);

    let table = r#"{"cpus": [
        {"cpu": 0, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "maxmhz": 4000.0, "online": true},
        {"cpu": 1, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "maxmhz": 4000.0, "online": true},
        {"cpu": 2, "node": 0, "socket": 0, "core": 1, "l1d:l1i:l2:l3": "1:1:1:1", "maxmhz": 2000.0, "online": true},
        {"cpu": 3, "node": null, "socket": null, "core": null, "l1d:l1i:l2:l3": "-", "maxmhz": null, "online": false}]}"#;
    let of_table = machine(&in_file(table).unwrap());
    assert_eq!(cores(&of_table.cpus), [0, 0, 1]);
    assert_eq!(
        (of_table.cpus[2].capacity, of_table.cpus[2].cache),
        (512, 1)
    );
}

#[test]
fn hwloc_gives_a_layout() {
    let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0">
    <info name="CPUModel" value="Two packages"/>
    <object type="Package" os_index="0">
      <object type="NUMANode" os_index="0"/>
      <object type="L3Cache" cache_size="8388608" cache_linesize="64" cache_type="0">
        <object type="L2Cache" cache_size="1048576" cache_linesize="64" cache_type="0">
          <object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="2"/></object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1">
      <object type="NUMANode" os_index="1"/>
      <object type="L3Cache" cache_size="8388608" cache_linesize="128" cache_type="0">
        <object type="Core" os_index="0"><object type="PU" os_index="1"/><object type="PU" os_index="3"/></object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5"><indexes length="4">0 1 </indexes><u64values length="12">10 32 32 10 </u64values></distances2>
  <cpukind cpuset="0x00000005"><info name="FrequencyMaxMHz" value="3000"/></cpukind>
  <cpukind cpuset="0x0000000a"><info name="FrequencyMaxMHz" value="1500"/></cpukind>
</topology>"#;
    let machine = machine(&in_file(xml).unwrap());
    assert_eq!(cores(&machine.cpus), [0, 1, 0, 1]);
    assert_eq!(machine.caches.len(), 2);
    assert_eq!(machine.caches[0].size_bytes, 8 << 20);
    assert_eq!(
        (
            machine.cpus[1].node,
            machine.cpus[1].package,
            machine.cpus[1].capacity
        ),
        (1, 1, 512)
    );
    assert_eq!(machine.distances, [[10, 32], [32, 10]]);
}

#[test]
fn other_files_are_refused() {
    for (text, said) in [
        ("", "FILE:1: the file is neither JSON nor XML"),
        ("x = 1", "FILE:1: the file is neither JSON nor XML"),
        ("{", "FILE:1: this is not JSON"),
        (
            "{\"a\": 1}",
            "FILE:1: there is neither \"lscpu\" nor \"cpus\"",
        ),
        ("{\"lscpu\": []}", "FILE:1: there is no field \"Socket(s)\""),
        ("{\"cpus\": []}", "FILE:1: the file describes no CPU"),
        ("<topology", "FILE:1: this is not XML"),
        ("<html/>", "FILE:1: the XML holds <html>"),
        ("<topology/>", "FILE:1: the file describes no CPU"),
    ] {
        let found = in_file(text).unwrap_err();
        assert!(found.starts_with(said), "{text}: {found}");
    }
    let huge = r#"{"lscpu": [{"field": "Socket(s):", "data": "4000"}, {"field": "Core(s) per socket:", "data": "4000"},
        {"field": "Thread(s) per core:", "data": "8"}]}"#;
    assert!(in_file(huge)
        .unwrap_err()
        .contains("the machine has 128000000 CPUs"));
    // A thousand nested levels are refused.
    let deep = format!(
        "<topology>{}{}</topology>",
        "<object type=\"Group\">".repeat(100_000),
        "</object>".repeat(100_000)
    );
    let _ = in_file(&deep).unwrap_err();
}

#[test]
fn this_machine_can_be_described_and_measured() {
    let layout = from_sysfs(Path::new("/")).unwrap();
    assert_eq!(machine(&layout).cpus.len(), layout.cpus.len());
    let asked = std::cell::Cell::new(0);
    let tell = |_: &str| asked.set(asked.get() + 1);
    let results = measure(&layout, &tell, &|| false);
    assert!(asked.get() >= 8, "{} figures", asked.get());
    let call = results.costs["syscall"];
    assert!(
        call.low <= call.median && call.median <= call.high,
        "{call:?}"
    );
    assert!(call.median > 0.0);
    let base = schedlab_machine::find("desktop").unwrap();
    let text = describe(&layout, &Surroundings::default(), &results, &base);
    Machine::parse("m.toml", &text).unwrap();
    assert!(
        text.contains("# measured: half of 21 rounds between"),
        "{text}"
    );
    // If it is stopped at once, it measures nothing.
    let none = measure(&layout, &|_| (), &|| true);
    assert!(none.costs.is_empty() && none.refill_line.is_none());
}
