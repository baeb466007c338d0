//! The state shared by all tasks of a play: memory at the same address in all their processes.
//!
//! It consists of atomics, and of plain values behind a lock; all zeros is a valid initial state.
//! It holds no pointers to memory of a single process.

use std::io;
use std::mem::size_of;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use schedlab_trace::{MarkId, Ns, Time};
use schedlab_workload::{Op, TaskSpec, Workload};

use crate::locked::Locked;
use crate::memory::Memory;
use crate::resources::{Barrier, Channel, Condition, Disk, Mutex, Semaphore, SharedTimer};
use crate::system::{now, thread_id, wait_while, wake, wake_all};

/// The most tasks of one play, including those that have ended.
pub const MAX_TASKS: u32 = 1 << 18;

/// The most marks that are kept with their times.
const MAX_RECORDS: usize = 1 << 22;

/// The most messages in a channel if they carry clocks.
const MAX_CLOCKS: u32 = 1 << 16;

/// The longest error message.
const MAX_PROBLEM: usize = 256;

/// A task's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskSlot(pub u32);

/// The progress of a play.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Progress {
    /// It is running.
    Running = 0,
    /// Its foreground tasks have ended.
    Finished = 1,
    /// A task failed; see [`Stage::problem`].
    Failed = 2,
}

/// The state shared by all tasks.
pub struct Stage {
    head: &'static Head,
    pub slots: &'static [Slot],
    pub mutexes: &'static [Locked<Mutex>],
    pub conditions: &'static [Locked<Condition>],
    pub semaphores: &'static [Locked<Semaphore>],
    pub barriers: &'static [Locked<Barrier>],
    pub channels: &'static [Locked<Channel>],
    pub clocks: &'static [AtomicU64],
    pub disks: &'static [Locked<Disk>],
    pub timers: &'static [Locked<SharedTimer>],
    /// How many tasks of each specification there have been.
    instances: &'static [AtomicU32],
    records: &'static [Record],
}

#[repr(C)]
struct Head {
    /// Time 0 of the workload on the kernel's clock; 0 before.
    start: AtomicU64,
    end: AtomicU64,
    progress: AtomicU32,
    foreground: AtomicU32,
    nr_slots: AtomicU32,
    nr_records: AtomicU32,
    problem: [AtomicU32; MAX_PROBLEM],
}

/// A task as the others see it.
#[repr(C)]
pub struct Slot {
    pub thread: AtomicU32,
    pub spec: AtomicU32,
    pub instance: AtomicU32,
    pub dead: AtomicU32,
    /// It has finished its set-up.
    pub ready: AtomicU32,
    /// It has been woken.
    woken: AtomicU32,
    /// The next task in the same queue, plus 1.
    pub next: AtomicU32,
    /// The mutex it takes again when it is woken, plus 1.
    pub wanted_mutex: AtomicU32,
    /// Threads it started that have not been waited for, and those of them that have ended.
    pub threads: AtomicU32,
    pub ended_threads: AtomicU32,
    /// The control group it began in and the one it is in now, plus 1; 0: the root.
    first_group: AtomicU32,
    group: AtomicU32,
}

/// A mark in shared memory.
#[repr(C)]
struct Record {
    time: AtomicU64,
    value: AtomicU64,
    slot: AtomicU32,
    /// Its number, plus 2^31 if it is a time; or 2^30 if the task moves to another control group.
    mark: AtomicU32,
}

const TIMED: u32 = 1 << 31;
const MOVED: u32 = 1 << 30;

/// A mark that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marked {
    /// Its time.
    pub time: Time,
    /// The task that made it.
    pub slot: TaskSlot,
    /// Its name; it says nothing of a move.
    pub mark: MarkId,
    /// Its count or duration.
    pub what: What,
}

/// The value of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A number of events.
    Count(u32),
    /// A duration.
    Time(Ns),
    /// The control group to which the task moves; none: the root.
    Group(Option<u32>),
}

impl Stage {
    /// Memory for a workload.
    pub fn new(workload: &Workload) -> io::Result<Stage> {
        let clocked = carries_clocks(workload);
        let sizes: Vec<u32> = workload
            .channels
            .iter()
            .map(|channel| match clocked {
                true => channel.capacity.clamp(1, MAX_CLOCKS),
                false => channel.capacity.max(1),
            })
            .collect();
        let nr_clocks = match clocked {
            true => sizes.iter().map(|&size| size as usize).sum(),
            false => 0,
        };
        let mut memory = reserve(workload, nr_clocks)?;
        // SAFETY: each of these types is valid when it is all zeros.
        let stage = unsafe {
            Stage {
                head: &memory.array::<Head>(1)[0],
                slots: memory.array(MAX_TASKS as usize),
                mutexes: memory.array(workload.nr_mutexes as usize),
                conditions: memory.array(workload.nr_conditions as usize),
                semaphores: memory.array(workload.semaphores.len()),
                barriers: memory.array(workload.barriers.len()),
                channels: memory.array(sizes.len()),
                clocks: memory.array(nr_clocks),
                disks: memory.array(workload.nr_disks as usize),
                timers: memory.array(workload.nr_shared_timers as usize),
                instances: memory.array(workload.tasks.len()),
                records: memory.array(MAX_RECORDS),
            }
        };
        stage.furnish(workload, &sizes, clocked);
        Ok(stage)
    }

    fn furnish(&self, workload: &Workload, sizes: &[u32], clocked: bool) {
        for (semaphore, value) in self.semaphores.iter().zip(&workload.semaphores) {
            semaphore.lock().value = *value;
        }
        for (barrier, size) in self.barriers.iter().zip(&workload.barriers) {
            barrier.lock().size = *size;
        }
        let mut first = 0;
        for (channel, size) in self.channels.iter().zip(sizes) {
            let mut channel = channel.lock();
            channel.capacity = *size;
            if clocked {
                channel.clocks = Some((first, *size));
                first += *size;
            }
        }
    }

    // ---- tasks ------------------------------------------------------------------------

    /// A slot for a new task of this specification, by its number; `None` if there are too many tasks.
    pub fn new_slot(
        &self,
        number_of_spec: u32,
        spec: &TaskSpec,
        parent: Option<TaskSlot>,
    ) -> Option<TaskSlot> {
        let number = self.head.nr_slots.fetch_add(1, SeqCst);
        if number >= MAX_TASKS {
            self.head.nr_slots.store(MAX_TASKS, SeqCst);
            return None;
        }
        let slot = &self.slots[number as usize];
        let instance = self.instances[number_of_spec as usize].fetch_add(1, SeqCst);
        let inherited = parent.and_then(|parent| self.slot(parent).group());
        let group = spec.control_group.or(inherited);
        slot.first_group.store(stored(group), SeqCst);
        slot.group.store(stored(group), SeqCst);
        slot.spec.store(number_of_spec, SeqCst);
        slot.instance.store(instance, SeqCst);
        if !spec.background {
            self.head.foreground.fetch_add(1, SeqCst);
        }
        Some(TaskSlot(number))
    }

    /// All tasks, including those that have ended.
    pub fn all_slots(&self) -> impl Iterator<Item = (TaskSlot, &'static Slot)> {
        let nr_slots = self.head.nr_slots.load(SeqCst).min(MAX_TASKS);
        let slots = self.slots[..nr_slots as usize].iter().enumerate();
        slots.map(|(number, slot)| (TaskSlot(number as u32), slot))
    }

    /// The task in a slot.
    pub fn slot(&self, slot: TaskSlot) -> &'static Slot {
        &self.slots[slot.0 as usize]
    }

    /// A foreground task has ended, or nothing waits for its end.
    pub fn leave_foreground(&self) {
        if self.head.foreground.fetch_sub(1, SeqCst) == 1 {
            self.finish(Progress::Finished);
        }
    }

    // ---- beginning and end --------------------------------------------------------------

    /// The workload begins now.
    pub fn begin(&self) {
        self.head.start.store(now().0, SeqCst);
    }

    /// When the workload began.
    pub fn start(&self) -> Time {
        Time(self.head.start.load(SeqCst))
    }

    /// When the foreground tasks had ended or a task failed, if so.
    pub fn end(&self) -> Option<Time> {
        Some(Time(self.head.end.load(SeqCst))).filter(|end| *end > Time::ZERO)
    }

    fn finish(&self, progress: Progress) {
        self.head.end.store(now().0, SeqCst);
        self.head.progress.store(progress as u32, SeqCst);
        wake_all(&self.head.progress);
    }

    /// Its progress.
    pub fn progress(&self) -> Progress {
        match self.head.progress.load(SeqCst) {
            0 => Progress::Running,
            1 => Progress::Finished,
            _ => Progress::Failed,
        }
    }

    /// The word that changes when it ends; 0 before.
    pub fn progress_word(&self) -> &'static AtomicU32 {
        &self.head.progress
    }

    /// The play fails.
    pub fn fail(&self, problem: &str) {
        for (place, byte) in self.head.problem.iter().zip(problem.bytes().chain([0])) {
            place.store(byte.into(), SeqCst);
        }
        self.finish(Progress::Failed);
    }

    /// Why it failed.
    pub fn problem(&self) -> String {
        let bytes = self
            .head
            .problem
            .iter()
            .map(|place| place.load(SeqCst) as u8);
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    // ---- marks --------------------------------------------------------------------------

    /// Records a mark.
    pub fn mark(&self, slot: TaskSlot, mark: MarkId, what: What) {
        let number = self.head.nr_records.fetch_add(1, Relaxed) as usize;
        let Some(record) = self.records.get(number) else {
            return;
        };
        let (value, timed) = match what {
            What::Count(count) => (count.into(), 0),
            What::Time(ns) => (ns.0, TIMED),
            What::Group(group) => (stored(group).into(), MOVED),
        };
        record.value.store(value, Relaxed);
        record.slot.store(slot.0, Relaxed);
        record.mark.store(mark.0 | timed, Relaxed);
        record.time.store(now().0, Release);
    }

    /// All recorded marks, and the number of dropped ones.
    pub fn marks(&self) -> (Vec<Marked>, u64) {
        let made = self.head.nr_records.load(SeqCst) as usize;
        let kept = &self.records[..made.min(MAX_RECORDS)];
        // A record without a time is incomplete: its task was killed while writing it.
        let marks = kept.iter().filter(|record| record.time.load(Acquire) > 0);
        let marks = marks.map(|record| {
            let (mark, value) = (record.mark.load(Relaxed), record.value.load(Relaxed));
            Marked {
                time: Time(record.time.load(Relaxed)),
                slot: TaskSlot(record.slot.load(Relaxed)),
                mark: MarkId(mark & !(TIMED | MOVED)),
                what: match mark & (TIMED | MOVED) {
                    0 => What::Count(value as u32),
                    MOVED => What::Group(loaded(value as u32)),
                    _ => What::Time(Ns(value)),
                },
            }
        });
        (marks.collect(), made.saturating_sub(MAX_RECORDS) as u64)
    }
}

/// A control group in shared memory.
fn stored(group: Option<u32>) -> u32 {
    group.map_or(0, |group| group + 1)
}

fn loaded(stored: u32) -> Option<u32> {
    stored.checked_sub(1)
}

/// Does any task use the clock of a message?
fn carries_clocks(workload: &Workload) -> bool {
    let mut ops = workload.programs.iter().flat_map(|program| &program.ops);
    ops.any(|op| *op == Op::TakeClock)
}

impl Slot {
    /// Sleeps until this task is woken; returns at once if it was woken before. Only the task
    /// itself calls it.
    pub fn park(&self) {
        while self.woken.swap(0, Acquire) == 0 {
            wait_while(&self.woken, 0);
        }
    }

    /// Wakes the task, once.
    pub fn unpark(&self) {
        self.woken.store(1, Release);
        wake(&self.woken);
    }

    /// The control group it began in.
    pub fn first_group(&self) -> Option<u32> {
        loaded(self.first_group.load(SeqCst))
    }

    /// The control group it is in.
    pub fn group(&self) -> Option<u32> {
        loaded(self.group.load(SeqCst))
    }

    /// The task is in another control group now.
    pub fn set_group(&self, group: Option<u32>) {
        self.group.store(stored(group), SeqCst);
    }

    /// The task publishes its thread id.
    pub fn introduce(&self) {
        self.thread.store(thread_id(), SeqCst);
    }

    /// Publishes that the task can begin.
    pub fn get_ready(&self) {
        self.ready.store(1, SeqCst);
        wake_all(&self.ready);
    }

    /// Waits until the task can begin.
    pub fn wait_until_ready(&self) {
        while self.ready.load(SeqCst) == 0 {
            wait_while(&self.ready, 0);
        }
    }
}

/// Memory for everything a workload needs.
fn reserve(workload: &Workload, nr_clocks: usize) -> io::Result<Memory> {
    let small = workload.nr_mutexes as usize
        + workload.nr_conditions as usize
        + workload.semaphores.len()
        + workload.barriers.len()
        + workload.channels.len()
        + workload.tasks.len()
        + workload.nr_disks as usize
        + workload.nr_shared_timers as usize;
    let size = size_of::<Head>()
        + MAX_TASKS as usize * size_of::<Slot>()
        + MAX_RECORDS * size_of::<Record>()
        + nr_clocks * size_of::<AtomicU64>()
        + small * size_of::<Locked<Channel>>()
        + 4096;
    Memory::map(size)
}
