//! Seeded random numbers.  Each task has its own stream, so its draws do not depend on other
//! tasks.  They are the same on every machine (no platform mathematics).

use schedlab_trace::Ns;

use crate::Distribution;

/// A SplitMix64 stream (Steele, Lea, Flood 2014).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream of the task `name` with instance number `instance` in a run with this seed.
    pub fn of_task(seed: u64, name: &str, instance: u32) -> Stream {
        let mut state = mix64(seed);
        for byte in name.bytes() {
            state = mix64(state ^ u64::from(byte));
        }
        Stream(mix64(state ^ (u64::from(instance) << 32)))
    }

    /// The stream of a machine in a run with this seed.
    pub fn of_machine(seed: u64) -> Stream {
        Stream::of_task(seed, "", u32::MAX)
    }

    /// A time of at most `most`, uniformly drawn.
    pub fn up_to(&mut self, most: Ns) -> Ns {
        Ns(self.draw(&Distribution::Uniform {
            low: 0,
            high: most.0,
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.0)
    }

    /// Evenly in (0, 1]; never 0, so that its logarithm exists.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// An amount in nanoseconds.
    pub fn draw(&mut self, distribution: &Distribution) -> u64 {
        let value = match *distribution {
            Distribution::Uniform { low, high } => {
                let span = (high - low).wrapping_add(1);
                return low
                    + if span == 0 {
                        self.next()
                    } else {
                        widening_scale(self.next(), span)
                    };
            }
            Distribution::Exponential { mean } => -libm::log(self.unit()) * mean as f64,
            Distribution::Normal { mean, sd } => mean as f64 + self.normal() * sd as f64,
            Distribution::LogNormal {
                median,
                sigma_milli,
            } => median as f64 * libm::exp(self.normal() * f64::from(sigma_milli) / 1000.0),
            Distribution::Pareto {
                minimum,
                shape_milli,
            } => {
                let shape = f64::from(shape_milli) / 1000.0;
                minimum as f64 * libm::pow(self.unit(), -1.0 / shape)
            }
        };
        // The cast saturates; a draw is at most a day.
        (libm::round(value.max(0.0)) as u64).min(86_400_000_000_000)
    }
}

/// `x` as a fraction of 2^64, times `span`.
fn widening_scale(x: u64, span: u64) -> u64 {
    ((u128::from(x) * u128::from(span)) >> 64) as u64
}

/// The finaliser of SplitMix64: a bijection that scatters.
fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(distribution: Distribution) -> f64 {
        let mut stream = Stream::of_task(1, "t", 0);
        (0..100_000)
            .map(|_| stream.draw(&distribution) as f64)
            .sum::<f64>()
            / 100_000.0
    }

    #[test]
    fn means_are_what_the_formulas_say() {
        let near =
            |got: f64, want: f64| assert!((got / want - 1.0).abs() < 0.02, "{got} not near {want}");
        near(
            mean(Distribution::Uniform {
                low: 1000,
                high: 3000,
            }),
            2000.0,
        );
        near(mean(Distribution::Exponential { mean: 5000 }), 5000.0);
        near(
            mean(Distribution::Normal {
                mean: 8000,
                sd: 1000,
            }),
            8000.0,
        );
        // exp(sigma^2 / 2) times the median; sigma = 0.5.
        near(
            mean(Distribution::LogNormal {
                median: 1000,
                sigma_milli: 500,
            }),
            1133.1,
        );
        // shape / (shape - 1) times the minimum; shape = 3.
        near(
            mean(Distribution::Pareto {
                minimum: 1000,
                shape_milli: 3000,
            }),
            1500.0,
        );
    }

    #[test]
    fn streams_depend_on_seed_name_and_instance_only() {
        let first = |seed, name, i| Stream::of_task(seed, name, i).next();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        assert_ne!(first(1, "a", 0), first(2, "a", 0));
        assert_ne!(first(1, "a", 0), first(1, "b", 0));
        assert_ne!(first(1, "a", 0), first(1, "a", 1));
    }
}
