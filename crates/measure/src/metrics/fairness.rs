//! Jain's fairness index (Jain, Chiu, Hawe: DEC-TR-301, 1984).

use crate::Fairness;

/// A task that existed from the trace's start to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lasting {
    pub run_ns: u64,
    /// Its nice value; none if that changed.
    pub nice: Option<i8>,
}

/// The weight of each nice value from -20 to 19: a step is about a factor of 1.25
/// (`sched_prio_to_weight`, Linux 6.6, kernel/sched/core.c; the same since 2.6.24).
#[rustfmt::skip]
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];
const NICE_0_WEIGHT: u64 = 1024;

/// The index over CPU times.  If nice values differ: over CPU times divided by weight; none if nice promises no
/// shares.
pub(crate) fn fairness(tasks: &[Lasting], nice_is_weighted: bool) -> Fairness {
    let equal = tasks.windows(2).all(|pair| pair[0].nice == pair[1].nice);
    let known = tasks.iter().all(|task| task.nice.is_some());
    let weight = |task: &Lasting| match task.nice {
        Some(nice) if !equal => WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize],
        _ => NICE_0_WEIGHT,
    };
    let comparable = known && (equal || nice_is_weighted);
    let index = || jain(tasks.iter().map(|task| (task.run_ns, weight(task))));
    Fairness {
        jain: comparable.then(index).flatten(),
        nr_tasks: tasks.len() as u64,
    }
}

/// (Σx)² / (n Σx²) over times divided by weights.  The sums are exact integers.
fn jain(times: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0u64, 0u128, 0u128);
    for (time, weight) in times {
        // The rounding error is less than a nanosecond at nice 0.
        let x = u128::from(time) * u128::from(NICE_0_WEIGHT) / u128::from(weight);
        n += 1;
        sum += x;
        squares = squares.saturating_add(x.saturating_mul(x));
    }
    let index = || (sum as f64 * sum as f64 / (n as f64 * squares as f64)).min(1.0);
    (n > 1 && squares > 0).then(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of tasks with these CPU times and nice values.
    fn of(tasks: &[(u64, i8)], nice_is_weighted: bool) -> Option<f64> {
        let lasting = |&(run_ns, nice): &(u64, i8)| Lasting {
            run_ns,
            nice: Some(nice),
        };
        let tasks: Vec<Lasting> = tasks.iter().map(lasting).collect();
        fairness(&tasks, nice_is_weighted).jain
    }

    /// The same for tasks of nice 0.
    fn equal(times: &[u64]) -> Option<f64> {
        of(&times.iter().map(|&t| (t, 0)).collect::<Vec<_>>(), false)
    }

    #[test]
    fn equal_shares_are_perfectly_fair() {
        assert_eq!(equal(&[7, 7, 7]), Some(1.0));
    }

    #[test]
    fn one_taking_all_gives_one_over_n() {
        assert_eq!(equal(&[0, 9, 0, 0]), Some(0.25));
    }

    #[test]
    fn unequal_shares() {
        // (1 + 2 + 3)² / (3 (1 + 4 + 9)) = 36 / 42.
        assert_eq!(equal(&[1, 2, 3]), Some(36.0 / 42.0));
        assert_eq!(of(&[(1, 5), (2, 5), (3, 5)], true), Some(36.0 / 42.0));
    }

    #[test]
    fn a_task_alone_is_neither_fair_nor_unfair() {
        assert_eq!(equal(&[5]), None);
    }

    #[test]
    fn no_cpu_time_has_no_index() {
        assert_eq!(equal(&[]), None);
        assert_eq!(equal(&[0, 0]), None);
    }

    /// The sums of a year of 1,000 tasks fit.
    #[test]
    fn long_runs_do_not_overflow() {
        let year = 365 * 24 * 3600 * 1_000_000_000;
        assert_eq!(equal(&[year; 1000]), Some(1.0));
        let same = [(year, -20), (year * 15 / 88761, 19)];
        assert!(of(&same, true).unwrap() > 0.999);
    }

    #[test]
    fn shares_by_weight_are_fair_where_nice_promises_shares() {
        // Nice 0 beside nice 15, weights 1024 and 36: CFS gives 96.6 % and 3.4 %.
        let right = of(&[(966_038, 0), (33_962, 15)], true).unwrap();
        assert!(right > 0.9999, "{right}");
        // 80 % and 20 % are 0.8 and 5.69 by weight: 6.49² / (2 (0.64 + 32.4)).
        let wrong = of(&[(800_000, 0), (200_000, 15)], true).unwrap();
        assert!((wrong - 0.638).abs() < 0.001, "{wrong}");
    }

    #[test]
    fn without_promised_shares_different_nice_values_have_no_index() {
        assert_eq!(of(&[(80, 0), (20, 15)], false), None);
        assert_eq!(of(&[(80, 15), (20, 15)], false), equal(&[80, 20]));
    }

    #[test]
    fn a_nice_value_that_changed_has_no_weight() {
        let task = |nice| Lasting { run_ns: 5, nice };
        let changed = [task(None), task(None)];
        assert_eq!(fairness(&changed, true).jain, None);
    }
}
