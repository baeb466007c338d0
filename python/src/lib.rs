//! The simulator as a Python extension.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use schedlab_input::Diagnostic;
use schedlab_lab::choose::Assignments;
use schedlab_lab::{threads, CommandLine};
use schedlab_report::study::Study;
use schedlab_sim::Limits;
use schedlab_sweep::{About, Axis, Batch, Constraint, Design, Plan, Store, Surroundings, Watch};
use schedlab_trace::Ns;

pyo3::create_exception!(_schedlab, Error, PyException, "What the program would print.");

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
                error(format!("seeds: \"{text}\" is not valid; expected {expected}"))
            });
            plan.seeds = Some(seeds?);
        }
        if let Some(text) = self.duration {
            let duration = schedlab_input::quantity::duration(&text);
            plan.duration = Some(duration.map_err(|m| error(m.at("duration", 0)))?);
        }
        for text in &self.vary {
            plan.add(Axis::parse(text).map_err(mistake)?).map_err(mistake)?;
        }
        for text in &self.constraints {
            let constraint = Constraint::parse(text);
            plan.constraints.push(constraint.map_err(|m| error(m.at("constraints", 0)))?);
        }
        if let Some((name, samples, seed)) = self.design {
            plan.design = Design::new(&name, samples, seed).map_err(|m| error(m.at("design", 0)))?;
        }
        Ok(plan)
    }
}

/// Stops at Ctrl-C in Python.
#[derive(Default)]
struct Stop(AtomicBool);

impl Stop {
    fn look(&self) {
        if Python::with_gil(|py| py.check_signals()).is_err() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Watch for Stop {
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn over(&self, _failed: Option<&str>) {}
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

/// Does the runs of a plan that a file lacks; returns how many were done, known before, failed.
#[pyfunction]
fn sweep(
    py: Python<'_>,
    parts: Parts,
    output: PathBuf,
    jobs: Option<u16>,
    shard: Option<String>,
    extend: bool,
) -> PyResult<(usize, usize, usize)> {
    let plan = parts.plan()?;
    let shard = shard.map(|text| text.parse()).transpose();
    let shard = shard.map_err(|expected: String| error(format!("shard: expected {expected}")))?;
    py.allow_threads(|| {
        let stop = Stop::default();
        let batch = ready(&plan, &stop)?;
        let about = About {
            version: VERSION.to_string(),
            plan: plan.flags(CommandLine::new("sweep")).to_string(),
        };
        let mut store = Store::open(&output, &about, extend).map_err(error)?;
        let todo = batch.jobs(shard);
        let done = schedlab_sweep::run(&mut store, &batch, &todo, threads(jobs), &stop, || stop.look());
        let tally = done.map_err(error)?;
        interrupted(&stop)?;
        Ok((tally.done, tally.known, tally.failed))
    })
}

/// Does the runs of a plan and returns them as columns.
#[pyfunction]
fn runs(py: Python<'_>, parts: Parts, jobs: Option<u16>) -> PyResult<Py<PyDict>> {
    let plan = parts.plan()?;
    let study = py.allow_threads(|| {
        let stop = Stop::default();
        let batch = ready(&plan, &stop)?;
        let study = schedlab_sweep::in_memory(&batch, threads(jobs), &stop, || stop.look());
        interrupted(&stop)?;
        Ok::<_, PyErr>(study)
    })?;
    if let Some((setup, seed, problem)) = study.failures().first() {
        return Err(error(format!("{}, seed {seed}: {problem}", setup.name())));
    }
    columns(py, &study)
}

fn interrupted(stop: &Stop) -> PyResult<()> {
    match stop.stop() {
        true => Err(pyo3::exceptions::PyKeyboardInterrupt::new_err("")),
        false => Ok(()),
    }
}

/// The results of files as columns.
#[pyfunction]
fn load(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<Py<PyDict>> {
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let study = py.allow_threads(|| schedlab_sweep::load(&files)).map_err(error)?;
    columns(py, &study)
}

/// A row for each run.
fn columns(py: Python<'_>, study: &Study) -> PyResult<Py<PyDict>> {
    let runs = || study.setups.iter().flat_map(|s| s.outcomes.iter().map(move |run| (s, run)));
    let names: BTreeSet<&String> = study.setups.iter().flat_map(|s| s.labels.keys()).collect();
    let dict = PyDict::new(py);
    for first in ["workload", "machine", "policy"] {
        let texts: Vec<Option<&String>> = runs().map(|(setup, _)| setup.labels.get(first)).collect();
        dict.set_item(first, PyList::new(py, texts)?)?;
    }
    for name in names {
        let texts: Vec<Option<&String>> = runs().map(|(setup, _)| setup.labels.get(name)).collect();
        dict.set_item(name, PyList::new(py, texts)?)?;
    }
    dict.set_item("seed", PyList::new(py, runs().map(|(_, run)| run.seed).collect::<Vec<_>>())?)?;
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
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(runs, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)
}
