//! What the benchmarks share: reading back what criterion measured, so that each benchmark can
//! end with a table of ratios and rates instead of bare times.

use std::env;
use std::fs;
use std::path::PathBuf;

/// The median time of one iteration in nanoseconds, as criterion measured it last.
///
/// None if that benchmark was not run (a filter left it out).
pub fn median_ns(group: &str, function: &str, value: &str) -> Option<f64> {
    let file = criterion_home()
        .join(group)
        .join(function)
        .join(value)
        .join("new/estimates.json");
    let text = fs::read_to_string(file).ok()?;
    let estimates: serde_json::Value = serde_json::from_str(&text).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

/// Where criterion keeps its measurements.
fn criterion_home() -> PathBuf {
    if let Some(home) = env::var_os("CRITERION_HOME") {
        return home.into();
    }
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target.unwrap_or_else(default).join("criterion")
}
