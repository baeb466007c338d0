//! `schedlab record`: records the scheduler of this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_readers::TextFormat;
use schedlab_recording::{tracefs, Notes, Recording, NOTES_VARIABLE};
use schedlab_report::table::Terminal;
use schedlab_report::Run;
use schedlab_trace::TraceInfo;

use crate::arguments::RecordArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TraceFile, Traces};
use crate::results::{report_info, Files, Form};
use schedlab_lab::{quoted, Recorded};

use super::{note, sudo};

/// The duration of a recording without a command or a limit.
const DEFAULT: Duration = Duration::from_secs(10);

/// Records this machine; returns the status of the command.
pub fn record(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    if !tracefs::is_permitted() && !sudo::is_root() {
        return Err(sudo::again(&arguments.command));
    }
    let interrupt = Interrupt::listen()?;
    let traces = Traces::parse(&arguments.output, 1).map_err(|m| Failure::flag("--output", m))?;
    let trace = traces.create(traces.path_of(None))?;
    let files = Files::create(arguments.report.as_deref(), arguments.json.as_deref())?;
    let wanted = tracefs::Wanted {
        data_flow: arguments.data_flow,
    };
    let mut observed = Observed::new(arguments, &interrupt)?;
    let observers = arguments.attended_by.as_slice();
    let recording = tracefs::record(wanted, observers, || observed.goes_on());
    let mut recording = recording.map_err(|error| Failure::Other(error.to_string()))?;
    if let Some(warning) = disturbance(&recording) {
        note(&warning);
    }
    let status = observed.end()?;
    match observed.notes() {
        Ok(Some(notes)) => recording.note(notes),
        Ok(None) => {}
        // The recording is complete without them.
        Err(problem) => note(&format!("warning: {problem}")),
    }
    let (run, mut finished) = measure(&recording, trace, arguments, status)?;
    let info = report_info(run.command.clone(), run.machine.clone());
    let runs = [run];
    finished.extend(files.write(&runs, &info)?);
    finished.into_iter().try_for_each(Finished::keep)?;
    write_calls(&arguments.output, &recording)?;
    let form = Form {
        format: arguments.format,
        terminal: Terminal::stderr(),
    };
    if arguments.attended_by.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    form.tell(&runs)?;
    note(&format!("the trace is in {}", arguments.output.display()));
    Ok(status.map_or(ExitCode::SUCCESS, status_code))
}

/// What recording cost the recorded tasks, and what was lost; none if neither is known.
fn disturbance(recording: &Recording) -> Option<String> {
    let calls = recording.nr_calls();
    let (start, end) = recording.span;
    let span = end.since(start).0 * u64::from(recording.nr_cpus());
    if calls == 0 || span == 0 {
        return None;
    }
    let cost = calls * recording.call_cost_ns;
    let percent = cost as f64 / span as f64 * 100.0;
    let lost = recording.nr_lost;
    Some(format!(
        "recording {calls} system calls cost about {percent:.1} % of the CPUs' time; {lost} events were lost"
    ))
}

/// Writes a recording with system calls again, with all its events, if the trace is text.
pub fn write_calls(path: &Path, recording: &Recording) -> Result<(), Failure> {
    let is_text = path.extension().is_some_and(|ext| ext == "ftrace");
    if !(is_text && recording.has_calls()) {
        return Ok(());
    }
    let file = fs::File::create(path).map_err(Failure::writing(path))?;
    let mut out = io::BufWriter::new(file);
    let written = schedlab_readers::write_text(recording, TextFormat::Ftrace, &mut out);
    written
        .and_then(|_| io::Write::flush(&mut out))
        .map_err(Failure::writing(path))
}

/// The end of a recording: its command ends, its time is over, or a signal comes.
struct Observed<'a> {
    command: &'a [String],
    limit: Option<Duration>,
    interrupt: &'a Interrupt,
    started: Option<Instant>,
    child: Option<io::Result<Child>>,
    /// Whether standard input has ended, if somebody attends.
    unattended: Option<Arc<AtomicBool>>,
    /// The folder for the command's notes, if it writes any.
    desk: tempfile::TempDir,
}

impl<'a> Observed<'a> {
    fn new(
        arguments: &'a RecordArguments,
        interrupt: &'a Interrupt,
    ) -> Result<Observed<'a>, Failure> {
        let asked = arguments.duration.map(|time| Duration::from_nanos(time.0));
        let attended = arguments.attended_by.is_some();
        let default = (arguments.command.is_empty() && !attended).then_some(DEFAULT);
        let desk = tempfile::tempdir();
        Ok(Observed {
            command: &arguments.command,
            limit: asked.or(default),
            interrupt,
            started: None,
            child: None,
            unattended: attended.then(Arc::default),
            desk: desk.map_err(|e| Failure::Other(format!("no temporary folder: {e}")))?,
        })
    }

    fn start(&self) -> io::Result<Child> {
        Command::new(&self.command[0])
            .args(&self.command[1..])
            .env(NOTES_VARIABLE, self.notes_file())
            .spawn()
    }

    fn notes_file(&self) -> PathBuf {
        self.desk.path().join("notes")
    }

    /// Starts the command at the first call; returns whether recording goes on.
    fn goes_on(&mut self) -> bool {
        let Some(started) = self.started else {
            self.started = Some(Instant::now());
            self.child = (!self.command.is_empty()).then(|| self.start());
            if let Some(unattended) = &self.unattended {
                wait_for_end_of_input(Arc::clone(unattended));
            }
            return true;
        };
        let runs = match &mut self.child {
            Some(Ok(child)) => matches!(child.try_wait(), Ok(None)),
            Some(Err(_)) => false,
            None => true,
        };
        let time_is_left = self.limit.is_none_or(|limit| started.elapsed() < limit);
        let ended = |ended: &Arc<AtomicBool>| ended.load(Ordering::Relaxed);
        let attended = !self.unattended.as_ref().is_some_and(ended);
        runs && attended && time_is_left && self.interrupt.signal().is_none()
    }

    /// The status of the command.  A command that still runs is killed: a signal came or its time is over.
    fn end(&mut self) -> Result<Option<ExitStatus>, Failure> {
        let cannot = |error: io::Error| Failure::Other(format!("{}: {error}", self.command[0]));
        let Some(child) = self.child.take() else {
            return Ok(None);
        };
        let mut child = child.map_err(cannot)?;
        if let Ok(None) = child.try_wait() {
            // The command may end by itself at this moment; then this fails.
            let _ = child.kill();
        }
        child.wait().map(Some).map_err(cannot)
    }

    /// The notes of the command.
    fn notes(&self) -> Result<Option<Notes>, String> {
        let damaged = || format!("{}: its notes are damaged", self.command[0]);
        match fs::read(self.notes_file()) {
            Ok(bytes) => Notes::from_bytes(&bytes).ok_or_else(damaged).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("the command's notes: {error}")),
        }
    }
}

/// Tells on standard output that recording has begun, and notes when standard input ends.
fn wait_for_end_of_input(ended: Arc<AtomicBool>) {
    println!("{}", super::whatif::BEGUN);
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        ended.store(true, Ordering::Relaxed);
    });
}

fn status_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let killed = || 128 + status.signal().unwrap_or(0);
    ExitCode::from(status.code().unwrap_or_else(killed) as u8)
}

fn measure(
    recording: &Recording,
    trace: TraceFile,
    arguments: &RecordArguments,
    status: Option<ExitStatus>,
) -> Result<(Run, Vec<Finished>), Failure> {
    let info = TraceInfo {
        policy: scheduler(),
        workload: match arguments.command.as_slice() {
            [] => "everything".into(),
            command => quoted(command),
        },
        machine: machine(recording.nr_cpus()),
        ..TraceInfo::default()
    };
    let recorded = Recorded::new(recording, &info, trace);
    let run = Run {
        command: called(),
        end: status.map_or(recorded.run.end.clone(), |status| status.to_string()),
        ..recorded.run
    };
    Ok((run, vec![recorded.sink.finish()?]))
}

/// The command line this program was called with.
pub(super) fn called() -> String {
    let words: Vec<String> = std::env::args().collect();
    quoted(&words)
}

/// The scheduler of this machine.
fn scheduler() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let ops = read("/sys/kernel/sched_ext/root/ops");
    match (read("/sys/kernel/sched_ext/state").trim(), ops.trim()) {
        ("enabled", ops) if !ops.is_empty() => ops.to_string(),
        _ => "none".to_string(),
    }
}

/// This machine: its CPUs and its kernel.
fn machine(nr_cpus: u32) -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = if nr_cpus == 1 { "CPU" } else { "CPUs" };
    format!("{nr_cpus} {cpus}, Linux {}", release.trim())
}
