//! Batches of trials on several threads.

use std::convert::Infallible;

use schedlab_trace::Sink;

use crate::parallel::{in_parallel, Cancel};
use crate::{Beat, Ran, Trial, Unfinished};

/// An observer of a batch of trials.
pub trait Watch: Sync {
    /// Reports a trial's progress.  Returns whether all trials shall stop.
    fn beat(&self, trial: usize, beat: &Beat) -> bool;
    /// A trial has ended.
    fn over(&self, trial: usize);
}

/// The result of a trial of a batch.
pub enum Done<S> {
    /// It was run.
    Run(Box<Result<Ran<S>, Unfinished<S>>>),
    /// It was not run: it differs only in its seed from this earlier trial, which drew no random number.
    SameAs(usize),
}

/// Runs trials, each with its own sink, and returns their results in order.
///
/// A failed trial does not end the others.  With `once`, trials that differ only in their seeds are run once if the
/// first of them draws no random number.  The calling thread calls `meanwhile` ten times a second.
pub fn run_all<S: Sink + Send>(
    trials: &[Trial],
    threads: usize,
    once: bool,
    sink: impl Fn(usize) -> S + Sync,
    watch: &impl Watch,
    mut meanwhile: impl FnMut(),
) -> Vec<Done<S>> {
    let mut done: Vec<Option<Done<S>>> = trials.iter().map(|_| None).collect();
    let first_of: Vec<usize> = (0..trials.len())
        .map(|i| {
            let same = |j: &usize| once && trials[*j].differs_in_seed_only(&trials[i]);
            (0..i).find(same).unwrap_or(i)
        })
        .collect();
    let mut run = |chosen: &[usize], done: &mut Vec<Option<Done<S>>>| {
        let one = |index: usize, _: &Cancel| {
            let trial = chosen[index];
            let ran = trials[trial].run(sink(trial), |beat| watch.beat(trial, beat));
            watch.over(trial);
            Ok::<_, Infallible>(Done::Run(Box::new(ran)))
        };
        let Ok(results) = in_parallel(chosen.len(), threads, one, &mut meanwhile);
        for (&trial, result) in chosen.iter().zip(results) {
            done[trial] = Some(result);
        }
    };
    let (firsts, others): (Vec<usize>, Vec<usize>) =
        (0..trials.len()).partition(|&i| first_of[i] == i);
    run(&firsts, &mut done);
    let drew_nothing = |first: &usize| match &done[*first] {
        Some(Done::Run(result)) => result.as_ref().as_ref().is_ok_and(|ran| !ran.seed_used),
        _ => false,
    };
    let (equal, left): (Vec<usize>, Vec<usize>) =
        others.iter().partition(|&&i| drew_nothing(&first_of[i]));
    for trial in equal {
        done[trial] = Some(Done::SameAs(first_of[trial]));
        watch.over(trial);
    }
    run(&left, &mut done);
    let all = done.into_iter();
    all.map(|done| done.expect("each trial is in one of the parts"))
        .collect()
}
