//! `schedlab convert`: writes a recording in another format.

use std::io::{BufWriter, Write};
use std::path::Path;

use schedlab_input::Diagnostic;
use schedlab_readers::{read_within, write_text, TextFormat};
use schedlab_recording::{KernelEventKind, Recording};
use schedlab_trace::{AtomicFile, PerfettoSink, TraceInfo};

use crate::arguments::ConvertArguments;
use crate::failure::Failure;

use super::note;

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Perfetto,
    Text(TextFormat),
}

/// The ends of file names, with their formats.
const TARGETS: [(&str, Target); 3] = [
    (".pftrace", Target::Perfetto),
    (".ftrace", Target::Text(TextFormat::Ftrace)),
    (".perf-script.txt", Target::Text(TextFormat::PerfScript)),
];

/// Reads one file and writes the other, which appears complete or not at all.
pub fn convert(arguments: &ConvertArguments) -> Result<(), Failure> {
    let target = target(&arguments.output)?;
    let (recording, report) = read_within(&arguments.input, arguments.reading.max_decompressed)?;
    for said in &report.notes {
        note(&format!("note: {}: {said}", arguments.input.display()));
    }
    let cannot = Failure::writing;
    let path = arguments.output.as_path();
    let mut file = AtomicFile::create(path).map_err(cannot(path))?;
    let (file, lost) = match target {
        Target::Text(format) => {
            let mut out = BufWriter::new(&mut file);
            let lost = write_text(&recording, format, &mut out);
            let lost = lost.and_then(|lost| out.flush().map(|()| lost));
            drop(out);
            (file, lost.map_err(cannot(path))?)
        }
        Target::Perfetto => perfetto(&recording, file).map_err(cannot(path))?,
    };
    file.finish().map_err(cannot(path))?;
    for lost in lost {
        note(&format!("note: {}: {lost}", path.display()));
    }
    Ok(())
}

fn target(path: &Path) -> Result<Target, Diagnostic> {
    let name = path.to_string_lossy();
    let found = TARGETS.iter().find(|(end, _)| name.ends_with(end));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    found.map(|(_, target)| *target).ok_or_else(|| {
        Diagnostic::new("it has no known extension")
            .at(&*name, 0)
            .expected(".pftrace (Perfetto), .ftrace (ftrace's text) or .perf-script.txt")
            .suggest(extension, ["pftrace", "ftrace", "perf-script.txt"])
    })
}

/// Writes the recording as a Perfetto file, with run queues and with missing events added.
fn perfetto(recording: &Recording, file: AtomicFile) -> std::io::Result<(AtomicFile, Vec<String>)> {
    let mut sink = PerfettoSink::new(file);
    let mended = recording.play(&TraceInfo::default(), &mut sink);
    let file = sink.finish()?;
    let start = recording.span.0;
    let mut notes = vec![
        format!("times begin at 0, which is {start} s in the recording"),
        "R and R+ are both written as R+, unless a yield was recorded".to_string(),
    ];
    let has = |kind: fn(&KernelEventKind) -> bool| recording.events().iter().any(|e| kind(&e.kind));
    let unwritten = [
        (
            has(|kind| matches!(kind, KernelEventKind::Wakeup { .. })),
            "sched_wakeup: on which CPU a woken task is queued",
        ),
        (
            has(|kind| matches!(kind, KernelEventKind::Migrate { .. })),
            "sched_migrate_task",
        ),
        (
            has(|kind| matches!(kind, KernelEventKind::Exit { .. })),
            "sched_process_exit",
        ),
    ];
    let unwritten = unwritten.iter().filter(|(is_there, _)| *is_there);
    notes.extend(unwritten.map(|(_, what)| format!("not written: {what}")));
    if mended.switches + mended.wakeups > 0 {
        notes.push(format!(
            "{} switches and {} wakeups are missing from the recording and were added",
            mended.switches, mended.wakeups
        ));
    }
    Ok((file, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_format() {
        let of = |name: &str| target(Path::new(name));
        assert_eq!(of("a/b.pftrace"), Ok(Target::Perfetto));
        assert_eq!(of("x.ftrace"), Ok(Target::Text(TextFormat::Ftrace)));
        let script = of("x.perf-script.txt");
        assert_eq!(script, Ok(Target::Text(TextFormat::PerfScript)));
        let mistake = of("x.pftrce").unwrap_err();
        assert_eq!(mistake.nearest.as_deref(), Some("pftrace"));
    }
}
