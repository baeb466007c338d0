//! Reads the texts of perf script, ftrace and trace-cmd report.
//!
//! A line has a *head* (task, CPU, time), which each tool prints in its own format, and an event
//! with arguments, which the kernel prints ([`arguments`]).

mod arguments;
mod ftrace;
mod head;
mod perf_script;
mod split;

use std::borrow::Cow;
use std::io::BufRead;

use schedlab_recording::Recording;
use schedlab_trace::SIMULATED_HEADING;

use crate::failure::Failure;
use crate::intake::Intake;
use crate::report::{FileFormat, ReadReport};

use head::Head;

/// The longest line in bytes; a file with a longer one is not text.
const MAX_LINE: usize = 1 << 20;

/// The format of a text; `None` if it is unknown.
pub fn format_of(head: &[u8]) -> Option<FileFormat> {
    // Task names may contain any byte except 0.
    if head.iter().take(4096).any(|byte| *byte == 0) {
        return None;
    }
    let text = String::from_utf8_lossy(head);
    let lines = || text.lines().take(200);
    if lines().any(|line| perf_script::head(line).is_some()) {
        return Some(FileFormat::PerfScript);
    }
    let is_ftrace = |line: &str| line.starts_with("# tracer:") || ftrace::head(line).is_some();
    lines().any(is_ftrace).then_some(FileFormat::Ftrace)
}

/// Reads all lines.
pub fn read(
    mut lines: impl BufRead,
    format: FileFormat,
) -> Result<(Recording, ReadReport), Failure> {
    let mut reader = Reader::new(format);
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        let length =
            std::io::Read::take(&mut lines, MAX_LINE as u64).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        number += 1;
        let is_whole = line.last() == Some(&b'\n');
        let text = text_of(&line);
        reader.line(text.trim_end()).map_err(|failure| {
            let cut = !is_whole && length < MAX_LINE;
            cut_short(failure, cut).line(number)
        })?;
    }
    reader.finish()
}

/// As `from_utf8_lossy`, but faster for valid text.
fn text_of(line: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed)
}

fn cut_short(failure: Failure, cut: bool) -> Failure {
    match cut {
        true => Failure::new(format!(
            "the file ends inside this line: {}",
            failure.problem
        ))
        .expected(failure.expected),
        false => failure,
    }
}

struct Reader {
    format: FileFormat,
    intake: Intake,
    /// The largest number of decimals of a time.
    digits: u32,
}

impl Reader {
    fn new(format: FileFormat) -> Reader {
        Reader {
            format,
            intake: Intake::new(format),
            digits: 0,
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        let head = match self.format {
            FileFormat::PerfScript => perf_script::head(line),
            _ => ftrace::head(line),
        };
        match head {
            Some(head) => self.event(&head, line),
            None => self.other(line),
        }
    }

    fn event(&mut self, head: &Head<'_>, line: &str) -> Result<(), Failure> {
        self.digits = self.digits.max(head.digits);
        self.intake.recording.has_contexts &= head.has_flags;
        if let (Some(tgid), Some(pid)) = (head.tgid, head.pid) {
            self.intake.recording.thread(pid, tgid);
        }
        if head.event == "sched_wakeup" {
            self.intake.has_wakeups();
        }
        match arguments::read(head, &mut self.intake) {
            arguments::Said::Event(kind) => self.intake.push(head.time, head.cpu, kind),
            arguments::Said::Other => self.intake.ignore(head.event),
            arguments::Said::Nonsense => {
                let problem = format!(
                    "the arguments of {} cannot be read: \"{}\"",
                    head.event, line
                );
                return Err(Failure::new(problem).expected("the arguments the kernel prints"));
            }
        }
        Ok(())
    }

    /// Handles a line that is not an event.
    fn other(&mut self, line: &str) -> Result<(), Failure> {
        let known = match self.format {
            _ if line == SIMULATED_HEADING => Some(Other::Simulated),
            FileFormat::PerfScript => perf_script::other(line),
            _ => ftrace::other(line),
        };
        match known {
            Some(Other::Nothing) => self.intake.report.nr_other_lines += 1,
            Some(Other::Cpus(number)) => {
                self.intake.report.nr_other_lines += 1;
                self.intake.cpus(number);
            }
            Some(Other::Release(release)) => {
                self.intake.report.nr_other_lines += 1;
                self.intake.recording.release = Some(release);
            }
            Some(Other::CallCost(ns)) => {
                self.intake.report.nr_other_lines += 1;
                self.intake.recording.call_cost_ns = ns;
            }
            Some(Other::Simulated) => {
                self.intake.report.nr_other_lines += 1;
                self.intake.recording.is_simulated = true;
            }
            Some(Other::Lost(events)) => self.intake.lost(events),
            None => {
                let problem = format!("this is not a line of {}: \"{line}\"", self.format);
                return Err(Failure::new(problem).expected(match self.format {
                    FileFormat::PerfScript => perf_script::EXAMPLE,
                    _ => ftrace::EXAMPLE,
                }));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Recording, ReadReport), Failure> {
        self.intake.report.resolution_ns = 10u64.pow(9 - self.digits.min(9));
        if self.intake.report.resolution_ns > 1 {
            let note = match self.format {
                FileFormat::PerfScript => {
                    "times are in microseconds; `perf script --ns` prints nanoseconds"
                }
                _ => "times are in microseconds; `trace-cmd report -t` prints nanoseconds",
            };
            self.intake.note(note);
        }
        if self.format == FileFormat::PerfScript {
            self.intake.note(
                "perf script does not print the context of wakings: those by an idle CPU and of tasks in state D \
                 count as done by interrupts, all others as done by tasks",
            );
        }
        self.intake.finish()
    }
}

/// The meaning of a line that is not an event.
enum Other {
    /// Nothing a recording needs.
    Nothing,
    /// The number of CPUs.
    Cpus(u64),
    /// The kernel's release.
    Release(String),
    /// CPU time to record a system call, in ns.
    CallCost(u64),
    /// The trace of a simulation by schedlab, not of a kernel.
    Simulated,
    /// Events were lost; their number, if it is known.
    Lost(Option<u64>),
}
