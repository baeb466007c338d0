//! FtraceEvent: single events with the kernel's fields.

use schedlab_recording::{KernelEventKind, Pid, TaskRef};
use schedlab_trace::{CpuId, Time};

use super::message::Fields;
use super::schema::{event, SCHED_YIELD};
use super::{Reader, Wrong};
use crate::intake;

/// Most fields of an event that a recording needs.
const MAX_FIELDS: usize = 8;

/// The fields of an event, by number.
#[derive(Default)]
struct Arguments<'a> {
    numbers: [u64; MAX_FIELDS],
    texts: [&'a [u8]; MAX_FIELDS],
}

impl Reader {
    pub(super) fn event(&mut self, cpu: CpuId, bytes: &[u8]) -> Result<(), Wrong> {
        let (mut time, mut pid, mut flags) = (Time::ZERO, 0, 0);
        let mut content = None;
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                event::TIMESTAMP => time = Time(value.number()),
                event::PID => pid = value.number(),
                event::COMMON_FLAGS => flags = value.number(),
                _ => content = Some((number, value.bytes())),
            }
        }
        let Some((number, bytes)) = content else {
            self.intake.ignore("events without content");
            return Ok(());
        };
        match self.kind(number, bytes, pid, flags)? {
            Some(kind) => {
                if let KernelEventKind::Switch { next, .. } = kind {
                    *self.running(cpu) = Some(next);
                }
                self.intake.push(time, cpu, kind);
            }
            None => self.intake.ignore(&format!("FtraceEvent field {number}")),
        }
        Ok(())
    }

    fn kind(
        &mut self,
        number: u32,
        bytes: &[u8],
        pid: u64,
        flags: u64,
    ) -> Result<Option<KernelEventKind>, Wrong> {
        let by = intake::context(flags);
        let a = || Arguments::read(bytes);
        Ok(Some(match number {
            event::SCHED_SWITCH => {
                let a = a()?;
                KernelEventKind::Switch {
                    prev: self.task(&a, 1, 2, 3)?,
                    prev_state: self.states.read(a.numbers[4]),
                    next: self.task(&a, 5, 6, 7)?,
                }
            }
            event::SCHED_WAKING => {
                let a = a()?;
                let (task, target) = (self.task(&a, 1, 2, 3)?, a.cpu(5)?);
                KernelEventKind::Waking { task, by, target }
            }
            event::SCHED_WAKEUP | event::SCHED_WAKEUP_NEW => {
                let a = a()?;
                if number == event::SCHED_WAKEUP {
                    self.intake.has_wakeups();
                }
                let (task, target) = (self.task(&a, 1, 2, 3)?, a.cpu(5)?);
                KernelEventKind::Wakeup { task, by, target }
            }
            event::SCHED_MIGRATE_TASK => {
                let a = a()?;
                let (from, to) = (a.cpu(4)?, a.cpu(5)?);
                let task = self.task(&a, 1, 2, 3)?;
                KernelEventKind::Migrate { task, from, to }
            }
            event::SCHED_PROCESS_FORK => {
                let a = a()?;
                KernelEventKind::Fork {
                    parent: a.pid(2)?,
                    child: a.pid(4)?,
                    child_comm: self.intake.comm(&a.text(3)),
                }
            }
            event::SCHED_PROCESS_EXIT => KernelEventKind::Exit {
                task: self.task(&a()?, 1, 2, 4)?,
            },
            event::SCHED_PROCESS_EXEC => KernelEventKind::Exec { pid: a()?.pid(2)? },
            event::SYS_ENTER if a()?.numbers[1] == SCHED_YIELD => {
                let pid = intake::pid(pid).unwrap_or(Pid::IDLE);
                KernelEventKind::Yield { pid }
            }
            event::TASK_NEWTASK => {
                let a = a()?;
                KernelEventKind::NewTask {
                    pid: a.pid(1)?,
                    comm: self.intake.comm(&a.text(2)),
                    thread: intake::is_thread(a.numbers[3]),
                }
            }
            event::TASK_RENAME => {
                let a = a()?;
                // Newer kernels omit the running task's id.
                let pid = match a.pid(1)? {
                    Pid::IDLE => intake::pid(pid).unwrap_or(Pid::IDLE),
                    pid => pid,
                };
                let comm = self.intake.comm(&a.text(3));
                KernelEventKind::Rename { pid, comm }
            }
            _ => return Ok(None),
        }))
    }

    fn task(
        &mut self,
        arguments: &Arguments<'_>,
        comm: usize,
        pid: usize,
        prio: usize,
    ) -> Result<TaskRef, Wrong> {
        let comm = self.intake.comm(&arguments.text(comm));
        let prio = arguments.numbers[prio] as i64;
        Ok(intake::task(arguments.pid(pid)?, comm, Some(prio)))
    }
}

impl<'a> Arguments<'a> {
    fn read(bytes: &'a [u8]) -> Result<Arguments<'a>, Wrong> {
        let mut arguments = Arguments::default();
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            if let Some(slot) = arguments.numbers.get_mut(number as usize) {
                *slot = value.number();
                arguments.texts[number as usize] = value.bytes();
            }
        }
        Ok(arguments)
    }

    fn text(&self, field: usize) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.texts[field])
    }

    fn pid(&self, field: usize) -> Result<Pid, Wrong> {
        let number = self.numbers[field];
        intake::pid(number).ok_or_else(|| Wrong(format!("thread id {number} is invalid")))
    }

    fn cpu(&self, field: usize) -> Result<CpuId, Wrong> {
        let number = self.numbers[field];
        intake::cpu(number).ok_or_else(|| Wrong(format!("CPU number {number} is invalid")))
    }
}
