//! Executes the runs of a batch.

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schedlab_lab::{in_parallel, Reason, Trial};
use schedlab_measure::Measure;

use crate::batch::Batch;
use crate::store::{Claim, Row, Store, StoreError};

/// Time between two checks for the runs of other processes.
const PAUSE: Duration = Duration::from_millis(200);

/// Number of processes that may die during a run before the run counts as failed.
const MOST_CRASHES: u64 = 2;

/// A run of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// The index of its set-up.
    pub setup: usize,
    /// Its seed.
    pub seed: u64,
}

/// A part of all runs: part `index` of `of`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Its number, from 1.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    /// Parses "2/8".
    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index, of }),
            _ => Err("I/N, such as 1/8, I being from 1 to N".into()),
        }
    }
}

impl Batch {
    /// The runs of a part, or all runs. All set-ups run with the first seed first: if a run draws
    /// no random number, the other seeds are not run. All seeds of a set-up are in one part.
    pub fn jobs(&self, shard: Option<Shard>) -> Vec<Job> {
        let mine = |setup: &usize| shard.is_none_or(|s| setup % s.of == s.index - 1);
        let setups: Vec<usize> = (0..self.setups.len()).filter(mine).collect();
        let seeds = self.seeds.iter();
        seeds
            .flat_map(|&seed| setups.iter().map(move |&setup| Job { setup, seed }))
            .collect()
    }
}

/// Observes a sweep.
pub trait Watch: Sync {
    /// Must the sweep stop?
    fn stop(&self) -> bool;
    /// A run has ended; `failed` is its error.
    fn over(&self, failed: Option<&str>);
}

/// Counts of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Runs that were executed.
    pub done: usize,
    /// Runs whose results existed or were copied from another seed.
    pub known: usize,
    /// Executed runs that failed.
    pub failed: usize,
    /// Runs that are missing because the sweep was stopped.
    pub left: usize,
}

/// Executes the missing runs on several threads. The calling thread calls `meanwhile` ten times a
/// second.
///
/// # Errors
/// The file cannot be written; it contains all results before the error.
pub fn run(
    store: &mut Store,
    batch: &Batch,
    jobs: &[Job],
    threads: usize,
    watch: &impl Watch,
    mut meanwhile: impl FnMut(),
) -> Result<Tally, StoreError> {
    let mut declared = vec![false; batch.setups.len()];
    jobs.iter().for_each(|job| declared[job.setup] = true);
    let setups = batch.setups.iter().zip(&declared);
    store.declare(setups.filter(|(_, is)| **is).map(|(setup, _)| setup))?;
    let shared = Shared {
        store: Mutex::new(store),
        batch,
        watch,
    };
    let mut tally = Tally::default();
    // First one seed of each set-up: without a random number its result holds for all seeds.
    let first = jobs.first().map(|job| job.seed);
    let (mut left, mut next): (Vec<Job>, Vec<Job>) =
        jobs.iter().partition(|job| Some(job.seed) == first);
    // A run during which a process died runs alone, so that it cannot end other runs.
    let mut suspects = Vec::new();
    loop {
        let one = |index: usize, _: &schedlab_lab::Cancel| shared.one(left[index], false);
        let fates = in_parallel(left.len(), threads, one, &mut meanwhile)?;
        let mut theirs = Vec::new();
        for (job, fate) in left.iter().zip(fates) {
            match fate {
                Fate::Suspect => suspects.push(*job),
                Fate::Theirs => theirs.push(*job),
                fate => tally.count(fate),
            }
        }
        for job in std::mem::take(&mut suspects) {
            meanwhile();
            match shared.one(job, true)? {
                Fate::Theirs => theirs.push(job),
                fate => tally.count(fate),
            }
        }
        if !next.is_empty() {
            left = std::mem::take(&mut next);
            left.extend(theirs);
            continue;
        }
        if theirs.is_empty() {
            return Ok(tally);
        }
        left = theirs;
        std::thread::sleep(PAUSE);
        meanwhile();
    }
}

impl Tally {
    fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Known => self.known += 1,
            Fate::Stopped => self.left += 1,
            Fate::Done => self.done += 1,
            Fate::Failed => {
                self.done += 1;
                self.failed += 1;
            }
            Fate::Theirs | Fate::Suspect => {}
        }
    }
}

/// The result of an attempt to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Done,
    Failed,
    Known,
    /// The sweep was stopped during the run.
    Stopped,
    /// Another process has claimed it.
    Theirs,
    /// A process died during it.
    Suspect,
}

struct Shared<'a, W> {
    store: Mutex<&'a mut Store>,
    batch: &'a Batch,
    watch: &'a W,
}

impl<'a, W: Watch> Shared<'a, W> {
    fn store(&self) -> MutexGuard<'_, &'a mut Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn one(&self, job: Job, suspects: bool) -> Result<Fate, StoreError> {
        if self.watch.stop() {
            return Ok(Fate::Stopped);
        }
        let setup = &self.batch.setups[job.setup];
        match self.store().crashes(setup, job.seed)? {
            0 => {}
            _ if !suspects => return Ok(Fate::Suspect),
            MOST_CRASHES.. => {
                let error = format!("schedlab crashed {MOST_CRASHES} times during this run");
                self.store()
                    .record(setup, job.seed, &Row::failed(error.clone()))?;
                self.watch.over(Some(&error));
                return Ok(Fate::Failed);
            }
            _ => {}
        }
        let claim = self.store().claim(setup, job.seed)?;
        match claim {
            Claim::Done => {
                self.watch.over(None);
                return Ok(Fate::Known);
            }
            Claim::Theirs => return Ok(Fate::Theirs),
            Claim::Ours => {}
        }
        let Some(row) = ran(setup.trial(job.seed), &|| self.watch.stop()) else {
            self.store().release(setup, job.seed)?;
            return Ok(Fate::Stopped);
        };
        self.store().record(setup, job.seed, &row)?;
        self.watch.over(row.error.as_deref());
        Ok(match row.error {
            Some(_) => Fate::Failed,
            None => Fate::Done,
        })
    }
}

/// Executes one run; `None` if it was stopped.
pub fn ran(trial: Trial, stop: &dyn Fn() -> bool) -> Option<Row> {
    let measure = Measure::without_task_distributions();
    match trial.run(measure, |_| stop()) {
        Ok(ran) => {
            let metrics = ran.sink.finish();
            let (hash, ended) = (ran.trace_hash.to_string(), ran.ending.clause());
            Some(Row::finished(&metrics, hash, ran.seed_used, ended))
        }
        Err(unfinished) => match unfinished.reason {
            Reason::Stopped => None,
            reason => Some(Row::failed(reason.to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read() {
        assert_eq!("2/8".parse(), Ok(Shard { index: 2, of: 8 }));
        for text in ["0/8", "9/8", "1", "1/0", "a/b", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
