//! What a policy promises of nice, held against tasks that compete for one CPU.
//!
//! Tasks are compared that were runnable on the same CPU, with the same nice value, class and
//! affinity, for a whole window of simulated time.  Each of two compared tasks took several turns
//! in it, or one of them none, so that the length of a slice decides nothing.

use schedlab_policy::{Class, Hook, Nice};
use schedlab_trace::{CpuId, Ns, Sink, TaskId, Time};

use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::setup::Setup;
use crate::task::{State, WORK_UNITS_PER_NS};

/// How long tasks compete before they are compared.
const WINDOW: Ns = Ns::from_ms(10_000);

/// Nice values closer than this are not compared: chance and rounding may decide.
const DISTANCE: i32 = 5;

/// A task that took fewer turns than this in a window is not compared.
const TURNS: u32 = 10;

/// Who runs for less than this in a window, a twentieth, has no share to speak of.
const SHARE_NS: u64 = WINDOW.0 / 20;

/// A task's competition on one CPU: since it came there, woke up or changed its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    cpu: CpuId,
    since: Time,
    /// Turns on the CPU, and work done before, since the window began.
    turns: u32,
    work_before: u64,
}

impl Stay {
    pub const NONE: Stay = Stay {
        cpu: CpuId(0),
        since: Time::ZERO,
        turns: 0,
        work_before: 0,
    };
}

/// The present window; none if the policy promises nothing of nice or this run is outside of it.
#[derive(Debug)]
pub(crate) struct NiceWatch {
    promise: Nice,
    begin: Time,
}

impl NiceWatch {
    /// A user's own constants may change what nice means, so only the policy's are watched.
    pub fn of(setup: &Setup) -> Option<NiceWatch> {
        let promise = setup.tuned.policy.promise().nice;
        let watched = promise != Nice::Ignored && setup.tuned.changed().is_empty();
        watched.then_some(NiceWatch {
            promise,
            begin: Time::ZERO,
        })
    }
}

/// What a task got in a window.
struct Share {
    task: TaskId,
    cpu: CpuId,
    nice: i32,
    turns: u32,
    work: u64,
}

impl<S: Sink> Simulation<'_, S> {
    /// The task begins to compete on the CPU it belongs to.
    #[inline]
    pub(crate) fn begin_stay(&mut self, task: TaskId) {
        let (now, cpu) = (self.now, CpuId(self.host.task(task).cpu));
        let t = self.task_mut(task);
        t.stay = Stay {
            cpu,
            since: now,
            turns: 0,
            work_before: t.work_done,
        };
    }

    /// The task begins to run on this CPU.
    #[inline]
    pub(crate) fn note_turn(&mut self, cpu: CpuId, task: TaskId) {
        if self.task(task).stay.cpu != cpu {
            self.begin_stay(task);
        }
        self.task_mut(task).stay.turns += 1;
    }

    /// At the end of a window: did lower nice get what the policy promises?
    #[inline]
    pub(crate) fn check_nice(&mut self) -> Result<(), SimError> {
        match &self.nice_watch {
            Some(watch) if self.now.since(watch.begin) >= WINDOW => self.compare_shares(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn compare_shares(&mut self) -> Result<(), SimError> {
        let Some(watch) = &mut self.nice_watch else {
            return Ok(());
        };
        let (begin, promise) = (watch.begin, watch.promise);
        watch.begin = self.now;
        // Of a window of which nothing was seen for long nobody knows how it was shared.
        let mut shares = match self.now.since(begin) < WINDOW + WINDOW {
            true => self.shares_since(begin),
            false => Vec::new(),
        };
        self.begin_window();
        shares.sort_by_key(|share| (share.cpu, share.nice, share.task));
        for of_cpu in shares.chunk_by(|a, b| a.cpu == b.cpu) {
            if let Some((better, worse)) = find_wrong(of_cpu, promise) {
                return Err(self.nice_broken(better, worse));
            }
        }
        Ok(())
    }

    /// What each task got that competed on one CPU all the time.
    fn shares_since(&self, begin: Time) -> Vec<Share> {
        let tasks = (0..self.tasks.len() as u32).map(TaskId);
        tasks
            .filter_map(|task| {
                let (t, public) = (self.task(task), self.host.task(task));
                let competes = matches!(t.state, State::Waiting | State::Running(_))
                    && t.stay.since <= begin
                    && public.cpu == t.stay.cpu.0
                    && public.class == Class::Normal as u32;
                competes.then(|| Share {
                    task,
                    cpu: t.stay.cpu,
                    nice: public.nice,
                    turns: t.stay.turns,
                    work: t.work_done - t.stay.work_before,
                })
            })
            .collect()
    }

    fn begin_window(&mut self) {
        for t in &mut self.tasks {
            t.stay.turns = 0;
            t.stay.work_before = t.work_done;
        }
    }

    fn nice_broken(&self, better: &Share, worse: &Share) -> SimError {
        let ran = |share: &Share| Ns(share.work / WORK_UNITS_PER_NS);
        let promise = match self.setup.tuned.policy.promise().nice {
            Nice::Weighted => "a larger share for lower nice",
            _ => "no smaller share for lower nice",
        };
        let detail = format!(
            "with nice {} it ran for {} of the last {WINDOW}, task {} ({}) with nice {} for {}; the policy promised {promise}",
            better.nice,
            ran(better),
            worse.task,
            self.name(worse.task),
            worse.nice,
            ran(worse),
        );
        let (cpu, hook) = (better.cpu, Some(Hook::PickNext));
        self.violation(Rule::NicePromise, cpu, hook, Some(better.task), detail)
    }
}

/// Of the tasks of one CPU in the order of nice: two whose shares break the promise.
fn find_wrong(tasks: &[Share], promise: Nice) -> Option<(&Share, &Share)> {
    let mut least: Option<&Share> = None;
    let mut nicer = tasks.iter();
    for worse in tasks {
        while let Some(next) = nicer.as_slice().first() {
            if next.nice + DISTANCE > worse.nice {
                break;
            }
            nicer.next();
            if least.is_none_or(|least| next.work < least.work) {
                least = Some(next);
            }
        }
        if let Some(better) = least.filter(|better| is_wrong(better, worse, promise)) {
            return Some((better, worse));
        }
    }
    None
}

fn is_wrong(better: &Share, worse: &Share, promise: Nice) -> bool {
    let (better_work, worse_work) = (u128::from(better.work), u128::from(worse.work));
    let alternated = better.turns.min(worse.turns) >= TURNS;
    let starved = better.turns == 0;
    if worse_work < u128::from(SHARE_NS * WORK_UNITS_PER_NS) || !(alternated || starved) {
        return false;
    }
    match promise {
        // A larger share: by a fiftieth at least.
        Nice::Weighted => better_work * 50 < worse_work * 51,
        // No smaller one, but for a fifth.
        Nice::Ordered => better_work * 6 < worse_work * 5,
        Nice::Ignored => false,
    }
}
