//! The smallest case that breaks the same invariant.

use schedlab_trace::Ns;

use crate::case::{Built, Case, Circumstances, Layout, Platform, Statement};

/// Most runs of one shrinking.
const MOST_TRIES: usize = 800;

/// Times that are easy to read, the best first.
const ROUND: [Ns; 4] = [
    Ns::from_ms(1),
    Ns::from_ms(10),
    Ns::from_ms(100),
    Ns::from_secs(1),
];

/// Durations of runs, the best first.
const DURATIONS: [Ns; 6] = [
    Ns::from_ms(10),
    Ns::from_ms(100),
    Ns::from_secs(1),
    Ns::from_secs(2),
    Ns::from_secs(5),
    Ns::from_secs(12),
];

/// Makes a case smaller as long as `breaks` holds: fewer tasks, CPUs and statements, rounder numbers.  Each step is tried in
/// a fixed order until none succeeds any more, so the result depends on the case and on `breaks` alone.
pub fn shrink(case: &Case, mut breaks: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut tries = 0;
    loop {
        // After a success the search goes on at the same step; earlier steps are tried again in the next round.
        let mut smaller = false;
        let mut index = 0;
        while let Some(step) = steps(&best).into_iter().nth(index) {
            if tries == MOST_TRIES {
                return best;
            }
            tries += 1;
            match breaks(&step) {
                true => {
                    best = step;
                    smaller = true;
                }
                false => index += 1,
            }
        }
        if !smaller {
            return best;
        }
    }
}

/// All cases one step smaller.
fn steps(case: &Case) -> Vec<Case> {
    let mut steps = Vec::new();
    circumstances(case, &mut steps);
    platforms(case, &mut steps);
    steps.extend((0..case.tasks.len()).filter_map(|task| without_task(case, task)));
    groups(case, &mut steps);
    durations(case, &mut steps);
    for task in 0..case.tasks.len() {
        statements(case, task, &mut steps);
        attributes(case, task, &mut steps);
        times(case, task, &mut steps);
    }
    steps
}

fn changed(case: &Case, change: impl FnOnce(&mut Case)) -> Case {
    let mut case = case.clone();
    change(&mut case);
    case
}

fn circumstances(case: &Case, steps: &mut Vec<Case>) {
    let now = case.circumstances;
    let plainer = [
        Circumstances {
            twice: now.twice,
            ..Circumstances::PLAIN
        },
        Circumstances { order: None, ..now },
        Circumstances {
            refuse_locks: None,
            ..now
        },
        Circumstances { seed: 1, ..now },
    ];
    for circumstances in plainer.into_iter().filter(|plainer| *plainer != now) {
        steps.push(changed(case, |case| case.circumstances = circumstances));
    }
}

fn platforms(case: &Case, steps: &mut Vec<Case>) {
    let nr_cpus = case.platform.nr_cpus();
    match &case.platform {
        Platform::Given(..) => {}
        Platform::Ideal(_) => {
            steps.extend((1..nr_cpus).map(|fewer| on(case, Platform::Ideal(fewer))));
        }
        Platform::Built(built) => {
            steps.extend((1..=nr_cpus).map(|fewer| on(case, Platform::Ideal(fewer))));
            let smaller = simpler(*built).into_iter().filter(|other| other != built);
            steps.extend(smaller.map(|built| on(case, Platform::Built(built))));
        }
    }
}

/// Machines of fewer CPUs or with less that is special.
fn simpler(built: Built) -> Vec<Built> {
    let fewer = (1..built.nr_cpus).filter(|nr_cpus| built.layout.allows(*nr_cpus));
    let mut simpler: Vec<Built> = fewer.map(|nr_cpus| Built { nr_cpus, ..built }).collect();
    let layout = Layout::Flat;
    simpler.extend([
        Built { layout, ..built },
        Built {
            has_costs: false,
            ..built
        },
        Built {
            staggered: false,
            ..built
        },
        Built {
            tick_timers: false,
            ..built
        },
    ]);
    simpler
}

/// The case on another machine; CPUs that are missing there are not named.
fn on(case: &Case, platform: Platform) -> Case {
    let nr_cpus = platform.nr_cpus();
    let narrow = |cpus: &mut Option<Vec<u32>>| {
        if let Some(list) = cpus {
            list.retain(|cpu| *cpu < nr_cpus);
            if list.is_empty() {
                *cpus = None;
            }
        }
    };
    changed(case, |case| {
        case.platform = platform;
        for task in &mut case.tasks {
            narrow(&mut task.cpus);
            task.program
                .iter_mut()
                .filter_map(Statement::cpus)
                .for_each(narrow);
        }
    })
}

/// The case without a kind of task and what names it; none if no task would be left.
fn without_task(case: &Case, gone: usize) -> Option<Case> {
    let smaller = changed(case, |case| {
        case.tasks.remove(gone);
        for task in &mut case.tasks {
            task.program
                .retain_mut(|statement| statement.names() != Some(&mut { gone }));
            let named = task.program.iter_mut().filter_map(Statement::names);
            named
                .filter(|task| **task > gone)
                .for_each(|task| *task -= 1);
        }
    });
    is_possible(&smaller).then_some(smaller)
}

/// Fewer groups, and simpler ones.
fn groups(case: &Case, steps: &mut Vec<Case>) {
    for index in 0..case.groups.len() {
        let smaller = without_group(case, index);
        steps.extend(is_possible(&smaller).then_some(smaller));
        let group = &case.groups[index];
        let mut step = |change: &dyn Fn(&mut crate::case::Group)| {
            steps.push(changed(case, |case| change(&mut case.groups[index])));
        };
        if group.weight != 100 {
            step(&|group| group.weight = 100);
        }
        if group.quota.is_some() {
            step(&|group| group.quota = None);
        }
        if group.parent.is_some() {
            step(&|group| group.parent = None);
        }
    }
}

/// The case without a group: what was in it is in the group around it.
fn without_group(case: &Case, gone: usize) -> Case {
    let parent = case.groups[gone].parent;
    let moved = |group: &mut Option<usize>| match *group {
        Some(index) if index == gone => *group = parent,
        Some(index) if index > gone => *group = Some(index - 1),
        _ => {}
    };
    changed(case, |case| {
        case.groups.remove(gone);
        case.groups
            .iter_mut()
            .for_each(|group| moved(&mut group.parent));
        for task in &mut case.tasks {
            moved(&mut task.group);
            task.program
                .retain_mut(|statement| statement.group() != Some(&mut { gone }));
            let named = task.program.iter_mut().filter_map(Statement::group);
            named
                .filter(|group| **group > gone)
                .for_each(|group| *group -= 1);
        }
    })
}

/// Does a task exist, and has each task a program?
fn is_possible(case: &Case) -> bool {
    case.nr_tasks() > 0 && case.tasks.iter().all(|task| !task.program.is_empty())
}

fn durations(case: &Case, steps: &mut Vec<Case>) {
    for duration in better(case.duration, &DURATIONS) {
        steps.push(changed(case, |case| case.duration = duration));
    }
}

fn statements(case: &Case, task: usize, steps: &mut Vec<Case>) {
    let nr = case.tasks[task].program.len();
    for gone in (0..nr).filter(|_| nr > 1) {
        steps.push(changed(case, |case| {
            case.tasks[task].program.remove(gone);
        }));
    }
    for index in 0..nr {
        // Work without a lock is simpler.
        if let Statement::Locked(time) = case.tasks[task].program[index] {
            steps.push(changed(case, |case| {
                case.tasks[task].program[index] = Statement::Run(time);
            }));
        }
    }
}

fn attributes(case: &Case, index: usize, steps: &mut Vec<Case>) {
    let task = &case.tasks[index];
    let mut step = |change: &dyn Fn(&mut crate::case::Task)| {
        steps.push(changed(case, |case| change(&mut case.tasks[index])));
    };
    if task.group.is_some() {
        step(&|task| task.group = None);
    }
    if task.count > 1 {
        step(&|task| task.count = 1);
        if task.count > 2 {
            step(&|task| task.count /= 2);
            step(&|task| task.count -= 1);
        }
    }
    if task.class.is_some() {
        step(&|task| task.class = None);
    }
    if task.cpus.is_some() {
        step(&|task| task.cpus = None);
    }
    if task.nice != 0 {
        step(&|task| task.nice = 0);
    }
    if task.start != Ns::ZERO {
        step(&|task| task.start = Ns::ZERO);
    }
    if task.rounds != Some(1) {
        step(&|task| task.rounds = Some(1));
    }
}

fn times(case: &Case, index: usize, steps: &mut Vec<Case>) {
    let task = &case.tasks[index];
    if task.start != Ns::ZERO {
        for start in better(task.start, &ROUND) {
            steps.push(changed(case, |case| case.tasks[index].start = start));
        }
    }
    for (place, statement) in task.program.iter().enumerate() {
        let Some(time) = statement.clone().time().copied() else {
            continue;
        };
        for time in better(time, &ROUND) {
            steps.push(changed(case, |case| {
                if let Some(changed) = case.tasks[index].program[place].time() {
                    *changed = time;
                }
            }));
        }
    }
}

/// Times that are better to read than this one: those of the list before it, else the list and itself rounded.
fn better(time: Ns, list: &[Ns]) -> Vec<Ns> {
    let known = list.iter().position(|round| *round == time);
    let mut better = list[..known.unwrap_or(list.len())].to_vec();
    if known.is_none() {
        better.extend(
            [1, 2]
                .map(|digits| rounded(time, digits))
                .into_iter()
                .filter(|r| *r != time),
        );
    }
    better
}

/// The time with so many digits, rounded up.
fn rounded(time: Ns, digits: u32) -> Ns {
    let unit = 10u64.pow(time.0.max(1).ilog10().saturating_sub(digits - 1));
    Ns(time.0.div_ceil(unit) * unit)
}
