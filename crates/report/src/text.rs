//! What the command line prints: tables, then the commands that repeat the runs.

use schedlab_trace::printable;

use crate::run::{Comparison, Run, World};
use crate::summary;
use crate::table::{escape_markdown, Table, Terminal};

/// Tasks and CPUs shown of a single run.
const MAX_ROWS: usize = 20;

/// A result for a terminal: the tables of each workload on each machine, then warnings and commands.
pub fn terminal(runs: &[Run], terminal: Terminal) -> String {
    with_tables(runs, tables, terminal)
}

/// The same without single tasks and CPUs.
pub fn brief(runs: &[Run], terminal: Terminal) -> String {
    with_tables(runs, main_tables, terminal)
}

fn with_tables(runs: &[Run], tables: fn(&Comparison) -> Vec<Table>, terminal: Terminal) -> String {
    let mut out = String::new();
    for case in Comparison::cases(runs) {
        out += &format!("{}\n\n", printable(&headline(&case)));
        for table in tables(&case) {
            out += &terminal.render(&table);
            out.push('\n');
        }
    }
    let all = Comparison::new(runs);
    for warning in warnings(&all) {
        out += &format!("warning: {}\n", printable(&warning));
    }
    for (command, hashes) in reproduce(&all) {
        for (name, hash) in hashes {
            out += &format!("trace {hash}  {}\n", printable(&name));
        }
        out += &format!("  reproduce: {}\n", printable(command));
    }
    out
}

/// A result in Markdown.
pub fn markdown(runs: &[Run]) -> String {
    let mut out = String::new();
    for case in Comparison::cases(runs) {
        out += &format!("### {}\n\n", escape_markdown(&headline(&case)));
        for table in tables(&case) {
            out += &table.markdown();
            out.push('\n');
        }
    }
    let all = Comparison::new(runs);
    for warning in warnings(&all) {
        out += &format!("> **Warning:** {}\n\n", escape_markdown(&warning));
    }
    for (command, hashes) in reproduce(&all) {
        for (name, hash) in hashes {
            out += &format!("- {}: trace `{hash}`\n", escape_markdown(&name));
        }
        out += &format!("\n{}\n", fenced(&printable(command)));
    }
    out
}

/// The workload, machine and runs, in one line.
pub fn headline(comparison: &Comparison) -> String {
    let list = |part: fn(&Run) -> String| {
        let mut names: Vec<String> = Vec::new();
        for name in comparison.runs().map(part) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    let simulated = comparison.runs().all(|run| run.world == World::Simulator);
    let mut seeds: Vec<u64> = comparison.runs().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let plural = if seeds.len() > 1 { "seeds" } else { "seed" };
    let seeds = match simulated {
        true => format!(" · {plural} {}", ranges(&seeds)),
        false => String::new(),
    };
    let workloads = list(|r| r.workload.clone());
    let machines = list(|r| r.machine.clone());
    let ends = list(|r| match r.world {
        World::Simulator => format!("{} simulated ({})", r.duration_ns, r.end),
        World::SimulatedTrace => format!("{} of a simulation's trace", r.duration_ns),
        World::Kernel => format!("{} in a real kernel ({})", r.duration_ns, r.end),
    });
    // If runs end at different times, the summary shows them.
    let ends = if ends.contains("), ") {
        String::new()
    } else {
        format!(" · {ends}")
    };
    format!("{workloads} on {machines}{seeds}{ends}")
}

/// Numbers in ascending order, runs of three and more as ranges: "1–5, 8, 9".
fn ranges(numbers: &[u64]) -> String {
    let run = |run: &[u64]| match run {
        [first, _, .., last] if run.len() > 2 => format!("{first}–{last}"),
        run => run
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    runs.map(run).collect::<Vec<_>>().join(", ")
}

/// What all set-ups have in common.
fn main_tables(comparison: &Comparison) -> Vec<Table> {
    let mut tables = vec![
        summary::headlines(comparison),
        summary::groups(comparison, summary::MAX_GROUPS),
        summary::control_groups(comparison, summary::MAX_GROUPS),
        summary::counters(comparison),
    ];
    tables.retain(|t| !t.fields.is_empty() && !t.subjects.is_empty());
    tables
}

fn tables(comparison: &Comparison) -> Vec<Table> {
    let mut tables = main_tables(comparison);
    if let [setup] = comparison.setups.as_slice() {
        let metrics = &setup.shown().metrics;
        tables.push(summary::cpus(metrics, MAX_ROWS));
        tables.push(summary::tasks(metrics, MAX_ROWS));
    }
    tables.retain(|t| !t.fields.is_empty() && !t.subjects.is_empty());
    tables
}

/// All warnings about the numbers, each once.
pub fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for setup in &comparison.setups {
        for run in &setup.runs {
            let error = run.metrics.accounting_error.map(|e| {
                format!(
                    "{}: the trace contradicts itself; do not trust the numbers: {e}",
                    setup.label
                )
            });
            let flat = run.metrics.groups_without_effect.then(|| {
                let place = match run.world {
                    World::Kernel => " in a kernel",
                    World::Simulator | World::SimulatedTrace => "",
                };
                format!(
                    "{}{place} has no control groups: their weights and quotas had no effect",
                    run.policy
                )
            });
            let oracle = run.metrics.knows_future.then(|| {
                format!(
                    "{} knows the future: no real scheduler can know how much work a task has left",
                    run.policy
                )
            });
            let of_policy = flat.into_iter().chain(oracle);
            for warning in run.warnings.iter().cloned().chain(error).chain(of_policy) {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
    }
    warnings
}

/// Each command once, with name and hash of the traces it reproduces.
pub fn reproduce<'a>(comparison: &Comparison<'a>) -> Vec<(&'a str, Vec<(String, String)>)> {
    let mut commands: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for setup in &comparison.setups {
        for run in setup.results() {
            let name = match run.world {
                World::Simulator if setup.is_equal_for_all_seeds() => {
                    let seeds: Vec<u64> = setup.runs.iter().map(|r| r.seed).collect();
                    format!("{} seeds {}: equal for all", setup.label, ranges(&seeds))
                }
                World::Simulator => format!("{} seed {}", setup.label, run.seed),
                World::Kernel | World::SimulatedTrace => setup.label.clone(),
            };
            let trace = (name, run.trace_hash.to_string());
            match commands.iter_mut().find(|(c, _)| *c == run.command) {
                Some((_, traces)) => traces.push(trace),
                None => commands.push((&run.command, vec![trace])),
            }
        }
    }
    commands
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{text}\n{fence}\n")
}
