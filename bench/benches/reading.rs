//! How fast recordings are read: one of the examples, written in each format.
//!
//! Instructions are the same on every machine, whatever else it does: valgrind counts them, over this program
//! run twice, reading and not reading.  Times are the process's CPU time, the kernel's part included; of several
//! the shortest counts, the one that other programs on the machine disturbed least.

#![allow(missing_docs)] // A program.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::time::{clock_gettime, ClockId};
use schedlab_readers::{read, write_text, ReadReport, TextFormat};
use schedlab_recording::Recording;
use schedlab_trace::{PerfettoSink, TraceInfo};

/// The longest of the examples, with times of microseconds and the ids of processes.
const EXAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../examples/recordings/mariadb-sysbench-8t.perf-script.txt.zst"
);

/// So often each file is read.
const READINGS: usize = 9;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [be, path] if be == "read" => {
            reading(Path::new(path));
            Ok(())
        }
        [be] if be == "rest" => Ok(()),
        _ => table(),
    }
}

fn reading(path: &Path) -> (Recording, ReadReport) {
    read(path).unwrap_or_else(|mistake| panic!("{mistake}"))
}

fn table() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let files = write_all(&reading(Path::new(EXAMPLE)).0, folder.path())?;
    println!(
        "\n{:<18}{:>12}{:>14}{:>22}{:>28}",
        "reading", "events", "bytes/event", "instructions/event", "million events/s CPU time"
    );
    for file in files {
        let (_, report) = reading(&file);
        let events = report.nr_events;
        println!(
            "{:<18}{events:>12}{:>14}{:>22}{:>28.1}",
            report.format.to_string(),
            fs::metadata(&file)?.len() / events,
            instructions(&file).map_or("(no valgrind)".into(), |i| (i / events).to_string()),
            1e3 * events as f64 / shortest_ns(&file) as f64
        );
    }
    Ok(())
}

/// The recording in each format that can be read.
fn write_all(recording: &Recording, folder: &Path) -> io::Result<[PathBuf; 4]> {
    let files = ["perf.data", "perf-script.txt", "ftrace", "pftrace"];
    let files = files.map(|name| folder.join(name));
    let [perf_data, perf_script, ftrace, perfetto] = &files;
    schedlab_bench::write_perf_data(recording, &perf_data.to_string_lossy())?;
    for (file, format) in [
        (perf_script, TextFormat::PerfScript),
        (ftrace, TextFormat::Ftrace),
    ] {
        let mut out = BufWriter::new(File::create(file)?);
        write_text(recording, format, &mut out)?;
        out.flush()?;
    }
    let mut sink = PerfettoSink::new(File::create(perfetto)?);
    recording.play(&TraceInfo::default(), &mut sink);
    sink.finish()?;
    Ok(files)
}

/// Instructions of reading a file once.
fn instructions(file: &Path) -> Option<u64> {
    let counted = schedlab_bench::instructions;
    schedlab_bench::valgrind_exists()
        .then(|| counted(&["read", &file.to_string_lossy()]) - counted(&["rest"]))
}

/// The shortest CPU time of reading a file.
fn shortest_ns(file: &Path) -> u64 {
    let time = |_| {
        let begin = cpu_time_ns();
        let read = reading(file);
        let time = cpu_time_ns() - begin;
        drop(read);
        time
    };
    (0..READINGS).map(time).min().expect("it is read")
}

/// What this process has run, in user mode and in the kernel.
fn cpu_time_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
