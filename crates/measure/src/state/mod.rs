//! Which task runs or waits on which CPU, reconstructed from the events, with exact accounting of CPU time.
//!
//! [`State`] follows the events, checks that they fit together, and tells the metric
//! families ([`Families`]) what happened: a task ran, a wait ended, a CPU
//! idled.  Time between two events on a CPU belongs to the task it runs (or to idling)
//! except for the spans of overhead, so a CPU's time is always dealt out exactly once.

use std::collections::VecDeque;

use schedlab_trace::{
    CpuId, Event, EventKind, GroupId, GroupInfo, Overhead, PrevState, TaskId, Time,
};

mod cpu_time;
mod throttling;

use crate::metrics::Families;
use crate::observation::{Load, WaitEnd, Who};
use crate::AccountingError;
use throttling::Throttling;

/// Ids may skip at most this many tasks not announced yet; a larger gap means a damaged trace.
const MAX_ID_GAP: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    /// Not announced yet: ids may be announced out of order.
    Unannounced,
    /// Announced or forked, not yet on a run queue.
    New,
    Sleeping,
    Waiting,
    Running,
    Dead,
}

#[derive(Clone, Debug)]
struct Task {
    status: Status,
    group: u32,
    /// When the current wait began.
    waiting_since: u64,
    /// The CPU of the run queue it waits on, or waited on last.
    queue: CpuId,
    /// When its wakeup began: its wakeup latency counts from here.
    wanted_since: Option<u64>,
    /// Where it ran last.
    last_cpu: Option<CpuId>,
    control_group: Option<GroupId>,
    /// It waits, but its control group is throttled: nobody could let it run.
    hidden: bool,
}

const UNANNOUNCED: Task = Task {
    status: Status::Unannounced,
    group: 0,
    waiting_since: 0,
    queue: CpuId(0),
    wanted_since: None,
    last_cpu: None,
    control_group: None,
    hidden: false,
};

/// A span of overhead that has not been accounted for to its end.
#[derive(Clone, Copy, Debug)]
struct Span {
    kind: Overhead,
    end: u64,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    curr: Option<TaskId>,
    /// All time before this has been dealt out.
    accounted: u64,
    /// Overhead from `accounted` on, one span after the other.
    spans: VecDeque<Span>,
    /// When the last span was reported.
    overhead_told: u64,
    /// Has it switched yet?  A recording may begin while a CPU runs a task that no event has named.
    switched: bool,
}

/// The reconstruction.
#[derive(Debug, Default)]
pub(crate) struct State {
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    throttling: Throttling,
    load: Load,
    /// Recordings (of kernels, without costs) begin while tasks run and wait.
    is_recording: bool,
    last: u64,
    error: Option<AccountingError>,
}

impl State {
    pub fn begin(&mut self, nr_cpus: u32, is_recording: bool) {
        self.cpus = vec![Cpu::default(); nr_cpus as usize];
        self.throttling = Throttling::new(nr_cpus);
        self.is_recording = is_recording;
        self.load.idle_cpus = if is_recording { 0 } else { nr_cpus };
    }

    /// Takes note of a control group.
    pub fn announce_group(&mut self, info: &GroupInfo) {
        self.throttling.announce(info);
    }

    /// The task is in this control group from now on.
    pub fn join(&mut self, task: TaskId, group: Option<GroupId>, families: &mut Families) {
        let Some(_) = self.who(task) else { return };
        let from = std::mem::replace(&mut self.tasks[task.index()].control_group, group);
        self.throttling.moved(task, from, group);
        self.renew(task, families);
    }

    /// Registers a task; false if its id is invalid.
    pub fn announce(&mut self, id: TaskId, group: u32) -> bool {
        let index = id.index();
        if index > self.tasks.len() + MAX_ID_GAP {
            self.fail(AccountingError::NotAnnounced {
                time: Time(self.last),
                id: id.0,
            });
            return false;
        }
        if index >= self.tasks.len() {
            self.tasks.resize(index + 1, UNANNOUNCED);
        }
        if self.tasks[index].status != Status::Unannounced {
            return false;
        }
        self.tasks[index] = Task {
            status: Status::New,
            group,
            ..UNANNOUNCED
        };
        true
    }

    /// The first contradiction met.
    pub fn error(&self) -> Option<AccountingError> {
        self.error
    }

    /// The time of the last event, or of the end.
    pub fn last(&self) -> u64 {
        self.last
    }

    pub fn fail(&mut self, error: AccountingError) {
        self.error.get_or_insert(error);
    }

    /// The task with its group, if it was announced.
    #[inline]
    pub fn who(&mut self, task: TaskId) -> Option<Who> {
        match self.tasks.get(task.index()) {
            Some(t) if t.status != Status::Unannounced => Some(Who {
                task,
                group: t.group,
            }),
            _ => {
                self.fail(AccountingError::NotAnnounced {
                    time: Time(self.last),
                    id: task.0,
                });
                None
            }
        }
    }

    /// Follows an event; those that change nothing about who runs or waits are ignored.
    #[inline]
    pub fn event(&mut self, event: &Event, families: &mut Families) {
        self.advance_clock(event.time);
        let cpu = event.cpu;
        if !self.has_cpu(cpu) {
            return;
        }
        match event.kind {
            EventKind::Overhead {
                kind: Overhead::Lock,
                ns,
            } => self.lock_wait(cpu, ns, families),
            EventKind::Overhead { kind, ns } => self.overhead(cpu, kind, ns, families),
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.switch(cpu, prev, prev_state, next, families);
            }
            EventKind::Waking { task, .. } => self.waking(task),
            EventKind::Wakeup { task, target } => self.wakeup(task, target, families),
            EventKind::Migrate { task, to, .. } => self.migrate(task, to, families),
            EventKind::Fork { child, parent } => {
                self.fork(child, parent.is_none(), families);
            }
            EventKind::Exit { task } | EventKind::Reap { task, .. } => self.exit(task, families),
            EventKind::Yield { task } => self.yielded(task, families),
            EventKind::Throttle { group, on } => self.throttle(group, on, true, families),
            EventKind::Unthrottle { group, on } => self.throttle(group, on, false, families),
            EventKind::Regroup { task, group } => self.join(task, group, families),
            _ => {}
        }
    }

    /// The trace ends: time is accounted for up to here, and waits not over are cut off.
    pub fn end(&mut self, time: Time, families: &mut Families) {
        let now = self.advance_clock(time);
        for cpu in 0..self.cpus.len() {
            self.account(CpuId(cpu as u32), now, families);
        }
        for task in 0..self.tasks.len() {
            if self.tasks[task].status == Status::Waiting {
                self.end_wait(TaskId(task as u32), false, families);
            }
        }
        families.end(now);
    }

    /// Was the task alive when the trace ended?
    pub fn is_alive(&self, task: TaskId) -> bool {
        !matches!(
            self.tasks[task.index()].status,
            Status::Dead | Status::Unannounced
        )
    }

    #[inline]
    fn advance_clock(&mut self, time: Time) -> u64 {
        if time.0 < self.last {
            self.fail(AccountingError::TimeWentBack {
                time,
                last: Time(self.last),
            });
        }
        self.last = self.last.max(time.0);
        self.last
    }

    fn switch(
        &mut self,
        id: CpuId,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
        families: &mut Families,
    ) {
        self.first_switch(id, prev, families);
        if self.cpus[id.index()].curr != prev {
            self.fail(AccountingError::WrongPrev {
                time: Time(self.last),
                cpu: id,
            });
        }
        let prev = self.cpus[id.index()].curr;
        if prev == next {
            return;
        }
        self.account(id, self.last, families);
        if let Some(prev) = prev {
            self.stop(id, prev, prev_state, families);
        }
        let next = next.filter(|&next| self.start(id, next, families));
        self.cpus[id.index()].curr = next;
        self.load.idle_cpus += u32::from(next.is_none());
        self.load.idle_cpus -= u32::from(prev.is_none());
        families.switched(id);
        families.load(self.load, self.last);
    }

    /// The first switch of a CPU shows what the CPU did since the recording began.
    #[inline]
    fn first_switch(&mut self, id: CpuId, prev: Option<TaskId>, families: &mut Families) {
        if std::mem::replace(&mut self.cpus[id.index()].switched, true) || !self.is_recording {
            return;
        }
        match prev {
            Some(prev) if self.may_have_run(prev) => {
                self.tasks[prev.index()].status = Status::Running;
                self.cpus[id.index()].curr = Some(prev);
                families
                    .timeline
                    .switched_in(id, prev, self.cpus[id.index()].accounted);
            }
            _ => self.load.idle_cpus += 1,
        }
    }

    /// Could the task have been running when the recording began?
    fn may_have_run(&mut self, task: TaskId) -> bool {
        self.who(task).is_some() && self.tasks[task.index()].status == Status::New
    }

    /// A task leaves its CPU.
    #[inline]
    fn stop(&mut self, id: CpuId, prev: TaskId, why: PrevState, families: &mut Families) {
        let now = self.last;
        let task = &mut self.tasks[prev.index()];
        task.last_cpu = Some(id);
        match why {
            PrevState::Preempted | PrevState::Yielded | PrevState::Moved => {
                task.wanted_since = None;
                self.enqueue(prev, id, now, families);
            }
            PrevState::Sleeping | PrevState::DiskSleep | PrevState::Idle => {
                task.status = Status::Sleeping;
            }
            PrevState::Exited => task.status = Status::Dead,
        }
        families.switched_out(id, prev, why, now);
    }

    /// A task gets a CPU; false if that cannot be.
    #[inline]
    fn start(&mut self, id: CpuId, next: TaskId, families: &mut Families) -> bool {
        let Some(_) = self.who(next) else {
            return false;
        };
        match self.tasks[next.index()].status {
            Status::Waiting => self.end_wait(next, true, families),
            Status::Running | Status::Dead => {
                self.fail_not_waiting(id, next);
                return false;
            }
            _ => self.start_unqueued(id, next, families),
        }
        let task = &mut self.tasks[next.index()];
        task.status = Status::Running;
        let migrated = task.last_cpu.is_some_and(|last| last != id);
        families.switched_in(id, next, migrated, self.last);
        true
    }

    /// A task runs that was on no run queue.  A recording without wakeup events shows only the
    /// waking, from which queueing is inferred; and it begins with tasks already queued.
    #[cold]
    fn start_unqueued(&mut self, id: CpuId, next: TaskId, families: &mut Families) {
        let task = &self.tasks[next.index()];
        let wanted = task.wanted_since;
        let known = task.status == Status::New || wanted.is_some();
        if !(self.is_recording && known) {
            self.fail_not_waiting(id, next);
        }
        if let Some(wanted) = wanted {
            families.tasks.woken(next);
            self.enqueue(next, id, wanted, families);
            self.end_wait(next, true, families);
        }
    }

    #[cold]
    fn fail_not_waiting(&mut self, cpu: CpuId, task: TaskId) {
        self.fail(AccountingError::NotWaiting {
            time: Time(self.last),
            cpu,
            task,
        });
    }

    /// A task is created.  The wakeup latency of a forked task counts from here; that of a
    /// task that exists from the start counts from its wakeup.
    fn fork(&mut self, id: TaskId, from_start: bool, families: &mut Families) {
        let Some(_) = self.who(id) else { return };
        families.tasks.forked(id, from_start);
        self.tasks[id.index()].wanted_since = (!from_start).then_some(self.last);
    }

    #[inline]
    fn yielded(&mut self, id: TaskId, families: &mut Families) {
        if self.who(id).is_some() {
            families.tasks.yielded(id);
        }
    }

    /// The wakeup of a sleeping task begins.
    #[inline]
    fn waking(&mut self, id: TaskId) {
        let Some(_) = self.who(id) else { return };
        let task = &mut self.tasks[id.index()];
        // A task may be woken while it is still on its way to sleep; only one that waits already is not.
        if task.status != Status::Waiting {
            task.wanted_since = Some(self.last);
        }
    }

    /// A task is put on a run queue.
    #[inline]
    fn wakeup(&mut self, id: TaskId, target: CpuId, families: &mut Families) {
        let (Some(_), true) = (self.who(id), self.has_cpu(target)) else {
            return;
        };
        match self.tasks[id.index()].status {
            Status::Waiting => {}
            Status::Running => self.tasks[id.index()].wanted_since = None,
            Status::Dead => self.fail(AccountingError::DeadWoken {
                time: Time(self.last),
                task: id,
            }),
            _ => {
                families.tasks.woken(id);
                self.tasks[id.index()].wanted_since.get_or_insert(self.last);
                self.enqueue(id, target, self.last, families);
                families.load(self.load, self.last);
            }
        }
    }

    #[inline]
    fn enqueue(&mut self, id: TaskId, queue: CpuId, since: u64, families: &mut Families) {
        let task = &mut self.tasks[id.index()];
        task.status = Status::Waiting;
        task.waiting_since = since;
        task.queue = queue;
        task.hidden = self.throttling.hides(task.control_group, queue);
        if !task.hidden {
            self.load.waiting_tasks += 1;
            families.waiting.enqueued(queue, self.last);
        }
    }

    /// A control group is throttled on a CPU, or is no more.
    #[cold]
    fn throttle(&mut self, group: GroupId, on: CpuId, is: bool, families: &mut Families) {
        for task in self.throttling.set(group, on, is) {
            self.renew(task, families);
        }
        families.load(self.load, self.last);
    }

    /// Does the task, if it waits, count as waiting?
    fn renew(&mut self, id: TaskId, families: &mut Families) {
        let task = &mut self.tasks[id.index()];
        let hidden = self.throttling.hides(task.control_group, task.queue);
        if task.status != Status::Waiting || task.hidden == hidden {
            return;
        }
        task.hidden = hidden;
        match hidden {
            true => {
                self.load.waiting_tasks -= 1;
                families.waiting.dequeued(task.queue, self.last);
            }
            false => {
                self.load.waiting_tasks += 1;
                families.waiting.enqueued(task.queue, self.last);
            }
        }
    }

    /// A waiting task changes queues.  A task that does not wait is on none; its wakeup names the queue.
    #[inline]
    fn migrate(&mut self, id: TaskId, to: CpuId, families: &mut Families) {
        let (Some(_), true) = (self.who(id), self.has_cpu(to)) else {
            return;
        };
        let task = &mut self.tasks[id.index()];
        if task.status == Status::Waiting {
            if !task.hidden {
                families.waiting.dequeued(task.queue, self.last);
                families.waiting.enqueued(to, self.last);
            }
            task.queue = to;
            self.renew(id, families);
        }
    }

    #[inline]
    fn has_cpu(&mut self, cpu: CpuId) -> bool {
        let known = cpu.index() < self.cpus.len();
        if !known {
            self.fail(AccountingError::UnknownCpu {
                time: Time(self.last),
                cpu,
            });
        }
        known
    }

    /// A task ends.  One that runs keeps its CPU until it is switched away from.
    fn exit(&mut self, id: TaskId, families: &mut Families) {
        let Some(_) = self.who(id) else { return };
        match self.tasks[id.index()].status {
            Status::Running => return,
            Status::Waiting => {
                self.end_wait(id, false, families);
                families.load(self.load, self.last);
            }
            _ => {}
        }
        self.tasks[id.index()].status = Status::Dead;
    }

    #[inline]
    fn end_wait(&mut self, id: TaskId, finished: bool, families: &mut Families) {
        let task = &mut self.tasks[id.index()];
        if !std::mem::take(&mut task.hidden) {
            self.load.waiting_tasks -= 1;
            families.waiting.dequeued(task.queue, self.last);
        }
        families.waited(&WaitEnd {
            who: Who {
                task: id,
                group: task.group,
            },
            start: task.waiting_since,
            wanted: task.wanted_since.take(),
            end: self.last,
            finished,
        });
    }
}
