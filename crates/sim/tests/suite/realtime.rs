//! SCHED_FIFO and SCHED_RR under policies that support them: real-time tasks always run first.

use crate::common::lab::{run, sleep, Lab};
use schedlab_policy::{Policy, Tuned};
use schedlab_trace::TaskClass;
use schedlab_workload::{Op, TaskSpec};

fn tuned(policy: &str, variant: &str) -> Tuned {
    Tuned::new(Policy::find(policy).unwrap(), Some(variant), &[]).unwrap()
}

/// Each policy that knows real-time classes, with the length of an RR slice at nice 0 in ms.
fn policies() -> Vec<(Tuned, u64)> {
    // 2.4 at 100 Hz: NICE_TO_TICKS(0) = (20 >> 2) + 1 = 6 ticks.  2.6: 100 ms at nice 0.
    vec![
        (tuned("linux24", "2.4.16"), 60),
        (tuned("o1", "2.6.11"), 100),
    ]
}

fn rt(class: TaskClass, priority: u8) -> impl Fn(&mut TaskSpec) {
    move |t| (t.class, t.rt_priority) = (class, priority)
}

#[test]
fn fifo_runs_until_it_blocks() {
    // Two of the same priority, 500 ms each, the first with a sleep of 10 ms in the middle: 250
    // of 0, all of 1, the rest of 0; a normal task comes last.
    let fifo = |tuned| {
        Lab::under(1, tuned)
            .task(vec![run(250_000), sleep(10_000), run(250_000)])
            .but(rt(TaskClass::Fifo, 10))
            .task(vec![run(500_000)])
            .but(rt(TaskClass::Fifo, 10))
            .task(vec![run(1000)])
            .run()
            .exits()
    };
    let in_order = [(750_000, 1), (1_000_000, 0), (1_001_000, 2)];
    assert_eq!(fifo(tuned("o1", "2.6.11")), in_order);
    assert_eq!(fifo(tuned("linux24", "2.4.0")), in_order);
    // 2.4.16 no longer looks at the running task first: after 60 ms it loses the tie to 1, which
    // was queued in front of it.  0 then has 190 ms before it sleeps at 750 ms, and 2 has its turn.
    let quirk = [(560_000, 1), (751_000, 2), (1_010_000, 0)];
    assert_eq!(fifo(tuned("linux24", "2.4.16")), quirk);
}

#[test]
fn rr_takes_turns_of_a_slice_with_its_equals() {
    // Two of 1.5 slices: 0, 1, then the halves.
    for (tuned, slice) in policies() {
        let ran = Lab::under(1, tuned)
            .tasks(2, vec![run(slice * 1500)])
            .but(rt(TaskClass::Rr, 10))
            .run();
        let began = |task| {
            ran.began(task)
                .iter()
                .map(|b| b.0 / 1000)
                .collect::<Vec<_>>()
        };
        assert_eq!(began(0), [0, 2 * slice]);
        assert_eq!(began(1), [slice, 2 * slice + slice / 2]);
    }
}

#[test]
fn the_higher_priority_preempts_at_once() {
    // Normal 0 from 0; FIFO 1 (priority 5) at 1.3 ms for 20 ms; RR 2 (priority 6) at 2.7 ms for 4.
    for (tuned, _) in policies() {
        let ran = Lab::under(1, tuned)
            .task(vec![run(10_000)])
            .task(vec![run(20_000)])
            .but(rt(TaskClass::Fifo, 5))
            .at(1300)
            .task(vec![run(4000)])
            .but(rt(TaskClass::Rr, 6))
            .at(2700)
            .run();
        assert_eq!(ran.began(1)[0], (1300, 0));
        assert_eq!(ran.began(2), [(2700, 0)]);
        assert_eq!(ran.exits(), [(6700, 2), (25_300, 1), (34_000, 0)]);
    }
}

#[test]
fn the_lower_priority_waits_however_long() {
    for (tuned, _) in policies() {
        let ran = Lab::under(1, tuned)
            .task(vec![run(3_000_000)])
            .but(rt(TaskClass::Rr, 7))
            .task(vec![run(1000)])
            .but(rt(TaskClass::Fifo, 6))
            .run();
        assert_eq!(ran.exits(), [(3_000_000, 0), (3_001_000, 1)]);
    }
}

#[test]
fn yielding_to_lower_priorities_does_nothing() {
    for (tuned, _) in policies() {
        let ran = Lab::under(1, tuned)
            .task(vec![run(1000), Op::Yield, run(1000)])
            .but(rt(TaskClass::Fifo, 7))
            .task(vec![run(1000)])
            .run();
        assert_eq!(ran.exit_ns(0), 2_000_000);
    }
}

#[test]
fn yielding_lets_an_equal_run() {
    for (tuned, _) in policies() {
        let ran = Lab::under(1, tuned)
            .tasks(2, vec![run(1000), Op::Yield, run(1000)])
            .but(rt(TaskClass::Fifo, 7))
            .run();
        assert_eq!(ran.exits(), [(3000, 0), (4000, 1)]);
    }
}

#[test]
fn two_cpus_run_the_two_most_urgent() {
    // All three wake at 1 ms.  The last in line waits for the first to end, at 11 ms.
    for (tuned, _) in policies() {
        let name = tuned.name();
        let each = |ms: u64| vec![sleep(1000), run(ms * 1000)];
        let ran = Lab::under(2, tuned)
            .task(each(10))
            .but(rt(TaskClass::Fifo, 30))
            .task(each(20))
            .but(rt(TaskClass::Fifo, 20))
            .task(each(5))
            .run();
        assert_eq!(ran.exit_ns(0), 11_000_000, "{name}");
        assert_eq!(ran.exit_ns(1), 21_000_000, "{name}");
    }
}

#[test]
fn batch_and_idle_get_their_work_done() {
    for (tuned, _) in policies() {
        let ran = Lab::under(1, tuned)
            .task(vec![run(50_000)])
            .but(rt(TaskClass::Batch, 0))
            .task(vec![run(50_000)])
            .but(rt(TaskClass::Idle, 0))
            .task(vec![run(50_000)])
            .run();
        assert_eq!(ran.outcome.end.0, 150_000_000);
    }
}
