//! Computing for so long: loops whose speed has been measured.

use schedlab_trace::Ns;

use crate::system::now;

/// The shortest loop worth timing.
const LEAST_SAMPLE: Ns = Ns::from_us(200);

/// How often each loop is timed; the shortest time is the undisturbed one.
const SAMPLES: u32 = 12;

/// Computes for an amount of CPU time, whatever else happens to the task meanwhile.
///
/// The loop consists of instructions that do nothing, so that it takes the same time under all
/// circumstances, and an emulated CPU is through with it sooner than a real one.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// So many rounds of the loop ...
    rounds: u64,
    /// ... take so long.
    time: Ns,
    /// Asked for, but less than a round.
    owed: Ns,
    /// The loop.
    spin: fn(u64),
}

impl Work {
    /// Measures how fast this CPU is.
    pub fn calibrate() -> Work {
        Work::of(spin)
    }

    /// Measures how fast this CPU is at a loop of yours, which goes round so many times.
    pub fn of(spin: fn(u64)) -> Work {
        let mut rounds = 100;
        while shortest(spin, rounds) < LEAST_SAMPLE {
            rounds *= 2;
        }
        // What starting and stopping the clock costs is in both.
        let [long, short] = [2 * rounds, rounds].map(|rounds| shortest(spin, rounds));
        Work {
            rounds,
            time: Ns(long.0.saturating_sub(short.0).max(1)),
            owed: Ns::ZERO,
            spin,
        }
    }

    /// Computes for this long.  What is less than a round of the loop is made up for next time.
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

/// Goes so many times round a loop of 32 instructions.
#[cfg(target_arch = "x86_64")]
fn spin(rounds: u64) {
    if rounds == 0 {
        return;
    }
    // SAFETY: it changes a register it owns, and nothing else.
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

    /// However small the amounts, nothing gets lost: 1,000 times 7 ns are 7,000 ns of rounds.
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
