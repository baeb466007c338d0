//! What a hook may not do although nothing stops it here: use locks in a wrong way, write behind its policy's state.

use schedlab_trace::CpuId;

use crate::fault::{Fault, FaultKind, Hook, LockFault};
use crate::host::{get, Host, Subject};
use crate::{ffi, LockScope};

impl Host {
    /// The run queue's lock that a hook runs with.
    #[inline]
    pub(crate) fn lock_of(&self, about: Subject) -> u32 {
        if self.table.lock == LockScope::Global as u32 {
            return ffi::LOCKS_ALL;
        }
        let of_task = || about.task.map(|task| self.task(task).cpu);
        let cpu = about.cpu.map(|cpu| cpu.0).or_else(of_task);
        cpu.unwrap_or(ffi::LOCKS_NONE)
    }

    /// After every hook looks whether it wrote behind the policy's state. Slow.
    pub fn watch_memory(&mut self) {
        self.watches_memory = true;
    }

    pub(crate) fn memory_is_intact(&self) -> bool {
        let mut parts = self.states.iter().zip(&self.guards);
        parts.all(|(state, guard)| state.is_intact(guard))
    }

    #[cold]
    pub(crate) fn lock_misused(&self, hook: Hook) -> Fault {
        let s = self.s();
        let (number, cpu) = (
            get!(s, host_only.lock_fault),
            get!(s, host_only.lock_fault_cpu),
        );
        let (fault, cpu) = match number {
            0 => (LockFault::Kept, get!(s, host_only.locked).trailing_zeros()),
            _ => (LockFault::of(number), cpu),
        };
        self.fault(hook, FaultKind::Lock(fault, CpuId(cpu)))
    }
}
