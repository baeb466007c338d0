//! 4.3BSD: shares by nice, cycles, and the price of the pass over all processes.

use super::usage::*;
use schedlab_machine::Machine;
use schedlab_measure::Measure;
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::Ns;

#[test]
fn shares_of_figure_3() {
    // The specification's model charged 128 ticks a second here too; its tolerance is explained in
    // bsd4.rs.
    let table = [40.0, 28.6, 18.8, 9.1, 3.5, 0.0, 0.0, 0.0, 0.0];
    let at_128 = shares("bsd43:4.3", &[("hz", 128)], &FIGURE_3, 60);
    assert_shares(&at_128, table, 2.0);
    // With the 100 of the VAX usage grows more slowly and makes up for less nice.
    let at_100 = shares("bsd43:4.3", &[], &FIGURE_3, 60);
    assert!(at_100[0] > at_128[0] && at_100[4] < at_128[4]);
    assert_eq!(at_100[5..], [0.0; 4]);
    assert!(at_100.windows(2).all(|s| s[0] >= s[1]), "{at_100:?}");
}

#[test]
fn priorities_are_cyclic() {
    // 40 of 90 ms: 100 * 0.44 / 4 = 11 points up in a second, down at the pass.
    let line = "late --task app:run=40ms,sleep=50ms --duration 360s";
    for policy in ["bsd43:4.3", "bsd43:4.4"] {
        let series = priorities(policy, &[], &built_in(line), 360);
        let settled = &series[2400..];
        let lags: Vec<f64> = (2..=15).map(|lag| autocorrelation(settled, lag)).collect();
        let best = (0..lags.len())
            .max_by(|&a, &b| lags[a].total_cmp(&lags[b]))
            .unwrap();
        assert_eq!(best + 2, 10, "tenths of a second: {lags:.2?}");
        let swing = |second: &[i32]| second.iter().max().unwrap() - second.iter().min().unwrap();
        let swings: Vec<i32> = settled.chunks(10).map(swing).collect();
        let mean = f64::from(swings.iter().sum::<i32>()) / swings.len() as f64;
        assert!((mean - 11.0).abs() < 1.5, "{mean}");
    }
}

#[test]
fn the_pass_costs_what_it_touches() {
    // 999 sleepers and a hog; a microsecond for each of the 1000 in each of ten seconds' passes and in
    // two samples of the load average: 12 ms.
    let workload = written(
        "[task.hog]\nprogram = \"\"\"\nforever\n  run 10ms\nend\n\"\"\"\n\
         [task.sleeper]\ncount = 999\nprogram = \"\"\"\nforever\n  sleep 1000s\nend\n\"\"\"\n",
    );
    let mut machine = Machine::ideal(1);
    machine.costs.recalculate = Ns::from_us(1);
    let tuned = Tuned::defaults(Policy::find("bsd43").unwrap());
    let setup = Setup {
        duration: Some(Ns::from_ms(10_500)),
        ..Setup::new(&machine, &workload, &tuned)
    };
    let metrics = setup.run(Measure::new()).unwrap().1.finish();
    assert_eq!(metrics.cpus[0].overhead_ns.unwrap().tick, Ns::from_ms(12));
    assert_eq!(metrics.counters["second_passes"], 10);
    assert_eq!(metrics.counters["processes_passed"], 10_000);
    // Passes outside schedule() are recalculations as well: ten, and two of the load average.
    assert_eq!(metrics.scheduler.unwrap().recalculations, 12);
}
