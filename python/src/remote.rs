//! Runs that other processes execute: what the client and the workers of a cluster call.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use schedlab_sweep::{Files, Reply, Request};
use serde::de::DeserializeOwned;

use crate::{counts, error, opened, Counts, Parts, Stop, Target, HOOK_TIMEOUT, VERSION};

/// The runs of a plan, for a client that gives them to workers. Requests, files and replies are JSON.
#[pyclass]
pub struct Dispatch(Mutex<schedlab_sweep::Dispatch>);

impl Dispatch {
    fn inner(&self) -> MutexGuard<'_, schedlab_sweep::Dispatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Dispatch {
    #[new]
    fn new(py: Python<'_>, parts: Parts, target: Target) -> PyResult<Dispatch> {
        py.allow_threads(|| {
            let (batch, jobs, store) = opened(parts, &target, &Stop::default())?;
            let dispatch = schedlab_sweep::Dispatch::new(store, batch, jobs).map_err(error)?;
            Ok(Dispatch(Mutex::new(dispatch)))
        })
    }

    /// The files that the runs need.
    fn files(&self) -> PyResult<String> {
        serde_json::to_string(self.inner().files()).map_err(error)
    }

    /// Claims at most this many runs: their keys, and the requests.
    fn take(&self, py: Python<'_>, most: usize) -> PyResult<(Vec<String>, String)> {
        py.allow_threads(|| {
            let requests = self.inner().take(most).map_err(error)?;
            let keys = requests.iter().map(|request| request.key.clone()).collect();
            Ok((keys, serde_json::to_string(&requests).map_err(error)?))
        })
    }

    /// Stores what workers replied.
    fn accept(&self, py: Python<'_>, replies: Vec<String>) -> PyResult<()> {
        py.allow_threads(|| {
            let replies: Vec<Reply> = replies
                .iter()
                .map(|text| parsed(text))
                .collect::<Result<_, _>>()?;
            self.inner().accept(replies).map_err(error)
        })
    }

    /// The processes with these requests died.
    fn died(&self, keys: Vec<String>) -> PyResult<()> {
        self.inner().died(&keys).map_err(error)
    }

    /// These requests got lost.
    fn lost(&self, keys: Vec<String>) {
        self.inner().lost(&keys);
    }

    /// Gives up all claims.
    fn release(&self) -> PyResult<()> {
        self.inner().release().map_err(error)
    }

    fn counts(&self) -> Counts {
        counts(self.inner().tally())
    }
}

/// Executes requests in a worker.
#[pyclass]
pub struct Worker(schedlab_sweep::Worker);

#[pymethods]
impl Worker {
    #[new]
    fn new(files: &str) -> PyResult<Worker> {
        let files: Files = parsed(files)?;
        schedlab_sweep::Worker::new(&files, VERSION, HOOK_TIMEOUT)
            .map(Worker)
            .map_err(error)
    }

    /// The folder of the files, which is removed with the worker.
    fn folder(&self) -> PathBuf {
        self.0.folder().to_path_buf()
    }

    /// Executes requests; returns their number and the reply.
    fn run(&self, py: Python<'_>, requests: &str) -> PyResult<(usize, String)> {
        py.allow_threads(|| {
            let requests: Vec<Request> = parsed(requests)?;
            let reply = self.0.run(&requests, &|| false).map_err(error)?;
            Ok((
                requests.len(),
                serde_json::to_string(&reply).map_err(error)?,
            ))
        })
    }
}

fn parsed<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|problem| {
        error(format!(
            "a message of another version of schedlab: {problem}"
        ))
    })
}
