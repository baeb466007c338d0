//! The check of a policy's promise of nice.
//!
//! It compares the CPU times of tasks that were runnable on one CPU for a whole window of simulated time, did not
//! yield, and kept their nice value, class and affinity.  Each of two compared tasks took several turns, or one of
//! them none, so the length of a slice has no influence.

use schedlab_policy::{Class, Hook, Nice};
use schedlab_trace::{CpuId, GroupId, GroupWeight, Ns, TaskId, Time};

use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::setup::Setup;
use crate::task::State;

/// How long tasks compete before they are compared.
const WINDOW: Ns = Ns::from_ms(10_000);

/// Nice values closer than this are not compared: chance and rounding may decide.
const DISTANCE: i32 = 5;

/// A task that took fewer turns than this in a window is not compared.
const TURNS: u32 = 10;

/// A task that runs for less than this in a window is not compared with nicer ones.
const SHARE: Ns = Ns(WINDOW.0 / 20);

/// A task's competition on one CPU: since it came there, woke up, yielded or changed its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    cpu: CpuId,
    since: Time,
    /// Turns on the CPU and CPU time in user mode, since the window began.
    turns: u32,
    ran: Ns,
}

impl Stay {
    pub const NONE: Stay = Stay {
        cpu: CpuId(0),
        since: Time::ZERO,
        turns: 0,
        ran: Ns::ZERO,
    };

    /// The task has run for this long in user mode.
    #[inline]
    pub fn add(&mut self, ran: Ns) {
        self.ran += ran;
    }
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
    group: Option<GroupId>,
    nice: i32,
    turns: u32,
    ran: Ns,
}

impl Simulation<'_> {
    /// The task begins to compete on the CPU it belongs to.
    #[inline]
    pub(crate) fn begin_stay(&mut self, task: TaskId) {
        let (now, cpu) = (self.now, CpuId(self.host.task(task).cpu));
        self.task_mut(task).stay = Stay {
            cpu,
            since: now,
            ..Stay::NONE
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
        // Nothing happened for a whole window: the tasks did not alternate.
        let mut shares = match self.now.since(begin) < WINDOW + WINDOW {
            true => self.shares_since(begin),
            false => Vec::new(),
        };
        self.begin_window();
        shares.sort_by_key(|share| (share.cpu, share.group, share.nice, share.task));
        for of_cpu in shares.chunk_by(|a, b| (a.cpu, a.group) == (b.cpu, b.group)) {
            if let Some((better, worse)) = find_wrong(of_cpu, promise) {
                return Err(self.nice_broken(better, worse));
            }
        }
        self.compare_groups(&shares)
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
                    group: self.host.task_group(task),
                    nice: public.nice,
                    turns: t.stay.turns,
                    ran: t.stay.ran,
                })
            })
            .collect()
    }

    /// Of groups within the same group that competed for one CPU, and used no other, does one that weighs twice as
    /// much get more?
    fn compare_groups(&self, shares: &[Share]) -> Result<(), SimError> {
        let known = self.setup.tuned.policy.has_groups() && !self.groups.limited;
        if !known || self.groups.books.len() < 2 {
            return Ok(());
        }
        let groups = (0..self.groups.books.len() as u32).map(GroupId);
        let got: Vec<GroupShare> = groups.filter_map(|g| self.group_share(g, shares)).collect();
        for heavy in &got {
            for light in &got {
                let rivals = heavy.cpu == light.cpu && heavy.parent == light.parent;
                if rivals && heavy.shares >= 2 * light.shares && heavy.ran <= light.ran {
                    return Err(self.weight_broken(heavy, light));
                }
            }
        }
        Ok(())
    }

    /// What a group got whose tasks all competed on one CPU all the time; none of another.  Groups in it have no share
    /// of their own here.
    fn group_share(&self, group: GroupId, shares: &[Share]) -> Option<GroupShare> {
        let book = &self.groups.books[group.index()];
        let of_group = |share: &&Share| share.group == Some(group);
        let mut own = shares.iter().filter(of_group);
        let cpu = own.next()?.cpu;
        let all_here = own.all(|share| share.cpu == cpu);
        let (mut ran, mut nr) = (Ns::ZERO, 0);
        for share in shares.iter().filter(of_group) {
            ran += share.ran;
            nr += 1;
        }
        let comparable = book.weight != GroupWeight::Idle && book.has_only(nr);
        (all_here && comparable).then_some(GroupShare {
            group,
            cpu,
            parent: book.parent,
            shares: book.weight.shares(),
            ran,
        })
    }

    fn weight_broken(&self, heavy: &GroupShare, light: &GroupShare) -> SimError {
        let name = |of: &GroupShare| &self.setup.workload.control_groups[of.group.index()].name;
        let detail = format!(
            "group {} with {} shares ran for {} of the last {WINDOW}, group {} with {} for {}",
            name(heavy),
            heavy.shares,
            heavy.ran,
            name(light),
            light.shares,
            light.ran,
        );
        let hook = Some(Hook::PickNext);
        self.violation(Rule::GroupWeight, heavy.cpu, hook, None, detail)
    }

    fn begin_window(&mut self) {
        for t in &mut self.tasks {
            t.stay.turns = 0;
            t.stay.ran = Ns::ZERO;
        }
    }

    fn nice_broken(&self, better: &Share, worse: &Share) -> SimError {
        let promise = match self.setup.tuned.policy.promise().nice {
            Nice::Weighted => "a larger share for lower nice",
            _ => "no smaller share for lower nice",
        };
        let detail = format!(
            "with nice {} it ran for {} of the last {WINDOW}, task {} ({}) with nice {} for {}; the policy promised {promise}",
            better.nice,
            better.ran,
            worse.task,
            self.name(worse.task),
            worse.nice,
            worse.ran,
        );
        let (cpu, hook) = (better.cpu, Some(Hook::PickNext));
        self.violation(Rule::NicePromise, cpu, hook, Some(better.task), detail)
    }
}

/// What a group got in a window.
struct GroupShare {
    group: GroupId,
    cpu: CpuId,
    parent: Option<GroupId>,
    shares: u32,
    ran: Ns,
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
            if least.is_none_or(|least| next.ran < least.ran) {
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
    let alternated = better.turns.min(worse.turns) >= TURNS;
    let starved = better.turns == 0;
    if worse.ran < SHARE || !(alternated || starved) {
        return false;
    }
    // Both are at most two windows long: no product overflows.
    match promise {
        // A larger share: by a fiftieth at least.
        Nice::Weighted => better.ran.0 * 50 < worse.ran.0 * 51,
        // No smaller share: by a sixth at most.
        Nice::Ordered => better.ran.0 * 6 < worse.ran.0 * 5,
        Nice::Ignored => false,
    }
}
