//! Metrics as users name them.

use schedlab_input::Diagnostic;

use super::{Metric, Study};

/// Short names of what every run has.
const SHORT: [(&str, &str); 6] = [
    ("wakeup", "wakeup_latency"),
    ("delay", "run_delay"),
    ("switches", "nr_switches"),
    ("migrations", "nr_migrations"),
    ("overhead", "scheduler_share"),
    ("wait", "longest_wait"),
];

/// The metric of this name: its stable name or its label, `MARK.p99`, `MARK.throughput`, `GROUP.p99`, `wakeup.p99`, or
/// `throughput` and `p99` if the workload has one such mark.
///
/// # Errors
/// There is no such metric, or more than one.
pub fn find_metric<'a>(study: &'a Study, name: &str) -> Result<&'a Metric, Diagnostic> {
    let name = name.trim();
    let metrics = &study.metrics;
    let exact = |m: &&Metric| m.name == name || m.label.eq_ignore_ascii_case(name);
    if let Some(metric) = metrics.iter().find(exact) {
        return Ok(metric);
    }
    let stable = candidates(name);
    if let Some(metric) = stable
        .iter()
        .find_map(|id| metrics.iter().find(|m| m.name == *id))
    {
        return Ok(metric);
    }
    let ending = match name {
        "throughput" => ".per_second",
        "p99" => ".latency_p99_ns",
        _ => return Err(unknown(study, name)),
    };
    let own: Vec<&Metric> = metrics
        .iter()
        .filter(|m| m.name.starts_with("mark.") && m.name.ends_with(ending))
        .collect();
    match own.as_slice() {
        [one] => Ok(one),
        [] => Err(unknown(study, name)),
        several => {
            let names: Vec<&str> = several.iter().map(|m| m.name.as_str()).collect();
            Err(
                Diagnostic::new(format!("\"{name}\" is more than one metric"))
                    .expected(format!("one of {}", names.join(", "))),
            )
        }
    }
}

/// Stable names that a short one may mean.
fn candidates(name: &str) -> Vec<String> {
    let long = |name: &str| {
        let found = SHORT.iter().find(|(short, _)| *short == name);
        found.map_or(name.to_string(), |(_, long)| (*long).to_string())
    };
    let Some((what, part)) = name.rsplit_once('.') else {
        let name = long(name);
        return vec![format!("{name}_ns"), name];
    };
    match part {
        "throughput" | "rate" | "per_second" => vec![format!("mark.{what}.per_second")],
        "share" => vec![format!("group.{what}.cpu_share")],
        part => vec![
            format!("mark.{what}.latency_{part}_ns"),
            format!("{}_{part}_ns", long(what)),
            format!("group.{what}.wakeup_latency_{part}_ns"),
        ],
    }
}

fn unknown(study: &Study, name: &str) -> Diagnostic {
    let names: Vec<&str> = study
        .metrics
        .iter()
        .map(|m| m.name.as_str())
        .filter(|name| !name.starts_with("group."))
        .collect();
    Diagnostic::new(format!("there is no metric \"{name}\""))
        .expected(format!("one of {}", names.join(", ")))
        .suggest(name, names.iter().copied())
}
