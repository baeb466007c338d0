//! Shares and waits under Staircase, and the effects of its modes.

use super::{hogs, measured};
use schedlab_measure::{Activity, Metrics, TaskMetrics};
use schedlab_trace::Ns;

// 10.5, at 1000 Hz: 10 ms a step. A descent takes 10 ms * (20 - nice); then the task returns to its
// top step. The shares of tasks that never sleep are proportional to their descents. All tasks meet
// at the lowest step, each with 10 ms left. A task that has returned there is queued last, so each
// task waits for the descents of all others.

#[test]
fn staircase_shares_of_nice_0_10_19() {
    // Descents of 200, 100 and 10 ms; each waits for the other two.
    hogs(
        "staircase:10.5",
        &[0, 10, 19],
        &[0.645, 0.323, 0.0323],
        &[110, 210, 300],
    );
}

#[test]
fn staircase_shares_of_equals() {
    // Two descents of 200 ms: twice what a task waits under O(1).
    hogs("staircase:10.5", &[0, 0, 0], &[1.0 / 3.0; 3], &[400; 3]);
    hogs("staircase:10.5", &[0; 5], &[0.2; 5], &[800; 5]);
}

#[test]
fn staircase_shares_of_nice_minus_20_0_19() {
    // Descents of 400, 200 and 10 ms.
    hogs(
        "staircase:10.5",
        &[-20, 0, 19],
        &[0.656, 0.328, 0.0164],
        &[210, 410, 600],
    );
}

#[test]
fn staircase_gives_nice_0_twenty_times_the_cpu_of_nice_19() {
    // The announcements say 19 to 20 times.
    let (most, least) = (20.0 / 21.0, 1.0 / 21.0);
    hogs("staircase:10.5", &[0, 19], &[most, least], &[10, 200]);
    hogs(
        "staircase:10.5",
        &[0, 10],
        &[2.0 / 3.0, 1.0 / 3.0],
        &[100, 200],
    );
}

#[test]
fn staircase_12_has_the_same_shares_in_steps_of_two_jiffies() {
    // RR_INTERVAL is 10 ms * 250 Hz = 2 jiffies of 4 ms: 8 ms, and all waits are four fifths.
    hogs(
        "staircase:12",
        &[0, 10, 19],
        &[0.645, 0.323, 0.0323],
        &[88, 168, 240],
    );
    // Below nice 0 every level adds a jiffy to a step: 22 of them at nice -20, 40 times; 2, 20
    // times, at nice 0.  Descents of 3520 and 160 ms.
    hogs(
        "staircase:12",
        &[-20, 0],
        &[22.0 / 23.0, 1.0 / 23.0],
        &[160, 3520],
    );
}

/// On one ideal CPU for 60 s.
fn staircase(variant: &str, set: &[(&str, i64)], tasks: &str) -> Metrics {
    measured("staircase", Some(variant), set, "ideal-1", tasks)
}

fn task<'m>(metrics: &'m Metrics, name: &str) -> &'m TaskMetrics {
    let task = metrics.tasks.iter().find(|t| t.name == name);
    task.unwrap_or_else(|| panic!("no task {name}"))
}

/// A task that computes for a while at every keystroke, beside a hog.
fn editor(interactive: i64, seconds: u32) -> Activity {
    let tasks = format!(
        "
duration = '{seconds}s'
[task.editor]
program = '''
forever
  run 100ms
  sleep 303ms
end
'''
[task.hog]
program = 'run 100s'
"
    );
    let metrics = staircase("10.5", &[("interactive", interactive)], &tasks);
    task(&metrics, "editor").activity.clone()
}

#[test]
fn bursts_keep_an_interactive_task_at_the_top() {
    // Each sleep adds one to the burst: after ten, which are over within 6 s, the editor has eleven
    // intervals at the top and runs its 100 ms without going down, so that nothing preempts it any
    // more.  It only waits when it wakes up while the hog is at the top, too, and for no longer
    // than an interval.
    let (first, all) = (editor(1, 6), editor(1, 60));
    assert!(first.nr_involuntary_switches > 0);
    assert_eq!(first.nr_involuntary_switches, all.nr_involuntary_switches);
    assert!(all.wakeup_latency_ns.unwrap().max <= Ns::from_ms(10));
    // Without bursts it goes down a step every 10 ms and loses the CPU whenever the hog is higher
    // up, for ever.
    let (first, all) = (editor(0, 6), editor(0, 60));
    assert!(all.nr_involuntary_switches > 5 * first.nr_involuntary_switches);
    assert!(all.wait_ns.0 > 5 * first.wait_ns.0);
}

#[test]
fn compute_mode_delays_preemption_by_ten_milliseconds() {
    let light = "
duration = \"5s\"
[task.light]
nice = -20
program = '''
forever
  run 1100us
  sleep 5300us
end
'''
[task.hog]
start = '1100us'
program = 'run 100s'
";
    let longest_wait = |compute| {
        let metrics = staircase("10.5", &[("compute", compute)], light);
        task(&metrics, "light").activity.longest_wait.unwrap().ns
    };
    // It is always better than the hog and runs at once,
    assert_eq!(longest_wait(0), Ns(0));
    // or, having been let in by a tick, it blocks 1.1 ms later, wakes up 6.4 ms after that tick, and
    // has to wait for the hog's tenth tick since, 11 ms after that one.
    assert_eq!(longest_wait(1), Ns::from_us(4600));
}

#[test]
fn batch_tasks_get_what_nobody_wants() {
    let metrics = staircase(
        "10.5",
        &[],
        "
duration = \"60s\"
[task.batch]
class = \"batch\"
program = 'run 100s'
[task.worker]
nice = 19
program = '''
forever
  run 30ms
  sleep 10ms
end
'''
",
    );
    let shares = ["batch", "worker"].map(|name| task(&metrics, name).activity.cpu_share);
    // The worker has all it wants: 30 of every 40 ms.
    assert!((shares[0] - 0.25).abs() < 0.001, "{shares:?}");
    assert!((shares[1] - 0.75).abs() < 0.001, "{shares:?}");
}

#[test]
fn iso_tasks_are_served_before_normal_ones() {
    // A player that needs 5 ms every 20 beside ten busy editors of the same nice value: as a
    // normal task it is one of many at the top, as an isochronous one it is above them.
    let tasks = |class: &str| {
        format!(
            "
duration = \"60s\"
[task.player]
class = \"{class}\"
program = '''
forever
  run 4ms
  timer frame 20ms
end
'''
[task.editor]
count = 10
program = '''
forever
  run uniform(5ms, 20ms)
  sleep uniform(20ms, 60ms)
end
'''
"
        )
    };
    let wait = |class| {
        let metrics = staircase("10.5", &[], &tasks(class));
        task(&metrics, "player").activity.longest_wait.unwrap().ns
    };
    let (iso, normal) = (wait("iso"), wait("normal"));
    assert_eq!(iso, Ns(0));
    assert!(normal > Ns::from_ms(50), "{normal}");
}

#[test]
fn sleepers_starve_a_hog_under_10_5_but_not_under_12() {
    // Each of five runs for 20 ms and sleeps for 1 ms: under 10.5 that is enough to be lifted every
    // time.  The hog runs where it is not worse and goes down until it is, for good.  12 wants as
    // much sleep as they have run, so they go down, too: slowly, as of 20 ms only the last step's
    // part is charged, 4 ms or so.  To run off 19 steps of 8 ms takes each 800 ms, all five 4 s.
    let tasks = "
duration = '60s'
[task.sleeper]
count = 5
program = '''
forever
  run 20ms
  sleep 1ms
end
'''
[task.hog]
program = 'run 100s'
";
    let longest_wait = |variant| {
        let metrics = staircase(variant, &[], tasks);
        task(&metrics, "hog").activity.longest_wait.unwrap().ns
    };
    assert!(longest_wait("10.5") > Ns::from_secs(55));
    assert!(longest_wait("12") < Ns::from_secs(4));
}
