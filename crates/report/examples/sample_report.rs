//! Writes an HTML report of made-up runs, to look at, and prints their tables:
//! `cargo run --example sample_report -- FILE.html [SEEDS [POLICIES]]`.

use std::error::Error;

use schedlab_report::table::Terminal;
use schedlab_report::{render_html, text, ReportInfo, Run};

#[path = "../tests/suite/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file shall be written?")?;
    let seeds = arguments.next().map_or(Ok(5), |s| s.parse())?;
    let policies: usize = arguments.next().map_or(Ok(3), |s| s.parse())?;
    let runs: Vec<Run> = (1..=seeds).flat_map(|seed| some(seed, policies)).collect();
    let info = ReportInfo {
        command: "schedlab compare --policies linux24,elsc,o1 \
                  --workload 'late --vi 2 --mozilla 1 --make 8' --machine netfinity-7000-4p \
                  --duration 10s --seeds 5 --report late.html"
            .to_string(),
        machine: "4 x Pentium II Xeon 400 MHz, IBM Netfinity 7000".to_string(),
        version: "schedlab 0.1.0".to_string(),
    };
    std::fs::write(file, render_html(&runs, &info)?)?;
    print!("{}", text::terminal(&runs, Terminal::stdout()));
    Ok(())
}

/// So many policies: the three, and the three again with a tunable set.
fn some(seed: u64, policies: usize) -> Vec<Run> {
    let again = |i: usize| {
        let mut runs = sample::three(seed + i as u64);
        let run = &mut runs[i % 3];
        run.seed = seed;
        if i >= 3 {
            run.tunables
                .insert("granularity".into(), (i / 3).to_string());
        }
        run.clone()
    };
    (0..policies).map(again).collect()
}
