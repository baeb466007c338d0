//! Workloads, and one of them in detail.

use std::path::Path;

use schedlab_input::read_text;
use schedlab_workload::{builtin, native};
use serde::Serialize;

use crate::failure::Failure;

use super::{text, unknown, Listing};

#[derive(Serialize)]
struct WorkloadJson {
    name: String,
    summary: String,
    /// Whether it has options.
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

/// One workload, or a user's file, and its options.
pub fn one(name: &str) -> Result<Listing, Failure> {
    if name.ends_with(".toml") {
        let text = read_text(Path::new(name))?;
        let (summary, help) = (native::title(&text), native::help(name, &text)?);
        let text = help
            .clone()
            .unwrap_or_else(|| format!("{name}: {summary}\n"));
        let file = WorkloadJson {
            name: name.to_string(),
            summary,
            options: help.is_some(),
        };
        return Listing::new(text, &file);
    }
    let workloads = everything();
    let Some(workload) = workloads.iter().find(|w| w.name == name) else {
        let names: Vec<&str> = workloads.iter().map(|w| w.name.as_str()).collect();
        return Err(unknown("workload", name, &names));
    };
    let help = builtin::find(name).and_then(|builtin| builtin.help());
    let text = help.unwrap_or_else(|| format!("{name}: {}\n", workload.summary));
    Listing::new(text, workload)
}

fn everything() -> Vec<WorkloadJson> {
    let describe = |builtin: builtin::Builtin| WorkloadJson {
        name: builtin.name.to_string(),
        summary: builtin.summary(),
        options: builtin.help().is_some(),
    };
    builtin::list().into_iter().map(describe).collect()
}
