//! The timer ticks of all CPUs.
//!
//! Every ticking CPU ticks once in each period, at its own phase, so the order within a period
//! never changes. A ring with a position costs less than an event for each CPU.

use schedlab_machine::TickPhase;
use schedlab_trace::{CpuId, Time};

/// The ring. CPUs are in the order of their phases; CPUs of equal phase are ordered by number.
pub(crate) struct Ticks {
    period_ns: u64,
    phases_ns: Vec<u64>,
    /// The ticking CPUs: one bit each.
    ticking: Vec<u64>,
    /// The first tick of each CPU.
    first: Vec<Time>,
    next: Option<(Time, u32)>,
}

impl Ticks {
    pub fn new(nr_cpus: u32, period_ns: u64, phase: TickPhase) -> Ticks {
        let phase_of = |cpu: u32| match phase {
            TickPhase::Aligned => 0,
            TickPhase::Staggered => period_ns * u64::from(cpu) / u64::from(nr_cpus),
        };
        Ticks {
            period_ns,
            phases_ns: (0..nr_cpus).map(phase_of).collect(),
            ticking: vec![0; nr_cpus.div_ceil(64) as usize],
            first: vec![Time::ZERO; nr_cpus as usize],
            next: None,
        }
    }

    /// Time between two ticks of a CPU.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The time and CPU of the next tick.
    #[inline]
    pub fn next(&self) -> Option<(Time, CpuId)> {
        self.next.map(|(time, cpu)| (time, CpuId(cpu)))
    }

    /// The first tick of a CPU after `time`.
    pub fn after(&self, cpu: CpuId, time: Time) -> Time {
        let phase = self.phases_ns[cpu.index()];
        let periods = (time.0 + self.period_ns - phase) / self.period_ns;
        Time(periods * self.period_ns + phase)
    }

    /// Starts the CPU's tick, if it does not run.
    pub fn start(&mut self, cpu: CpuId, now: Time) {
        let (word, bit) = (cpu.index() / 64, 1 << (cpu.0 % 64));
        if self.ticking[word] & bit != 0 {
            return;
        }
        self.ticking[word] |= bit;
        let first = self.after(cpu, now);
        self.first[cpu.index()] = first;
        if self.next.is_none_or(|next| (first, cpu.0) < next) {
            self.next = Some((first, cpu.0));
        }
    }

    /// Stops the CPU's tick.
    pub fn stop(&mut self, cpu: CpuId) {
        self.ticking[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        if self.next.is_some_and(|(_, next)| next == cpu.0) {
            self.move_on();
        }
    }

    /// Completes the next tick.
    pub fn move_on(&mut self) {
        let Some((time, cpu)) = self.next else { return };
        let round = time.0 - self.phases_ns[cpu as usize];
        self.next = self
            .find(round, cpu + 1)
            .or_else(|| self.find(round + self.period_ns, 0))
            // CPUs that have just started tick one period later.
            .or_else(|| self.find(round + 2 * self.period_ns, 0));
    }

    /// The first tick in the period that starts at `round`, among CPUs from `from` on.
    fn find(&self, round: u64, from: u32) -> Option<(Time, u32)> {
        let mut word = (from / 64) as usize;
        let mut bits = self.ticking.get(word)? & (!0 << (from % 64));
        loop {
            while bits != 0 {
                let cpu = word as u32 * 64 + bits.trailing_zeros();
                let time = Time(round + self.phases_ns[cpu as usize]);
                if self.first[cpu as usize] <= time {
                    return Some((time, cpu));
                }
                bits &= bits - 1;
            }
            word += 1;
            bits = *self.ticking.get(word)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ticks: &mut Ticks, n: usize) -> Vec<(u64, u32)> {
        let mut taken = Vec::new();
        for _ in 0..n {
            let (time, cpu) = ticks.next().unwrap();
            taken.push((time.0, cpu.0));
            ticks.move_on();
        }
        taken
    }

    #[test]
    fn staggered_cpus_take_turns() {
        let mut ticks = Ticks::new(4, 1000, TickPhase::Staggered);
        for cpu in [3, 0, 1] {
            ticks.start(CpuId(cpu), Time(0));
        }
        // CPU 0 has phase 0 and is strictly after 0, so its first tick is at 1000.
        assert_eq!(
            take(&mut ticks, 5),
            [(250, 1), (750, 3), (1000, 0), (1250, 1), (1750, 3)]
        );
    }

    #[test]
    fn a_cpu_that_starts_on_its_tick_waits_a_period() {
        let mut ticks = Ticks::new(2, 1000, TickPhase::Aligned);
        ticks.start(CpuId(0), Time(0));
        assert_eq!(ticks.next(), Some((Time(1000), CpuId(0))));
        ticks.start(CpuId(1), Time(1000)); // While CPU 0's tick is handled.
        assert_eq!(take(&mut ticks, 3), [(1000, 0), (2000, 0), (2000, 1)]);
    }

    #[test]
    fn a_stopped_cpu_is_skipped_and_the_ring_can_empty() {
        let mut ticks = Ticks::new(130, 1000, TickPhase::Aligned);
        for cpu in [0, 70, 129] {
            ticks.start(CpuId(cpu), Time(5));
        }
        assert_eq!(take(&mut ticks, 1), [(1000, 0)]);
        ticks.stop(CpuId(70));
        assert_eq!(take(&mut ticks, 2), [(1000, 129), (2000, 0)]);
        ticks.stop(CpuId(129));
        ticks.stop(CpuId(0));
        assert_eq!(ticks.next(), None);
    }
}
