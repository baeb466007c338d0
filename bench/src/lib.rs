//! What the benchmarks share: reading back what criterion measured, so that each benchmark can
//! end with a table of ratios and rates instead of bare times.

mod crowd;
mod perf_data;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use schedlab_policy::Policy;

pub use crowd::Crowd;
pub use perf_data::write_perf_data;

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
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    target.unwrap_or_else(default).join("criterion")
}

/// Prints what each policy's cost is as tasks grow, relative to its own with the fewest.
pub fn growth(group: &str, what: &str, policies: &[Policy], sizes: &[u32]) {
    print!(
        "\ncost of {what}, relative to that with {} tasks\n{:<12}",
        sizes[0], "policy"
    );
    sizes.iter().for_each(|size| print!("{size:>12}"));
    println!();
    for policy in policies {
        let cost = |size: u32| median_ns(group, policy.name(), &size.to_string());
        let Some(base) = cost(sizes[0]) else { continue };
        print!("{:<12}", policy.name());
        for &size in sizes {
            match cost(size) {
                Some(ns) => print!("{:>12.1}", ns / base),
                None => print!("{:>12}", "-"),
            }
        }
        println!();
    }
}

/// Is there anything to count instructions with?
pub fn valgrind_exists() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

/// Instructions this program takes when it is run with these arguments, as callgrind says.
pub fn instructions(arguments: &[&str]) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe().expect("this program has a path"))
        .args(arguments)
        .output()
        .expect("valgrind runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|l| l.split_once("Collected :"));
    let (_, count) = line.unwrap_or_else(|| panic!("callgrind counted nothing:\n{text}"));
    count.trim().parse().expect("a number of instructions")
}
