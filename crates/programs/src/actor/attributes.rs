//! Scheduling attributes that tasks set themselves: class, priority, nice value, CPUs, control group.

use std::sync::atomic::Ordering::SeqCst;

use schedlab_trace::{MarkId, Ns, TaskClass};
use schedlab_workload::{SpecId, TaskSpec};

use crate::stage::{Slot, TaskSlot, What};
use crate::system::{set_nice, set_slice, set_standing, Standing};

use super::{in_words, Actor, Problem};

impl Actor {
    /// Sets the specification's attributes. A task with default attributes needs no call, unless it
    /// inherited others from its parent.
    pub(super) fn take_standing(&self) -> Result<(), Problem> {
        match self.play.spec(self.me) {
            TaskSpec {
                nice: 0,
                class: TaskClass::Normal,
                slice: None,
                clamps: None,
                cpus: None,
                control_group: None,
                ..
            } if is_ordinary() => Ok(()),
            _ => self.play.apply(self.me),
        }
    }

    pub(super) fn for_each_of(
        &self,
        spec: SpecId,
        mut each: impl FnMut(TaskSlot) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let lives = |slot: &Slot| {
            slot.spec.load(SeqCst) == spec.0
                && slot.dead.load(SeqCst) == 0
                && slot.thread.load(SeqCst) != 0
        };
        let all = self.play.stage.all_slots();
        let mut living = all.filter(|(_, slot)| lives(slot));
        living.try_for_each(|(task, _)| each(task))
    }

    pub(super) fn renice(&self, task: TaskSlot, nice: i8) -> Result<(), Problem> {
        let thread = self.play.stage.slot(task).thread.load(SeqCst);
        set_nice(thread, nice)
            .map_err(|error| format!("{}: nice {nice}: {error}", self.play.name(task)))
    }

    pub(super) fn reslice(&self, slice: Option<Ns>) -> Result<(), Problem> {
        let slice = slice.unwrap_or(Ns::ZERO);
        set_slice(slice)
            .map_err(|error| format!("{}: slice {slice}: {error}", self.play.name(self.me)))
    }

    pub(super) fn regroup(&self, task: TaskSlot, group: Option<u32>) -> Result<(), Problem> {
        let stage = self.play.stage;
        let slot = stage.slot(task);
        self.play.groups.join(slot.thread.load(SeqCst), group)?;
        slot.set_group(group);
        stage.mark(task, MarkId(0), What::Group(group));
        Ok(())
    }

    pub(super) fn reclass(
        &self,
        task: TaskSlot,
        class: TaskClass,
        rt_priority: u8,
    ) -> Result<(), Problem> {
        let thread = self.play.stage.slot(task).thread.load(SeqCst);
        let standing = Standing {
            class,
            rt_priority,
            nice: self.play.spec(task).nice,
            slice: self.play.spec(task).slice.unwrap_or(Ns::ZERO),
            clamps: self.play.spec(task).clamps,
        };
        set_standing(thread, standing)
            .map_err(|error| format!("{}: {}: {error}", self.play.name(task), in_words(standing)))
    }
}

/// Does this thread have the default attributes?
fn is_ordinary() -> bool {
    // SAFETY: it takes a number.
    let class = unsafe { libc::sched_getscheduler(0) };
    class == libc::SCHED_OTHER && rustix::process::getpriority_process(None) == Ok(0)
}
