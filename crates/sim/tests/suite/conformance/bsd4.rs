//! FreeBSD's 4BSD: shares by nice, cutoffs, cycles, classes.

use super::usage::*;

const FIGURE_2: &str = "late --task app:run=40ms,sleep=50ms --duration 360s";

// The tables come from the specification's own model: one run each, without error bars. Two correct
// models may differ in the time of a turn of 100 ms within a second, and so in the order of tasks
// in a queue. One turn is 1 % of a run of 10 s; three turns in the first seconds are tolerated.
// Over 60 s and more, half a turn for each of the nine tasks in ten seconds is 2 % of the CPU.

#[test]
fn shares_of_figure_3_with_5_x_weights() {
    let shares = |seconds| shares("bsd4:5.x", &[], &FIGURE_3, seconds);
    let table = [53.3, 30.2, 13.5, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_shares(&shares(10), table, 3.5);
    let table = [31.1, 23.7, 17.1, 11.9, 7.6, 4.9, 2.7, 1.2, 0.0];
    assert_shares(&shares(60), table, 2.0);
    let table = [36.7, 17.5, 14.1, 11.2, 8.3, 6.1, 4.0, 2.1, 0.0];
    assert_shares(&shares(180), table, 2.0);
}

#[test]
fn shares_of_figure_3_with_4_x_weights() {
    // With these, all others get 13 to 15 s of CPU time in the first half minute, while the load
    // average rises, and nothing afterwards. The exact amount depends on few turns and on the two
    // points by which PUSER = 50 exceeds a queue's first priority: 5 s of 60 are tolerated.
    let shares = |seconds| shares("bsd4:4.x", &[], &FIGURE_3, seconds);
    let table = [74.4, 16.0, 7.2, 2.4, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_shares(&shares(60), table, 8.0);
    let table = [92.0, 5.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_shares(&shares(180), table, 2.0);
}

#[test]
fn the_least_nice_gets_more_than_its_part() {
    // C7: the step from nice -20 to -15 is larger than those that follow.
    let shares = shares("bsd4:5.x", &[], &FIGURE_3, 180);
    let steps: Vec<f64> = shares.windows(2).map(|s| s[0] / s[1]).collect();
    assert!(steps[0] > 1.4 * steps[1].max(steps[2]), "{steps:?}");
}

#[test]
fn usage_makes_up_for_36_points_of_priority() {
    // A hog's estcpu of at most 295 is worth 36 points: 18 nice levels of 2 in 4.x.  Against nice 0,
    // 50 + 36 = 86 and queue 21 (84 to 87), nice 18 begins at 86, nice 19 at 88.
    let share =
        |set: &[(&str, i64)], policy: &str, nice: [i8; 2]| shares(policy, set, &nice, 120)[1];
    assert!(share(&[], "bsd4:4.x", [0, 17]) > 1.0);
    assert!(share(&[], "bsd4:4.x", [0, 18]) > 1.0);
    assert_eq!(share(&[], "bsd4:4.x", [0, 19]), 0.0);
    // 36 levels of 1 in 5.x, and what shares a queue with the last of them.  Against nice -20, 160 +
    // 36 = 196, that is up to 199 with queues of four: nice 19 runs, only FreeBSD's 20 does not.
    // With queues of two it is 197: nice 17 runs, 18 does not.
    assert!(share(&[], "bsd4:5.x", [-20, 19]) > 1.0);
    let narrow = [("ppq", 2)];
    assert!(share(&narrow, "bsd4:5.x", [-20, 16]) > 1.0);
    assert!(share(&narrow, "bsd4:5.x", [-20, 17]) > 1.0);
    assert_eq!(share(&narrow, "bsd4:5.x", [-20, 18]), 0.0);
}

#[test]
fn a_usage_of_one_nth_settles_32_points_up() {
    // Four hogs, load 4: 8/9 stay each second, 128/4 = 32 ticks come in.  est = 8/9 (est + 32) gives
    // 256, 32 points, and 288, 36 points, before the pass; rounding down stops it at 247 on the way
    // up.  Turns of 100 ms give 25 or 38 ticks a second rather than 32: a point more or less.
    for (policy, base) in [("bsd4:5.x", 180), ("bsd4:4.x", 50)] {
        let series = priorities(policy, &[], &built_in("hogs --count 4"), 600);
        let settled = &series[4000..];
        let best = settled.iter().min().unwrap() - base;
        let worst = settled.iter().max().unwrap() - base;
        assert!(
            (30..=32).contains(&best) && (34..=36).contains(&worst),
            "{best}, {worst}"
        );
    }
}

#[test]
fn priorities_are_cyclic() {
    // Figure 2: 40 of 90 ms.  C1: 128 * 0.44 / 8 = 7 points up in a second, down at the pass; the
    // specification's model had 180 to 186 at first and 189 to 195 with the load average settled.
    let series = priorities("bsd4:5.x", &[], &built_in(FIGURE_2), 360);
    let settled = &series[2400..];
    let lags: Vec<f64> = (2..=15).map(|lag| autocorrelation(settled, lag)).collect();
    let best = (0..lags.len())
        .max_by(|&a, &b| lags[a].total_cmp(&lags[b]))
        .unwrap();
    assert_eq!(best + 2, 10, "tenths of a second: {lags:.2?}");
    assert!(lags[best] > 0.9);
    let swings: Vec<i32> = settled
        .chunks(10)
        .map(|second| second.iter().max().unwrap() - second.iter().min().unwrap())
        .collect();
    let mean = f64::from(swings.iter().sum::<i32>()) / swings.len() as f64;
    assert!((mean - 7.0).abs() < 1.0, "{mean}");
    let range = |part: &[i32]| (*part.iter().min().unwrap(), *part.iter().max().unwrap());
    let (first, last) = (range(&series[100..200]), range(settled));
    assert!(first.0 <= 182 && first.1 <= 188, "{first:?}");
    assert!(last.0 >= 184 && (193..=197).contains(&last.1), "{last:?}");
}

#[test]
fn idle_gets_what_is_left_and_real_time_what_it_wants() {
    // C43.  A real-time task runs 30 of 100 ms, a hog takes the rest; the idle hog gets nothing.
    let workload = written(
        "[task.rt]\nclass = \"rr\"\nrt_priority = 50\nprogram = \"\"\"\nforever\n  run 30ms\n  sleep 70ms\nend\n\"\"\"\n\
         [task.hog]\nprogram = \"\"\"\nforever\n  run 10ms\nend\n\"\"\"\n\
         [task.idle]\nclass = \"idle\"\nprogram = \"\"\"\nforever\n  run 10ms\nend\n\"\"\"\n",
    );
    for policy in ["bsd4:5.x", "bsd4:4.x"] {
        let measure = schedlab_measure::Measure::new();
        let metrics = traced(policy, &[], &workload, 60, measure).finish();
        let share = |name: &str| {
            let task = metrics.tasks.iter().find(|t| t.name == name).unwrap();
            task.activity.cpu_share
        };
        assert!(
            (share("rt") - 0.3).abs() < 0.01,
            "{policy}: {}",
            share("rt")
        );
        assert!(
            (share("hog") - 0.7).abs() < 0.01,
            "{policy}: {}",
            share("hog")
        );
        assert_eq!(share("idle"), 0.0, "{policy}");
    }
}
