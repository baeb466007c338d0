//! Keeps the other CPUs idle while the kernel patches its own code. Only QEMU's emulation needs
//! this.
//!
//! Attaching and detaching a scheduler switches static keys. The kernel writes a breakpoint over
//! the first byte of an instruction, then the other bytes, then the first byte. After each step all
//! CPUs serialise (arch/x86/kernel/alternative.c). QEMU with one thread for each CPU does not keep
//! the order this relies on: a store to translated code drops the translation before it writes the
//! bytes (accel/tcg/cputlb.c, `notdirty_write()`, QEMU 10). A CPU that executes the instruction in
//! between translates the old bytes, including the breakpoint, and keeps that translation. When it
//! executes the instruction again, the kernel panics.
//!
//! So no other CPU may execute the scheduler's code at that time. An idle CPU does not: it has no
//! tick, and the interrupts that make it serialise do not call the scheduler. While a [`Parked`]
//! exists, all tasks are confined to one CPU and the others idle.

use std::arch::x86_64::__cpuid;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// QEMU's emulation in the hypervisor's CPUID leaf.
const EMULATION: &[u8] = b"TCGTCGTCGTCG";

/// Passes over all tasks; a pass finds the tasks that were forked during the one before.
const MOST_PASSES: usize = 5;

/// A set of CPUs, one bit each.
type Cpus = [u64; 16];

/// The number of a thread.
type Task = libc::pid_t;

/// Confines all movable tasks to one CPU until it is dropped.
pub struct Parked {
    only: Cpus,
    /// The affinity of each task before.
    before: BTreeMap<Task, Cpus>,
}

impl Parked {
    /// `None` on one CPU, and outside of QEMU's emulation.
    pub fn if_emulated() -> Option<Parked> {
        let own = affinity(0)?;
        let nr: u32 = own.iter().map(|word| word.count_ones()).sum();
        (nr > 1 && is_emulated()).then(|| Parked::on(first_of(&own)))
    }

    fn on(only: Cpus) -> Parked {
        let mut before = BTreeMap::new();
        for _ in 0..MOST_PASSES {
            let known = before.len();
            before.extend(tasks().filter_map(|task| Some((task, confine(task, &only)?))));
            if before.len() == known {
                break;
            }
        }
        Parked { only, before }
    }

    /// A task's affinity before; for a younger task, that of its process or parent.
    fn before(&self, task: Task) -> Option<&Cpus> {
        let of = |task| self.before.get(&task);
        let relative = |field| of(number_in_status(task, field)?);
        of(task)
            .or_else(|| relative("Tgid:"))
            .or_else(|| relative("PPid:"))
            .or_else(|| of(1))
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        for task in tasks().filter(|&task| affinity(task) == Some(self.only)) {
            if let Some(before) = self.before(task) {
                set_affinity(task, before);
            }
        }
    }
}

/// Returns the task's affinity before; `None` if it did not change: the task has ended, or is a
/// kernel thread bound to a CPU.
fn confine(task: Task, only: &Cpus) -> Option<Cpus> {
    let before = affinity(task).filter(|before| before != only)?;
    set_affinity(task, only).then_some(before)
}

fn is_emulated() -> bool {
    let leaf = __cpuid(0x4000_0000);
    let name = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes);
    name.concat() == EMULATION
}

/// The threads of all processes, and of the kernel.
fn tasks() -> impl Iterator<Item = Task> {
    let processes = numbers_in("/proc".as_ref());
    processes.flat_map(|pid| numbers_in(format!("/proc/{pid}/task").as_ref()))
}

fn numbers_in(folder: &Path) -> impl Iterator<Item = Task> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn number_in_status(task: Task, field: &str) -> Option<Task> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    value.trim().parse().ok()
}

/// The CPUs that a task may use; task 0 is the calling thread.
fn affinity(task: Task) -> Option<Cpus> {
    let mut cpus = Cpus::default();
    let at = (&raw mut cpus).cast();
    // SAFETY: the kernel writes at most as many bytes as the set has.
    let answer = unsafe { libc::sched_getaffinity(task, size_of::<Cpus>(), at) };
    (answer == 0).then_some(cpus)
}

fn set_affinity(task: Task, cpus: &Cpus) -> bool {
    let at = (&raw const *cpus).cast();
    // SAFETY: the kernel reads as many bytes as the set has.
    unsafe { libc::sched_setaffinity(task, size_of::<Cpus>(), at) == 0 }
}

fn first_of(cpus: &Cpus) -> Cpus {
    let mut only = Cpus::default();
    if let Some(word) = cpus.iter().position(|&word| word != 0) {
        only[word] = 1 << cpus[word].trailing_zeros();
    }
    only
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_cpu_is_kept() {
        let mut cpus = Cpus::default();
        (cpus[0], cpus[2]) = (0, 0b1100);
        let mut only = Cpus::default();
        only[2] = 0b100;
        assert_eq!(first_of(&cpus), only);
    }

    /// Two threads of this process, one of which starts after the CPUs are parked.
    #[test]
    fn affinities_come_back() {
        let own = affinity(0).unwrap();
        let only = first_of(&own);
        // SAFETY: a system call without arguments.
        let this = unsafe { libc::gettid() };
        confine(this, &only);
        let parked = Parked {
            only,
            before: [this, std::process::id() as Task]
                .map(|task| (task, own))
                .into(),
        };
        let (free, until_free) = std::sync::mpsc::channel();
        let (born, until_born) = std::sync::mpsc::channel();
        let younger = std::thread::spawn(move || {
            born.send(affinity(0)).unwrap();
            until_free.recv().unwrap();
            affinity(0)
        });
        assert_eq!(until_born.recv().unwrap(), Some(only));
        drop(parked);
        free.send(()).unwrap();
        assert_eq!(affinity(0), Some(own));
        assert_eq!(younger.join().unwrap(), Some(own));
    }
}
