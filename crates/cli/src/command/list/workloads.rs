//! Workloads, and one of them in detail.

use schedlab_workload::{builtin, native};
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

/// Every workload, a line each: built-ins first.
pub fn all() -> Result<Listing, Failure> {
    let workloads = everything();
    let row = |w: &WorkloadJson| {
        let kind = if w.options { "built in" } else { "file" };
        [w.name.to_string(), kind.to_string(), w.summary.clone()]
    };
    let rows: Vec<[String; 3]> = workloads.iter().map(row).collect();
    Listing::new(text::columns(&rows), &workloads)
}

/// One workload: the options of a built-in.
pub fn one(name: &str) -> Result<Listing, Failure> {
    let workloads = everything();
    let Some(workload) = workloads.iter().find(|w| w.name == name) else {
        let names: Vec<&str> = workloads.iter().map(|w| w.name).collect();
        return Err(unknown("workload", name, &names));
    };
    let text = match builtin::find(name) {
        Some(builtin) => builtin.help(),
        None => format!("{name}: {}\n", workload.summary),
    };
    Listing::new(text, workload)
}

fn everything() -> Vec<WorkloadJson> {
    let builtins = builtin::list()
        .into_iter()
        .map(|(name, summary)| WorkloadJson {
            name,
            summary: summary.to_string(),
            options: true,
        });
    let shipped = native::list()
        .into_iter()
        .map(|(name, summary)| WorkloadJson {
            name,
            summary,
            options: false,
        });
    builtins.chain(shipped).collect()
}
