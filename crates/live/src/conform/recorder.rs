//! A native host that records every hook call and its result.

use std::fmt;

use schedlab_policy::{
    Class, Disturbance, Fault, Host, Met, NewTask, Platform, Prev, Topology, Tuned,
};
use schedlab_trace::{CpuId, TaskId, Time};

use super::{kernel, places};

/// `NO_TASK` in conform.h.
const NO_TASK: u32 = u32::MAX;

/// `MOST_LOCKS` in conform.h.
const MOST_LOCKS: usize = 64;

/// For policies with a lock for each CPU: one in `REFUSE_ONE_IN` second locks is refused, and hooks
/// begin up to `DELAY_NS` after their event; see `Disturbance`.
const REFUSE_ONE_IN: u32 = 4;
const DELAY_NS: u64 = 100_000;

/// `struct host_event` in conform.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    now: u64,
    mask: u64,
    /// Result of each rq_lock(): 0 is a refusal, other values the earliest time after it.
    locks: [u64; MOST_LOCKS],
    kind: Kind,
    this_cpu: u32,
    task: u32,
    other: u32,
    a: u32,
    b: u32,
}

/// `enum host_event_kind` in conform.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum Kind {
    Reset,
    New,
    Exit,
    Forget,
    SelectCpu,
    SetCpu,
    Enqueue,
    Dequeue,
    PickNext,
    Switch,
    Tick,
    Yield,
    SetNice,
    SetClass,
    SetCpus,
    Timer,
    Hrtick,
    Priority,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Reset => "a new machine",
            Kind::New => "fork",
            Kind::Exit => "exit",
            Kind::Forget => "end of a task",
            Kind::SelectCpu => "select_cpu",
            Kind::SetCpu => "change of CPU",
            Kind::Enqueue => "enqueue",
            Kind::Dequeue => "dequeue",
            Kind::PickNext => "pick_next",
            Kind::Switch => "switched",
            Kind::Tick => "tick",
            Kind::Yield => "yield",
            Kind::SetNice => "set_nice",
            Kind::SetClass => "set_class",
            Kind::SetCpus => "set_cpumask",
            Kind::Timer => "timer",
            Kind::Hrtick => "hrtick",
            Kind::Priority => "priority",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Event {
            now,
            mask,
            locks,
            kind,
            this_cpu,
            task,
            other,
            a,
            b,
        } = self;
        write!(f, "{} at {now} ns on CPU {this_cpu}", kind.name())?;
        for (what, task) in [("task", *task), ("other task", *other)] {
            if task != NO_TASK {
                write!(f, ", {what} {task}")?;
            }
        }
        write!(f, ", arguments {a:#x} {b:#x} {mask:#x}, second locks")?;
        // Refusals after the last granted lock look like unused entries, so they are not printed.
        let given = locks.iter().rposition(|&lock| lock > 0);
        for lock in &locks[..given.map_or(0, |last| last + 1)] {
            match lock {
                0 => write!(f, " refused")?,
                time => write!(f, " {time}")?,
            }
        }
        match given {
            Some(_) => Ok(()),
            None => write!(f, " none"),
        }
    }
}

impl Event {
    /// The bytes of the C structure.
    pub fn bytes(&self) -> [u8; size_of::<Event>()] {
        let mut bytes = [0; size_of::<Event>()];
        let long = [self.now, self.mask].into_iter().chain(self.locks);
        for (place, word) in bytes.chunks_exact_mut(8).zip(long) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        let words = [
            self.kind as u32,
            self.this_cpu,
            self.task,
            self.other,
            self.a,
            self.b,
        ];
        let short = bytes[8 * (2 + MOST_LOCKS)..].chunks_exact_mut(4);
        for (place, word) in short.zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// `struct host_outcome` in conform.h.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct HookOutcome {
    answer: u64,
    resched: u64,
    placement: u64,
    counted: u64,
}

impl fmt::Display for HookOutcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let HookOutcome {
            answer,
            resched,
            placement,
            counted,
        } = self;
        match *answer {
            answer if answer == u64::from(NO_TASK) => write!(f, "no task")?,
            answer => write!(f, "answer {}", answer as i64)?,
        }
        write!(
            f,
            ", reschedules CPUs {resched:#x}, places {placement:016x}, counts {counted:016x}"
        )
    }
}

impl HookOutcome {
    pub fn from_bytes(bytes: &[u8]) -> HookOutcome {
        let at =
            |i: usize| u64::from_ne_bytes(bytes[8 * i..8 * i + 8].try_into().expect("8 bytes"));
        HookOutcome {
            answer: at(0),
            resched: at(1),
            placement: at(2),
            counted: at(3),
        }
    }
}

/// FNV-1a over words, as play_mix() in conform.h.
fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

pub struct Recorder {
    pub host: Host,
    pub events: Vec<Event>,
    pub outcomes: Vec<HookOutcome>,
    now: Time,
    cpu: CpuId,
    sets: Vec<u64>,
    alive: Vec<TaskId>,
    work: [u64; 4],
}

impl Recorder {
    pub fn new(tuned: &Tuned, cpus: u32, seed: u64) -> Result<Recorder, Fault> {
        let topology: Vec<Topology> = places(cpus as usize)
            .iter()
            .map(|p| Topology {
                core: p.core,
                llc: p.llc,
                node: p.node,
                capacity: 1024,
            })
            .collect();
        let platform = Platform {
            cpus: &topology,
            smp: cpus > 1,
            lazy: false,
            hz: kernel::HZ,
        };
        let mut recorder = Recorder {
            host: Host::new(tuned, &platform, seed)?,
            events: Vec::new(),
            outcomes: Vec::new(),
            now: Time(0),
            cpu: CpuId(0),
            sets: vec![(1 << cpus) - 1],
            alive: Vec::new(),
            work: [0; 4],
        };
        recorder.host.disturb(Disturbance {
            seed,
            refuse_one_in: REFUSE_ONE_IN,
            delay_ns: DELAY_NS,
        });
        recorder.note(
            Kind::Reset,
            NO_TASK,
            NO_TASK,
            cpus,
            u32::from(cpus > 1),
            seed,
            0,
        );
        Ok(recorder)
    }

    /// Sets the time and CPU of the calls that follow.
    pub fn at(&mut self, now: Time, cpu: CpuId) {
        self.now = now;
        self.cpu = cpu;
        self.host.at(now, cpu);
    }

    pub fn add_cpu_set(&mut self, cpus: &[u32]) -> u32 {
        self.sets.push(cpus.iter().map(|cpu| 1 << cpu).sum());
        self.host.add_cpu_set(cpus)
    }

    #[allow(clippy::too_many_arguments)]
    fn note(&mut self, kind: Kind, task: u32, other: u32, a: u32, b: u32, mask: u64, answer: u64) {
        let met = self.host.met().cloned().unwrap_or(Met {
            began_ns: self.now.0,
            locks: Vec::new(),
        });
        assert!(
            met.locks.len() <= MOST_LOCKS,
            "{} locks by one hook",
            met.locks.len()
        );
        let mut locks = [0; MOST_LOCKS];
        for (place, answer) in locks.iter_mut().zip(&met.locks) {
            *place = answer.unwrap_or(0);
        }
        self.events.push(Event {
            now: met.began_ns,
            mask,
            locks,
            kind,
            this_cpu: self.cpu.0,
            task,
            other,
            a,
            b,
        });
        let outcome = self.outcome(answer);
        self.outcomes.push(outcome);
    }

    fn outcome(&mut self, answer: u64) -> HookOutcome {
        let mut resched = 0;
        while let Some(cpu) = self.host.take_resched() {
            resched |= 1 << cpu.0;
        }
        while self.host.take_moved().is_some() {}
        let placement = self.alive.iter().fold(BASIS, |hash, &task| {
            mix(
                mix(hash, u64::from(task.0)),
                u64::from(self.host.task(task).cpu),
            )
        });
        HookOutcome {
            answer,
            resched,
            placement,
            counted: self.counted(),
        }
    }

    fn counted(&mut self) -> u64 {
        let work = self.host.take_work();
        let new = [
            work.examined,
            work.recalculations,
            work.recalculated,
            work.locks,
        ];
        for (sum, n) in self.work.iter_mut().zip(new) {
            *sum = (*sum + u64::from(n)) & u64::from(u32::MAX);
        }
        let hash = self.work.iter().fold(BASIS, |hash, &n| mix(hash, n));
        let mut counters = self.host.counters().to_vec();
        counters.resize(schedlab_policy::ffi::MAX_COUNTERS, 0);
        let hash = counters.iter().fold(hash, |hash, &n| mix(hash, n));
        let timers = self.host.timers();
        let hash = timers.iter().fold(hash, |hash, &at| mix(hash, at));
        let hrticks = self.host.hrticks();
        hrticks.fold(hash, mix)
    }

    // ---- hooks ---------------------------------------------------------------------

    pub fn start(&mut self, new: &NewTask, parent: Option<TaskId>) -> Result<TaskId, Fault> {
        let task = self.host.add_task(new, parent);
        self.alive.push(task);
        self.host.fork(parent, task)?;
        let a = (i32::from(new.nice) + 20) as u32
            | (new.class as u32) << 8
            | u32::from(new.rt_priority) << 16
            | new.cpu.0 << 24
            | u32::from(new.foreground) << 31;
        let mask = self.sets[new.cpu_set as usize];
        self.note(Kind::New, task.0, number(parent), a, new.mm, mask, 0);
        Ok(task)
    }

    pub fn exit(&mut self, task: TaskId, reaper: Option<TaskId>) -> Result<(), Fault> {
        self.host.exit(task, reaper)?;
        self.note(Kind::Exit, task.0, number(reaper), 0, 0, 0, 0);
        self.host.forget(task);
        self.alive.retain(|&t| t != task);
        self.note(Kind::Forget, task.0, NO_TASK, 0, 0, 0, 0);
        Ok(())
    }

    /// Calls select_cpu(), under the conditions of the kernel.
    pub fn place(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        let asked = self.host.task(task).nr_allowed > 1 && self.host.policy().selects_cpu();
        let cpu = self.host.select_cpu(task, flags)?;
        if asked {
            self.note(
                Kind::SelectCpu,
                task.0,
                NO_TASK,
                flags,
                0,
                0,
                u64::from(cpu.0),
            );
        }
        self.host.set_task_cpu(task, cpu);
        self.note(Kind::SetCpu, task.0, NO_TASK, cpu.0, 0, 0, 0);
        Ok(())
    }

    pub fn enqueue(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        self.host.enqueue(task, flags)?;
        self.note(Kind::Enqueue, task.0, NO_TASK, flags, 0, 0, 0);
        Ok(())
    }

    pub fn dequeue(&mut self, task: TaskId, flags: u32) -> Result<(), Fault> {
        self.host.dequeue(task, flags)?;
        self.note(Kind::Dequeue, task.0, NO_TASK, flags, 0, 0, 0);
        Ok(())
    }

    pub fn pick_next(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        why: Prev,
    ) -> Result<Option<TaskId>, Fault> {
        let next = self.host.pick_next(cpu, prev, why)?;
        let answer = u64::from(number(next));
        self.note(
            Kind::PickNext,
            number(prev),
            NO_TASK,
            cpu.0,
            why as u32,
            0,
            answer,
        );
        Ok(next)
    }

    pub fn switch(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) -> Result<(), Fault> {
        let at = self.host.switch_ns(cpu);
        self.host.switch(cpu, prev, next)?;
        self.note(Kind::Switch, number(prev), number(next), cpu.0, 0, at, 0);
        Ok(())
    }

    pub fn tick(&mut self, cpu: CpuId, task: Option<TaskId>) -> Result<(), Fault> {
        self.host.tick(cpu, task)?;
        self.note(Kind::Tick, number(task), NO_TASK, cpu.0, 0, 0, 0);
        Ok(())
    }

    pub fn yields(&mut self, task: TaskId) -> Result<bool, Fault> {
        let answer = self.host.yield_task(task)?;
        self.note(Kind::Yield, task.0, NO_TASK, 0, 0, 0, u64::from(answer));
        Ok(answer)
    }

    pub fn set_nice(&mut self, task: TaskId, nice: i8) -> Result<(), Fault> {
        self.host.set_nice(task, nice)?;
        self.note(
            Kind::SetNice,
            task.0,
            NO_TASK,
            i32::from(nice) as u32,
            0,
            0,
            0,
        );
        Ok(())
    }

    pub fn set_class(&mut self, task: TaskId, class: Class, rt_priority: u8) -> Result<(), Fault> {
        self.host.set_class(task, class, rt_priority)?;
        let (class, rt_priority) = (class as u32, u32::from(rt_priority));
        self.note(Kind::SetClass, task.0, NO_TASK, class, rt_priority, 0, 0);
        Ok(())
    }

    pub fn set_cpus(&mut self, task: TaskId, set: u32) -> Result<(), Fault> {
        self.host.set_cpus(task, set)?;
        let mask = self.sets[set as usize];
        self.note(Kind::SetCpus, task.0, NO_TASK, 0, 0, mask, 0);
        Ok(())
    }

    pub fn timer(&mut self, id: u32) -> Result<(), Fault> {
        self.host.timer(id)?;
        self.note(Kind::Timer, NO_TASK, NO_TASK, id, 0, 0, 0);
        Ok(())
    }

    pub fn hrtick(&mut self, cpu: CpuId, task: Option<TaskId>) -> Result<(), Fault> {
        self.host.hrtick(cpu, task)?;
        self.note(Kind::Hrtick, number(task), NO_TASK, cpu.0, 0, 0, 0);
        Ok(())
    }

    /// Calls priority() for every task: the result depends on all state that later decisions use.
    pub fn priorities(&mut self) -> Result<(), Fault> {
        for task in self.alive.clone() {
            let priority = self.host.priority(task)?.unwrap_or(0);
            self.note(
                Kind::Priority,
                task.0,
                NO_TASK,
                0,
                0,
                0,
                i64::from(priority) as u64,
            );
        }
        Ok(())
    }
}

fn number(task: Option<TaskId>) -> u32 {
    task.map_or(NO_TASK, |t| t.0)
}

#[cfg(test)]
mod tests {
    use schedlab_policy::Policy;

    use super::super::kernel;
    use super::*;

    #[test]
    fn calls_and_answers_are_sentences() {
        let event = Event {
            now: 1200,
            mask: 3,
            locks: [0; MOST_LOCKS],
            kind: Kind::Enqueue,
            this_cpu: 1,
            task: 4,
            other: NO_TASK,
            a: 1,
            b: 0,
        };
        let said = "enqueue at 1200 ns on CPU 1, task 4, arguments 0x1 0x0 0x3, second locks";
        assert_eq!(event.to_string(), format!("{said} none"));
        let mut locks = [0; MOST_LOCKS];
        locks[1] = 1300;
        let event = Event { locks, ..event };
        assert_eq!(event.to_string(), format!("{said} refused 1300"));
        let outcome = HookOutcome {
            answer: u64::from(NO_TASK),
            resched: 2,
            placement: 5,
            counted: 6,
        };
        let said = "reschedules CPUs 0x2, places 0000000000000005, counts 0000000000000006";
        assert_eq!(outcome.to_string(), format!("no task, {said}"));
        let outcome = HookOutcome {
            answer: -7i64 as u64,
            ..outcome
        };
        assert_eq!(outcome.to_string(), format!("answer -7, {said}"));
    }

    /// svr4's update locks the run queue of every task.
    #[test]
    fn no_hook_takes_more_locks_than_a_script_holds() {
        for policy in Policy::for_kernels() {
            let tuned = Tuned::new(*policy, None, &[]).unwrap();
            for seed in 0..300 {
                kernel::live(&tuned, seed, 60).unwrap();
            }
        }
    }

    /// Scripts contain refused locks and locks that renew the time.
    #[test]
    fn scripts_refuse_locks_and_renew_times() {
        let o1 = Tuned::new(Policy::find("o1").unwrap(), None, &[]).unwrap();
        let scripts = (0..50).map(|seed| kernel::live(&o1, seed, 60).unwrap());
        let events: Vec<Event> = scripts.flat_map(|script| script.events).collect();
        let renewed = events.iter().filter(|e| e.locks[0] > e.now).count();
        assert!(renewed > 10, "{renewed}");
        // A refusal shows as 0 before a later lock's time.
        let refused = events.iter().filter(|e| e.locks[0] == 0 && e.locks[1] > 0);
        assert!(refused.count() > 0);
    }
}
