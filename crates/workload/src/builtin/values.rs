//! Values of options: times and sizes with units.

use schedlab_trace::Ns;

/// A time: a number with ns, us, ms, s or min; 0 needs no unit.
pub(super) fn time(text: &str) -> Result<Ns, String> {
    const UNITS: [(&str, u64); 6] = [
        ("min", 60_000_000_000),
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ];
    if text == "0" {
        return Ok(Ns::ZERO);
    }
    scaled(text, &UNITS)
        .map(Ns)
        .ok_or_else(|| "a time with its unit, such as 100us, 1.5ms or 60s".to_string())
}

/// A time above zero.
pub(super) fn positive_time(text: &str) -> Result<Ns, String> {
    match time(text)? {
        Ns(0) => Err("a time above 0".to_string()),
        ns => Ok(ns),
    }
}

/// A size: a number with B, KiB, MiB or GiB; 0 needs no unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("B", 1),
    ];
    if text == "0" {
        return Ok(0);
    }
    scaled(text, &UNITS).ok_or_else(|| "a size with its unit, such as 512KiB".to_string())
}

/// A decimal fraction from 0 to 3, in thousandths.
pub(super) fn sigma(text: &str) -> Result<u32, String> {
    decimal(text, 1000)
        .filter(|milli| *milli <= 3000)
        .map(|milli| milli as u32)
        .ok_or_else(|| "a number from 0 to 3, such as 0.2".to_string())
}

/// A whole number within these bounds.
pub(super) fn number(least: u32, most: u32) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        text.parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("a whole number, {least} to {most}"))
    }
}

/// A nice value.
pub(super) fn nice(text: &str) -> Result<i8, String> {
    text.parse()
        .ok()
        .filter(|nice| (-20..=19).contains(nice))
        .ok_or_else(|| "a nice value, -20 to 19".to_string())
}

/// A number followed by one of the units.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(unit, scale)| {
        let number = text.strip_suffix(unit)?;
        decimal(number.trim_end(), *scale)
    })
}

/// A decimal number times `scale`, exactly: no floating point, so no rounding either.
/// Anything finer than one part of `scale` is refused.
fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 12 {
        return None;
    }
    let part = 10u128.pow(fraction.len() as u32);
    let scaled = fraction.parse::<u128>().ok()? * u128::from(scale);
    if scaled % part != 0 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    whole.checked_add((scaled / part) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time("1.5ms"), Ok(Ns(1_500_000)));
        assert_eq!(time("250us"), Ok(Ns(250_000)));
        assert_eq!(time("7ns"), Ok(Ns(7)));
        assert_eq!(time("5min"), Ok(Ns(300_000_000_000)));
        assert_eq!(time("0"), Ok(Ns(0)));
        for bad in ["", "5", "ms", "-1ms", "1.0001us", "1e3ms", "99999999999s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_sigmas_and_nices_have_ranges() {
        assert_eq!(size("512KiB"), Ok(524_288));
        assert_eq!(size("1.5MiB"), Ok(1_572_864));
        assert!(size("512kb").is_err());
        assert_eq!(sigma("0.25"), Ok(250));
        assert!(sigma("3.5").is_err());
        assert_eq!(nice("-20"), Ok(-20));
        assert!(nice("20").is_err());
    }
}
