//! The page of a study: one HTML file that needs only a browser.

use askama::Template;
use schedlab_trace::printable_lines;

use crate::html::{FigureView, Panel, PAGE_STYLE};
use crate::svg::{Axis, Figure, Marker, Plot, Series, Spacing, Style, STYLE};
use crate::table::{HtmlTable, Table};

use super::tables::{compared, notes, percent, setups};
use super::{effects, front, maps, short, Front, Metric, Study};

/// What a page says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StudyInfo {
    /// The command that made it.
    pub command: String,
    /// The files it shows.
    pub files: String,
    /// The program and its version.
    pub version: String,
}

/// The most set-ups with a command.
const MOST_COMMANDS: usize = 200;

#[derive(Template)]
#[template(path = "study.html")]
struct Page<'a> {
    style: &'static str,
    figure_style: &'static str,
    script: &'static str,
    info: &'a StudyInfo,
    title: String,
    facts: Vec<(String, String)>,
    failures: Vec<String>,
    baseline: Option<HtmlTable>,
    maps: Vec<Panel<Vec<FigureView>>>,
    effects: Vec<Panel<Vec<FigureView>>>,
    fronts: Vec<FigureView>,
    tables: Vec<(String, HtmlTable)>,
    commands: Vec<(String, String)>,
    more_commands: usize,
}

/// The page of a study.  `heat` are the dimensions of the heat maps, if the user names them.
pub fn render_study(
    study: &Study,
    metrics: &[Metric],
    baseline: Option<&Study>,
    heat: Option<(String, String)>,
    info: &StudyInfo,
) -> String {
    let tables = setups(study, metrics, usize::MAX).into_iter();
    let table = |table: Table| (table.title.clone(), table.html().sortable());
    let names = study.setups.iter().map(|setup| {
        let name = format!("{}, {}", setup.case(), setup.name());
        (name, setup.command.clone())
    });
    let page = Page {
        style: PAGE_STYLE,
        figure_style: STYLE,
        script: include_str!("../../templates/report.js"),
        info,
        title: title(study),
        facts: facts(study),
        failures: notes(study),
        baseline: baseline
            .and_then(|baseline| compared(study, baseline, metrics))
            .map(|table| table.html().sortable()),
        maps: map_panels(study, heat, metrics),
        effects: effect_panels(study, metrics),
        fronts: front(study, metrics)
            .into_iter()
            .map(|f| view(plot(f)))
            .collect(),
        tables: tables.map(table).collect(),
        commands: names.take(MOST_COMMANDS).collect(),
        more_commands: study.setups.len().saturating_sub(MOST_COMMANDS),
    };
    let html = page.render().expect("a template writes into memory");
    printable_lines(&html).into_owned()
}

fn title(study: &Study) -> String {
    let policies = study.levels("policy");
    let workloads = study.levels("workload");
    let who = match policies.as_slice() {
        [one] => one.clone(),
        several if several.len() <= 4 => several.join(", "),
        several => format!("{} policies", several.len()),
    };
    match workloads.as_slice() {
        [one] => format!("{who}: {one}"),
        several => format!("{who}: {} workloads", several.len()),
    }
}

/// What was varied, each with its values.
fn facts(study: &Study) -> Vec<(String, String)> {
    let runs: usize = study.setups.iter().map(|setup| setup.outcomes.len()).sum();
    let size = format!("{} set-ups, {runs} runs", study.setups.len());
    let mut facts = vec![("Size".to_string(), size)];
    for dimension in study.dimensions() {
        let levels = study.levels(&dimension);
        let text = match levels.as_slice() {
            few if few.len() <= 8 => few.join(", "),
            many => format!(
                "{} values from {} to {}",
                many.len(),
                many[0],
                many[many.len() - 1]
            ),
        };
        facts.push((dimension, text));
    }
    facts
}

fn view(figure: Figure) -> FigureView {
    FigureView {
        svg: figure.inline(),
        title: figure.title,
    }
}

/// A panel for each metric.
fn map_panels(
    study: &Study,
    heat: Option<(String, String)>,
    metrics: &[Metric],
) -> Vec<Panel<Vec<FigureView>>> {
    let mut panels: Vec<Panel<Vec<FigureView>>> = Vec::new();
    for (metric, matrix) in maps(study, heat, metrics) {
        let figure = view(matrix.figure());
        match panels.iter_mut().find(|panel| panel.name == metric) {
            Some(panel) => panel.content.push(figure),
            None => panels.push(Panel {
                name: metric,
                content: vec![figure],
            }),
        }
    }
    panels
}

fn effect_panels(study: &Study, metrics: &[Metric]) -> Vec<Panel<Vec<FigureView>>> {
    let dimensions = study.dimensions();
    let panel = |metric: &Metric| {
        let figures = dimensions
            .iter()
            .filter_map(|dimension| effect_figure(study, dimension, metric));
        Panel {
            name: metric.label.clone(),
            content: figures.map(view).collect(),
        }
    };
    let panels = metrics.iter().map(panel);
    panels
        .filter(|panel: &Panel<Vec<FigureView>>| !panel.content.is_empty())
        .collect()
}

/// The levels of a dimension from left to right, with what each changes.
fn effect_figure(study: &Study, dimension: &str, metric: &Metric) -> Option<Figure> {
    let effects = effects(study, dimension, metric);
    if effects.len() < 2 {
        return None;
    }
    Some(
        crate::svg::Dots {
            title: short(dimension).to_string(),
            rows: effects
                .iter()
                .map(|effect| crate::svg::Dot {
                    name: effect.level.clone(),
                    value: effect.change.median,
                    interval: (effect.change.n > 1).then_some((effect.change.lo, effect.change.hi)),
                    text: percent(effect.change.median),
                })
                .collect(),
        }
        .figure(),
    )
}

/// All set-ups as points, those of the front joined by a line.
fn plot(front: Front) -> Figure {
    let range = |get: fn(&(&super::StudySetup, f64, f64, bool)) -> f64| {
        let values = || front.points.iter().map(get);
        let (low, high) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        );
        (low, high)
    };
    let axis = |metric: &Metric, (low, high): (f64, f64)| {
        let label = metric.label.clone();
        match low > 0.0 && high / low > 50.0 {
            true => Axis {
                label,
                unit: metric.unit,
                low: low * 0.9,
                high: high * 1.1,
                spacing: Spacing::Log,
            },
            false => {
                let room = ((high - low) * 0.06).max(high * 0.01).max(1e-9);
                Axis::linear(&label, metric.unit, (low - room).max(0.0), high + room)
            }
        }
    };
    let (x, y) = (
        axis(&front.x, range(|p| p.1)),
        axis(&front.y, range(|p| p.2)),
    );
    let mut plot = Plot::new(&front.case, x, y);
    let mut best: Vec<(f64, f64)> = front
        .points
        .iter()
        .filter(|p| p.3)
        .map(|p| (p.1, p.2))
        .collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    plot.lines(&[Series {
        name: "Pareto front".into(),
        style: Style::Series(0),
        points: best,
    }]);
    let markers: Vec<Marker> = front
        .points
        .iter()
        .map(|&(setup, a, b, is_best)| Marker {
            at: (a, b),
            style: if is_best {
                Style::Series(0)
            } else {
                Style::Baseline
            },
            tip: format!(
                "{}: {}, {}",
                setup.name(),
                front.x.unit.show(a),
                front.y.unit.show(b)
            ),
        })
        .collect();
    plot.markers(&markers);
    plot.finish()
}
