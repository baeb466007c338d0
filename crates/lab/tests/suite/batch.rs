//! Batches of trials: trials that fail, seeds that change nothing, numbers of threads.

use std::sync::Arc;

use schedlab_lab::choose::{policies, policy, workload, Assignments};
use schedlab_lab::{run_all, Beat, Done, Reason, Trial, Watch};
use schedlab_trace::{Event, Ns};

/// Lets every trial go on.
struct Unwatched;

impl Watch for Unwatched {
    fn beat(&self, _: usize, _: &Beat) -> bool {
        false
    }
    fn over(&self, _: usize) {}
}

/// Half a second of a workload on a desktop, with the seeds 1 to 3.
fn seeds(name: &str, of: &str) -> Vec<Trial> {
    let machine = Arc::new(schedlab_machine::find("desktop").unwrap());
    let workload = Arc::new(workload(of, &Default::default()).unwrap());
    let set = Assignments::read(&[], &[]).unwrap();
    let tuned = policy("--policy", name, &set, &|| false).unwrap();
    let trial = |seed| Trial {
        duration: Some(Ns::from_ms(500)),
        ..Trial::new(
            tuned.clone(),
            Arc::clone(&machine),
            Arc::clone(&workload),
            seed,
        )
    };
    (1..=3).map(trial).collect()
}

fn run(trials: &[Trial]) -> Vec<Done<Vec<Event>>> {
    run_all(trials, 2, true, |_| Vec::new(), &Unwatched, || ())
}

#[test]
fn seeds_that_change_nothing_are_run_once() {
    let done = run(&seeds("o1", "hogs"));
    assert!(
        matches!(&done[0], Done::Run(ran) if ran.as_ref().as_ref().is_ok_and(|ran| !ran.seed_used))
    );
    assert!(matches!(done[1..], [Done::SameAs(0), Done::SameAs(0)]));
}

#[test]
fn seeds_that_policy_or_workload_draw_from_are_all_run() {
    for (policy, workload) in [("lottery", "hackbench -g 1"), ("o1", "mixed")] {
        let done = run(&seeds(policy, workload));
        let mut hashes: Vec<_> = done
            .iter()
            .map(|done| match done {
                Done::Run(ran) => ran.as_ref().as_ref().unwrap().trace_hash,
                Done::SameAs(_) => panic!("{policy} under {workload} draws random numbers"),
            })
            .collect();
        hashes.dedup();
        assert_eq!(hashes.len(), 3, "{policy} under {workload}");
    }
}

#[test]
fn a_trial_that_fails_ends_no_other() {
    let mut trials = seeds("o1", "mixed");
    trials[1].limits.events = 1000;
    let done = run(&trials);
    let failed = |done: &Done<Vec<Event>>| match done {
        Done::Run(ran) => ran.as_ref().as_ref().err().map(|unfinished| {
            assert!(matches!(unfinished.reason, Reason::Failed(_)));
            // It has heard what happened up to there.
            assert!(!unfinished.sink.is_empty());
        }),
        Done::SameAs(_) => None,
    };
    assert_eq!(
        done.iter().map(failed).collect::<Vec<_>>(),
        [None, Some(()), None]
    );
}

#[test]
fn the_number_of_threads_changes_no_trace() {
    let set = Assignments::read(&[], &[]).unwrap();
    let machine = Arc::new(schedlab_machine::find("server").unwrap());
    let workload = Arc::new(workload("massive-intr", &Default::default()).unwrap());
    let all = policies("--policies", "all", &set, &|| false).unwrap();
    let trials: Vec<Trial> = all
        .into_iter()
        .map(|(_, tuned)| Trial {
            duration: Some(Ns::from_ms(200)),
            ..Trial::new(tuned, Arc::clone(&machine), Arc::clone(&workload), 1)
        })
        .collect();
    let hashes = |threads| -> Vec<_> {
        let none = |_| None::<Vec<Event>>;
        run_all(&trials, threads, false, none, &Unwatched, || ())
            .into_iter()
            .map(|done| match done {
                Done::Run(ran) => ran.as_ref().as_ref().unwrap().trace_hash,
                Done::SameAs(_) => panic!("every trial was to be run"),
            })
            .collect()
    };
    assert_eq!(hashes(1), hashes(3));
}
