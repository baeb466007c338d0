//! From values to positions, and where the ticks go.

use crate::quantity::Unit;

/// How values become positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spacing {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// A map from a domain of values to a range of pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// A tick of an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    /// Its place.
    pub value: f64,
    /// Its label; empty for the small ones between.
    pub label: String,
}

impl Scale {
    /// A scale for values `domain.0` to `domain.1` on pixels `range.0` to `range.1`.  A domain
    /// without extent is widened, and a logarithmic one is kept above zero, so that any data can be drawn.
    pub fn new(spacing: Spacing, domain: (f64, f64), range: (f64, f64)) -> Scale {
        let (mut low, mut high) = domain;
        if spacing == Spacing::Log {
            high = high.max(1e-12);
            low = low.clamp(high * 1e-9, high);
            if high / low < 1.001 {
                (low, high) = (low / 2.0, high * 2.0);
            }
        } else if high - low <= low.abs() * 1e-12 {
            high = low + if low == 0.0 { 1.0 } else { low.abs() };
        }
        Scale {
            spacing,
            low,
            high,
            from: range.0,
            to: range.1,
        }
    }

    /// The position of a value; values outside the domain stay at its end.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log => ln(value.max(self.low) / self.low) / ln(self.high / self.low),
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    /// The first pixel.
    pub fn start(&self) -> f64 {
        self.from
    }

    /// The last pixel.
    pub fn end(&self) -> f64 {
        self.to
    }

    /// The lowest value.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// How many labels have room along the range.
    pub(super) fn room_for_ticks(&self) -> usize {
        let room = match self.spacing {
            Spacing::Linear => 85.0,
            Spacing::Log => 55.0,
        };
        ((self.to - self.from).abs() / room).max(2.0) as usize
    }

    /// Ticks at round values: about `wanted` labelled ones.
    pub fn ticks(&self, unit: Unit, wanted: usize) -> Vec<Tick> {
        match self.spacing {
            Spacing::Linear => self.linear_ticks(unit, wanted),
            Spacing::Log => self.log_ticks(unit, wanted),
        }
    }

    fn linear_ticks(&self, unit: Unit, wanted: usize) -> Vec<Tick> {
        let step = round_step((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let labels = Labels::new(unit, step, self.low.abs().max(self.high.abs()));
        (0..=(last - first).max(0.0) as usize)
            .map(|i| (first + i as f64) * step)
            .map(|value| Tick {
                value,
                label: labels.of(value),
            })
            .collect()
    }

    fn log_ticks(&self, unit: Unit, wanted: usize) -> Vec<Tick> {
        let decades = (log10(self.low).floor() as i32)..=(log10(self.high).ceil() as i32);
        let span = log10(self.high / self.low);
        let every = (span / wanted.max(1) as f64).ceil().max(1.0) as i32;
        let between: &[f64] = if span < 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut ticks = Vec::new();
        for decade in decades {
            for digit in 1..10 {
                let value = f64::from(digit) * pow10(decade);
                if value < self.low * (1.0 - 1e-9) || value > self.high * (1.0 + 1e-9) {
                    continue;
                }
                let labelled = between.contains(&f64::from(digit)) && decade.rem_euclid(every) == 0;
                ticks.push(Tick {
                    value,
                    label: if labelled {
                        short(unit, value)
                    } else {
                        String::new()
                    },
                });
            }
        }
        ticks
    }
}

/// Labels that share a unit and have just the digits the step needs.
struct Labels {
    divisor: f64,
    sign: &'static str,
    digits: usize,
}

impl Labels {
    fn new(unit: Unit, step: f64, largest: f64) -> Labels {
        let (divisor, sign) = match unit {
            Unit::Time => time_unit(largest),
            Unit::Share => (0.01, "%"),
            _ if largest >= 1e7 => (1e6, "M"),
            _ if largest >= 1e4 => (1e3, "k"),
            _ => (1.0, ""),
        };
        let digits = (-log10(step / divisor) - 1e-9).ceil().clamp(0.0, 6.0) as usize;
        Labels {
            divisor,
            sign,
            digits,
        }
    }

    fn of(&self, value: f64) -> String {
        let value = value / self.divisor;
        if value.abs() < 1e-9 {
            return "0".to_string();
        }
        match self.sign {
            "" => format!("{value:.*}", self.digits),
            "%" | "k" | "M" => format!("{value:.*}{}", self.digits, self.sign),
            sign => format!("{value:.*} {sign}", self.digits),
        }
    }
}

fn time_unit(largest: f64) -> (f64, &'static str) {
    [(1e9, "s"), (1e6, "ms"), (1e3, "µs")]
        .into_iter()
        .find(|(unit, _)| largest >= *unit)
        .unwrap_or((1.0, "ns"))
}

/// A round value in the unit that suits it.
fn short(unit: Unit, value: f64) -> String {
    Labels::new(unit, value, value).of(value)
}

/// The least of 1, 2, 5, 10, 20, … that is not below `step`.
fn round_step(step: f64) -> f64 {
    let decade = pow10(log10(step).floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0];
    factor
        .into_iter()
        .map(|f| f * decade)
        .find(|s| *s >= step * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

/// The least round number that is not below `value`, for the end of an axis.
pub fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let step = round_step(value / 5.0);
    (value / step - 1e-9).ceil() * step
}

/// A power of ten; exact where floating point can be.
fn pow10(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}

// The `libm` crate, unlike the platform's, gives the same digits everywhere, so that a
// figure is the same file wherever it is drawn.
fn ln(x: f64) -> f64 {
    libm::log(x)
}

fn log10(x: f64) -> f64 {
    libm::log10(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, unit: Unit, wanted: usize) -> Vec<String> {
        let ticks = scale.ticks(unit, wanted).into_iter();
        ticks.map(|t| t.label).filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn linear_positions_and_ticks() {
        let s = Scale::new(Spacing::Linear, (0.0, 50.0), (100.0, 200.0));
        assert_eq!(s.at(25.0), 150.0);
        assert_eq!(s.at(99.0), 200.0);
        assert_eq!(
            labels(&s, Unit::Count, 5),
            ["0", "10", "20", "30", "40", "50"]
        );
        let s = Scale::new(Spacing::Linear, (0.0, 0.004), (0.0, 1.0));
        assert_eq!(
            labels(&s, Unit::Share, 4),
            ["0", "0.1%", "0.2%", "0.3%", "0.4%"]
        );
        let s = Scale::new(Spacing::Linear, (0.0, 2.5e9), (0.0, 1.0));
        assert_eq!(labels(&s, Unit::Time, 5)[1], "0.5 s");
    }

    #[test]
    fn log_positions_and_ticks() {
        let s = Scale::new(Spacing::Log, (1e3, 1e7), (0.0, 400.0));
        assert!((s.at(1e5) - 200.0).abs() < 1e-9);
        assert_eq!(s.at(0.0), 0.0);
        let expected = ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"];
        assert_eq!(labels(&s, Unit::Time, 6), expected);
        let s = Scale::new(Spacing::Log, (1.0, 10.0), (0.0, 1.0));
        assert_eq!(labels(&s, Unit::Count, 6), ["1", "2", "5", "10"]);
    }

    #[test]
    fn a_domain_without_extent_can_be_drawn() {
        for spacing in [Spacing::Linear, Spacing::Log] {
            for value in [0.0, 1.0, 5e9] {
                let s = Scale::new(spacing, (value, value), (0.0, 10.0));
                assert!(s.at(value).is_finite(), "{spacing:?} {value}");
                assert!(s.ticks(Unit::Time, 5).len() < 100);
            }
        }
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(round_up(0.0), 1.0);
        assert_eq!(round_up(7.3), 8.0);
        assert_eq!(round_up(100.0), 100.0);
        assert_eq!(round_up(101.0), 150.0);
    }
}
