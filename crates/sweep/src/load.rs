//! Reads results for a report: files of sweeps, and JSON of `run` and `compare`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io::Read;
use std::path::Path;

use schedlab_input::{reason, Diagnostic};
use schedlab_lab::{in_parallel, Cancel};
use schedlab_report::quantity::Unit;
use schedlab_report::study::{Metric, Study, StudyResult, StudySetup};
use schedlab_report::table::Better;
use serde_json::Value;

use crate::batch::{Batch, Setup};
use crate::run::{ran, Job, Watch};
use crate::store::{read_all, Measured, Row, Store, StoreError};

/// The first bytes of an SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file of results.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A JSON file.
    #[error(transparent)]
    Input(#[from] Box<Diagnostic>),
}

impl From<Diagnostic> for LoadError {
    fn from(mistake: Diagnostic) -> LoadError {
        LoadError::Input(Box::new(mistake))
    }
}

/// Reads the results of several files as one study. Equal set-ups are merged; a seed in two files
/// counts once.
///
/// # Errors
/// A file cannot be read, or contains no results.
pub fn load(files: &[impl AsRef<Path>]) -> Result<Study, LoadError> {
    let mut study = Study::default();
    for file in files {
        let file = file.as_ref();
        match is_sqlite(file)? {
            true => of_store(&Store::read(file)?, &mut study)?,
            false => of_json(file, &mut study)?,
        }
    }
    if study.setups.is_empty() {
        let names: Vec<String> = files
            .iter()
            .map(|f| f.as_ref().display().to_string())
            .collect();
        let mistake = Diagnostic::new("there are no results").at(names.join(", "), 0);
        return Err(mistake.expected("at least one run").into());
    }
    Ok(study)
}

fn is_sqlite(file: &Path) -> Result<bool, Diagnostic> {
    let mut head = [0; 16];
    let read = fs::File::open(file).and_then(|mut file| file.read(&mut head));
    let read = read.map_err(|error| {
        let problem = format!("the file cannot be opened ({})", reason(&error));
        Diagnostic::new(problem).at(file.display().to_string(), 0)
    })?;
    Ok(&head[..read] == SQLITE)
}

/// Adds every run of a file of results.
fn of_store(store: &Store, study: &mut Study) -> Result<(), StoreError> {
    let mut all = store.checked(read_all(store.connection()))?;
    // Runs of a set-up are stored in the order of their ends.
    all.sort_by_key(|stored| (stored.setup, stored.seed.parse::<u64>().unwrap_or(0)));
    for stored in all {
        let labels: BTreeMap<String, String> =
            serde_json::from_str(&stored.labels).unwrap_or_default();
        let seed = stored.seed.parse().unwrap_or(0);
        add(study, labels, &stored.command, seed, stored.row);
    }
    Ok(())
}

/// The stored results of these set-ups with these seeds.
pub(crate) fn study_of(
    store: &Store,
    setups: &[Setup],
    seeds: &[u64],
) -> Result<Study, StoreError> {
    let mut study = Study::default();
    for setup in setups {
        for (seed, row) in store.rows(setup)? {
            if seeds.contains(&seed) {
                let labels = setup.labels.iter().cloned().collect();
                add(&mut study, labels, &setup.command(), seed, row);
            }
        }
    }
    Ok(study)
}

/// Executes all runs of a batch without a file. A failed run does not stop the others.
pub fn in_memory(
    batch: &Batch,
    threads: usize,
    watch: &impl Watch,
    meanwhile: impl FnMut(),
) -> Study {
    let jobs = batch.jobs(None);
    let one = |index: usize, _: &Cancel| {
        let Job { setup, seed } = jobs[index];
        let row = ran(batch.setups[setup].trial(seed), &|| watch.stop());
        if let Some(row) = &row {
            watch.over(row.error.as_deref());
        }
        Ok::<_, Infallible>(row)
    };
    let Ok(rows) = in_parallel(jobs.len(), threads, one, meanwhile);
    let mut done: Vec<(Job, Row)> = jobs
        .iter()
        .zip(rows)
        .filter_map(|(job, row)| Some((*job, row?)))
        .collect();
    done.sort_by_key(|(job, _)| job.setup);
    let mut study = Study::default();
    for (job, row) in done {
        let setup = &batch.setups[job.setup];
        let labels = setup.labels.iter().cloned().collect();
        add(&mut study, labels, &setup.command(), job.seed, row);
    }
    study
}

fn add(study: &mut Study, labels: BTreeMap<String, String>, command: &str, seed: u64, row: Row) {
    let mut values = BTreeMap::new();
    for (measured, value) in row.values {
        if study.metrics.iter().all(|m| m.name != measured.name) {
            study.metrics.push(metric(&measured));
        }
        values.insert(measured.name, value);
    }
    let outcome = StudyResult {
        seed,
        trace_hash: row.trace_hash,
        error: row.error,
        values,
    };
    // Runs of a set-up are usually adjacent in a file, so try the last set-up first.
    let known = study
        .setups
        .iter_mut()
        .rev()
        .find(|setup| setup.labels == labels);
    match known {
        Some(setup) if setup.outcomes.iter().any(|run| run.seed == seed) => {}
        Some(setup) => setup.outcomes.push(outcome),
        None => study.setups.push(StudySetup {
            labels,
            command: command.to_string(),
            outcomes: vec![outcome],
        }),
    }
}

fn metric(measured: &Measured) -> Metric {
    Metric {
        name: measured.name.clone(),
        label: measured.label.clone(),
        unit: match (measured.name.as_str(), measured.unit.as_str()) {
            // Jain's index is a plain number, not a percentage.
            ("jain", _) => Unit::Plain,
            (_, "ns") => Unit::Time,
            (_, "1/s") => Unit::Rate,
            (_, "share") => Unit::Share,
            _ => Unit::Count,
        },
        better: match measured.better.as_str() {
            "lower" => Some(Better::Lower),
            "higher" => Some(Better::Higher),
            _ => None,
        },
    }
}

/// Adds the runs of a JSON file: one run, or a comparison.
fn of_json(file: &Path, study: &mut Study) -> Result<(), Diagnostic> {
    let name = file.display().to_string();
    let text = schedlab_input::read_text(file)?;
    let mistake = |problem: String| {
        Diagnostic::new(problem).at(name.clone(), 0).expected(
            "results of schedlab: a file of sweep, or what run or compare wrote with --json",
        )
    };
    let json: Value = serde_json::from_str(&text)
        .map_err(|error| mistake(format!("the file is neither SQLite nor JSON ({error})")))?;
    let one = std::slice::from_ref(&json);
    let runs = json
        .get("runs")
        .and_then(Value::as_array)
        .map_or(one, Vec::as_slice);
    for run in runs {
        let (labels, command, seed, row) =
            of_run(run).ok_or_else(|| mistake("the JSON has no runs with headlines".into()))?;
        add(study, labels, &command, seed, row);
    }
    Ok(())
}

fn of_run(run: &Value) -> Option<(BTreeMap<String, String>, String, u64, Row)> {
    let text = |key: &str| run.get(key).and_then(Value::as_str).map(str::to_string);
    let policy = text("policy")?;
    let full = match text("variant")?.as_str() {
        "" => policy.clone(),
        variant => format!("{policy}:{variant}"),
    };
    let mut labels = BTreeMap::from([
        ("policy".to_string(), full),
        ("workload".to_string(), text("workload")?),
        ("machine".to_string(), text("machine")?),
    ]);
    for (name, value) in run.get("tunables")?.as_object()? {
        labels.insert(format!("{policy}.{name}"), value.as_str()?.to_string());
    }
    let mut values = Vec::new();
    for headline in run.get("headlines")?.as_array()? {
        let text = |key: &str| Some(headline.get(key)?.as_str()?.to_string());
        let measured = Measured {
            name: text("id")?,
            label: text("label")?,
            unit: text("unit")?,
            better: text("better")?,
        };
        values.push((measured, headline.get("value")?.as_f64()?));
    }
    let row = Row {
        seed_used: None,
        trace_hash: text("trace_hash"),
        ended: text("end"),
        error: None,
        values,
    };
    let seed = run.get("seed").and_then(Value::as_u64).unwrap_or(0);
    Some((labels, text("command").unwrap_or_default(), seed, row))
}
