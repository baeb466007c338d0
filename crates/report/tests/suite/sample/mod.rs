//! Invented but plausible results, the same on every machine.  They resemble an editor and a
//! browser beside a parallel build, under schedulers of different quality.

// Each test that includes this file uses some of it.
#![allow(dead_code)]

use std::collections::BTreeMap;

use schedlab_measure::{
    Activity, CdfPoint, CpuMetrics, Distribution, Fairness, GroupLatencyPlot, GroupMetrics,
    IdleWhileRunnable, LatencyPlot, MarkMetrics, Metrics, OverheadNs, Plots, SchedulerMetrics,
    ShareOf, ShareRow, SharesPlot, Slice, TaskMetrics, TimelinePlot, TimelineWindow, Wait,
    WaitingPlot,
};
use schedlab_report::Run;
use schedlab_trace::{CpuId, Ns, TaskId, Time, TraceHash};

/// What to make up.
#[derive(Clone)]
pub struct Sample {
    pub policy: &'static str,
    pub variant: &'static str,
    pub seed: u64,
    pub nr_cpus: u32,
    /// Name, number of tasks and CPU share of each group.
    pub groups: Vec<(&'static str, u32, f64)>,
    /// Typical wakeup latency.
    pub latency_ns: f64,
    /// Of all CPU time.
    pub overhead: f64,
}

pub const DURATION_NS: u64 = 10_000_000_000;
const GROUPS: [(&str, u32, f64); 3] = [("vi", 2, 0.02), ("mozilla", 1, 0.11), ("make", 8, 0.78)];

/// Three policies, from slow to quick.
pub fn three(seed: u64) -> Vec<Run> {
    let sample = |policy, variant, latency_ns, overhead| Sample {
        policy,
        variant,
        seed,
        nr_cpus: 4,
        groups: GROUPS.to_vec(),
        latency_ns,
        overhead,
    };
    vec![
        sample("linux24", "2.4.16", 2.1e6, 0.071).run(),
        sample("elsc", "", 6.4e5, 0.024).run(),
        sample("o1", "2.6.11", 3.9e4, 0.013).run(),
    ]
}

/// A small generator (xorshift): samples need variety, not quality.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Evenly from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About log-normal around a median.
    pub fn latency(&mut self, median: f64) -> u64 {
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        (median * libm::exp(1.4 * normal)) as u64 + 200
    }
}

fn latencies(random: &mut Random, median: f64, count: usize) -> Vec<u64> {
    let mut samples: Vec<u64> = (0..count).map(|_| random.latency(median)).collect();
    samples.sort_unstable();
    samples
}

fn distribution(sorted: &[u64]) -> Option<Box<Distribution>> {
    let at = |share: f64| Ns(sorted[((sorted.len() as f64 * share).ceil() as usize).max(1) - 1]);
    let max = Ns(*sorted.last()?);
    Some(Box::new(Distribution {
        count: sorted.len() as u64,
        unfinished: 0,
        mean: sorted.iter().sum::<u64>() as f64 / sorted.len() as f64,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max,
        relative_error: 0.0,
    }))
}

fn cdf(sorted: &[u64]) -> Vec<CdfPoint> {
    let point = |i: usize| CdfPoint {
        ns: Ns(sorted[i]),
        share: (i + 1) as f64 / sorted.len() as f64,
    };
    // As measured ones: every percent, then the tail finer and finer.
    let tail = [
        0.992, 0.994, 0.996, 0.998, 0.999, 0.9992, 0.9995, 0.9998, 0.9999, 1.0,
    ];
    let shares = (1..100).map(|p| f64::from(p) / 100.0).chain(tail);
    let mut ranks: Vec<usize> = shares
        .map(|s| (s * sorted.len() as f64).ceil() as usize)
        .collect();
    ranks.dedup();
    ranks
        .into_iter()
        .filter(|r| *r > 0)
        .map(|r| point(r - 1))
        .collect()
}

fn activity(wakeups: &[u64], delays: &[u64], share: f64, nr_cpus: u32, task: u32) -> Activity {
    let nr_switches = wakeups.len() as u64 * 3 / 2;
    let longest = delays.last().map(|ns| Wait {
        task: TaskId(task),
        start_ns: Time(4_000_000_000),
        ns: Ns(*ns),
    });
    Activity {
        run_ns: Ns((share * DURATION_NS as f64 * f64::from(nr_cpus)) as u64),
        cpu_share: share,
        wait_ns: Ns(delays.iter().sum()),
        wakeup_latency_ns: distribution(wakeups),
        run_delay_ns: distribution(delays),
        nr_switches,
        nr_voluntary_switches: wakeups.len() as u64,
        nr_involuntary_switches: nr_switches - wakeups.len() as u64,
        nr_yield_switches: 0,
        nr_yields: 0,
        nr_migrations: nr_switches / 20,
        nr_wakeups: wakeups.len() as u64,
        longest_wait: longest,
    }
}

/// A group's or a task's samples.
struct Waits {
    wakeups: Vec<u64>,
    delays: Vec<u64>,
}

impl Waits {
    fn draw(random: &mut Random, median: f64, count: usize) -> Waits {
        Waits {
            wakeups: latencies(random, median, count),
            delays: latencies(random, median * 1.7, count * 3 / 2),
        }
    }

    fn plot(&self) -> LatencyPlot {
        LatencyPlot {
            wakeup_latency: cdf(&self.wakeups),
            run_delay: cdf(&self.delays),
        }
    }
}

impl Sample {
    fn salt(&self) -> u64 {
        self.policy.bytes().fold(self.seed, |h, b| {
            h.wrapping_mul(31).wrapping_add(u64::from(b))
        })
    }

    pub fn run(&self) -> Run {
        let hash = u128::from(Random::new(self.salt()).next());
        Run {
            world: schedlab_report::World::Simulator,
            policy: self.policy.to_string(),
            variant: self.variant.to_string(),
            tunables: BTreeMap::new(),
            workload: "late --vi 2 --mozilla 1 --make 8".to_string(),
            machine: "netfinity-7000-4p".to_string(),
            seed: self.seed,
            duration_ns: Ns(DURATION_NS),
            trace_hash: TraceHash(hash << 64 | hash),
            identity: Default::default(),
            command: format!(
                "schedlab run --policy {} --workload 'late --vi 2 --mozilla 1 --make 8' \
                 --machine netfinity-7000-4p --duration 10s --seed {}",
                self.policy, self.seed
            ),
            metrics: self.metrics(),
            end: "time limit".to_string(),
            warnings: Vec::new(),
        }
    }

    pub fn metrics(&self) -> Metrics {
        let mut random = Random::new(self.salt());
        let mut groups = Vec::new();
        let mut tasks = Vec::new();
        let mut plots = Plots::default();
        let mut all = Waits {
            wakeups: Vec::new(),
            delays: Vec::new(),
        };
        for (i, (name, count, share)) in self.groups.iter().enumerate() {
            let median = self.latency_ns * (1.0 + 0.8 * i as f64);
            let waits = Waits::draw(&mut random, median, 2_000);
            let first = tasks.len() as u32;
            for n in 0..*count {
                tasks.push(self.task(&mut random, (name, *count, *share), n, first + n, median));
            }
            groups.push(GroupMetrics {
                name: (*name).into(),
                nr_tasks: u64::from(*count),
                fairness: Fairness {
                    jain: Some(0.97),
                    nr_tasks: u64::from(*count),
                },
                activity: activity(&waits.wakeups, &waits.delays, *share, self.nr_cpus, first),
            });
            plots.group_latency.push(GroupLatencyPlot {
                group: (*name).into(),
                latency: waits.plot(),
            });
            all.wakeups.extend(&waits.wakeups);
            all.delays.extend(&waits.delays);
        }
        all.wakeups.sort_unstable();
        all.delays.sort_unstable();
        plots.latency = all.plot();
        plots.waiting = self.waiting(&mut random);
        plots.shares = self.shares(&mut random);
        plots.timeline = self.timeline(&mut random, tasks.len() as u32, all.delays.last().copied());
        let used: f64 = self.groups.iter().map(|g| g.2).sum();
        let last = tasks.len().saturating_sub(1) as u32;
        Metrics {
            policy: self.policy.to_string(),
            workload: "late".to_string(),
            machine: "netfinity-7000-4p".to_string(),
            nr_cpus: self.nr_cpus,
            duration_ns: Ns(DURATION_NS),
            accounting_error: None,
            marks: vec![MarkMetrics {
                name: "frame".to_string(),
                count: 2_990,
                per_second: 299.0 - self.overhead * 1_000.0,
                latency_ns: distribution(&all.wakeups).map(|d| *d),
            }],
            total: activity(&all.wakeups, &all.delays, used, self.nr_cpus, last),
            groups,
            control_groups: Vec::new(),
            groups_without_effect: false,
            knows_future: false,
            task_distributions_dropped: false,
            fairness: Fairness {
                jain: Some(0.993 - self.overhead),
                nr_tasks: tasks.len() as u64,
            },
            tasks,
            cpus: (0..self.nr_cpus).map(|cpu| self.cpu(cpu, used)).collect(),
            idle_while_runnable: IdleWhileRunnable {
                ns: Ns((self.overhead * 1e8) as u64),
                share: self.overhead * 0.03,
                longest_ns: Ns(900_000),
                longest_start_ns: Some(Time(1_000_000)),
            },
            scheduler: Some(self.scheduler()),
            counters: self.counters(),
            plots,
        }
    }

    fn task(
        &self,
        random: &mut Random,
        (group, count, share): (&str, u32, f64),
        n: u32,
        id: u32,
        median: f64,
    ) -> TaskMetrics {
        let waits = Waits::draw(random, median, 40);
        let share = share / f64::from(count);
        TaskMetrics {
            name: format!("{group}-{n}"),
            id: TaskId(id),
            group: group.into(),
            nice: if group == "make" { 5 } else { 0 },
            activity: activity(&waits.wakeups, &waits.delays, share, self.nr_cpus, id),
        }
    }

    fn overhead(&self, nr_cpus: f64) -> OverheadNs {
        let ns = |share: f64| Ns((self.overhead * share * DURATION_NS as f64 * nr_cpus) as u64);
        OverheadNs {
            schedule: ns(0.5),
            switch: ns(0.2),
            wakeup: ns(0.1),
            lock: ns(0.1),
            tick: ns(0.05),
            syscall: ns(0.05),
        }
    }

    fn scheduler(&self) -> SchedulerMetrics {
        let cpus = f64::from(self.nr_cpus);
        let overhead = self.overhead(cpus);
        let examined = (81_234.0 * self.overhead * 150.0) as u64;
        SchedulerMetrics {
            calls: 81_234,
            examined,
            examined_mean: examined as f64 / 81_234.0,
            examined_max: 43,
            recalculations: if self.policy == "o1" { 0 } else { 1_204 },
            ns: Ns((self.overhead * 0.9 * DURATION_NS as f64 * cpus) as u64),
            share: self.overhead * 0.9,
            lock_wait_ns: overhead.lock,
            overhead_ns: overhead,
        }
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let names: &[(&str, u64)] = match self.policy {
            "o1" => &[
                ("active_expired_swaps", 412),
                ("interactive_reinserts", 2_318),
                ("pulls", 77),
            ],
            "elsc" => &[("recalculations", 1_204), ("search_limit_hits", 9)],
            _ => &[("recalculations", 1_204)],
        };
        names
            .iter()
            .map(|(name, count)| (name.to_string(), *count))
            .collect()
    }

    fn cpu(&self, cpu: u32, used: f64) -> CpuMetrics {
        let overhead = self.overhead(1.0);
        let run = (used * DURATION_NS as f64) as u64;
        let busy = run + (self.overhead * DURATION_NS as f64) as u64;
        CpuMetrics {
            cpu: CpuId(cpu),
            busy_ns: Ns(busy),
            run_ns: Ns(run),
            idle_ns: Ns(DURATION_NS.saturating_sub(busy)),
            overhead_ns: Some(overhead),
            switches: 20_000 + u64::from(cpu) * 31,
        }
    }

    fn waiting(&self, random: &mut Random) -> WaitingPlot {
        let level = libm::log10(self.latency_ns);
        let mean: Vec<f64> = (0..298)
            .map(|i| level * (0.6 + 0.5 * random.unit()) * if i % 60 < 12 { 0.4 } else { 1.0 })
            .collect();
        let nr_cpus = f64::from(self.nr_cpus);
        let queue = |cpu: u32| -> Vec<f64> {
            let lean = 0.6 + 0.8 * f64::from(cpu) / nr_cpus;
            mean.iter().map(|m| m / nr_cpus * lean).collect()
        };
        WaitingPlot {
            bucket_ns: Ns(1 << 25),
            max: mean.iter().map(|m| (m * 1.8).ceil() as u32).collect(),
            cpus: (0..self.nr_cpus).map(queue).collect(),
            mean,
        }
    }

    fn shares(&self, random: &mut Random) -> SharesPlot {
        let mut rows: Vec<ShareRow> = self
            .groups
            .iter()
            .map(|(name, _, _)| ShareOf::Group((*name).into()))
            .chain([ShareOf::Overhead, ShareOf::Idle])
            .map(|of| ShareRow {
                of,
                share: Vec::new(),
            })
            .collect();
        for _ in 0..298 {
            let mut left = 1.0;
            let overhead = rows.len() - 2;
            for (row, (_, _, share)) in rows.iter_mut().zip(&self.groups) {
                let part = (share * (0.7 + 0.5 * random.unit())).min(left);
                left -= part;
                row.share.push(part);
            }
            let part = self.overhead.min(left);
            rows[overhead].share.push(part);
            rows[overhead + 1].share.push(left - part);
        }
        SharesPlot {
            bucket_ns: Ns(1 << 25),
            rows,
        }
    }

    fn timeline(&self, random: &mut Random, nr_tasks: u32, wait: Option<u64>) -> TimelinePlot {
        let wait = wait.unwrap_or(0);
        let end = 4_000_000_000 + wait;
        TimelinePlot {
            start: self.window(random, nr_tasks, 0, 200_000_000),
            longest_wait: Some(self.window(
                random,
                nr_tasks,
                end.saturating_sub(150_000_000),
                end + 50_000_000,
            )),
        }
    }

    fn window(&self, random: &mut Random, nr_tasks: u32, start: u64, end: u64) -> TimelineWindow {
        let mut slices = Vec::new();
        for cpu in 0..self.nr_cpus {
            let mut at = start;
            while at < end && nr_tasks > 0 {
                let length = random.latency(3_000_000.0).min(40_000_000);
                let task = TaskId((random.next() % u64::from(nr_tasks)) as u32);
                let to = (at + length).min(end);
                slices.push(Slice {
                    cpu: CpuId(cpu),
                    task,
                    start_ns: Time(at),
                    end_ns: Time(to),
                });
                at = to + if random.unit() < 0.3 { 700_000 } else { 0 };
            }
        }
        slices.sort_by_key(|s| (s.end_ns, s.cpu));
        TimelineWindow {
            start_ns: Time(start),
            end_ns: Time(end),
            slices,
        }
    }
}
