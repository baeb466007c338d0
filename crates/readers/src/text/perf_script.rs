//! Lines of perf script.

use schedlab_recording::Pid;
use schedlab_trace::WakeContext;

use super::head::{cpus, event, thread, time, Head};
use super::split::once;
use super::Other;

/// An example of a line, for messages.
pub const EXAMPLE: &str =
    "\"comm pid [cpu] seconds: sched:sched_switch: …\", as of `perf script --ns`";

/// "comm  pid/tid [cpu] seconds: event: arguments"; the process id is missing by default.
pub fn head(line: &str) -> Option<Head<'_>> {
    cpus(line).find_map(|(before, cpu, behind)| {
        let before = before.strip_suffix(char::is_whitespace)?.trim_ascii_end();
        let ids = before.rsplit(char::is_whitespace).next()?;
        let (tgid, tid) = match once(ids, b'/') {
            Some((tgid, tid)) => (Some(id(tgid)?), id(tid)?),
            None => (None, id(ids)?),
        };
        let (time, digits, rest) = time(behind.trim_ascii_start())?;
        let (event, arguments) = event(period(rest))?;
        Some(Head {
            pid: tid,
            tgid: tgid.flatten().filter(|_| tid.is_some()),
            cpu,
            time,
            digits,
            by: match tid {
                Some(Pid::IDLE) => WakeContext::Irq,
                _ => WakeContext::Task,
            },
            has_flags: false,
            event,
            arguments,
        })
    })
}

/// A thread id; perf prints "-1" for a thread that has exited.
fn id(text: &str) -> Option<Option<Pid>> {
    if text == "-1" {
        return Some(None);
    }
    thread(text).map(Some)
}

/// Skips the period, which some versions of perf print before the event.
fn period(text: &str) -> &str {
    let text = text.trim_ascii_start();
    match once(text, b' ') {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => text,
    }
}

/// The meaning of a line without an event: a heading, or a step of a call chain.
pub fn other(line: &str) -> Option<Other> {
    // "# os release : 6.12.30", by `perf script --header`
    if let Some(release) = line.strip_prefix("# os release :") {
        return Some(Other::Release(release.trim().to_string()));
    }
    let is_step = || {
        let address = line.trim_start().split(' ').next().unwrap_or_default();
        line.starts_with([' ', '\t']) && u64::from_str_radix(address, 16).is_ok()
    };
    (line.is_empty() || line.starts_with('#') || is_step()).then_some(Other::Nothing)
}
