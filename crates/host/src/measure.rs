//! Measures the costs of operations on this machine.
//!
//! Each value is the median of rounds, with its quartiles. If a value is a difference of two
//! values, it is the median of the differences of neighbouring rounds.

mod echo;
mod memory;
mod pairs;
mod process;
mod thread;

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use crate::Layout;

/// Rounds for each value.
const ROUNDS: usize = 21;

/// A measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Median.
    pub median: f64,
    /// Lower quartile.
    pub low: f64,
    /// Upper quartile.
    pub high: f64,
    /// Number of rounds.
    pub rounds: usize,
}

/// All values that could be measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Results {
    /// Costs in ns, by their keys in a description.
    pub costs: BTreeMap<&'static str, Measured>,
    /// Time to fetch a missing line of a working set into the cache, in ns.
    pub refill_line: Option<Measured>,
    /// Speed of a CPU while its sibling computes, in thousandths.
    pub smt_speed_milli: Option<Measured>,
    /// Values that could not be measured, with the reason.
    pub failed: Vec<String>,
}

impl Measured {
    /// The quartiles of at least one round.
    fn of(mut rounds: Vec<f64>) -> Measured {
        rounds.sort_by(f64::total_cmp);
        let at = |quarter: usize| rounds[(rounds.len() - 1) * quarter / 4];
        Measured {
            median: at(2),
            low: at(1),
            high: at(3),
            rounds: rounds.len(),
        }
    }
}

/// Measures a value in several rounds.
fn rounds(figure: impl FnMut() -> io::Result<f64>) -> io::Result<Measured> {
    let mut figure = figure;
    // The first round warms the caches.
    figure()?;
    let all: io::Result<Vec<f64>> = (0..ROUNDS).map(|_| figure()).collect();
    Ok(Measured::of(all?))
}

/// Mean time of `count` calls, in ns.
fn each_ns(count: u32, mut call: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let begun = Instant::now();
    for _ in 0..count {
        call()?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / f64::from(count))
}

/// Measures this machine, which `layout` describes. `tell` is called with the name of each value
/// before it is measured. If `stop` returns true, the measurement ends early with partial results.
pub fn measure(layout: &Layout, tell: &dyn Fn(&str), stop: &dyn Fn() -> bool) -> Results {
    let mut results = Results::default();
    let allowed = thread::allowed();
    let Some(&cpu) = allowed.first() else {
        return results;
    };
    let mut cost = |key: &'static str, what: &str, take: &dyn Fn() -> io::Result<Measured>| {
        if stop() {
            return;
        }
        tell(what);
        match take() {
            Ok(measured) => {
                results.costs.insert(key, measured);
            }
            Err(error) => results.failed.push(format!("{key}: {error}")),
        }
    };
    cost("syscall", "a system call", &|| thread::syscall(cpu));
    cost("context_switch", "a switch", &|| {
        thread::context_switch(cpu)
    });
    cost("mm_switch", "a switch of address spaces", &|| {
        process::mm_switch(cpu)
    });
    cost("wakeup", "a wakeup", &|| thread::wakeup(cpu));
    cost("tick", "a tick", &|| thread::tick(cpu));
    cost("fork", "fork()", &|| process::fork(cpu));
    cost("exit", "exit()", &|| process::exit(cpu));
    cost("exec", "exec()", &|| process::exec(cpu));
    if let Some((a, b)) = pairs::apart(layout, &allowed) {
        cost("lock_transfer", "a cache line between CPUs", &|| {
            pairs::lock_transfer(a, b)
        });
        cost("idle_exit", "a wakeup on an idle CPU", &|| {
            pairs::idle_exit(a, b)
        });
    }
    if stop() {
        return results;
    }
    tell("memory");
    let largest = layout.caches.values().map(|cache| cache.bytes).max();
    match memory::refill_line(cpu, largest.filter(|&bytes| bytes > 0)) {
        Ok(measured) => results.refill_line = Some(measured),
        Err(error) => results.failed.push(format!("refill: {error}")),
    }
    if let Some((a, b)) = pairs::siblings(layout, &allowed) {
        tell("SMT siblings");
        match pairs::smt_speed_milli(a, b) {
            Ok(measured) => results.smt_speed_milli = Some(measured),
            Err(error) => results.failed.push(format!("smt_speed_milli: {error}")),
        }
    }
    results
}
