//! linux24 without a simulator: every number is calculated from the algorithm in the comment beside it.
//!
//! Notation: a task's goodness is counter + weight (+15 on the CPU it ran on last, SMP only; +1 in
//! the previous task's address space), weight being 20 - nice.  `priority()` is goodness without
//! the bonuses and 0 for an exhausted task.

mod choice;
mod slices;
mod wakeups;
mod yields;

use crate::script::{normal, on_cpu, random, real_time, Machine};
use schedlab_policy::{enq, Class, NewTask, Policy, Tuned};
use schedlab_trace::{CpuId, TaskId};

const VARIANTS: [&str; 3] = ["linux24:2.4.16", "linux24:2.4.0", "linux24:2.3.99"];

/// Ticks left; weight is 20 - nice in 2.4 and, at 100 Hz, in 2.3.99 too.
fn counter(m: &mut Machine, task: TaskId) -> i32 {
    match m.priority(task) {
        0 => 0,
        priority => priority - (20 - m.host.task(task).nice),
    }
}

/// The run queue, front to back; its list is the first thing in the policy's global state.
fn queue(m: &Machine) -> Vec<TaskId> {
    // SAFETY: struct runqueue begins with the list head.
    unsafe { m.tasks_of(m.host.global_state().cast()) }
}

fn with_mm(mm: u32, nice: i8) -> NewTask {
    NewTask { mm, ..normal(nice) }
}

/// Starts a task and has idle `cpu` run it.
fn run_on(m: &mut Machine, cpu: u32, new: &NewTask) -> TaskId {
    let task = m.start(&NewTask {
        cpu: CpuId(cpu),
        ..*new
    });
    assert_eq!(m.schedule(cpu), Some(task));
    task
}

/// A nice 19 task has slices of one tick: alone on the CPU it causes a recalculation a tick.
fn recalculate(m: &mut Machine, cpu: u32) {
    m.work();
    assert!(m.ticks(cpu, 1));
    m.schedule(cpu);
    assert_eq!(m.work().recalculations, 1);
}

// ---- declarations ----------------------------------------------------------------------------

#[test]
fn the_default_is_2_4_16_and_tasks_are_small() {
    let policy = Policy::find("linux24").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "2.4.16");
    assert!(policy.task_size() <= 96);
}

#[test]
fn a_kernel_without_smp_refuses_several_cpus() {
    assert!(Machine::try_new("linux24", 1, &[("smp", 0)]).is_ok());
    let refused = Machine::try_new("linux24", 2, &[("smp", 0)]).err().unwrap();
    assert!(refused.contains("smp=0"), "{refused}");
}

// ---- nice and class --------------------------------------------------------------------------

#[test]
fn nice_counts_from_the_next_choice_on() {
    let mut m = Machine::new("linux24", 1, &[]);
    let running = run_on(&mut m, 0, &normal(0));
    let waiting = m.start(&normal(0));
    assert_eq!(m.set_nice(waiting, -10), []); // preempts nobody
    assert_eq!(m.priority(waiting), 6 + 30); // the slice it has is the old one
    assert_eq!(m.schedule(0), Some(waiting));
    m.set_nice(waiting, 19);
    assert_eq!(m.schedule(0), Some(running));
}

#[test]
fn a_new_class_moves_to_the_front_and_reschedules_the_caller() {
    let mut m = Machine::new("linux24", 2, &[]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    m.from(1);
    assert_eq!(m.set_class(b, Class::Fifo, 7), [1]);
    assert_eq!(queue(&m), [b, c, a]);
    assert_eq!(m.priority(b), 1007);
    assert_eq!(m.schedule(1), Some(b));
    m.set_class(b, Class::Normal, 0);
    assert_eq!(m.priority(b), 26);
}

// ---- any order of events ---------------------------------------------------------------------

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    for name in VARIANTS {
        for cpus in [1, 2, 5] {
            for seed in 1..=20 {
                random::live(&mut Machine::new(name, cpus, &[]), seed, 500);
            }
        }
    }
}
