//! Executes ("plays") a workload: creates all tasks, starts them at the same time, and ends them.
//!
//! ```text
//!   conductor ── manager ─┬─ task (a process of its own)
//!    waits for  starts    ├─ task
//!    the end    all tasks └─ carrier ─┬─ task (a thread of a shared process)
//!                          sleeps     └─ task
//! ```
//! Conductor, manager and carriers have real-time priority where that is permitted, and so have
//! tasks until they begin.  So a sched_ext scheduler sees all tasks created at the same time, after
//! their set-up.  Without permission they also begin at the same time, but the scheduler has seen
//! their set-up.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{kill_process_group, wait, Pid, Signal, WaitOptions};
use schedlab_trace::{Ns, TaskClass, Time};
use schedlab_workload::{ControlGroup, Op, Process, Workload};

use crate::actor::{Born, Play};
use crate::groups::{weight_is_exact, Groups, Throttled};
use crate::stage::{Marked, Progress, Stage, TaskSlot};
use crate::system::{
    exit_process, fork, now, rest, set_name, set_standing, sleep_exactly, sleep_until, thread_id,
    wait_while, wait_while_at_most, wake_all, Standing,
};
use crate::work::Work;

/// The scheduling attributes of threads that are not tasks of the workload.
const OBSERVER: Standing = Standing {
    class: TaskClass::Fifo,
    rt_priority: 2,
    nice: 0,
    slice: Ns::ZERO,
    clamps: None,
};

/// The longest time between two checks.
const BEAT: Duration = Duration::from_secs(1);

/// Stack of a task's thread.
const STACK_BYTES: usize = 128 << 10;

/// An error of a play.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The machine does not provide something.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    /// A task failed, or a control group.
    #[error("{0}")]
    Task(String),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Options of a play.
pub struct Options<'a> {
    /// Its duration; `None`: the workload's, or until all foreground tasks have ended.
    pub duration: Option<Ns>,
    /// Seed of every random draw.
    pub seed: u64,
    /// Polled; true ends the play.
    pub stop: &'a dyn Fn() -> bool,
}

/// The result of a play.
pub struct Played {
    /// When it began and ended, on the kernel's monotonic clock.
    pub span: (Time, Time),
    /// Did its foreground tasks end?
    pub finished: bool,
    /// Its tasks.
    pub tasks: Vec<PlayedTask>,
    /// Threads that managed it and are not part of it.
    pub observers: Vec<u32>,
    /// All marks in the order in which they were made.
    pub marks: Vec<Marked>,
    /// Its control groups, each after the one it is in, and how much they were throttled.
    pub control_groups: Vec<(ControlGroup, Throttled)>,
    /// Marks that were dropped because there were too many.
    pub nr_lost: u64,
}

/// A task of a play.
pub struct PlayedTask {
    /// Its number in [`Marked`].
    pub slot: TaskSlot,
    /// Its thread id.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// Its group in results.
    pub group: String,
    /// The control group it started in; none: the root.
    pub control_group: Option<u32>,
}

/// Plays a workload on this machine.
///
/// # Errors
/// No memory, no processes, no permission; or a program that misuses a mutex.
pub fn play(workload: Workload, options: &Options) -> Result<Played, PlayError> {
    let groups = Groups::make(&workload).map_err(PlayError::Task)?;
    let groups: &Groups = Box::leak(Box::new(groups));
    let played = perform(workload, groups, options);
    groups.remove();
    played
}

fn perform(
    workload: Workload,
    groups: &'static Groups,
    options: &Options,
) -> Result<Played, PlayError> {
    let end = options.duration.or(workload.duration);
    // Without permission it works with normal priority.
    let _ = set_standing(0, OBSERVER);
    sleep_exactly();
    let stage = Stage::new(&workload).map_err(|e| PlayError::System("memory", e))?;
    let play = Play {
        stage: Box::leak(Box::new(stage)),
        workload: Box::leak(Box::new(workload)),
        work: Work::calibrate(),
        groups,
        seed: options.seed,
        nr_cpus: nr_cpus(),
    };
    let crew = Crew::new(play).map_err(|e| PlayError::System("memory", e))?;
    let manager = Manager::start(crew)?;
    let waited = conduct(play, end, options.stop);
    let ended = now();
    let throttled = groups.throttled();
    manager.end();
    waited?;
    match play.stage.progress() {
        Progress::Failed => Err(PlayError::Task(play.stage.problem())),
        _ => Ok(result(play, crew, ended, throttled)),
    }
}

/// The highest number of a CPU that this process may use, plus 1.
fn nr_cpus() -> u32 {
    let set = rustix::thread::sched_getaffinity(None);
    let highest = |set: rustix::thread::CpuSet| {
        (0..rustix::thread::CpuSet::MAX_CPU).rfind(|&cpu| set.is_set(cpu))
    };
    let highest = set.ok().and_then(highest);
    highest.map_or(1, |cpu| cpu as u32 + 1)
}

/// Waits for the end.
fn conduct(play: Play, duration: Option<Ns>, stop: &dyn Fn() -> bool) -> Result<(), PlayError> {
    let stage = play.stage;
    while stage.progress() == Progress::Running {
        if stop() {
            return Err(PlayError::Interrupted);
        }
        let start = Some(stage.start()).filter(|start| *start > Time::ZERO);
        let end = start
            .zip(duration)
            .map(|(start, duration)| start + duration);
        let left = match end {
            Some(end) if end <= now() => return Ok(()),
            Some(end) => Duration::from_nanos(end.since(now()).0).min(BEAT),
            // The play is about to begin.
            None if duration.is_some() => Duration::from_millis(10),
            None => BEAT,
        };
        wait_while_at_most(stage.progress_word(), 0, left);
    }
    Ok(())
}

fn result(play: Play, crew: Crew, ended: Time, throttled: Vec<Throttled>) -> Played {
    let stage = play.stage;
    let (mut marks, nr_lost) = stage.marks();
    marks.sort_by_key(|mark| mark.time);
    let tasks = stage.all_slots().map(|(slot, shared)| PlayedTask {
        slot,
        thread: shared.thread.load(SeqCst),
        name: play.name(slot),
        group: play.spec(slot).group.clone(),
        control_group: shared.first_group(),
    });
    let groups = play.workload.control_groups.iter().cloned();
    Played {
        span: (stage.start(), stage.end().unwrap_or(ended)),
        finished: stage.progress() == Progress::Finished,
        tasks: tasks.collect(),
        observers: crew.observers(),
        control_groups: groups.zip(throttled).collect(),
        marks,
        nr_lost,
    }
}

/// The threads that manage the play.
#[derive(Clone, Copy)]
struct Crew {
    play: Play,
    /// The task to be created next: its number plus 1.
    turn: &'static AtomicU32,
    /// Thread ids of manager and carriers.
    threads: &'static [AtomicU32],
}

impl Crew {
    fn new(play: Play) -> io::Result<Crew> {
        let processes = play.workload.tasks.iter().map(|task| task.process);
        let shared: std::collections::BTreeSet<Process> = processes.collect();
        let words = crate::memory::words(shared.len() + 2)?;
        Ok(Crew {
            play,
            turn: &words[0],
            threads: &words[1..],
        })
    }

    fn observers(&self) -> Vec<u32> {
        let threads = self.threads.iter().map(|thread| thread.load(SeqCst));
        let threads = threads.filter(|thread| *thread != 0);
        threads.chain([thread_id()]).collect()
    }

    fn introduce(&self, number: usize) {
        set_name("schedlab");
        self.threads[number].store(thread_id(), SeqCst);
    }

    /// The tasks that exist from the start, in order; `None` if there are too many.
    fn cast(&self) -> Option<Vec<TaskSlot>> {
        let mut cast = Vec::new();
        for (number, spec) in self.play.workload.tasks.iter().enumerate() {
            for _ in 0..spec.count {
                cast.push(self.play.stage.new_slot(number as u32, spec, None)?);
            }
        }
        Some(cast)
    }

    /// The main function of the manager.
    fn manage(self, life: OwnedFd) -> ! {
        self.introduce(0);
        let managed = self.bring_on_stage().and_then(|cast| self.start(&cast));
        if let Err(problem) = managed {
            self.play.stage.fail(&problem);
        }
        // When the conductor ends, for any reason, the pipe closes.
        let _ = rustix::io::read(&life, &mut [0; 1]);
        // This ends the manager, too.
        let _ = rustix::process::kill_current_process_group(Signal::KILL);
        exit_process(1)
    }

    /// Creates all tasks, one after the other.
    fn bring_on_stage(&self) -> Result<Vec<TaskSlot>, String> {
        let cast = self.cast().ok_or("there are too many tasks")?;
        let mut carriers = BTreeMap::new();
        for &slot in &cast {
            match self.play.spec(slot).process {
                Process::Own | Process::Parent => self.process(slot)?,
                Process::Shared(number) => {
                    let next = carriers.len() + 1;
                    if let std::collections::btree_map::Entry::Vacant(new) = carriers.entry(number)
                    {
                        self.carrier(next, Process::Shared(number))?;
                        new.insert(next);
                    }
                    self.turn.store(slot.0 + 1, SeqCst);
                    wake_all(self.turn);
                }
            }
            self.play.stage.slot(slot).wait_until_ready();
        }
        Ok(cast)
    }

    fn process(&self, slot: TaskSlot) -> Result<(), String> {
        // SAFETY: this process has one thread.
        match unsafe { fork() }.map_err(|e| format!("{}: {e}", self.play.name(slot)))? {
            Some(_) => Ok(()),
            None => {
                self.play.act(slot, Born::Cast);
                exit_process(0)
            }
        }
    }

    /// A process whose threads, except the first, are tasks.
    fn carrier(&self, number: usize, process: Process) -> Result<(), String> {
        // SAFETY: this process has one thread.
        match unsafe { fork() }.map_err(|e| format!("a process: {e}"))? {
            Some(_) => Ok(()),
            None => {
                self.introduce(number);
                self.carry(process)
            }
        }
    }

    fn carry(self, process: Process) -> ! {
        let mut done = 0;
        loop {
            let turn = self.turn.load(SeqCst);
            let slot = TaskSlot(turn.wrapping_sub(1));
            if turn == done || turn == 0 || self.play.spec(slot).process != process {
                wait_while(self.turn, turn);
                continue;
            }
            done = turn;
            let play = self.play;
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            if let Err(error) = thread.spawn(move || play.act(slot, Born::Cast)) {
                play.stage.fail(&format!("{}: {error}", play.name(slot)));
                rest();
            }
        }
    }

    /// Starts all tasks, each at its start time.
    fn start(&self, cast: &[TaskSlot]) -> Result<(), String> {
        let play = self.play;
        let mut batches: BTreeMap<Ns, Vec<TaskSlot>> = BTreeMap::new();
        for &slot in cast {
            batches.entry(play.spec(slot).start).or_default().push(slot);
        }
        let first = batches.remove(&Ns::ZERO).unwrap_or_default();
        first.iter().try_for_each(|&slot| play.apply(slot))?;
        play.stage.begin();
        self.wake(&first);
        for (start, batch) in batches {
            sleep_until(play.stage.start() + start);
            batch.iter().try_for_each(|&slot| play.apply(slot))?;
            self.wake(&batch);
        }
        Ok(())
    }

    fn wake(&self, batch: &[TaskSlot]) {
        let sleeps = |slot: &&TaskSlot| !self.play.spec(**slot).dormant;
        for &slot in batch.iter().filter(sleeps) {
            self.play.stage.slot(slot).unpark();
        }
    }
}

/// The process that is the parent of the tasks, and leads their group.
struct Manager {
    pid: Pid,
    /// Closed when this process ends; the manager notices it.
    life: Option<OwnedFd>,
}

impl Manager {
    fn start(crew: Crew) -> Result<Manager, PlayError> {
        let failed = |what| move |error| PlayError::System(what, error);
        let pipe = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from);
        let (reader, writer) = pipe.map_err(failed("a pipe"))?;
        // Orphaned descendants become children of this process, which reaps them.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        // SAFETY: in the child only the calling thread exists, and no lock is held.
        match unsafe { fork() }.map_err(failed("a process"))? {
            Some(pid) => {
                let pid = Pid::from_raw(pid as i32).expect("a child has an id");
                // The manager does the same; either may be first.
                let _ = rustix::process::setpgid(Some(pid), Some(pid));
                Ok(Manager {
                    pid,
                    life: Some(writer),
                })
            }
            None => {
                drop(writer);
                let _ = rustix::process::setpgid(None, None);
                crew.manage(reader)
            }
        }
    }

    /// Ends all processes and waits for them.
    fn end(mut self) {
        // An error means that they have ended.
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.life = None;
        while let Err(rustix::io::Errno::INTR) | Ok(_) = wait(WaitOptions::empty()) {}
    }
}

/// Operations of the workload that a kernel can only approximate, as text, each at most once.
pub fn approximations(workload: &Workload) -> Vec<&'static str> {
    let some = |wanted: fn(&Op) -> bool| {
        let mut ops = workload.programs.iter().flat_map(|program| &program.ops);
        ops.any(wanted)
    };
    let mut said = Vec::new();
    let mut say = |applies: bool, what| said.extend(applies.then_some(what));
    say(
        some(|op| matches!(op, Op::Disk { .. })),
        "disks: a request sleeps for as long as it would be served, one after the other",
    );
    say(
        some(|op| matches!(op, Op::Exec)),
        "exec: the process keeps its memory",
    );
    say(
        some(|op| matches!(op, Op::RunInKernel(_))),
        "work in the kernel is done outside, where it can be preempted",
    );
    say(
        some(|op| matches!(op, Op::Uninterruptible)),
        "uninterruptible sleep can be interrupted by signals",
    );
    say(
        some(|op| matches!(op, Op::SemSleep(_))),
        "a recorded sleep does not sleep if its wakeup has come already",
    );
    say(
        workload
            .tasks
            .iter()
            .any(|task| task.class == TaskClass::Iso),
        "class iso: normal, as Linux never had it",
    );
    say(
        workload
            .control_groups
            .iter()
            .any(|group| !weight_is_exact(group.weight)),
        "shares of a control group: the nearest weight of version 2",
    );
    let memory = workload.tasks.iter().any(|task| task.working_set_bytes > 0);
    say(memory, "working sets: the machine's own caches decide");
    said
}
