//! A trace as Perfetto reads it: open the file at <https://ui.perfetto.dev>.

mod counters;
mod packets;
mod sched;
mod schema;

use std::io::{self, Write};

use self::counters::{Counter, Counters, Description};
use self::packets::Packets;
use self::sched::{CpuBundle, Switch, Waking};
use self::schema::{
    attributes, packet, process_tree, system_info, track, track_event, unit, ORDERING_EXPLICIT,
};
use crate::follow::{Follower, IDLE_PRIO};
use crate::{
    kernel_version, CpuId, Event, EventKind, MarkId, PrevState, Sink, TaskId, TaskInfo, Time,
    TraceInfo, WakeContext,
};

/// Written in traces of simulations in place of the kernel's version (`uname -v`).
pub const SIMULATED_VERSION: &str = "schedlab, simulated";

/// Readers decode task states by kernel version, so a trace names one, if not its own: states are
/// written as by 4.14 and later.
const KERNEL_RELEASE: &str = "6.12.0-schedlab";
const STATES_SINCE: (u32, u32) = (4, 14);

/// All CPUs together hold at most about this many events in memory.
const BUFFERED_EVENTS: usize = 1 << 20;

/// Tasks described without an event in between are announced in packets of this many.
const TASKS_PER_PACKET: usize = 1024;

/// The identifiers of the three groups of tracks; single tracks follow.
const RUN_QUEUES: u64 = 1;
const WORKLOAD: u64 = 2;
const POLICY: u64 = 3;
const FIRST_UUID: u64 = 16;

/// Writes a Perfetto trace (protocol buffers).
///
/// Switches and wakings are stored as CompactSched, 8 to 10 bytes an event.  Counter tracks show
/// the tasks waiting for each CPU, all runnable tasks, what the workload counts and times, the
/// policy's own counters, and the priority of the first
/// [`MAX_PRIORITY_TRACKS`](PerfettoSink::MAX_PRIORITY_TRACKS) tasks that report one.
///
/// Memory is bounded by the number of tasks and CPUs, not by the length of the trace.
pub struct PerfettoSink<W: Write> {
    packets: Packets<W>,
    follower: Follower,
    cpus: Vec<CpuBundle>,
    events_per_bundle: usize,
    counters: Counters,
    priority_tracks: usize,
    undeclared: Vec<TaskId>,
    /// Forked, and not yet on a run queue.
    newborn: Vec<TaskId>,
    info: TraceInfo,
    now: Time,
}

impl<W: Write> PerfettoSink<W> {
    /// The most tasks with a priority track, in order of their first priority.  When a further one
    /// reports a priority, an instant on the timeline says that it got none.
    pub const MAX_PRIORITY_TRACKS: usize = 64;

    /// Will write to `writer`, buffered.
    pub fn new(writer: W) -> Self {
        PerfettoSink {
            packets: Packets::new(writer),
            follower: Follower::default(),
            cpus: Vec::new(),
            events_per_bundle: 0,
            counters: Counters::new(FIRST_UUID),
            priority_tracks: 0,
            undeclared: Vec::new(),
            newborn: Vec::new(),
            info: TraceInfo::default(),
            now: Time::ZERO,
        }
    }

    /// Writes everything and returns the writer.
    ///
    /// # Errors
    /// The first error the writer reported; what follows it was not written.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush();
        self.packets.finish()
    }

    fn write_system_info(&mut self) {
        let nr_cpus = self.info.nr_cpus;
        // Only simulated traces carry costs.
        let version = match self.info.has_costs {
            true => SIMULATED_VERSION,
            false => "schedlab",
        };
        let release = self.info.release.as_deref();
        let release = release.filter(|r| kernel_version(r) >= Some(STATES_SINCE));
        let release = release.unwrap_or(KERNEL_RELEASE);
        self.packets.packet(Some(Time::ZERO), |p| {
            p.message(packet::SYSTEM_INFO, |s| {
                s.message(system_info::UTSNAME, |u| {
                    u.text(system_info::UTSNAME_SYSNAME, "Linux");
                    u.text(system_info::UTSNAME_VERSION, version);
                    u.text(system_info::UTSNAME_RELEASE, release);
                });
                s.uint(system_info::NUM_CPUS, nr_cpus.into());
            });
        });
    }

    fn write_attributes(&mut self) {
        let info = &self.info;
        let pairs = [
            ("schedlab.policy", &info.policy),
            ("schedlab.workload", &info.workload),
            ("schedlab.machine", &info.machine),
        ];
        self.packets.packet(Some(Time::ZERO), |p| {
            p.message(packet::TRACE_ATTRIBUTES, |a| {
                for (key, value) in pairs {
                    a.message(attributes::ATTRIBUTE, |pair| {
                        pair.text(attributes::KEY, key);
                        pair.text(attributes::STRING_VALUE, value);
                    });
                }
            });
        });
    }

    /// Readers drop a CPU's first switch, and its wakings until then: two from idle to idle.
    fn open_cpus(&mut self) {
        for cpu in (0..self.info.nr_cpus).map(CpuId) {
            let mut bundle = CpuBundle::new(cpu);
            for _ in 0..2 {
                bundle.push_switch(&idle_switch(Time::ZERO, PrevState::Idle));
            }
            self.cpus.push(bundle);
        }
    }

    fn describe_group(&mut self, uuid: u64, name: &str) {
        self.packets.packet(Some(Time::ZERO), |p| {
            p.message(packet::TRACK_DESCRIPTOR, |d| {
                d.uint(track::UUID, uuid);
                d.text(track::NAME, name);
                d.uint(track::CHILD_ORDERING, ORDERING_EXPLICIT);
            });
        });
    }

    fn describe(&mut self, counter: Counter, name: &str, parent_uuid: u64, rank: u64) {
        let unit = match counter {
            Counter::Priority(_) => None,
            Counter::Latency(_) => Some(unit::TIME_NS),
            _ => Some(unit::COUNT),
        };
        let how = Description {
            name,
            parent_uuid,
            unit,
            rank,
        };
        self.counters
            .describe(&mut self.packets, self.now, counter, &how);
    }

    fn describe_run_queues(&mut self) {
        self.describe_group(RUN_QUEUES, "run queues");
        self.describe(Counter::Runnable, "runnable tasks", RUN_QUEUES, 0);
        self.counters.set(Counter::Runnable, 0);
        for cpu in 0..self.info.nr_cpus {
            let counter = Counter::Waiting(CpuId(cpu));
            self.describe(
                counter,
                &format!("waiting for CPU {cpu}"),
                RUN_QUEUES,
                1 + u64::from(cpu),
            );
            self.counters.set(counter, 0);
        }
    }

    fn describe_names(&mut self) {
        if !self.info.marks.is_empty() {
            self.describe_group(WORKLOAD, "workload");
        }
        if !self.info.counters.is_empty() {
            self.describe_group(POLICY, "policy");
        }
        for (rank, name) in (0..).zip(self.info.counters.clone()) {
            self.describe(Counter::Policy(rank), &name, POLICY, rank.into());
        }
    }

    /// What the workload counts and what it times share names: a track appears with its first value.
    fn describe_mark(&mut self, counter: Counter, mark: MarkId, suffix: &str) {
        if !self.counters.has(counter) {
            if let Some(name) = self.info.marks.get(mark.0 as usize) {
                let name = format!("{name}{suffix}");
                self.describe(counter, &name, WORKLOAD, mark.0.into());
            }
        }
    }

    fn priority(&mut self, task: TaskId, priority: i32) {
        let counter = Counter::Priority(task);
        if !self.counters.has(counter) {
            if self.priority_tracks < Self::MAX_PRIORITY_TRACKS {
                self.describe_priority(task);
            } else if self.priority_tracks == Self::MAX_PRIORITY_TRACKS {
                self.say_priorities_are_cut();
            }
            self.priority_tracks = (self.priority_tracks + 1).min(Self::MAX_PRIORITY_TRACKS + 1);
        }
        self.counters.set(counter, priority.into());
    }

    /// A priority is drawn under its task's own track.
    fn describe_priority(&mut self, task: TaskId) {
        let thread_uuid = self.counters.new_uuid();
        let about = self.follower.get(task);
        let (tgid, tid) = (about.tgid, about.pid);
        self.packets.packet(Some(self.now), |p| {
            p.message(packet::TRACK_DESCRIPTOR, |d| {
                d.uint(track::UUID, thread_uuid);
                d.message(track::THREAD, |t| {
                    t.uint(track::THREAD_PID, tgid.into());
                    t.uint(track::THREAD_TID, tid.into());
                });
            });
        });
        self.describe(Counter::Priority(task), "priority", thread_uuid, 0);
    }

    fn say_priorities_are_cut(&mut self) {
        let uuid = self.counters.new_uuid();
        self.packets.packet(Some(self.now), |p| {
            p.message(packet::TRACK_DESCRIPTOR, |d| {
                d.uint(track::UUID, uuid);
                d.text(track::NAME, "priority tracks");
            });
        });
        let notice = format!(
            "only the first {} tasks have one",
            Self::MAX_PRIORITY_TRACKS
        );
        self.packets.packet(Some(self.now), |p| {
            p.message(packet::TRACK_EVENT, |e| {
                e.uint(track_event::TYPE, track_event::TYPE_INSTANT);
                e.uint(track_event::TRACK_UUID, uuid);
                e.text(track_event::NAME, &notice);
            });
        });
    }

    /// Announces new tasks.  It waits for the event after their description, which names the parent.
    fn declare_tasks(&mut self, forked: Option<(TaskId, TaskId)>) {
        if self.undeclared.is_empty() {
            return;
        }
        let (follower, tasks) = (&self.follower, &self.undeclared);
        let parent_of = |task| match forked {
            Some((child, parent)) if child == task => follower.get(parent).tgid,
            _ => 0,
        };
        self.packets.packet(Some(self.now), |p| {
            p.message(packet::PROCESS_TREE, |tree| {
                for &task in tasks {
                    let about = follower.get(task);
                    let tid = about.pid;
                    if about.tgid == tid {
                        tree.message(process_tree::PROCESSES, |m| {
                            m.uint(process_tree::PROCESS_PID, tid.into());
                            m.uint(process_tree::PROCESS_PPID, parent_of(task).into());
                            m.text(process_tree::PROCESS_CMDLINE, &about.comm);
                        });
                    }
                    tree.message(process_tree::THREADS, |m| {
                        m.uint(process_tree::THREAD_TID, tid.into());
                        m.text(process_tree::THREAD_NAME, &about.comm);
                        m.uint(process_tree::THREAD_TGID, about.tgid.into());
                    });
                }
            });
        });
        self.undeclared.clear();
    }

    fn switch(&mut self, cpu: CpuId, prev_state: PrevState, next: Option<TaskId>) {
        if self.cpus[cpu.index()].must_end_before_switch(self.now) {
            self.flush_cpu(cpu);
        }
        let bundle = &mut self.cpus[cpu.index()];
        match next {
            None => bundle.push_switch(&idle_switch(self.now, prev_state)),
            Some(next) => {
                let task = self.follower.get(next);
                bundle.push_switch(&Switch {
                    time: self.now,
                    prev_state: state_bits(prev_state),
                    next_pid: task.pid,
                    next_prio: task.prio(),
                    next_comm: &task.comm,
                });
            }
        }
        self.flush_cpu_if_full(cpu);
    }

    fn waking(&mut self, cpu: CpuId, task: TaskId, by: WakeContext) {
        let about = self.follower.get(task);
        self.cpus[cpu.index()].push_waking(&Waking {
            time: self.now,
            pid: about.pid,
            // As in the kernel, the CPU the task last belonged to: the next one is not chosen yet.
            target: about.cpu.unwrap_or(cpu),
            prio: about.prio(),
            comm: &about.comm,
            common_flags: wake_flags(by),
        });
        self.flush_cpu_if_full(cpu);
    }

    fn fork(&mut self, cpu: CpuId, parent: TaskId, child: TaskId) {
        self.newborn.push(child);
        let (parent, child) = (self.follower.get(parent), self.follower.get(child));
        self.cpus[cpu.index()].push_fork(self.now, parent, child);
        self.flush_cpu_if_full(cpu);
    }

    fn sched_yield(&mut self, cpu: CpuId, task: TaskId) {
        let pid = self.follower.get(task).pid;
        self.cpus[cpu.index()].push_yield(self.now, pid);
        self.flush_cpu_if_full(cpu);
    }

    /// The first wakeup of a forked task; all other wakeups follow from their waking.
    fn wakeup_of_new(&mut self, cpu: CpuId, task: TaskId, target: CpuId) {
        let Some(place) = self.newborn.iter().position(|&new| new == task) else {
            return;
        };
        self.newborn.swap_remove(place);
        let by = self.follower.running(cpu);
        let by = by.map_or(0, |by| self.follower.get(by).pid);
        let new = self.follower.get(task);
        self.cpus[cpu.index()].push_wakeup_new(self.now, by, new, target);
        self.flush_cpu_if_full(cpu);
    }

    fn flush_cpu_if_full(&mut self, cpu: CpuId) {
        if self.cpus[cpu.index()].len() >= self.events_per_bundle {
            self.flush_cpu(cpu);
        }
    }

    fn flush_cpu(&mut self, cpu: CpuId) {
        let bundle = &mut self.cpus[cpu.index()];
        if bundle.len() > 0 {
            self.packets.packet(None, |p| bundle.drain_into(p));
        }
    }

    fn flush(&mut self) {
        self.declare_tasks(None);
        self.counters.write(&mut self.packets, self.now);
        for cpu in (0..self.info.nr_cpus).map(CpuId) {
            self.flush_cpu(cpu);
        }
    }

    /// Time advances: the counters' values until now are final.
    fn advance(&mut self, time: Time) {
        if time > self.now {
            self.counters.write(&mut self.packets, self.now);
            self.now = time;
        }
    }

    fn update_run_queues(&mut self) {
        for &cpu in self.follower.changed() {
            self.counters
                .set(Counter::Waiting(cpu), self.follower.waiting(cpu).into());
        }
        self.counters
            .set(Counter::Runnable, self.follower.runnable().into());
    }

    fn encode(&mut self, event: &Event) {
        match event.kind {
            EventKind::Switch {
                prev_state, next, ..
            } => self.switch(event.cpu, prev_state, next),
            EventKind::Waking { task, by } => self.waking(event.cpu, task, by),
            EventKind::Fork {
                child,
                parent: Some(parent),
            } => self.fork(event.cpu, parent, child),
            EventKind::Yield { task } => self.sched_yield(event.cpu, task),
            EventKind::Wakeup { task, target } => self.wakeup_of_new(event.cpu, task, target),
            EventKind::Priority { task, priority } => self.priority(task, priority),
            EventKind::Mark { mark, count, .. } => {
                self.describe_mark(Counter::Mark(mark), mark, "");
                self.counters.add(Counter::Mark(mark), count.into());
            }
            EventKind::Latency { mark, ns, .. } => {
                self.describe_mark(Counter::Latency(mark), mark, " latency");
                self.counters.set(Counter::Latency(mark), ns.0 as i64);
            }
            EventKind::Count { counter, by } => self.counters.add(Counter::Policy(counter), by),
            _ => {}
        }
    }
}

impl<W: Write> Sink for PerfettoSink<W> {
    fn begin(&mut self, info: &TraceInfo) {
        self.info = info.clone();
        self.follower.begin(info.nr_cpus);
        let per_cpu = BUFFERED_EVENTS / info.nr_cpus.max(1) as usize;
        self.events_per_bundle = per_cpu.clamp(1 << 10, 1 << 16);
        self.write_system_info();
        self.write_attributes();
        self.open_cpus();
        self.describe_run_queues();
        self.describe_names();
    }

    fn task(&mut self, info: &TaskInfo) {
        self.follower.task(info, info.name.clone());
        self.undeclared.push(info.id);
        if self.undeclared.len() == TASKS_PER_PACKET {
            self.declare_tasks(None);
        }
    }

    fn event(&mut self, event: &Event) {
        self.advance(event.time);
        self.declare_tasks(match event.kind {
            EventKind::Fork {
                child,
                parent: Some(parent),
            } => Some((child, parent)),
            _ => None,
        });
        self.encode(event);
        self.follower.event(event);
        self.update_run_queues();
    }

    /// Repeats the number of runnable tasks, so that the timeline reaches to the end.
    fn end(&mut self, time: Time) {
        self.advance(time);
        self.flush();
        self.counters
            .repeat(&mut self.packets, time, Counter::Runnable);
    }
}

fn idle_switch(time: Time, prev_state: PrevState) -> Switch<'static> {
    Switch {
        time,
        prev_state: state_bits(prev_state),
        next_pid: 0,
        next_prio: IDLE_PRIO,
        next_comm: "swapper",
    }
}

/// The kernel's task states since 4.14.  A preempted task is `R+`, one that yields is `R`.
fn state_bits(state: PrevState) -> i64 {
    match state {
        PrevState::Preempted => 0x100,
        PrevState::Yielded | PrevState::Moved | PrevState::Idle => 0,
        PrevState::Sleeping => 0x01,
        PrevState::DiskSleep => 0x02,
        PrevState::Exited => 0x20,
    }
}

/// The kernel's trace flags: interrupts off, and whether an interrupt did it.
fn wake_flags(by: WakeContext) -> u64 {
    const IRQS_OFF: u64 = 0x01;
    const HARDIRQ: u64 = 0x08;
    const SOFTIRQ: u64 = 0x10;
    match by {
        WakeContext::Task => IRQS_OFF,
        WakeContext::Irq => IRQS_OFF | HARDIRQ,
        WakeContext::SoftIrq => IRQS_OFF | SOFTIRQ,
    }
}
