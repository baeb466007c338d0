//! Runs the cases of all experiments: each case once, a limited number at the same time.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use schedlab_lab::{in_parallel, Cancel};

use crate::{Case, Error, Experiment, Point, Report};

/// The progress of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Experiments that are done.
    pub experiments: usize,
    /// Runs that were begun.
    pub runs: usize,
}

/// Runs the cases of experiments.  Experiments run in parallel, so that there is always a run to do;
/// a run that several experiments need is done once.  Results do not depend on the number of threads.
pub struct Runner<'a> {
    /// Shorter and fewer runs, with the same verdicts.
    pub(crate) quick: bool,
    pub(crate) threads: usize,
    /// What papers do not state; none: as the experiments are written.
    pub(crate) point: Option<Point>,
    stop: &'a (dyn Fn() -> bool + Sync),
    permits: Permits,
    experiments: AtomicUsize,
    runs: AtomicUsize,
    kept: Mutex<BTreeMap<Key, Arc<Kept>>>,
}

/// The type of the result, and its run: a case of one seed, and the seed.
type Key = (TypeId, Case, u64);
/// A result.  A thread that finds it locked waits for the thread that computes it.
type Kept = Mutex<Option<Arc<dyn Any + Send + Sync>>>;

impl<'a> Runner<'a> {
    /// A runner with this number of threads (none: one for each CPU) that checks `stop` from time to time.
    pub fn new(
        quick: bool,
        threads: Option<usize>,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Runner<'a> {
        let cpus = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = threads.unwrap_or_else(cpus);
        Runner {
            quick,
            threads,
            point: None,
            stop,
            permits: Permits::new(threads),
            experiments: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            kept: Mutex::default(),
        }
    }

    /// At a point of the region of what papers do not state.
    pub fn at(self, point: Point) -> Runner<'a> {
        Runner {
            point: Some(point),
            ..self
        }
    }

    /// Runs experiments and calls `meanwhile` ten times a second.
    ///
    /// # Errors
    /// The first of them, in their order, that has no result.
    pub fn reproduce(
        &self,
        experiments: &[&'static Experiment],
        mut meanwhile: impl FnMut(&Beat),
    ) -> Result<Vec<Report>, Error> {
        let one = |i: usize, cancel: &Cancel| {
            let report = experiments[i].reproduce(self, &|| cancel.cancelled())?;
            self.experiments.fetch_add(1, Ordering::Relaxed);
            Ok(report)
        };
        let beat = || Beat {
            experiments: self.experiments.load(Ordering::Relaxed),
            runs: self.runs.load(Ordering::Relaxed),
        };
        // A thread for each experiment: they mostly wait for their runs, whose number at a time is limited.
        in_parallel(experiments.len(), experiments.len(), one, || {
            meanwhile(&beat());
        })
    }

    /// The right to do a run, until dropped.
    pub(crate) fn permit(&self) -> Permit<'_> {
        let permit = self.permits.take();
        self.runs.fetch_add(1, Ordering::Relaxed);
        permit
    }

    pub(crate) fn stopped(&self) -> bool {
        (self.stop)()
    }

    /// The result of `make` for a run, computed now or earlier.
    pub(crate) fn once<T: Any + Send + Sync>(
        &self,
        case: &Case,
        seed: u64,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let key = (TypeId::of::<T>(), case.clone().seeds(1), seed);
        let kept = Arc::clone(lock(&self.kept).entry(key).or_default());
        let mut kept = lock(&kept);
        if let Some(known) = &*kept {
            let known = Arc::clone(known).downcast();
            return Ok(known.unwrap_or_else(|_| unreachable!("the key names the type")));
        }
        let made = Arc::new(make()?);
        *kept = Some(made.clone());
        Ok(made)
    }
}

/// The number of runs that may still start.
struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// The right to run, until dropped.
pub(crate) struct Permit<'a>(&'a Permits);

impl Permits {
    fn new(count: usize) -> Permits {
        Permits {
            free: Mutex::new(count.max(1)),
            returned: Condvar::new(),
        }
    }

    fn take(&self) -> Permit<'_> {
        let free = lock(&self.free);
        let mut free = self
            .returned
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *lock(&self.0.free) += 1;
        self.0.returned.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
