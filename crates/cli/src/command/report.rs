//! `schedlab report`: results, without running anything.

use schedlab_input::Diagnostic;
use schedlab_lab::CommandLine;
use schedlab_report::study::{
    self, find_metric, render_study, Condition, Metric, Study, StudyInfo,
};
use schedlab_report::table::Terminal;
use schedlab_sweep::{load, LoadError};
use schedlab_trace::printable_json;
use serde_json::json;

use crate::arguments::{Format, ReportArguments};
use crate::failure::{Exit, Failure};
use crate::outputs::TextFile;
use crate::version::program;

use super::sweep::failure;
use super::{note, print};

/// Prints results, writes their page, and judges the conditions.
pub fn report(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let study = load(&arguments.files).map_err(failed)?;
    let baseline = arguments.baseline.as_ref().map(|file| load(&[file]));
    let baseline = baseline.transpose().map_err(failed)?;
    let metrics = metrics(arguments, &study)?;
    let conditions = conditions(arguments, &study)?;
    let heat = heat(arguments, &study)?;
    if let Some(baseline) = &baseline {
        check_baseline(arguments, &study, baseline)?;
    }
    let html = TextFile::create_if("--html", arguments.html.as_deref(), "html")?;
    if let Some(file) = html {
        let info = info(arguments);
        let page = render_study(&study, &metrics, baseline.as_ref(), heat, &info);
        file.write(&page)?.keep()?;
    }
    print(&shown(
        arguments.format,
        &study,
        &metrics,
        baseline.as_ref(),
    )?)?;
    let mut exit = Exit::Success;
    for condition in &conditions {
        for sentence in condition.holds(&study, baseline.as_ref(), &metrics) {
            note(&sentence);
            exit = Exit::ConditionHolds;
        }
    }
    Ok(exit)
}

fn failed(error: LoadError) -> Failure {
    match error {
        LoadError::Store(error) => failure(error),
        LoadError::Input(mistake) => Failure::Input(mistake),
    }
}

/// The metrics to show.
fn metrics(arguments: &ReportArguments, study: &Study) -> Result<Vec<Metric>, Failure> {
    if arguments.metric.is_empty() {
        return Ok(study.shown());
    }
    let find = |name: &String| {
        let found = find_metric(study, name).cloned();
        found.map_err(|mistake| mistake.at("--metric", 0).into())
    };
    arguments.metric.iter().map(find).collect()
}

fn conditions(arguments: &ReportArguments, study: &Study) -> Result<Vec<Condition>, Failure> {
    let read = |text: &String| {
        let condition = Condition::parse(text, study)?;
        if condition.needs_baseline() && arguments.baseline.is_none() {
            let problem = "this condition compares with a baseline";
            let mistake = Diagnostic::new(problem).at("--fail-if", 0).key(text);
            return Err(mistake.expected("--baseline FILE").into());
        }
        Ok(condition)
    };
    arguments.fail_if.iter().map(read).collect()
}

/// The dimensions of heat maps that the user names.
fn heat(arguments: &ReportArguments, study: &Study) -> Result<Option<(String, String)>, Failure> {
    let dimensions = study.dimensions();
    let find = |name: &String| {
        let ends = |d: &&String| *d == name || d.ends_with(&format!(".{name}"));
        dimensions.iter().find(ends).cloned().ok_or_else(|| {
            Failure::from(
                Diagnostic::new(format!("the results do not differ in \"{name}\""))
                    .at("--heat", 0)
                    .expected(format!("two of {}", dimensions.join(", ")))
                    .suggest(name, dimensions.iter().map(String::as_str)),
            )
        })
    };
    match &arguments.heat {
        Some((x, y)) => Ok(Some((find(x)?, find(y)?))),
        None => Ok(None),
    }
}

/// A baseline without a common set-up compares nothing.
fn check_baseline(
    arguments: &ReportArguments,
    study: &Study,
    baseline: &Study,
) -> Result<(), Failure> {
    let common = |setup: &study::StudySetup| {
        baseline
            .setups
            .iter()
            .any(|other| other.labels == setup.labels)
    };
    if study.setups.iter().any(common) {
        return Ok(());
    }
    let file = arguments
        .baseline
        .as_ref()
        .map(|file| file.display().to_string());
    let mistake = Diagnostic::new("it has none of the set-ups").at("--baseline", 0);
    let mistake = mistake.key(file.unwrap_or_default());
    Err(mistake
        .expected("results of the same policies, settings, workloads and machines")
        .into())
}

fn info(arguments: &ReportArguments) -> StudyInfo {
    let files = arguments
        .files
        .iter()
        .map(|file| file.display().to_string());
    let files: Vec<String> = files.collect();
    let line = files
        .iter()
        .fold(CommandLine::new("report"), |line, file| line.word(file));
    let heat = arguments.heat.as_ref().map(|(x, y)| format!("{x},{y}"));
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let line = line
        .flag_if("--html", arguments.html.as_ref().map(path))
        .flags("--metric", &arguments.metric)
        .flag_if("--heat", heat)
        .flag_if("--baseline", arguments.baseline.as_ref().map(path));
    StudyInfo {
        command: line.to_string(),
        files: files.join(", "),
        version: program(),
    }
}

fn shown(
    format: Format,
    study: &Study,
    metrics: &[Metric],
    baseline: Option<&Study>,
) -> Result<String, Failure> {
    Ok(match format {
        Format::Table => study::terminal(study, metrics, baseline, Terminal::stdout()),
        Format::Markdown => study::markdown(study, metrics, baseline),
        Format::Json => as_json(study, metrics, baseline)?,
    })
}

/// Every set-up with medians and intervals, and its differences from the baseline.
fn as_json(study: &Study, metrics: &[Metric], baseline: Option<&Study>) -> Result<String, Failure> {
    let setups = study.setups.iter().map(|setup| {
        let seeds: Vec<u64> = setup.outcomes.iter().map(|run| run.seed).collect();
        let errors: Vec<&str> = setup
            .outcomes
            .iter()
            .filter_map(|run| run.error.as_deref())
            .collect();
        let medians = metrics.iter().filter_map(|metric| {
            let summary = setup.summary(&metric.name)?;
            Some((metric.name.clone(), json!(summary)))
        });
        let before = baseline.and_then(|baseline| {
            baseline
                .setups
                .iter()
                .find(|other| other.labels == setup.labels)
        });
        let differences = before.map(|before| {
            let differences = metrics.iter().filter_map(|metric| {
                let difference = study::Difference::of(metric, before, setup)?;
                let json = json!({
                    "baseline": difference.before,
                    "now": difference.now,
                    "difference": difference.difference,
                    "verdict": difference.verdict.words(),
                });
                Some((metric.name.clone(), json))
            });
            differences.collect::<serde_json::Map<_, _>>()
        });
        json!({
            "labels": setup.labels,
            "seeds": seeds,
            "equal_for_all_seeds": setup.is_equal_for_all_seeds(),
            "command": setup.command,
            "errors": errors,
            "metrics": medians.collect::<serde_json::Map<_, _>>(),
            "baseline": differences,
        })
    });
    let document = json!({
        "schedlab": crate::version::VERSION,
        "setups": setups.collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&document);
    text.map(|text| printable_json(&text).into_owned() + "\n")
        .map_err(|error| Failure::Other(error.to_string()))
}
