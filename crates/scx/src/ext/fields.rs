//! What programs see of tasks and run queues: where it is, and reading and writing it.

use crate::btf::Btf;
use crate::machine::Machine;

/// Defines a structure of offsets within kernel types.
macro_rules! fields {
    ($($field:ident $type:literal $path:literal,)*) => {
        /// Where fields of the kernel's structures are.
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct Fields {
            $(pub $field: u64,)*
        }

        impl Fields {
            /// Looks all of them up.
            ///
            /// # Panics
            /// If kernel.c does not have one: the two belong together.
            pub fn new(btf: &Btf) -> Fields {
                let offset = |name: &str, path: &str| {
                    let field = btf.field(name, path);
                    u64::from(field.unwrap_or_else(|| panic!("{name}.{path}")).offset)
                };
                Fields { $($field: offset($type, $path),)* }
            }
        }
    };
}

fields! {
    cpu "task_struct" "thread_info.cpu",
    state "task_struct" "__state",
    pf "task_struct" "flags",
    on_cpu "task_struct" "on_cpu",
    wake_cpu "task_struct" "wake_cpu",
    on_rq "task_struct" "on_rq",
    prio "task_struct" "prio",
    static_prio "task_struct" "static_prio",
    normal_prio "task_struct" "normal_prio",
    rt_priority "task_struct" "rt_priority",
    load_weight "task_struct" "se.load.weight",
    exec_start "task_struct" "se.exec_start",
    sum_exec_runtime "task_struct" "se.sum_exec_runtime",
    nr_migrations "task_struct" "se.nr_migrations",
    flags "task_struct" "scx.flags",
    weight "task_struct" "scx.weight",
    selected_cpu "task_struct" "scx.selected_cpu",
    runnable_at "task_struct" "scx.runnable_at",
    ddsp_dsq_id "task_struct" "scx.ddsp_dsq_id",
    ddsp_enq_flags "task_struct" "scx.ddsp_enq_flags",
    slice "task_struct" "scx.slice",
    dsq_vtime "task_struct" "scx.dsq_vtime",
    disallow "task_struct" "scx.disallow",
    sched_task_group "task_struct" "sched_task_group",
    policy "task_struct" "policy",
    nr_cpus_allowed "task_struct" "nr_cpus_allowed",
    cpus_ptr "task_struct" "cpus_ptr",
    cpus_mask "task_struct" "cpus_mask",
    pcount "task_struct" "sched_info.pcount",
    run_delay "task_struct" "sched_info.run_delay",
    last_arrival "task_struct" "sched_info.last_arrival",
    last_queued "task_struct" "sched_info.last_queued",
    mm "task_struct" "mm",
    pid "task_struct" "pid",
    tgid "task_struct" "tgid",
    real_parent "task_struct" "real_parent",
    parent "task_struct" "parent",
    group_leader "task_struct" "group_leader",
    utime "task_struct" "utime",
    nvcsw "task_struct" "nvcsw",
    nivcsw "task_struct" "nivcsw",
    start_time "task_struct" "start_time",
    start_boottime "task_struct" "start_boottime",
    comm "task_struct" "comm",
    cgroups "task_struct" "cgroups",
    rq_nr_running "rq" "nr_running",
    rq_scx_nr_running "rq" "scx.nr_running",
    rq_cpuperf_target "rq" "scx.cpuperf_target",
    rq_curr "rq" "curr",
    rq_idle "rq" "idle",
    rq_clock "rq" "clock",
    rq_clock_task "rq" "clock_task",
    rq_clock_pelt "rq" "clock_pelt",
    rq_cpu "rq" "cpu",
    cgroup_self "cgroup" "self.cgroup",
    cgroup_kn "cgroup" "kn",
    cgroup_ancestors "cgroup" "ancestors",
    cgroup_level "cgroup" "level",
    cgroup_parent "cgroup" "self.parent",
    kn_id "kernfs_node" "id",
    kn_name "kernfs_node" "name",
    css_set_dfl "css_set" "dfl_cgrp",
    tg_cgroup "task_group" "css.cgroup",
    tg_parent "task_group" "parent",
    mm_number "mm_struct" "number",
    init_fork "scx_init_task_args" "fork",
    init_cgroup "scx_init_task_args" "cgroup",
    exit_cancelled "scx_exit_task_args" "cancelled",
    cgroup_weight "scx_cgroup_init_args" "weight",
    cgroup_period "scx_cgroup_init_args" "bw_period_us",
    cgroup_quota "scx_cgroup_init_args" "bw_quota_us",
    cgroup_burst "scx_cgroup_init_args" "bw_burst_us",
    release_reason "scx_cpu_release_args" "reason",
    release_task "scx_cpu_release_args" "task",
    exit_kind "scx_exit_info" "kind",
    exit_code "scx_exit_info" "exit_code",
    exit_flags "scx_exit_info" "flags",
    exit_reason "scx_exit_info" "reason",
    exit_msg "scx_exit_info" "msg",
    exit_dump "scx_exit_info" "dump",
    dump_kind "scx_dump_ctx" "kind",
    dump_code "scx_dump_ctx" "exit_code",
    dump_reason "scx_dump_ctx" "reason",
    dump_at_ns "scx_dump_ctx" "at_ns",
    dump_at_jiffies "scx_dump_ctx" "at_jiffies",
    vtime_dsq_id "scx_bpf_dsq_insert_vtime_args" "dsq_id",
    vtime_slice "scx_bpf_dsq_insert_vtime_args" "slice",
    vtime_vtime "scx_bpf_dsq_insert_vtime_args" "vtime",
    vtime_enq_flags "scx_bpf_dsq_insert_vtime_args" "enq_flags",
    and_prev_cpu "scx_bpf_select_cpu_and_args" "prev_cpu",
    and_wake_flags "scx_bpf_select_cpu_and_args" "wake_flags",
    and_flags "scx_bpf_select_cpu_and_args" "flags",
}

/// Defines access to numbers of tasks.
macro_rules! access {
    ($($get:ident $set:ident $field:ident $type:ty;)*) => { $(
        #[inline]
        pub(super) fn $get(&self, task: u32) -> $type {
            self.memory.get(self.ext.tasks[task as usize].address + self.ext.fields.$field)
        }

        #[inline]
        pub(super) fn $set(&mut self, task: u32, value: $type) {
            let at = self.ext.tasks[task as usize].address + self.ext.fields.$field;
            self.store(at, value);
        }
    )* };
}

impl Machine {
    access! {
        slice set_slice slice u64;
        dsq_vtime set_dsq_vtime dsq_vtime u64;
        task_flags set_task_flags flags u32;
        selected_cpu set_selected_cpu selected_cpu u32;
        runnable_at set_runnable_at runnable_at u64;
        ddsp_dsq_id set_ddsp_dsq_id ddsp_dsq_id u64;
        ddsp_enq_flags set_ddsp_enq_flags ddsp_enq_flags u64;
        exec_start set_exec_start exec_start u64;
        sum_exec set_sum_exec sum_exec_runtime u64;
        pf set_pf pf u32;
        nr_cpus_allowed set_nr_cpus_allowed nr_cpus_allowed u32;
        last_queued set_last_queued last_queued u64;
        run_delay set_run_delay run_delay u64;
        pcount set_pcount pcount u64;
        pid set_pid pid u32;
    }

    /// Writes what is the kernel's own: the address is inside.
    #[inline]
    pub(super) fn store<T: crate::memory::Plain>(&mut self, at: u64, value: T) {
        let stored = self.memory.set(at, value);
        debug_assert!(stored.is_ok(), "{at:#x}");
    }

    /// Writes a field of a run queue.
    #[inline]
    pub(super) fn store_rq<T: crate::memory::Plain>(&mut self, cpu: u32, field: u64, value: T) {
        let at = self.ext.rqs[cpu as usize].address + field;
        self.store(at, value);
    }

    /// Writes p->scx.weight.
    pub(super) fn set_weight(&mut self, task: u32, weight: u32) {
        let at = self.ext.tasks[task as usize].address + self.ext.fields.weight;
        self.store(at, weight);
    }

    /// Reads p->scx.disallow.
    pub(super) fn disallow(&self, task: u32) -> u8 {
        let at = self.ext.tasks[task as usize].address + self.ext.fields.disallow;
        self.memory.get(at)
    }

    /// Has the task this flag (SCX_TASK_*)?
    #[inline]
    pub(super) fn has_flag(&self, task: u32, flag: u32) -> bool {
        self.task_flags(task) & flag != 0
    }

    #[inline]
    pub(super) fn add_flag(&mut self, task: u32, flag: u32) {
        let flags = self.task_flags(task);
        self.set_task_flags(task, flags | flag);
    }

    #[inline]
    pub(super) fn clear_flag(&mut self, task: u32, flag: u32) {
        let flags = self.task_flags(task);
        self.set_task_flags(task, flags & !flag);
    }

    /// "comm[pid]", as the kernel's messages name a task.
    pub(super) fn task_name(&self, task: u32) -> String {
        let address = self.ext.tasks[task as usize].address;
        let comm = self.memory.string(address + self.ext.fields.comm, 16);
        format!("{comm}[{}]", self.pid(task))
    }
}
