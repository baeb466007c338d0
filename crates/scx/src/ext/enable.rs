//! Enabling a scheduler, and the life of tasks under it.

use schedlab_policy::{ffi, Class as Policy};
use schedlab_trace::TaskId;

use super::consts::{dsq, ops, pf, task, DFL_MAX_BATCH, NONE, SLICE_DFL, WATCHDOG_MS};
use super::fields::Fields;
use super::tracepoints::{Listeners, Tracepoint};
use super::{ops::Programs, Class, Op, OpsState, Rq, Task};
use crate::machine::Machine;
use crate::memory::PER_CPU_STRIDE;

/// sched_prio_to_weight[]: nice -20 to 19.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// WEIGHT_IDLEPRIO
const WEIGHT_IDLE: u32 = 3;

/// The first task's process id.
const FIRST_PID: u32 = 1000;

/// load_weight of a nice value.
fn load_weight(public: &ffi::Task) -> u32 {
    if public.class == Policy::Idle as u32 {
        return WEIGHT_IDLE;
    }
    WEIGHTS[(public.nice + 20).clamp(0, 39) as usize]
}

/// sched_weight_to_cgroup()
pub(super) fn cgroup_weight(weight: u32) -> u32 {
    ((weight * 100 + 512) / 1024).clamp(1, 10_000)
}

/// sched_setscheduler()'s number of a class.
fn policy_number(class: u32) -> u32 {
    const NUMBERS: [(Policy, u32); 4] = [
        (Policy::Fifo, 1),
        (Policy::Rr, 2),
        (Policy::Batch, 3),
        (Policy::Idle, 5),
    ];
    let known = NUMBERS.iter().find(|(known, _)| *known as u32 == class);
    known.map_or(0, |(_, number)| *number)
}

/// The class that serves a task; there is but one for all that are not real-time.
fn class_of(public: &ffi::Task) -> Class {
    match public.class >= Policy::Fifo as u32 {
        true => Class::Rt,
        false => Class::Ext,
    }
}

impl Machine {
    /// scx_root_enable(), on a machine that has just come up.
    pub(super) fn enable(&mut self) {
        self.ext.fields = Fields::new(&self.kernel.btf);
        self.ext.programs = Programs::new(&self.ops);
        self.ext.listeners = Listeners::new(&self.ops.tracepoints);
        self.ext.flags = self.ops.flags;
        self.ext.max_batch = match self.ops.dispatch_max_batch {
            0 => DFL_MAX_BATCH,
            batch => batch,
        };
        self.ext.timeout_ns = match u64::from(self.ops.timeout_ms) {
            0 => WATCHDOG_MS,
            ms => ms,
        } * 1_000_000;
        self.idle_topology();
        self.make_queues();
        self.ext.arguments = self.memory.allocate(256);
        self.make_root_group();
        self.make_idle_tasks();
        self.ext.on = true;
        if !self.ops_are_sound() {
            return;
        }
        self.idle_enable();
        if self.has_op(Op::Init) {
            let answer = self.op(Op::Init, None, [None; 2], &[]) as i32;
            if answer != 0 {
                return self.ops_failed(Op::Init, answer);
            }
        }
        self.ext.exit.initialized = true;
        self.init_root_group();
        self.tell_watchdog();
        self.start_programs();
    }

    /// What the loader does after the attach.  It was told that each program returned 0.
    fn start_programs(&mut self) {
        for started in self.ops.started.clone() {
            let before = std::mem::replace(&mut self.this_cpu, started.cpu);
            let answer = self.run_syscall(started.program, &mut started.context.clone());
            self.this_cpu = before;
            match answer {
                Ok(0) => {}
                Ok(answer) => {
                    let (name, answer) = (&self.program(started.program).name, answer as i32);
                    let text = format!("{name}, which its loader runs, returned {answer}");
                    self.scx_error(text);
                }
                Err(fault) => self.program_fault(&fault),
            }
        }
    }

    /// bpf_scx_init_member() and validate_ops()
    fn ops_are_sound(&mut self) -> bool {
        let (flags, batch) = (self.ext.flags, self.ext.max_batch);
        let idle = !self.has_op(Op::UpdateIdle) || flags & ops::KEEP_BUILTIN_IDLE != 0;
        let wrong = if flags & !(ops::ALL | ops::HAS_CGROUP_WEIGHT) != 0 {
            "unknown bits in ops.flags"
        } else if flags & ops::SWITCH_PARTIAL != 0 {
            "SCX_OPS_SWITCH_PARTIAL leaves tasks to the kernel's fair class, which is not simulated beside it; \
             start the scheduler without it"
        } else if self.ext.timeout_ns > WATCHDOG_MS * 1_000_000 {
            "ops.timeout_ms is more than 30 s"
        } else if batch > i32::MAX as u32 {
            "ops.dispatch_max_batch is too large"
        } else if flags & ops::ENQ_LAST != 0 && !self.has_op(Op::Enqueue) {
            "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented"
        } else if flags & ops::BUILTIN_IDLE_PER_NODE != 0 && !idle {
            "SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled"
        } else {
            return true;
        };
        self.scx_error(wrong.into());
        false
    }

    fn make_queues(&mut self) {
        let runqueues = self.variable("runqueues").unwrap_or(0);
        let locals: Vec<_> = (0..self.nr_cpus)
            .map(|_| self.ext.dsqs.add(dsq::LOCAL))
            .collect();
        let nr_nodes = self.ext.idle.nr_nodes();
        self.ext.globals = (0..nr_nodes)
            .map(|_| self.ext.dsqs.add(dsq::GLOBAL))
            .collect();
        for (cpu, local) in (0_u32..).zip(locals) {
            let deferred_locals = self.ext.dsqs.add(dsq::LIST);
            self.ext.rqs.push(Rq {
                address: runqueues + u64::from(cpu) * PER_CPU_STRIDE,
                curr: NONE,
                busy_ns: 0,
                switched_ns: self.now_ns,
                idle: 0,
                next_class: Class::Idle,
                local,
                deferred_locals,
                nr_running: 0,
                nr_immed: 0,
                ops_qseq: 0,
                extra_enq_flags: 0,
                in_wakeup: false,
                in_balance: false,
                bal_keep: false,
                bal_cb_pending: false,
                cpu_released: false,
                cpuperf_target: super::consts::CPUPERF_ONE,
                picking: false,
                reenq_local: 0,
                reenq_seq: 0,
                reenq_last: 0,
                reenq_cnt: 0,
                reenq_users: Vec::new(),
                buf: Vec::new(),
                dispatched: 0,
                rt: Vec::new(),
            });
        }
    }

    fn make_idle_tasks(&mut self) {
        let fields = self.ext.fields;
        let size = u64::from(self.kernel.btf.size_of("task_struct").unwrap_or(0));
        for cpu in 0..self.nr_cpus {
            let idle = self.add_owner(size);
            let flags = pf::IDLE | pf::KTHREAD | pf::NO_SETAFFINITY;
            self.store(idle + fields.pf, flags);
            self.store(idle + fields.cpu, cpu);
            self.store(idle + fields.on_cpu, 1_u32);
            self.store(idle + fields.prio, 140_u32);
            self.store(idle + fields.static_prio, 120_u32);
            self.store(idle + fields.normal_prio, 140_u32);
            self.store(idle + fields.nr_cpus_allowed, 1_u32);
            self.store(idle + fields.cpus_ptr, idle + fields.cpus_mask);
            let word = idle + fields.cpus_mask + u64::from(cpu / 64) * 8;
            self.store(word, 1_u64 << (cpu % 64));
            self.describe_root_group(idle);
            self.store(idle + fields.real_parent, idle);
            self.store(idle + fields.parent, idle);
            self.store(idle + fields.group_leader, idle);
            let comm = format!("swapper/{cpu}");
            let _ = self.memory.write(idle + fields.comm, comm.as_bytes());
            self.ext.rq_mut(cpu).idle = idle;
            self.current[cpu as usize] = idle;
            self.store_rq(cpu, fields.rq_idle, idle);
            self.store_rq(cpu, fields.rq_curr, idle);
            self.store_rq(cpu, fields.rq_cpu, cpu);
            let target = self.ext.rq(cpu).cpuperf_target;
            self.store_rq(cpu, fields.rq_cpuperf_target, target);
            self.update_rq_clock(cpu);
        }
    }

    // ---- tasks ------------------------------------------------------------------------

    /// A task comes into being: scx_fork() and scx_post_fork().  Those that are there from the start were there
    /// when the scheduler was enabled: scx_root_enable().
    pub(super) fn fork_task(&mut self, public: *mut ffi::Task, parent: Option<u32>) {
        // SAFETY: a task of the simulator, which lives as long as the run.
        let fields = unsafe { &*public };
        let t = fields.id;
        self.add_entity(public, fields, parent);
        let known = parent.is_some();
        if !self.init_task(t, known) {
            return;
        }
        let flags = task::STATE_READY | task::RESET_RUNNABLE_AT;
        self.set_task_flags(t, flags);
        if self.ext.task(t).class == Class::Ext {
            self.enable_task(t);
            if !known {
                let mask = self.ext.task(t).address + self.ext.fields.cpus_mask;
                self.task_op(Op::SetCpumask, t, &[mask]);
            }
        }
        if let Some(parent) = parent {
            let (parent, child) = (self.ext.task(parent).address, self.ext.task(t).address);
            self.trace(Tracepoint::ProcessFork, &[parent, child]);
        }
    }

    /// Makes the task_struct, and what programs do not see of the task.
    fn add_entity(&mut self, public: *mut ffi::Task, from: &ffi::Task, parent: Option<u32>) {
        let t = from.id;
        let address = self.add_task(TaskId(t));
        let new = Task {
            public,
            address,
            cpu: from.cpu,
            class: class_of(from),
            ops_state: OpsState::None,
            sticky_cpu: NONE,
            migrating: false,
            runnable: None,
            selected: false,
            waking: false,
            dead: false,
            parent: parent.unwrap_or(NONE),
            nr_children: 0,
            rt_since: None,
            rt_left_ns: 0,
        };
        while self.ext.tasks.len() <= t as usize {
            // Tasks that are numbered but not yet forked.
            self.ext.tasks.push(Task {
                public: std::ptr::null_mut(),
                address: 0,
                parent: NONE,
                ..new.clone()
            });
        }
        self.ext.tasks[t as usize] = new;
        self.ext.dsqs.know(t);
        self.describe(t, from, parent);
    }

    /// Fills in a new task_struct.
    fn describe(&mut self, t: u32, from: &ffi::Task, parent: Option<u32>) {
        let (fields, address) = (self.ext.fields, self.ext.task(t).address);
        let pid = FIRST_PID + t;
        self.note_task_cpu(t, from.cpu);
        self.set_pid(t, pid);
        self.set_process(t, from.mm, pid);
        let comm = self.ext.told.name(t);
        let _ = self.memory.write(address + fields.comm, &comm);
        self.describe_group(t);
        let init = self.ext.rq(0).idle;
        let parent = parent.map_or(init, |parent| {
            self.ext.task_mut(parent).nr_children += 1;
            self.ext.task(parent).address
        });
        self.store(address + fields.real_parent, parent);
        self.store(address + fields.parent, parent);
        self.store(address + fields.start_time, self.now_ns);
        self.store(address + fields.start_boottime, self.now_ns);
        self.store(address + fields.cpus_ptr, address + fields.cpus_mask);
        self.set_slice(t, SLICE_DFL);
        self.set_runnable_at(t, self.jiffies());
        self.set_ddsp_dsq_id(t, dsq::INVALID);
        self.describe_priority(t, from);
        self.copy_cpus(t);
    }

    /// The task's process: who shares an address space is one.
    fn set_process(&mut self, t: u32, mm: u32, pid: u32) {
        let (fields, address) = (self.ext.fields, self.ext.task(t).address);
        if mm == 0 {
            self.set_pf(t, pf::KTHREAD);
        }
        let known = self.ext.processes.get(&mm).copied();
        let (leader, leads, space) = match known.filter(|_| mm != 0) {
            Some(known) => known,
            None if mm == 0 => (pid, address, 0),
            None => {
                let space = self.memory.allocate(8);
                self.store(space + fields.mm_number, u64::from(mm));
                let new = (pid, address, space);
                self.ext.processes.insert(mm, new);
                new
            }
        };
        self.store(address + fields.tgid, leader);
        self.store(address + fields.group_leader, leads);
        self.store(address + fields.mm, space);
    }

    /// prio, static_prio, policy and the like.
    fn describe_priority(&mut self, t: u32, from: &ffi::Task) {
        let (fields, address) = (self.ext.fields, self.ext.task(t).address);
        let static_prio = (120 + from.nice) as u32;
        let prio = match from.class >= Policy::Fifo as u32 {
            true => 99 - from.rt_priority.min(99),
            false => static_prio,
        };
        self.store(address + fields.static_prio, static_prio);
        self.store(address + fields.prio, prio);
        self.store(address + fields.normal_prio, prio);
        self.store(address + fields.rt_priority, from.rt_priority);
        self.store(address + fields.policy, policy_number(from.class));
        self.store(address + fields.load_weight, u64::from(load_weight(from)));
    }

    /// Copies the CPUs a task may use into its task_struct.
    pub(super) fn copy_cpus(&mut self, t: u32) {
        let found = self.ext.task(t);
        // SAFETY: the task exists, and its set of CPUs lives as long as the run.
        let (bits, count) = unsafe {
            let public = &*found.public;
            ((*public.allowed).bits, public.nr_allowed)
        };
        let at = found.address + self.ext.fields.cpus_mask;
        self.write_mask(at, &super::mask::Mask(bits));
        self.set_nr_cpus_allowed(t, count);
    }

    /// __scx_init_task(); false: it failed.
    fn init_task(&mut self, t: u32, fork: bool) -> bool {
        if self.has_op(Op::InitTask) {
            let (fields, arguments) = (self.ext.fields, self.ext.arguments);
            self.store(arguments + fields.init_fork, u8::from(fork));
            let cgroup = self.cgroup_of_task(t);
            self.store(arguments + fields.init_cgroup, cgroup);
            let address = self.ext.task(t).address;
            let answer = self.op(Op::InitTask, None, [None; 2], &[address, arguments]) as i32;
            if answer != 0 {
                // FIDELITY: a fork that fails with an error number ends the run, too.
                self.ops_failed(Op::InitTask, answer);
                return false;
            }
        }
        if fork && self.disallow(t) != 0 {
            let name = self.task_name(t);
            self.scx_error(format!(
                "ops.init_task() set task->scx.disallow for {name} during fork"
            ));
        }
        true
    }

    /// scx_enable_task()
    pub(super) fn enable_task(&mut self, t: u32) {
        // SAFETY: the task exists.
        let load = load_weight(unsafe { &*self.ext.task(t).public });
        let weight = cgroup_weight(load);
        self.set_weight(t, weight);
        self.task_op(Op::Enable, t, &[]);
        self.task_op(Op::SetWeight, t, &[u64::from(weight)]);
        self.set_state(t, task::STATE_ENABLED);
    }

    /// scx_disable_task()
    pub(super) fn disable_task(&mut self, t: u32) {
        self.clear_direct_dispatch(t);
        self.task_op(Op::Disable, t, &[]);
        self.set_state(t, task::STATE_READY);
    }

    fn set_state(&mut self, t: u32, state: u32) {
        let flags = self.task_flags(t) & !task::STATE_MASK;
        self.set_task_flags(t, flags | state);
    }

    /// The task has run for the last time: sched_ext_dead().
    pub(super) fn dead_task(&mut self, t: u32) {
        if self.ext.task(t).address == 0 || self.ext.task(t).dead {
            return;
        }
        self.ext.task_mut(t).dead = true;
        if self.task_flags(t) & task::STATE_MASK == task::STATE_ENABLED {
            self.disable_task(t);
        }
        let arguments = self.ext.arguments;
        self.store(arguments + self.ext.fields.exit_cancelled, 0_u8);
        self.task_op(Op::ExitTask, t, &[arguments]);
        self.set_state(t, task::STATE_DEAD);
    }

    /// The task is gone for good.
    pub(super) fn free_task(&mut self, t: u32) {
        self.dead_task(t);
        self.reparent_children(t);
        let parent = std::mem::replace(&mut self.ext.task_mut(t).parent, NONE);
        if let Some(parent) = self.ext.tasks.get_mut(parent as usize) {
            parent.nr_children -= 1;
        }
        self.remove_task(TaskId(t));
        self.ext.task_mut(t).address = 0;
    }

    /// Is it the last of its process that has not exited?
    pub(super) fn is_last_of_process(&self, t: u32) -> bool {
        let fields = self.ext.fields;
        let process = |t: u32| {
            self.memory
                .get::<u32>(self.ext.task(t).address + fields.tgid)
        };
        let others = (0..self.ext.tasks.len() as u32).filter(|&other| other != t);
        let mut alive =
            others.filter(|&other| self.ext.task(other).address != 0 && !self.ext.task(other).dead);
        !alive.any(|other| process(other) == process(t))
    }

    /// The children of a task that goes are those of the first idle task, as of process 1.
    fn reparent_children(&mut self, t: u32) {
        if std::mem::take(&mut self.ext.task_mut(t).nr_children) == 0 {
            return;
        }
        let (fields, init) = (self.ext.fields, self.ext.rq(0).idle);
        for other in 0..self.ext.tasks.len() {
            if self.ext.tasks[other].parent == t {
                self.ext.tasks[other].parent = NONE;
                let child = self.ext.tasks[other].address;
                self.store(child + fields.real_parent, init);
                self.store(child + fields.parent, init);
            }
        }
    }

    // ---- attributes -----------------------------------------------------------------------

    /// reweight_task_scx()
    pub(super) fn reweight_task(&mut self, t: u32) {
        // SAFETY: the task exists.
        let public = unsafe { &*self.ext.task(t).public };
        self.describe_priority(t, public);
        if self.ext.task(t).class == Class::Ext {
            let weight = cgroup_weight(load_weight(public));
            self.set_weight(t, weight);
            self.task_op(Op::SetWeight, t, &[u64::from(weight)]);
        }
    }

    /// What a task_struct says of class and priority.
    pub(super) fn describe_class(&mut self, t: u32) {
        // SAFETY: the task exists.
        let public = unsafe { &*self.ext.task(t).public };
        self.describe_priority(t, public);
    }

    /// The class that serves a task from now on.
    pub(super) fn new_class(&self, t: u32) -> Class {
        // SAFETY: the task exists.
        class_of(unsafe { &*self.ext.task(t).public })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_control_groups() {
        let weights = [0, 20, 39].map(|i| cgroup_weight(WEIGHTS[i]));
        assert_eq!(weights, [8668, 100, 1]);
        assert_eq!(cgroup_weight(WEIGHT_IDLE), 1);
    }
}
