//! Writes a machine description in TOML; each number names its source.

use std::fmt::Write;

use schedlab_machine::Machine;

use crate::layout::{ranges, CacheSize};
use crate::measure::{Measured, Results};
use crate::{Layout, Place, Surroundings};

/// Assumed if no source gives the size; nearly all current caches have it.
const LINE_BYTES: u64 = 64;

/// Cores of equal speed that share a cache.
#[derive(Clone, PartialEq, Eq)]
struct Cluster {
    cores: usize,
    /// CPU numbers: the first threads of all cores, then the second threads, and so on.
    numbers: Vec<Vec<u32>>,
    package: u32,
    node: u32,
    capacity: u32,
    /// `None`: the same cache as the previous cluster.
    cache: Option<CacheSize>,
}

/// Describes a machine. Values that were not measured come from `base`, a machine that comes with
/// schedlab.
pub fn describe(
    layout: &Layout,
    around: &Surroundings,
    results: &Results,
    base: &Machine,
) -> String {
    let mut out = String::new();
    head(&mut out, layout, around);
    let title = format!("{}, CPUs: {}", name(layout), layout.cpus.len());
    line(&mut out, &format!("title = {}", quoted(&title)), "");
    line(
        &mut out,
        &format!("base = {}", quoted(&base.name)),
        "source of all values that this file does not set",
    );
    let (hz, source) = match &around.hz {
        Some((hz, file)) => (*hz, format!("{file}: CONFIG_HZ")),
        None => (base.hz, "assumed: the kernel's value is unknown".into()),
    };
    line(&mut out, &format!("hz = {}", hz.clamp(10, 10_000)), &source);
    line(
        &mut out,
        "timers = \"high-resolution\"",
        "Linux since 2.6.16",
    );
    line(&mut out, "ticks = \"aligned\"", "Linux, unless skew_tick=1");
    line(
        &mut out,
        "sync_wakeups = true",
        "Linux: pipes and Unix sockets",
    );
    if let Some(model) = around.preemption.filter(|model| *model != "real-time") {
        line(
            &mut out,
            &format!("preemption = {}", quoted(model)),
            "the kernel's configuration; preempt= on its command line may say otherwise",
        );
    }
    if layout.most_threads() > 1 {
        let (speed, source) = match &results.smt_speed_milli {
            Some(measured) => (measured.median.round() as u32, measured.source("‰")),
            None => (base.smt_speed_milli.min(620), "assumed".into()),
        };
        line(
            &mut out,
            &format!("smt_speed_milli = {}", speed.clamp(1, 1000)),
            &source,
        );
    }
    if !layout.distances.is_empty() {
        let rows: Vec<String> = layout
            .distances
            .iter()
            .map(|row| format!("{row:?}"))
            .collect();
        line(
            &mut out,
            &format!("distances = [{}]", rows.join(", ")),
            "firmware (SLIT)",
        );
    }
    for cluster in clusters(layout) {
        out.push('\n');
        write_cluster(&mut out, &cluster, layout, results, base);
    }
    for (residency, exit) in &layout.idle_states_us {
        out.push_str("\n[[idle]]\n");
        let of_kernel = |us: &u64| (*us).min(1_000_000);
        line(
            &mut out,
            &format!("after = \"{}us\"", of_kernel(residency)),
            "/sys: cpuidle residency",
        );
        line(
            &mut out,
            &format!("exit = \"{}us\"", of_kernel(exit)),
            "/sys: cpuidle latency",
        );
    }
    out.push_str("\n[costs]\n");
    for (key, assumed) in base.costs.named() {
        let (ns, source) = match results.costs.get(key) {
            // A measured switch includes a call of schedule(), which has its own key.
            Some(switch) if key == "context_switch" => (
                (switch.median - base.costs.schedule.0 as f64).max(0.0),
                format!("{}, less schedule", switch.source("ns")),
            ),
            Some(measured) => (measured.median.max(0.0), measured.source("ns")),
            None => (assumed.0 as f64, format!("assumed: as {}", base.name)),
        };
        // A cost is at most one second.
        let ns = ns.min(1e9);
        line(&mut out, &format!("{key} = \"{ns:.0}ns\""), &source);
    }
    out
}

fn head(out: &mut String, layout: &Layout, around: &Surroundings) {
    let _ = writeln!(out, "# Written by \"schedlab machine\".  Each number names its source; a value that was not measured is marked \"assumed\".");
    if let Some(model) = around.preemption {
        let _ = writeln!(
            out,
            "# Preemption model the kernel was built with: {model}."
        );
    }
    for note in layout.notes.iter().chain(&around.notes) {
        let _ = writeln!(out, "# {note}");
    }
    out.push('\n');
}

fn name(layout: &Layout) -> String {
    match layout.model.is_empty() {
        true => "Machine".into(),
        false => layout.model.chars().take(100).collect(),
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let clean: String = text
        .chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| match c {
            '"' | '\\' => vec!['\\', c],
            c => vec![c],
        })
        .collect();
    format!("\"{clean}\"")
}

/// A line with a comment; the comments are aligned.
fn line(out: &mut String, text: &str, comment: &str) {
    let _ = match comment {
        "" => writeln!(out, "{text}"),
        comment => writeln!(out, "{text:<34}# {comment}"),
    };
}

fn write_cluster(
    out: &mut String,
    cluster: &Cluster,
    layout: &Layout,
    results: &Results,
    base: &Machine,
) {
    out.push_str("[[cluster]]\n");
    line(out, &format!("cores = {}", cluster.cores), "");
    if cluster.numbers.len() > 1 {
        line(out, &format!("threads = {}", cluster.numbers.len()), "");
    }
    let lists: Vec<String> = cluster
        .numbers
        .iter()
        .map(|list| quoted(&ranges(list)))
        .collect();
    line(out, &format!("numbers = [{}]", lists.join(", ")), "");
    if cluster.node > 0 {
        line(out, &format!("node = {}", cluster.node), "");
    }
    if cluster.package != cluster.node {
        line(out, &format!("package = {}", cluster.package), "");
    }
    if cluster.capacity != 1024 {
        line(
            out,
            &format!("capacity = {}", cluster.capacity),
            layout.speeds_from,
        );
    }
    let Some(cache) = cluster.cache else {
        return;
    };
    out.push_str("[cluster.cache]\n");
    let typical = base.caches[0];
    match cache.bytes {
        0 => line(
            out,
            &format!("size = \"{}KiB\"", typical.size_bytes >> 10),
            "assumed",
        ),
        bytes => line(
            out,
            &format!("size = \"{}KiB\"", bytes >> 10),
            "last-level cache",
        ),
    }
    let line_bytes = match cache.line_bytes {
        0 => LINE_BYTES,
        given => given.min(4096),
    };
    line(
        out,
        &format!("line = \"{line_bytes}B\""),
        if cache.line_bytes == 0 { "assumed" } else { "" },
    );
    match &results.refill_line {
        Some(measured) => line(
            out,
            &format!("refill = \"{}ns\"", measured.median.max(0.0).round()),
            &measured.source("ns"),
        ),
        None => {
            let ns = typical.refill_ps_per_byte * line_bytes / 1000;
            line(
                out,
                &format!("refill = \"{ns}ns\""),
                &format!("assumed: as {}", base.name),
            );
        }
    }
}

/// Groups the cores into clusters: neighbours of one kind that share a cache.
fn clusters(layout: &Layout) -> Vec<Cluster> {
    let fastest = layout
        .cpus
        .iter()
        .map(|cpu| cpu.speed)
        .max()
        .unwrap_or(1)
        .max(1);
    let mut cores: Vec<Vec<Place>> = Vec::new();
    let mut cpus = layout.cpus.clone();
    cpus.sort_by_key(|cpu| (cpu.cache, cpu.core, cpu.number));
    for cpu in cpus {
        match cores.last_mut().filter(|core| core[0].core == cpu.core) {
            // A description allows eight threads a core; further threads become a new core.
            Some(core) if core.len() < 8 => core.push(cpu),
            _ => cores.push(vec![cpu]),
        }
    }
    cores.sort_by_key(|core| (core[0].cache, core.len() == 1, core[0].number));
    let kind = |core: &Vec<Place>| {
        let cpu = core[0];
        (cpu.cache, cpu.package, cpu.node, cpu.speed, core.len())
    };
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut seen = None;
    for group in cores.chunk_by(|a, b| kind(a) == kind(b)) {
        let first = group[0][0];
        let mut sorted = group.to_vec();
        sorted.sort_by_key(|core| core[0].number);
        let size = layout.caches.get(&first.cache).copied();
        let size = size.unwrap_or(CacheSize {
            bytes: 0,
            line_bytes: 0,
        });
        clusters.push(Cluster {
            cores: sorted.len(),
            numbers: (0..group[0].len())
                .map(|thread| sorted.iter().map(|core| core[thread].number).collect())
                .collect(),
            package: first.package,
            node: first.node,
            capacity: capacity(first.speed, fastest),
            cache: (seen != Some(first.cache)).then_some(size),
        });
        seen = Some(first.cache);
    }
    clusters
}

/// A capacity in 1024ths of the fastest CPU.
fn capacity(speed: u32, fastest: u32) -> u32 {
    let capacity = u64::from(speed) * 1024 / u64::from(fastest);
    (capacity as u32).clamp(1, 1024)
}

impl Measured {
    /// "measured: 412 ns, half of 21 rounds between 405 and 431".
    fn source(&self, unit: &str) -> String {
        format!(
            "measured: half of {} rounds between {:.0} and {:.0} {unit}",
            self.rounds, self.low, self.high
        )
    }
}
