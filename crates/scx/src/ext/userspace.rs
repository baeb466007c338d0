//! A scheduler's part in user space, in simulated time.
//!
//! The simulation stands still while it runs, and goes on while all its threads wait.  It is no task of the machine.

use super::consts::NONE;
use super::timers::USER_SPACE;
use super::{Context, ExitKind};
use crate::fault::Fault;
use crate::machine::Machine;

impl Machine {
    /// The part in user space runs until it waits; it runs again when the first wait ends.
    ///
    /// FIDELITY: it takes no time, and no CPU from any task.
    pub(super) fn run_user_space(&mut self) {
        let Some(mut user_space) = self.user_space.take() else {
            return;
        };
        if self.ext.exit().is_some() {
            return;
        }
        let this = self.this_cpu;
        self.ext.context = Context::NOTHING;
        match user_space.run(self) {
            Ok(next) => {
                let now = self.now_ns;
                self.tell_timer(USER_SPACE, next.map(|at| at.saturating_sub(now)));
                self.user_space = Some(user_space);
                self.leave_cpu();
            }
            // Its link goes with it.
            Err(what) => {
                let what = format!("its user-space part: {what}");
                self.scx_exit(ExitKind::Unreg, 0, what);
            }
        }
        self.this_cpu = this;
    }

    /// The CPU on which the part in user space ran looks for another task.
    ///
    /// FIDELITY: that is the first idle one; if none is idle, it ran beside the tasks.
    fn leave_cpu(&mut self) {
        let idle = (0..self.nr_cpus).find(|&cpu| {
            let rq = self.ext.rq(cpu);
            rq.curr == NONE && rq.nr_running == 0
        });
        if let Some(cpu) = idle {
            self.tell_resched(cpu);
        }
    }

    /// The part in user space hears of records that were put into its ring buffers.
    #[inline]
    pub(super) fn wake_user_space(&mut self) {
        if std::mem::take(&mut self.user_space_hears) && self.user_space.is_some() {
            self.tell_timer(USER_SPACE, Some(0));
        }
    }

    /// A program that the part in user space ran did something wrong.
    pub(crate) fn program_failed(&mut self, fault: &Fault) {
        self.program_fault(fault);
    }

    /// A CPU switches; `was_busy`: a task ran on it until now.
    #[inline]
    pub(super) fn count_busy(&mut self, cpu: u32, was_busy: bool) {
        let now = self.now_ns;
        let rq = self.ext.rq_mut(cpu);
        if was_busy {
            rq.busy_ns += now - rq.switched_ns;
        }
        rq.switched_ns = now;
    }

    /// How long each CPU was busy, in ns.
    pub(crate) fn busy_times(&self) -> Vec<u64> {
        let rqs = self.ext.rqs.iter();
        let busy = rqs.map(|rq| match rq.curr {
            NONE => rq.busy_ns,
            _ => rq.busy_ns + (self.now_ns - rq.switched_ns),
        });
        busy.collect()
    }
}
