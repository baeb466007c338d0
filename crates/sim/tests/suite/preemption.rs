//! Sync wakeups and preemption models: what the kernel tells policies, and when their requests take
//! effect.

use schedlab_machine::{Cache, Machine, Preemption};
use schedlab_policy::{Policy, Tuned};
use schedlab_trace::{Ns, TaskClass};
use schedlab_workload::Op;

use crate::common::lab::{mark, receive, run, send, sleep, Lab};

fn eevdf(variant: &str) -> Tuned {
    let hz = [("hz".to_string(), 1000)];
    Tuned::new(Policy::find("eevdf").unwrap(), Some(variant), &hz).unwrap()
}

/// Two CPUs that share no cache.
fn apart(machine: &mut Machine) {
    machine.caches.push(Cache {
        size_bytes: 0,
        refill_ps_per_byte: 0,
    });
    machine.cpus[1].cache = 1;
}

#[test]
fn a_sync_wakeup_draws_the_receiver_to_a_waker_that_is_alone() {
    // The receiver waits on CPU 1, which idles.
    let begins = |sync| {
        Lab::under(2, eevdf("6.12"))
            .task(vec![run(1000), send(1), run(100)])
            .task(vec![receive(1), run(100)])
            .channel(1)
            .machine(|m| {
                apart(m);
                m.sync_wakeups = sync;
            })
            .run()
            .began(1)
    };
    let (first, kept) = ((0, 1), (1000, 1));
    assert_eq!(begins(false), [first, kept]);
    assert_eq!(begins(true), [first, (1000, 0)], "wake_affine_idle()");
}

/// CPU 1 runs a task of class idle.  A task that belongs there is woken from CPU 0 at 0.3 ms: when does it run?
fn preempts_at(variant: &str, preemption: Preemption, hog: Op) -> u64 {
    let ran = Lab::under(2, eevdf(variant))
        .task(vec![run(300), Op::SemPost(0), run(10_000)])
        .on(&[0])
        .task(vec![Op::SemWait(0), mark(0)])
        .on(&[1])
        .task(vec![hog])
        .on(&[1])
        .but(|t| t.class = TaskClass::Idle)
        .with(|w| w.semaphores.push(0))
        .machine(|m| m.preemption = preemption)
        .run();
    ran.marks()[0].0
}

#[test]
fn a_lazy_kernel_preempts_another_cpu_at_its_tick() {
    let user = || run(5000);
    for (variant, lazy) in [("6.18", 1000), ("6.19", 1000), ("7.1", 700)] {
        // 7.1: the hrtick comes first, when the hog's request of 0.7 ms is served.
        assert_eq!(preempts_at(variant, Preemption::Full, user()), 300);
        assert_eq!(preempts_at(variant, Preemption::Lazy, user()), lazy);
    }
    assert_eq!(preempts_at("6.12", Preemption::Lazy, user()), 300);
}

#[test]
fn the_model_says_whether_the_kernel_itself_is_preempted() {
    let kernel = || Op::RunInKernel(Ns::from_us(5000));
    for (preemption, expected) in [
        (Preemption::None, 5000),
        (Preemption::Voluntary, 5000),
        (Preemption::Full, 300),
        (Preemption::Lazy, 1000),
    ] {
        assert_eq!(preempts_at("6.18", preemption, kernel()), expected);
    }
    assert_eq!(
        preempts_at("6.12", Preemption::Lazy, kernel()),
        300,
        "6.12 makes no lazy requests"
    );
}

#[test]
fn an_interrupt_on_the_cpu_itself_acts_on_a_lazy_request() {
    // On its way back to user mode the CPU sees the lazy request.
    let ran = Lab::under(1, eevdf("6.18"))
        .task(vec![sleep(300), mark(0)])
        .task(vec![run(5000)])
        .but(|t| t.class = TaskClass::Idle)
        .machine(|m| m.preemption = Preemption::Lazy)
        .run();
    assert_eq!(ran.marks(), [(300, 0, 0)]);
}
