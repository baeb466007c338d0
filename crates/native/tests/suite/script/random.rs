//! Random scripts: after any events in any order no task is lost and no CPU idles needlessly.

use schedlab_policy::{enq, Class, NewTask};
use schedlab_trace::{CpuId, TaskId};

use super::{normal, Machine, Place};

/// xorshift64, so that a seed names one script for ever.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len() as u64) as usize])
    }
}

/// Plays this many random events on `m`, whose policy must promise not to idle beside waiting tasks.
///
/// # Panics
/// If a task is lost, a CPU idles while a task waits that may run there, or a hook fails.
pub fn live(m: &mut Machine, seed: u64, events: u32) {
    let mut rng = Rng(seed | 1);
    let cpus = m.curr.len() as u64;
    let every_set = cpu_sets(m, cpus as u32);
    for _ in 0..events {
        let cpu = rng.below(cpus) as u32;
        m.from(cpu).timers_for(1_000_000);
        match m.running(cpu) {
            Some(_) => event_of_running(m, &mut rng, cpu),
            None => drop(m.schedule(cpu)),
        }
        event_of_others(m, &mut rng, &every_set);
        obey(m);
        assert_conserving(m);
    }
}

/// All CPUs, and each CPU alone.
fn cpu_sets(m: &mut Machine, cpus: u32) -> Vec<u32> {
    let mut sets = vec![0];
    sets.extend((0..cpus).map(|cpu| m.host.add_cpu_set(&[cpu])));
    sets
}

fn event_of_running(m: &mut Machine, rng: &mut Rng, cpu: u32) {
    match rng.below(8) {
        0 => drop(m.block(cpu)),
        1 => drop(m.yields(cpu)),
        2 => drop(m.schedule(cpu)),
        3 if m.living().len() < 12 => {
            let child = m.fork(cpu, &normal(rng.below(40) as i8 - 20));
            m.enqueue(child, enq::NEW);
        }
        4 if m.living().len() > 6 => die_and_be_reaped(m, rng, cpu),
        _ => drop(m.ticks(cpu, 1)),
    }
}

fn die_and_be_reaped(m: &mut Machine, rng: &mut Rng, cpu: u32) {
    let dead = m.running(cpu).expect("a task runs here");
    m.die(cpu);
    let reaper = rng.one_of(&m.living()).expect("more than one task lives");
    m.reap(dead, reaper);
}

fn event_of_others(m: &mut Machine, rng: &mut Rng, sets: &[u32]) {
    let task = rng.one_of(&m.living());
    let sleeper = rng.one_of(&m.those(Place::Sleeping));
    match (rng.below(8), task, sleeper) {
        (0..3, _, Some(sleeper)) => drop(m.wake(sleeper)),
        (3, _, Some(sleeper)) => drop(m.wake_sync(sleeper)),
        (4, Some(task), _) => drop(m.set_nice(task, rng.below(40) as i8 - 20)),
        (5, Some(task), _) => {
            let (class, rt_priority) = match rng.below(5) {
                0 => (Class::Fifo, 1 + rng.below(99) as u8),
                1 => (Class::Rr, 1 + rng.below(99) as u8),
                2 => (Class::Batch, 0),
                3 => (Class::Iso, 0),
                _ => (Class::Normal, 0),
            };
            m.set_class(task, class, rt_priority);
        }
        (6, Some(task), _) => m.set_cpus(task, rng.one_of(sets).expect("set 0 is always there")),
        (_, None, _) => drop(m.start(&NewTask { mm: 7, ..normal(0) })),
        _ => {}
    }
}

/// The CPUs that were asked to reschedule do.
fn obey(m: &mut Machine) {
    for cpu in 0..m.curr.len() as u32 {
        if m.host.need_resched(CpuId(cpu)) {
            m.schedule(cpu);
        }
    }
    m.asked();
}

/// A CPU may idle only if no waiting task may use it.
fn assert_conserving(m: &mut Machine) {
    for cpu in 0..m.curr.len() as u32 {
        let waiting: Vec<TaskId> = m.those(Place::Waiting);
        let may_run = waiting.iter().any(|&t| m.host.allowed(t, CpuId(cpu)));
        if m.running(cpu).is_none() && may_run {
            assert!(m.schedule(cpu).is_some(), "CPU {cpu} idles");
        }
    }
}
