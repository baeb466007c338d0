//! Relations that must hold between runs of any workload.

use crate::common::lab::{forever, mark, run, Lab, Ran};
use schedlab_policy::{Nice, Policy, Tuned};
use schedlab_sim::{Limits, Setup, Simulation, Status, TieBreak};
use schedlab_trace::{Event, HashSink, Ns, Time};
use schedlab_workload::{random, Amount, Distribution, Op, Workload};

fn policies() -> Vec<Tuned> {
    Policy::all().iter().map(|&p| Tuned::defaults(p)).collect()
}

/// A random workload of a fixed length, on a random number of CPUs.
fn random_lab(tuned: Tuned, seed: u64) -> Lab {
    let nr_cpus = 1 + (seed % 5) as u32;
    let mut lab = Lab::under(nr_cpus, tuned).for_us(300_000);
    lab.workload = random(seed, nr_cpus);
    lab.limits = Limits {
        tasks: 3000,
        ..Limits::default()
    };
    lab
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    for tuned in policies() {
        for seed in 0..25 {
            let lab = random_lab(tuned.clone(), seed);
            let setup: Setup = lab.setup();
            let Ok((outcome, hash)) = setup.run(HashSink::default()) else {
                continue; // Tasks that fork without end.
            };
            let mut hash_of_pieces = HashSink::default();
            let mut pieces = Simulation::new(&setup, &mut hash_of_pieces).unwrap();
            let mut until = Time::ZERO;
            while pieces.run_until(until).unwrap() == Status::Running {
                assert!(pieces.now() <= until);
                until += Ns::from_us(1 + 977 * (seed + 1));
            }
            let in_pieces = pieces.finish().unwrap();
            assert_eq!(in_pieces, outcome, "{}, seed {seed}", tuned.name());
            assert_eq!(hash_of_pieces.finish(), hash.finish());
        }
    }
}

#[test]
fn no_order_of_simultaneous_events_breaks_a_check() {
    for tuned in policies() {
        for seed in 0..60 {
            let mut lab = random_lab(tuned.clone(), seed % 20);
            lab.tie_break = TieBreak::Shuffled(seed);
            match lab.try_run() {
                Ok(_) | Err(schedlab_sim::SimError::TooManyTasks { .. }) => {}
                Err(error) => panic!("{}, seed {seed}: {error}", tuned.name()),
            }
        }
    }
}

/// Every time in it, `k` times as long.
fn stretch(workload: &mut Workload, k: u64) {
    let amount = |a: &mut Amount| {
        if let Amount::Fixed(ns) = a {
            ns.0 *= k;
        }
    };
    for op in workload.programs.iter_mut().flat_map(|p| &mut p.ops) {
        match op {
            Op::Run(a) | Op::RunFor(a) | Op::Sleep(a) | Op::TimedSleep(a) => amount(a),
            Op::Disk { service, .. } => amount(service),
            Op::Timer { period, .. } => period.0 *= k,
            _ => {}
        }
    }
    for task in &mut workload.tasks {
        task.start.0 *= k;
    }
    workload.duration = workload.duration.map(|d| Ns(d.0 * k));
    // Draws are rounded, so a drawn time times k is not the draw from a stretched distribution.
    for d in &mut workload.distributions {
        *d = Distribution::Uniform {
            low: 5000 * k,
            high: 5000 * k,
        };
    }
}

#[test]
fn times_k_times_as_long_give_the_same_trace_k_times_as_long() {
    // The template's only constants of time are its tick and slice: 10 times both.
    let slow = Tuned::new(
        crate::common::fifo(),
        None,
        &[("hz".into(), 100), ("slice_ms".into(), 100)],
    )
    .unwrap();
    for seed in 0..40 {
        let mut short = random_lab(Tuned::defaults(crate::common::fifo()), seed);
        let mut long = random_lab(slow.clone(), seed).for_us(3_000_000);
        stretch(&mut short.workload, 1);
        stretch(&mut long.workload, 10);
        let (Ok(short), Ok(long)) = (short.try_run(), long.try_run()) else {
            continue; // Tasks that fork without end.
        };
        let stretched: Vec<Event> = short.events.iter().map(|e| times_ten(*e)).collect();
        assert_eq!(stretched.len(), long.events.len(), "seed {seed}");
        for (s, l) in stretched.iter().zip(&long.events) {
            assert_eq!(s, l, "seed {seed}");
        }
    }
}

fn times_ten(mut event: Event) -> Event {
    event.time.0 *= 10;
    if let schedlab_trace::EventKind::Latency { ns, .. } = &mut event.kind {
        ns.0 *= 10;
    }
    event
}

/// Rounds of 1 ms completed by each task.
fn rounds(ran: &Ran, tasks: u32) -> Vec<usize> {
    let marks = ran.marks();
    let of = |task| marks.iter().filter(|m| m.1 == task).count();
    (0..tasks).map(of).collect()
}

#[test]
fn who_is_nicer_gets_no_more() {
    let heed_nice = |tuned: &Tuned| tuned.policy.promise().nice != Nice::Ignored;
    for tuned in policies().into_iter().filter(heed_nice) {
        let name = tuned.name();
        let mut lab = Lab::under(1, tuned).for_us(60_000_000);
        let nice = [-20, -10, -5, -1, 0, 1, 5, 10, 19];
        for nice in nice {
            lab = lab
                .task(forever(&[run(1000), mark(0)]))
                .but(|t| t.nice = nice);
        }
        let got = rounds(&lab.run(), nice.len() as u32);
        // Of 600 drawings the tasks of nice 0 and above win 10 at most: their order is chance.
        let by_chance = if name.starts_with("lottery") { 1000 } else { 0 };
        let ordered = got.is_sorted_by(|a, b| a + by_chance >= *b);
        assert!(ordered, "{name}: {got:?}");
        assert!(got.iter().sum::<usize>() >= 59_990, "{name}: {got:?}");
    }
}

/// The check of the nice promise runs in each of these; see crates/sim/src/nice.rs.
#[test]
fn promises_of_nice_are_kept_by_hogs_of_any_nice() {
    let mut x = 1u64;
    let mut below = |n: u64| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (x >> 33) % n
    };
    let mixes: Vec<Vec<i8>> = (0..12)
        .map(|_| (0..2 + below(7)).map(|_| below(40) as i8 - 20).collect())
        .collect();
    for tuned in policies() {
        for mix in &mixes {
            let mut lab = Lab::under(1, tuned.clone()).for_us(40_000_000);
            for &nice in mix {
                lab = lab.task(forever(&[run(1000)])).but(|t| t.nice = nice);
            }
            if let Err(error) = lab.try_run() {
                panic!("{}, {mix:?}: {error}", tuned.name());
            }
        }
    }
}

/// A task that yields, or that fetches its memory again at each turn, breaks no promise of the policy.
#[test]
fn promises_of_nice_are_about_cpu_time_that_tasks_ask_for() {
    let yields = forever(&[run(50), Op::Yield]);
    let hog = forever(&[run(1000)]);
    for tuned in policies() {
        let name = tuned.name();
        let lab = Lab::under(1, tuned.clone()).for_us(40_000_000);
        let lab = lab.task(yields.clone()).but(|t| t.nice = -5);
        let lab = lab.task(hog.clone()).but(|t| t.nice = 5);
        assert!(lab.try_run().is_ok(), "{name} beside a task that yields");

        let lab = Lab::under(1, tuned).for_us(40_000_000);
        let lab = lab.task(hog.clone()).but(|t| t.working_set_bytes = 8 << 20);
        let lab = lab.task(hog.clone()).but(|t| t.nice = 5);
        let lab = lab.task(hog.clone()).but(|t| {
            t.nice = 19;
            t.working_set_bytes = 8 << 20;
        });
        let cold = lab.machine(|m| {
            m.caches[0].size_bytes = 8 << 20;
            m.caches[0].refill_ps_per_byte = 2000;
        });
        if let Err(error) = cold.try_run() {
            panic!("{name} with cold caches: {error}");
        }
    }
}

#[test]
fn equals_get_equal_shares_whatever_their_number() {
    // A task of these runs until it blocks.
    let has_slices = |tuned: &Tuned| !["fifo", "sjf", "edf"].contains(&tuned.policy.name());
    for tuned in policies().into_iter().filter(has_slices) {
        let name = tuned.name();
        for n in [2, 3, 5, 8] {
            let program = forever(&[run(1000), mark(0)]);
            let lab = Lab::under(1, tuned.clone())
                .tasks(n, program)
                .for_us(60_000_000);
            let got = rounds(&lab.run(), n);
            let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
            let apart = match tuned.policy.name() {
                // Its quanta are synchronous with its update: the task that runs at the full second
                // can get one more quantum of 160 ms every second.
                "svr4" => 60 * 160,
                // Several ticks of usage make one point of priority, and four points share a queue:
                // a task that is ahead by up to 250 ms still alternates with the others, and the
                // passes of each second repeat that.
                "bsd4" | "bsd43" => 60 * 50,
                // 600 drawings of 100 ms: two are apart by 24.5 quanta at one standard deviation; four of them.
                "lottery" => 9800,
                // Two slices of 2.4 or 2.6.
                _ => 420,
            };
            assert!(most - least <= apart, "{name}: {got:?}");
        }
    }
}

#[test]
fn independent_tasks_end_within_grahams_bound() {
    // (2 - 1/m) times the greater of the longest task and the sum over m CPUs. If a policy's CPUs
    // search each other's waiting tasks only at intervals, the time of an interval is added.
    for tuned in policies() {
        let name = tuned.name();
        for m in [1u64, 2, 3, 4, 8] {
            let lengths: Vec<u64> = (0..4 * m).map(|i| 20_000 + (i * 7919) % 100_000).collect();
            let mut lab = Lab::under(m as u32, tuned.clone());
            for &length in &lengths {
                lab = lab.task(vec![run(length)]);
            }
            let longest = *lengths.iter().max().unwrap();
            let sum: u64 = lengths.iter().sum();
            let least = longest.max(sum.div_ceil(m));
            let end = lab.run().outcome.end.0 / 1000;
            assert!(end >= least, "{name}: {m} CPUs did more than they can");
            let balancing = if tuned.policy.lock_scope() == schedlab_policy::LockScope::PerCpu {
                200_000
            } else {
                0
            };
            let bound = least * (2 * m - 1) / m + balancing;
            assert!(
                end <= bound,
                "{name}: {end} µs on {m} CPUs, at most {bound}"
            );
        }
    }
}
