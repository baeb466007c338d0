//! Workloads, and one of them in detail.

use schedlab_workload::builtin;
use serde::Serialize;

use crate::failure::Failure;

use super::{text, unknown, Listing};

#[derive(Serialize)]
struct WorkloadJson {
    name: &'static str,
    summary: String,
    /// Has it options of its own?
    options: bool,
}

/// Every workload, a line each, and which have options.
pub fn all() -> Result<Listing, Failure> {
    let workloads = everything();
    let row = |w: &WorkloadJson| {
        let kind = if w.options { "options" } else { "" };
        [w.name.to_string(), kind.to_string(), w.summary.clone()]
    };
    let rows: Vec<[String; 3]> = workloads.iter().map(row).collect();
    Listing::new(text::columns(&rows), &workloads)
}

/// One workload and its options.
pub fn one(name: &str) -> Result<Listing, Failure> {
    let workloads = everything();
    let Some(workload) = workloads.iter().find(|w| w.name == name) else {
        let names: Vec<&str> = workloads.iter().map(|w| w.name).collect();
        return Err(unknown("workload", name, &names));
    };
    let help = builtin::find(name).and_then(|builtin| builtin.help());
    let text = help.unwrap_or_else(|| format!("{name}: {}\n", workload.summary));
    Listing::new(text, workload)
}

fn everything() -> Vec<WorkloadJson> {
    let describe = |builtin: builtin::Builtin| WorkloadJson {
        name: builtin.name,
        summary: builtin.summary(),
        options: builtin.help().is_some(),
    };
    builtin::list().into_iter().map(describe).collect()
}
