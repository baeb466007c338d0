//! One CPU's switches and wakings as Perfetto's CompactSched: columns instead of records,
//! differences instead of times, and each name once.

use std::collections::HashMap;

use super::schema::{bundle, compact, event, packet, CLONE_THREAD, SCHED_YIELD};
use crate::follow::Task;
use crate::proto::{Message, Packed};
use crate::{CpuId, Time};

/// A CPU runs another task.  The previous task is the one that the last switch named.
pub struct Switch<'a> {
    pub time: Time,
    pub prev_state: i64,
    pub next_pid: u32,
    pub next_prio: i32,
    pub next_comm: &'a str,
}

/// A task is being woken on this CPU.
pub struct Waking<'a> {
    pub time: Time,
    pub pid: u32,
    pub target: CpuId,
    pub prio: i32,
    pub comm: &'a str,
    pub common_flags: u64,
}

/// The bundle of events a CPU is filling.
pub struct CpuBundle {
    cpu: CpuId,
    events: usize,
    /// Forks, first wakeups and yields, for which there are no columns, and when the last of them was.
    forks: Message,
    forked: Option<Time>,
    comms: Comms,
    switch_times: Times,
    switch_columns: [(u32, Packed); 4],
    waking_times: Times,
    waking_columns: [(u32, Packed); 5],
}

impl CpuBundle {
    pub fn new(cpu: CpuId) -> Self {
        let column = |field| (field, Packed::default());
        CpuBundle {
            cpu,
            events: 0,
            forks: Message::default(),
            forked: None,
            comms: Comms::default(),
            switch_times: Times::default(),
            switch_columns: [
                column(compact::SWITCH_PREV_STATE),
                column(compact::SWITCH_NEXT_PID),
                column(compact::SWITCH_NEXT_PRIO),
                column(compact::SWITCH_NEXT_COMM_INDEX),
            ],
            waking_times: Times::default(),
            waking_columns: [
                column(compact::WAKING_PID),
                column(compact::WAKING_TARGET_CPU),
                column(compact::WAKING_PRIO),
                column(compact::WAKING_COMM_INDEX),
                column(compact::WAKING_COMMON_FLAGS),
            ],
        }
    }

    /// Number of events in the bundle.
    pub fn len(&self) -> usize {
        self.events
    }

    /// Would a switch at `time` be read before a waking or fork that happened before it?
    ///
    /// Readers sort by time and, among equals, take a bundle's switches before all else.
    /// A switch in the nanosecond of a waking therefore belongs in the next bundle: else the
    /// wakeup would be attributed to the next task.
    pub fn must_end_before_switch(&self, time: Time) -> bool {
        [self.waking_times.last, self.forked].contains(&Some(time))
    }

    /// A task that runs here has forked another.
    pub fn push_fork(&mut self, time: Time, parent: &Task, child: &Task) {
        let flags = if child.tgid == child.pid {
            0
        } else {
            CLONE_THREAD
        };
        self.push_event(time, parent.pid, event::TASK_NEWTASK, |new| {
            new.uint(event::NEW_PID, child.pid.into());
            new.text(event::NEW_COMM, &child.comm);
            new.uint(event::NEW_CLONE_FLAGS, flags);
        });
        self.push_event(time, parent.pid, event::SCHED_PROCESS_FORK, |fork| {
            fork.text(event::PARENT_COMM, &parent.comm);
            fork.uint(event::PARENT_PID, parent.pid.into());
            fork.text(event::CHILD_COMM, &child.comm);
            fork.uint(event::CHILD_PID, child.pid.into());
        });
    }

    /// The thread that runs here calls sched_yield(2).
    pub fn push_yield(&mut self, time: Time, pid: u32) {
        self.push_event(time, pid, event::SYS_ENTER, |enter| {
            enter.uint(event::ENTER_ID, SCHED_YIELD);
        });
    }

    /// A new task joins a run queue, by the thread `by` that runs here.
    pub fn push_wakeup_new(&mut self, time: Time, by: u32, new: &Task, target: CpuId) {
        self.push_event(time, by, event::SCHED_WAKEUP_NEW, |woken| {
            woken.text(event::WOKEN_COMM, &new.comm);
            woken.uint(event::WOKEN_PID, new.pid.into());
            woken.int(event::WOKEN_PRIO, new.prio().into());
            woken.uint(event::WOKEN_TARGET_CPU, target.0.into());
        });
    }

    fn push_event(&mut self, time: Time, by: u32, kind: u32, build: impl FnOnce(&mut Message)) {
        self.events += 1;
        self.forked = Some(time);
        self.forks.message(bundle::EVENT, |e| {
            e.uint(event::TIMESTAMP, time.0);
            e.uint(event::PID, by.into());
            e.message(kind, build);
        });
    }

    pub fn push_switch(&mut self, switch: &Switch<'_>) {
        let comm = self.comms.index(switch.next_comm);
        self.events += 1;
        self.switch_times.push(switch.time);
        let [state, pid, prio, comm_index] = &mut self.switch_columns;
        state.1.push_int(switch.prev_state);
        pid.1.push(switch.next_pid.into());
        prio.1.push_int(switch.next_prio.into());
        comm_index.1.push(comm);
    }

    pub fn push_waking(&mut self, waking: &Waking<'_>) {
        let comm = self.comms.index(waking.comm);
        self.events += 1;
        self.waking_times.push(waking.time);
        let [pid, target, prio, comm_index, flags] = &mut self.waking_columns;
        pid.1.push(waking.pid.into());
        target.1.push(waking.target.0.into());
        prio.1.push_int(waking.prio.into());
        comm_index.1.push(comm);
        flags.1.push(waking.common_flags);
    }

    /// Moves the bundle into a packet and starts the next one.
    pub fn drain_into(&mut self, message: &mut Message) {
        message.message(packet::FTRACE_EVENTS, |b| {
            b.uint(bundle::CPU, self.cpu.0.into());
            b.append(&self.forks);
            b.message(bundle::COMPACT_SCHED, |c| self.drain_columns(c));
        });
        self.forks.clear();
        self.forked = None;
        self.events = 0;
    }

    fn drain_columns(&mut self, message: &mut Message) {
        self.comms.drain_into(message);
        self.switch_times
            .drain_into(message, compact::SWITCH_TIMESTAMP);
        self.waking_times
            .drain_into(message, compact::WAKING_TIMESTAMP);
        for (field, column) in self
            .switch_columns
            .iter_mut()
            .chain(&mut self.waking_columns)
        {
            message.packed(*field, column);
            column.clear();
        }
    }
}

/// A column of times: the first since zero, each further one since the one before.
#[derive(Default)]
struct Times {
    deltas: Packed,
    last: Option<Time>,
}

impl Times {
    fn push(&mut self, time: Time) {
        let before = self.last.replace(time).unwrap_or(Time::ZERO);
        self.deltas.push(time.since(before).0);
    }

    fn drain_into(&mut self, message: &mut Message, field: u32) {
        message.packed(field, &self.deltas);
        self.deltas.clear();
        self.last = None;
    }
}

/// The names a bundle uses, in order of first use.
#[derive(Default)]
struct Comms {
    names: Vec<String>,
    /// Only looked up, never iterated: its order does not affect the file.
    indexes: HashMap<String, u64>,
}

impl Comms {
    fn index(&mut self, name: &str) -> u64 {
        if let Some(&index) = self.indexes.get(name) {
            return index;
        }
        let index = self.names.len() as u64;
        self.names.push(name.to_string());
        self.indexes.insert(name.to_string(), index);
        index
    }

    fn drain_into(&mut self, message: &mut Message) {
        for name in self.names.drain(..) {
            message.text(compact::INTERN_TABLE, &name);
        }
        self.indexes.clear();
    }
}
