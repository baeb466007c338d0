//! The textbook's schedulers over the engine: the book's own examples, with seconds as milliseconds, and Liu and Layland's bounds.

use schedlab_policy::{Policy, Tuned};
use schedlab_trace::Ns;
use schedlab_workload::{Op, Periodic};

use crate::common::lab::{mark, run, sleep, Lab};

fn tuned(policy: &str, set: &[(&str, i64)]) -> Tuned {
    let (name, variant) = match policy.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (policy, None),
    };
    let set: Vec<(String, i64)> = set.iter().map(|&(n, v)| (n.to_string(), v)).collect();
    Tuned::new(Policy::find(name).unwrap(), variant, &set).unwrap()
}

/// Jobs of (arrival, length) in ms on one CPU: their mean turnaround and mean response times in ms.
fn jobs(tuned: Tuned, jobs: &[(u64, u64)]) -> (f64, f64) {
    let lab = jobs.iter().fold(Lab::under(1, tuned), |lab, &(at, ms)| {
        lab.task(vec![run(1000 * ms)]).at(1000 * at)
    });
    let ran = lab.run();
    let n = jobs.len() as f64;
    let (mut turnaround, mut response) = (0.0, 0.0);
    for (task, (at, _)) in (0..).zip(jobs) {
        turnaround += ran.exit_ns(task) as f64 / 1e6 - *at as f64;
        response += ran.began(task)[0].0 as f64 / 1e3 - *at as f64;
    }
    (turnaround / n, response / n)
}

fn turnaround(policy: &str, of: &[(u64, u64)]) -> f64 {
    jobs(tuned(policy, &[]), of).0
}

/// OSTEP, figures 7.1 to 7.5.
#[test]
fn turnaround_times_of_the_textbook() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.01, "{a} is not {b}");
    near(turnaround("fifo", &[(0, 10), (0, 10), (0, 10)]), 20.0);
    let convoy = [(0, 100), (0, 10), (0, 10)];
    near(turnaround("fifo", &convoy), 110.0);
    // The first to arrive finds the CPU idle.
    near(turnaround("sjf", &[(0, 10), (0, 100), (0, 10)]), 50.0);
    let late = [(0, 100), (10, 10), (10, 10)];
    near(turnaround("sjf", &late), 310.0 / 3.0);
    near(turnaround("sjf:stcf", &late), 50.0);
}

/// OSTEP, figures 7.6 and 7.7: three jobs of 5, slices of 1.
#[test]
fn round_robin_answers_sooner_and_ends_later() {
    let of = [(0, 5), (0, 5), (0, 5)];
    let (sjf_turnaround, sjf_response) = jobs(tuned("sjf", &[]), &of);
    let (turnaround, response) = jobs(tuned("rr", &[("slice_ms", 1)]), &of);
    assert_eq!((sjf_turnaround, sjf_response), (10.0, 5.0));
    assert_eq!((turnaround, response), (14.0, 1.0));
}

/// Only the remaining work up to the next sleep counts: 30 ms in jobs of 1 ms run before one job of
/// 10.
#[test]
fn a_job_ends_where_the_task_sleeps() {
    let bursts: Vec<Op> = (0..30).flat_map(|_| [run(1000), sleep(1)]).collect();
    let lab = Lab::under(1, tuned("sjf:stcf", &[]));
    let ran = lab.task(vec![run(10_000)]).task(bursts).run();
    let first = ran.exit_ns(0);
    // Each sleep of 1 us is a moment for the long job.
    assert_eq!(ran.exit_ns(1), 30_000_000 + 30 * 1000);
    assert_eq!(first, 40_000_000);
}

/// Two tasks with (work, period) in ms from time 0 on, each released `jobs` times: the greatest lateness of a job, in ms.
fn lateness(policy: &str, tasks: &[(u64, u64)], end_ms: u64) -> i64 {
    let mut lab = Lab::under(1, tuned(policy, &[]));
    for &(work, period) in tasks {
        let mut ops = Vec::new();
        for job in 1..=end_ms / period {
            ops.extend([
                run(1000 * work),
                mark(0),
                Op::SleepUntil(Ns::from_ms(job * period)),
            ]);
        }
        let period = Ns::from_ms(period);
        lab = lab.task(ops).but(|spec| {
            spec.periodic = Some(Periodic {
                runtime: Ns::from_ms(work),
                deadline: period,
                period,
            });
        });
    }
    let ran = lab.run();
    let mut done = vec![0; tasks.len()];
    let mut worst = i64::MIN;
    for (time_us, task, _) in ran.marks() {
        let (task, period) = (task as usize, tasks[task as usize].1);
        done[task] += 1;
        worst = worst.max((time_us as i64) / 1000 - (done[task] * period) as i64);
    }
    worst
}

/// Liu and Layland: 2 of 5 and 4 of 7 use 97 % of a CPU.  The earliest deadline first meets every deadline, as for any
/// use up to 100 %; with fixed priorities the second task has only 3 ms before its first deadline.
#[test]
fn deadlines_are_met_up_to_full_use_by_edf_and_not_by_rm() {
    assert!(lateness("edf", &[(2, 5), (4, 7)], 350) <= 0);
    assert!(lateness("edf:rm", &[(2, 5), (4, 7)], 350) > 0);
    assert!(lateness("edf", &[(1, 2), (2, 4)], 400) <= 0);
}

/// Within n (2^(1/n) - 1), 78 % for three, fixed priorities meet them as well: 10/40 + 13/60 + 31/100 = 77.7 %.
#[test]
fn deadlines_are_met_by_rm_within_its_bound() {
    assert!(lateness("edf:rm", &[(10, 40), (13, 60), (31, 100)], 1200) <= 0);
    // In the order of arrival a task with a period of 4 ms waits for one that computes for 8.
    assert!(lateness("edf:rm", &[(1, 4), (8, 20)], 400) <= 0);
    assert!(lateness("fifo", &[(1, 4), (8, 20)], 400) > 0);
}

/// Waldspurger and Weihl's example: tickets of 3, 2 and 1 give 3, 2 and 1 of every 6 quanta, exactly.
#[test]
fn strides_share_by_tickets() {
    // nice 0 and nice 5, 10: 1000, 328 and 107 tickets.
    let hog = || vec![run(10_000_000)];
    let lab = Lab::under(1, tuned("stride", &[]));
    let lab = [0, 5, 10].into_iter().fold(lab, |lab, nice| {
        lab.task(hog()).but(|spec| spec.nice = nice)
    });
    let ran = lab.for_us(14_350_000).run();
    let mut cpu_ms = [0.0; 3];
    let mut since = (0, None);
    for (time_us, _, _, next) in ran
        .switches()
        .into_iter()
        .chain([(14_350_000, 0, None, None)])
    {
        if let (from, Some(task)) = since {
            cpu_ms[task as usize] += (time_us - from) as f64 / 1e3;
        }
        since = (time_us, next);
    }
    // 14.35 s are 10, 3.28 and 1.07 s; the error is below two quanta of 10 ms.
    for (ran, due) in cpu_ms.into_iter().zip([10_000.0, 3280.0, 1070.0]) {
        assert!((ran - due).abs() < 20.0, "{cpu_ms:?}");
    }
}

/// A task that slept has no credit for it: it keeps its distance to the global pass.
#[test]
fn strides_give_no_credit_for_sleep() {
    let lab = Lab::under(1, tuned("stride", &[]));
    let lab =
        lab.task(vec![run(20_000_000)])
            .task(vec![run(100_000), sleep(5_000_000), run(1_000_000)]);
    let ran = lab.run();
    // 100 ms at half the CPU, 5 s asleep, 1 s at half the CPU.
    let end_ms = ran.exit_ns(1) / 1_000_000;
    assert!((7180..=7220).contains(&end_ms), "{end_ms}");
}
