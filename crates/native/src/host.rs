//! One machine under one policy.
//!
//! Rust and C share the machine, its CPUs and tasks. Rust accesses them field by field through raw
//! pointers (`get!`, `set!`, `replace!`) and makes no reference to a field that a hook may change.

use std::ffi::{c_void, CStr};
use std::ptr::{self, null_mut, NonNull};

use schedlab_trace::{CpuId, Ns, TaskId, Time};

use crate::disturbance::{disturbed_lock, Disturber, Order};
use crate::fault::{Fault, FaultKind, Hook};
use crate::groups::Groups;
use crate::memory::{Block, Guard, TaskSlab};
use crate::seed::first_state;
use crate::{
    ffi, process, Disturbance, Instance, LockScope, Met, NewTask, Platform, Policy, Tuned, MAX_CPUS,
};

/// Reads a field through a pointer into a [`Host`]'s shared memory.
macro_rules! get {
    ($at:expr, $($field:ident).+) => {
        // SAFETY: a host's pointers are to its own memory, aligned and initialised.
        unsafe { (&raw const (*$at).$($field).+).read() }
    };
}

/// Writes a field.
macro_rules! set {
    ($at:expr, $($field:ident).+, $value:expr) => {{
        let value = $value;
        // SAFETY: as in get!; no reference to the field is alive.
        unsafe { (&raw mut (*$at).$($field).+).write(value) }
    }};
}

/// Writes a field and returns its old value.
macro_rules! replace {
    ($at:expr, $($field:ident).+, $value:expr) => {{
        let value = $value;
        // SAFETY: as in set!.
        unsafe { (&raw mut (*$at).$($field).+).replace(value) }
    }};
}

pub(crate) use {get, replace, set};

/// Most loop iterations of one hook call, as the kernel allows a BPF program.
pub const LOOP_BUDGET: u32 = 8 * 1024 * 1024;

/// Most expiries of one timer within a millisecond.
pub const MOST_EXPIRIES_PER_MS: u32 = 10_000;

/// One machine: all state of one policy, and the only access to its hooks.
pub struct Host {
    pub(crate) tuned: Tuned,
    pub(crate) table: &'static ffi::Policy,
    sched: Block,
    cpus: Block,
    all: Block,
    pub(crate) tasks: TaskSlab,
    pub(crate) groups: Groups,
    pub(crate) masks: Vec<(Box<ffi::CpuMask>, u32)>,
    // Memory that the C side points to.
    pub(crate) states: [Block; 2],
    /// Behind the states.
    pub(crate) guards: [Guard; 2],
    /// Look at the guards after every hook.
    pub(crate) watches_memory: bool,
    _tunables: Box<[i64]>,
    /// For each policy timer, then each CPU's hrtick: start of the count of expiries, and the
    /// count.
    expiries: Vec<(u64, u32)>,
    /// State of the policy's generator before the first draw.
    first_rng: u64,
    /// Owned; refuses locks and changes times in tests.
    pub(crate) disturber: Option<NonNull<Disturber>>,
    /// Only for a policy in Rust.
    pub(crate) instance: Option<Box<dyn Instance>>,
}

/// The CPU and task of a hook call, if it has them.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    /// The CPU whose run-queue lock the kernel holds; `None`: that of the task's run queue.
    pub cpu: Option<CpuId>,
    pub task: Option<TaskId>,
}

impl Subject {
    pub fn task(task: TaskId) -> Subject {
        Subject {
            cpu: None,
            task: Some(task),
        }
    }

    pub fn cpu(cpu: CpuId, task: Option<TaskId>) -> Subject {
        Subject {
            cpu: Some(cpu),
            task,
        }
    }

    pub const MACHINE: Subject = Subject {
        cpu: None,
        task: None,
    };
}

// SAFETY: everything a host points to is owned by it; policies have no other mutable state.
unsafe impl Send for Host {}

impl Host {
    /// A machine after start: the policy has initialised its state, and no task exists.
    ///
    /// # Errors
    /// A required hook is missing, or init() failed.
    ///
    /// # Panics
    /// If the platform has no CPU or more than [`MAX_CPUS`].
    pub fn new(tuned: &Tuned, platform: &Platform, seed: u64) -> Result<Host, Fault> {
        let nr = platform.cpus.len();
        assert!((1..=MAX_CPUS).contains(&nr), "1 to {MAX_CPUS} CPUs");
        let table = tuned.policy.0;
        let tunables: Box<[i64]> = tuned.values().into();
        let cpu_size = table.cpu_size as usize;
        let (global, behind_global) = Block::guarded(table.global_size as usize, 0);
        let (cpus, behind_cpus) = Block::guarded(nr * cpu_size, cpu_size);
        let mut host = Host {
            tuned: tuned.clone(),
            table,
            sched: Block::new(size_of::<ffi::Sched>()),
            cpus: Block::new(nr * size_of::<ffi::Cpu>()),
            all: Block::new(size_of::<ffi::List>()),
            tasks: TaskSlab::new(table.task_size as usize),
            groups: Groups::new(table, nr),
            masks: Vec::new(),
            states: [global, cpus],
            guards: [behind_global, behind_cpus],
            watches_memory: false,
            _tunables: tunables,
            expiries: vec![(0, 0); ffi::MAX_TIMERS + nr],
            first_rng: first_state(seed, 0),
            disturber: None,
            instance: None,
        };
        host.wire(platform);
        host.make_instance(platform, seed)?;
        host.add_cpu_set(&(0..nr as u32).collect::<Vec<_>>());
        host.require_hooks()?;
        host.call_init()?;
        Ok(host)
    }

    fn wire(&mut self, platform: &Platform) {
        let rate = self
            .tuned
            .get("hz")
            .map_or(u64::from(platform.hz), |hz| hz as u64)
            .max(1);
        let (s, head) = (self.s(), self.all.as_ptr::<ffi::List>());
        set!(s, nr_cpus, platform.cpus.len() as u32);
        set!(s, smp, u32::from(platform.smp));
        set!(s, lazy, u32::from(platform.lazy));
        set!(s, tick_ns, 1_000_000_000 / rate);
        set!(s, cpus, self.cpus.as_ptr());
        set!(s, tasks, head);
        set!(s, host_only.rng, self.first_rng);
        set!(s, host_only.global_state, self.states[0].as_void());
        set!(s, host_only.cpu_state, self.states[1].as_void());
        set!(s, host_only.tunables, self._tunables.as_ptr().cast());
        set!(head, next, head);
        set!(head, prev, head);
        for (cpu, place) in (0..).map(CpuId).zip(platform.cpus) {
            let cpu = self.cpu(cpu);
            set!(cpu, core, place.core);
            set!(cpu, llc, place.llc);
            set!(cpu, node, place.node);
            set!(cpu, capacity, place.capacity);
        }
    }

    /// Stores the address of a Rust policy's instance at the start of its state.
    fn make_instance(&mut self, platform: &Platform, seed: u64) -> Result<(), Fault> {
        let Some(maker) = self.tuned.policy.1 else {
            return Ok(());
        };
        let made = maker.make(platform, seed).map_err(|message| {
            let (task, row) = (None, None);
            self.fault(Hook::Init, FaultKind::Reported { message, task, row })
        });
        let instance = self.instance.insert(made?);
        let state = self.states[0].as_ptr::<*mut c_void>();
        // SAFETY: in_rust() has seen that there is room; blocks are aligned for pointers.
        unsafe { state.write(instance.address()) };
        Ok(())
    }

    fn require_hooks(&self) -> Result<(), Fault> {
        let needed = [
            (self.table.enqueue.is_some(), Hook::Enqueue),
            (self.table.dequeue.is_some(), Hook::Dequeue),
            (self.table.pick_next.is_some(), Hook::PickNext),
        ];
        match needed.iter().find(|(present, _)| !present) {
            Some(&(_, hook)) => Err(self.fault(hook, FaultKind::Missing)),
            None => Ok(()),
        }
    }

    // ---- the machine ----------------------------------------------------------

    /// The policy and its tunables.
    pub fn tuned(&self) -> &Tuned {
        &self.tuned
    }

    /// Has the policy drawn a random number?
    pub fn drew_random(&self) -> bool {
        get!(self.s(), host_only.rng) != self.first_rng
    }

    /// Period of the policy's tick in ns.
    pub fn tick_ns(&self) -> u64 {
        get!(self.s(), tick_ns)
    }

    /// Sets the time and CPU of the next hook calls.
    #[inline]
    pub fn at(&mut self, now: Time, cpu: CpuId) {
        set!(self.s(), now, now.0);
        set!(self.s(), this_cpu, cpu.0);
    }

    /// From now on hooks see refused locks and overlapping times; see [`Disturbance`]. For tests. A
    /// policy with one lock for all CPUs is not disturbed: the kernel refuses it no lock.
    pub fn disturb(&mut self, chosen: Disturbance) {
        if self.tuned.policy.lock_scope() == LockScope::Global {
            return;
        }
        let disturber = Box::new(Disturber::new(chosen, self.nr_cpus()));
        let disturber = Box::leak(disturber).into();
        self.drop_disturber();
        self.disturber = Some(disturber);
        set!(
            self.s(),
            host_only.disturb,
            Some(disturbed_lock as ffi::Disturb)
        );
        set!(self.s(), host_only.disturbance, disturber.as_ptr().cast());
    }

    /// The last hook's delay and locks; `None` if the host is not disturbed.
    pub fn met(&self) -> Option<&Met> {
        // SAFETY: leaked in disturb(); no hook runs now, and the next one needs the host for itself.
        self.disturber
            .map(|disturber| unsafe { &disturber.as_ref().met })
    }

    fn drop_disturber(&mut self) {
        if let Some(disturber) = self.disturber.take() {
            // SAFETY: leaked in disturb() and dropped once.
            drop(unsafe { Box::from_raw(disturber.as_ptr()) });
        }
    }

    /// Registers a set of CPUs and returns its number; the set must not be empty.
    pub fn add_cpu_set(&mut self, cpus: &[u32]) -> u32 {
        let mut mask = Box::new(ffi::CpuMask {
            bits: [0; MAX_CPUS / 64],
        });
        for &cpu in cpus {
            mask.bits[cpu as usize / 64] |= 1 << (cpu % 64);
        }
        let count = mask.bits.iter().map(|word| word.count_ones()).sum();
        assert!(count > 0, "a task needs a CPU to run on");
        self.masks.push((mask, count));
        self.masks.len() as u32 - 1
    }

    /// The policy's own counters, in the order it declares them.
    pub fn counters(&self) -> &[u64] {
        // SAFETY: hooks, which may change them, need `&mut self`.
        let all = unsafe { &(*self.s()).host_only.counters };
        &all[..ffi::MAX_COUNTERS.min(self.table.nr_counters as usize)]
    }

    pub(crate) fn nr_cpus(&self) -> usize {
        get!(self.s(), nr_cpus) as usize
    }

    /// The machine.
    #[inline]
    pub(crate) fn s(&self) -> *mut ffi::Sched {
        self.sched.as_ptr()
    }

    /// The public fields of a CPU.
    #[inline]
    pub(crate) fn cpu(&self, cpu: CpuId) -> *mut ffi::Cpu {
        assert!(cpu.index() < self.nr_cpus(), "CPU {cpu}");
        // SAFETY: checked above.
        unsafe { self.cpus.as_ptr::<ffi::Cpu>().add(cpu.index()) }
    }

    // ---- tasks ------------------------------------------------------------------

    /// A new task with the next free number. The policy does not know it yet.
    pub fn add_task(&mut self, new: &NewTask, parent: Option<TaskId>) -> TaskId {
        let id = TaskId(self.tasks.len() as u32);
        let parent = parent.map_or(null_mut(), |p| self.task_ptr(p));
        let (mask, count) = &self.masks[new.cpu_set as usize];
        let (mask, count) = (ptr::from_ref::<ffi::CpuMask>(mask), *count);
        let t = self.tasks.push();
        set!(t, allowed, mask);
        set!(t, nr_allowed, count);
        set!(t, parent, parent);
        set!(t, group, self.groups.pointer(new.group));
        set!(t, slice_ns, new.slice.0);
        set!(t, util_min, u32::from(new.clamps.min));
        set!(t, util_max, u32::from(new.clamps.max));
        set!(t, id, id.0);
        set!(t, cpu, new.cpu.0);
        set!(t, nice, i32::from(new.nice));
        set!(t, class, new.class as u32);
        set!(t, rt_priority, u32::from(new.rt_priority));
        set!(t, mm, new.mm);
        let flags = u32::from(new.mm == 0) | u32::from(new.foreground) << 1;
        set!(t, flags, flags);
        set!(t, host_only.moved_from, MAX_CPUS as u32);
        self.link(t);
        id
    }

    /// Passes a task's name to a policy that wants names, before fork().
    pub fn name_task(&mut self, task: TaskId, name: &str) {
        if let Some(instance) = &mut self.instance {
            instance.name_task(task, name);
        }
    }

    /// Does the policy want the names of tasks?
    pub fn wants_names(&self) -> bool {
        self.instance.is_some()
    }

    /// Appends to the list of all tasks.
    fn link(&mut self, task: *mut ffi::Task) {
        let head = get!(self.s(), tasks);
        let last = get!(head, prev);
        // SAFETY: a task of the slab; the address of a field is in its slot.
        let node = unsafe { &raw mut (*task).all };
        set!(node, next, head);
        set!(node, prev, last);
        set!(last, next, node);
        set!(head, prev, node);
        set!(self.s(), nr_tasks, get!(self.s(), nr_tasks) + 1);
    }

    /// Removes a reaped task from the list of all tasks; its children lose their parent.
    pub fn forget(&mut self, task: TaskId) {
        let task = self.task_ptr(task);
        let (next, prev) = (get!(task, all.next), get!(task, all.prev));
        set!(prev, next, next);
        set!(next, prev, prev);
        set!(self.s(), nr_tasks, get!(self.s(), nr_tasks) - 1);
    }

    /// Sets or clears a task's parent.
    pub fn set_parent(&mut self, task: TaskId, parent: Option<TaskId>) {
        let parent = parent.map_or(null_mut(), |p| self.task_ptr(p));
        set!(self.task_ptr(task), parent, parent);
    }

    /// The task's public fields.
    #[inline]
    pub fn task(&self, task: TaskId) -> &ffi::Task {
        // SAFETY: hooks, which may change it, need `&mut self`.
        unsafe { &*self.task_ptr(task) }
    }

    /// May the task run on this CPU?
    #[inline]
    pub fn allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        let mask = get!(self.task_ptr(task), allowed);
        // SAFETY: masks live as long as the host and are never written again.
        let word = unsafe { (*mask).bits[cpu.index() / 64] };
        word >> (cpu.0 % 64) & 1 != 0
    }

    /// The lowest CPU the task may run on.
    pub fn first_allowed(&self, task: TaskId) -> CpuId {
        (0..get!(self.s(), nr_cpus))
            .map(CpuId)
            .find(|&cpu| self.allowed(task, cpu))
            .expect("CPU sets are not empty")
    }

    /// Assigns the task to another CPU's run queue.
    pub fn set_task_cpu(&mut self, task: TaskId, cpu: CpuId) {
        set!(self.task_ptr(task), cpu, cpu.0);
    }

    /// Sets a periodic task's runtime in each period, its deadline after a wakeup, and its period.
    /// Called before fork().
    pub fn set_period(&mut self, task: TaskId, runtime: Ns, deadline: Ns, period: Ns) {
        let t = self.task_ptr(task);
        set!(t, runtime_ns, runtime.0);
        set!(t, deadline_ns, deadline.0);
        set!(t, period_ns, period.0);
    }

    /// Sets the CPU time that the task needs until it sleeps or ends, for policies that may know
    /// it.
    pub fn set_work_left(&mut self, task: TaskId, left: Ns, now: Time) {
        let t = self.task_ptr(task);
        set!(t, host_only.work_left_ns, left.0);
        set!(t, host_only.work_left_at, now.0);
    }

    /// exec(): changes the task's address space.
    pub fn set_mm(&mut self, task: TaskId, mm: u32) {
        set!(self.task_ptr(task), mm, mm);
    }

    /// A task's address, to compare with another task's parent.
    pub fn task_pointer(&self, task: TaskId) -> *mut ffi::Task {
        self.task_ptr(task)
    }

    /// The policy's state of a task, for tests.
    pub fn task_state(&self, task: TaskId) -> *const u8 {
        // SAFETY: one past the public fields is still within the slot.
        unsafe { self.task_ptr(task).add(1).cast() }
    }

    /// The policy's state of the machine, for tests.
    pub fn global_state(&self) -> *const u8 {
        self.states[0].as_ptr()
    }

    /// The policy's state of a CPU, for tests.
    pub fn cpu_state(&self, cpu: CpuId) -> *const u8 {
        let size = self.table.cpu_size as usize;
        assert!(cpu.index() < self.nr_cpus(), "CPU {cpu}");
        // SAFETY: there is one such state for each CPU.
        unsafe { self.states[1].as_ptr::<u8>().add(cpu.index() * size) }
    }

    #[inline]
    pub(crate) fn task_ptr(&self, task: TaskId) -> *mut ffi::Task {
        self.tasks.get(task.index())
    }

    #[inline]
    pub(crate) fn opt_ptr(&self, task: Option<TaskId>) -> *mut ffi::Task {
        task.map_or(null_mut(), |t| self.task_ptr(t))
    }

    fn call_init(&mut self) -> Result<(), Fault> {
        let Some(init) = self.table.init else {
            return Ok(());
        };
        let s = self.s();
        // SAFETY (here and for every hook below): the pointers are to this host's own memory,
        // laid out as the headers say (tested), and no Rust reference to it is alive.
        let code = self.guarded(Hook::Init, Subject::MACHINE, || unsafe { init(s) })?;
        if code == 0 {
            Ok(())
        } else {
            Err(self.fault(Hook::Init, FaultKind::InitFailed(code)))
        }
    }

    /// Runs a hook that may change state.
    #[inline]
    pub(crate) fn guarded<T>(
        &mut self,
        hook: Hook,
        about: Subject,
        call: impl FnOnce() -> T,
    ) -> Result<T, Fault> {
        match self.disturber {
            None => self.observed(hook, about, call),
            Some(disturber) => self.disturbed(disturber, hook, about, call),
        }
    }

    /// Runs a hook with a fresh loop budget and checks for errors afterwards.
    #[inline]
    pub(crate) fn observed<T>(
        &mut self,
        hook: Hook,
        about: Subject,
        call: impl FnOnce() -> T,
    ) -> Result<T, Fault> {
        let s = self.s();
        set!(s, host_only.loops_left, LOOP_BUDGET);
        set!(s, host_only.own_lock, self.lock_of(about));
        process::enter(self.tuned.policy, hook, s, about.task);
        let answer = call();
        process::leave();
        if get!(s, host_only.loops_left) == 0 || !get!(s, host_only.error).is_null() {
            return Err(self.hook_failed(hook, about.task));
        }
        if get!(s, host_only.lock_fault) != 0 || get!(s, host_only.nr_locked) != 0 {
            return Err(self.lock_misused(hook));
        }
        if self.watches_memory && !self.memory_is_intact() {
            return Err(self.fault(hook, FaultKind::WroteBeyond));
        }
        Ok(answer)
    }

    /// Runs a hook at a time that other hooks may overlap; see [`Disturbance`].
    #[cold]
    fn disturbed<T>(
        &mut self,
        disturber: NonNull<Disturber>,
        hook: Hook,
        about: Subject,
        call: impl FnOnce() -> T,
    ) -> Result<T, Fault> {
        let (s, disturber) = (self.s(), disturber.as_ptr());
        let (event_ns, this_cpu) = (get!(s, now), get!(s, this_cpu));
        let order = Order {
            lock: about
                .cpu
                .map(|cpu| cpu.0)
                .or_else(|| about.task.map(|task| self.task(task).cpu)),
            task: about.task.map(TaskId::index),
        };
        // SAFETY: leaked in disturb(); the hook, which may use it, does not run now.
        set!(s, now, unsafe {
            (*disturber).begin(event_ns, this_cpu, order)
        });
        let answer = self.observed(hook, about, call);
        let ended_ns = replace!(s, now, event_ns);
        // SAFETY: likewise.
        unsafe { (*disturber).end(ended_ns, this_cpu, order) };
        answer
    }

    /// The time of a context switch: that of the pick_next() before it.
    pub fn switch_ns(&self, cpu: CpuId) -> u64 {
        let now = get!(self.s(), now);
        match self.disturber {
            // SAFETY: leaked in disturb(); no hook runs now.
            Some(disturber) => now.max(unsafe { (*disturber.as_ptr()).lock_ns(cpu.0) }),
            None => now,
        }
    }

    #[cold]
    fn hook_failed(&self, hook: Hook, called_for: Option<TaskId>) -> Fault {
        let fault = |kind| Fault {
            task: called_for,
            ..self.fault(hook, kind)
        };
        let s = self.s();
        let (error, task) = (get!(s, host_only.error), get!(s, host_only.error_task));
        if error.is_null() {
            return fault(FaultKind::Looped);
        }
        // SAFETY: policy_error() is given a constant string.
        let message = unsafe { CStr::from_ptr(error) }
            .to_string_lossy()
            .into_owned();
        let task = (!task.is_null()).then(|| TaskId(get!(task, id)));
        let row = get!(s, host_only.error_row).checked_sub(1);
        fault(FaultKind::Reported { message, task, row })
    }

    #[cold]
    pub(crate) fn fault(&self, hook: Hook, kind: FaultKind) -> Fault {
        Fault {
            policy: self.tuned.name(),
            hook,
            task: None,
            kind,
        }
    }

    /// Counts an expiry of a policy timer, or of the hrtick of a CPU (after the timers).
    pub(crate) fn count_expiry(&mut self, timer: usize, hook: Hook) -> Result<(), Fault> {
        let now = get!(self.s(), now);
        let (since, count) = &mut self.expiries[timer];
        if now.saturating_sub(*since) >= 1_000_000 {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        match *count > MOST_EXPIRIES_PER_MS {
            true => Err(self.fault(hook, FaultKind::TimerStorm)),
            false => Ok(()),
        }
    }

    /// The policy.
    pub fn policy(&self) -> Policy {
        self.tuned.policy
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.drop_disturber();
    }
}

#[cfg(test)]
mod tests {
    //! With hooks in Rust, so that Miri can run them: `make miri`.

    use super::*;
    use crate::{enq, Clamps, Class, Prev, Topology};
    use schedlab_trace::Ns;

    /// First come, first served on one queue: the list of all tasks.
    mod fifo {
        use crate::ffi::{List, Sched, Task};
        use std::mem::offset_of;
        use std::ptr::null_mut;

        pub unsafe extern "C" fn enqueue(s: *mut Sched, p: *mut Task, _: u32) {
            // SAFETY: as the host calls it: a machine and one of its tasks.
            unsafe {
                let cpu = (*s).cpus.add((*p).cpu as usize);
                if (*cpu).need_resched == 0 {
                    (*cpu).need_resched = 1;
                    (*s).host_only.requests = 1;
                    (*cpu).host_only.resched_next = (*s).host_only.resched;
                    (*s).host_only.resched = (*p).cpu + 1;
                }
                (*s).host_only.counters[0] += 1;
            }
        }

        pub unsafe extern "C" fn dequeue(s: *mut Sched, _: *mut Task, _: u32) {
            // SAFETY: as above.
            unsafe {
                (*s).host_only.timer_expires[1] = (*s).now + 5;
                (*s).host_only.timers_changed = 1;
                (*s).host_only.requests = 1;
            }
        }

        /// The first task that does not run, moved here; takes the lock of its run queue.
        pub unsafe extern "C" fn pick_next(
            s: *mut Sched,
            cpu: u32,
            prev: *mut Task,
            _: u32,
        ) -> *mut Task {
            // SAFETY: as above; nodes are within tasks.
            unsafe {
                let mut node: *mut List = (*(*s).tasks).next;
                while node != (*s).tasks {
                    let p: *mut Task = node.byte_sub(offset_of!(Task, all)).cast();
                    if (*p).on_cpu == 0 && p != prev && locked(s, (*p).cpu) {
                        moved(s, p, cpu);
                        return p;
                    }
                    node = (*node).next;
                }
                null_mut()
            }
        }

        unsafe fn locked(s: *mut Sched, cpu: u32) -> bool {
            // SAFETY: as above.
            unsafe {
                let Some(disturb) = (*s).host_only.disturb else {
                    return true;
                };
                disturb((*s).host_only.disturbance, s, cpu) != 0
            }
        }

        unsafe fn moved(s: *mut Sched, p: *mut Task, cpu: u32) {
            // SAFETY: as above.
            unsafe {
                if (*p).cpu != cpu {
                    (*p).host_only.moved_from = (*p).cpu;
                    (*p).host_only.moved_next = (*s).host_only.moved;
                    (*s).host_only.moved = p;
                    (*p).cpu = cpu;
                }
            }
        }
    }

    /// A machine of two CPUs under that policy.
    fn host() -> Host {
        static FIFO: ffi::Policy = ffi::Policy {
            name: c"fifo".as_ptr(),
            task_size: 12,
            cpu_size: 8,
            nr_counters: 1,
            lock: 1,
            enqueue: Some(fifo::enqueue),
            dequeue: Some(fifo::dequeue),
            pick_next: Some(fifo::pick_next),
            ..ffi::Policy::EMPTY
        };
        let platform = Platform {
            cpus: &[Topology::ONE; 2],
            smp: true,
            lazy: false,
            hz: 100,
        };
        Host::new(&Tuned::defaults(Policy(&FIFO, None)), &platform, 1).unwrap()
    }

    fn normal(cpu: u32) -> NewTask {
        NewTask {
            nice: 0,
            class: Class::Normal,
            rt_priority: 0,
            mm: 1,
            cpu_set: 0,
            cpu: CpuId(cpu),
            foreground: false,
            group: None,
            slice: Ns::ZERO,
            clamps: Clamps::NONE,
        }
    }

    #[test]
    fn tasks_come_run_and_go() {
        let mut host = host();
        let parent = host.add_task(&normal(0), None);
        let child = host.add_task(&normal(1), Some(parent));
        for (task, cpu) in [(parent, CpuId(0)), (child, CpuId(1))] {
            host.at(Time(10), cpu);
            host.enqueue(task, enq::NEW).unwrap();
        }
        assert!(host.take_requests());
        let asked: Vec<CpuId> = std::iter::from_fn(|| host.take_resched()).collect();
        assert_eq!(asked, [CpuId(1), CpuId(0)]);
        assert_eq!(host.counters(), [2]);

        let next = host.pick_next(CpuId(1), None, Prev::None).unwrap();
        assert_eq!(next, Some(parent));
        assert_eq!(host.take_moved(), Some((parent, CpuId(0))));
        assert_eq!(host.take_moved(), None);
        host.switch(CpuId(1), None, next).unwrap();
        assert_eq!((host.task(parent).on_cpu, host.task(parent).cpu), (1, 1));

        host.dequeue(parent, 0).unwrap();
        assert_eq!(host.take_timers(), Some([0, 15, 0, 0]));
        assert!(host.timer_due(1, Time(15)) && !host.timer_due(1, Time(14)));
        host.timer(1).unwrap();
        assert_eq!(host.timers(), [0; 4]);
        host.switch(CpuId(1), Some(parent), None).unwrap();
        host.set_parent(child, None);
        host.forget(parent);
        let left = host.pick_next(CpuId(0), None, Prev::None).unwrap();
        assert_eq!(left, Some(child));
    }

    #[test]
    fn attributes_reach_the_public_fields() {
        let mut host = host();
        let only_1 = host.add_cpu_set(&[1]);
        let task = host.add_task(&normal(0), None);
        host.set_nice(task, -5).unwrap();
        host.set_class(task, Class::Fifo, 7).unwrap();
        host.set_cpus(task, only_1).unwrap();
        let public = host.task(task);
        assert_eq!((public.nice, public.class), (-5, Class::Fifo as u32));
        assert_eq!((public.rt_priority, public.nr_allowed), (7, 1));
        assert_eq!(host.select_cpu(task, 0).unwrap(), CpuId(1));
    }

    #[test]
    fn a_disturbed_host_refuses_locks_and_lets_time_go_on_within_a_hook() {
        let mut host = host();
        host.disturb(Disturbance {
            seed: 1,
            refuse_one_in: 2,
            delay_ns: 1000,
        });
        host.add_task(&normal(0), None);
        let mut answers = Vec::new();
        for time in 1..100 {
            host.at(Time(time * 10_000), CpuId(1));
            answers.push(host.pick_next(CpuId(1), None, Prev::None).unwrap());
            host.take_moved();
        }
        let refused = answers.iter().filter(|a| a.is_none()).count();
        assert!((30..70).contains(&refused), "{refused}");
        assert_eq!(get!(host.s(), now), 990_000, "the host's own time stays");
    }
}
