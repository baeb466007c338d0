//! The simulator as a Python extension.

mod arrow;
mod remote;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use schedlab_input::Diagnostic;
use schedlab_lab::choose::Assignments;
use schedlab_lab::{threads, CommandLine, Recorded};
use schedlab_measure::Measure;
use schedlab_report::study::{Study, StudySetup};
use schedlab_sim::Limits;
use schedlab_sweep::{
    About, Axis, Batch, Constraint, Design, Job, Plan, Row, Shard, Store, Surroundings, Tally,
    Watch,
};
use schedlab_trace::{Ns, TraceInfo};

use table::Table;

pyo3::create_exception!(
    _schedlab,
    Error,
    PyException,
    "What the program would print."
);

/// The program's version, with the commit.
const VERSION: &str = env!("SCHEDLAB_VERSION");

/// Real CPU time that one call of a policy's hook may take.
const HOOK_TIMEOUT: Ns = Ns::from_secs(20);

fn error(message: impl ToString) -> PyErr {
    Error::new_err(message.to_string())
}

/// A plan as Python describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Parts {
    policies: Vec<String>,
    workloads: Vec<String>,
    machines: Vec<String>,
    seeds: Option<String>,
    duration: Option<String>,
    #[pyo3(default)]
    vary: Vec<String>,
    #[pyo3(default)]
    constraints: Vec<String>,
    #[pyo3(default)]
    plan: Option<PathBuf>,
    #[pyo3(default)]
    design: Option<(String, Option<usize>, u64)>,
}

impl Parts {
    fn plan(self) -> PyResult<Plan> {
        let mistake = |mistake: Diagnostic| error(mistake);
        let mut plan = match &self.plan {
            Some(path) => Plan::read(path).map_err(mistake)?,
            None => Plan::default(),
        };
        for (list, given) in [
            (&mut plan.policies, self.policies),
            (&mut plan.workloads, self.workloads),
            (&mut plan.machines, self.machines),
        ] {
            if !given.is_empty() {
                *list = given;
            }
        }
        if let Some(text) = self.seeds {
            let seeds = text.parse().map_err(|expected| {
                error(format!(
                    "seeds: \"{text}\" is not valid; expected {expected}"
                ))
            });
            plan.seeds = Some(seeds?);
        }
        if let Some(text) = self.duration {
            let duration = schedlab_input::quantity::duration(&text);
            plan.duration = Some(duration.map_err(|m| error(m.at("duration", 0)))?);
        }
        for text in &self.vary {
            plan.add(Axis::parse(text).map_err(mistake)?)
                .map_err(mistake)?;
        }
        for text in &self.constraints {
            let constraint = Constraint::parse(text);
            plan.constraints
                .push(constraint.map_err(|m| error(m.at("constraints", 0)))?);
        }
        if let Some((name, samples, seed)) = self.design {
            plan.design =
                Design::new(&name, samples, seed).map_err(|m| error(m.at("design", 0)))?;
        }
        Ok(plan)
    }
}

/// Stops at Ctrl-C in Python, and shows how far the runs are.
#[derive(Default)]
struct Stop {
    stop: AtomicBool,
    over: AtomicUsize,
    runs: AtomicUsize,
    /// Called with the number of runs that are over and the number of all runs.
    progress: Option<PyObject>,
    /// What stopped it.
    raised: Mutex<Option<PyErr>>,
}

impl Stop {
    fn showing(progress: Option<PyObject>) -> Stop {
        Stop {
            progress,
            ..Stop::default()
        }
    }

    fn expect(&self, runs: usize) {
        self.runs.store(runs, Ordering::Relaxed);
    }

    fn look(&self) {
        let (over, runs) = (
            self.over.load(Ordering::Relaxed),
            self.runs.load(Ordering::Relaxed),
        );
        let looked = Python::with_gil(|py| {
            py.check_signals()?;
            self.progress
                .as_ref()
                .map_or(Ok(()), |show| show.call1(py, (over, runs)).map(|_| ()))
        });
        if let Err(raised) = looked {
            self.stop.store(true, Ordering::Relaxed);
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        }
    }

    /// Raises what stopped it; otherwise shows the last state.
    fn ended(&self) -> PyResult<()> {
        if !self.stop() {
            self.look();
        }
        let raised = self
            .raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        raised.map_or(Ok(()), Err)
    }
}

impl Watch for Stop {
    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn over(&self, _failed: Option<&str>) {
        self.over.fetch_add(1, Ordering::Relaxed);
    }
}

fn ready(plan: &Plan, stop: &Stop) -> PyResult<Batch> {
    let set = Assignments::read(&[], &[]).map_err(error)?;
    let around = Surroundings {
        set: &set,
        set_flags: Vec::new(),
        rtapp: &schedlab_workload::rtapp::Options::default(),
        attach: &[],
        limits: Limits::default(),
        hook_timeout: HOOK_TIMEOUT,
        version: VERSION,
        stop: &|| stop.stop(),
    };
    Batch::new(plan, &around).map_err(error)
}

/// A plan made ready, its runs, and the file of their results.
fn opened(parts: Parts, target: &Target, stop: &Stop) -> PyResult<(Batch, Vec<Job>, Store)> {
    let plan = parts.plan()?;
    let batch = ready(&plan, stop)?;
    let about = About {
        version: VERSION.to_string(),
        plan: plan.flags(CommandLine::new("sweep")).to_string(),
    };
    let mut store = Store::open(&target.output, &about, target.extend).map_err(error)?;
    if target.retry_failed {
        store.forget_failed().map_err(error)?;
    }
    let jobs = batch.jobs(target.shard()?);
    Ok((batch, jobs, store))
}

/// A file of results, and which runs of a plan it is for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Target {
    output: PathBuf,
    shard: Option<String>,
    extend: bool,
    retry_failed: bool,
}

impl Target {
    fn shard(&self) -> PyResult<Option<Shard>> {
        let shard = self.shard.as_ref().map(|text| text.parse()).transpose();
        shard.map_err(|expected: String| error(format!("shard: expected {expected}")))
    }
}

/// How many runs were done, known before, failed, and are left.
type Counts = (usize, usize, usize, usize);

fn counts(tally: Tally) -> Counts {
    (tally.done, tally.known, tally.failed, tally.left)
}

/// Does the runs of a plan that a file lacks.
#[pyfunction]
fn sweep(
    py: Python<'_>,
    parts: Parts,
    target: Target,
    jobs: Option<u16>,
    progress: Option<PyObject>,
) -> PyResult<Counts> {
    py.allow_threads(|| {
        let stop = Stop::showing(progress);
        let (batch, todo, mut store) = opened(parts, &target, &stop)?;
        stop.expect(todo.len());
        let done = schedlab_sweep::run(&mut store, &batch, &todo, threads(jobs), &stop, || {
            stop.look()
        });
        let tally = done.map_err(error)?;
        stop.ended()?;
        Ok(counts(tally))
    })
}

/// Does the runs of a plan and returns them as columns.
#[pyfunction]
fn runs(
    py: Python<'_>,
    parts: Parts,
    jobs: Option<u16>,
    progress: Option<PyObject>,
) -> PyResult<Columns> {
    let study = py.allow_threads(|| {
        let stop = Stop::showing(progress);
        let batch = ready(&parts.plan()?, &stop)?;
        stop.expect(batch.nr_runs());
        let study = schedlab_sweep::in_memory(&batch, threads(jobs), &stop, || stop.look());
        stop.ended()?;
        Ok::<_, PyErr>(study)
    })?;
    Ok(columns(&study))
}

/// The results of files as columns.
#[pyfunction]
fn load(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<Columns> {
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let study = py
        .allow_threads(|| schedlab_sweep::load(&files))
        .map_err(error)?;
    Ok(columns(&study))
}

/// Measures a recording: a row of columns, and warnings about what it lacks.
#[pyfunction]
fn measure(py: Python<'_>, recording: PathBuf) -> PyResult<(Columns, Vec<String>)> {
    py.allow_threads(|| {
        let (read, report) = schedlab_readers::read(&recording).map_err(error)?;
        let nr_cpus = read.nr_cpus();
        let stem = schedlab_input::stem(&recording.display().to_string());
        let info = TraceInfo {
            policy: "recorded".into(),
            workload: stem.split('.').next().unwrap_or_default().to_string(),
            machine: format!("{nr_cpus} CPU{}", if nr_cpus == 1 { "" } else { "s" }),
            ..TraceInfo::default()
        };
        let run = Recorded::new(&read, &info, None::<Measure>).run;
        let row = Row::finished(&run.metrics, run.trace_hash.to_string(), false, &run.end);
        let mut table = Table::new(1);
        for (name, value) in NAMES.iter().zip([info.workload, info.machine, info.policy]) {
            table.add_text(name, vec![Some(value)]);
        }
        table.add_text("trace_hash", vec![row.trace_hash]);
        for (measured, value) in row.values {
            table.add_float(&measured.name, vec![Some(value)]);
        }
        let warnings = report.notes.into_iter().chain(run.warnings);
        Ok((Columns(Arc::new(table)), warnings.collect()))
    })
}

/// Names of labels that are texts, even if they look like numbers.
const NAMES: [&str; 3] = ["workload", "machine", "policy"];

/// A row for each run.
fn columns(study: &Study) -> Columns {
    let runs = || {
        study
            .setups
            .iter()
            .flat_map(|s| s.outcomes.iter().map(move |run| (s, run)))
    };
    let label = |name: &str| {
        runs()
            .map(|(setup, _)| setup.labels.get(name))
            .collect::<Vec<_>>()
    };
    let mut table = Table::new(runs().count());
    for name in NAMES {
        table.add_text(name, label(name));
    }
    let names: BTreeSet<&String> = study.setups.iter().flat_map(|s| s.labels.keys()).collect();
    for name in names
        .into_iter()
        .filter(|name| !NAMES.contains(&name.as_str()))
    {
        table.add_setting(name, label(name));
    }
    table.add_unsigned("seed", runs().map(|(_, run)| Some(run.seed)).collect());
    table.add_text(
        "trace_hash",
        runs().map(|(_, run)| run.trace_hash.as_ref()).collect(),
    );
    table.add_text("error", runs().map(|(_, run)| run.error.as_ref()).collect());
    let command = |setup: &StudySetup, seed: u64| format!("{} --seed {seed}", setup.command);
    let commands = runs().map(|(setup, run)| Some(command(setup, run.seed)));
    table.add_text("command", commands.collect());
    for metric in &study.metrics {
        let values = runs().map(|(_, run)| run.values.get(&metric.name).copied());
        table.add_float(&metric.name, values.collect());
    }
    Columns(Arc::new(table))
}

/// Columns of equal length, which any library that knows Arrow's C data interface takes without a copy.
#[pyclass(frozen)]
struct Columns(Arc<Table>);

#[pymethods]
impl Columns {
    fn __len__(&self) -> usize {
        self.0.rows
    }

    fn names(&self) -> Vec<String> {
        let columns = self.0.columns.iter();
        columns
            .map(|column| column.name.to_string_lossy().into_owned())
            .collect()
    }

    /// The values of a column; None if there is no such column.
    fn list<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyList>>> {
        let column = self
            .0
            .columns
            .iter()
            .find(|c| c.name.to_bytes() == name.as_bytes());
        column
            .map(|column| column.list(py, self.0.rows))
            .transpose()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.0)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<PyObject>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer may ignore what is requested.
        let _ = requested_schema;
        Ok((arrow::schema(py, &self.0)?, arrow::array(py, &self.0)?))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<PyObject>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        arrow::stream(py, &self.0)
    }
}

#[pymodule]
fn _schedlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", VERSION)?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Columns>()?;
    module.add_class::<remote::Dispatch>()?;
    module.add_class::<remote::Worker>()?;
    module.add_function(wrap_pyfunction!(measure, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(runs, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)
}
