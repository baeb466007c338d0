//! Quantities in text: one unit for all numbers that are compared.

/// What a number measures, which decides how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds; written in ns, µs, ms or s.
    Time,
    /// Things counted.
    Count,
    /// Things counted in each second.
    Rate,
    /// A part of a whole, 0 to 1; written in per cent.
    Share,
    /// A number without a unit, such as an index or a ratio.
    Plain,
}

/// How to write numbers of one unit so that they can be compared at a glance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Format {
    divisor: f64,
    /// The unit's sign ("ms"), empty where there is none.
    pub sign: &'static str,
    digits: usize,
}

const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];

/// Printed for a number that was not measured.
pub const MISSING: &str = "–";

impl Unit {
    /// The format that suits all of `values` together.
    pub fn format(self, values: impl IntoIterator<Item = f64>) -> Format {
        let range = Range::of(values);
        match self {
            Unit::Time => time_format(&range),
            Unit::Count | Unit::Rate => Format {
                divisor: 1.0,
                sign: if self == Unit::Rate { "/s" } else { "" },
                digits: if range.whole || range.largest >= 100.0 {
                    0
                } else {
                    2
                },
            },
            Unit::Share => Format {
                divisor: 0.01,
                sign: "%",
                digits: match range.smallest {
                    x if x < 0.000_1 => 3,
                    x if x < 0.001 => 2,
                    _ => 1,
                },
            },
            Unit::Plain => Format {
                divisor: 1.0,
                sign: "",
                digits: if range.largest < 10.0 { 3 } else { 1 },
            },
        }
    }

    /// One number by itself, with its unit.
    pub fn show(self, value: f64) -> String {
        let format = self.format([value]);
        match format.sign {
            "" => format.number(value),
            sign => format!("{}\u{a0}{sign}", format.number(value)),
        }
    }
}

/// Time is written in the unit of the largest value, or in the next smaller one
/// where the smallest would otherwise vanish behind zeros.
fn time_format(range: &Range) -> Format {
    let fits = |x: f64| TIMES.iter().position(|(unit, _)| x >= *unit).unwrap_or(3);
    let mut index = fits(range.largest);
    if range.smallest < TIMES[index].0 * 1e-2 && index < 3 {
        index += 1;
    }
    let (divisor, sign) = TIMES[index];
    let digits = match range.largest / divisor {
        _ if divisor == 1.0 => usize::from(!range.whole),
        _ if range.smallest / divisor < 0.1 => 3,
        _ if range.smallest / divisor < 1.0 => 2,
        x if x < 10.0 => 2,
        x if x < 100.0 || range.smallest / divisor < 10.0 => 1,
        _ => 0,
    };
    Format {
        divisor,
        sign,
        digits,
    }
}

impl Format {
    /// The number without its unit, with separators between thousands.
    pub fn number(&self, value: f64) -> String {
        if !value.is_finite() {
            return MISSING.to_string();
        }
        // Zero is exact without digits behind the point, and easier to see.
        if value == 0.0 {
            return "0".to_string();
        }
        group(&format!("{:.*}", self.digits, value / self.divisor))
    }
}

/// The magnitudes a format has to serve.
struct Range {
    /// Smallest magnitude that is not zero; 1 if there is none.
    smallest: f64,
    largest: f64,
    whole: bool,
}

impl Range {
    fn of(values: impl IntoIterator<Item = f64>) -> Range {
        let mut range = Range {
            smallest: f64::INFINITY,
            largest: 0.0,
            whole: true,
        };
        for x in values.into_iter().filter(|x| x.is_finite() && *x != 0.0) {
            range.smallest = range.smallest.min(x.abs());
            range.largest = range.largest.max(x.abs());
            range.whole &= x.fract() == 0.0;
        }
        if range.smallest.is_infinite() {
            range.smallest = 1.0;
        }
        range
    }
}

/// Puts a comma between thousands of the part before the decimal point.
fn group(number: &str) -> String {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_share_the_unit_of_the_largest() {
        let f = Unit::Time.format([1_500_000.0, 12_300_000.0]);
        assert_eq!((f.sign, f.number(1_500_000.0)), ("ms", "1.5".into()));
        assert_eq!(f.number(12_300_000.0), "12.3");
    }

    #[test]
    fn a_small_time_beside_a_large_one_keeps_its_digits() {
        // 1.2 µs beside 340 ms: in ms the first would read 0.001.
        let f = Unit::Time.format([1_200.0, 340_000_000.0]);
        assert_eq!((f.sign, f.number(1_200.0)), ("µs", "1.2".into()));
        assert_eq!(f.number(340_000_000.0), "340,000.0");
    }

    #[test]
    fn counts_group_thousands() {
        assert_eq!(Unit::Count.show(1_234_567.0), "1,234,567");
        assert_eq!(Unit::Count.show(-1_234.0), "-1,234");
        assert_eq!(Unit::Count.show(999.0), "999");
        assert_eq!(Unit::Count.show(2.5), "2.50");
    }

    #[test]
    fn numbers_by_themselves() {
        assert_eq!(Unit::Share.show(0.125), "12.5\u{a0}%");
        assert_eq!(Unit::Plain.show(0.98765), "0.988");
        assert_eq!(Unit::Rate.show(5_000.0), "5,000\u{a0}/s");
        assert_eq!(Unit::Time.show(0.0), "0\u{a0}ns");
        assert_eq!(Unit::Count.show(f64::NAN), MISSING);
    }
}
