//! Values of options: numbers, and times and sizes with units.

use schedlab_input::quantity;
use schedlab_trace::Ns;

/// A time with its unit; 0 needs none.
pub fn time(text: &str) -> Result<Ns, String> {
    match text {
        "0" => Ok(Ns::ZERO),
        _ => quantity::duration(text).map_err(|error| error.expected),
    }
}

/// A time above zero.
pub(super) fn positive_time(text: &str) -> Result<Ns, String> {
    match time(text)? {
        Ns(0) => Err("a time above 0".to_string()),
        ns => Ok(ns),
    }
}

/// A size with its unit; 0 needs none.
pub fn size(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        _ => quantity::size(text).map_err(|error| error.expected),
    }
}

/// A decimal fraction from 0 to 3 with at most three digits, in thousandths.
pub fn sigma(text: &str) -> Result<u32, String> {
    thousandths(text)
        .filter(|milli| *milli <= 3000)
        .ok_or_else(|| "a number from 0 to 3, such as 0.2".to_string())
}

/// "0.25" as 250.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let fraction: u32 = format!("{fraction:0<3}").parse().ok()?;
    Some(whole * 1000 + fraction)
}

/// A whole number within these bounds.
pub fn number(least: u32, most: u32) -> impl Fn(&str) -> Result<u32, String> + Clone {
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

/// "yes" or "no".
pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("1.5ms"), Ok(Ns(1_500_000)));
        assert_eq!(time("250us"), Ok(Ns(250_000)));
        assert_eq!(time("7ns"), Ok(Ns(7)));
        assert_eq!(time("5min"), Ok(Ns(300_000_000_000)));
        assert_eq!(time("0"), Ok(Ns(0)));
        for bad in ["", "5", "-1ms"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_sigmas_and_nices_have_ranges() {
        assert_eq!(size("512KiB"), Ok(524_288));
        assert_eq!(size("1.5MiB"), Ok(1_572_864));
        assert!(size("512kb").is_err());
        assert_eq!(sigma("0.25"), Ok(250));
        assert_eq!(sigma("3"), Ok(3000));
        for bad in ["3.001", "", ".", "0.1234", "-1", "1e1"] {
            assert!(sigma(bad).is_err(), "{bad}");
        }
        assert_eq!(nice("-20"), Ok(-20));
        assert!(nice("20").is_err());
    }
}
