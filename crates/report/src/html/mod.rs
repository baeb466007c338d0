//! The report: one HTML file that needs only a browser.

mod figures;
mod latency;
mod multiples;
mod timeline;

use askama::Template;
use latency::Latency;
use multiples::Figures;

use schedlab_measure::Metrics;
use schedlab_trace::printable_lines;

use crate::run::{Comparison, Run, World};
use crate::svg::{Figure, STYLE};
use crate::table::{HtmlTable, Layout, Table};
use crate::{summary, text};

/// The style sheet of pages; figures have [their own](STYLE).
pub const PAGE_STYLE: &str = include_str!("../../templates/report.css");

/// What a report says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportInfo {
    /// The command that made it.
    pub command: String,
    /// One line about the machine; may be empty.
    pub machine: String,
    /// The program and its version.
    pub version: String,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is nothing to report.
    #[error("a report needs at least one run")]
    NoRuns,
}

/// The most set-ups as columns of the summary; more of them become rows, which can be sorted.
const MAX_COLUMNS: usize = 6;
/// Groups with a latency figure of their own.
const MAX_LATENCY_GROUPS: usize = 12;
/// About how many tasks are listed for all set-ups together.
const MAX_TASKS: usize = 600;
/// Headlines drawn as bars, in this order, the workload's own marks before them.
const DRAWN: [&str; 4] = [
    "Wakeup latency p99",
    "Run delay p99",
    "Longest wait",
    "CPU time for scheduling",
];
/// Costs drawn as bars.
const COSTS: [&str; 4] = [
    "CPU time for scheduling",
    "Tasks examined per call",
    "Recalculations",
    "Run-queue lock wait",
];

/// The report's page.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    style: &'static str,
    figure_style: &'static str,
    script: &'static str,
    info: &'a ReportInfo,
    title: String,
    what: String,
    machine: String,
    /// Labels of the set-ups.
    policies: Vec<String>,
    warnings: Vec<String>,
    /// Is there more than one case?
    several: bool,
    cases: Vec<Case>,
    reproduce: Vec<Reproduce>,
}

/// A workload on a machine.
#[derive(Template)]
#[template(path = "case.html")]
struct Case {
    /// Its heading, where there are several.
    name: String,
    /// The heading's anchor.
    anchor: String,
    /// What the anchors of its sections begin with.
    prefix: String,
    policies: Vec<String>,
    compared: bool,
    several_seeds: bool,
    simulated: bool,
    first_seed: u64,
    summary: HtmlTable,
    glance: Vec<FigureView>,
    groups: Option<HtmlTable>,
    control_groups: Option<HtmlTable>,
    latency: Vec<Panel<Vec<FiguresView>>>,
    per_policy: Vec<Panel<Vec<FigureView>>>,
    waiting: Option<FiguresView>,
    shares: Option<FigureView>,
    costs: Vec<FigureView>,
    counters: Option<HtmlTable>,
    cpus: Vec<Panel<HtmlTable>>,
    tasks: Vec<Panel<HtmlTable>>,
}

/// A figure with its caption.
#[derive(Template)]
#[template(path = "figure.html")]
pub(crate) struct FigureView {
    pub title: String,
    pub svg: String,
}

/// Figures that belong together: a single one, or small ones below a heading.
#[derive(Template)]
#[template(path = "figures.html")]
struct FiguresView {
    title: String,
    note: String,
    figures: Vec<FigureView>,
}

/// One of several views of the same thing.
pub(crate) struct Panel<T> {
    pub name: String,
    pub content: T,
}

/// A command, and names and hashes of the traces it makes.
struct Reproduce {
    command: String,
    traces: Vec<(String, String)>,
}

/// The report of some runs as an HTML document.
pub fn render_html(runs: &[Run], info: &ReportInfo) -> Result<String, ReportError> {
    if runs.is_empty() {
        return Err(ReportError::NoRuns);
    }
    let html = page(runs, info).render();
    let html = html.expect("a template writes into memory");
    Ok(printable_lines(&html).into_owned())
}

/// The sections of a report as a part of another page, without timelines: that page draws its own.  It needs
/// [`PAGE_STYLE`], the figures' [`STYLE`], and `templates/report.js`.
pub fn render_sections(runs: &[Run]) -> String {
    let without_timelines = |comparison: &Comparison| Case {
        per_policy: Vec::new(),
        ..case(comparison, None)
    };
    let cases = Comparison::cases(runs);
    let html = cases.iter().map(|comparison| {
        let html = without_timelines(comparison).render();
        html.expect("a template writes into memory")
    });
    printable_lines(&html.collect::<String>()).into_owned()
}

fn page<'a>(runs: &[Run], info: &'a ReportInfo) -> Page<'a> {
    let all = Comparison::new(runs);
    let cases = Comparison::cases(runs);
    let several = cases.len() > 1;
    Page {
        style: PAGE_STYLE,
        figure_style: STYLE,
        script: include_str!("../../templates/report.js"),
        info,
        title: title(&cases),
        what: text::headline(&all),
        machine: machine(&cases, info),
        policies: labels(&cases[0]),
        warnings: text::warnings(&all),
        several,
        cases: (1..)
            .zip(&cases)
            .map(|(number, comparison)| case(comparison, several.then_some(number)))
            .collect(),
        reproduce: reproduce(&all),
    }
}

/// The machines, and how many CPUs they have if there is one.
fn machine(cases: &[Comparison], info: &ReportInfo) -> String {
    let cpus = match cases {
        [one] => match one.setups[0].shown().metrics.nr_cpus {
            1 => "1 CPU".to_string(),
            n => format!("{n} CPUs"),
        },
        _ => String::new(),
    };
    let parts = [info.machine.clone(), cpus];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn labels(comparison: &Comparison) -> Vec<String> {
    comparison.setups.iter().map(|s| s.label.clone()).collect()
}

/// One workload on one machine; `number` tells it from the others.
fn case(comparison: &Comparison, number: Option<usize>) -> Case {
    let mut headlines = summary::headlines(comparison);
    let turned = comparison.setups.len() > MAX_COLUMNS;
    if turned {
        headlines.layout = Layout::FieldsAsColumns;
    }
    let shown = comparison.setups[0].shown();
    let most_tasks = task_limit(comparison);
    Case {
        name: comparison.case(),
        anchor: number.map_or_else(String::new, |n| format!("case-{n}")),
        prefix: number.map_or_else(String::new, |n| format!("case-{n}-")),
        policies: labels(comparison),
        compared: comparison.setups.len() > 1,
        several_seeds: comparison.has_intervals(),
        simulated: comparison.runs().all(|run| run.world == World::Simulator),
        first_seed: shown.seed,
        glance: bars(comparison, &headlines, &drawn(&headlines)),
        costs: bars(comparison, &headlines, &COSTS.map(String::from)),
        summary: match turned {
            true => headlines.html().sortable(),
            false => headlines.html(),
        },
        groups: not_empty(&summary::groups(comparison, summary::MAX_GROUPS)),
        control_groups: not_empty(&summary::control_groups(comparison, summary::MAX_GROUPS)),
        latency: latency_panels(comparison),
        per_policy: per_policy(comparison),
        waiting: figures::waiting(comparison).map(several),
        shares: figures::shares(comparison).map(view),
        counters: not_empty(&summary::counters(comparison)),
        cpus: sortable(comparison, |metrics| summary::cpus(metrics, 64)),
        tasks: sortable(comparison, |metrics| summary::tasks(metrics, most_tasks)),
    }
}

/// A sortable table for each set-up.
fn sortable(comparison: &Comparison, table: impl Fn(&Metrics) -> Table) -> Vec<Panel<HtmlTable>> {
    panels(comparison, |s| table(&s.shown().metrics).html().sortable())
}

fn title(cases: &[Comparison]) -> String {
    let labels = labels(&cases[0]);
    let of = match cases {
        [one] => one.setups[0].shown().workload.clone(),
        _ => format!("{} workloads and machines", cases.len()),
    };
    let who = match labels.as_slice() {
        [one] => one.clone(),
        [first @ .., last] if labels.len() <= 4 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} schedulers", labels.len()),
    };
    format!("{who}: {of}")
}

fn view(figure: Figure) -> FigureView {
    FigureView {
        svg: figure.inline(),
        title: figure.title,
    }
}

fn several(figures: Figures) -> FiguresView {
    match figures {
        Figures::One(figure) => FiguresView {
            title: String::new(),
            note: String::new(),
            figures: vec![view(figure)],
        },
        Figures::Many {
            title,
            note,
            figures,
        } => FiguresView {
            title,
            note,
            figures: figures.into_iter().map(view).collect(),
        },
    }
}

/// The table if there is anything in it.
fn not_empty(table: &Table) -> Option<HtmlTable> {
    (!table.fields.is_empty() && !table.subjects.is_empty()).then(|| table.html())
}

/// Labels of the rows that get a figure: the workload's marks, then latency and cost.
fn drawn(headlines: &Table) -> Vec<String> {
    let own = headlines.fields.iter().map(|f| f.label.clone());
    let own = own
        .take_while(|l| l != "Duration" && l != "Wakeup latency p50")
        .take(2);
    let mut labels: Vec<String> = own.collect();
    labels.extend(DRAWN.map(String::from));
    labels.truncate(4);
    labels
}

fn bars(comparison: &Comparison, headlines: &Table, labels: &[String]) -> Vec<FigureView> {
    if comparison.setups.len() < 2 {
        return Vec::new();
    }
    let fields = labels
        .iter()
        .filter_map(|l| headlines.fields.iter().position(|f| f.label == *l));
    fields
        .filter_map(|f| figures::headline_bars(comparison, headlines, f))
        .map(view)
        .collect()
}

/// Latency figures of all tasks and of each group that has any.
fn latency_panels(comparison: &Comparison) -> Vec<Panel<Vec<FiguresView>>> {
    let all = [("all tasks".to_string(), None)];
    let names = summary::group_names(comparison);
    let groups = names
        .iter()
        .take(MAX_LATENCY_GROUPS)
        .map(|n| (n.to_string(), Some(*n)));
    // The only group is all tasks.
    let groups = groups.filter(|_| names.len() > 1);
    all.into_iter()
        .chain(groups)
        .map(|(name, group)| Panel {
            name,
            content: [Latency::Wakeup, Latency::RunDelay]
                .into_iter()
                .flat_map(|l| {
                    [
                        latency::cdf(comparison, l, group),
                        latency::tail(comparison, l, group),
                    ]
                })
                .flatten()
                .map(several)
                .collect(),
        })
        .filter(|panel: &Panel<Vec<FiguresView>>| !panel.content.is_empty())
        .collect()
}

/// Timelines and shares over time, for each set-up.
fn per_policy(comparison: &Comparison) -> Vec<Panel<Vec<FigureView>>> {
    let names = summary::group_names(comparison);
    let content = |setup: &crate::Setup| -> Vec<FigureView> {
        let timelines = timeline::timelines(setup, &names).into_iter();
        let shares = figures::shares_over_time(setup, &names);
        let queues = figures::queues(setup);
        timelines.chain(shares).chain(queues).map(view).collect()
    };
    let mut panels = panels(comparison, content);
    panels.retain(|p| !p.content.is_empty());
    panels
}

fn panels<T>(comparison: &Comparison, content: impl Fn(&crate::Setup) -> T) -> Vec<Panel<T>> {
    let setups = comparison.setups.iter();
    setups
        .map(|setup| Panel {
            name: setup.label.clone(),
            content: content(setup),
        })
        .collect()
}

/// Fewer tasks of each where there are many set-ups, so that the file stays small.
fn task_limit(comparison: &Comparison) -> usize {
    (MAX_TASKS / comparison.setups.len()).clamp(50, 200)
}

fn reproduce(comparison: &Comparison) -> Vec<Reproduce> {
    let commands = text::reproduce(comparison).into_iter();
    commands
        .map(|(command, traces)| Reproduce {
            command: command.to_string(),
            traces,
        })
        .collect()
}
