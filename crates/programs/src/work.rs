//! Computes for a given time: loops of measured speed.

use schedlab_trace::Ns;

use crate::system::now;

/// The shortest loop that is measured.
const LEAST_SAMPLE: Ns = Ns::from_us(200);

/// Measurements of each loop; the shortest time had no preemption.
const SAMPLES: u32 = 12;

/// Computes for an amount of CPU time; preemption does not count.
///
/// The loop consists of instructions that do nothing, so that it always takes the same time, and
/// an emulated CPU executes it faster than a real one.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Rounds of the loop ...
    rounds: u64,
    /// ... and the time they take.
    time: Ns,
    /// Requested time that is less than a round.
    owed: Ns,
    /// The loop.
    spin: fn(u64),
}

impl Work {
    /// Measures how fast this CPU is.
    pub fn calibrate() -> Work {
        Work::of(spin)
    }

    /// Measures how fast this CPU executes a given loop, which takes its number of rounds.
    pub fn of(spin: fn(u64)) -> Work {
        let mut rounds = 100;
        while shortest(spin, rounds) < LEAST_SAMPLE {
            rounds *= 2;
        }
        // Both include the cost of starting and stopping the clock.
        let [long, short] = [2 * rounds, rounds].map(|rounds| shortest(spin, rounds));
        Work {
            rounds,
            time: Ns(long.0.saturating_sub(short.0).max(1)),
            owed: Ns::ZERO,
            spin,
        }
    }

    /// Computes for this time. A remainder of less than a round is added to the next call.
    pub fn run(&mut self, amount: Ns) {
        let wanted = u128::from(amount.0) + u128::from(self.owed.0);
        let time = u128::from(self.time.0);
        let rounds = (wanted * u128::from(self.rounds) / time) as u64;
        let done = u128::from(rounds) * time / u128::from(self.rounds);
        self.owed = Ns((wanted - done) as u64);
        (self.spin)(rounds);
    }

    /// Computes for about a microsecond.
    pub fn run_a_moment(&self) {
        (self.spin)((self.rounds * 1000 / self.time.0).max(1));
    }
}

fn shortest(spin: fn(u64), rounds: u64) -> Ns {
    let time = || {
        let start = now();
        spin(rounds);
        now().since(start)
    };
    (0..SAMPLES).map(|_| time()).min().unwrap_or(Ns::ZERO)
}

/// Executes a loop of 32 instructions this number of times.
#[cfg(target_arch = "x86_64")]
fn spin(rounds: u64) {
    if rounds == 0 {
        return;
    }
    // SAFETY: it changes only a register that it declares.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 30",
            "nop",
            ".endr",
            "dec {0}",
            "jnz 2b",
            inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn spin(rounds: u64) {
    (0..rounds).for_each(|round| {
        std::hint::black_box(round);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small amounts add up exactly: 1,000 times 7 ns are 7,000 ns of rounds.
    #[test]
    fn small_amounts_add_up() {
        let mut work = Work {
            rounds: 1,
            time: Ns(32),
            owed: Ns::ZERO,
            spin,
        };
        for _ in 0..1000 {
            work.run(Ns(7));
            assert!(work.owed < Ns(32));
        }
        assert_eq!(work.owed, Ns(7000 % 32));
    }
}
