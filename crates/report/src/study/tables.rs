//! The tables of a study.

use schedlab_trace::printable;

use crate::quantity::Unit;
use crate::table::{escape_markdown, Cell, Field, Layout, Subject, Table, Terminal};

use super::baseline::{against, Verdict};
use super::{dimensions, effects, front, short, Metric, Study, StudySetup};

/// The most set-ups of a table on a terminal.
const MOST_ROWS: usize = 60;

/// A study for a terminal.
pub fn terminal(
    study: &Study,
    metrics: &[Metric],
    baseline: Option<&Study>,
    terminal: Terminal,
) -> String {
    let tables = tables(study, metrics, baseline, MOST_ROWS);
    let mut out = String::new();
    for table in tables {
        out += &format!("{}\n", terminal.render(&table));
    }
    for line in notes(study) {
        out += &format!("{}\n", printable(&line));
    }
    out
}

/// A study in Markdown.
pub fn markdown(study: &Study, metrics: &[Metric], baseline: Option<&Study>) -> String {
    let tables = tables(study, metrics, baseline, usize::MAX);
    let mut out = String::new();
    for table in tables {
        out += &format!("{}\n", table.markdown());
    }
    for line in notes(study) {
        out += &format!("{}\n\n", escape_markdown(&line));
    }
    out
}

fn tables(study: &Study, metrics: &[Metric], baseline: Option<&Study>, most: usize) -> Vec<Table> {
    let mut tables: Vec<Table> = setups(study, metrics, most);
    tables.extend(baseline.and_then(|baseline| compared(study, baseline, metrics)));
    tables.extend(main_effects(study, metrics));
    tables.extend(trade_offs(study, metrics));
    tables
}

/// Failed runs, and what their number means.
pub(super) fn notes(study: &Study) -> Vec<String> {
    let failures = study.failures();
    let sentence = |(setup, seed, error): &(&StudySetup, u64, &str)| {
        format!(
            "failed: {}, {}, seed {seed}: {error}",
            setup.case(),
            setup.name()
        )
    };
    let mut notes: Vec<String> = failures.iter().take(10).map(sentence).collect();
    if failures.len() > 10 {
        notes.push(format!("{} more runs failed", failures.len() - 10));
    }
    notes
}

pub(super) fn fields(metrics: &[Metric]) -> Vec<Field> {
    let field = |metric: &Metric| Field {
        label: metric.label.clone(),
        unit: metric.unit,
        better: metric.better,
    };
    metrics.iter().map(field).collect()
}

/// A table of the set-ups of each case.
pub(super) fn setups(study: &Study, metrics: &[Metric], most: usize) -> Vec<Table> {
    let table = |(case, setups): (String, Vec<&StudySetup>)| {
        let names = own_dimensions(&setups);
        let subject = |setup: &&StudySetup| Subject {
            labels: names.iter().map(|name| label(setup, name)).collect(),
            contest: 0,
            cells: metrics.iter().map(|metric| cell(setup, metric)).collect(),
        };
        let mut notes = seeds(&setups);
        if setups.len() > most {
            notes.push(format!(
                "{} more set-ups: --html and --format markdown or json show all",
                setups.len() - most
            ));
        }
        Table {
            title: case,
            stubs: names.iter().map(|name| short(name).to_string()).collect(),
            fields: fields(metrics),
            subjects: setups.iter().take(most).map(subject).collect(),
            layout: Layout::FieldsAsColumns,
            notes,
        }
    };
    study.cases().into_iter().map(table).collect()
}

/// The dimensions that tell the set-ups of a case apart; at least the policy.
fn own_dimensions(setups: &[&StudySetup]) -> Vec<String> {
    let mut names = dimensions(setups);
    names.retain(|name| name != "workload" && name != "machine");
    if names.is_empty() {
        names.push("policy".to_string());
    }
    names
}

fn label(setup: &StudySetup, dimension: &str) -> String {
    setup.labels.get(dimension).cloned().unwrap_or_default()
}

fn cell(setup: &StudySetup, metric: &Metric) -> Cell {
    setup
        .summary(&metric.name)
        .map_or(Cell::Missing, |s| Cell::Number {
            value: s.median,
            interval: (s.n > 1).then_some((s.lo, s.hi)),
        })
}

/// What intervals mean, and where all seeds are equal.
fn seeds(setups: &[&StudySetup]) -> Vec<String> {
    let counts: Vec<usize> = setups.iter().map(|s| s.results().len()).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut notes = Vec::new();
    if most > 1 {
        let interval = match most < schedlab_measure::BOOTSTRAP_MIN {
            true => "lowest, highest",
            false => "95 % confidence interval by bootstrap",
        };
        notes.push(format!("Medians of up to {most} seeds [{interval}]"));
    }
    let equal = setups.iter().filter(|s| s.is_equal_for_all_seeds()).count();
    if equal > 0 {
        let whose = match equal == setups.len() {
            true => "all set-ups".to_string(),
            false => format!("{equal} of {} set-ups", setups.len()),
        };
        notes.push(format!(
            "Equal for all seeds: {whose}; one result each, no statistics"
        ));
    }
    notes
}

/// The differences from the baseline.
pub(super) fn compared(study: &Study, baseline: &Study, metrics: &[Metric]) -> Option<Table> {
    let pairs = against(study, baseline, metrics);
    if pairs.is_empty() {
        return None;
    }
    let missing = study.setups.len() - pairs.len();
    let names = study.dimensions();
    let names = if names.is_empty() {
        vec!["policy".to_string()]
    } else {
        names
    };
    let subject = |(setup, differences): (&StudySetup, Vec<Option<super::Difference>>)| Subject {
        labels: names.iter().map(|name| label(setup, name)).collect(),
        contest: 0,
        cells: differences
            .into_iter()
            .map(|difference| Cell::Text(difference.map_or_else(|| "–".into(), |d| verdict(&d))))
            .collect(),
    };
    let mut notes = vec![
        "Differences of common seeds: the median, and a verdict where their interval is on one side of zero".to_string(),
    ];
    if missing > 0 {
        notes.push(format!("{missing} set-ups are not in the baseline"));
    }
    Some(Table {
        title: "Against the baseline".into(),
        stubs: names.iter().map(|name| short(name).to_string()).collect(),
        fields: metrics
            .iter()
            .map(|m| Field::new(m.label.clone(), Unit::Plain))
            .collect(),
        subjects: pairs.into_iter().map(subject).collect(),
        layout: Layout::FieldsAsColumns,
        notes,
    })
}

fn verdict(difference: &super::Difference) -> String {
    let change = difference.relative().map(percent);
    match (difference.verdict, change) {
        (Verdict::Equal, _) => "equal".to_string(),
        (Verdict::NoDifference, _) => "no difference".to_string(),
        (verdict, Some(change)) => format!("{} {change}", verdict.words()),
        (verdict, None) => verdict.words().to_string(),
    }
}

/// "+12.3 %".
pub(super) fn percent(part: f64) -> String {
    format!("{:+.1}\u{a0}%", part * 100.0)
}

/// The main effects of each dimension.
fn main_effects(study: &Study, metrics: &[Metric]) -> Option<Table> {
    let mut subjects = Vec::new();
    for (contest, dimension) in study.dimensions().iter().enumerate() {
        let columns: Vec<Vec<super::Effect>> = metrics
            .iter()
            .map(|m| effects(study, dimension, m))
            .collect();
        let mut levels: Vec<&String> = Vec::new();
        for effect in columns.iter().flatten() {
            if !levels.contains(&&effect.level) {
                levels.push(&effect.level);
            }
        }
        for level in levels {
            let cell = |effects: &Vec<super::Effect>| {
                let found = effects.iter().find(|e| e.level == *level);
                found.map_or(Cell::Text("–".into()), |effect| {
                    Cell::Text(change(effect))
                })
            };
            subjects.push(Subject {
                labels: vec![short(dimension).to_string(), level.clone()],
                contest,
                cells: columns.iter().map(cell).collect(),
            });
        }
    }
    (!subjects.is_empty()).then(|| Table {
        title: "Main effects".into(),
        stubs: vec!["dimension".into(), "value".into()],
        fields: metrics.iter().map(|m| Field::new(m.label.clone(), Unit::Plain)).collect(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec![
            "Change against the mean of all values of the dimension, in set-ups alike in everything else [over the seeds]".into(),
        ],
    })
}

fn change(effect: &super::Effect) -> String {
    let s = effect.change;
    match s.n > 1 {
        true => format!(
            "{} [{}, {}]",
            percent(s.median),
            percent(s.lo),
            percent(s.hi)
        ),
        false => percent(s.median),
    }
}

/// The set-ups that no other one beats.
fn trade_offs(study: &Study, metrics: &[Metric]) -> Vec<Table> {
    let table = |front: super::Front| {
        let setups: Vec<&StudySetup> = front.points.iter().map(|p| p.0).collect();
        let names = own_dimensions(&setups);
        let mut best: Vec<_> = front.points.iter().filter(|p| p.3).collect();
        best.sort_by(|a, b| a.1.total_cmp(&b.1));
        let subject = |point: &&(&StudySetup, f64, f64, bool)| Subject {
            labels: names.iter().map(|name| label(point.0, name)).collect(),
            contest: 0,
            cells: vec![Cell::number(point.1), Cell::number(point.2)],
        };
        Table {
            title: format!("Pareto front, {}", front.case),
            stubs: names.iter().map(|name| short(name).to_string()).collect(),
            subjects: best.iter().map(subject).collect(),
            fields: fields(&[front.x, front.y])
                .into_iter()
                .map(|f| Field { better: None, ..f })
                .collect(),
            layout: Layout::FieldsAsColumns,
            notes: vec!["No other set-up is better in both".into()],
        }
    };
    front(study, metrics).into_iter().map(table).collect()
}
