//! CPUs of unequal speed: 1024 and 512.

use schedlab_policy::{Clamps, NewTask, Topology};
use schedlab_trace::{CpuId, TaskId};

use super::entity;
use crate::script::{on_cpu, Machine};

const POLICIES: [&str; 2] = ["cfs", "eevdf"];
const PERIOD: u64 = 1024 * 1024;

/// CPUs of these capacities around one cache.
fn machine(policy: &str, capacities: &[u32], set: &[(&str, i64)]) -> Machine {
    let place = |(core, &capacity)| Topology {
        core,
        capacity,
        ..Topology::ONE
    };
    let topology: Vec<Topology> = (0..).zip(capacities).map(place).collect();
    let mut all = vec![("hz", 100)];
    all.extend_from_slice(set);
    Machine::of_topology(policy, &topology, &all).unwrap()
}

fn clamped(cpu: u32, min: u16, max: u16) -> NewTask {
    NewTask {
        clamps: Clamps { min, max },
        ..on_cpu(cpu, 0)
    }
}

fn cpu_of(m: &Machine, task: TaskId) -> u32 {
    m.host.task(task).cpu
}

/// A task begins to run on CPU 1, of capacity 512, beside an idle CPU 0: after how many ticks does it move, if it does in
/// a second?
fn moves_after(m: &mut Machine, new: &NewTask) -> Option<u32> {
    let hog = m.start(new);
    m.schedule(1);
    (1..=100).find(|_| {
        m.ticks(1, 1);
        for cpu in [1, 0] {
            if m.host.need_resched(CpuId(cpu)) {
                m.schedule(cpu);
            }
        }
        cpu_of(m, hog) == 0
    })
}

#[test]
fn a_task_too_big_for_its_cpu_moves_to_a_faster_one() {
    for policy in POLICIES {
        // It begins with a utilisation of 256, and its clock runs half as fast.  It fits up to 409, four fifths of 512:
        // 1024 - 768 * y^n > 409, n > 10.3 periods, 21.6 ms.
        let mut m = machine(policy, &[1024, 512], &[]);
        let ticks = moves_after(&mut m, &on_cpu(1, 0));
        assert!(
            ticks.is_some_and(|t| (3..6).contains(&t)),
            "{policy}: {ticks:?}"
        );
    }
}

#[test]
fn a_clamp_says_that_it_need_not() {
    for policy in POLICIES {
        let mut m = machine(policy, &[1024, 512], &[]);
        assert_eq!(moves_after(&mut m, &clamped(1, 0, 512)), None, "{policy}");
        let mut m = machine(policy, &[1024, 512], &[]);
        assert!(
            moves_after(&mut m, &clamped(1, 0, 513)).is_some(),
            "{policy}"
        );
    }
}

#[test]
fn equal_cpus_do_not_swap_tasks() {
    for policy in POLICIES {
        let mut m = machine(policy, &[512, 512, 1024], &[]);
        let blocker = m.pinned(2, 0);
        m.start(&blocker);
        m.schedule(2);
        assert_eq!(moves_after(&mut m, &on_cpu(1, 0)), None, "{policy}");
    }
}

/// A task ran on CPU 1 for so long, sleeps, and is woken from CPU 0, which is slow and idles, when CPU 1 is busy.
fn woken_on(policy: &str, new: &NewTask, periods: u64, set: &[(&str, i64)]) -> u32 {
    let mut m = machine(policy, &[512, 1024, 1024], set);
    let task = m.start(new);
    m.schedule(1);
    m.after(periods * PERIOD).block(1);
    let blocker = m.pinned(1, 0);
    m.start(&blocker);
    m.schedule(1);
    m.after(1000).from(0).wake(task);
    cpu_of(&m, task)
}

#[test]
fn a_wakeup_looks_for_a_cpu_that_is_fast_enough() {
    for policy in POLICIES {
        // 767 after 32 periods do not fit in 512.
        assert_eq!(woken_on(policy, &on_cpu(1, 0), 32, &[]), 2, "{policy}");
        assert_eq!(
            woken_on(policy, &on_cpu(1, 0), 32, &[("pelt", 0)]),
            0,
            "{policy}"
        );
        // Neither does a task that asks for more, whatever it uses.
        let big = clamped(1, 600, 1024);
        assert_eq!(woken_on(policy, &big, 32, &[]), 2, "{policy}");
        let capped = clamped(1, 0, 400);
        assert_eq!(woken_on(policy, &capped, 32, &[]), 0, "{policy}");
    }
}

#[test]
fn a_small_task_may_be_anywhere_unless_it_asks_for_more() {
    for policy in POLICIES {
        for (new, cpu) in [(on_cpu(0, 0), 0), (clamped(0, 600, 1024), 1)] {
            let mut m = machine(policy, &[512, 1024], &[]);
            let task = m.start(&new);
            m.schedule(0);
            m.block(0);
            m.after(400 * PERIOD);
            m.from(0).wake(task);
            assert_eq!(cpu_of(&m, task), cpu, "{policy}");
            assert!(entity(&m, task).avg.util_avg <= 256);
        }
    }
}

#[test]
fn a_child_starts_where_it_fits() {
    // A new task counts as half of an idle CPU, 256 or 512; what asks for more does not fit on the slow ones.
    for policy in POLICIES {
        let mut m = machine(policy, &[512, 512, 512, 1024], &[]);
        m.start(&on_cpu(0, 0));
        m.schedule(0);
        let child = m.fork(0, &clamped(0, 700, 1024));
        m.enqueue(child, schedlab_policy::enq::NEW);
        assert_eq!(cpu_of(&m, child), 3, "{policy}");
    }
}
