//! FreeBSD 14's ULE: slices by load, nice as an order, and how it starves.

use schedlab_machine::Machine;
use schedlab_trace::EventKind;

use super::run;
use super::ule::{simulate, two_cores_of_two, Run};

#[test]
fn hogs_take_turns_of_a_slice_that_shrinks_with_their_number() {
    // At 128 Hz: 12 ticks for two, 12 / 2, 12 / 3, and 2 from seven on; 7680 ticks a minute.
    for (hogs, ticks) in [(2, 12), (3, 6), (4, 4), (7, 2), (10, 2)] {
        let metrics = run(
            "ule14",
            "ideal-1",
            &format!("hogs --count {hogs}"),
            Some(60),
        );
        let switches = 7680 / ticks;
        let got = metrics.total.nr_switches;
        assert!(got.abs_diff(switches) <= 5, "{hogs}: {got}, not {switches}");
    }
}

#[test]
fn nice_is_a_matter_of_order_and_nobody_starves_of_it() {
    // Slices are equal; a nicer hog's turn comes later in the calendar.
    let metrics = run("ule14", "ideal-1", "hogs --nice=-20,0,19", Some(60));
    let share = |nice| {
        let task = metrics.tasks.iter().find(|t| t.nice == nice).unwrap();
        task.activity.cpu_share
    };
    let (best, middle, worst) = (share(-20), share(0), share(19));
    assert!(best > 1.2 * middle && middle > 1.2 * worst);
    assert!(worst > 0.15, "{worst}");
}

#[test]
fn interactive_threads_starve_the_rest_for_ever() {
    // Bouron et al., ATC 2018: those that score below 30 always come first.  Twelve that want a tenth
    // each leave a hog nothing; in 2003 the hog had its slice every two switches of the queues.
    let share = |policy| {
        let mix = "late --task app:run=5ms,sleep=45ms,count=12 --task hog:run=1s,sleep=0s";
        let metrics = run(policy, "ideal-1", mix, Some(60));
        let hog = metrics.tasks.iter().find(|t| t.name == "hog").unwrap();
        hog.activity.cpu_share
    };
    assert!(share("ule14") < 0.01);
    assert!(share("ule") > 0.05);
}

#[test]
fn balancing_evens_out_three_hogs_on_two_cpus() {
    let shares = |set| {
        let metrics = simulate(&Run {
            policy: "ule14",
            set,
            machine: Machine::ideal(2),
            workload: "hogs --count 3",
            seconds: Some(300),
        })
        .0;
        let tasks = metrics.tasks.iter();
        let mut shares: Vec<f64> = tasks.map(|t| 200.0 * t.activity.cpu_share).collect();
        shares.sort_by(f64::total_cmp);
        shares
    };
    let even = shares(&[]);
    assert!(even[0] > 58.0 && even[2] < 75.0, "{even:?}");
    let uneven = shares(&[("balance", 0)]);
    assert!(uneven[0] < 51.0 && uneven[2] > 99.0, "{uneven:?}");
}

#[test]
fn two_hogs_go_to_two_cores() {
    // Claim C42, at last: the least loaded path is an idle core.
    let (_, events) = simulate(&Run {
        policy: "ule14",
        set: &[],
        machine: two_cores_of_two(),
        workload: "hogs --count 2",
        seconds: Some(5),
    });
    let mut cores = [u32::MAX; 2];
    for event in events {
        if let EventKind::Switch {
            next: Some(task), ..
        } = event.kind
        {
            cores[task.index()] = event.cpu.0 / 2;
        }
    }
    cores.sort_unstable();
    assert_eq!(cores, [0, 1]);
}
