//! Random valid traces: the crate's results, event by event, equal a measurement nanosecond by nanosecond here.

use std::collections::VecDeque;

use crate::script::*;
use oorandom::Rand32;
use schedlab_measure::Metrics;
use schedlab_trace::{Event, EventKind, Ns, Overhead, PrevState, TaskId};

const OVERHEADS: [Overhead; 6] = [
    Overhead::Schedule,
    Overhead::Switch,
    Overhead::Wakeup,
    Overhead::Lock,
    Overhead::Tick,
    Overhead::Syscall,
];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Status {
    Asleep,
    Waiting,
    Running,
    Dead,
}

#[derive(Clone, Default, Debug, PartialEq)]
struct CpuTimes {
    run: u64,
    idle: u64,
    overhead: [u64; 6],
}

#[derive(Clone, Default)]
struct Cpu {
    curr: Option<usize>,
    /// Overhead until then; a lock is told when it is over.
    busy: VecDeque<(usize, u64)>,
    /// When the overhead it is in was told.
    told: u64,
    spinning: Option<u64>,
    times: CpuTimes,
}

#[derive(Clone)]
struct Task {
    status: Status,
    run: u64,
    wait: u64,
    sleeps: u64,
    wakeups: u64,
    displaced: u64,
}

/// A machine that does random things and counts every nanosecond.
struct Machine {
    random: Rand32,
    now: u64,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    idle_while_runnable: u64,
    events: Vec<Event>,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        let mut random = Rand32::new(seed);
        let nr_cpus = random.rand_range(1..5) as usize;
        let nr_tasks = random.rand_range(0..9);
        let asleep = Task {
            status: Status::Asleep,
            run: 0,
            wait: 0,
            sleeps: 0,
            wakeups: 0,
            displaced: 0,
        };
        Machine {
            random,
            now: 0,
            cpus: vec![Cpu::default(); nr_cpus],
            tasks: vec![asleep; nr_tasks as usize],
            idle_while_runnable: 0,
            events: (0..nr_tasks).map(exists).collect(),
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.rand_range(0..n as u32) as usize
    }

    fn run(&mut self, length: u64) {
        while self.now < length || self.cpus.iter().any(|cpu| cpu.spinning.is_some()) {
            for cpu in 0..self.cpus.len() {
                self.finish_spinning(cpu);
                while self.cpus[cpu].spinning.is_none() && self.below(4) == 0 {
                    self.act(cpu);
                }
            }
            self.count_one_ns();
        }
        (0..self.cpus.len()).for_each(|cpu| self.finish_spinning(cpu));
    }

    fn finish_spinning(&mut self, cpu: usize) {
        if let (Some(ns), Some(&(_, until))) =
            (self.cpus[cpu].spinning, self.cpus[cpu].busy.front())
        {
            if until == self.now {
                self.cpus[cpu].spinning = None;
                self.events
                    .push(overhead(self.now, cpu as u32, Overhead::Lock, ns));
            }
        }
        let now = self.now;
        self.cpus[cpu].busy.retain(|&(_, until)| until > now);
    }

    fn act(&mut self, cpu: usize) {
        match self.below(10) {
            0..=3 => self.switch(cpu),
            4..=6 => self.wake(cpu),
            7 => self.migrate(),
            8 => self.begin_overhead(cpu),
            _ => self.kill(cpu),
        }
    }

    /// Overhead begins when the CPU is in none, or follows what was told this very moment.
    fn begin_overhead(&mut self, cpu: usize) {
        let (kind, ns) = (self.below(6), self.below(20) as u64);
        let now = self.now;
        let c = &mut self.cpus[cpu];
        if !c.busy.is_empty() && c.told != now {
            return;
        }
        let from = c.busy.back().map_or(now, |&(_, until)| until);
        if OVERHEADS[kind] != Overhead::Lock {
            c.told = now;
            self.events
                .push(overhead(now, cpu as u32, OVERHEADS[kind], ns));
        } else if ns > 0 && c.busy.is_empty() {
            c.spinning = Some(ns);
        } else {
            return;
        }
        if ns > 0 {
            self.cpus[cpu].busy.push_back((kind, from + ns));
        }
    }

    fn pick(&mut self, status: Status) -> Option<usize> {
        let having: Vec<usize> = (0..self.tasks.len())
            .filter(|&t| self.tasks[t].status == status)
            .collect();
        (!having.is_empty()).then(|| having[self.below(having.len())])
    }

    fn switch(&mut self, cpu: usize) {
        let prev = self.cpus[cpu].curr;
        let next = if self.below(3) == 0 {
            None
        } else {
            self.pick(Status::Waiting)
        };
        if prev == next {
            return;
        }
        let why = match (prev, self.below(6)) {
            (None, _) => PrevState::Idle,
            (_, 0) => PrevState::Preempted,
            (_, 1) => PrevState::Yielded,
            (_, 2) => PrevState::Moved,
            (_, 3) => PrevState::Sleeping,
            (_, 4) => PrevState::DiskSleep,
            _ => PrevState::Exited,
        };
        if let Some(prev) = prev {
            self.put(prev, why);
        }
        if let Some(next) = next {
            self.tasks[next].status = Status::Running;
        }
        self.cpus[cpu].curr = next;
        let id = |t: usize| TaskId(t as u32);
        let kind = EventKind::Switch {
            prev: prev.map(id),
            prev_state: why,
            next: next.map(id),
        };
        self.events.push(event(self.now, cpu as u32, kind));
    }

    fn put(&mut self, prev: usize, why: PrevState) {
        let task = &mut self.tasks[prev];
        task.status = match why {
            PrevState::Exited => Status::Dead,
            PrevState::Sleeping | PrevState::DiskSleep => Status::Asleep,
            _ => Status::Waiting,
        };
        match task.status {
            Status::Waiting => task.displaced += 1,
            _ => task.sleeps += 1,
        }
    }

    fn wake(&mut self, cpu: usize) {
        let Some(task) = self.pick(Status::Asleep) else {
            return;
        };
        if self.below(2) == 0 {
            self.events.push(waking(self.now, cpu as u32, task as u32));
        }
        let target = self.below(self.cpus.len()) as u32;
        self.events.push(wakeup(self.now, target, task as u32));
        self.tasks[task].status = Status::Waiting;
        self.tasks[task].wakeups += 1;
    }

    fn migrate(&mut self) {
        let Some(task) = self.pick(Status::Waiting) else {
            return;
        };
        let to = self.below(self.cpus.len()) as u32;
        self.events.push(migrate(self.now, task as u32, 0, to));
    }

    fn kill(&mut self, cpu: usize) {
        if self.below(40) != 0 {
            return;
        }
        let status = [Status::Asleep, Status::Waiting][self.below(2)];
        let Some(task) = self.pick(status) else {
            return;
        };
        self.events.push(exit(self.now, cpu as u32, task as u32));
        self.tasks[task].status = Status::Dead;
    }

    fn count_one_ns(&mut self) {
        for cpu in &mut self.cpus {
            match (
                cpu.busy.iter().find(|&&(_, until)| self.now < until),
                cpu.curr,
            ) {
                (Some(&(kind, _)), _) => cpu.times.overhead[kind] += 1,
                (_, Some(task)) => {
                    cpu.times.run += 1;
                    self.tasks[task].run += 1;
                }
                (_, None) => cpu.times.idle += 1,
            }
        }
        let waiting = self
            .tasks
            .iter_mut()
            .filter(|t| t.status == Status::Waiting);
        let waiting = waiting.map(|t| t.wait += 1).count();
        let idle = self.cpus.iter().filter(|cpu| cpu.curr.is_none()).count();
        self.idle_while_runnable += waiting.min(idle) as u64;
        self.now += 1;
    }
}

fn measured(seed: u64) -> (Machine, Metrics) {
    let mut machine = Machine::new(seed);
    machine.run(1_500);
    let names: Vec<String> = (0..machine.tasks.len())
        .map(|t| format!("g{}-{t}", t % 3))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let script = simulated(machine.cpus.len() as u32, &names);
    let metrics = script.measure(&machine.events, machine.now);
    (machine, metrics)
}

#[test]
fn every_nanosecond_is_where_it_belongs() {
    for seed in 0..400 {
        let (machine, m) = measured(seed);
        assert_eq!(m.accounting_error, None, "seed {seed}");
        for (cpu, got) in machine.cpus.iter().zip(&m.cpus) {
            let o = got.overhead_ns.unwrap();
            let overhead = [o.schedule, o.switch, o.wakeup, o.lock, o.tick, o.syscall];
            let times = CpuTimes {
                run: got.run_ns.0,
                idle: got.idle_ns.0,
                overhead: overhead.map(|Ns(ns)| ns),
            };
            assert_eq!(times, cpu.times, "seed {seed}, CPU {}", got.cpu);
            assert_eq!(
                times.run + times.idle + times.overhead.iter().sum::<u64>(),
                machine.now
            );
            assert_eq!(got.busy_ns + got.idle_ns, m.duration_ns);
        }
        assert_eq!(
            m.idle_while_runnable.ns.0, machine.idle_while_runnable,
            "seed {seed}"
        );
    }
}

#[test]
fn every_task_gets_what_it_got() {
    for seed in 0..400 {
        let (machine, m) = measured(seed);
        for (task, got) in machine.tasks.iter().zip(&m.tasks) {
            let a = &got.activity;
            let counted = [
                a.run_ns.0,
                a.wait_ns.0,
                a.nr_voluntary_switches,
                a.nr_wakeups,
            ];
            assert_eq!(
                counted,
                [task.run, task.wait, task.sleeps, task.wakeups],
                "seed {seed}"
            );
            assert_eq!(
                a.nr_involuntary_switches + a.nr_yield_switches,
                task.displaced
            );
            // Every wait begins with a wakeup or with being displaced.
            let count = |d: &Option<Box<schedlab_measure::Distribution>>| {
                d.as_deref().map_or(0, |d| d.count)
            };
            assert_eq!(count(&a.run_delay_ns), task.wakeups + task.displaced);
            assert_eq!(count(&a.wakeup_latency_ns), task.wakeups);
        }
    }
}

#[test]
fn groups_and_plots_add_up_to_the_whole() {
    for seed in 0..100 {
        let (_, m) = measured(seed);
        let sum = |of: fn(&schedlab_measure::Activity) -> u64| {
            assert_eq!(
                m.groups.iter().map(|g| of(&g.activity)).sum::<u64>(),
                of(&m.total)
            );
            assert_eq!(
                m.tasks.iter().map(|t| of(&t.activity)).sum::<u64>(),
                of(&m.total)
            );
        };
        sum(|a| a.run_ns.0);
        sum(|a| a.wait_ns.0);
        sum(|a| a.nr_switches);
        sum(|a| a.run_delay_ns.as_deref().map_or(0, |d| d.count));
        for bucket in 0..m.plots.waiting.mean.len() {
            let shares: f64 = m
                .plots
                .shares
                .rows
                .iter()
                .map(|row| row.share[bucket])
                .sum();
            assert!((shares - 1.0).abs() < 1e-9, "seed {seed}: {shares}");
            let queues: f64 = m.plots.waiting.cpus.iter().map(|cpu| cpu[bucket]).sum();
            assert!(
                (queues - m.plots.waiting.mean[bucket]).abs() < 1e-9,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn measuring_twice_gives_the_same() {
    let json = |seed| serde_json::to_string(&measured(seed).1).unwrap();
    for seed in 0..20 {
        assert_eq!(json(seed), json(seed));
    }
}
