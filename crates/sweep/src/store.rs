//! Results in one SQLite file.
//!
//! A result is written in the transaction that removes its claim, so a process that dies loses only
//! its current runs. Any number of processes of one machine may use a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{
    params, Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior,
};
use schedlab_measure::{Direction, Headline, HeadlineUnit, Metrics};
use serde::{Deserialize, Serialize};

use crate::batch::{run_key, Setup};
use crate::claims::{claim, end_claim, forget_dead, new_owner};

/// "schd": the SQLite application id of these files.
const APPLICATION: i64 = 0x7363_6864;

/// The version of the tables.
const SCHEMA: i64 = 2;

/// Longest wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(60);

const TABLES: &str = "
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE setup (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  labels TEXT NOT NULL,
  command TEXT NOT NULL
);
CREATE TABLE metric (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL,
  unit TEXT NOT NULL,
  better TEXT NOT NULL
);
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  setup INTEGER NOT NULL REFERENCES setup,
  seed TEXT NOT NULL,
  seed_used INTEGER,
  trace_hash TEXT,
  ended TEXT,
  error TEXT
);
CREATE INDEX run_setup ON run (setup);
CREATE TABLE value (
  run INTEGER NOT NULL REFERENCES run,
  metric INTEGER NOT NULL REFERENCES metric,
  value REAL NOT NULL,
  PRIMARY KEY (run, metric)
) WITHOUT ROWID;
CREATE TABLE owner (
  id INTEGER PRIMARY KEY,
  boot TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started TEXT NOT NULL,
  elsewhere INTEGER NOT NULL
);
CREATE TABLE claim (key TEXT PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owner) WITHOUT ROWID;
CREATE TABLE crash (key TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIEW results AS
  SELECT setup.labels ->> '$.policy' AS policy, setup.labels ->> '$.workload' AS workload,
    setup.labels ->> '$.machine' AS machine, setup.labels AS labels, run.seed AS seed, metric.name AS metric,
    value.value AS value, metric.unit AS unit, run.trace_hash AS trace_hash
  FROM value JOIN run ON run.id = value.run JOIN setup ON setup.id = run.setup
    JOIN metric ON metric.id = value.metric;
";

/// Why a file of results cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file has another type, version or plan.
    #[error("{file}: {problem}; expected {expected}")]
    Other {
        /// The file.
        file: String,
        /// The problem.
        problem: String,
        /// The expected file.
        expected: String,
    },
    /// The file cannot be read or written.
    #[error("{file}: {problem}; finished results are kept")]
    System {
        /// The file.
        file: String,
        /// SQLite's error.
        problem: String,
    },
}

/// A file of results.
pub struct Store {
    path: PathBuf,
    connection: Connection,
    owner: Option<i64>,
    elsewhere: bool,
}

/// The state of a run for this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It was claimed for this process: run it.
    Ours,
    /// Its result exists, or was copied from a seed that drew no random number.
    Done,
    /// Another process has claimed it.
    Theirs,
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Was a random number drawn? `None` if it failed.
    pub seed_used: Option<bool>,
    /// The hash of its trace; `None` if it failed.
    pub trace_hash: Option<String>,
    /// Why it ended; `None` if it failed.
    pub ended: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Its metrics.
    pub values: Vec<(Measured, f64)>,
}

/// A metric as it is stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Its stable name.
    pub name: String,
    /// Its label in reports.
    pub label: String,
    /// "ns", "1/s", "1" or "share".
    pub unit: String,
    /// "lower", "higher" or "neither".
    pub better: String,
}

impl Measured {
    /// A headline as it is stored.
    pub fn of(headline: &Headline) -> Measured {
        Measured {
            name: headline.id.to_string(),
            label: headline.label.to_string(),
            unit: match headline.unit {
                HeadlineUnit::Ns => "ns",
                HeadlineUnit::PerSecond => "1/s",
                HeadlineUnit::Count => "1",
                HeadlineUnit::Share => "share",
            }
            .to_string(),
            better: match headline.better {
                Direction::Lower => "lower",
                Direction::Higher => "higher",
                Direction::Neither => "neither",
            }
            .to_string(),
        }
    }
}

impl Row {
    /// The row of a finished run.
    pub fn finished(metrics: &Metrics, trace_hash: String, seed_used: bool, ended: &str) -> Row {
        let headlines = Headline::with_groups(metrics).into_iter();
        let value = |headline: Headline| {
            let value = headline.value(metrics).filter(|value| value.is_finite())?;
            Some((Measured::of(&headline), value))
        };
        Row {
            seed_used: Some(seed_used),
            trace_hash: Some(trace_hash),
            ended: Some(ended.to_string()),
            error: None,
            values: headlines.filter_map(value).collect(),
        }
    }

    /// The row of a failed run.
    pub fn failed(error: String) -> Row {
        Row {
            seed_used: None,
            trace_hash: None,
            ended: None,
            error: Some(error),
            values: Vec::new(),
        }
    }
}

impl Store {
    /// Opens a file for writing, or creates it. `about` has schedlab's version and the plan.
    ///
    /// # Errors
    /// The file is not a file of results, has another version, has another plan and
    /// `extend` is false, or cannot be written.
    pub fn open(path: &Path, about: &About, extend: bool) -> Result<Store, StoreError> {
        let connection = Connection::open(path).map_err(|e| system(path, &e))?;
        let mut store = Store {
            path: path.to_path_buf(),
            connection,
            owner: None,
            elsewhere: false,
        };
        store.prepare(about, extend)?;
        Ok(store)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The file is not a file of results, or cannot be read.
    pub fn read(path: &Path) -> Result<Store, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .or_else(|_| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY));
        let store = Store {
            connection: connection.map_err(|e| system(path, &e))?,
            path: path.to_path_buf(),
            owner: None,
            elsewhere: false,
        };
        let wait = store.connection.busy_timeout(PATIENCE);
        store.checked(wait)?;
        match store.version()? {
            (APPLICATION, SCHEMA) => Ok(store),
            (APPLICATION, other) => Err(store.other_schema(other)),
            _ => Err(store.no_results()),
        }
    }

    fn prepare(&mut self, about: &About, extend: bool) -> Result<(), StoreError> {
        let set = self.connection.busy_timeout(PATIENCE);
        self.checked(set)?;
        let empty = self.is_empty()?;
        match self.version()? {
            (0, 0) if empty => {}
            (APPLICATION, SCHEMA) => {}
            (APPLICATION, other) => return Err(self.other_schema(other)),
            _ => return Err(self.no_results()),
        }
        // A process that dies loses no committed result; a power failure may lose those of the last
        // second.
        let set = |name: &str, value: &str| self.connection.pragma_update(None, name, value);
        let mode =
            patiently(|| set("journal_mode", "wal")).and_then(|()| set("synchronous", "normal"));
        self.checked(mode)?;
        let path = self.path.clone();
        let tx = begin(&mut self.connection, &path)?;
        // Another process may have created the tables.
        let tables: i64 = tx
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|e| system(&path, &e))?;
        if tables == 0 {
            tx.execute_batch(TABLES)
                .and_then(|()| tx.pragma_update(None, "application_id", APPLICATION))
                .and_then(|()| tx.pragma_update(None, "user_version", SCHEMA))
                .map_err(|e| system(&path, &e))?;
        }
        about.agree(&tx, &path, extend)?;
        forget_dead(&tx).map_err(|e| system(&path, &e))?;
        tx.commit().map_err(|e| system(&path, &e))
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        let count = "SELECT count(*) FROM sqlite_schema";
        let tables: rusqlite::Result<i64> = self.connection.query_row(count, [], |row| row.get(0));
        match tables {
            Err(error) if is_no_database(&error) => Err(self.no_results()),
            tables => Ok(self.checked(tables)? == 0),
        }
    }

    /// The application id and the version of the tables.
    fn version(&self) -> Result<(i64, i64), StoreError> {
        let number = |name: &str| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
        };
        let both = number("application_id").and_then(|id| Ok((id, number("user_version")?)));
        match both {
            Err(error) if is_no_database(&error) => Err(self.no_results()),
            both => self.checked(both),
        }
    }

    fn no_results(&self) -> StoreError {
        StoreError::Other {
            file: self.path.display().to_string(),
            problem: "the file is not a file of results".into(),
            expected: "a file that \"schedlab sweep\" wrote, or a new one".into(),
        }
    }

    fn other_schema(&self, version: i64) -> StoreError {
        StoreError::Other {
            file: self.path.display().to_string(),
            problem: format!("its tables have version {version}"),
            expected: format!("version {SCHEMA}, or the schedlab that wrote it"),
        }
    }

    pub(crate) fn checked<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| system(&self.path, &error))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Stores the set-ups in their order, because runs may end in any order.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn declare<'a>(
        &mut self,
        setups: impl IntoIterator<Item = &'a Setup>,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            for setup in setups {
                let (hash, command) = (setup.hash.to_string(), setup.command());
                setup_id(tx, &hash, &labels(setup), &command)?;
            }
            Ok(())
        })
    }

    /// Other processes execute the runs that are claimed from now on: if this process dies, they are not the cause.
    pub fn runs_elsewhere(&mut self) {
        self.elsewhere = true;
    }

    /// Claims a run for this process, unless it is done or claimed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn claim(&mut self, setup: &Setup, seed: u64) -> Result<Claim, StoreError> {
        Ok(self.claim_all([(setup, seed)])?[0])
    }

    /// Claims several runs in one transaction.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn claim_all<'a>(
        &mut self,
        runs: impl IntoIterator<Item = (&'a Setup, u64)>,
    ) -> Result<Vec<Claim>, StoreError> {
        let (owner, elsewhere) = (self.owner, self.elsewhere);
        let (owner, claims) = self.write(|tx| {
            let owner = match owner {
                Some(owner) => owner,
                None => new_owner(tx, elsewhere)?,
            };
            let one = |(setup, seed): (&Setup, u64)| {
                let key = run_key(setup.hash, seed).to_string();
                claim(tx, owner, setup, seed, &key)
            };
            let claims: rusqlite::Result<Vec<Claim>> = runs.into_iter().map(one).collect();
            Ok((owner, claims?))
        })?;
        self.owner = Some(owner);
        Ok(claims)
    }

    /// Stores the result of a run and removes its claim.
    ///
    /// # Errors
    /// The file cannot be written: the run is not stored, and its claim ends with this process.
    pub fn record(&mut self, setup: &Setup, seed: u64, row: &Row) -> Result<(), StoreError> {
        self.record_all([(setup, seed, row)])
    }

    /// Stores the results of several runs in one transaction, and removes their claims.
    ///
    /// # Errors
    /// The file cannot be written: none of the runs is stored.
    pub fn record_all<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (&'a Setup, u64, &'a Row)>,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            for (setup, seed, row) in rows {
                let key = run_key(setup.hash, seed).to_string();
                insert(tx, setup, seed, &key, row)?;
                end_claim(tx, &key)?;
            }
            Ok(())
        })
    }

    /// Removes a claim without a result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn release(&mut self, setup: &Setup, seed: u64) -> Result<(), StoreError> {
        let key = run_key(setup.hash, seed).to_string();
        self.write(|tx| end_claim(tx, &key))
    }

    /// Does something in one transaction.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let tx = begin(&mut self.connection, &path)?;
        let done = change(&tx).map_err(|e| system(&path, &e))?;
        tx.commit().map_err(|e| system(&path, &e))?;
        Ok(done)
    }

    /// Deletes failed runs, so that they are repeated.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget_failed(&mut self) -> Result<usize, StoreError> {
        let forgotten = self
            .connection
            .execute("DELETE FROM run WHERE error IS NOT NULL", []);
        let crashes = self.connection.execute("DELETE FROM crash", []);
        self.checked(crashes)?;
        self.checked(forgotten)
    }

    /// How often a process died during this run.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn crashes(&self, setup: &Setup, seed: u64) -> Result<u64, StoreError> {
        let key = run_key(setup.hash, seed).to_string();
        let times = self
            .connection
            .prepare_cached("SELECT times FROM crash WHERE key = ?")
            .and_then(|mut query| {
                query
                    .query_row([key], |row| row.get::<_, i64>(0))
                    .optional()
            });
        Ok(self.checked(times)?.unwrap_or(0) as u64)
    }

    /// The results of a set-up by seed, without missing runs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rows(&self, setup: &Setup) -> Result<Vec<(u64, Row)>, StoreError> {
        let id = self.connection.query_row(
            "SELECT id FROM setup WHERE hash = ?",
            [setup.hash.to_string()],
            |row| row.get::<_, i64>(0),
        );
        match self.checked(id.optional())? {
            Some(id) => self.checked(rows(&self.connection, id)),
            None => Ok(Vec::new()),
        }
    }

    /// Adds the results of another file; returns the number of new ones.
    ///
    /// # Errors
    /// One of the files cannot be read or written, or they contradict each other.
    pub fn merge(&mut self, other: &Store) -> Result<usize, StoreError> {
        let path = self.path.clone();
        let read = read_all(&other.connection);
        let all = other.checked(read)?;
        let tx = begin(&mut self.connection, &path)?;
        let mut new = 0;
        for stored in all {
            let id = setup_id(&tx, &stored.hash, &stored.labels, &stored.command)
                .map_err(|e| system(&path, &e))?;
            let known = tx
                .query_row(
                    "SELECT trace_hash FROM run WHERE key = ?",
                    [&stored.key],
                    |row| row.get::<_, Option<String>>(0),
                )
                .optional()
                .map_err(|e| system(&path, &e))?;
            match known {
                None => {
                    insert_row(&tx, id, &stored.key, &stored.seed, &stored.row)
                        .map_err(|e| system(&path, &e))?;
                    new += 1;
                }
                Some(hash) if hash == stored.row.trace_hash => {}
                Some(_) => {
                    return Err(StoreError::Other {
                        file: other.path.display().to_string(),
                        problem: format!(
                            "another file has another trace of the same run: {} --seed {}",
                            stored.command, stored.seed
                        ),
                        expected: "equal traces of equal runs".into(),
                    })
                }
            }
        }
        tx.commit().map_err(|e| system(&path, &e))?;
        Ok(new)
    }

    /// The file's version and plan.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn about(&self) -> Result<About, StoreError> {
        let get = |name: &str| {
            let value = self.connection.query_row(
                "SELECT value FROM about WHERE name = ?",
                [name],
                |row| row.get::<_, String>(0),
            );
            Ok(self.checked(value.optional())?.unwrap_or_default())
        };
        Ok(About {
            version: get("schedlab")?,
            plan: get("plan")?,
        })
    }
}

/// The version and plan of a file of results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// schedlab's version.
    pub version: String,
    /// The command line of its plan.
    pub plan: String,
}

impl About {
    /// Writes it into a new file; an existing file must be equal.
    fn agree(&self, tx: &Transaction, path: &Path, extend: bool) -> Result<(), StoreError> {
        let fields = [("schedlab", &self.version), ("plan", &self.plan)];
        for (name, value) in fields {
            let stored = tx
                .query_row("SELECT value FROM about WHERE name = ?", [name], |row| {
                    row.get::<_, String>(0)
                })
                .optional()
                .map_err(|e| system(path, &e))?;
            let other = |problem: String, expected: String| StoreError::Other {
                file: path.display().to_string(),
                problem,
                expected,
            };
            match stored {
                Some(stored) if stored == *value => continue,
                Some(stored) if name == "schedlab" => {
                    let problem =
                        format!("the file was written by schedlab {stored}; this is {value}");
                    return Err(other(problem, "that version, or another file".into()));
                }
                Some(stored) if !extend => {
                    let problem = format!("the file has the results of another plan: {stored}");
                    let expected =
                        "the same plan, --extend to add this one's runs, or another file";
                    return Err(other(problem, expected.into()));
                }
                _ => {}
            }
            tx.execute(
                "INSERT OR REPLACE INTO about VALUES (?, ?)",
                params![name, value],
            )
            .map_err(|e| system(path, &e))?;
        }
        Ok(())
    }
}

/// Tries again while the file is locked: SQLite waits for no lock when it changes the mode of the journal.
fn patiently(change: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        match change() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
    change()
}

fn begin<'a>(connection: &'a mut Connection, path: &Path) -> Result<Transaction<'a>, StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    tx.map_err(|error| system(path, &error))
}

fn is_no_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase)
}

fn system(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::System {
        file: path.display().to_string(),
        problem: error.to_string(),
    }
}

fn insert(
    tx: &Transaction,
    setup: &Setup,
    seed: u64,
    key: &str,
    row: &Row,
) -> rusqlite::Result<()> {
    let id = setup_id(
        tx,
        &setup.hash.to_string(),
        &labels(setup),
        &setup.command(),
    )?;
    insert_row(tx, id, key, &seed.to_string(), row)
}

/// The labels of a set-up as JSON.
fn labels(setup: &Setup) -> String {
    let labels = setup.labels.iter();
    let labels = labels.map(|(name, value)| (name.clone(), value.clone().into()));
    serde_json::Value::Object(labels.collect()).to_string()
}

fn setup_id(tx: &Transaction, hash: &str, labels: &str, command: &str) -> rusqlite::Result<i64> {
    tx.prepare_cached("INSERT OR IGNORE INTO setup (hash, labels, command) VALUES (?, ?, ?)")?
        .execute(params![hash, labels, command])?;
    tx.prepare_cached("SELECT id FROM setup WHERE hash = ?")?
        .query_row([hash], |row| row.get(0))
}

fn insert_row(
    tx: &Transaction,
    setup: i64,
    key: &str,
    seed: &str,
    row: &Row,
) -> rusqlite::Result<()> {
    let added = tx
        .prepare_cached(
            "INSERT OR IGNORE INTO run (key, setup, seed, seed_used, trace_hash, ended, error) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            key,
            setup,
            seed,
            row.seed_used,
            row.trace_hash,
            row.ended,
            row.error
        ])?;
    if added == 0 {
        return Ok(());
    }
    let run = tx.last_insert_rowid();
    for (metric, value) in &row.values {
        let metric = metric_id(tx, metric)?;
        tx.prepare_cached("INSERT INTO value VALUES (?, ?, ?)")?
            .execute(params![run, metric, value])?;
    }
    Ok(())
}

fn metric_id(tx: &Transaction, metric: &Measured) -> rusqlite::Result<i64> {
    let find = "SELECT id FROM metric WHERE name = ?";
    let known = tx
        .prepare_cached(find)?
        .query_row([&metric.name], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    tx.execute(
        "INSERT INTO metric (name, label, unit, better) VALUES (?, ?, ?, ?)",
        params![metric.name, metric.label, metric.unit, metric.better],
    )?;
    Ok(tx.last_insert_rowid())
}

/// A run in another file.
pub(crate) struct Stored {
    pub setup: i64,
    pub hash: String,
    pub labels: String,
    pub command: String,
    pub key: String,
    pub seed: String,
    pub row: Row,
}

/// All runs of a file.
pub(crate) fn read_all(connection: &Connection) -> rusqlite::Result<Vec<Stored>> {
    let mut setups =
        connection.prepare("SELECT id, hash, labels, command FROM setup ORDER BY id")?;
    let setups: Vec<(i64, String, String, String)> = setups
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for (id, hash, labels, command) in setups {
        for (key, seed, row) in rows_of(connection, id)? {
            all.push(Stored {
                setup: id,
                hash: hash.clone(),
                labels: labels.clone(),
                command: command.clone(),
                key,
                seed,
                row,
            });
        }
    }
    Ok(all)
}

fn rows(connection: &Connection, setup: i64) -> rusqlite::Result<Vec<(u64, Row)>> {
    let rows = rows_of(connection, setup)?.into_iter();
    let mut rows: Vec<(u64, Row)> = rows
        .map(|(_, seed, row)| (seed.parse().unwrap_or(0), row))
        .collect();
    rows.sort_by_key(|(seed, _)| *seed);
    Ok(rows)
}

fn rows_of(connection: &Connection, setup: i64) -> rusqlite::Result<Vec<(String, String, Row)>> {
    let mut query = connection.prepare_cached(
        "SELECT id, key, seed, seed_used, trace_hash, ended, error FROM run WHERE setup = ? ORDER BY id",
    )?;
    let mut values = connection.prepare_cached(
        "SELECT name, label, unit, better, value FROM value JOIN metric ON metric.id = value.metric
         WHERE run = ? ORDER BY metric.id",
    )?;
    let mut found = Vec::new();
    let mut runs = query.query([setup])?;
    while let Some(run) = runs.next()? {
        let id: i64 = run.get(0)?;
        let values = values.query_map([id], |row| {
            let metric = Measured {
                name: row.get(0)?,
                label: row.get(1)?,
                unit: row.get(2)?,
                better: row.get(3)?,
            };
            Ok((metric, row.get(4)?))
        })?;
        let row = Row {
            seed_used: run.get(3)?,
            trace_hash: run.get(4)?,
            ended: run.get(5)?,
            error: run.get(6)?,
            values: values.collect::<Result<_, _>>()?,
        };
        found.push((run.get(1)?, run.get(2)?, row));
    }
    Ok(found)
}
