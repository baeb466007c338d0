//! Lines of ftrace and trace-cmd report.

use schedlab_recording::Pid;
use schedlab_trace::WakeContext;

use super::head::{cpus, event, thread, time, Head};
use super::Other;

/// A line, for messages.
pub const EXAMPLE: &str =
    "\"comm-pid [cpu] flags seconds: sched_switch: …\", as of ftrace's trace \
     file or `trace-cmd report -t`";

/// The longest run of flags a kernel prints.
const MAX_FLAGS: usize = 8;

/// "comm-pid (tgid) [cpu] flags seconds: event: arguments"; process and flags may be missing.
pub fn head(line: &str) -> Option<Head<'_>> {
    cpus(line).find_map(|(before, cpu, behind)| {
        let (task, tgid) = without_process(before.trim_end());
        let pid = thread(task.trim_end().rsplit_once('-')?.1)?;
        let (flags, behind) = flags(behind.trim_start())?;
        let (time, digits, rest) = time(behind)?;
        let (event, arguments) = event(rest)?;
        Some(Head {
            pid: Some(pid),
            tgid: tgid.filter(|_| pid != Pid::IDLE),
            cpu,
            time,
            digits,
            by: context(flags, pid),
            has_flags: flags.is_some(),
            event,
            arguments,
        })
    })
}

/// Splits off "(  123)" or "(-------)", which `record-tgid` adds.
fn without_process(text: &str) -> (&str, Option<Pid>) {
    let Some((task, process)) = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    else {
        return (text, None);
    };
    let process = process.trim();
    match thread(process) {
        Some(tgid) => (task, Some(tgid)),
        None if !process.is_empty() && process.bytes().all(|b| b == b'-') => (task, None),
        None => (text, None),
    }
}

/// Splits off the flags, if there are any.
fn flags(text: &str) -> Option<(Option<&str>, &str)> {
    let (first, rest) = text.split_once(' ')?;
    if first.ends_with(':') {
        return Some((None, text));
    }
    let is_flag = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'#';
    let are_flags = first.len() <= MAX_FLAGS && first.bytes().all(is_flag);
    are_flags.then_some((Some(first), rest.trim_start()))
}

/// Was it an interrupt?  However many flags a kernel prints, these letters stand for nothing
/// else in any of them: hard interrupt (`h`, within a soft one `H`), soft (`s`), non-maskable
/// (`z`, within a hard one `Z`).
fn context(flags: Option<&str>, pid: Pid) -> WakeContext {
    let interrupt = match flags {
        Some(flags) => flags.contains(['h', 'H', 's', 'z', 'Z']),
        None => pid == Pid::IDLE,
    };
    match interrupt {
        true => WakeContext::Irq,
        false => WakeContext::Task,
    }
}

/// What a line without an event is.
pub fn other(line: &str) -> Option<Other> {
    if let Some(lost) = lost(line) {
        return Some(lost);
    }
    let text = line.trim_start();
    let number = |text: &str| text.trim().parse().ok().map(Other::Cpus);
    if let Some((_, cpus)) = line.split_once("#P:").filter(|_| line.starts_with('#')) {
        return number(cpus).or(Some(Other::Nothing));
    }
    if let Some(cpus) = text.strip_prefix("cpus=") {
        return number(cpus).or(Some(Other::Nothing));
    }
    let is_notice = line.is_empty()
        || line.starts_with('#')
        || text.starts_with("=>")
        || text.starts_with("<stack trace>")
        || text.starts_with("version = ")
        || text.starts_with("CPU ") && text.ends_with("is empty")
        || text.starts_with("CPU:") && text.contains("STARTED");
    is_notice.then_some(Other::Nothing)
}

/// "CPU:1 [LOST 23 EVENTS]" (ftrace), "CPU:1 [23 EVENTS DROPPED]" (trace-cmd).
fn lost(line: &str) -> Option<Other> {
    let notice = line.trim().strip_prefix("CPU:")?.split_once('[')?.1;
    let words: Vec<&str> = notice.trim_end_matches(']').split(' ').collect();
    match words[..] {
        ["LOST", count, "EVENTS"] | [count, "EVENTS", "DROPPED"] => {
            Some(Other::Lost(count.parse().ok()))
        }
        ["LOST", "EVENTS"] | ["EVENTS", "DROPPED"] => Some(Other::Lost(None)),
        _ => None,
    }
}
