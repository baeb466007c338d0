//! Lines of ftrace and trace-cmd report.

use schedlab_recording::Pid;
use schedlab_trace::{CpuId, WakeContext};

use super::head::{cpus, event, thread, time, Head};
use super::split::{last, once, positions};
use super::Other;
use crate::write::{CALL_COST, RELEASE};

/// An example of a line, for messages.
pub const EXAMPLE: &str =
    "\"comm-pid [cpu] flags seconds: sched_switch: …\", as of ftrace's trace \
     file or `trace-cmd report -t`";

/// The largest number of flags a kernel prints.
const MAX_FLAGS: usize = 8;

/// The smallest number of flags a kernel prints.
const MIN_FLAGS: usize = 4;

/// A line with an event.
pub fn head(line: &str) -> Option<Head<'_>> {
    usual_head(line).or_else(|| latency_head(line))
}

/// "comm-pid (tgid) [cpu] flags seconds: event: arguments"; process and flags may be missing.
fn usual_head(line: &str) -> Option<Head<'_>> {
    cpus(line).find_map(|(before, cpu, behind)| {
        let (flags, behind) = flags(behind.trim_ascii_start())?;
        head_of(before, cpu, flags, behind)
    })
}

/// "comm-pid cpuflags seconds: event: arguments", as `trace-cmd report -l` prints it: "3d..2.".
fn latency_head(line: &str) -> Option<Head<'_>> {
    positions(line, b' ').find_map(|at| {
        let (word, behind) = once(&line[at + 1..], b' ')?;
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (cpu, flags) = word.split_at(digits);
        let cpu = crate::intake::cpu(cpu.parse().ok()?)?;
        let flags = Some(flags).filter(|flags| flags.len() >= MIN_FLAGS && are_flags(flags))?;
        head_of(&line[..at], cpu, Some(flags), behind.trim_ascii_start())
    })
}

/// The parts before the CPU and after the flags.
fn head_of<'a>(
    before: &'a str,
    cpu: CpuId,
    flags: Option<&str>,
    behind: &'a str,
) -> Option<Head<'a>> {
    let (task, tgid) = without_process(before.trim_ascii_end());
    let pid = thread(last(task.trim_ascii_end(), b'-')?.1)?;
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
}

/// Splits off "(  123)" or "(-------)", which `record-tgid` adds.
fn without_process(text: &str) -> (&str, Option<Pid>) {
    let Some((task, process)) = text.strip_suffix(')').and_then(|text| last(text, b'(')) else {
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
    let (first, rest) = once(text, b' ')?;
    if first.ends_with(':') {
        return Some((None, text));
    }
    are_flags(first).then_some((Some(first), rest.trim_ascii_start()))
}

fn are_flags(text: &str) -> bool {
    let is_flag = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'#';
    text.len() <= MAX_FLAGS && text.bytes().all(is_flag)
}

/// The context from the flags. Kernels print different numbers of flags, but these letters have one
/// meaning: hard interrupt (`h`, or `H` inside a softirq), softirq (`s`), non-maskable (`z`, or `Z`
/// inside a hard interrupt).
fn context(flags: Option<&str>, pid: Pid) -> WakeContext {
    let Some(flags) = flags else {
        return match pid {
            Pid::IDLE => WakeContext::Irq,
            _ => WakeContext::Task,
        };
    };
    let has = |letters: &[u8]| flags.bytes().any(|flag| letters.contains(&flag));
    match has(b"hHzZ") {
        true => WakeContext::Irq,
        false if has(b"s") => WakeContext::SoftIrq,
        false => WakeContext::Task,
    }
}

/// The meaning of a line without an event.
pub fn other(line: &str) -> Option<Other> {
    if let Some(lost) = lost(line) {
        return Some(lost);
    }
    if let Some(release) = line.strip_prefix(RELEASE) {
        return Some(Other::Release(release.trim().to_string()));
    }
    if let Some(cost) = line.strip_prefix(CALL_COST) {
        return cost.trim().parse().ok().map(Other::CallCost);
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
