//! Children of a task: threads and processes.

use std::io;
use std::sync::atomic::Ordering::SeqCst;

use schedlab_workload::Process;

use crate::system::{bury, exit_process, fork, wait_for_child, wait_while};

use super::{Actor, Born, Problem, STACK_BYTES};

impl Actor {
    pub(super) fn fork(&mut self, spec: u32) -> Result<(), Problem> {
        let description = &self.play.workload.tasks[spec as usize];
        let stage = self.play.stage;
        let child = stage.new_slot(spec, description, Some(self.me));
        let child = child.ok_or_else(|| self.problem("would be the parent of too many tasks"))?;
        let cannot = |error: io::Error| format!("{}: {error}", self.play.name(child));
        let (play, parent) = (self.play, self.me);
        if self.is_thread_of_mine(description.process) {
            self.slot.threads.fetch_add(1, SeqCst);
            let act = move || play.act(child, Born::Thread { parent });
            let thread = std::thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(act);
            return thread.map(drop).map_err(cannot);
        }
        // SAFETY: the child may allocate with this C library, and uses no locks except the play's.
        match unsafe { fork() }.map_err(cannot)? {
            Some(_) => Ok(()),
            None => {
                play.act(child, Born::Process { parent });
                exit_process(0)
            }
        }
    }

    pub(super) fn is_thread_of_mine(&self, process: Process) -> bool {
        match process {
            Process::Own => false,
            Process::Parent => true,
            shared @ Process::Shared(_) => self.play.spec(self.me).process == shared,
        }
    }

    /// Waits for the next child to end. Threads that have ended are taken first, then processes.
    pub(super) fn wait_for_child(&self) {
        if self.bury_thread() || wait_for_child() {
            return;
        }
        self.wait_for_thread();
    }

    /// Waits for the next child to end; false if there is none.
    pub(super) fn wait_for_one(&self) -> bool {
        self.bury_thread() || wait_for_child() || self.wait_for_thread()
    }

    /// Waits for a thread of this task to end; false if there is none.
    pub(super) fn wait_for_thread(&self) -> bool {
        while self.slot.threads.load(SeqCst) > 0 {
            if self.bury_thread() {
                return true;
            }
            wait_while(&self.slot.ended_threads, 0);
        }
        false
    }

    pub(super) fn bury_thread(&self) -> bool {
        if self.slot.ended_threads.load(SeqCst) == 0 {
            return false;
        }
        self.slot.ended_threads.fetch_sub(1, SeqCst);
        self.slot.threads.fetch_sub(1, SeqCst);
        true
    }

    pub(super) fn reap(&self) {
        while self.bury_thread() {}
        bury();
    }
}
