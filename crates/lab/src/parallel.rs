//! Independent pieces of work on several threads; results do not depend on their number.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the waiting thread calls its function.
const BEAT: Duration = Duration::from_millis(100);

/// Tells a piece of work that its result is no longer wanted.
pub struct Cancel<'a> {
    index: usize,
    first_failed: &'a AtomicUsize,
}

impl Cancel<'_> {
    /// Has a piece of work before this one failed?
    pub fn cancelled(&self) -> bool {
        self.first_failed.load(Ordering::Relaxed) < self.index
    }
}

/// How many threads `--jobs` means; without it one for each CPU.
pub fn threads(jobs: Option<u16>) -> usize {
    let cpus = || std::thread::available_parallelism().map_or(1, NonZero::get);
    jobs.map_or_else(cpus, usize::from)
}

/// The results of `work(0)` to `work(count - 1)`, in this order, done by this number of threads.  The calling
/// thread calls `meanwhile` ten times a second.
///
/// # Errors
/// The first failure in the order of the work, independent of the threads' timing: work before a failure
/// is completed, work after it is not begun or is cancelled.
pub fn in_parallel<T: Send, E: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize, &Cancel) -> Result<T, E> + Sync,
    mut meanwhile: impl FnMut(),
) -> Result<Vec<T>, E> {
    let (next, first_failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<Result<T, E>>> = (0..count).map(|_| None).collect();
    std::thread::scope(|scope| {
        let mut spawned = 0;
        for _ in 0..threads.clamp(1, count.max(1)) {
            let sender = sender.clone();
            let thread = || worker(count, &next, &first_failed, &work, sender);
            match std::thread::Builder::new().spawn_scoped(scope, thread) {
                Ok(_) => spawned += 1,
                Err(_) => break, // The system has no more threads; fewer do the same.
            }
        }
        if spawned == 0 {
            worker(count, &next, &first_failed, &work, sender.clone());
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(BEAT) {
                Ok((index, result)) => results[index] = Some(result),
                Err(RecvTimeoutError::Timeout) => meanwhile(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    // Every result before the first failure exists.
    results.into_iter().flatten().collect()
}

fn worker<T, E>(
    count: usize,
    next: &AtomicUsize,
    first_failed: &AtomicUsize,
    work: &impl Fn(usize, &Cancel) -> Result<T, E>,
    results: Sender<(usize, Result<T, E>)>,
) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let cancel = Cancel {
            index,
            first_failed,
        };
        if index >= count || cancel.cancelled() {
            return;
        }
        let result = work(index, &cancel);
        if result.is_err() {
            first_failed.fetch_min(index, Ordering::Relaxed);
        }
        if results.send((index, result)).is_err() {
            return; // The caller no longer waits.
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for threads in [1, 3, 50] {
            let squares = in_parallel(20, threads, |i, _| Ok::<_, ()>(i * i), || ());
            assert_eq!(squares, Ok((0..20).map(|i| i * i).collect()));
        }
        assert_eq!(in_parallel(0, 4, |i, _| Ok::<_, ()>(i), || ()), Ok(vec![]));
    }

    #[test]
    fn the_first_failure_in_order_is_reported_whoever_fails_first() {
        let fail = |index: usize, cancel: &Cancel| match index {
            // Fails only after a later piece of work has: that one must not win.
            3 => {
                while cancel.first_failed.load(Ordering::Relaxed) == usize::MAX {
                    std::thread::yield_now();
                }
                Err(3)
            }
            7 => Err(7),
            _ => Ok(index),
        };
        assert_eq!(in_parallel(100, 8, fail, || ()), Err(3));
    }

    #[test]
    fn work_after_a_failure_is_cancelled() {
        let work = |index: usize, cancel: &Cancel| match index {
            0 => Err("failed"),
            _ => {
                while !cancel.cancelled() {
                    std::thread::yield_now();
                }
                Err("cancelled")
            }
        };
        assert_eq!(in_parallel(4, 4, work, || ()), Err::<Vec<()>, _>("failed"));
    }
}
