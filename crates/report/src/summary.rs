//! The tables of a run and of a comparison.

use std::collections::BTreeSet;

use schedlab_measure::{
    Activity, ControlGroupMetrics, CpuMetrics, Direction, Distribution, Headline, HeadlineUnit,
    Interval, Metrics, Summary, BOOTSTRAP_MIN,
};

use crate::quantity::Unit;
use crate::run::{Comparison, Setup};
use crate::table::{Better, Cell, Field, Layout, Subject, Table};

/// The most groups shown of a comparison.
pub const MAX_GROUPS: usize = 12;

/// The headlines: a row for each, a column for each set-up.  Headlines no run has are left out, and
/// so is the duration where it was the same for all.
pub fn headlines(comparison: &Comparison) -> Table {
    let headlines: Vec<Headline> = Headline::all(comparison.metrics())
        .into_iter()
        .filter(|h| worth_showing(h, comparison))
        .collect();
    Table {
        title: "Summary".to_string(),
        stubs: comparison.stubs.clone(),
        fields: headlines.iter().map(headline_field).collect(),
        subjects: subjects(comparison, |setup| {
            headlines.iter().map(|h| headline_cell(h, setup)).collect()
        }),
        layout: Layout::FieldsAsRows,
        notes: seed_notes(comparison),
    }
}

fn worth_showing(headline: &Headline, comparison: &Comparison) -> bool {
    let values: Vec<f64> = comparison
        .metrics()
        .filter_map(|m| headline.value(m))
        .collect();
    let all_equal = values.iter().all(|v| *v == values[0]);
    let says_nothing = headline.id == "duration_ns" && all_equal && comparison.setups.len() > 1;
    !values.is_empty() && !says_nothing
}

fn headline_field(headline: &Headline) -> Field {
    let unit = match headline.unit {
        // Jain's index is usually written as a number, not in per cent.
        _ if headline.id == "jain" => Unit::Plain,
        HeadlineUnit::Ns => Unit::Time,
        HeadlineUnit::PerSecond => Unit::Rate,
        HeadlineUnit::Count => Unit::Count,
        HeadlineUnit::Share => Unit::Share,
    };
    let field = Field::new(headline.label.as_ref(), unit);
    match headline.better {
        Direction::Higher => field.better(Better::Higher),
        Direction::Lower => field.better(Better::Lower),
        Direction::Neither => field,
    }
}

fn headline_cell(headline: &Headline, setup: &Setup) -> Cell {
    summary_cell(headline.summarize(setup.results().iter().map(|r| &r.metrics)))
}

/// A median; with its interval if it stands for several runs.
fn summary_cell(summary: Option<Summary>) -> Cell {
    summary.map_or(Cell::Missing, |s| Cell::Number {
        value: s.median,
        interval: (s.n > 1).then_some((s.lo, s.hi)),
    })
}

/// The meaning of a comparison's intervals, and which set-ups have none.
fn seed_notes(comparison: &Comparison) -> Vec<String> {
    let setups = || comparison.setups.iter();
    let equal: Vec<&str> = setups()
        .filter(|s| s.is_equal_for_all_seeds())
        .map(|s| s.label.as_str())
        .collect();
    let equal = match equal.len() {
        0 => None,
        n if n == comparison.setups.len() => Some("Equal for all seeds".to_string()),
        _ => Some(format!("Equal for all seeds: {}", equal.join(", "))),
    };
    interval_note(comparison).into_iter().chain(equal).collect()
}

/// The meaning of a comparison's intervals; none if there are none.
fn interval_note(comparison: &Comparison) -> Option<String> {
    let setups = || comparison.setups.iter().map(|s| s.results().len());
    let most = setups().max().filter(|most| *most > 1)?;
    let least = setups().filter(|n| *n > 1).min()?;
    let seeds = if least == most {
        format!("{most} seeds")
    } else {
        format!("{least} to {most} seeds")
    };
    let interval = match interval_kind(most) {
        Interval::Range => "[lowest, highest]".to_string(),
        Interval::Bootstrap95 => format!(
            "[95 % confidence interval by bootstrap; of fewer than {BOOTSTRAP_MIN}: lowest, highest]"
        ),
    };
    Some(format!("Medians of {seeds} {interval}"))
}

fn interval_kind(n: usize) -> Interval {
    if n < BOOTSTRAP_MIN {
        Interval::Range
    } else {
        Interval::Bootstrap95
    }
}

fn subjects(comparison: &Comparison, cells: impl Fn(&Setup) -> Vec<Cell>) -> Vec<Subject> {
    let setups = comparison.setups.iter();
    setups
        .map(|setup| Subject {
            labels: setup.labels.clone(),
            contest: 0,
            cells: cells(setup),
        })
        .collect()
}

/// Names of all groups, in order of first appearance.
pub fn group_names<'a>(comparison: &Comparison<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    let mut known = BTreeSet::new();
    for group in comparison.metrics().flat_map(|m| &m.groups) {
        if known.insert(group.name.as_ref()) {
            names.push(&group.name);
        }
    }
    names
}

/// A value shown of a group or a task, and how to get it.
type Column<T> = (&'static str, Unit, Option<Better>, fn(&T) -> Option<f64>);

fn field<T>((label, unit, better, _): &Column<T>) -> Field {
    Field {
        label: label.to_string(),
        unit: *unit,
        better: *better,
    }
}

fn wakeup(a: &Activity, get: fn(&Distribution) -> u64) -> Option<f64> {
    a.wakeup_latency_ns.as_deref().map(|d| get(d) as f64)
}

fn delay(a: &Activity, get: fn(&Distribution) -> u64) -> Option<f64> {
    a.run_delay_ns.as_deref().map(|d| get(d) as f64)
}

const GROUP_COLUMNS: [Column<Activity>; 6] = [
    ("CPU share", Unit::Share, None, |a| Some(a.cpu_share)),
    ("wakeup p50", Unit::Time, Some(Better::Lower), |a| {
        wakeup(a, |d| d.p50.0)
    }),
    ("wakeup p99", Unit::Time, Some(Better::Lower), |a| {
        wakeup(a, |d| d.p99.0)
    }),
    ("wakeup max", Unit::Time, Some(Better::Lower), |a| {
        wakeup(a, |d| d.max.0)
    }),
    ("run delay p99", Unit::Time, Some(Better::Lower), |a| {
        delay(a, |d| d.p99.0)
    }),
    ("run delay max", Unit::Time, Some(Better::Lower), |a| {
        delay(a, |d| d.max.0)
    }),
];

/// The groups: for each, a row for each set-up.
pub fn groups(comparison: &Comparison, limit: usize) -> Table {
    let names = group_names(comparison);
    let mut subjects = Vec::new();
    for (contest, name) in names.iter().take(limit).enumerate() {
        for setup in &comparison.setups {
            subjects.push(group_subject(setup, name, contest));
        }
    }
    let mut stubs = vec!["group".to_string()];
    if comparison.setups.len() == 1 {
        // A single set-up need not be named in every row.
        subjects.iter_mut().for_each(|s| s.labels.truncate(1));
    } else {
        stubs.extend(comparison.stubs.clone());
    }
    let more = names.len().saturating_sub(limit);
    let more = (more > 0).then(|| format!("{more} more groups; --format json has all"));
    Table {
        title: "Groups of tasks".to_string(),
        stubs,
        fields: GROUP_COLUMNS.iter().map(field).collect(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: seed_notes(comparison).into_iter().chain(more).collect(),
    }
}

fn group_subject(setup: &Setup, name: &str, contest: usize) -> Subject {
    let activities: Vec<&Activity> = setup
        .results()
        .iter()
        .filter_map(|r| r.metrics.groups.iter().find(|g| *g.name == *name))
        .map(|g| &g.activity)
        .collect();
    let cell = |column: &Column<Activity>| {
        summary_cell(Summary::of(
            activities.iter().filter_map(|a| (column.3)(a)).collect(),
        ))
    };
    Subject {
        labels: [name.to_string()]
            .into_iter()
            .chain(setup.labels.clone())
            .collect(),
        contest,
        cells: GROUP_COLUMNS.iter().map(cell).collect(),
    }
}

type ControlColumn = (&'static str, Unit, fn(&ControlGroupMetrics) -> Option<f64>);

const CONTROL_COLUMNS: [ControlColumn; 8] = [
    ("shares", Unit::Count, |g| Some(f64::from(g.shares))),
    ("quota", Unit::Time, |g| g.quota_ns.map(|q| q.0 as f64)),
    ("period", Unit::Time, |g| g.period_ns.map(|p| p.0 as f64)),
    ("tasks", Unit::Count, |g| Some(g.nr_tasks as f64)),
    ("CPU share", Unit::Share, |g| Some(g.cpu_share)),
    ("waited", Unit::Time, |g| Some(g.wait_ns.0 as f64)),
    ("throttled", Unit::Time, |g| Some(g.throttled_ns.0 as f64)),
    ("times", Unit::Count, |g| Some(g.nr_throttles as f64)),
];

/// The control groups, each with what is in it: for each, a row for each set-up.
pub fn control_groups(comparison: &Comparison, limit: usize) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for group in comparison.metrics().flat_map(|m| &m.control_groups) {
        if !names.contains(&group.name.as_str()) {
            names.push(&group.name);
        }
    }
    let mut subjects = Vec::new();
    for (contest, name) in names.iter().take(limit).enumerate() {
        for setup in &comparison.setups {
            subjects.push(control_subject(setup, name, contest));
        }
    }
    let mut stubs = vec!["control group".to_string(), "in".to_string()];
    if comparison.setups.len() == 1 {
        subjects.iter_mut().for_each(|s| s.labels.truncate(2));
    } else {
        stubs.extend(comparison.stubs.clone());
    }
    let more = names.len().saturating_sub(limit);
    let more = (more > 0).then(|| format!("{more} more control groups; --format json has all"));
    let field = |(label, unit, _): &ControlColumn| Field::new(*label, *unit);
    Table {
        title: "Control groups".to_string(),
        stubs,
        fields: CONTROL_COLUMNS.iter().map(field).collect(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: more.into_iter().collect(),
    }
}

fn control_subject(setup: &Setup, name: &str, contest: usize) -> Subject {
    let groups: Vec<&ControlGroupMetrics> = setup
        .results()
        .iter()
        .filter_map(|r| r.metrics.control_groups.iter().find(|g| g.name == name))
        .collect();
    let parent = groups.first().and_then(|g| g.parent.clone());
    let cell = |column: &ControlColumn| {
        let values = groups.iter().filter_map(|g| (column.2)(g));
        summary_cell(Summary::of(values.collect()))
    };
    Subject {
        labels: [name.to_string(), parent.unwrap_or_default()]
            .into_iter()
            .chain(setup.labels.clone())
            .collect(),
        contest,
        cells: CONTROL_COLUMNS.iter().map(cell).collect(),
    }
}

/// The policies' own counters: a row for each, a column for each set-up.
pub fn counters(comparison: &Comparison) -> Table {
    let names: BTreeSet<&String> = comparison
        .metrics()
        .flat_map(|m| m.counters.keys())
        .collect();
    Table {
        title: "The policies' own counters".to_string(),
        stubs: comparison.stubs.clone(),
        fields: names
            .iter()
            .map(|n| Field::new(n.as_str(), Unit::Count))
            .collect(),
        subjects: subjects(comparison, |setup| {
            names.iter().map(|name| counter_cell(setup, name)).collect()
        }),
        layout: Layout::FieldsAsRows,
        notes: Vec::new(),
    }
}

fn counter_cell(setup: &Setup, name: &str) -> Cell {
    let counts = setup
        .results()
        .iter()
        .filter_map(|r| r.metrics.counters.get(name));
    summary_cell(Summary::of(counts.map(|c| *c as f64).collect()))
}

type CpuColumn = (&'static str, fn(&CpuMetrics) -> Option<u64>);

const CPU_COLUMNS: [CpuColumn; 5] = [
    ("tasks", |c| Some(c.run_ns.0)),
    ("idle", |c| Some(c.idle_ns.0)),
    ("scheduling", |c| {
        c.overhead_ns
            .map(|o| o.schedule.0 + o.switch.0 + o.wakeup.0)
    }),
    ("lock wait", |c| c.overhead_ns.map(|o| o.lock.0)),
    ("other overhead", |c| {
        c.overhead_ns.map(|o| o.tick.0 + o.syscall.0)
    }),
];

/// The CPUs of one run: where their time went, at most `limit` of them.
pub fn cpus(metrics: &Metrics, limit: usize) -> Table {
    let duration = metrics.duration_ns.0 as f64;
    let share = |ns: Option<u64>| Cell::maybe(ns.map(|ns| ns as f64 / duration.max(1.0)));
    let subject = |cpu: &CpuMetrics| Subject {
        labels: vec![cpu.cpu.to_string()],
        contest: 0,
        cells: CPU_COLUMNS
            .iter()
            .map(|(_, get)| share(get(cpu)))
            .chain([Cell::number(cpu.switches as f64)])
            .collect(),
    };
    let fields = CPU_COLUMNS
        .iter()
        .map(|(label, _)| Field::new(*label, Unit::Share));
    let more = metrics.cpus.len().saturating_sub(limit);
    Table {
        title: "CPUs".to_string(),
        stubs: vec!["CPU".to_string()],
        fields: fields
            .chain([Field::new("switches", Unit::Count)])
            .collect(),
        subjects: metrics.cpus.iter().take(limit).map(subject).collect(),
        layout: Layout::FieldsAsColumns,
        notes: (more > 0)
            .then(|| format!("{more} more CPUs; --format json has all"))
            .into_iter()
            .collect(),
    }
}

const TASK_COLUMNS: [Column<Activity>; 9] = [
    ("ran", Unit::Time, None, |a| Some(a.run_ns.0 as f64)),
    ("CPU share", Unit::Share, None, |a| Some(a.cpu_share)),
    ("wakeup p50", Unit::Time, None, |a| wakeup(a, |d| d.p50.0)),
    ("wakeup p99", Unit::Time, None, |a| wakeup(a, |d| d.p99.0)),
    ("wakeup max", Unit::Time, None, |a| wakeup(a, |d| d.max.0)),
    ("run delay p99", Unit::Time, None, |a| delay(a, |d| d.p99.0)),
    ("longest wait", Unit::Time, None, |a| {
        a.longest_wait.map(|w| w.ns.0 as f64)
    }),
    ("switches", Unit::Count, None, |a| {
        Some(a.nr_switches as f64)
    }),
    ("migrations", Unit::Count, None, |a| {
        Some(a.nr_migrations as f64)
    }),
];

/// The tasks of one run: at most `limit`, those that waited longest, by id.
pub fn tasks(metrics: &Metrics, limit: usize) -> Table {
    let subject = |i: usize| {
        let task = &metrics.tasks[i];
        let nice = Cell::number(f64::from(task.nice));
        let cells = TASK_COLUMNS
            .iter()
            .map(|c| Cell::maybe((c.3)(&task.activity)));
        Subject {
            labels: vec![
                task.id.to_string(),
                task.name.clone(),
                task.group.to_string(),
            ],
            contest: 0,
            cells: [nice].into_iter().chain(cells).collect(),
        }
    };
    let shown = longest_waiting(metrics, limit);
    let nr_tasks = metrics.tasks.len();
    let more = (nr_tasks > shown.len()).then(|| {
        let shown = shown.len();
        format!("the {shown} of {nr_tasks} tasks that waited longest; --format json has all")
    });
    let dropped = "latencies were kept by group only: too many tasks or samples";
    let dropped = metrics
        .task_distributions_dropped
        .then(|| dropped.to_string());
    Table {
        title: "Tasks".to_string(),
        stubs: ["id", "task", "group"].map(str::to_string).to_vec(),
        fields: [Field::new("nice", Unit::Count)]
            .into_iter()
            .chain(TASK_COLUMNS.iter().map(field))
            .collect(),
        subjects: shown.into_iter().map(subject).collect(),
        layout: Layout::FieldsAsColumns,
        notes: more.into_iter().chain(dropped).collect(),
    }
}

/// Indexes of the tasks with the longest single waits, in the tasks' own order.
fn longest_waiting(metrics: &Metrics, limit: usize) -> Vec<usize> {
    let wait = |i: &usize| {
        metrics.tasks[*i]
            .activity
            .longest_wait
            .map_or(0, |w| w.ns.0)
    };
    let mut tasks: Vec<usize> = (0..metrics.tasks.len()).collect();
    tasks.sort_by_key(|i| std::cmp::Reverse(wait(i)));
    tasks.truncate(limit);
    tasks.sort_unstable();
    tasks
}
