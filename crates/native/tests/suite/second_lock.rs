//! Active balancing when the lock of the other run queue is refused: the running task that should be pushed away
//! stays and must remain queued.

use schedlab_policy::Disturbance;
use schedlab_trace::CpuId;

use crate::script::{on_cpu, Machine};

/// A hog runs on CPU 0, which was asked to push it to the idle CPU 1 and has nothing else to run by now.
fn asked_to_push(policy: &str) -> Machine {
    let mut m = Machine::new(policy, 2, &[("hz", 100)]);
    m.start(&on_cpu(0, 0));
    m.schedule(0);
    let pinned = m.pinned(0, 0);
    let pinned = m.start(&pinned);
    for _ in 0..60 {
        m.ticks(0, 1);
        m.ticks(1, 1);
    }
    m.unqueue(pinned);
    m
}

#[test]
fn a_task_that_cannot_be_pushed_runs_on() {
    for policy in [
        "o1",
        "o1:2.6.13",
        "staircase",
        "staircase:12",
        "rbs",
        "cfs",
        "eevdf",
    ] {
        let (mut pushed, mut stayed) = (0, 0);
        for seed in 1..40 {
            let mut m = asked_to_push(policy);
            m.host.disturb(Disturbance {
                seed,
                refuse_one_in: 2,
                delay_ns: 0,
            });
            let idles = m.schedule(0).is_none();
            match m.host.task(schedlab_trace::TaskId(0)).cpu {
                1 => pushed += 1,
                _ if !idles => {}
                _ => {
                    assert!(m.host.need_resched(CpuId(0)), "{policy}, seed {seed}");
                    stayed += 1;
                }
            }
        }
        assert!(pushed > 0 && stayed > 0, "{policy}: {pushed}, {stayed}");
    }
}
