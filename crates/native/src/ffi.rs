//! The C side's types, field by field as in `policy/types.h` and `policy/policy.h`.

#![allow(missing_docs)] // The headers document them.

use std::ffi::{c_char, c_void};

pub const MAX_CPUS: usize = 1024;
pub const MAX_GROUP_DEPTH: u32 = 16;
pub const RESCHED: u32 = 1;
pub const LOCKS_ALL: u32 = !0;
pub const LOCKS_NONE: u32 = !0 - 1;
pub const MAX_TIMERS: usize = 4;
pub const MAX_COUNTERS: usize = 16;

#[repr(C)]
#[derive(Debug)]
pub struct List {
    pub next: *mut List,
    pub prev: *mut List,
}

#[repr(C)]
#[derive(Clone, PartialEq, Eq)]
pub struct CpuMask {
    pub bits: [u64; MAX_CPUS / 64],
}

#[repr(C)]
pub struct TaskHost {
    pub moved_next: *mut Task,
    pub moved_from: u32,
    pub work_left_ns: u64,
    pub work_left_at: u64,
}

#[repr(C)]
pub struct GroupCpu {
    pub group: *mut Group,
    pub changed_next: *mut GroupCpu,
    pub cpu: u32,
    pub throttled: u32,
}

#[repr(C)]
pub struct GroupHost {
    pub cpus: *mut GroupCpu,
    pub cpu_state: *mut c_void,
}

#[repr(C)]
pub struct Group {
    pub parent: *mut Group,
    pub quota_ns: u64,
    pub period_ns: u64,
    pub burst_ns: u64,
    pub id: u32,
    pub depth: u32,
    pub shares: u32,
    pub idle: u32,
    pub host_only: GroupHost,
}

#[repr(C)]
pub struct Task {
    pub allowed: *const CpuMask,
    pub parent: *mut Task,
    pub group: *mut Group,
    pub slice_ns: u64,
    pub all: List,
    pub id: u32,
    pub cpu: u32,
    pub on_cpu: u32,
    pub nice: i32,
    pub class: u32,
    pub rt_priority: u32,
    pub mm: u32,
    pub flags: u32,
    pub nr_allowed: u32,
    pub util_min: u32,
    pub util_max: u32,
    pub runtime_ns: u64,
    pub deadline_ns: u64,
    pub period_ns: u64,
    pub host_only: TaskHost,
}

#[repr(C)]
pub struct CpuHost {
    pub resched_next: u32,
    pub hrtick_next: u32,
}

#[repr(C)]
pub struct Cpu {
    pub curr: *mut Task,
    pub idle_since: u64,
    pub hrtick_expires: u64,
    pub need_resched: u32,
    pub core: u32,
    pub llc: u32,
    pub node: u32,
    pub capacity: u32,
    pub host_only: CpuHost,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Work {
    pub examined: u32,
    pub recalculations: u32,
    pub recalculated: u32,
    pub locks: u32,
}

pub type Disturb = unsafe extern "C" fn(*mut c_void, *mut Sched, u32) -> u32;

#[repr(C)]
pub struct SchedHost {
    pub rng: u64,
    pub global_state: *mut c_void,
    pub cpu_state: *mut c_void,
    pub tunables: *const c_void,
    pub error: *const c_char,
    pub error_task: *mut Task,
    pub error_row: u64,
    pub moved: *mut Task,
    pub throttles: *mut GroupCpu,
    pub resched: u32,
    pub hrticks: u32,
    pub loops_left: u32,
    pub requests: u32,
    pub timers_changed: u32,
    pub zero: u32,
    pub own_lock: u32,
    pub locked: u32,
    pub nr_locked: u32,
    pub lock_fault: u32,
    pub lock_fault_cpu: u32,
    pub disturb: Option<Disturb>,
    pub disturbance: *mut c_void,
    pub work: Work,
    pub timer_expires: [u64; MAX_TIMERS],
    pub counters: [u64; MAX_COUNTERS],
}

#[repr(C)]
pub struct Sched {
    pub now: u64,
    pub tick_ns: u64,
    pub this_cpu: u32,
    pub nr_cpus: u32,
    pub nr_tasks: u32,
    pub smp: u32,
    pub lazy: u32,
    pub tasks: *mut List,
    pub cpus: *mut Cpu,
    pub host_only: SchedHost,
}

#[repr(C)]
pub struct Tunable {
    pub name: *const c_char,
    pub initial: *const i64,
    pub rows: u64,
    pub min: i64,
    pub max: i64,
    pub doc: *const c_char,
}

#[repr(C)]
pub struct Variant {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub set: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Promise {
    pub conserving: u32,
    pub nice: u32,
    pub starvation_bound_ns: u64,
    /// May be null.
    pub bound_tunables: *const c_char,
}

type TaskHook = Option<unsafe extern "C" fn(*mut Sched, *mut Task, u32)>;
type GroupHook = Option<unsafe extern "C" fn(*mut Sched, *mut Group)>;
type TwoTaskHook = Option<unsafe extern "C" fn(*mut Sched, *mut Task, *mut Task)>;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Policy {
    pub name: *const c_char,
    pub summary: *const c_char,
    pub global_size: u32,
    pub cpu_size: u32,
    pub task_size: u32,
    pub group_size: u32,
    pub group_cpu_size: u32,
    pub nr_tunables: u32,
    pub nr_variants: u32,
    pub nr_counters: u32,
    pub tunables: *const Tunable,
    pub variants: *const Variant,
    pub counters: *const *const c_char,
    pub lock: u32,
    pub tick_when_idle: u32,
    pub knows_future: u32,
    pub promise: Promise,
    pub init: Option<unsafe extern "C" fn(*mut Sched) -> i32>,
    pub fork: TwoTaskHook,
    pub exit: TwoTaskHook,
    pub select_cpu: Option<unsafe extern "C" fn(*mut Sched, *mut Task, u32) -> u32>,
    pub enqueue: TaskHook,
    pub dequeue: TaskHook,
    pub pick_next: Option<unsafe extern "C" fn(*mut Sched, u32, *mut Task, u32) -> *mut Task>,
    pub switched: Option<unsafe extern "C" fn(*mut Sched, u32, *mut Task, *mut Task)>,
    pub tick: Option<unsafe extern "C" fn(*mut Sched, u32, *mut Task)>,
    pub yield_: Option<unsafe extern "C" fn(*mut Sched, *mut Task) -> u32>,
    pub set_nice: Option<unsafe extern "C" fn(*mut Sched, *mut Task, i32)>,
    pub set_class: Option<unsafe extern "C" fn(*mut Sched, *mut Task, u32, u32)>,
    pub set_slice: Option<unsafe extern "C" fn(*mut Sched, *mut Task)>,
    pub set_cpumask: Option<unsafe extern "C" fn(*mut Sched, *mut Task)>,
    pub group_init: GroupHook,
    pub group_move: Option<unsafe extern "C" fn(*mut Sched, *mut Task, *mut Group)>,
    pub group_set_weight: GroupHook,
    pub group_set_quota: GroupHook,
    pub timer: Option<unsafe extern "C" fn(*mut Sched, u32)>,
    pub hrtick: Option<unsafe extern "C" fn(*mut Sched, u32, *mut Task)>,
    pub priority: Option<unsafe extern "C" fn(*mut Sched, *mut Task) -> i32>,
    pub queued: Option<unsafe extern "C" fn(*mut Sched, *mut Task) -> u32>,
    pub check: Option<unsafe extern "C" fn(*mut Sched)>,
}

impl Policy {
    /// A table without a name and without hooks.
    pub const EMPTY: Policy = Policy {
        name: std::ptr::null(),
        summary: c"".as_ptr(),
        global_size: 0,
        cpu_size: 0,
        task_size: 0,
        group_size: 0,
        group_cpu_size: 0,
        nr_tunables: 0,
        nr_variants: 0,
        nr_counters: 0,
        tunables: std::ptr::null(),
        variants: std::ptr::null(),
        counters: std::ptr::null(),
        lock: 0,
        tick_when_idle: 0,
        knows_future: 0,
        promise: Promise {
            conserving: 0,
            nice: 0,
            starvation_bound_ns: 0,
            bound_tunables: std::ptr::null(),
        },
        init: None,
        fork: None,
        exit: None,
        select_cpu: None,
        enqueue: None,
        dequeue: None,
        pick_next: None,
        switched: None,
        tick: None,
        yield_: None,
        set_nice: None,
        set_class: None,
        set_slice: None,
        set_cpumask: None,
        group_init: None,
        group_move: None,
        group_set_weight: None,
        group_set_quota: None,
        timer: None,
        hrtick: None,
        priority: None,
        queued: None,
        check: None,
    };
}

// SAFETY: tables are constants; nothing writes to them or to the data they point to.
unsafe impl Sync for Policy {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    #[cfg_attr(miri, ignore = "Miri runs no C")]
    fn layouts_agree_with_c() {
        let rust = [
            size_of::<Task>(),
            offset_of!(Task, id),
            offset_of!(Task, util_max),
            offset_of!(Task, period_ns),
            size_of::<Cpu>(),
            offset_of!(Cpu, need_resched),
            offset_of!(Cpu, capacity),
            size_of::<Sched>(),
            offset_of!(Sched, tasks),
            offset_of!(Task, host_only.moved_next),
            offset_of!(Task, host_only.moved_from),
            offset_of!(Task, host_only.work_left_at),
            offset_of!(Cpu, host_only.resched_next),
            offset_of!(Cpu, host_only.hrtick_next),
            size_of::<Group>(),
            offset_of!(Group, idle),
            offset_of!(Group, host_only.cpu_state),
            size_of::<GroupCpu>(),
            offset_of!(GroupCpu, throttled),
            offset_of!(Sched, host_only.rng),
            offset_of!(Sched, host_only.error),
            offset_of!(Sched, host_only.disturb),
            offset_of!(Sched, host_only.work),
            offset_of!(Sched, host_only.counters),
            size_of::<Policy>(),
            offset_of!(Policy, promise),
            offset_of!(Policy, init),
            offset_of!(Policy, check),
            size_of::<Tunable>(),
            size_of::<Variant>(),
            size_of::<CpuMask>(),
        ];
        unsafe extern "C" {
            static schedlab_layout: [u64; 31];
        }
        // SAFETY: layout.c defines exactly this array.
        let c = unsafe { schedlab_layout };
        assert_eq!(rust.map(|n| n as u64), c);
    }
}
