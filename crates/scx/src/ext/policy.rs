//! A scheduler as a policy of the simulator: the hooks of policy/policy.h.
//!
//! Each hook does what the kernel does around the class at that point.  Where the simulator has one hook for what
//! the kernel does in two steps, the comment says so.

use std::ffi::{c_void, CString};
use std::sync::Arc;

use schedlab_policy::{
    ask, deq as hook_deq, enq as hook_enq, ffi, instance_of, Instance, InstanceMaker, Platform,
    Policy, Prev,
};
use schedlab_trace::{GroupId, TaskId};

use super::class::Next;
use super::consts::{deq, enq, pf, task, wake, NONE};
use super::timers::{PROGRAMS, USER_SPACE, WATCHDOG};
use super::tracepoints::Tracepoint;
use super::{Class, Op, OpsState, STOPPER, UPTIME_NS};
use crate::machine::{Machine, Topology};
use crate::Image;

/// What the simulator is told by pointer, and what it told us.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Why the run ends; the host reads it after the hook.
    error: Option<CString>,
    /// Names of tasks, as task_struct.comm has them.
    names: Vec<[u8; 16]>,
    /// The task that ran until now on the CPU that picks has exited.
    exited: bool,
}

impl Told {
    /// A task's name: at most 15 bytes.
    pub fn name(&self, t: u32) -> [u8; 16] {
        self.names.get(t as usize).copied().unwrap_or_default()
    }
}

/// TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE and TASK_DEAD.
const INTERRUPTIBLE: u32 = 1;
const UNINTERRUPTIBLE: u32 = 2;
const DEAD: u32 = 0x80;

/// A scheduler, loaded and attached, as a policy of this name.
///
/// What the policy consists of lives as long as the program, as compiled policies do.
pub fn policy(image: Arc<Image>, name: &str, summary: &str) -> Policy {
    policy_with(image, name, summary, &[])
}

/// The same, with what can be set of it.
pub fn policy_with(
    image: Arc<Image>,
    name: &str,
    summary: &str,
    tunables: &'static [ffi::Tunable],
) -> Policy {
    let table = table(name, summary, tunables);
    let table = match image.looks_at_groups() {
        true => with_groups(
            table,
            image
                .ops()
                .programs
                .contains_key(Op::CgroupSetBandwidth.name()),
        ),
        false => table,
    };
    let maker: &'static Maker = Box::leak(Box::new(Maker { image }));
    // SAFETY: the hooks below are written for what Maker makes.
    unsafe { Policy::in_rust(Box::leak(Box::new(table)), maker) }
}

/// A scheduler that is not loaded yet: it can be asked for its name and what can be set, and does not run.
pub fn declared(name: &str, tunables: &'static [ffi::Tunable]) -> Policy {
    let table = table(name, "sched_ext scheduler", tunables);
    // SAFETY: no instance is ever made, so no hook is ever called.
    unsafe { Policy::in_rust(Box::leak(Box::new(table)), &NotLoaded) }
}

struct NotLoaded;

impl InstanceMaker for NotLoaded {
    fn make(&self, _: &Platform, _: u64) -> Result<Box<dyn Instance>, String> {
        Err("schedulers of sched_ext run in simulations only".into())
    }
}

fn table(name: &str, summary: &str, tunables: &'static [ffi::Tunable]) -> ffi::Policy {
    let text = |text: &str| {
        let clean: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
        let text = CString::new(clean).unwrap_or_default();
        CString::into_raw(text).cast_const()
    };
    ffi::Policy {
        tunables: tunables.as_ptr(),
        nr_tunables: tunables.len() as u32,
        name: text(name),
        summary: text(summary),
        global_size: size_of::<*mut c_void>() as u32,
        lock: 1,
        init: Some(init),
        fork: Some(fork),
        exit: Some(exit),
        select_cpu: Some(select_cpu),
        enqueue: Some(enqueue),
        dequeue: Some(dequeue),
        pick_next: Some(pick_next),
        switched: Some(switched),
        tick: Some(tick),
        yield_: Some(yield_),
        set_nice: Some(set_nice),
        set_class: Some(set_class),
        set_cpumask: Some(set_cpumask),
        timer: Some(timer),
        queued: Some(queued),
        ..ffi::Policy::EMPTY
    }
}

/// The same for a scheduler that looks at groups; under any other all tasks are in the root, and runs say that groups
/// have no effect.  Limits (cpu.max) are the business of ops.cgroup_set_bandwidth().
fn with_groups(table: ffi::Policy, and_limits: bool) -> ffi::Policy {
    ffi::Policy {
        group_init: Some(group_init),
        group_move: Some(group_move),
        group_set_weight: Some(group_set_weight),
        group_set_quota: and_limits.then_some(group_set_quota as _),
        ..table
    }
}

struct Maker {
    image: Arc<Image>,
}

impl InstanceMaker for Maker {
    fn make(&self, platform: &Platform, seed: u64) -> Result<Box<dyn Instance>, String> {
        let topology = Topology {
            cpus: platform.cpus.to_vec(),
        };
        let machine = self.image.machine(&topology, seed);
        let machine = machine.map_err(|error| error.to_string())?;
        Ok(Box::new(Running(Box::into_raw(machine))))
    }
}

/// One machine under the scheduler; hooks have its address.
struct Running(*mut Machine);

// SAFETY: it owns the machine, which is Send.
unsafe impl Send for Running {}

impl Instance for Running {
    fn address(&mut self) -> *mut c_void {
        self.0.cast()
    }

    fn name_task(&mut self, task: TaskId, name: &str) {
        // SAFETY: no hook runs, so nobody else uses the machine.
        let machine = unsafe { &mut *self.0 };
        let names = &mut machine.ext.told.names;
        if names.len() <= task.index() {
            names.resize(task.index() + 1, [0; 16]);
        }
        let kept = name.len().min(15);
        names[task.index()] = [0; 16];
        names[task.index()][..kept].copy_from_slice(&name.as_bytes()[..kept]);
    }

    fn name_group(&mut self, group: GroupId, name: &str) {
        // SAFETY: as above.
        let machine = unsafe { &mut *self.0 };
        let names = &mut machine.ext.groups.names;
        names.resize(names.len().max(group.index() + 1), String::new());
        names[group.index()] = name.into();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: from Box::into_raw() in make(), dropped once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The machine whose hook is called, at the time and on the CPU of the call.
///
/// # Safety
/// `s` is what a hook was given; the reference is used for the time of the hook only.
unsafe fn machine<'a>(s: *mut ffi::Sched) -> &'a mut Machine {
    // SAFETY: the caller's promise; make() gave the host a machine's address.
    let (m, now, cpu) = unsafe {
        let m = instance_of(s).cast::<Machine>();
        (&mut *m, (*s).now, (*s).this_cpu)
    };
    m.sched = s;
    m.now_ns = now + UPTIME_NS;
    m.this_cpu = cpu;
    m
}

// ---- what the simulator is told ---------------------------------------------------

impl Machine {
    /// Period of the tick in ns: a jiffy.
    pub(super) fn tick_ns(&self) -> u64 {
        // SAFETY: a hook is being called.
        unsafe { (*self.sched).tick_ns }.max(1)
    }

    pub(super) fn tell_resched(&mut self, cpu: u32) {
        // SAFETY: a hook is being called, and the CPU exists.
        unsafe { ask::resched_cpu(self.sched, cpu) }
    }

    pub(super) fn tell_moved(&mut self, t: u32, cpu: u32) {
        let public = self.ext.task(t).public;
        // SAFETY: as above, and the task is one of the simulator's.
        unsafe { ask::move_task(self.sched, public, cpu) }
    }

    /// So many tasks were looked at, which takes time.
    pub(super) fn examined(&mut self, n: u32) {
        // SAFETY: as above.
        unsafe { ask::examined(self.sched, n) }
    }

    /// Starts a timer of the policy, or stops it.
    pub(super) fn tell_timer(&mut self, id: u32, delay_ns: Option<u64>) {
        // SAFETY: as above.
        unsafe {
            match delay_ns {
                Some(delay) => ask::timer_start(self.sched, id, delay),
                None => ask::timer_stop(self.sched, id),
            }
        }
    }

    /// The watchdog looks again after half its time.
    pub(super) fn tell_watchdog(&mut self) {
        let half = self.ext.timeout_ns / 2;
        self.tell_timer(WATCHDOG, Some(half));
    }

    /// The end of a hook: what was put off happens, and the simulator learns of the scheduler's end.
    fn finish(&mut self) {
        self.irq_works();
        self.update_timers();
        self.wake_user_space();
        if self.ext.exit().is_some() {
            self.tell_end();
        }
    }

    #[cold]
    fn tell_end(&mut self) {
        let Some(exit) = self.end() else { return };
        let op = exit
            .op
            .map_or(String::new(), |op| format!(" (in ops.{})", op.name()));
        let (name, reason) = (&self.ops.name, exit.kind.reason());
        let text = format!("sched_ext: {name}: {reason}: {}{op}", exit.message);
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        let text = self.ext.told.error.insert(text);
        let task = exit.task.and_then(|task| self.ext.tasks.get(task.index()));
        let public = task.map_or(std::ptr::null_mut(), |task| task.public);
        // SAFETY: as above; the text lives as long as the machine.
        unsafe { ask::policy_error(self.sched, text.as_ptr(), public) }
    }

    // ---- what the hooks do ---------------------------------------------------------

    fn enqueue_hook(&mut self, t: u32, cpu: u32, flags: u32) {
        let moved = self.ext.task(t).cpu != cpu;
        if flags & (hook_enq::MOVE | hook_enq::NEW) == 0 {
            self.trace_waking(t);
        }
        if moved && flags & hook_enq::NEW == 0 {
            self.trace_migration(t, cpu);
        }
        self.note_task_cpu(t, cpu);
        self.set_run_state(t, 0, 1);
        self.update_rq_clock(cpu);
        self.ext.task_mut(t).waking = false;
        if self.ext.task(t).class == Class::Rt {
            self.enqueue_rt(cpu, t);
            return self.trace_wakeup(t, flags);
        }
        let selected = std::mem::take(&mut self.ext.task_mut(t).selected);
        if flags & hook_enq::MOVE != 0 {
            self.activate_task(cpu, t, 0);
        } else if flags & hook_enq::NEW != 0 {
            self.enqueue_task(cpu, t, enq::NOCLOCK | enq::INITIAL);
        } else {
            let selected = if selected { enq::CPU_SELECTED } else { 0 };
            let migrated = if moved { enq::MIGRATED } else { 0 };
            let flags = enq::WAKEUP | enq::NOCLOCK | selected | migrated;
            self.enqueue_task(cpu, t, flags);
        }
        self.wakeup_preempt(cpu, Class::Ext);
        self.trace_wakeup(t, flags);
        if flags & hook_enq::MOVE == 0 {
            self.run_deferred(cpu); // task_woken_scx()
        }
    }

    /// trace_sched_waking(), once for each wakeup: of a task with one CPU nobody asks where it shall go.
    fn trace_waking(&mut self, t: u32) {
        if !std::mem::replace(&mut self.ext.task_mut(t).waking, true) {
            let address = self.ext.task(t).address;
            self.trace(Tracepoint::Waking, &[address]);
        }
    }

    /// trace_sched_wakeup() or trace_sched_wakeup_new().
    fn trace_wakeup(&mut self, t: u32, flags: u32) {
        let address = self.ext.task(t).address;
        if flags & hook_enq::NEW != 0 {
            self.trace(Tracepoint::WakeupNew, &[address]);
        } else if flags & hook_enq::MOVE == 0 {
            self.trace(Tracepoint::Wakeup, &[address]);
        }
    }

    fn dequeue_hook(&mut self, t: u32, flags: u32) {
        let cpu = self.ext.task(t).cpu;
        self.update_rq_clock(cpu);
        if flags & hook_deq::EXIT != 0 {
            let (flags, address) = (self.pf(t), self.ext.task(t).address);
            self.set_pf(t, flags | pf::EXITING);
            if self.is_heard(Tracepoint::ProcessExit) {
                let last = u64::from(self.is_last_of_process(t));
                self.trace(Tracepoint::ProcessExit, &[address, last]);
            }
            // sched_autogroup_exit_task(): of kernels with CONFIG_SCHED_AUTOGROUP, as distributions have it.
            self.sched_change(t, deq::MOVE, |_| ());
        }
        let sleeps = flags & (hook_deq::SLEEP | hook_deq::EXIT) != 0;
        if sleeps {
            let state = match flags {
                flags if flags & hook_deq::EXIT != 0 => DEAD,
                flags if flags & hook_deq::UNINTERRUPTIBLE != 0 => UNINTERRUPTIBLE,
                _ => INTERRUPTIBLE,
            };
            self.set_run_state(t, state, 0);
        }
        if self.ext.task(t).class == Class::Rt {
            return self.dequeue_rt(cpu, t);
        }
        if sleeps {
            // block_task(): TASK_DEAD is one of TASK_SPECIAL.
            let special = match flags & hook_deq::EXIT {
                0 => 0,
                _ => deq::SPECIAL,
            };
            return self.dequeue_task(cpu, t, deq::SLEEP | deq::NOCLOCK | special);
        }
        if self.ext.rq(cpu).curr == t {
            // The stopper takes the CPU, and then the task from it.
            self.put_prev_task(cpu, t, Next::Stopper);
            self.ext.rq_mut(cpu).curr = STOPPER;
        }
        self.deactivate_task(cpu, t, deq::NOCLOCK);
    }

    /// __state and on_rq.
    fn set_run_state(&mut self, t: u32, state: u32, on_rq: u32) {
        let (at, fields) = (self.ext.task(t).address, self.ext.fields);
        self.store(at + fields.state, state);
        self.store(at + fields.on_rq, on_rq);
    }

    /// Changes an attribute of a task as sched_change_begin() and _end() do: it is taken off everything for it.
    pub(super) fn sched_change(&mut self, t: u32, more: u64, change: impl FnOnce(&mut Machine)) {
        let cpu = self.ext.task(t).cpu;
        self.update_rq_clock(cpu);
        let queued = self.has_flag(t, task::QUEUED);
        let running = self.ext.rq(cpu).curr == t;
        if self.ext.task(t).class == Class::Rt {
            return change(self);
        }
        if queued {
            self.dequeue_task(cpu, t, deq::SAVE | deq::NOCLOCK | more);
        }
        if running {
            self.put_prev_task(cpu, t, Next::Nothing);
        }
        change(self);
        if self.ext.task(t).class == Class::Rt {
            return;
        }
        if queued {
            self.enqueue_task(cpu, t, enq::RESTORE | enq::NOCLOCK | more);
        }
        if running {
            self.set_next_task(cpu, t);
        }
    }

    fn set_class_hook(&mut self, t: u32) {
        let cpu = self.ext.task(t).cpu;
        let (from, to) = (self.ext.task(t).class, self.new_class(t));
        if from == to {
            return self.sched_change(t, deq::MOVE, |m| m.reweight_task(t));
        }
        let running = self.ext.rq(cpu).curr == t;
        match to {
            Class::Rt => self.leave_class(t, cpu),
            _ => self.enter_class(t, cpu, running),
        }
        if running {
            self.ext.rq_mut(cpu).next_class = to;
        }
    }

    /// The task becomes a real-time one: switched_from_scx() is called in sched_change_begin(), before it gets its new
    /// attributes and is queued.
    fn leave_class(&mut self, t: u32, cpu: u32) {
        let queued = self.has_flag(t, task::QUEUED);
        self.sched_change(t, deq::MOVE | deq::CLASS, |m| {
            m.disable_task(t);
            m.reweight_task(t);
            m.ext.task_mut(t).class = Class::Rt;
        });
        if queued {
            self.enqueue_rt(cpu, t);
        }
    }

    /// The task was a real-time one: switching_to_scx() is called before it is queued.
    fn enter_class(&mut self, t: u32, cpu: u32, running: bool) {
        let queued = self.ext.task(t).rt_since.is_some();
        self.dequeue_rt(cpu, t);
        self.describe_class(t);
        self.come_to_class(t);
        if queued {
            // ENQUEUE_HEAD: its priority has become lower.
            let flags = enq::RESTORE | enq::NOCLOCK | enq::MOVE | enq::CLASS | enq::HEAD;
            self.enqueue_task(cpu, t, flags);
        }
        if running {
            self.set_next_task(cpu, t);
            self.resched_curr(cpu); // A better task may have waited.
        }
    }

    fn is_queued(&self, t: u32) -> bool {
        let found = self.ext.task(t);
        match found.class {
            Class::Rt => found.rt_since.is_some(),
            _ => {
                let on_queue = self.ext.dsqs.of(t).is_some();
                self.has_flag(t, task::QUEUED) && (on_queue || found.ops_state != OpsState::None)
            }
        }
    }
}

// ---- the hooks ----------------------------------------------------------------------

/// The number of a task.
///
/// # Safety
/// `p` is a task of the simulator.
unsafe fn id(p: *const ffi::Task) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*p).id }
}

/// Of a task that may be absent.
///
/// # Safety
/// `p` is a task of the simulator, or null.
unsafe fn opt_id(p: *const ffi::Task) -> Option<u32> {
    // SAFETY: the caller's promise.
    (!p.is_null()).then(|| unsafe { id(p) })
}

// SAFETY (of every hook): the host calls it with its machine and tasks of it, as policy.h says, one at a time.

unsafe extern "C" fn init(s: *mut ffi::Sched) -> i32 {
    let m = unsafe { machine(s) };
    m.enable();
    m.run_user_space();
    m.finish();
    -i32::from(m.ext.exit().is_some())
}

unsafe extern "C" fn fork(s: *mut ffi::Sched, parent: *mut ffi::Task, child: *mut ffi::Task) {
    let m = unsafe { machine(s) };
    let parent = unsafe { opt_id(parent) };
    m.fork_task(child, parent);
    m.finish();
}

unsafe extern "C" fn exit(s: *mut ffi::Sched, p: *mut ffi::Task, _reaper: *mut ffi::Task) {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.free_task(t);
    m.finish();
}

unsafe extern "C" fn select_cpu(s: *mut ffi::Sched, p: *mut ffi::Task, flags: u32) -> u32 {
    let (m, t) = unsafe { (machine(s), id(p)) };
    let cpu = if flags & hook_enq::MOVE != 0 {
        m.select_allowed(t)
    } else if flags & (hook_enq::EXEC | hook_enq::NEW) == hook_enq::EXEC {
        m.ext.task(t).cpu // WF_EXEC: sched_ext does not move it.
    } else if m.ext.task(t).class == Class::Rt {
        m.select_rt(t)
    } else {
        if flags & hook_enq::NEW == 0 {
            m.trace_waking(t);
        }
        m.clear_direct_dispatch(t);
        let sync = match flags & hook_enq::SYNC {
            0 => 0,
            _ => wake::SYNC,
        };
        let kind = match flags & hook_enq::NEW {
            0 => wake::TTWU,
            _ => wake::FORK,
        };
        m.select_task_rq(t, kind | sync)
    };
    m.finish();
    cpu
}

unsafe extern "C" fn enqueue(s: *mut ffi::Sched, p: *mut ffi::Task, flags: u32) {
    let (m, t, cpu) = unsafe { (machine(s), id(p), (*p).cpu) };
    m.enqueue_hook(t, cpu, flags);
    m.finish();
}

unsafe extern "C" fn dequeue(s: *mut ffi::Sched, p: *mut ffi::Task, flags: u32) {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.dequeue_hook(t, flags);
    m.finish();
}

unsafe extern "C" fn pick_next(
    s: *mut ffi::Sched,
    cpu: u32,
    prev: *mut ffi::Task,
    why: u32,
) -> *mut ffi::Task {
    let m = unsafe { machine(s) };
    m.ext.told.exited = why == Prev::Exited as u32;
    let next = m.pick_next_task(cpu);
    let next = match next {
        NONE => std::ptr::null_mut(),
        next => m.ext.task(next).public,
    };
    if next == prev {
        // There is no switch, so switched() is not called.
        m.balance_callbacks(cpu);
        m.finish();
    } else if m.ext.exit().is_some() {
        m.finish();
    }
    next
}

unsafe extern "C" fn switched(
    s: *mut ffi::Sched,
    cpu: u32,
    prev: *mut ffi::Task,
    next: *mut ffi::Task,
) {
    let m = unsafe { machine(s) };
    let (prev, next) = unsafe { (opt_id(prev), opt_id(next)) };
    m.trace_switch(cpu, prev.unwrap_or(NONE), next.unwrap_or(NONE));
    m.count_busy(cpu, prev.is_some());
    m.show_switch(cpu, prev.unwrap_or(NONE), next.unwrap_or(NONE));
    if let Some(prev) = prev.filter(|_| std::mem::take(&mut m.ext.told.exited)) {
        m.dead_task(prev);
    }
    m.balance_callbacks(cpu);
    m.finish();
}

unsafe extern "C" fn tick(s: *mut ffi::Sched, cpu: u32, p: *mut ffi::Task) {
    let m = unsafe { machine(s) };
    let Some(t) = (unsafe { opt_id(p) }) else {
        return;
    };
    m.update_rq_clock(cpu);
    m.account_tick(t);
    match m.ext.task(t).class {
        Class::Rt => m.tick_rt(cpu, t),
        _ => m.task_tick(cpu, t),
    }
    m.finish();
}

unsafe extern "C" fn yield_(s: *mut ffi::Sched, p: *mut ffi::Task) -> u32 {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.update_rq_clock(m.ext.task(t).cpu);
    match m.ext.task(t).class {
        Class::Rt => m.requeue_rt(t),
        _ => {
            m.yield_task(t);
        }
    }
    m.finish();
    1
}

unsafe extern "C" fn set_nice(s: *mut ffi::Sched, p: *mut ffi::Task, _old: i32) {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.sched_change(t, 0, |m| m.reweight_task(t));
    m.finish();
}

unsafe extern "C" fn set_class(s: *mut ffi::Sched, p: *mut ffi::Task, _class: u32, _priority: u32) {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.set_class_hook(t);
    m.finish();
}

unsafe extern "C" fn set_cpumask(s: *mut ffi::Sched, p: *mut ffi::Task) {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.sched_change(t, 0, |m| {
        m.copy_cpus(t);
        if m.ext.task(t).class == Class::Ext {
            let mask = m.ext.task(t).address + m.ext.fields.cpus_mask;
            m.task_op(Op::SetCpumask, t, &[mask]);
        }
    });
    m.finish();
}

unsafe extern "C" fn group_init(s: *mut ffi::Sched, g: *mut ffi::Group) {
    let m = unsafe { machine(s) };
    m.add_group(unsafe { &*g });
    m.finish();
}

unsafe extern "C" fn group_move(s: *mut ffi::Sched, p: *mut ffi::Task, _from: *mut ffi::Group) {
    let (m, t) = unsafe { (machine(s), id(p)) };
    m.move_to_group(t);
    m.finish();
}

unsafe extern "C" fn group_set_weight(s: *mut ffi::Sched, g: *mut ffi::Group) {
    let m = unsafe { machine(s) };
    m.set_group_weight(unsafe { &*g });
    m.finish();
}

unsafe extern "C" fn group_set_quota(s: *mut ffi::Sched, g: *mut ffi::Group) {
    let m = unsafe { machine(s) };
    m.set_group_bandwidth(unsafe { &*g });
    m.finish();
}

unsafe extern "C" fn timer(s: *mut ffi::Sched, which: u32) {
    let m = unsafe { machine(s) };
    match which {
        PROGRAMS => m.expire_timers(),
        USER_SPACE => m.run_user_space(),
        _ => {
            m.check_timeouts();
            m.tell_watchdog();
        }
    }
    m.finish();
}

unsafe extern "C" fn queued(s: *mut ffi::Sched, p: *mut ffi::Task) -> u32 {
    let (m, t) = unsafe { (machine(s), id(p)) };
    u32::from(m.is_queued(t))
}
