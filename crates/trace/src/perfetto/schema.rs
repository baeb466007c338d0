//! Field numbers of the Perfetto messages we write, from Perfetto's published trace schema
//! (`perfetto_trace.proto`, as in version 0.59.1 of its Python package).

/// `Trace`
pub mod trace {
    pub const PACKET: u32 = 1;
}

/// `TracePacket`
pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const TIMESTAMP: u32 = 8;
    pub const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const SYSTEM_INFO: u32 = 45;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const TRACE_ATTRIBUTES: u32 = 126;
}

/// `TracePacket.SequenceFlags`: this packet starts its sequence afresh.
pub const SEQ_INCREMENTAL_STATE_CLEARED: u64 = 1;

/// `SystemInfo` and its `Utsname`
pub mod system_info {
    pub const UTSNAME: u32 = 1;
    pub const NUM_CPUS: u32 = 8;
    pub const UTSNAME_SYSNAME: u32 = 1;
    pub const UTSNAME_VERSION: u32 = 2;
    pub const UTSNAME_RELEASE: u32 = 3;
}

/// `TraceAttributes` and its `Attribute`
pub mod attributes {
    pub const ATTRIBUTE: u32 = 1;
    pub const KEY: u32 = 1;
    pub const STRING_VALUE: u32 = 3;
}

/// `ProcessTree`, its `Process` and its `Thread`
pub mod process_tree {
    pub const PROCESSES: u32 = 1;
    pub const THREADS: u32 = 2;
    pub const PROCESS_PID: u32 = 1;
    pub const PROCESS_PPID: u32 = 2;
    pub const PROCESS_CMDLINE: u32 = 3;
    pub const THREAD_TID: u32 = 1;
    pub const THREAD_NAME: u32 = 2;
    pub const THREAD_TGID: u32 = 3;
}

/// `FtraceEventBundle`
pub mod bundle {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
    pub const COMPACT_SCHED: u32 = 4;
}

/// The number of sched_yield(2) on x86-64.
pub const SCHED_YIELD: u64 = 24;

/// `FtraceEvent`, with `TaskNewtask`, `SchedProcessFork`, `SchedWakeupNew` and `SysEnter`: what the compact tables have no columns for
pub mod event {
    pub const TIMESTAMP: u32 = 1;
    pub const PID: u32 = 2;
    pub const SCHED_WAKEUP_NEW: u32 = 114;
    pub const TASK_NEWTASK: u32 = 235;
    pub const SCHED_PROCESS_FORK: u32 = 239;
    pub const SYS_ENTER: u32 = 329;
    pub const ENTER_ID: u32 = 1;
    pub const NEW_PID: u32 = 1;
    pub const NEW_COMM: u32 = 2;
    pub const NEW_CLONE_FLAGS: u32 = 3;
    pub const PARENT_COMM: u32 = 1;
    pub const PARENT_PID: u32 = 2;
    pub const CHILD_COMM: u32 = 3;
    pub const CHILD_PID: u32 = 4;
    pub const WOKEN_COMM: u32 = 1;
    pub const WOKEN_PID: u32 = 2;
    pub const WOKEN_PRIO: u32 = 3;
    pub const WOKEN_TARGET_CPU: u32 = 5;
}

/// The clone flag of a thread of its parent's process.
pub const CLONE_THREAD: u64 = 0x10000;

/// `FtraceEventBundle.CompactSched`: two tables stored by column, one column a packed array.
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

/// `TrackDescriptor`, its `ThreadDescriptor` and its `CounterDescriptor`
pub mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const THREAD: u32 = 4;
    pub const PARENT_UUID: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const CHILD_ORDERING: u32 = 11;
    pub const SIBLING_ORDER_RANK: u32 = 12;
    pub const THREAD_PID: u32 = 1;
    pub const THREAD_TID: u32 = 2;
    pub const COUNTER_UNIT: u32 = 3;
}

/// `TrackDescriptor.ChildTracksOrdering`: by `sibling_order_rank`.
pub const ORDERING_EXPLICIT: u64 = 3;

/// `CounterDescriptor.Unit`
pub mod unit {
    pub const TIME_NS: u64 = 1;
    pub const COUNT: u64 = 2;
}

/// `TrackEvent`
pub mod track_event {
    pub const TYPE: u32 = 9;
    pub const TRACK_UUID: u32 = 11;
    pub const NAME: u32 = 23;
    pub const COUNTER_VALUE: u32 = 30;
    pub const TYPE_INSTANT: u64 = 3;
    pub const TYPE_COUNTER: u64 = 4;
}
