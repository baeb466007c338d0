//! Random trees of control groups under the kernel's own scheduler, and in the simulator under `eevdf`.

use std::io::Write;

use schedlab_lab::choose::{self, Assignments};
use schedlab_measure::{ControlGroupMetrics, Metrics};
use schedlab_trace::Ns;
use schedlab_workload::{Distribution, Stream};
use tempfile::NamedTempFile;

use crate::arguments::FidelityArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::Scheduler;

use super::compare::Both;
use super::tables::aligned;
use super::Pairs;

/// The variant that is nearest to the guest's kernel.
pub const POLICY: &str = "eevdf:7.1";

/// The aims.
const SHARE_POINTS: f64 = 1.0;
const THROTTLED_PERCENT: f64 = 2.0;

/// Weights of groups.
const WEIGHTS: [u64; 5] = [50, 100, 150, 200, 400];

/// Quotas in ms of each 100 ms.
const QUOTAS_MS: [u64; 4] = [5, 10, 20, 30];

/// A tree with its runs in both worlds.
struct Row {
    seed: u64,
    groups: usize,
    /// The largest difference of a group's share of the CPU, in points.
    points: f64,
    throttled: Vec<Throttled>,
}

/// A group that the kernel throttled.
struct Throttled {
    name: String,
    /// The mean length of a throttling, in ns, because the kernel does not count one that has not ended.
    length: Both,
    times: Both,
}

/// Runs as many trees as asked for and returns their table.
pub fn table(
    pairs: &Pairs,
    arguments: &FidelityArguments,
    nr_trees: u16,
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let set = Assignments::read(&[], &[])?;
    let tuned = choose::policy("--policies", POLICY, &set, &interrupt.stop())?;
    let files: Vec<NamedTempFile> = (1..=u64::from(nr_trees))
        .map(|seed| file(&draw(seed), arguments.duration))
        .collect::<Result<_, Failure>>()?;
    let rows = pairs.all(nr_trees.into(), interrupt, "running", |tree, cancel| {
        let path = files[tree].path().to_string_lossy();
        let sim = pairs.simulated_one(&path, &tuned, super::SEED, interrupt, cancel)?;
        let real = pairs.real_one(&path, &Scheduler::Own, interrupt, cancel)?;
        Ok(Row::of(tree as u64 + 1, &sim, &real))
    })?;
    Ok(markdown(&rows))
}

// ---- trees -------------------------------------------------------------------------------

/// Three levels of groups with hogs in the innermost, one with a quota, as the text of a workload.
pub fn draw(seed: u64) -> String {
    let mut stream = Stream::of_task(seed, "groups", 0);
    let mut below = |n: u64| {
        let die = Distribution::Uniform {
            low: 0,
            high: n - 1,
        };
        stream.draw(&die)
    };
    let limited = (below(2), below(2));
    let mut text = String::new();
    for top in 0..2 {
        text += &group(&format!("g{top}"), "root", &mut below);
        for middle in 0..2 {
            let name = format!("g{top}-{middle}");
            text += &group(&name, &format!("g{top}"), &mut below);
            if (top, middle) == limited {
                let quota_ms = QUOTAS_MS[below(QUOTAS_MS.len() as u64) as usize];
                text += &format!("quota = \"{quota_ms}ms\"\n");
            }
            for leaf in 0..=below(2) {
                let inner = format!("{name}-{leaf}");
                text += &group(&inner, &name, &mut below);
                text += &hogs(&inner, below(3) + 1);
            }
        }
    }
    text
}

fn group(name: &str, parent: &str, below: &mut impl FnMut(u64) -> u64) -> String {
    let weight = WEIGHTS[below(WEIGHTS.len() as u64) as usize];
    format!("[group.{name}]\nparent = \"{parent}\"\nweight = {weight}\n")
}

fn hogs(group: &str, count: u64) -> String {
    let program = "forever\n  run 1s\nend\n";
    format!("[task.hog-{group}]\ngroup = \"{group}\"\ncount = {count}\nprogram = \"\"\"\n{program}\"\"\"\n")
}

fn file(tree: &str, duration: Ns) -> Result<NamedTempFile, Failure> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile();
    let written = file.and_then(|mut file| {
        write!(file, "duration = \"{}ns\"\n{tree}", duration.0)?;
        Ok(file)
    });
    written.map_err(|error| Failure::Other(format!("a temporary file: {error}")))
}

// ---- the comparison ------------------------------------------------------------------------

impl Row {
    fn of(seed: u64, sim: &Metrics, real: &Metrics) -> Row {
        let pairs: Vec<_> = sim
            .control_groups
            .iter()
            .zip(&real.control_groups)
            .collect();
        let all = [sim, real].map(all_ns);
        let share = |group: &ControlGroupMetrics, all: u64| group.run_ns.0 as f64 / all as f64;
        let points = pairs
            .iter()
            .map(|(s, r)| (share(s, all[0]) - share(r, all[1])).abs() * 100.0);
        let throttled = pairs.iter().filter(|(_, r)| r.nr_throttles > 0);
        Row {
            seed,
            groups: pairs.len(),
            points: points.fold(0.0, f64::max),
            throttled: throttled.map(|(s, r)| Throttled::of(s, r)).collect(),
        }
    }
}

/// The CPU time of all groups together.
fn all_ns(run: &Metrics) -> u64 {
    let top = run
        .control_groups
        .iter()
        .filter(|group| group.parent.is_none());
    top.map(|group| group.run_ns.0).sum::<u64>().max(1)
}

impl Throttled {
    fn of(sim: &ControlGroupMetrics, real: &ControlGroupMetrics) -> Throttled {
        let length =
            |g: &ControlGroupMetrics| g.throttled_ns.0 as f64 / g.nr_throttles.max(1) as f64;
        Throttled {
            name: real.name.clone(),
            length: Both {
                sim: length(sim),
                real: length(real),
            },
            times: Both {
                sim: sim.nr_throttles as f64,
                real: real.nr_throttles as f64,
            },
        }
    }
}

fn markdown(rows: &[Row]) -> String {
    let head = [
        "tree",
        "groups",
        "shares, points",
        "throttled",
        "times",
        "each ms",
        "error %",
    ];
    let mut cells = vec![head.map(str::to_string)];
    for row in rows {
        let none = || "–".to_string();
        let first = row.throttled.first();
        let said = |tell: &dyn Fn(&Throttled) -> String| first.map_or_else(none, tell);
        cells.push([
            row.seed.to_string(),
            row.groups.to_string(),
            mark(row.points, SHARE_POINTS, 2),
            said(&|one| format!("`{}`", one.name)),
            said(&|one| format!("{:.0} / {:.0}", one.times.sim, one.times.real)),
            said(&|one| format!("{:.2} / {:.2}", one.length.sim / 1e6, one.length.real / 1e6)),
            said(&|one| mark(one.length.error_percent(), THROTTLED_PERCENT, 1)),
        ]);
    }
    aligned(&cells)
}

/// A figure; bold if it misses the aim.
fn mark(error: f64, aim: f64, digits: usize) -> String {
    match error.abs() <= aim {
        true => format!("{error:.digits$}"),
        false => format!("**{error:.digits$}**"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_three_levels_and_one_quota() {
        for seed in 1..50 {
            let text = format!("duration = \"1s\"\n{}", draw(seed));
            let path = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
            std::fs::write(path.path(), &text).unwrap();
            let name = path.path().to_string_lossy();
            let read = choose::workload(&name, &Default::default());
            let read = read.unwrap_or_else(|_| panic!("{text}"));
            let groups = &read.control_groups;
            let parent = |group: u32| groups[group as usize].parent;
            let depth_three = |task: &schedlab_workload::TaskSpec| {
                let middle = task.control_group.and_then(parent);
                let top = middle.and_then(parent);
                top.is_some_and(|top| parent(top).is_none())
            };
            assert!(read.tasks.iter().all(depth_three), "{text}");
            let limited = groups.iter().filter(|group| group.max.is_some());
            assert_eq!(limited.count(), 1, "{text}");
        }
    }

    #[test]
    fn the_aim_decides_what_is_bold() {
        assert_eq!(mark(0.99, SHARE_POINTS, 2), "0.99");
        assert_eq!(mark(-2.04, THROTTLED_PERCENT, 1), "**-2.0**");
    }
}
