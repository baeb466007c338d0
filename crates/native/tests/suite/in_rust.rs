//! Policies in Rust: their requests are those of policy/host.h, and each host has an instance of its own.

use std::ffi::c_void;
use std::ptr::null_mut;

use schedlab_policy::{
    ask, ffi, instance_of, Clamps, Class, Fault, Host, Instance, InstanceMaker, NewTask, Platform,
    Policy, Prev, Topology, Tuned,
};
use schedlab_trace::{CpuId, Ns, TaskId, Time};

/// Asks for one of everything, as the hooks below do.
const IN_C: &str = r#"
#include "policy.h"
POLICY_STATE(NO_STATE, NO_STATE, NO_STATE)

static void asker_enqueue(sched_t *s, task_t *p, u32 flags)
{
	resched_cpu(s, 2);
	resched_cpu(s, 1);
	resched_cpu(s, 2);
	move_task(s, p, p->cpu);
	move_task(s, p, 1);
	move_task(s, p, 2);
	examined(s, 3);
	timer_start(s, 2, 40);
	timer_start(s, 1, 0);
	timer_start(s, 3, 7);
	timer_stop(s, 3);
}

static void asker_dequeue(sched_t *s, task_t *p, u32 flags)
{
	policy_error(s, "the first", p);
	policy_error(s, "the second", NULL);
}

static task_t *asker_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	return NULL;
}

POLICY(asker, .summary = "asks", .lock = LOCK_GLOBAL,
       .enqueue = asker_enqueue, .dequeue = asker_dequeue, .pick_next = asker_pick_next);
"#;

// SAFETY (of all hooks here): the host calls them as policy.h says.

unsafe extern "C" fn enqueue(s: *mut ffi::Sched, p: *mut ffi::Task, _: u32) {
    unsafe {
        ask::resched_cpu(s, 2);
        ask::resched_cpu(s, 1);
        ask::resched_cpu(s, 2);
        ask::move_task(s, p, (*p).cpu);
        ask::move_task(s, p, 1);
        ask::move_task(s, p, 2);
        ask::examined(s, 3);
        ask::timer_start(s, 2, 40);
        ask::timer_start(s, 1, 0);
        ask::timer_start(s, 3, 7);
        ask::timer_stop(s, 3);
    }
}

unsafe extern "C" fn dequeue(s: *mut ffi::Sched, p: *mut ffi::Task, _: u32) {
    unsafe {
        ask::policy_error(s, c"the first".as_ptr(), p);
        ask::policy_error(s, c"the second".as_ptr(), null_mut());
    }
}

unsafe extern "C" fn pick_next(
    s: *mut ffi::Sched,
    _: u32,
    _: *mut ffi::Task,
    _: u32,
) -> *mut ffi::Task {
    unsafe { (*instance_of(s).cast::<Counter>()).picks += 1 };
    null_mut()
}

/// The number of calls of pick_next(), and the names of tasks.
#[derive(Default)]
struct Counter {
    picks: u32,
    names: Vec<String>,
}

struct Counted(Box<Counter>);

impl Instance for Counted {
    fn address(&mut self) -> *mut c_void {
        (&raw mut *self.0).cast()
    }

    fn name_task(&mut self, task: TaskId, name: &str) {
        self.0.names.push(format!("{task}:{name}"));
    }
}

struct Maker {
    cpus: usize,
}

impl InstanceMaker for Maker {
    fn make(&self, platform: &Platform, _seed: u64) -> Result<Box<dyn Instance>, String> {
        match platform.cpus.len() == self.cpus {
            true => Ok(Box::new(Counted(Box::default()))),
            false => Err("made for another machine".into()),
        }
    }
}

fn in_rust() -> Policy {
    static TABLE: ffi::Policy = ffi::Policy {
        name: c"asker".as_ptr(),
        global_size: size_of::<*mut c_void>() as u32,
        lock: 0,
        enqueue: Some(enqueue),
        dequeue: Some(dequeue),
        pick_next: Some(pick_next),
        ..ffi::Policy::EMPTY
    };
    // SAFETY: the hooks are written for a Counter.
    unsafe { Policy::in_rust(&TABLE, &Maker { cpus: 3 }) }
}

fn host(policy: Policy, nr_cpus: usize) -> Result<Host, Fault> {
    let platform = Platform {
        cpus: &vec![Topology::ONE; nr_cpus],
        smp: true,
        lazy: false,
        hz: 100,
    };
    Host::new(&Tuned::defaults(policy), &platform, 1)
}

/// The requests that the host reads.
fn seen(policy: Policy) -> String {
    let mut host = host(policy, 3).unwrap();
    let new = NewTask {
        nice: 0,
        class: Class::Normal,
        rt_priority: 0,
        mm: 1,
        cpu_set: 0,
        cpu: CpuId(0),
        foreground: false,
        group: None,
        slice: Ns::ZERO,
        clamps: Clamps::NONE,
    };
    let task = host.add_task(&new, None);
    host.at(Time(100), CpuId(0));
    host.enqueue(task, 0).unwrap();
    let asked = host.take_requests();
    let rescheds: Vec<_> = std::iter::from_fn(|| host.take_resched()).collect();
    let moved: Vec<_> = std::iter::from_fn(|| host.take_moved()).collect();
    let (work, timers) = (host.take_work(), host.take_timers());
    let cpu = host.task(task).cpu;
    let error = host.dequeue(task, 0).unwrap_err();
    format!("{asked} {rescheds:?} {moved:?} {cpu} {work:?} {timers:?} {error}")
}

#[test]
fn requests_are_those_of_host_h() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("asker.c");
    std::fs::write(&source, IN_C).unwrap();
    let in_c = Policy::compile(&source).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen(in_rust()), seen(in_c));
}

#[test]
fn each_host_has_an_instance() {
    let (mut one, mut two) = (host(in_rust(), 3).unwrap(), host(in_rust(), 3).unwrap());
    for _ in 0..2 {
        one.at(Time(1), CpuId(0));
        one.pick_next(CpuId(0), None, Prev::None).unwrap();
    }
    two.pick_next(CpuId(0), None, Prev::None).unwrap();
    one.name_task(TaskId(0), "hog");
    // SAFETY: the first word is the instance's address, and no hook runs.
    let counter = |host: &Host| unsafe { &**host.global_state().cast::<*const Counter>() };
    assert_eq!((counter(&one).picks, counter(&two).picks), (2, 1));
    assert_eq!(counter(&one).names, ["0:hog"]);
    assert!(one.wants_names());
}

#[test]
fn an_instance_may_refuse_a_machine() {
    let fault = host(in_rust(), 2).err().unwrap().to_string();
    assert!(fault.contains("made for another machine"), "{fault}");
}
