//! Jain's fairness index (Jain, Chiu, Hawe: DEC-TR-301, 1984).

use crate::Fairness;

/// (Σx)² / (n Σx²) over the CPU times of tasks.  The sums are exact integers.
pub(crate) fn jain(run_ns: impl Iterator<Item = u64>) -> Fairness {
    let (mut n, mut sum, mut squares) = (0u64, 0u128, 0u128);
    for x in run_ns.map(u128::from) {
        n += 1;
        sum += x;
        squares = squares.saturating_add(x * x);
    }
    let index = || (sum as f64 * sum as f64 / (n as f64 * squares as f64)).min(1.0);
    Fairness {
        jain: (n > 1 && squares > 0).then(index),
        nr_tasks: n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_perfectly_fair() {
        assert_eq!(
            jain([7, 7, 7].into_iter()),
            Fairness {
                jain: Some(1.0),
                nr_tasks: 3
            }
        );
    }

    #[test]
    fn one_taking_all_gives_one_over_n() {
        assert_eq!(jain([0, 9, 0, 0].into_iter()).jain, Some(0.25));
    }

    #[test]
    fn unequal_shares() {
        // (1 + 2 + 3)² / (3 (1 + 4 + 9)) = 36 / 42.
        assert_eq!(jain([1, 2, 3].into_iter()).jain, Some(36.0 / 42.0));
    }

    #[test]
    fn a_task_alone_is_neither_fair_nor_unfair() {
        assert_eq!(jain([5].into_iter()).jain, None);
    }

    #[test]
    fn no_cpu_time_has_no_index() {
        assert_eq!(
            jain([].into_iter()),
            Fairness {
                jain: None,
                nr_tasks: 0
            }
        );
        assert_eq!(
            jain([0, 0].into_iter()),
            Fairness {
                jain: None,
                nr_tasks: 2
            }
        );
    }
}
