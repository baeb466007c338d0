//! Where each CPU's time went.

use schedlab_trace::{CpuId, Ns, Overhead};

use crate::{AccountingError, CpuMetrics, OverheadNs};

#[derive(Clone, Debug, Default)]
struct Cpu {
    run: u64,
    idle: u64,
    overhead: OverheadNs,
    switches: u64,
}

/// One account for each CPU.
#[derive(Debug)]
pub(crate) struct Cpus(Vec<Cpu>);

impl Cpus {
    pub fn new(nr_cpus: u32) -> Cpus {
        Cpus(vec![Cpu::default(); nr_cpus as usize])
    }

    #[inline]
    pub fn ran(&mut self, cpu: CpuId, ns: u64) {
        self.0[cpu.index()].run += ns;
    }

    #[inline]
    pub fn idled(&mut self, cpu: CpuId, ns: u64) {
        self.0[cpu.index()].idle += ns;
    }

    #[inline]
    pub fn overhead(&mut self, cpu: CpuId, kind: Overhead, ns: u64) {
        *self.0[cpu.index()].overhead.of_mut(kind) += Ns(ns);
    }

    #[inline]
    pub fn switched(&mut self, cpu: CpuId) {
        self.0[cpu.index()].switches += 1;
    }

    /// Tasks' own work on all CPUs.
    pub fn run_ns(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, cpu| sum.saturating_add(cpu.run))
    }

    /// All overhead of all CPUs.
    pub fn overhead_ns(&self) -> OverheadNs {
        self.0
            .iter()
            .fold(OverheadNs::default(), |sum, cpu| sum.plus(&cpu.overhead))
    }

    /// Does every CPU's time add up to the run's?
    pub fn check(&self, duration: Ns) -> Result<(), AccountingError> {
        for (index, cpu) in self.0.iter().enumerate() {
            let accounted = Ns(cpu.run + cpu.idle + cpu.overhead.total().0);
            if accounted != duration {
                let cpu = CpuId(index as u32);
                return Err(AccountingError::CpuTime {
                    cpu,
                    accounted,
                    duration,
                });
            }
        }
        Ok(())
    }

    pub fn finish(&self, has_costs: bool) -> Vec<CpuMetrics> {
        let metrics = |(index, cpu): (usize, &Cpu)| CpuMetrics {
            cpu: CpuId(index as u32),
            busy_ns: Ns(cpu.run) + cpu.overhead.total(),
            run_ns: Ns(cpu.run),
            idle_ns: Ns(cpu.idle),
            overhead_ns: has_costs.then_some(cpu.overhead),
            switches: cpu.switches,
        };
        self.0.iter().enumerate().map(metrics).collect()
    }
}

impl OverheadNs {
    #[inline]
    fn of_mut(&mut self, kind: Overhead) -> &mut Ns {
        match kind {
            Overhead::Schedule => &mut self.schedule,
            Overhead::Switch => &mut self.switch,
            Overhead::Wakeup => &mut self.wakeup,
            Overhead::Lock => &mut self.lock,
            Overhead::Tick => &mut self.tick,
            Overhead::Syscall => &mut self.syscall,
        }
    }

    /// All kinds together.
    pub fn total(&self) -> Ns {
        [self.tick, self.syscall]
            .iter()
            .fold(self.scheduling(), saturating_sum)
    }

    /// The cost of scheduling: choosing, switching, waking and waiting for run-queue locks.
    pub fn scheduling(&self) -> Ns {
        [self.switch, self.wakeup, self.lock]
            .iter()
            .fold(self.schedule, saturating_sum)
    }

    fn plus(self, other: &OverheadNs) -> OverheadNs {
        OverheadNs {
            schedule: saturating_sum(self.schedule, &other.schedule),
            switch: saturating_sum(self.switch, &other.switch),
            wakeup: saturating_sum(self.wakeup, &other.wakeup),
            lock: saturating_sum(self.lock, &other.lock),
            tick: saturating_sum(self.tick, &other.tick),
            syscall: saturating_sum(self.syscall, &other.syscall),
        }
    }
}

/// Sums over CPUs may outgrow any run's duration, and a damaged trace may claim any time.
fn saturating_sum(a: Ns, b: &Ns) -> Ns {
    Ns(a.0.saturating_add(b.0))
}
