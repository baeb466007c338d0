//! late: applications that compute and sleep, and how late they run.
//!
//! As in the ULE paper (BSDCon 2003): the work is copying memory, calibrated; all tasks wait for
//! SIGUSR1, start at the same time and then set their nice value. The paper wishes for varying and
//! bursty loads and for threads; they are options here.

mod report;
mod task;

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use schedlab_trace::{Ns, Time};
use schedlab_workload::builtin::LateTask;

use crate::memory::numbers;
use crate::system::{exit_process, fork, now, rest};
use crate::work::Work;

use task::{copy, life};

pub use report::{each_second, total};

/// What is run, and how.
pub struct Plan<'a> {
    /// The kinds of tasks.
    pub kinds: Vec<LateTask>,
    /// Duration of the run; `None`: until all tasks with a limited program have ended.
    pub duration: Option<Ns>,
    /// Sleepers start at the same time, not at a random time in their first period.
    pub aligned: bool,
    /// Seed of every random draw.
    pub seed: u64,
    /// Called each second with a line of progress.
    pub tell: &'a mut dyn FnMut(&str),
    /// Polled; true ends the run.
    pub stop: &'a dyn Fn() -> bool,
}

/// The measurements of a task, in memory shared with its parent.
#[derive(Clone, Copy)]
pub struct Tally(&'static [AtomicU64]);

/// What is measured.
#[derive(Clone, Copy)]
pub(crate) enum What {
    Process,
    Thread,
    Ready,
    Ended,
    Periods,
    WorkNs,
    WorkMaxNs,
    LateNs,
    LateMaxNs,
    Sleeps,
    SleepNs,
    CpuNs,
    RealNs,
    Voluntary,
    Involuntary,
    /// Number of the variants above.
    Count,
}

impl Tally {
    pub(crate) fn get(self, what: What) -> u64 {
        self.0[what as usize].load(SeqCst)
    }

    fn set(self, what: What, value: u64) {
        self.0[what as usize].store(value, SeqCst);
    }

    fn add(self, what: What, value: u64) {
        self.0[what as usize].fetch_add(value, SeqCst);
    }

    fn most(self, what: What, value: u64) {
        self.0[what as usize].fetch_max(value, SeqCst);
    }
}

/// The tasks of one kind and their measurements.
pub struct Kind {
    pub(crate) task: LateTask,
    pub(crate) tallies: Vec<Tally>,
}

/// Time between two checks of the tasks.
const BEAT: Duration = Duration::from_millis(10);

/// Runs late; returns the measurements of all tasks, by kind, and the elapsed time.
///
/// # Errors
/// No memory, no processes, or a nice value that is not permitted.
pub fn run(plan: Plan) -> io::Result<(Vec<Kind>, Ns)> {
    task::block_start_signal();
    let work = Work::of(copy);
    let mut kinds = Vec::new();
    for task in plan.kinds {
        let nr_tasks = (task.count * task.batches) as usize;
        let all = numbers(nr_tasks * What::Count as usize)?;
        let tallies = all.chunks(What::Count as usize).map(Tally).collect();
        kinds.push(Kind { task, tallies });
    }
    let shared = numbers(2)?;
    let stage = Stage {
        kinds: Box::leak(kinds.into_boxed_slice()),
        work,
        aligned: plan.aligned,
        seed: plan.seed,
        start: &shared[0],
        failed: &shared[1],
    };
    let processes = stage.start_all()?;
    let outcome = stage.oversee(plan.duration, plan.tell, plan.stop);
    for pid in processes {
        // SAFETY: the calls take numbers; the child has not been waited for.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
    }
    let time = outcome?;
    let kinds = stage.kinds.iter().map(|kind| Kind {
        task: kind.task.clone(),
        tallies: kind.tallies.clone(),
    });
    Ok((kinds.collect(), time))
}

/// The data that all tasks share.
#[derive(Clone, Copy)]
struct Stage {
    kinds: &'static [Kind],
    work: Work,
    aligned: bool,
    seed: u64,
    /// Start time of all tasks.
    start: &'static AtomicU64,
    /// The error number of a task that failed.
    failed: &'static AtomicU64,
}

impl Stage {
    /// Starts all processes, waits until all tasks are ready, and starts them.
    fn start_all(self) -> io::Result<Vec<i32>> {
        let mut processes = Vec::new();
        for (number, kind) in self.kinds.iter().enumerate() {
            // How many tasks share a process.
            let size = match kind.task.threads {
                true => kind.tallies.len(),
                false => 1,
            };
            for first in (0..kind.tallies.len()).step_by(size) {
                let members = first..first + size;
                // SAFETY: in the child only the calling thread exists, and no lock is held.
                match unsafe { fork() }? {
                    Some(pid) => processes.push(pid as i32),
                    None => self.process(number, members),
                }
            }
        }
        let all = || self.kinds.iter().flat_map(|kind| &kind.tallies);
        while !all().all(|tally| tally.get(What::Ready) > 0) {
            std::thread::sleep(BEAT);
        }
        self.start.store(now().0, SeqCst);
        for tally in all() {
            let [process, thread] = [What::Process, What::Thread].map(|what| tally.get(what));
            // SAFETY: it takes numbers.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
        }
        Ok(processes)
    }

    /// A process whose threads are tasks of one kind; with a single task, its only thread.
    fn process(self, kind: usize, members: std::ops::Range<usize>) -> ! {
        if members.len() == 1 {
            life(&self, kind, members.start);
            exit_process(0)
        }
        for index in members {
            let thread = std::thread::Builder::new().stack_size(256 << 10);
            if let Err(error) = thread.spawn(move || life(&self, kind, index)) {
                self.fail(&error);
            }
        }
        rest()
    }

    fn fail(&self, error: &io::Error) {
        let number = error.raw_os_error().unwrap_or(libc::EIO);
        self.failed.store(number as u64, SeqCst);
    }

    /// Prints progress each second until the end; returns how long it took.
    fn oversee(
        &self,
        duration: Option<Ns>,
        tell: &mut dyn FnMut(&str),
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Ns> {
        let start = Time(self.start.load(SeqCst));
        let mut seconds = 0;
        loop {
            let time = now().since(start);
            if self.failed.load(SeqCst) != 0 {
                let number = self.failed.load(SeqCst) as i32;
                return Err(io::Error::from_raw_os_error(number));
            }
            if time.0 / 1_000_000_000 > seconds {
                seconds = time.0 / 1_000_000_000;
                tell(&each_second(seconds, self.kinds));
            }
            let over = duration.is_some_and(|duration| time >= duration);
            if over || self.all_ended() || stop() {
                return Ok(time);
            }
            std::thread::sleep(BEAT);
        }
    }

    /// Have all tasks with a limited program ended?
    fn all_ended(&self) -> bool {
        let mut ending = self.kinds.iter().filter(|kind| kind.task.ends()).peekable();
        ending.peek().is_some()
            && ending.all(|kind| kind.tallies.iter().all(|tally| tally.get(What::Ended) > 0))
    }
}
