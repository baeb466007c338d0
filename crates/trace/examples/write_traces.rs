//! Writes example traces into a folder: `NAME.pftrace` and `NAME.ftrace` to open in Perfetto,
//! and `NAME.json` with the same events for `tests/perfetto/decode.py` to compare with.
//!
//! `cargo run -p schedlab-trace --example write_traces -- FOLDER`

#[path = "../tests/suite/common/mod.rs"]
mod common;
#[path = "../tests/suite/common/json.rs"]
mod json;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use common::{random_trace, random_trace_without_ties, small_trace, Trace};
use schedlab_trace::{AtomicFile, FtraceSink, PerfettoSink};

fn main() -> io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: write_traces FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    write(&folder, "small", &small_trace())?;
    write(&folder, "random", &random_trace_without_ties(1, 100_000, 8))?;
    write(&folder, "ties", &random_trace(2, 100_000, 4))
}

fn write(folder: &Path, name: &str, trace: &Trace) -> io::Result<()> {
    let create = |extension| AtomicFile::create(&folder.join(name).with_extension(extension));

    let mut perfetto = PerfettoSink::new(create("pftrace")?);
    trace.play(&mut perfetto);
    perfetto.finish()?.finish()?;

    let mut ftrace = FtraceSink::new(create("ftrace")?);
    trace.play(&mut ftrace);
    ftrace.finish()?.finish()?;

    let mut file = create("json")?;
    file.write_all(json::trace_json(trace).to_string().as_bytes())?;
    file.finish()
}
