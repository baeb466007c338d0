//! The part of a line before the event: task, CPU and time.

use schedlab_recording::Pid;
use schedlab_trace::{CpuId, Time, WakeContext};

use super::split::{once, positions};
use crate::intake;

/// The head of a line.
pub struct Head<'a> {
    /// The running thread; `None` if the tool does not print it.
    pub pid: Option<Pid>,
    /// Its process, if the line names it.
    pub tgid: Option<Pid>,
    /// The CPU.
    pub cpu: CpuId,
    /// The time.
    pub time: Time,
    /// The number of decimals of the time.
    pub digits: u32,
    /// Whether it happened in an interrupt.
    pub by: WakeContext,
    /// Whether the line has flags.
    pub has_flags: bool,
    /// The event's name, without its system.
    pub event: &'a str,
    /// The arguments of the event.
    pub arguments: &'a str,
}

/// Possible positions of "[CPU]" in a line: the text before, the CPU, the text after.
///
/// Names may contain brackets, so the caller tries each position until the rest of the line fits.
pub fn cpus(line: &str) -> impl Iterator<Item = (&str, CpuId, &str)> {
    positions(line, b'[').filter_map(|at| {
        let (number, behind) = once(&line[at + 1..], b']')?;
        Some((&line[..at], intake::cpu(digits(number)?)?, behind))
    })
}

/// A thread's id.
pub fn thread(text: &str) -> Option<Pid> {
    text.parse().ok().map(Pid)
}

/// A number of digits without a sign.
fn digits(text: &str) -> Option<u64> {
    let add = |number: u64, byte: u8| {
        let digit = Some(byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    let number = text.bytes().try_fold(0, add);
    number.filter(|_| !text.is_empty())
}

/// A time at the start of the text, up to its colon: "3231.698704: rest".
pub fn time(text: &str) -> Option<(Time, u32, &str)> {
    let (time, rest) = once(text, b':')?;
    let (seconds, fraction) = once(time, b'.')?;
    if fraction.len() > 9 {
        return None;
    }
    let nr_digits = fraction.len() as u32;
    let ns = digits(fraction)? * 10u64.pow(9 - nr_digits);
    let ns = digits(seconds)?
        .checked_mul(1_000_000_000)?
        .checked_add(ns)?;
    Some((Time(ns), nr_digits, rest))
}

/// The event and its arguments: "sched:sched_switch: prev_comm=…".
pub fn event(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_ascii_start();
    let (name, arguments) = once(text, b' ').unwrap_or((text, ""));
    let name = name.strip_suffix(':').unwrap_or(name);
    let systems = ["sched:", "task:", "syscalls:"];
    let bare = systems.iter().find_map(|system| name.strip_prefix(system));
    let name = bare.unwrap_or(name);
    (!name.is_empty()).then_some((name, arguments.trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_they_have() {
        let at = |text| time(text).map(|(time, digits, rest)| (time.0, digits, rest));
        assert_eq!(at("3.000001: x"), Some((3_000_001_000, 6, " x")));
        assert_eq!(at("3.000000001:"), Some((3_000_000_001, 9, "")));
        for bad in [
            "3:",
            "3.0000000001: x",
            ".5:",
            "3.: x",
            "99999999999.0:",
            "3.-1:",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn brackets_in_names_are_passed_over() {
        let found: Vec<u32> = cpus("a[0]b [x] [] [003] [99999]").map(|c| c.1 .0).collect();
        assert_eq!(found, [0, 3]);
    }
}
