//! Runs that other processes execute, perhaps on other machines.
//!
//! One process has the plan and the file of results: its [`Dispatch`] claims runs and describes each as an
//! [`Request`], which has texts only. A [`Worker`] makes the same run from it, proves that by the run's key, and
//! executes it. What carries requests and [`Reply`]s is not known here.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use schedlab_input::{read_text, reason, Diagnostic};
use schedlab_lab::choose::{self, Assignments, Written};
use schedlab_lab::{identity, Error, Trial};
use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_sim::Limits;
use schedlab_trace::{Ns, TraceHash};
use schedlab_workload::{rtapp, Workload};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::batch::{hash, run_key, Batch, Setup};
use crate::run::{ran, Job, Tally};
use crate::store::{Claim, Measured, Row, Store, StoreError};

/// The files that the runs of a plan need, as path and text; the paths are relative.
pub type Files = BTreeMap<String, String>;

/// A policy, workload or machine that another process can find.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Named {
    /// Its path in [`Files`]; none if it comes with schedlab.
    file: Option<String>,
    /// What follows the file in the user's text; the whole text if there is no file.
    text: String,
    /// Its name in errors and reports.
    name: String,
}

impl Named {
    /// The text that names it here.
    fn text(&self, folder: &Path) -> String {
        match &self.file {
            Some(file) => format!("{}{}", folder.join(file).display(), self.text),
            None => self.text.clone(),
        }
    }
}

/// A run as another process executes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    policy: Named,
    workload: Named,
    machine: Named,
    duration_ns: Option<u64>,
    seed: u64,
    /// The run's key, which proves that both processes mean the same run.
    pub key: String,
}

/// The results of several requests.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Reply {
    metrics: Vec<Measured>,
    runs: Vec<Answer>,
}

/// The result of a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Answer {
    key: String,
    seed_used: Option<bool>,
    trace_hash: Option<String>,
    ended: Option<String>,
    error: Option<String>,
    /// Indexes of metrics, and their values.
    values: Vec<(usize, f64)>,
}

impl Reply {
    fn add(&mut self, key: String, row: Row) {
        let mut values = Vec::with_capacity(row.values.len());
        for (measured, value) in row.values {
            // Runs of a set-up have the same metrics in the same request.
            let likely = self.metrics.get(values.len()) == Some(&measured);
            let known = match likely {
                true => Some(values.len()),
                false => self.metrics.iter().position(|metric| *metric == measured),
            };
            values.push((known.unwrap_or(self.metrics.len()), value));
            if known.is_none() {
                self.metrics.push(measured);
            }
        }
        self.runs.push(Answer {
            key,
            seed_used: row.seed_used,
            trace_hash: row.trace_hash,
            ended: row.ended,
            error: row.error,
            values,
        });
    }

    /// The keys of the runs with their results; none if an index is wrong.
    fn rows(self) -> Option<Vec<(String, Row)>> {
        let metrics = self.metrics;
        let row = |answer: Answer| {
            let values = answer.values.into_iter();
            let values = values.map(|(metric, value)| Some((metrics.get(metric)?.clone(), value)));
            let row = Row {
                seed_used: answer.seed_used,
                trace_hash: answer.trace_hash,
                ended: answer.ended,
                error: answer.error,
                values: values.collect::<Option<_>>()?,
            };
            Some((answer.key, row))
        };
        self.runs.into_iter().map(row).collect()
    }
}

/// Why runs cannot be given to other processes.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// The file of results.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the plan.
    #[error(transparent)]
    Input(#[from] Box<Diagnostic>),
}

/// The runs of a batch that other processes execute.
pub struct Dispatch {
    batch: Batch,
    store: Store,
    files: Files,
    /// The policy, workload and machine of each set-up.
    named: Vec<[Named; 3]>,
    waiting: VecDeque<Job>,
    /// Set-ups of which a run is over.
    tried: Vec<bool>,
    /// Runs during which a process died: each is requested alone.
    suspects: Vec<Job>,
    /// Ordered runs by their keys.
    requested: HashMap<String, Job>,
    tally: Tally,
}

impl Dispatch {
    /// Prepares these runs of a batch.
    ///
    /// # Errors
    /// A file of the plan cannot be read; the file of results cannot be written.
    pub fn new(mut store: Store, batch: Batch, jobs: Vec<Job>) -> Result<Dispatch, DispatchError> {
        store.runs_elsewhere();
        let chosen: HashSet<usize> = jobs.iter().map(|job| job.setup).collect();
        let setups = batch.setups.iter().enumerate();
        store.declare(setups.filter_map(|(i, setup)| chosen.contains(&i).then_some(setup)))?;
        let mut carried = Carried::default();
        let named = batch.setups.iter().map(|setup| carried.named(setup));
        let named: Result<_, Diagnostic> = named.collect();
        Ok(Dispatch {
            named: named.map_err(Box::new)?,
            files: carried.files,
            waiting: jobs.into(),
            tried: vec![false; batch.setups.len()],
            suspects: Vec::new(),
            requested: HashMap::new(),
            tally: Tally::default(),
            batch,
            store,
        })
    }

    /// The files that its runs need.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// What has become of its runs so far.
    pub fn tally(&self) -> Tally {
        Tally {
            left: self.waiting.len() + self.suspects.len() + self.requested.len(),
            ..self.tally
        }
    }

    /// Claims and requests at most this many runs. No request means that runs which are requested must end first, here
    /// or in another process, or that all are over. A run that may end its process is requested alone.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn take(&mut self, most: usize) -> Result<Vec<Request>, StoreError> {
        let (mut taken, mut later) = (Vec::new(), Vec::new());
        while taken.len() < most {
            let jobs = self.next(most - taken.len(), &mut later);
            if jobs.is_empty() {
                break;
            }
            let setups = &self.batch.setups;
            let runs = jobs.iter().map(|job| (&setups[job.setup], job.seed));
            let claims = self.store.claim_all(runs)?;
            for (job, claim) in jobs.into_iter().zip(claims) {
                let setup = &self.batch.setups[job.setup];
                match claim {
                    Claim::Ours if self.store.crashes(setup, job.seed)? > 0 => {
                        self.suspects.push(job)
                    }
                    Claim::Ours => taken.push(job),
                    Claim::Done => self.tally.known += 1,
                    Claim::Theirs => later.push(job),
                }
                self.tried[job.setup] |= claim != Claim::Ours;
            }
        }
        later
            .into_iter()
            .rev()
            .for_each(|job| self.waiting.push_front(job));
        if taken.is_empty() {
            taken.extend(self.suspects.pop());
        }
        Ok(taken.into_iter().map(|job| self.request(job)).collect())
    }

    /// At most this many runs that wait; those whose turn has not come are put into `later`.
    fn next(&mut self, most: usize, later: &mut Vec<Job>) -> Vec<Job> {
        let first = self.batch.seeds[0];
        let mut jobs = Vec::new();
        while jobs.len() < most {
            match self.waiting.pop_front() {
                // Without a random number the result of the first seed holds for all.
                Some(job) if job.seed != first && !self.tried[job.setup] => later.push(job),
                Some(job) => jobs.push(job),
                None => break,
            }
        }
        jobs
    }

    fn request(&mut self, job: Job) -> Request {
        let setup = &self.batch.setups[job.setup];
        let [policy, workload, machine] = self.named[job.setup].clone();
        let key = run_key(setup.hash, job.seed).to_string();
        self.requested.insert(key.clone(), job);
        Request {
            policy,
            workload,
            machine,
            duration_ns: setup.trial.duration.map(|duration| duration.0),
            seed: job.seed,
            key,
        }
    }

    /// Stores results in one transaction. A run that is not requested any more is ignored.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn accept(&mut self, replies: Vec<Reply>) -> Result<(), StoreError> {
        let rows = replies.into_iter().filter_map(Reply::rows).flatten();
        let rows = rows.filter_map(|(key, row)| Some((self.requested.remove(&key)?, row)));
        let rows: Vec<(Job, Row)> = rows.collect();
        self.store_all(&rows)
    }

    fn store_all(&mut self, rows: &[(Job, Row)]) -> Result<(), StoreError> {
        let setups = &self.batch.setups;
        let all = rows
            .iter()
            .map(|(job, row)| (&setups[job.setup], job.seed, row));
        self.store.record_all(all)?;
        for (job, row) in rows {
            self.tried[job.setup] = true;
            self.tally.done += 1;
            self.tally.failed += usize::from(row.error.is_some());
        }
        Ok(())
    }

    /// The processes that executed these requests died. One of several is executed again, alone; if it was alone, it has failed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn died(&mut self, keys: &[String]) -> Result<(), StoreError> {
        let jobs: Vec<Job> = keys
            .iter()
            .filter_map(|key| self.requested.remove(key))
            .collect();
        match jobs[..] {
            [job] => self.store_all(&[(job, Row::failed(DIED.to_string()))]),
            _ => {
                self.suspects.extend(jobs);
                Ok(())
            }
        }
    }

    /// These requests got lost: their runs are requested again.
    pub fn lost(&mut self, keys: &[String]) {
        let jobs = keys.iter().filter_map(|key| self.requested.remove(key));
        self.waiting.extend(jobs);
    }

    /// Gives up the claims of all runs that are not over.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn release(&mut self) -> Result<(), StoreError> {
        let requested = std::mem::take(&mut self.requested).into_values();
        let all: Vec<Job> = requested
            .chain(std::mem::take(&mut self.suspects))
            .collect();
        for job in all {
            self.store
                .release(&self.batch.setups[job.setup], job.seed)?;
            self.waiting.push_back(job);
        }
        Ok(())
    }
}

/// The error of a run whose processes died.
const DIED: &str = "every process that executed this run died";

/// Collects the files of set-ups. Each policy, workload and machine has a folder of its own, called by a number.
#[derive(Default)]
struct Carried {
    files: Files,
    /// The folder of each file, by its path.
    folders: HashMap<PathBuf, String>,
}

impl Carried {
    fn named(&mut self, setup: &Setup) -> Result<[Named; 3], Diagnostic> {
        let Trial {
            tuned,
            workload,
            machine,
            ..
        } = &setup.trial;
        let [policy_text, machine_text] = &setup.written;
        let policy = match Written::parse(policy_text).file(".c") {
            Some(file) => {
                let text = policy_text[file.as_os_str().len()..].to_string();
                let file = self.add(file, |_| Ok(tuned.policy.own_sources()))?;
                (Some(file), text)
            }
            None => (None, policy_text.clone()),
        };
        let workload_text = &workload.source;
        let workload_parts = match choose::workload_file(workload_text)? {
            Some((file, options)) => (Some(self.add(Path::new(&file), one_file)?), options),
            None => (None, workload_text.clone()),
        };
        let machine_parts = match Path::new(machine_text) {
            file if machine_text.ends_with(".toml") => {
                (Some(self.add(file, one_file)?), String::new())
            }
            _ => (None, machine_text.clone()),
        };
        let named = |(file, text), name: &str| Named {
            file,
            text,
            name: name.to_string(),
        };
        Ok([
            named(policy, tuned.policy.name()),
            named(workload_parts, &workload.name),
            named(machine_parts, &machine.name),
        ])
    }

    /// The path of a file among those that are carried; `read` gives it and the files it needs, by paths from its folder.
    fn add(
        &mut self,
        file: &Path,
        read: impl FnOnce(&Path) -> Result<Files, Diagnostic>,
    ) -> Result<String, Diagnostic> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if let Some(folder) = self.folders.get(file) {
            return Ok(format!("{folder}/{name}"));
        }
        let own = read(file)?;
        // Files outside the folder are included as ../NAME.
        let ups = |name: &String| {
            let parts = Path::new(name).components();
            parts.filter(|part| *part == Component::ParentDir).count()
        };
        let depth = own.keys().map(ups).max().unwrap_or(0);
        let folder = format!("{}{}", self.folders.len(), "/in".repeat(depth));
        let inside = |(name, text)| (format!("{folder}/{name}"), text);
        self.files.extend(own.into_iter().map(inside));
        self.folders.insert(file.to_path_buf(), folder.clone());
        Ok(format!("{folder}/{name}"))
    }
}

fn one_file(file: &Path) -> Result<Files, Diagnostic> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(Files::from([(name.into_owned(), read_text(file)?)]))
}

/// Why a process cannot execute a request.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A name is wrong here, or a policy does not compile here.
    #[error(transparent)]
    Unready(#[from] Error),
    /// The files cannot be written.
    #[error("no temporary folder (see TMPDIR): {}", reason(.0))]
    Folder(io::Error),
    /// The request means another run here.
    #[error("the run has another key here ({here}) than where it was requested ({key}): {text}; expected the same version of schedlab and the same programs")]
    OtherRun {
        /// The key of the run here.
        here: String,
        /// Its key in the request.
        key: String,
        /// What is run.
        text: String,
    },
}

/// Executes requests. What they share is prepared once.
pub struct Worker {
    /// The files, in a folder that is removed with the worker.
    folder: TempDir,
    version: &'static str,
    hook_timeout: Ns,
    prepared: Mutex<Prepared>,
}

/// What requests share, with the hashes.
#[derive(Default)]
struct Prepared {
    workloads: HashMap<Named, (Arc<Workload>, TraceHash)>,
    machines: HashMap<Named, (Arc<Machine>, TraceHash)>,
}

/// The most workloads that are kept.
const MOST_PREPARED: usize = 100;

impl Worker {
    /// Writes the files into a temporary folder.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn new(
        files: &Files,
        version: &'static str,
        hook_timeout: Ns,
    ) -> Result<Worker, WorkerError> {
        let folder = tempfile::tempdir().map_err(WorkerError::Folder)?;
        for (name, text) in files {
            let path = folder.path().join(name);
            let beside = path.parent().unwrap_or(folder.path());
            let written = fs::create_dir_all(beside).and_then(|()| fs::write(&path, text));
            written.map_err(WorkerError::Folder)?;
        }
        Ok(Worker {
            folder,
            version,
            hook_timeout,
            prepared: Mutex::default(),
        })
    }

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Executes requests, one after the other.
    ///
    /// # Errors
    /// A request cannot be executed here. A run that fails is a result.
    pub fn run(&self, requests: &[Request], stop: &dyn Fn() -> bool) -> Result<Reply, WorkerError> {
        let mut reply = Reply::default();
        for request in requests {
            let trial = self.trial(request, stop)?;
            let row = ran(trial, stop).ok_or(Error::Stopped)?;
            reply.add(request.key.clone(), row);
        }
        Ok(reply)
    }

    /// The run of a request.
    fn trial(&self, request: &Request, stop: &dyn Fn() -> bool) -> Result<Trial, WorkerError> {
        let (workload, work) = self.workload(&request.workload)?;
        let (machine, hardware) = self.machine(&request.machine)?;
        let tuned = self.policy(request, &machine, stop)?;
        let inputs = [identity::source(&tuned), work, hardware];
        let trial = Trial {
            duration: request.duration_ns.map(Ns),
            limits: Limits::default(),
            hook_timeout: self.hook_timeout,
            ..Trial::new(tuned, machine, workload, request.seed)
        };
        let here = run_key(hash(inputs, &trial, self.version), request.seed).to_string();
        match here == request.key {
            true => Ok(trial),
            false => Err(WorkerError::OtherRun {
                here,
                key: request.key.clone(),
                text: format!(
                    "{}, {}, {}",
                    request.policy.name, request.workload.name, request.machine.name
                ),
            }),
        }
    }

    fn policy(
        &self,
        request: &Request,
        machine: &Machine,
        stop: &dyn Fn() -> bool,
    ) -> Result<Tuned, WorkerError> {
        let none = Assignments::read(&[], &[]).map_err(Error::from)?;
        let text = request.policy.text(self.folder.path());
        let mut tuned = choose::policy("--policy", &text, &none, stop)?;
        if tuned.policy.is_in_rust() {
            choose::load("--policy", [&mut tuned], machine, &[], stop)?;
        }
        if tuned.policy.name() != request.policy.name {
            let renamed = tuned.policy.renamed(&request.policy.name);
            tuned = tuned.with_policy(renamed);
        }
        Ok(tuned)
    }

    fn workload(&self, named: &Named) -> Result<(Arc<Workload>, TraceHash), WorkerError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = prepared.workloads.get(named) {
            return Ok(known.clone());
        }
        let text = named.text(self.folder.path());
        let read = choose::workload(&text, &rtapp::Options::default()).map_err(Error::from)?;
        let hash = identity::workload(&read);
        let made = (Arc::new(read), hash);
        if prepared.workloads.len() == MOST_PREPARED {
            prepared.workloads.clear();
        }
        prepared.workloads.insert(named.clone(), made.clone());
        Ok(made)
    }

    fn machine(&self, named: &Named) -> Result<(Arc<Machine>, TraceHash), WorkerError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = prepared.machines.get(named) {
            return Ok(known.clone());
        }
        let text = named.text(self.folder.path());
        let mut machine = schedlab_machine::find(&text).map_err(Error::from)?;
        machine.name.clone_from(&named.name);
        let hash = identity::machine(&machine);
        let made = (Arc::new(machine), hash);
        prepared.machines.insert(named.clone(), made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::run::{run, Watch};
    use crate::store::About;
    use crate::Surroundings;

    const VERSION: &str = "test";

    struct Quiet;

    impl Watch for Quiet {
        fn stop(&self) -> bool {
            false
        }

        fn over(&self, _failed: Option<&str>) {}
    }

    /// Two policies, one of them a file; one of the workloads draws no random number.
    fn batch(folder: &Path) -> Batch {
        let own = folder.join("mine.c");
        let text = fs::read_to_string("../../policy/template/template.c").unwrap();
        fs::write(&own, text.replace("NAME", "mine")).unwrap();
        let plan = format!(
            "policies = [\"o1\", \"{}\"]\nworkloads = [\"mixed\", \"hogs\"]\nmachines = [\"ideal-1\"]\n\
             seeds = 3\nduration = \"20ms\"\n",
            own.display()
        );
        let around = Surroundings {
            set: &Assignments::read(&[], &[]).unwrap(),
            set_flags: Vec::new(),
            rtapp: &rtapp::Options::default(),
            attach: &[],
            limits: Limits::default(),
            hook_timeout: Ns::from_secs(20),
            version: VERSION,
            stop: &|| false,
        };
        Batch::new(&Plan::parse("plan.toml", &plan).unwrap(), &around).unwrap()
    }

    fn store(path: &Path) -> Store {
        let about = About {
            version: VERSION.into(),
            plan: String::new(),
        };
        Store::open(path, &about, false).unwrap()
    }

    fn dispatch(folder: &Path) -> Dispatch {
        let batch = batch(folder);
        let jobs = batch.jobs(None);
        Dispatch::new(store(&folder.join("far.db")), batch, jobs).unwrap()
    }

    fn worker(dispatch: &Dispatch) -> Worker {
        Worker::new(dispatch.files(), VERSION, Ns::from_secs(20)).unwrap()
    }

    /// Metrics are numbered in the order in which runs ended.
    fn rows(store: &Store, setup: &Setup) -> Vec<(u64, Row)> {
        let mut rows = store.rows(setup).unwrap();
        for (_, row) in &mut rows {
            row.values.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        }
        rows
    }

    fn keys(requests: &[Request]) -> Vec<String> {
        requests.iter().map(|request| request.key.clone()).collect()
    }

    #[test]
    fn results_are_those_of_this_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut dispatch = dispatch(folder.path());
        let worker = worker(&dispatch);
        // The worker has the texts alone.
        fs::remove_file(folder.path().join("mine.c")).unwrap();
        // What gets lost is requested again, and nothing twice.
        let lost = keys(&dispatch.take(3).unwrap());
        dispatch.lost(&lost);
        let mut requested = Vec::new();
        loop {
            let requests = dispatch.take(3).unwrap();
            if requests.is_empty() {
                break;
            }
            requested.extend(keys(&requests));
            let reply = worker.run(&requests, &|| false).unwrap();
            let text = serde_json::to_string(&reply).unwrap();
            let reply: Reply = serde_json::from_str(&text).unwrap();
            dispatch.accept(vec![reply.clone(), reply]).unwrap();
        }
        let batch = batch(folder.path());
        let mut near = store(&folder.path().join("near.db"));
        let tally = run(&mut near, &batch, &batch.jobs(None), 1, &Quiet, || ()).unwrap();
        assert_eq!(dispatch.tally(), tally);
        assert_eq!((tally.done, tally.known, tally.left), (8, 4, 0));
        assert_eq!(requested.len(), tally.done);
        assert_eq!(requested.iter().collect::<HashSet<_>>().len(), tally.done);
        for setup in &batch.setups {
            assert!(rows(&dispatch.store, setup) == rows(&near, setup));
        }
    }

    #[test]
    fn a_run_whose_process_dies_is_requested_alone_and_then_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let mut dispatch = dispatch(folder.path());
        let all = keys(&dispatch.take(4).unwrap());
        dispatch.died(&all).unwrap();
        assert_eq!(dispatch.tally().left, 12);
        let alone = keys(&dispatch.take(4).unwrap());
        assert_eq!(alone.len(), 1);
        dispatch.died(&alone).unwrap();
        let tally = dispatch.tally();
        assert_eq!((tally.done, tally.failed, tally.left), (1, 1, 11));
    }

    #[test]
    fn the_death_of_who_requests_is_not_blamed_on_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = dispatch(folder.path());
        let requested = first.take(2).unwrap();
        // As if that process had ended.
        first
            .store
            .connection()
            .execute("UPDATE owner SET started = 'gone'", [])
            .unwrap();
        let mut second = dispatch(folder.path());
        assert_eq!(second.take(2).unwrap(), requested);
    }

    #[test]
    fn a_request_of_another_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut dispatch = dispatch(folder.path());
        let requests = dispatch.take(1).unwrap();
        let other = Worker::new(dispatch.files(), "another", Ns::from_secs(20)).unwrap();
        let refused = other.run(&requests, &|| false);
        assert!(
            matches!(refused, Err(WorkerError::OtherRun { .. })),
            "{refused:?}"
        );
    }
}
