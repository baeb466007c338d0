//! Waits of a handwritten trace, and their explanations.

use schedlab_explain::{first_difference, Explain, Explanation, Order};
use schedlab_trace::{
    CpuId, Event, EventKind, Ns, PrevState, Sink, TaskClass, TaskId, TaskInfo, Time, TraceInfo,
    WakeContext,
};

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);

fn info(id: TaskId, name: &str) -> TaskInfo {
    TaskInfo {
        id,
        name: name.into(),
        group: name.into(),
        control_group: None,
        process: id.0,
        pid: None,
        nice: 0,
        class: TaskClass::Normal,
        rt_priority: 0,
    }
}

/// Times in µs.
fn event(sink: &mut impl Sink, us: u64, cpu: u32, kind: EventKind) {
    sink.event(&Event {
        time: Time(us * 1000),
        cpu: CpuId(cpu),
        kind,
    });
}

fn switch(
    sink: &mut impl Sink,
    us: u64,
    cpu: u32,
    prev: Option<TaskId>,
    prev_state: PrevState,
    next: Option<TaskId>,
) {
    let kind = EventKind::Switch {
        prev,
        prev_state,
        next,
    };
    event(sink, us, cpu, kind);
}

/// a runs from 0, wakes b at 10, is preempted by c at 30; c runs to 100 at priority 7 and sleeps, b
/// runs to 120 and exits, a runs again: b waited 90 µs, a 90 µs.  From 60 µs on b waits for CPU 1, which
/// idles until it takes b at 100.
fn trace(sink: &mut impl Sink, then: TaskId) {
    sink.begin(&TraceInfo {
        nr_cpus: 2,
        policy: "test".into(),
        ..TraceInfo::default()
    });
    for (id, name) in [(A, "a"), (B, "b"), (C, "c")] {
        sink.task(&info(id, name));
    }
    use PrevState::{Idle, Preempted, Sleeping};
    let by = WakeContext::Task;
    switch(sink, 0, 0, None, Idle, Some(A));
    event(sink, 10, 0, EventKind::Waking { task: B, by });
    event(
        sink,
        10,
        0,
        EventKind::Wakeup {
            task: B,
            target: CpuId(0),
        },
    );
    event(
        sink,
        20,
        0,
        EventKind::Priority {
            task: C,
            priority: 7,
        },
    );
    event(
        sink,
        25,
        0,
        EventKind::Wakeup {
            task: C,
            target: CpuId(0),
        },
    );
    switch(sink, 30, 0, Some(A), Preempted, Some(C));
    let (from, to) = (CpuId(0), CpuId(1));
    event(sink, 60, 1, EventKind::Migrate { task: B, from, to });
    switch(sink, 100, 1, None, Idle, Some(B));
    switch(sink, 120, 0, Some(C), Sleeping, Some(then));
    sink.end(Time(200_000));
}

fn explained(who: Option<&str>, worst: usize) -> Explanation {
    let mut explain = Explain::new(who, worst);
    trace(&mut explain, A);
    explain.finish()
}

#[test]
fn a_wait_is_told_from_its_begin_to_its_end() {
    let explanation = explained(Some("b"), 5);
    assert_eq!((explanation.tasks, explanation.waits), (1, 1));
    assert_eq!(
        explanation.worst[0].to_string(),
        "b waited 90.0 µs from 0.000010000 at priority 120: woken by a\n    \
         on the run queue of CPU 0, then 1\n    \
         40.0 µs of CPU 1 idling\n    \
         30.0 µs of c on CPU 0 at priority 7\n    \
         20.0 µs of a on CPU 0 at priority 120\n    \
         ran on CPU 1: the CPU was idle\n"
    );
    // Nothing is lost: who ran instead adds up to the wait.
    let sum: u64 = explanation.worst[0].instead.iter().map(|i| i.ns.0).sum();
    assert_eq!(Ns(sum), explanation.worst[0].ns);
}

#[test]
fn the_preempted_wait_too() {
    let explanation = explained(Some("a"), 5);
    assert_eq!(
        explanation.worst[0].to_string(),
        "a waited 90.0 µs from 0.000030000 at priority 120: preempted by c\n    \
         on the run queue of CPU 0\n    \
         90.0 µs of c on CPU 0 at priority 7\n    \
         ran on CPU 0: c went to sleep\n"
    );
}

#[test]
fn the_worst_come_first_and_no_more_than_asked_for() {
    let all = explained(None, 10);
    let waits: Vec<(&str, u64)> = all
        .worst
        .iter()
        .map(|w| (w.task.as_str(), w.ns.0))
        .collect();
    assert_eq!(waits, [("b", 90_000), ("a", 90_000), ("c", 5_000)]);
    assert_eq!(all.waited, Ns(185_000));
    let one = explained(None, 1);
    assert_eq!((one.waits, one.worst.len()), (3, 1));
    assert_eq!(one.worst[0], all.worst[0]);
}

#[test]
fn a_wait_that_is_not_over_counts() {
    let mut explain = Explain::new(Some("a"), 1);
    trace(&mut explain, C);
    let explanation = explain.finish();
    // From 30 to the end at 200 µs.
    assert_eq!(explanation.worst[0].ns, Ns(170_000));
    assert!(explanation.worst[0]
        .to_string()
        .ends_with("nothing: the trace ends\n"));
}

#[test]
fn nobody_of_that_name() {
    assert_eq!(explained(Some("x"), 1).tasks, 0);
}

#[test]
fn runs_part_where_a_cpu_runs_somebody_else() {
    let order = |then| {
        let mut order = Order::new();
        trace(&mut order, then);
        order
    };
    assert_eq!(first_difference(&order(A), &order(A)), None);
    let difference = first_difference(&order(A), &order(B)).unwrap();
    assert_eq!((difference.cpu, difference.same), (CpuId(0), 2));
    assert_eq!(difference.after.as_deref(), Some("c"));
    let [a, b] = difference.then;
    assert_eq!(
        (a.task.as_deref(), b.task.as_deref()),
        (Some("a"), Some("b"))
    );
    assert_eq!(a.time, Some(Time(120_000)));
}
