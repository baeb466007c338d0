//! One machine under one policy.

use std::ffi::CStr;
use std::ptr::{self, null_mut};

use schedlab_trace::{CpuId, TaskId, Time};

use crate::fault::{Fault, FaultKind, Hook};
use crate::memory::{Block, TaskSlab};
use crate::{crash, ffi, Class, Policy, Prev, Tuned, MAX_CPUS};

/// How often the loops of one hook call may go round: what the kernel allows a BPF program.
pub const LOOP_BUDGET: u32 = 8 * 1024 * 1024;

/// Where a CPU sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Topology {
    /// Physical core; CPUs with the same one are SMT siblings.
    pub core: u32,
    /// Last-level cache.
    pub llc: u32,
    /// Memory node.
    pub node: u32,
}

/// What a policy runs on.
#[derive(Clone, Copy, Debug)]
pub struct Platform<'a> {
    /// One entry for each CPU; 1 to [`MAX_CPUS`].
    pub cpus: &'a [Topology],
    /// The kernel is built for several CPUs.
    pub smp: bool,
    /// Tick rate for policies without a tunable "hz".
    pub hz: u32,
}

/// The public fields of a task that is about to exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewTask {
    /// nice, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Real-time priority, 1 to 99, or 0.
    pub rt_priority: u8,
    /// Address space; 0 for a kernel thread.
    pub mm: u32,
    /// CPU set: a number from [`Host::add_cpu_set`]; 0: all CPUs.
    pub cpu_set: u32,
    /// The CPU it starts on unless the policy chooses another.
    pub cpu: CpuId,
    /// It is of the group a user looks at.
    pub foreground: bool,
}

/// One machine: all state of one policy, and the only way to its hooks.
pub struct Host {
    tuned: Tuned,
    table: &'static ffi::Policy,
    sched: Block,
    cpus: Block,
    all: Block,
    tasks: TaskSlab,
    masks: Vec<(Box<ffi::CpuMask>, u32)>,
    // What the C side points to.
    states: [Block; 2],
    _tunables: Box<[i64]>,
}

// SAFETY: everything a host points to is owned by it; policies have no other mutable state.
unsafe impl Send for Host {}

/// The state from which the generator of policies starts in a run with this seed, on this CPU (the
/// native host has one generator, that of CPU 0).  Different seeds have different states; 0 is
/// none, because xorshift never leaves it.  `crates/bpf/include/machine.h` computes the same.
pub fn first_state(seed: u64, cpu: u32) -> u64 {
    match mix(mix(seed).wrapping_add(u64::from(cpu))) {
        0 => 1,
        state => state,
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Host {
    /// A machine that has just come up: the policy has initialised its state, no task exists.
    ///
    /// # Errors
    /// A hook every policy needs is missing, or init() failed.
    ///
    /// # Panics
    /// If the platform has no CPU or more than [`MAX_CPUS`].
    pub fn new(tuned: &Tuned, platform: &Platform, seed: u64) -> Result<Host, Fault> {
        let nr = platform.cpus.len();
        assert!((1..=MAX_CPUS).contains(&nr), "1 to {MAX_CPUS} CPUs");
        let table = tuned.policy.0;
        let tunables: Box<[i64]> = tuned.values().into();
        let mut host = Host {
            tuned: tuned.clone(),
            table,
            sched: Block::new(size_of::<ffi::Sched>()),
            cpus: Block::new(nr * size_of::<ffi::Cpu>()),
            all: Block::new(size_of::<ffi::List>()),
            tasks: TaskSlab::new(table.task_size as usize),
            masks: Vec::new(),
            states: [
                Block::new(table.global_size as usize),
                Block::new(nr * table.cpu_size as usize),
            ],
            _tunables: tunables,
        };
        host.wire(platform, seed);
        host.add_cpu_set(&(0..nr as u32).collect::<Vec<_>>());
        host.require_hooks()?;
        host.call_init()?;
        Ok(host)
    }

    fn wire(&mut self, platform: &Platform, seed: u64) {
        let rate = self
            .tuned
            .get("hz")
            .map_or(u64::from(platform.hz), |hz| hz as u64)
            .max(1);
        let s = self.sched();
        s.nr_cpus = platform.cpus.len() as u32;
        s.smp = u32::from(platform.smp);
        s.tick_ns = 1_000_000_000 / rate;
        s.host_only.loops_left = LOOP_BUDGET;
        s.host_only.rng = first_state(seed, 0);
        s.cpus = self.cpus.as_ptr();
        s.host_only.global_state = self.states[0].as_void();
        s.host_only.cpu_state = self.states[1].as_void();
        s.host_only.tunables = self._tunables.as_ptr().cast();
        s.tasks = self.all.as_ptr();
        // SAFETY: the block holds one List; nothing else points to it yet.
        unsafe {
            (*s.tasks).next = s.tasks;
            (*s.tasks).prev = s.tasks;
        }
        for (index, place) in platform.cpus.iter().enumerate() {
            let cpu = self.cpu_mut(CpuId(index as u32));
            (cpu.core, cpu.llc, cpu.node) = (place.core, place.llc, place.node);
        }
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

    /// Period of the policy's tick in ns.
    pub fn tick_ns(&mut self) -> u64 {
        self.sched().tick_ns
    }

    /// The next hook calls happen at `now` on `cpu`.
    #[inline]
    pub fn at(&mut self, now: Time, cpu: CpuId) {
        let s = self.sched();
        s.now = now.0;
        s.this_cpu = cpu.0;
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
    pub fn counters(&mut self) -> &[u64] {
        let nr = self.table.nr_counters as usize;
        &self.sched().host_only.counters[..nr.min(ffi::MAX_COUNTERS)]
    }

    #[inline]
    #[allow(clippy::mut_from_ref)]
    fn sched(&self) -> &mut ffi::Sched {
        // SAFETY: the block holds one Sched; no reference outlives the statement it is made in.
        unsafe { &mut *self.sched.as_ptr() }
    }

    #[inline]
    #[allow(clippy::mut_from_ref)]
    fn cpu_mut(&self, cpu: CpuId) -> &mut ffi::Cpu {
        assert!(cpu.0 < self.sched().nr_cpus, "CPU {cpu}");
        // SAFETY: checked above; no reference outlives the statement it is made in.
        unsafe { &mut *self.cpus.as_ptr::<ffi::Cpu>().add(cpu.index()) }
    }

    // ---- tasks ------------------------------------------------------------------

    /// A new task with the next free number.  Nothing is said to the policy yet.
    pub fn add_task(&mut self, new: &NewTask, parent: Option<TaskId>) -> TaskId {
        let id = TaskId(self.tasks.len() as u32);
        let parent = parent.map_or(null_mut(), |p| self.task_ptr(p));
        let (mask, count) = &self.masks[new.cpu_set as usize];
        let (mask, count) = (ptr::from_ref::<ffi::CpuMask>(mask), *count);
        let task = self.tasks.push();
        // SAFETY: a fresh, zeroed slot of the slab.
        let t = unsafe { &mut *task };
        t.allowed = mask;
        t.nr_allowed = count;
        t.parent = parent;
        t.id = id.0;
        t.cpu = new.cpu.0;
        t.nice = i32::from(new.nice);
        t.class = new.class as u32;
        t.rt_priority = u32::from(new.rt_priority);
        t.mm = new.mm;
        t.flags = u32::from(new.mm == 0) | u32::from(new.foreground) << 1;
        t.host_only.moved_from = MAX_CPUS as u32;
        self.link(task);
        id
    }

    /// Appends to the list of all tasks.
    fn link(&mut self, task: *mut ffi::Task) {
        let s = self.sched();
        let head = s.tasks;
        // SAFETY: the list's nodes are the head and tasks of the slab, none of which ever moves.
        unsafe {
            let node = &raw mut (*task).all;
            (*node).next = head;
            (*node).prev = (*head).prev;
            (*(*head).prev).next = node;
            (*head).prev = node;
        }
        s.nr_tasks += 1;
    }

    /// Takes a reaped task out of the list of all tasks; its children lose their parent.
    pub fn forget(&mut self, task: TaskId) {
        let task = self.task_ptr(task);
        // SAFETY: the task is linked since add_task(); nodes never move.
        unsafe {
            (*(*task).all.prev).next = (*task).all.next;
            (*(*task).all.next).prev = (*task).all.prev;
        }
        self.sched().nr_tasks -= 1;
    }

    /// Sets or clears a task's parent.
    pub fn set_parent(&mut self, task: TaskId, parent: Option<TaskId>) {
        let parent = parent.map_or(null_mut(), |p| self.task_ptr(p));
        self.task_mut(task).parent = parent;
    }

    /// The task's public fields.
    #[inline]
    pub fn task(&self, task: TaskId) -> &ffi::Task {
        // SAFETY: task_ptr() checks the number.
        unsafe { &*self.task_ptr(task) }
    }

    /// May the task run on this CPU?
    #[inline]
    pub fn allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        // SAFETY: masks live as long as the host.
        let mask = unsafe { &*self.task(task).allowed };
        mask.bits[cpu.index() / 64] >> (cpu.0 % 64) & 1 != 0
    }

    /// The lowest CPU the task may run on.
    pub fn first_allowed(&self, task: TaskId) -> CpuId {
        let nr = self.sched().nr_cpus;
        (0..nr)
            .map(CpuId)
            .find(|&cpu| self.allowed(task, cpu))
            .expect("CPU sets are not empty")
    }

    /// The task belongs to another CPU's run queue from now on.
    pub fn set_task_cpu(&mut self, task: TaskId, cpu: CpuId) {
        self.task_mut(task).cpu = cpu.0;
    }

    /// exec(): the task's address space is another one.
    pub fn set_mm(&mut self, task: TaskId, mm: u32) {
        self.task_mut(task).mm = mm;
    }

    /// Where a task is, to compare with another task's parent.
    pub fn task_pointer(&self, task: TaskId) -> *mut ffi::Task {
        self.task_ptr(task)
    }

    /// Bytes of policy state behind a task's public fields, for tests that look inside.
    pub fn task_state(&self, task: TaskId) -> *const u8 {
        // SAFETY: one past the public fields is still within the slot.
        unsafe { self.task_ptr(task).add(1).cast() }
    }

    /// The policy's state of the whole machine, for tests that look inside.
    pub fn global_state(&self) -> *const u8 {
        self.states[0].as_ptr()
    }

    /// The policy's state of one CPU, for tests that look inside.
    pub fn cpu_state(&self, cpu: CpuId) -> *const u8 {
        let size = self.table.cpu_size as usize;
        assert!(cpu.index() < self.sched().nr_cpus as usize, "CPU {cpu}");
        // SAFETY: there is one such state for each CPU.
        unsafe { self.states[1].as_ptr::<u8>().add(cpu.index() * size) }
    }

    #[inline]
    #[allow(clippy::mut_from_ref)]
    fn task_mut(&self, task: TaskId) -> &mut ffi::Task {
        // SAFETY: task_ptr() checks the number; no reference outlives the statement it is made in.
        unsafe { &mut *self.task_ptr(task) }
    }

    #[inline]
    fn task_ptr(&self, task: TaskId) -> *mut ffi::Task {
        self.tasks.get(task.index())
    }

    #[inline]
    fn opt_ptr(&self, task: Option<TaskId>) -> *mut ffi::Task {
        task.map_or(null_mut(), |t| self.task_ptr(t))
    }

    // ---- hooks ------------------------------------------------------------------

    fn call_init(&mut self) -> Result<(), Fault> {
        let Some(init) = self.table.init else {
            return Ok(());
        };
        let s = self.sched.as_ptr();
        // SAFETY (here and for every hook below): the pointers are to this host's own memory,
        // laid out as the headers say (tested), and no Rust reference to it is alive.
        let code = self.guarded(Hook::Init, || unsafe { init(s) })?;
        if code == 0 {
            Ok(())
        } else {
            Err(self.fault(Hook::Init, FaultKind::InitFailed(code)))
        }
    }

    /// A task was forked.
    pub fn fork(&mut self, parent: Option<TaskId>, child: TaskId) -> Result<(), Fault> {
        let Some(hook) = self.table.fork else {
            return Ok(());
        };
        let (s, p, c) = (
            self.sched.as_ptr(),
            self.opt_ptr(parent),
            self.task_ptr(child),
        );
        self.guarded(Hook::Fork, || unsafe { hook(s, p, c) })
    }

    /// A dead task is reaped.
    pub fn exit(&mut self, task: TaskId, reaper: Option<TaskId>) -> Result<(), Fault> {
        let Some(hook) = self.table.exit else {
            return Ok(());
        };
        let (s, p, r) = (
            self.sched.as_ptr(),
            self.task_ptr(task),
            self.opt_ptr(reaper),
        );
        self.guarded(Hook::Exit, || unsafe { hook(s, p, r) })
    }

    /// On which CPU should the task be queued?  Checked against its affinity.
    #[inline]
    pub fn select_cpu(&mut self, task: TaskId, flags: u32) -> Result<CpuId, Fault> {
        let public = self.task(task);
        let last = CpuId(public.cpu);
        if public.nr_allowed == 1 {
            return Ok(if self.allowed(task, last) {
                last
            } else {
                self.first_allowed(task)
            });
        }
        let answer = match self.table.select_cpu {
            Some(hook) => {
                let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
                CpuId(self.guarded(Hook::SelectCpu, || unsafe { hook(s, p, flags) })?)
            }
            None if self.allowed(task, last) => last,
            None => self.first_allowed(task),
        };
        if answer.0 >= self.sched().nr_cpus || !self.allowed(task, answer) {
            return Err(self.fault(
                Hook::SelectCpu,
                FaultKind::BadCpu {
                    task,
                    cpu: answer.0,
                },
            ));
        }
        Ok(answer)
    }

    /// The task became runnable on the run queue of its CPU.
    #[inline]
    pub fn enqueue(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        let hook = self.table.enqueue.expect("checked in new()");
        self.guarded(Hook::Enqueue, || unsafe { hook(s, p, flags) })
    }

    /// The task is no longer runnable on its CPU.
    #[inline]
    pub fn dequeue(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        let hook = self.table.dequeue.expect("checked in new()");
        self.guarded(Hook::Dequeue, || unsafe { hook(s, p, flags) })
    }

    /// Who runs on this CPU now?  Clears its request to reschedule first.
    #[inline]
    pub fn pick_next(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        why: Prev,
    ) -> Result<Option<TaskId>, Fault> {
        let (s, p) = (self.sched.as_ptr(), self.opt_ptr(prev));
        let hook = self.table.pick_next.expect("checked in new()");
        self.cpu_mut(cpu).need_resched = 0;
        let next = self.guarded(Hook::PickNext, || unsafe { hook(s, cpu.0, p, why as u32) })?;
        if next.is_null() {
            return Ok(None);
        }
        // SAFETY: a policy that answers a wild pointer crashes here, within its hook's guard.
        let id = self.guarded(Hook::PickNext, || TaskId(unsafe { (*next).id }))?;
        if id.index() >= self.tasks.len() || self.task_ptr(id) != next {
            return Err(self.fault(Hook::PickNext, FaultKind::NotATask));
        }
        Ok(Some(id))
    }

    /// The CPU switches from `prev` to `next`: updates the public fields, then tells the policy.
    #[inline]
    pub fn switch(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) -> Result<(), Fault> {
        let now = self.sched().now;
        let (p, n) = (self.opt_ptr(prev), self.opt_ptr(next));
        if let Some(prev) = prev {
            self.task_mut(prev).on_cpu = 0;
        }
        match next {
            Some(next) => {
                let task = self.task_mut(next);
                task.on_cpu = 1;
                task.cpu = cpu.0;
            }
            None => self.cpu_mut(cpu).idle_since = now,
        }
        self.cpu_mut(cpu).curr = n;
        let Some(hook) = self.table.switched else {
            return Ok(());
        };
        let s = self.sched.as_ptr();
        self.guarded(Hook::Switched, || unsafe { hook(s, cpu.0, p, n) })
    }

    /// The tick on a CPU.
    #[inline]
    pub fn tick(&mut self, cpu: CpuId, task: Option<TaskId>) -> Result<(), Fault> {
        let Some(hook) = self.table.tick else {
            return Ok(());
        };
        let (s, p) = (self.sched.as_ptr(), self.opt_ptr(task));
        self.guarded(Hook::Tick, || unsafe { hook(s, cpu.0, p) })
    }

    /// The running task calls sched_yield().  Should pick_next() be asked?
    #[inline]
    pub fn yield_task(&mut self, task: TaskId) -> Result<bool, Fault> {
        let Some(hook) = self.table.yield_ else {
            return Ok(true);
        };
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        Ok(self.guarded(Hook::Yield, || unsafe { hook(s, p) })? != 0)
    }

    /// Changes a task's nice value and tells the policy.
    pub fn set_nice(&mut self, task: TaskId, nice: i8) -> Result<(), Fault> {
        let old = std::mem::replace(&mut self.task_mut(task).nice, i32::from(nice));
        let Some(hook) = self.table.set_nice else {
            return Ok(());
        };
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        self.guarded(Hook::SetNice, || unsafe { hook(s, p, old) })
    }

    /// Changes a task's class and real-time priority and tells the policy.
    pub fn set_class(&mut self, task: TaskId, class: Class, rt_priority: u8) -> Result<(), Fault> {
        let t = self.task_mut(task);
        let old_class = std::mem::replace(&mut t.class, class as u32);
        let old_rt = std::mem::replace(&mut t.rt_priority, u32::from(rt_priority));
        let Some(hook) = self.table.set_class else {
            return Ok(());
        };
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        self.guarded(Hook::SetClass, || unsafe { hook(s, p, old_class, old_rt) })
    }

    /// Changes the CPUs a task may use (a number from [`Host::add_cpu_set`]) and tells the policy.
    pub fn set_cpus(&mut self, task: TaskId, cpu_set: u32) -> Result<(), Fault> {
        let (mask, count) = &self.masks[cpu_set as usize];
        let t = self.task_mut(task);
        t.allowed = ptr::from_ref::<ffi::CpuMask>(mask);
        t.nr_allowed = *count;
        let Some(hook) = self.table.set_cpumask else {
            return Ok(());
        };
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        self.guarded(Hook::SetCpumask, || unsafe { hook(s, p) })
    }

    /// Is this timer armed for now or earlier?
    pub fn timer_due(&self, id: u32, now: Time) -> bool {
        (1..=now.0).contains(&self.sched().host_only.timer_expires[id as usize])
    }

    /// When each policy timer expires; 0: not armed.
    pub fn timers(&self) -> [u64; ffi::MAX_TIMERS] {
        self.sched().host_only.timer_expires
    }

    /// A timer the policy armed has expired.
    pub fn timer(&mut self, id: u32) -> Result<(), Fault> {
        self.sched().host_only.timer_expires[id as usize] = 0;
        let Some(hook) = self.table.timer else {
            return Ok(());
        };
        let s = self.sched.as_ptr();
        self.guarded(Hook::Timer, || unsafe { hook(s, id) })
    }

    /// When the hrtick of each CPU expires, 0 for never; none if the policy uses none.
    pub fn hrticks(&self) -> impl Iterator<Item = u64> + '_ {
        let cpus = match self.table.hrtick {
            Some(_) => self.sched().nr_cpus,
            None => 0,
        };
        (0..cpus).map(|cpu| self.cpu_mut(CpuId(cpu)).hrtick_expires)
    }

    /// Is the hrtick of this CPU armed for now or earlier?
    pub fn hrtick_due(&self, cpu: CpuId, now: Time) -> bool {
        (1..=now.0).contains(&self.cpu_mut(cpu).hrtick_expires)
    }

    /// The hrtick of a CPU has expired.
    pub fn hrtick(&mut self, cpu: CpuId, task: Option<TaskId>) -> Result<(), Fault> {
        self.cpu_mut(cpu).hrtick_expires = 0;
        let Some(hook) = self.table.hrtick else {
            return Ok(());
        };
        let (s, p) = (self.sched.as_ptr(), self.opt_ptr(task));
        self.guarded(Hook::Hrtick, || unsafe { hook(s, cpu.0, p) })
    }

    /// The task's priority in the policy's own numbers; none if the policy does not say.
    #[inline]
    pub fn priority(&mut self, task: TaskId) -> Result<Option<i32>, Fault> {
        let Some(hook) = self.table.priority else {
            return Ok(None);
        };
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        self.guarded(Hook::Priority, || unsafe { hook(s, p) })
            .map(Some)
    }

    /// Would pick_next() still find this waiting task?  True if the policy does not say.
    #[inline]
    pub fn queued(&mut self, task: TaskId) -> Result<bool, Fault> {
        let Some(hook) = self.table.queued else {
            return Ok(true);
        };
        let (s, p) = (self.sched.as_ptr(), self.task_ptr(task));
        Ok(self.guarded(Hook::Queued, || unsafe { hook(s, p) })? != 0)
    }

    /// Runs a hook with a fresh loop budget and looks for errors after it.
    #[inline]
    fn guarded<T>(&mut self, hook: Hook, call: impl FnOnce() -> T) -> Result<T, Fault> {
        self.sched().host_only.loops_left = LOOP_BUDGET;
        crash::enter(self.tuned.policy, hook);
        let answer = call();
        crash::leave();
        let s = self.sched();
        if s.host_only.loops_left == 0 || !s.host_only.error.is_null() {
            return Err(self.hook_failed(hook));
        }
        Ok(answer)
    }

    #[cold]
    fn hook_failed(&self, hook: Hook) -> Fault {
        let s = self.sched();
        if s.host_only.error.is_null() {
            return self.fault(hook, FaultKind::Looped);
        }
        // SAFETY: policy_error() is given a constant string and a task of this machine or NULL.
        let (message, task) = unsafe {
            let message = CStr::from_ptr(s.host_only.error)
                .to_string_lossy()
                .into_owned();
            (
                message,
                s.host_only.error_task.as_ref().map(|t| TaskId(t.id)),
            )
        };
        let row = s.host_only.error_row.checked_sub(1);
        self.fault(hook, FaultKind::Reported { message, task, row })
    }

    #[cold]
    fn fault(&self, hook: Hook, kind: FaultKind) -> Fault {
        Fault {
            policy: self.tuned.name(),
            hook,
            kind,
        }
    }

    // ---- what the hooks asked for ---------------------------------------------

    /// Did the hooks since the last call ask for anything, or count anything?
    #[inline]
    pub fn take_requests(&mut self) -> bool {
        std::mem::take(&mut self.sched().host_only.requests) != 0
    }

    /// The next CPU the policy wants rescheduled, each once.  Its request stays noted in the
    /// public state until [`Host::pick_next`] is called for it.
    #[inline]
    pub fn take_resched(&mut self) -> Option<CpuId> {
        let s = self.sched();
        if s.host_only.resched == 0 {
            return None;
        }
        let cpu = CpuId(s.host_only.resched - 1);
        let public = self.cpu_mut(cpu);
        s.host_only.resched = std::mem::take(&mut public.host_only.resched_next);
        Some(cpu)
    }

    /// Has rescheduling been asked for on this CPU and not happened yet?
    #[inline]
    pub fn need_resched(&self, cpu: CpuId) -> bool {
        self.cpu_mut(cpu).need_resched != 0
    }

    /// Notes that this CPU must reschedule, as if the policy had asked.
    pub fn set_need_resched(&mut self, cpu: CpuId) {
        self.cpu_mut(cpu).need_resched = 1;
    }

    /// The next task the policy moved, with the CPU it came from; its new CPU is in [`Host::task`].
    #[inline]
    pub fn take_moved(&mut self) -> Option<(TaskId, CpuId)> {
        let s = self.sched();
        if s.host_only.moved.is_null() {
            return None;
        }
        // SAFETY: the list links tasks of the slab.
        let task = unsafe { &mut *s.host_only.moved };
        s.host_only.moved = std::mem::replace(&mut task.host_only.moved_next, null_mut());
        let from = std::mem::replace(&mut task.host_only.moved_from, MAX_CPUS as u32);
        Some((TaskId(task.id), CpuId(from)))
    }

    /// What the hooks counted since the last call: examined tasks, recalculations, locks.
    #[inline]
    pub fn take_work(&mut self) -> ffi::Work {
        std::mem::take(&mut self.sched().host_only.work)
    }

    /// When each policy timer expires, if any changed since the last call; 0: not armed.
    #[inline]
    pub fn take_timers(&mut self) -> Option<[u64; ffi::MAX_TIMERS]> {
        let s = self.sched();
        (std::mem::take(&mut s.host_only.timers_changed) != 0).then_some(s.host_only.timer_expires)
    }

    /// The next CPU whose hrtick has changed since the last call, and when it expires; 0: not armed.
    #[inline]
    pub fn take_hrtick(&mut self) -> Option<(CpuId, u64)> {
        let s = self.sched();
        let cpu = CpuId(s.host_only.hrticks.checked_sub(1)?);
        let public = self.cpu_mut(cpu);
        let next = std::mem::take(&mut public.host_only.hrtick_next);
        s.host_only.hrticks = if next == cpu.0 + 1 { 0 } else { next };
        Some((cpu, public.hrtick_expires))
    }

    /// The policy.
    pub fn policy(&self) -> Policy {
        self.tuned.policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_seeds_or_cpus_draw_alike() {
        let mut states: Vec<u64> = (0..1000).map(|seed| first_state(seed, 0)).collect();
        states.extend((1..1000).map(|cpu| first_state(7, cpu)));
        let all = states.len();
        states.sort_unstable();
        states.dedup();
        assert_eq!(states.len(), all);
        assert_ne!(states[0], 0);
    }

    #[test]
    fn mixing_is_splitmix64() {
        // The first numbers of the generator from 0 and from 1234567, as its authors' program prints them.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
    }
}
