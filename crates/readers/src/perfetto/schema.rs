//! Field numbers from Perfetto's published trace schema (`perfetto_trace.proto` of version 0.59.1
//! of its Python package).

/// `Trace`
pub mod trace {
    pub const PACKET: u32 = 1;
}

/// `TracePacket`
pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const SYSTEM_INFO: u32 = 45;
    pub const COMPRESSED_PACKETS: u32 = 50;
    pub const ZSTD_COMPRESSED_PACKETS: u32 = 133;
}

/// `SystemInfo` and its `Utsname`
pub mod system_info {
    pub const UTSNAME: u32 = 1;
    pub const NUM_CPUS: u32 = 8;
    pub const UTSNAME_VERSION: u32 = 2;
    pub const UTSNAME_RELEASE: u32 = 3;
}

/// `ProcessTree` and its `Thread`
pub mod process_tree {
    pub const THREADS: u32 = 2;
    pub const THREAD_TID: u32 = 1;
    pub const THREAD_TGID: u32 = 3;
}

/// `FtraceEventBundle`
pub mod bundle {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
    pub const LOST_EVENTS: u32 = 3;
    pub const COMPACT_SCHED: u32 = 4;
}

/// `FtraceEventBundle.CompactSched`
pub mod compact {
    pub const SWITCH_TIMESTAMP: u32 = 1;
    pub const SWITCH_PREV_STATE: u32 = 2;
    pub const SWITCH_NEXT_PID: u32 = 3;
    pub const SWITCH_NEXT_PRIO: u32 = 4;
    pub const INTERN_TABLE: u32 = 5;
    pub const SWITCH_NEXT_COMM_INDEX: u32 = 6;
    pub const WAKING_TIMESTAMP: u32 = 7;
    pub const WAKING_PID: u32 = 8;
    pub const WAKING_TARGET_CPU: u32 = 9;
    pub const WAKING_PRIO: u32 = 10;
    pub const WAKING_COMM_INDEX: u32 = 11;
    pub const WAKING_COMMON_FLAGS: u32 = 12;
}

/// `FtraceEvent`: the common fields, and the events that a recording needs.
pub mod event {
    pub const TIMESTAMP: u32 = 1;
    pub const PID: u32 = 2;
    pub const COMMON_FLAGS: u32 = 5;
    pub const SCHED_SWITCH: u32 = 4;
    pub const SCHED_WAKEUP: u32 = 17;
    pub const SCHED_WAKING: u32 = 20;
    pub const SCHED_WAKEUP_NEW: u32 = 114;
    pub const TASK_NEWTASK: u32 = 235;
    pub const TASK_RENAME: u32 = 236;
    pub const SCHED_PROCESS_EXEC: u32 = 237;
    pub const SCHED_PROCESS_EXIT: u32 = 238;
    pub const SCHED_PROCESS_FORK: u32 = 239;
    pub const SYS_ENTER: u32 = 329;
    pub const SCHED_MIGRATE_TASK: u32 = 491;
}

/// The number of sched_yield(2) on x86-64.
pub const SCHED_YIELD: u64 = 24;
