//! Quantities as users write them: always with a unit, always exact.
//!
//! Every reader here leaves file, line and key of its [`Diagnostic`] for the caller to fill in.

use schedlab_trace::Ns;

use crate::Diagnostic;

/// The longest duration that can be written, in hours; sums of such durations do not overflow.
pub const MAX_HOURS: u64 = 10_000;

/// The most CPUs a machine can have; CPU numbers are smaller.
pub const MAX_CPUS: u32 = 1024;

/// The largest size that can be written, in bytes: 1 TiB.
pub const MAX_SIZE_BYTES: u64 = 1 << 40;

const DURATION_EXAMPLE: &str =
    "a duration with its unit, such as \"250ns\", \"10us\", \"2ms\", \"1.5s\"";
const SIZE_EXAMPLE: &str = "a size with its unit, such as \"64B\", \"512KiB\", \"2MiB\"";
const CPUS_EXAMPLE: &str = "a list of CPUs, such as \"0-3,8\"";

/// Nanoseconds in each unit of time.
const TIME_UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Bytes in each unit of size.
const SIZE_UNITS: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Reads a duration: a number of at least 0 and one of the units ns, us, ms, s, min, h.
///
/// # Errors
/// No unit, an unknown one, not a whole number of nanoseconds, or more than [`MAX_HOURS`].
pub fn duration(text: &str) -> Result<Ns, Diagnostic> {
    let most = MAX_HOURS * 3_600_000_000_000;
    let ns = measure(text, &TIME_UNITS, DURATION_EXAMPLE, "nanoseconds")?;
    match u64::try_from(ns) {
        Ok(ns) if ns <= most => Ok(Ns(ns)),
        _ => Err(Diagnostic::new(format!("\"{text}\" is too long"))
            .expected(format!("at most {MAX_HOURS}h"))),
    }
}

/// Reads a size in bytes: a number of at least 0 and one of the units B, KiB, MiB, GiB.
///
/// # Errors
/// No unit, an unknown one, not a whole number of bytes, or more than [`MAX_SIZE_BYTES`].
pub fn size(text: &str) -> Result<u64, Diagnostic> {
    let bytes = measure(text, &SIZE_UNITS, SIZE_EXAMPLE, "bytes")?;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_SIZE_BYTES => Ok(bytes),
        _ => Err(Diagnostic::new(format!("\"{text}\" is too large")).expected("at most 1024GiB")),
    }
}

/// Reads a number of at least 0 with up to three decimals, such as "1.5", in thousandths.
///
/// # Errors
/// Not such a number, or more than a million.
pub fn thousandths(text: &str) -> Result<u32, Diagnostic> {
    let mistake = |problem: &str| {
        Diagnostic::new(format!("\"{text}\" {problem}"))
            .expected("a number with up to three decimals, such as \"1.5\"")
    };
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let read = plain.then(|| decimal(text)).flatten();
    let (digits, decimals) = read.ok_or_else(|| mistake("is not a number"))?;
    if (digits * 1000) % decimals != 0 {
        return Err(mistake("has too many decimals"));
    }
    match u32::try_from(digits * 1000 / decimals) {
        Ok(milli) if milli <= 1_000_000_000 => Ok(milli),
        _ => Err(mistake("is too large")),
    }
}

/// Reads a list of CPU numbers and ranges as the kernel prints it ("0-3,8"), at least one CPU.
/// The result is sorted and without repetitions.
///
/// # Errors
/// Not such a list, a range that runs backwards, or a CPU that is not below [`MAX_CPUS`].
pub fn cpu_list(text: &str) -> Result<Vec<u32>, Diagnostic> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (cpu(first, text)?, cpu(last, text)?);
        if first > last {
            return Err(
                Diagnostic::new(format!("the range \"{}\" runs backwards", part.trim()))
                    .expected(CPUS_EXAMPLE),
            );
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn cpu(text: &str, list: &str) -> Result<u32, Diagnostic> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(
            Diagnostic::new(format!("\"{list}\" is not a list of CPUs")).expected(CPUS_EXAMPLE)
        );
    }
    match text.parse() {
        Ok(cpu) if cpu < MAX_CPUS => Ok(cpu),
        _ => Err(Diagnostic::new(format!("there is no CPU {text}"))
            .expected(format!("CPU numbers 0 to {}", MAX_CPUS - 1))),
    }
}

/// Reads "NUMBER UNIT" exactly: the number scaled by its unit.
fn measure(
    text: &str,
    units: &[(&str, u64)],
    example: &str,
    atoms: &str,
) -> Result<u128, Diagnostic> {
    let mistake = |problem: String| Diagnostic::new(problem).expected(example);
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    if number.is_empty() {
        return Err(mistake(format!(
            "\"{text}\" does not begin with a number of at least 0"
        )));
    }
    if unit.is_empty() {
        return Err(mistake(format!("\"{text}\" has no unit")));
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(mistake(format!("unknown unit \"{unit}\""))
            .suggest(unit, units.iter().map(|(name, _)| *name)));
    };
    let (digits, decimals) =
        decimal(number).ok_or_else(|| mistake(format!("\"{number}\" is not a number")))?;
    let scaled = digits * u128::from(scale);
    if scaled % decimals != 0 {
        return Err(mistake(format!(
            "\"{text}\" is not a whole number of {atoms}"
        )));
    }
    Ok(scaled / decimals)
}

/// A decimal number as its digits and the power of ten to divide them by.
fn decimal(number: &str) -> Option<(u128, u128)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || whole.len() + fraction.len() > 24 {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, 10u128.pow(fraction.len() as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused<T: std::fmt::Debug>(result: Result<T, Diagnostic>, message: &str) {
        let error = result.unwrap_err();
        let text = Diagnostic {
            file: "f".into(),
            ..error
        }
        .to_string();
        assert!(text.contains(message), "{text:?} does not say {message:?}");
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(duration("250ns").unwrap(), Ns(250));
        assert_eq!(duration("10us").unwrap(), Ns(10_000));
        assert_eq!(duration("10µs").unwrap(), Ns(10_000));
        assert_eq!(duration("2 ms").unwrap(), Ns(2_000_000));
        assert_eq!(duration("1.5s").unwrap(), Ns(1_500_000_000));
        assert_eq!(duration("16.666667ms").unwrap(), Ns(16_666_667));
        assert_eq!(duration("2min").unwrap(), Ns(120_000_000_000));
        assert_eq!(duration("1h").unwrap(), Ns(3_600_000_000_000));
        assert_eq!(duration("0s").unwrap(), Ns(0));
    }

    #[test]
    fn a_duration_without_sense_is_refused() {
        refused(duration("10"), "\"10\" has no unit; expected a duration");
        refused(duration(""), "does not begin with a number");
        refused(
            duration("-1ms"),
            "does not begin with a number of at least 0",
        );
        refused(duration("1.5ns"), "not a whole number of nanoseconds");
        refused(duration("1.2.3s"), "\"1.2.3\" is not a number");
        refused(duration(".s"), "\".\" is not a number");
        refused(duration("3mss"), "unknown unit \"mss\"");
        refused(duration("3mss"), "did you mean \"ms\"?");
        refused(duration("10001h"), "too long; expected at most 10000h");
        refused(duration("99999999999999999999999999s"), "is not a number");
    }

    #[test]
    fn sizes_are_bytes() {
        assert_eq!(size("64B").unwrap(), 64);
        assert_eq!(size("512KiB").unwrap(), 524_288);
        assert_eq!(size("1.5 MiB").unwrap(), 1_572_864);
        refused(size("512KB"), "unknown unit \"KB\"");
        refused(size("512KB"), "did you mean \"KiB\"?");
        refused(size("512"), "has no unit");
        refused(size("0.3B"), "not a whole number of bytes");
        refused(size("1025GiB"), "too large");
    }

    #[test]
    fn thousandths_are_exact() {
        assert_eq!(thousandths("1.5").unwrap(), 1500);
        assert_eq!(thousandths("2").unwrap(), 2000);
        assert_eq!(thousandths("0.001").unwrap(), 1);
        refused(thousandths("0.0001"), "has too many decimals");
        refused(thousandths("-1"), "is not a number");
        refused(thousandths("1e3"), "is not a number");
        refused(thousandths("1000001"), "is too large");
    }

    #[test]
    fn cpu_lists_are_sorted_sets() {
        assert_eq!(cpu_list("0-3,8").unwrap(), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list(" 8, 2-3, 3 ").unwrap(), [2, 3, 8]);
        refused(cpu_list(""), "is not a list of CPUs");
        refused(cpu_list("0-"), "is not a list of CPUs");
        refused(cpu_list("+1"), "is not a list of CPUs");
        refused(cpu_list("3-0"), "the range \"3-0\" runs backwards");
        refused(
            cpu_list("0-5000"),
            "there is no CPU 5000; expected CPU numbers 0 to 1023",
        );
    }
}
