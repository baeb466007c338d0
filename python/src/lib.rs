//! The simulator as a Python extension.

mod remote;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use schedlab_input::Diagnostic;
use schedlab_lab::choose::Assignments;
use schedlab_lab::{threads, CommandLine};
use schedlab_report::study::Study;
use schedlab_sim::Limits;
use schedlab_sweep::{
    About, Axis, Batch, Constraint, Design, Job, Plan, Shard, Store, Surroundings, Tally, Watch,
};
use schedlab_trace::Ns;

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
) -> PyResult<Py<PyDict>> {
    let study = py.allow_threads(|| {
        let stop = Stop::showing(progress);
        let batch = ready(&parts.plan()?, &stop)?;
        stop.expect(batch.nr_runs());
        let study = schedlab_sweep::in_memory(&batch, threads(jobs), &stop, || stop.look());
        stop.ended()?;
        Ok::<_, PyErr>(study)
    })?;
    columns(py, &study)
}

/// The results of files as columns.
#[pyfunction]
fn load(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<Py<PyDict>> {
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let study = py
        .allow_threads(|| schedlab_sweep::load(&files))
        .map_err(error)?;
    columns(py, &study)
}

/// A row for each run.
fn columns(py: Python<'_>, study: &Study) -> PyResult<Py<PyDict>> {
    let runs = || {
        study
            .setups
            .iter()
            .flat_map(|s| s.outcomes.iter().map(move |run| (s, run)))
    };
    let names: BTreeSet<&String> = study.setups.iter().flat_map(|s| s.labels.keys()).collect();
    let dict = PyDict::new(py);
    for first in ["workload", "machine", "policy"] {
        let texts: Vec<Option<&String>> =
            runs().map(|(setup, _)| setup.labels.get(first)).collect();
        dict.set_item(first, PyList::new(py, texts)?)?;
    }
    for name in names {
        let texts: Vec<Option<&String>> = runs().map(|(setup, _)| setup.labels.get(name)).collect();
        dict.set_item(name, PyList::new(py, texts)?)?;
    }
    dict.set_item(
        "seed",
        PyList::new(py, runs().map(|(_, run)| run.seed).collect::<Vec<_>>())?,
    )?;
    let hashes: Vec<Option<&String>> = runs().map(|(_, run)| run.trace_hash.as_ref()).collect();
    dict.set_item("trace_hash", PyList::new(py, hashes)?)?;
    let errors: Vec<Option<&String>> = runs().map(|(_, run)| run.error.as_ref()).collect();
    dict.set_item("error", PyList::new(py, errors)?)?;
    let commands: Vec<String> = runs()
        .map(|(setup, run)| format!("{} --seed {}", setup.command, run.seed))
        .collect();
    dict.set_item("command", PyList::new(py, commands)?)?;
    for metric in &study.metrics {
        let value = |values: &BTreeMap<String, f64>| values.get(&metric.name).copied();
        let values: Vec<Option<f64>> = runs().map(|(_, run)| value(&run.values)).collect();
        dict.set_item(&metric.name, PyList::new(py, values)?)?;
    }
    Ok(dict.unbind())
}

#[pymodule]
fn _schedlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", VERSION)?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<remote::Dispatch>()?;
    module.add_class::<remote::Worker>()?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(runs, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)
}
