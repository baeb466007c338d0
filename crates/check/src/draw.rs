//! Random cases, drawn from a seed: few tasks and CPUs, and times close to ticks and ends of slices.

use schedlab_trace::Ns;
use schedlab_workload::Stream;

use crate::case::{Built, Case, Circumstances, Group, Layout, Platform, Statement, Task};

/// Most kinds of tasks.
const MAX_KINDS: u32 = 6;

/// Most CPUs.
const MAX_CPUS: u32 = 4;

/// Most control groups.
const MAX_GROUPS: u32 = 3;

/// Ticks and slices of schedulers, in us.
const PERIODS_US: [u64; 12] = [
    250, 700, 1000, 3000, 4000, 5000, 6000, 10_000, 20_000, 50_000, 100_000, 200_000,
];

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Theme {
    /// Anything.
    Any,
    /// Tasks that only compute: promises of shares are about such tasks.
    Hogs,
    /// Tasks that send each other messages, and sleep.
    Talk,
    /// A real-time task that has a CPU to itself for long.
    Spell,
    /// Many tasks on one CPU: some rules are about what depends on their number.
    Crowd,
}

/// The case of a seed: a pure function of it.  With `given`, a machine's name and number of CPUs, that is the machine.
pub fn case(seed: u64, given: Option<&(String, u32)>) -> Case {
    let mut draw = Draw(Stream::of_task(seed, "case", 0));
    let theme = theme(&mut draw);
    let platform = match given {
        Some((name, nr_cpus)) => Platform::Given(name.clone(), *nr_cpus),
        None => platform(&mut draw, theme),
    };
    let shape = shape(&mut draw, theme, platform.nr_cpus());
    let groups = (0..shape.nr_groups).map(|index| group(&mut draw, index));
    let groups = groups.collect();
    let tasks = tasks(&mut draw, theme, &shape);
    let duration = match (theme, draw.below(10)) {
        (Theme::Hogs, _) => Ns::from_secs(12),
        (Theme::Spell, _) => Ns::from_secs(2),
        (_, 0) => Ns::from_secs(4),
        _ => Ns::from_ms(50 + u64::from(draw.below(400))),
    };
    let circumstances = Circumstances {
        seed: 1 + u64::from(draw.below(1000)),
        order: draw.one_in(2).then_some(seed),
        refuse_locks: draw.one_in(4).then(|| [2, 10][draw.below(2) as usize]),
        twice: draw.one_in(4),
    };
    Case {
        platform,
        groups,
        tasks,
        duration,
        circumstances,
    }
}

fn theme(draw: &mut Draw) -> Theme {
    match draw.below(48) {
        0..=3 => Theme::Hogs,
        4..=6 => Theme::Talk,
        7 | 8 => Theme::Spell,
        9 | 10 => Theme::Crowd,
        _ => Theme::Any,
    }
}

/// What the tasks of a case have in common.
struct Shape {
    nr_cpus: u32,
    nr_kinds: usize,
    nr_groups: usize,
    real_time: bool,
    pinned: bool,
    /// How likely each kind of statement is; most are 0.
    weights: [u32; NR_STATEMENTS],
}

fn shape(draw: &mut Draw, theme: Theme, nr_cpus: u32) -> Shape {
    let nr_kinds = 1 + draw.below(MAX_KINDS) as usize;
    let nr_groups = 1 + draw.below(MAX_GROUPS) as usize;
    let has_groups = draw.one_in(5);
    let shape = Shape {
        nr_cpus,
        nr_kinds,
        nr_groups: if has_groups { nr_groups } else { 0 },
        real_time: draw.one_in(6),
        pinned: draw.one_in(3),
        weights: weights(draw),
    };
    match theme {
        Theme::Hogs => Shape {
            nr_kinds: nr_kinds.clamp(2, 3),
            nr_groups: 0,
            ..shape
        },
        Theme::Talk => Shape {
            nr_kinds: nr_kinds.max(3),
            nr_groups: 0,
            ..shape
        },
        Theme::Any | Theme::Spell | Theme::Crowd => shape,
    }
}

fn tasks(draw: &mut Draw, theme: Theme, shape: &Shape) -> Vec<Task> {
    let mut tasks: Vec<Task> = (0..shape.nr_kinds)
        .map(|kind| match theme {
            Theme::Hogs => hog(draw),
            Theme::Talk => talker(draw, kind),
            _ => task(draw, shape, kind),
        })
        .collect();
    feed(&mut tasks, Statement::Wait, Statement::Post);
    feed(&mut tasks, Statement::Receive, Statement::Send);
    feed(&mut tasks, Statement::Send, Statement::Receive);
    match theme {
        Theme::Spell => tasks.push(spell(draw, shape.nr_cpus)),
        Theme::Crowd => tasks.push(crowd(draw, shape.nr_cpus)),
        Theme::Any | Theme::Hogs | Theme::Talk => {}
    }
    tasks
}

/// Kinds of statements.
const NR_STATEMENTS: usize = 18;

fn weights(draw: &mut Draw) -> [u32; NR_STATEMENTS] {
    let mut weights = [0; NR_STATEMENTS];
    for weight in &mut weights {
        *weight = if draw.one_in(3) { 1 + draw.below(6) } else { 0 };
    }
    weights[0] = 4; // Every task computes,
    weights[1] = weights[1].max(1); // and sleeps now and then.
    weights
}

fn platform(draw: &mut Draw, theme: Theme) -> Platform {
    let is_special = matches!(theme, Theme::Talk | Theme::Spell);
    let nr_cpus = (1 + draw.below(MAX_CPUS)).max(if is_special { 2 } else { 1 });
    // Tasks that compete for one CPU for long are what promises of shares are about.
    let nr_cpus = if theme == Theme::Hogs {
        nr_cpus.min(2)
    } else {
        nr_cpus
    };
    if draw.one_in(2) && !is_special {
        return Platform::Ideal(nr_cpus);
    }
    let layouts = [
        Layout::Flat,
        Layout::TwoCaches,
        Layout::Pairs,
        Layout::SlowHalf,
    ];
    let layout = match (theme, draw.below(4)) {
        (Theme::Talk, _) => Layout::TwoCaches,
        (Theme::Spell, _) => Layout::SlowHalf,
        (_, index) => layouts[index as usize],
    };
    Platform::Built(Built {
        nr_cpus,
        layout: if layout.allows(nr_cpus) {
            layout
        } else {
            Layout::Flat
        },
        has_costs: !draw.one_in(3),
        staggered: draw.one_in(2),
        tick_timers: draw.one_in(2),
    })
}

fn group(draw: &mut Draw, index: usize) -> Group {
    Group {
        parent: (index > 0 && draw.one_in(2)).then(|| draw.below(index as u32) as usize),
        weight: weight(draw),
        quota: draw
            .one_in(8)
            .then(|| Ns::from_ms([5, 10, 50, 150][draw.below(4) as usize])),
    }
}

fn weight(draw: &mut Draw) -> u32 {
    [1, 10, 100, 100, 300, 1000, 10_000][draw.below(7) as usize]
}

/// A group, or the root.
fn group_of(draw: &mut Draw, shape: &Shape) -> Option<usize> {
    let group = draw.below(shape.nr_groups as u32 + 1) as usize;
    (group < shape.nr_groups).then_some(group)
}

/// In turn a task that receives, one that sends and then sleeps, and one that only sleeps.
fn talker(draw: &mut Draw, kind: usize) -> Task {
    let run = Statement::Run(Ns::from_us(PERIODS_US[draw.below(7) as usize]));
    let sleep = Statement::Sleep(time(draw));
    let program = match kind % 3 {
        0 => vec![Statement::Receive, run],
        1 => vec![run, Statement::Send, sleep],
        _ => vec![run, sleep],
    };
    Task {
        nice: 0,
        cpus: (kind % 3 != 0 && !draw.one_in(4)).then(|| vec![0]),
        program,
        ..hog(draw)
    }
}

/// A real-time task that computes for long enough that averages are at their limits, and sleeps.
fn spell(draw: &mut Draw, nr_cpus: u32) -> Task {
    Task {
        count: 1,
        nice: 0,
        class: Some(("fifo", 1)),
        cpus: Some(vec![draw.below(nr_cpus)]),
        program: vec![
            Statement::Run(Ns::from_ms(300 + u64::from(draw.below(300)))),
            Statement::Sleep(time(draw)),
        ],
        ..hog(draw)
    }
}

fn crowd(draw: &mut Draw, nr_cpus: u32) -> Task {
    Task {
        count: 200 + draw.below(150),
        cpus: Some(vec![draw.below(nr_cpus)]),
        nice: 0,
        ..hog(draw)
    }
}

fn hog(draw: &mut Draw) -> Task {
    Task {
        count: 1,
        nice: [-10, -5, 0, 0, 5, 10, 19][draw.below(7) as usize],
        class: None,
        cpus: None,
        start: Ns::ZERO,
        group: None,
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
        group: group_of(draw, shape),
        rounds: match draw.below(4) {
            0 => Some(1 + draw.below(3)),
            _ => None,
        },
        program,
    }
}

fn class(draw: &mut Draw) -> Option<(&'static str, u8)> {
    Some(any_class(draw)).filter(|(class, _)| *class != "normal")
}

fn any_class(draw: &mut Draw) -> (&'static str, u8) {
    let priority = 1 + draw.below(99) as u8;
    [
        ("normal", 0),
        ("batch", 0),
        ("idle", 0),
        ("fifo", priority),
        ("rr", priority),
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
    if shape.real_time && draw.one_in(5) {
        let (class, priority) = any_class(draw);
        return Statement::Reclass(other, class, priority);
    }
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
        11 => Statement::Send,
        12 => Statement::Receive,
        13 if shape.real_time => {
            let (class, priority) = any_class(draw);
            Statement::Class(class, priority)
        }
        14 if shape.real_time => {
            let (class, priority) = any_class(draw);
            Statement::Reclass(other, class, priority)
        }
        15 if shape.nr_groups > 0 => Statement::Group(group_of(draw, shape)),
        16 if shape.nr_groups > 0 => Statement::Regroup(other, group_of(draw, shape)),
        17 if shape.nr_groups > 0 => {
            Statement::Weight(draw.below(shape.nr_groups as u32) as usize, weight(draw))
        }
        _ => Statement::Run(time(draw)),
    }
}

/// If a task waits for something, another does what ends the wait: workload files must say so.
fn feed(tasks: &mut [Task], wait: Statement, end: Statement) {
    let has = |task: &Task, statement: &Statement| task.program.contains(statement);
    if tasks.iter().any(|task| has(task, &wait)) && !tasks.iter().any(|task| has(task, &end)) {
        let index = tasks.iter().position(|task| !has(task, &wait)).unwrap_or(0);
        tasks[index].program.insert(0, end);
    }
}

/// Draws numbers.
struct Draw(Stream);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        self.0.up_to(Ns(u64::from(n) - 1)).0 as u32
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
