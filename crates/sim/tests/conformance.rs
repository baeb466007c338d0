//! Policies over the engine: the values their specifications print, and what their papers say.

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::{Limits, Setup, Simulation, TieBreak};
use schedlab_trace::Ns;
use schedlab_workload::builtin;

fn run(policy: &str, machine: &str, workload: &str, seconds: Option<u64>) -> Metrics {
    let (name, variant) = match policy.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (policy, None),
    };
    let tuned = Tuned::new(Policy::find(name).unwrap(), variant, &[]).unwrap();
    let machine: Machine = schedlab_machine::find(machine).unwrap();
    let workload = builtin::parse(workload).unwrap();
    let setup = Setup {
        machine: &machine,
        workload: &workload,
        tuned: &tuned,
        seed: 1,
        duration: seconds.map(Ns::from_secs),
        limits: Limits::default(),
        tie_break: TieBreak::Canonical,
    };
    let (_, measure) = Simulation::new(&setup, Measure::new())
        .unwrap()
        .run()
        .unwrap();
    let metrics = measure.finish();
    assert_eq!(metrics.accounting_error, None);
    metrics
}

/// CPU shares and worst waits of endless tasks that never sleep, in the order given.
#[track_caller]
fn hogs(policy: &str, nice: &[i8], shares: &[f64], worst_waits_ms: &[u64]) {
    let mut values: Vec<String> = nice.iter().map(i8::to_string).collect();
    values.dedup();
    let each = nice.len() / values.len();
    let workload = format!("hogs --nice={} --count {each}", values.join(","));
    let metrics = run(policy, "ideal-1", &workload, Some(600));
    for (i, nice) in nice.iter().enumerate() {
        let task = &metrics.tasks[i];
        assert_eq!(task.nice, *nice, "tasks are in the order given");
        let share = task.activity.cpu_share;
        assert!(
            (share / shares[i] - 1.0).abs() < 0.02,
            "nice {nice}: {share}, not {}",
            shares[i]
        );
        let wait = task.activity.longest_wait.unwrap().ns;
        assert_eq!(wait, Ns::from_ms(worst_waits_ms[i]), "nice {nice}");
    }
}

// Linux 2.6 O(1), at 1000 Hz.  Slices: -20: 800, -1: 420, 0: 100, 10: 50, 19: 5 ms.  Everybody
// gets one slice an epoch and waits for all the others': shares are slice / sum, waits sum - slice.

#[test]
fn o1_shares_of_nice_0_10_19() {
    hogs(
        "o1:2.6.11",
        &[0, 10, 19],
        &[0.645, 0.3225, 0.0323],
        &[55, 105, 150],
    );
}

#[test]
fn o1_shares_of_equals() {
    hogs("o1:2.6.11", &[0, 0, 0], &[1.0 / 3.0; 3], &[200; 3]);
}

#[test]
fn o1_shares_of_nice_minus_20_0_19() {
    hogs(
        "o1:2.6.11",
        &[-20, 0, 19],
        &[0.884, 0.1105, 0.0055],
        &[105, 805, 900],
    );
}

#[test]
fn o1_shares_across_the_slice_jump() {
    hogs("o1:2.6.11", &[-1, 0], &[0.808, 0.192], &[100, 420]);
}

#[test]
fn linux24_hogs_run_nine_ticks_at_a_time() {
    // Three nice-0 hogs, 6 ticks each an epoch.  The bonus for the loaded address space makes the
    // last task of an epoch start the next: 18 ticks an epoch in two changes of task, 9 at a time.
    let metrics = run("linux24:2.4.16", "ideal-1", "hogs --count 3", Some(90));
    let switches = metrics.total.nr_switches as f64;
    let mean_run_ticks = 90.0 * 100.0 / switches;
    assert!((mean_run_ticks - 9.0).abs() < 0.05, "{mean_run_ticks}");
    for task in &metrics.tasks {
        assert!((task.activity.cpu_share - 1.0 / 3.0).abs() < 0.001);
    }
}

#[test]
fn elsc_scales_where_the_stock_scheduler_does_not() {
    // Molloy and Honeyman 2001, figures 2 to 5, in direction: with rooms, stock throughput falls
    // and ELSC's does not; ELSC looks at few tasks and hardly ever recalculates.  The claims are for
    // every configuration; a UP kernel never recalculates for a lone yield, so neither does stock.
    for machine in [
        "netfinity-7000-up",
        "netfinity-7000-1p",
        "netfinity-7000-2p",
        "netfinity-7000-4p",
    ] {
        let volano = |policy, rooms| {
            let metrics = run(
                policy,
                machine,
                &format!("volanomark --rooms {rooms} --count 5"),
                None,
            );
            let scheduler = metrics.scheduler.unwrap();
            (
                metrics.marks[0].per_second,
                scheduler.examined_mean,
                scheduler.recalculations,
            )
        };
        let (stock_5, examined_5, _) = volano("linux24:2.3.99", 5);
        let (stock_20, examined_20, recalculations) = volano("linux24:2.3.99", 20);
        let (elsc_5, ..) = volano("elsc", 5);
        let (elsc_20, elsc_examined, elsc_recalculations) = volano("elsc", 20);
        assert!(elsc_20 / elsc_5 > stock_20 / stock_5, "{machine}: scaling");
        assert!(
            elsc_5 > stock_5 && elsc_20 > stock_20,
            "{machine}: throughput"
        );
        assert!(
            elsc_20 / stock_20 > elsc_5 / stock_5,
            "{machine}: the gap grows"
        );
        assert!(
            examined_20 > 1.3 * examined_5,
            "{machine}: stock looks at more with more rooms"
        );
        // Half the CPUs plus five in each list, and a second list now and then.
        assert!(elsc_examined < 7.5, "{machine}: {elsc_examined}");
        assert!(elsc_recalculations <= recalculations, "{machine}");
    }
}

#[test]
fn elsc_and_stock_are_equal_under_light_load() {
    // Table 2: make -j4 on two processors, 220.38 s and 220.36 s.  A shorter build, within 1 %.
    let build = |policy| {
        let metrics = run(
            policy,
            "netfinity-5500-2p",
            "kernel-build -j 4 --files 40",
            None,
        );
        metrics.duration_ns.0 as f64
    };
    let ratio = build("elsc") / build("linux24:2.3.99");
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn the_order_of_definition_changes_nothing() {
    let tasks = [
        "[task.editor]\nprogram = \"\"\"\nforever\n  run 1ms\n  sleep exp(20ms)\nend\n\"\"\"\n",
        "[task.hog]\ncount = 3\nprogram = \"\"\"\nforever\n  run uniform(1ms, 50ms)\nend\n\"\"\"\n",
        "[task.player]\nnice = -5\nprogram = \"\"\"\nforever\n  run 2ms\n  timer frame 20ms\nend\n\"\"\"\n",
    ];
    let metrics = |order: [usize; 3]| {
        let text = format!(
            "duration = \"3s\"\n{}{}{}",
            tasks[order[0]], tasks[order[1]], tasks[order[2]]
        );
        let workload = schedlab_workload::native::parse("w.toml", &text).unwrap();
        let machine = schedlab_machine::find("ideal-2").unwrap();
        let tuned = Tuned::defaults(Policy::find("o1").unwrap());
        let setup = Setup {
            machine: &machine,
            workload: &workload,
            tuned: &tuned,
            seed: 7,
            duration: None,
            limits: Limits::default(),
            tie_break: TieBreak::Canonical,
        };
        let sink = schedlab_trace::HashSink::default();
        let (_, hash) = Simulation::new(&setup, sink).unwrap().run().unwrap();
        hash.finish()
    };
    assert_eq!(metrics([0, 1, 2]), metrics([2, 1, 0]));
    assert_eq!(metrics([0, 1, 2]), metrics([1, 0, 2]));
}
