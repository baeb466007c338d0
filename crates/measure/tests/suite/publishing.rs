//! The published results: the JSON, the headlines, the points of plots, and their bounds.

use crate::script::*;
use schedlab_measure::{Direction, Headline, Measure, Metrics, ShareOf, Slice, MAX_PLOT_GROUPS};
use schedlab_trace::{CpuId, Event, Ns, Overhead, PrevState, Sink, TaskId, Time};

use PrevState::{Preempted, Sleeping};

/// Two hogs take turns of `slice` ns on one CPU.
fn two_hogs(slice: u64, turns: u64) -> Metrics {
    let mut events = vec![
        exists(0),
        exists(1),
        wakeup(0, 0, 0),
        wakeup(0, 0, 1),
        start(0, 0, 0),
    ];
    let swap_at = |i: u64| swap(i * slice, 0, (i as u32 + 1) % 2, Preempted, i as u32 % 2);
    events.extend((1..turns).map(swap_at));
    simulated(1, &["hog-1", "cat-2"]).measure_valid(&events, turns * slice)
}

#[test]
fn json_has_the_documented_keys() {
    let m = two_hogs(10, 10);
    let json = serde_json::to_value(&m).unwrap();
    assert_eq!(json["duration_ns"], 100);
    assert!(json["accounting_error"].is_null());
    let task = &json["tasks"][0];
    assert_eq!(
        (&task["name"], &task["id"], &task["nice"]),
        (&"hog-1".into(), &0.into(), &0.into())
    );
    assert_eq!(
        (&task["run_ns"], &task["nr_switches"]),
        (&50.into(), &5.into())
    );
    assert_eq!(task["nr_migrations"], 0);
    for key in ["p50", "p95", "p99", "p999", "max"] {
        assert_eq!(task["run_delay_ns"][key], 10, "{key}");
        assert_eq!(task["wakeup_latency_ns"][key], 0, "{key}");
    }
    assert_eq!(json["cpus"][0]["run_ns"], 100);
    assert_eq!(json["scheduler"]["lock_wait_ns"], 0);
    assert_eq!(json["counters"], serde_json::json!({}));
}

#[test]
fn an_accounting_error_is_published_as_its_message() {
    let m = simulated(1, &[]).measure(&[waking(0, 0, 5)], 1);
    let json = serde_json::to_value(&m).unwrap();
    assert_eq!(
        json["accounting_error"],
        "at 0.000000000: task, mark or counter 5 was not announced"
    );
}

#[test]
fn headlines_lead_with_what_the_workload_counts() {
    let mut script = simulated(1, &["a"]);
    script.info.marks = vec!["message".into(), "unused".into(), "frame".into()];
    let m = script.measure_valid(&[mark(0, 0, 0, 6), latency(1, 0, 2, 50)], 2_000_000_000);
    let headlines = Headline::all([&m, &m]);
    let ids: Vec<&str> = headlines.iter().map(|h| &*h.id).take(3).collect();
    assert_eq!(
        ids,
        [
            "mark.message.per_second",
            "mark.frame.latency_p99_ns",
            "duration_ns"
        ]
    );
    let values: Vec<_> = headlines.iter().map(|h| h.value(&m)).take(3).collect();
    assert_eq!(values, [Some(3.0), Some(50.0), Some(2e9)]);
    assert_eq!(
        (headlines[0].better, headlines[1].better),
        (Direction::Higher, Direction::Lower)
    );
    let mut unique: Vec<_> = headlines.iter().map(|h| h.id.clone()).collect();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), headlines.len());
}

#[test]
fn headlines_are_none_where_the_trace_cannot_tell() {
    let m = recorded(1, &["a"]).measure_valid(&[exists(0)], 10);
    let value = |id: &str| {
        let all = Headline::all([&m]);
        all.iter()
            .find(|h| h.id == id)
            .expect("a fixed headline")
            .value(&m)
    };
    for id in [
        "scheduler_share",
        "schedule_calls",
        "wakeup_latency_p99_ns",
        "jain",
        "longest_wait_ns",
    ] {
        assert_eq!(value(id), None, "{id}");
    }
    assert_eq!(value("nr_switches"), Some(0.0));
}

#[test]
fn runs_are_summed_up_by_headline() {
    let runs = [two_hogs(10, 10), two_hogs(30, 10), two_hogs(20, 10)];
    let headlines = Headline::all(&runs);
    let longest = headlines
        .iter()
        .find(|h| h.id == "longest_wait_ns")
        .unwrap();
    let summary = longest.summarize(&runs).unwrap();
    assert_eq!(
        (summary.n, summary.median, summary.lo, summary.hi),
        (3, 20.0, 10.0, 30.0)
    );
    let idle = recorded(1, &[]).measure(&[], 10);
    assert_eq!(longest.summarize([&idle]), None);
}

#[test]
fn waiting_and_shares_are_drawn_in_stretches() {
    // Stretches of 1024 ns; hog 0-512, cat 512-1024 and so on; one of them always waits.
    let m = two_hogs(512, 4);
    assert_eq!(
        (m.plots.waiting.bucket_ns, &m.plots.waiting.mean[..]),
        (Ns(1024), &[1.0, 1.0][..])
    );
    assert_eq!(m.plots.waiting.max, [1, 1]);
    let rows: Vec<(&ShareOf, &[f64])> = m
        .plots
        .shares
        .rows
        .iter()
        .map(|row| (&row.of, &row.share[..]))
        .collect();
    assert_eq!(
        rows,
        [
            (&ShareOf::Group("hog".into()), &[0.5, 0.5][..]),
            (&ShareOf::Group("cat".into()), &[0.5, 0.5][..]),
            (&ShareOf::Overhead, &[0.0, 0.0][..]),
            (&ShareOf::Idle, &[0.0, 0.0][..]),
        ]
    );
}

#[test]
fn the_maximum_survives_when_stretches_merge() {
    // Two tasks wait for an instant's 100 ns near the start of a second, one later on.
    let m = simulated(1, &["a", "b", "c"]).measure_valid(
        &[
            exists(0),
            exists(1),
            exists(2),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            wakeup(1_000, 0, 1),
            wakeup(1_000, 0, 2),
            swap(1_100, 0, 0, Sleeping, 1),
            swap(2_000, 0, 1, Sleeping, 2),
            wakeup(900_000_000, 0, 1),
        ],
        1_000_000_000,
    );
    let plot = &m.plots.waiting;
    assert!((200..=400).contains(&plot.max.len()), "{}", plot.max.len());
    assert_eq!(
        (plot.max[0], plot.max[100], plot.max[plot.max.len() - 1]),
        (2, 0, 1)
    );
    // 2 x 100 ns + 1 x 900 ns in the first stretch.
    assert_eq!(plot.mean[0], 1_100.0 / plot.bucket_ns.0 as f64);
}

#[test]
fn the_timeline_shows_the_begin() {
    let m = two_hogs(10, 3);
    let slice = |task, start, end| Slice {
        cpu: CpuId(0),
        task: TaskId(task),
        start_ns: Time(start),
        end_ns: Time(end),
    };
    let start = &m.plots.timeline.start;
    assert_eq!((start.start_ns, start.end_ns), (Time(0), Time(30)));
    assert_eq!(
        start.slices,
        [slice(0, 0, 10), slice(1, 10, 20), slice(0, 20, 30)]
    );
    // The begin shows the longest wait too.
    assert_eq!(m.plots.timeline.longest_wait, None);
}

#[test]
fn the_timeline_shows_the_longest_wait_wherever_it_was() {
    // 20,000 turns of 10 ns; after turn 10,000 one of 15.
    let mut events = vec![
        exists(0),
        exists(1),
        wakeup(0, 0, 0),
        wakeup(0, 0, 1),
        start(0, 0, 0),
    ];
    let mut now = 0;
    for i in 1..20_000u32 {
        now += if i == 10_000 { 15 } else { 10 };
        events.push(swap(now, 0, (i + 1) % 2, Preempted, i % 2));
    }
    let m = simulated(1, &["a", "b"]).measure_valid(&events, now);
    let (start, longest) = (
        &m.plots.timeline.start,
        m.plots.timeline.longest_wait.unwrap(),
    );
    assert_eq!((start.slices.len(), start.end_ns), (2_000, Time(20_000)));
    assert_eq!(longest.slices.len(), 2_000);
    let wait = m.total.longest_wait.unwrap();
    assert_eq!((wait.ns, wait.start_ns), (Ns(15), Time(99_990)));
    // A thousand slices before its end, a thousand after; no gaps.
    assert_eq!(
        (longest.start_ns, longest.end_ns),
        (Time(90_000), Time(110_005))
    );
    assert!(longest
        .slices
        .windows(2)
        .all(|w| w[0].end_ns == w[1].start_ns));
}

#[test]
fn groups_without_a_row_of_their_own_share_one() {
    let names: Vec<String> = (0..30).map(|i| format!("g{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let m =
        simulated(1, &names).measure_valid(&[exists(29), wakeup(0, 0, 29), start(0, 0, 29)], 1_024);
    assert_eq!(
        (m.groups.len(), m.plots.group_latency.len()),
        (30, MAX_PLOT_GROUPS)
    );
    let others = m
        .plots
        .shares
        .rows
        .iter()
        .find(|row| row.of == ShareOf::OtherGroups)
        .unwrap();
    assert_eq!(others.share, [1.0]);
}

#[test]
fn many_tasks_lose_their_own_distributions_but_not_their_groups() {
    let trace = |mut measure: Measure, nr_tasks: u32| {
        measure.begin(&simulated(1, &[]).info);
        for id in 0..nr_tasks {
            measure.task(&task_info(id, "t", "g"));
        }
        let events: [Event; 3] = [exists(0), wakeup(0, 0, 0), start(7, 0, 0)];
        events.iter().for_each(|event| measure.event(event));
        measure.end(Time(10));
        measure.finish()
    };
    let few = trace(Measure::new(), 20_000);
    assert!(!few.task_distributions_dropped);
    assert_eq!(
        few.tasks[0].activity.run_delay_ns.as_deref().unwrap().max,
        Ns(7)
    );
    let many = trace(Measure::new(), 20_001);
    let not_asked_for = trace(Measure::without_task_distributions(), 20_000);
    for dropped in [many, not_asked_for] {
        assert!(dropped.task_distributions_dropped);
        assert_eq!(dropped.tasks[0].activity.run_delay_ns, None);
        assert_eq!(dropped.tasks[0].activity.wait_ns, Ns(7));
        assert_eq!(
            dropped.groups[0].activity.run_delay_ns,
            few.groups[0].activity.run_delay_ns
        );
    }
}

#[test]
fn plots_are_bounded_however_long_the_run() {
    let m = two_hogs(1_000_003, 50_000);
    let plots = &m.plots;
    assert!(plots.latency.run_delay.len() <= 200);
    assert!((200..=400).contains(&plots.waiting.mean.len()));
    assert!(plots.timeline.start.slices.len() <= 2_001);
    let all_shares: f64 = plots.shares.rows.iter().map(|row| row.share[100]).sum();
    assert!((all_shares - 1.0).abs() < 1e-9);
}

#[test]
fn overhead_kinds_are_told_apart() {
    let kinds = [
        Overhead::Schedule,
        Overhead::Switch,
        Overhead::Wakeup,
        Overhead::Lock,
        Overhead::Tick,
        Overhead::Syscall,
    ];
    let span =
        |(i, &kind): (usize, &Overhead)| overhead(100 * (i as u64 + 1), 0, kind, i as u64 + 1);
    let events: Vec<Event> = kinds.iter().enumerate().map(span).collect();
    let m = simulated(1, &[]).measure_valid(&events, 1_000);
    let o = m.cpus[0].overhead_ns.unwrap();
    let all = [o.schedule, o.switch, o.wakeup, o.lock, o.tick, o.syscall];
    assert_eq!(all, [1, 2, 3, 4, 5, 6].map(Ns));
    assert_eq!((o.total(), o.scheduling()), (Ns(21), Ns(10)));
}

#[test]
fn tasks_lose_their_own_distributions_when_these_grow_too_large() {
    // 70 waits of up to 2 s each for 4,000 tasks: their histograms would take about 100 MB.
    const TASKS: u32 = 4_000;
    let mut measure = Measure::new();
    measure.begin(&simulated(1, &[]).info);
    (0..TASKS).for_each(|id| measure.task(&task_info(id, "t", "g")));
    let mut now = 0;
    for round in 0..70 {
        for id in 0..TASKS {
            measure.event(&wakeup(now, 0, id));
            now += 2_000_000_000 >> (round % 10);
            measure.event(&start(now, 0, id));
            measure.event(&stop(now, 0, id, Sleeping));
        }
    }
    let m = measure.finish();
    assert_eq!(m.accounting_error, None);
    assert!(m.task_distributions_dropped);
    let all = m.total.run_delay_ns.unwrap();
    assert_eq!((all.count, all.max), (280_000, Ns(2_000_000_000)));
    // The fifth smallest of the ten lengths is 2 s / 32; half of the samples do not exceed it.
    assert!((all.p50.0 as f64 / 62_500_000.0 - 1.0).abs() <= all.relative_error);
}
