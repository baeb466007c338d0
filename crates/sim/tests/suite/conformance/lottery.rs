//! Shares under lottery scheduling, within statistical tolerances.
//!
//! Tolerances are three standard deviations, worked out beside each value.

use super::{measured, run};
use schedlab_measure::Metrics;
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::HashSink;
use schedlab_workload::builtin;

#[track_caller]
fn assert_within(what: &str, value: f64, expected: f64, sigma: f64) {
    let deviation = (value - expected) / sigma;
    assert!(
        deviation.abs() < 3.0,
        "{what}: {value}, not {expected} ± {sigma}: {deviation:.1} sigma"
    );
}

/// 1000 * 1.25^-nice.
fn tickets(nice: i8) -> f64 {
    match nice {
        -5 => 3052.0,
        0 => 1000.0,
        1 => 800.0,
        2 => 640.0,
        5 => 328.0,
        10 => 107.0,
        _ => unreachable!("no test uses it"),
    }
}

fn shares(metrics: &Metrics) -> Vec<f64> {
    metrics.tasks.iter().map(|t| t.activity.cpu_share).collect()
}

#[test]
fn lottery_shares_are_in_proportion_to_tickets() {
    // 600 s are 6000 drawings; the number of wins is binomial, so sigma = sqrt(p (1 - p) / 6000).
    for variant in ["lottery:tree", "lottery:list"] {
        for nice in [[0, 5, 10], [-5, 0, 5], [0, 1, 2]] {
            let workload = format!("hogs --nice={},{},{}", nice[0], nice[1], nice[2]);
            let metrics = run(variant, "ideal-1", &workload, Some(600));
            let total: f64 = nice.iter().map(|&n| tickets(n)).sum();
            for task in &metrics.tasks {
                let p = tickets(task.nice) / total;
                let sigma = (p * (1.0 - p) / 6000.0).sqrt();
                let what = format!("{variant}, nice {} of {nice:?}", task.nice);
                assert_within(&what, task.activity.cpu_share, p, sigma);
            }
        }
    }
}

#[test]
fn lottery_waits_are_geometric() {
    // Ten equals: a task waits for k other quanta with probability 0.9^k; of 6000 drawings some
    // task loses more than 50 in a row (0.9^50 = 0.5 %), hardly any 200 (7e-10).
    let metrics = run("lottery", "ideal-1", "hogs --nice=0 --count 10", Some(600));
    let longest =
        |t: &schedlab_measure::TaskMetrics| t.activity.longest_wait.unwrap().ns.0 / 1_000_000;
    let waits: Vec<u64> = metrics.tasks.iter().map(longest).collect();
    assert!(*waits.iter().max().unwrap() > 5_000, "{waits:?}");
    assert!(*waits.iter().max().unwrap() < 20_000, "{waits:?}");
}

/// A task that uses a fifth of its quanta and one that uses them in full, with equal tickets.
fn fifth(compensation: i64) -> Vec<f64> {
    let tasks = "
duration = '600s'
[task.fifth]
program = '''
forever
  run 20ms
  yield
end
'''
[task.full]
program = 'run 1000s'
";
    let set = [("compensation", compensation)];
    shares(&measured("lottery", None, &set, "ideal-1", tasks))
}

#[test]
fn compensation_makes_up_for_quanta_not_used() {
    // The paper's example.  The task that uses a fifth has five times the tickets when it waits, so
    // it wins 5 of 6 drawings, for 20 ms, and the other 1 of 6, for 100 ms: half each.  A drawing
    // takes 33.3 ms in the mean, so there are 18,000; the difference from an even share is +10 or
    // -50 ms, whose variance is 100 * 5/6 + 2500 / 6 = 500: sigma = sqrt(500 / 18000) / 33.3 = 0.5 %.
    assert_within("compensated", fifth(1)[0], 0.5, 0.005);
    // Without, both win every second time: 20 of 120 ms.  10,000 drawings of 60 ms, the difference
    // is ±16.7 ms: sigma = 16.7 / 60 / 100 = 0.28 %.
    assert_within("not compensated", fifth(0)[0], 1.0 / 6.0, 0.0028);
}

/// Mean time in ms from wakeup to running, of a task that computes for 1 ms now and then beside
/// five hogs.
fn mean_latency(set: &[(&str, i64)]) -> f64 {
    let tasks = "
duration = '1000s'
[task.light]
program = '''
forever
  run 1ms
  sleep exp(200ms)
end
'''
[task.hog]
count = 5
program = 'run 1000s'
";
    let metrics = measured("lottery", None, set, "ideal-1", tasks);
    let light = metrics.tasks.iter().find(|t| t.name == "light").unwrap();
    light.activity.wakeup_latency_ns.as_ref().unwrap().mean / 1e6
}

#[test]
fn compensation_serves_those_who_sleep_at_the_next_drawing() {
    // A hog's quantum begins when it falls asleep.  It wakes up after T, exponential with mean 200,
    // and waits for the rest of the quantum: T modulo 100 is 200 - 100 / (e^0.5 - 1) = 45.85 ms in
    // the mean, so that is 54.15 ms.  Then it waits for the quanta of those who win before it,
    // (1 - p) / p in the mean.  Without compensation p = 1/6: 5 quanta.  Of
    // 1000 s / (1 + 200 + 554) ms = 1320 waits, with sigma = sqrt(30) * 100 ms each: 15 ms.
    let latency = mean_latency(&[("compensation", 0)]);
    assert_within("not compensated", latency, 554.15, 15.0);
    // With, its tickets count a hundredfold: p = 100/105, and 0.05 quanta.  Of 3800 waits, with
    // sigma = sqrt(100^2 / 12 + 100^2 * 0.0525) = 37 ms each: 0.6 ms.
    assert_within("compensated", mean_latency(&[]), 59.15, 0.6);
    // A drawing at every wakeup leaves the rest of the quantum out.
    assert!(mean_latency(&[("wakeup_lottery", 1)]) < 10.0);
}

#[test]
fn lottery_with_a_shorter_quantum_brings_shares_closer_to_their_expectation() {
    // Ten times the drawings.
    for (quantum_ms, drawings) in [(100, 600.0), (10, 6000.0)] {
        let tasks = "
duration = '60s'
[task.a]
program = 'run 100s'
[task.b]
program = 'run 100s'
";
        let set = [("quantum_ms", quantum_ms)];
        let shares = shares(&measured("lottery", None, &set, "ideal-1", tasks));
        let sigma = (0.25_f64 / drawings).sqrt();
        assert_within(&format!("{quantum_ms} ms"), shares[0], 0.5, sigma);
    }
}

#[test]
fn lottery_cpus_draw_from_one_pool() {
    // Three equals on two CPUs.  At each drawing, the task that has just run and the one that waits
    // have equal chances; by symmetry each gets a third of the machine.  12,000 drawings.
    let metrics = run("lottery", "ideal-2", "hogs --nice=0 --count 3", Some(600));
    for share in shares(&metrics) {
        assert_within("a third", share, 1.0 / 3.0, (2.0 / 9.0 / 6000.0_f64).sqrt());
    }
}

#[test]
fn neighbouring_seeds_draw_different_lots() {
    let workload = builtin::parse("hackbench -g 1").unwrap();
    let machine = schedlab_machine::find("ideal-1").unwrap();
    let tuned = Tuned::defaults(Policy::find("lottery").unwrap());
    let hash = |seed| {
        let setup = Setup {
            seed,
            ..Setup::new(&machine, &workload, &tuned)
        };
        let (_, sink) = setup.run(HashSink::default()).unwrap();
        sink.finish()
    };
    assert_ne!(hash(2), hash(3));
    assert_ne!(hash(4), hash(5));
    assert_eq!(hash(2), hash(2));
}
