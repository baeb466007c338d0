//! The life of a task of late.

use std::cell::RefCell;
use std::io;

use schedlab_trace::{Ns, Time};
use schedlab_workload::builtin::LateTask;
use schedlab_workload::{Distribution, Stream};

use crate::system::{now, set_name, set_nice, sleep, sleep_until, thread_id};
use crate::work::Work;

use super::{Stage, Tally, What};

/// Bytes copied by one round of work.
const PIECE_BYTES: usize = 1024;

/// The default size of the memory a task works on.
const USUAL_BYTES: usize = 64 << 10;

/// Time between two checks whether the last batch has ended.
const LOOK_AGAIN: Ns = Ns::from_ms(1);

thread_local! {
    static MEMORY: RefCell<(Vec<u8>, usize)> = RefCell::new((vec![1; USUAL_BYTES], 0));
}

/// Copies this number of pieces of memory.
pub fn copy(rounds: u64) {
    MEMORY.with_borrow_mut(|(memory, at)| {
        let half = memory.len() / 2;
        let (from, to) = memory.split_at_mut(half);
        for _ in 0..rounds {
            *at = if *at + PIECE_BYTES > half { 0 } else { *at };
            let piece = *at..*at + PIECE_BYTES;
            to[piece.clone()].copy_from_slice(&from[piece]);
            std::hint::black_box(&mut *to);
            *at += PIECE_BYTES;
        }
    });
}

fn start_signal() -> libc::sigset_t {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        set
    }
}

/// Blocks SIGUSR1 in this thread and in all threads and processes it starts.
pub fn block_start_signal() {
    // SAFETY: the set lives through the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &start_signal(), std::ptr::null_mut()) };
}

fn wait_for_start_signal() {
    let mut signal = 0;
    // SAFETY: both places live through the call.
    while unsafe { libc::sigwait(&start_signal(), &mut signal) } != 0 {}
}

/// A task from its set-up to its end.
pub fn life(stage: &Stage, kind: usize, index: usize) {
    let group = &stage.kinds[kind];
    let (task, tally) = (&group.task, group.tallies[index]);
    let name = match group.tallies.len() {
        1 => task.name.clone(),
        _ => format!("{}-{index}", task.name),
    };
    set_name(&name);
    let bytes = (task.working_set_bytes as usize).max(2 * PIECE_BYTES);
    if task.working_set_bytes > 0 {
        MEMORY.replace((vec![1; bytes], 0));
    }
    tally.set(What::Process, std::process::id().into());
    tally.set(What::Thread, thread_id().into());
    tally.set(What::Ready, 1);
    wait_for_start_signal();
    let mut actor = Actor {
        task,
        tally,
        work: stage.work,
        numbers: Stream::of_task(stage.seed, &task.name, index as u32),
        began: now(),
    };
    if let Err(error) = actor.begin(stage) {
        stage.fail(&error);
        return;
    }
    actor.wait_for_batch(&group.tallies, index);
    actor.run(stage.aligned);
    actor.note_usage();
    tally.set(What::Ended, 1);
}

struct Actor<'a> {
    task: &'a LateTask,
    tally: Tally,
    work: Work,
    numbers: Stream,
    began: Time,
}

impl Actor<'_> {
    fn begin(&mut self, stage: &Stage) -> io::Result<()> {
        if self.task.nice != 0 {
            set_nice(0, self.task.nice)?;
        }
        let start = stage.start.load(std::sync::atomic::Ordering::SeqCst);
        sleep_until(Time(start) + self.task.start);
        self.began = now();
        Ok(())
    }

    /// Waits for the next batch, which starts when the last task of the previous one has ended.
    fn wait_for_batch(&mut self, all: &[Tally], index: usize) {
        let first = index - index % self.task.count as usize;
        while !all[..first].iter().all(|other| other.get(What::Ended) > 0) {
            sleep(LOOK_AGAIN);
        }
    }

    fn run(&mut self, aligned: bool) {
        let task = self.task;
        if task.sleep > Ns::ZERO && !task.ends() && !aligned {
            let (low, high) = (0, task.run.0 + task.sleep.0);
            sleep(Ns(self.numbers.draw(&Distribution::Uniform { low, high })));
        }
        let (rounds, rest) = task.rounds();
        match task.ends() {
            true => {
                (0..rounds).for_each(|_| self.cycle());
                self.work.run(rest);
            }
            false => loop {
                self.cycle();
            },
        }
    }

    /// Sleeps, records how late it woke, works.
    fn cycle(&mut self) {
        let task = self.task;
        if task.sleep == Ns::ZERO {
            self.period();
            return;
        }
        let asked = Ns(task.sleep.0.saturating_mul(task.burst.into()));
        let before = now();
        sleep(asked);
        let slept = now().since(before);
        let late = Ns(slept.0.saturating_sub(asked.0));
        self.tally.add(What::Sleeps, 1);
        self.tally.add(What::SleepNs, asked.0);
        self.tally.add(What::LateNs, late.0);
        self.tally.most(What::LateMaxNs, late.0);
        (0..task.burst).for_each(|_| self.period());
    }

    /// Does the work of one period.
    fn period(&mut self) {
        let before = now();
        let amount = self.amount();
        self.work.run(amount);
        let took = now().since(before).0;
        self.tally.add(What::Periods, 1);
        self.tally.add(What::WorkNs, took);
        self.tally.most(What::WorkMaxNs, took);
        self.note_usage();
    }

    fn amount(&mut self) -> Ns {
        match self.task.vary_milli {
            0 => self.task.run,
            sigma_milli => Ns(self.numbers.draw(&Distribution::LogNormal {
                median: self.task.run.0,
                sigma_milli,
            })),
        }
    }

    /// Records the CPU time and switches of this thread, from the kernel.
    fn note_usage(&self) {
        // SAFETY: an all-zero `rusage` is a valid one, and the place lives through the call.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        let cpu = ns(usage.ru_utime) + ns(usage.ru_stime);
        self.tally.set(What::CpuNs, cpu);
        self.tally.set(What::RealNs, now().since(self.began).0);
        self.tally.set(What::Voluntary, usage.ru_nvcsw as u64);
        self.tally.set(What::Involuntary, usage.ru_nivcsw as u64);
    }
}
