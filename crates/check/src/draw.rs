//! Random cases, drawn from a seed: few tasks and CPUs, and times close to ticks and ends of slices.

use schedlab_trace::Ns;

use crate::case::{Case, Circumstances, Costly, Platform, Statement, Task};

/// Most kinds of tasks.
const MAX_KINDS: u32 = 6;

/// Most CPUs.
const MAX_CPUS: u32 = 4;

/// Ticks and slices of schedulers, in us.
const PERIODS_US: [u64; 12] = [
    250, 700, 1000, 3000, 4000, 5000, 6000, 10_000, 20_000, 50_000, 100_000, 200_000,
];

/// The case of a seed: a pure function of it.  With `given`, a machine's name and number of CPUs, that is the machine.
pub fn case(seed: u64, given: Option<&(String, u32)>) -> Case {
    let mut draw = Draw(seed);
    let platform = match given {
        Some((name, nr_cpus)) => Platform::Given(name.clone(), *nr_cpus),
        None => platform(&mut draw),
    };
    let steady = draw.one_in(24);
    let mut shape = Shape {
        nr_cpus: platform.nr_cpus(),
        nr_kinds: 1 + draw.below(MAX_KINDS) as usize,
        real_time: draw.one_in(8),
        pinned: draw.one_in(3),
        weights: weights(&mut draw),
    };
    if steady {
        shape.nr_kinds = shape.nr_kinds.min(3);
    }
    let mut tasks: Vec<Task> = (0..shape.nr_kinds)
        .map(|kind| match steady {
            true => hog(&mut draw),
            false => task(&mut draw, &shape, kind),
        })
        .collect();
    feed_semaphore(&mut tasks);
    let duration = match (steady, draw.below(10)) {
        (true, _) => Ns::from_secs(12),
        (false, 0) => Ns::from_secs(4),
        (false, _) => Ns::from_ms(50 + u64::from(draw.below(400))),
    };
    let circumstances = Circumstances {
        seed: 1 + u64::from(draw.below(1000)),
        order: draw.one_in(2).then_some(seed),
        refuse_locks: draw.one_in(4).then(|| [2, 10][draw.below(2) as usize]),
        twice: draw.one_in(4),
    };
    Case {
        platform,
        tasks,
        duration,
        circumstances,
    }
}

/// What the tasks of a case have in common.
struct Shape {
    nr_cpus: u32,
    nr_kinds: usize,
    real_time: bool,
    pinned: bool,
    /// How likely each kind of statement is; most are 0.
    weights: [u32; 11],
}

fn weights(draw: &mut Draw) -> [u32; 11] {
    let mut weights = [0; 11];
    for weight in &mut weights {
        *weight = if draw.one_in(3) { 1 + draw.below(6) } else { 0 };
    }
    weights[0] = 4; // Every task computes,
    weights[1] = weights[1].max(1); // and sleeps now and then.
    weights
}

fn platform(draw: &mut Draw) -> Platform {
    let nr_cpus = 1 + draw.below(MAX_CPUS);
    if draw.one_in(2) {
        return Platform::Ideal(nr_cpus);
    }
    Platform::Costly(Costly {
        nr_cpus,
        staggered: draw.one_in(2),
        tick_timers: draw.one_in(2),
    })
}

/// A task that only computes: promises of shares are about such tasks.
fn hog(draw: &mut Draw) -> Task {
    Task {
        count: 1,
        nice: [-10, -5, 0, 0, 5, 10, 19][draw.below(7) as usize],
        class: None,
        cpus: None,
        start: Ns::ZERO,
        rounds: None,
        program: vec![Statement::Run(Ns::from_secs(1))],
    }
}

fn task(draw: &mut Draw, shape: &Shape, kind: usize) -> Task {
    let mut program: Vec<Statement> = (0..1 + draw.below(5))
        .map(|_| statement(draw, shape, kind))
        .collect();
    program.push(Statement::Run(time(draw)));
    let is_template = kind > 0 && draw.one_in(6);
    Task {
        count: if is_template { 0 } else { 1 + draw.below(3) },
        nice: match draw.one_in(2) {
            true => 0,
            false => nice(draw),
        },
        class: shape.real_time.then(|| class(draw)).flatten(),
        cpus: (shape.pinned && draw.one_in(2)).then(|| cpus(draw, shape.nr_cpus)),
        start: match draw.one_in(2) {
            true => Ns::ZERO,
            false => time(draw),
        },
        rounds: match draw.below(4) {
            0 => Some(1 + draw.below(3)),
            _ => None,
        },
        program,
    }
}

fn class(draw: &mut Draw) -> Option<(&'static str, u8)> {
    let priority = 1 + draw.below(99) as u8;
    [
        None,
        Some(("batch", 0)),
        Some(("idle", 0)),
        Some(("fifo", priority)),
        Some(("rr", priority)),
    ][draw.below(5) as usize]
}

fn nice(draw: &mut Draw) -> i8 {
    draw.below(40) as i8 - 20
}

fn cpus(draw: &mut Draw, nr_cpus: u32) -> Vec<u32> {
    let mut cpus: Vec<u32> = (0..nr_cpus).filter(|_| draw.one_in(2)).collect();
    if cpus.is_empty() {
        cpus.push(draw.below(nr_cpus));
    }
    cpus
}

/// A time at, just before or just after a tick or the end of a slice, or any other.
fn time(draw: &mut Draw) -> Ns {
    let period = 1000 * PERIODS_US[draw.below(PERIODS_US.len() as u32) as usize];
    Ns(match draw.below(6) {
        0 | 1 => period,
        2 => period - 1,
        3 => period + 1,
        4 => period + 1000,
        _ => 1 + u64::from(draw.below(20_000_000)),
    })
}

fn statement(draw: &mut Draw, shape: &Shape, kind: usize) -> Statement {
    let other = draw.below(shape.nr_kinds as u32) as usize;
    let set = (!draw.one_in(3)).then(|| cpus(draw, shape.nr_cpus));
    let later = (shape.nr_kinds - kind - 1) as u32;
    match draw.weighted(&shape.weights) {
        1 => Statement::Sleep(time(draw)),
        2 => Statement::Yield,
        3 => Statement::Nice(nice(draw)),
        4 => Statement::Renice(other, nice(draw)),
        5 => Statement::Cpus(set),
        6 => Statement::Repin(other, set),
        // Only later kinds, so that there is an end to it.
        7 if later > 0 => Statement::Fork(kind + 1 + draw.below(later) as usize),
        8 => Statement::Locked(time(draw)),
        9 => Statement::Post,
        10 => Statement::Wait,
        _ => Statement::Run(time(draw)),
    }
}

/// If a task waits for the semaphore, another posts it: workload files must say so.
fn feed_semaphore(tasks: &mut [Task]) {
    let waits = |task: &Task| task.program.contains(&Statement::Wait);
    let posts = |task: &Task| task.program.contains(&Statement::Post);
    if tasks.iter().any(waits) && !tasks.iter().any(posts) {
        let index = tasks.iter().position(|task| !waits(task)).unwrap_or(0);
        tasks[index].program.insert(0, Statement::Post);
    }
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        (((x >> 32) * u64::from(n)) >> 32) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, &weight) in weights.iter().enumerate() {
            if left < weight {
                return index;
            }
            left -= weight;
        }
        0
    }
}
