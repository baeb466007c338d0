//! Writes an HTML report of made-up runs, to look at: `cargo run --example sample_report -- FILE.html`.

use std::error::Error;

use schedlab_report::table::Terminal;
use schedlab_report::{render_html, text, ReportInfo, Run};

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("which file shall be written?")?;
    let seeds = std::env::args().nth(2).map_or(Ok(5), |s| s.parse())?;
    let runs: Vec<Run> = (1..=seeds).flat_map(sample::three).collect();
    let info = ReportInfo {
        command:
            "schedlab compare --policies linux24,elsc,o1 --workload 'late --vi 2 --mozilla 1 \
                  --make 8' --machine netfinity-7000-4p --duration 10s --seeds 5 --report late.html"
                .to_string(),
        machine: "4 x Pentium II Xeon 400 MHz, IBM Netfinity 7000".to_string(),
        version: "schedlab 0.1.0".to_string(),
    };
    std::fs::write(file, render_html(&runs, &info)?)?;
    print!("{}", text::terminal(&runs, Terminal::stdout()));
    Ok(())
}
