//! Numbers of the simulated kernel, as kernel/types.h has them.  A test compares the two.

#![allow(missing_docs)]

/// No task, no queue.
pub const NONE: u32 = u32::MAX;

/// enum scx_dsq_id_flags.
pub mod dsq {
    pub const BUILTIN: u64 = 1 << 63;
    pub const INVALID: u64 = BUILTIN;
    pub const GLOBAL: u64 = BUILTIN | 1;
    pub const LOCAL: u64 = BUILTIN | 2;
    pub const LOCAL_ON: u64 = BUILTIN | 1 << 62;
    pub const LOCAL_CPU_MASK: u64 = 0xffff_ffff;
    /// A list of a CPU that the kernel has, but no queue for it.
    pub const LIST: u64 = BUILTIN | 0xffff;
}

/// enum scx_enq_flags, and those of ENQUEUE_* in kernel/sched/sched.h that operations see.
pub mod enq {
    pub const WAKEUP: u64 = 1;
    pub const RESTORE: u64 = 2;
    pub const MOVE: u64 = 4;
    pub const NOCLOCK: u64 = 8;
    pub const CLASS: u64 = 0x40;
    pub const HEAD: u64 = 1 << 16;
    pub const INITIAL: u64 = 1 << 19;
    pub const CPU_SELECTED: u64 = 1 << 20;
    pub const MIGRATED: u64 = 1 << 18;
    pub const PREEMPT: u64 = 1 << 32;
    pub const IMMED: u64 = 1 << 33;
    pub const REENQ: u64 = 1 << 40;
    pub const LAST: u64 = 1 << 41;
    pub const INTERNAL: u64 = 0xff << 56;
    pub const CLEAR_OPSS: u64 = 1 << 56;
    pub const DSQ_PRIQ: u64 = 1 << 57;
    pub const GDSQ_FALLBACK: u64 = 1 << 59;
}

/// enum scx_deq_flags, and those of DEQUEUE_*.
pub mod deq {
    pub const SLEEP: u64 = 1;
    pub const SAVE: u64 = 2;
    pub const MOVE: u64 = 4;
    pub const NOCLOCK: u64 = 8;
    pub const CLASS: u64 = 0x40;
    pub const SPECIAL: u64 = 0x1_0000;
    pub const CORE_SCHED_EXEC: u64 = 1 << 32;
    pub const SCHED_CHANGE: u64 = 1 << 33;
}

/// enum scx_ent_flags.
pub mod task {
    pub const QUEUED: u32 = 1 << 0;
    pub const IN_CUSTODY: u32 = 1 << 1;
    pub const RESET_RUNNABLE_AT: u32 = 1 << 2;
    pub const DEQD_FOR_SLEEP: u32 = 1 << 3;
    pub const IMMED: u32 = 1 << 5;
    pub const STATE_MASK: u32 = 7 << 8;
    pub const STATE_INIT: u32 = 2 << 8;
    pub const STATE_READY: u32 = 3 << 8;
    pub const STATE_ENABLED: u32 = 4 << 8;
    pub const STATE_DEAD: u32 = 5 << 8;
    pub const REENQ_REASON_MASK: u32 = 3 << 12;
    pub const REENQ_KFUNC: u32 = 1 << 12;
    pub const REENQ_IMMED: u32 = 2 << 12;
    pub const REENQ_PREEMPTED: u32 = 3 << 12;
}

/// task_struct.flags.
pub mod pf {
    pub const IDLE: u32 = 0x2;
    pub const EXITING: u32 = 0x4;
    pub const KTHREAD: u32 = 0x0020_0000;
    pub const NO_SETAFFINITY: u32 = 0x0400_0000;
}

/// enum scx_wake_flags.
pub mod wake {
    pub const FORK: u64 = 4;
    pub const TTWU: u64 = 8;
    pub const SYNC: u64 = 16;
}

/// enum scx_pick_idle_cpu_flags.
pub mod pick {
    pub const CORE: u64 = 1;
    pub const IN_NODE: u64 = 2;
}

/// enum scx_kick_flags.
pub mod kick {
    pub const IDLE: u64 = 1;
    pub const PREEMPT: u64 = 2;
    pub const WAIT: u64 = 4;
}

/// enum scx_reenq_flags.
pub mod reenq {
    pub const ANY: u64 = 1;
    pub const FILTER_MASK: u64 = 0xffff;
    pub const TSR_RQ_OPEN: u64 = 1 << 32;
    pub const TSR_NOT_FIRST: u64 = 1 << 33;
    /// SCX_REENQ_LOCAL_MAX_REPEAT.
    pub const MAX_REPEAT: u32 = 256;
}

/// enum scx_ops_flags.
pub mod ops {
    pub const KEEP_BUILTIN_IDLE: u64 = 1 << 0;
    pub const ENQ_LAST: u64 = 1 << 1;
    pub const ENQ_EXITING: u64 = 1 << 2;
    pub const SWITCH_PARTIAL: u64 = 1 << 3;
    pub const BUILTIN_IDLE_PER_NODE: u64 = 1 << 6;
    pub const ALWAYS_ENQ_IMMED: u64 = 1 << 7;
    /// SCX_OPS_HAS_CGROUP_WEIGHT of Linux 6.12 and 6.13, which means nothing: allowed, for schedulers of that time.
    pub const HAS_CGROUP_WEIGHT: u64 = 1 << 16;
    pub const ALL: u64 = 0xff;
}

/// scx_public_consts and scx_consts.
pub const SLICE_DFL: u64 = 20_000_000;
pub const SLICE_INF: u64 = u64::MAX;
pub const DFL_MAX_BATCH: u32 = 32;
pub const MAX_LOOPS: u32 = 32;
pub const CPUPERF_ONE: u32 = 1024;
/// SCX_WATCHDOG_MAX_TIMEOUT, in ms.
pub const WATCHDOG_MS: u64 = 30_000;
pub const EXIT_MSG_LEN: usize = 1024;
pub const EXIT_DUMP_LEN: usize = 32_768;
/// scx_dsq_iter_flags.
pub const ITER_REV: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_types_say_the_same() {
        let kernel = crate::Kernel::new().unwrap();
        let expected = [
            ("SCX_DSQ_GLOBAL", dsq::GLOBAL),
            ("SCX_DSQ_LOCAL", dsq::LOCAL),
            ("SCX_DSQ_LOCAL_ON", dsq::LOCAL_ON),
            ("SCX_DSQ_LOCAL_CPU_MASK", dsq::LOCAL_CPU_MASK),
            ("SCX_ENQ_WAKEUP", enq::WAKEUP),
            ("SCX_ENQ_HEAD", enq::HEAD),
            ("SCX_ENQ_CPU_SELECTED", enq::CPU_SELECTED),
            ("SCX_ENQ_PREEMPT", enq::PREEMPT),
            ("SCX_ENQ_IMMED", enq::IMMED),
            ("SCX_ENQ_REENQ", enq::REENQ),
            ("SCX_ENQ_LAST", enq::LAST),
            ("SCX_ENQ_DSQ_PRIQ", enq::DSQ_PRIQ),
            ("SCX_DEQ_SLEEP", deq::SLEEP),
            ("SCX_DEQ_CORE_SCHED_EXEC", deq::CORE_SCHED_EXEC),
            ("SCX_DEQ_SCHED_CHANGE", deq::SCHED_CHANGE),
            ("SCX_TASK_QUEUED", u64::from(task::QUEUED)),
            ("SCX_TASK_IN_CUSTODY", u64::from(task::IN_CUSTODY)),
            ("SCX_TASK_IMMED", u64::from(task::IMMED)),
            ("SCX_TASK_ENABLED", u64::from(task::STATE_ENABLED)),
            ("SCX_TASK_REENQ_PREEMPTED", u64::from(task::REENQ_PREEMPTED)),
            ("SCX_WAKE_SYNC", wake::SYNC),
            ("SCX_WAKE_TTWU", wake::TTWU),
            ("SCX_PICK_IDLE_IN_NODE", pick::IN_NODE),
            ("SCX_KICK_WAIT", kick::WAIT),
            ("SCX_REENQ_ANY", reenq::ANY),
            ("SCX_OPS_ALL_FLAGS", ops::ALL),
            ("SCX_OPS_BUILTIN_IDLE_PER_NODE", ops::BUILTIN_IDLE_PER_NODE),
            ("SCX_SLICE_DFL", SLICE_DFL),
            ("SCX_SLICE_INF", SLICE_INF),
            ("SCX_DSQ_ITER_REV", ITER_REV),
            (
                "SCX_EXIT_ERROR_STALL",
                u64::from(super::super::ExitKind::Stall.number()),
            ),
            ("SCX_CPUPERF_ONE", u64::from(CPUPERF_ONE)),
        ];
        for (name, value) in expected {
            assert_eq!(kernel.btf.value(name), Some(value), "{name}");
        }
    }

    #[test]
    fn kfuncs_of_the_types_and_of_the_table_are_the_same() {
        let kernel = crate::Kernel::new().unwrap();
        let functions = kernel.btf.all(crate::btf::Kind::Func);
        let mut typed: Vec<&str> = functions.map(|id| kernel.btf.name(id)).collect();
        typed.retain(|name| *name != "bpf_scx_reg");
        typed.sort();
        let known: Vec<&str> = kernel.kfuncs.keys().copied().collect();
        let missing: Vec<_> = typed.iter().filter(|name| !known.contains(name)).collect();
        assert!(
            missing.is_empty(),
            "kernel.c has what nothing does: {missing:?}"
        );
        let own = super::super::KFUNCS.iter().map(|kfunc| kfunc.name);
        let untyped: Vec<_> = own.filter(|name| !typed.contains(name)).collect();
        assert!(untyped.is_empty(), "kernel.c lacks {untyped:?}");
    }
}
