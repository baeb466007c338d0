//! The search: cases drawn from seeds, in blocks, on several threads.

use std::io;
use std::ops::RangeInclusive;

use schedlab_lab::in_parallel;
use schedlab_policy::Tuned;

use crate::case::Case;
use crate::draw;
use crate::invariant::NAMES;
use crate::judge::{cpu_times, judge, Broken, Verdict};
use crate::shrink::shrink;

/// Names are exchanged in runs of at least this duration, in ns.
const NAMES_FROM_NS: u64 = 4_000_000_000;

/// What to search.
pub struct Search<'a> {
    /// The policy.
    pub tuned: &'a Tuned,
    /// The seeds; the search may end before the last one.
    pub seeds: RangeInclusive<u64>,
    /// Runs at the same time.
    pub threads: usize,
    /// Runs between two questions whether it is enough.
    pub block: u64,
    /// Make what was found as small as possible?  That may take longer than the search.
    pub shrinks: bool,
    /// The machine of all runs, by its name, with its number of CPUs; none: random small ones.
    pub machine: Option<(String, u32)>,
}

/// Something found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The lowest seed that found it.
    pub seed: u64,
    /// How many runs found it.
    pub nr_runs: u64,
    /// The smallest case that shows it, or the first.
    pub case: Case,
    /// Is it the smallest?
    pub is_shrunk: bool,
    /// What that case breaks.
    pub broken: Broken,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Runs done, those of shrinking not counted.
    pub nr_runs: u64,
    /// How many of them reached a limit.
    pub nr_cut_short: u64,
    /// Distinct by invariant and hook: failures first, then by the lowest seed.
    pub found: Vec<Found>,
}

impl Search<'_> {
    /// Searches until the last seed or until `enough` holds, which is asked with the next seed before each block; then
    /// shrinks what was found.
    ///
    /// # Errors
    /// The system provides no timer to watch hooks.
    pub fn run(&self, mut enough: impl FnMut(u64) -> bool) -> io::Result<Results> {
        let mut results = Results::default();
        let mut next = *self.seeds.start();
        while next <= *self.seeds.end() && !enough(next) {
            let last = self
                .seeds
                .end()
                .min(&next.saturating_add(self.block - 1))
                .to_owned();
            let count = (last - next + 1) as usize;
            let verdicts = in_parallel(
                count,
                self.threads,
                |index, _| self.verdict(&self.case(next + index as u64)),
                || (),
            )?;
            for (seed, verdict) in (next..).zip(verdicts) {
                results.add(seed, verdict, || self.case(seed));
            }
            match last.checked_add(1) {
                Some(after) => next = after,
                None => break,
            }
        }
        if self.shrinks {
            let found = std::mem::take(&mut results.found);
            results.found = in_parallel(
                found.len(),
                self.threads,
                |index, _| self.shrunk(&found[index]),
                || (),
            )?;
        }
        results.found.sort_by_key(|found| !found.broken.is_failure);
        Ok(results)
    }

    /// The case of a seed.
    pub fn case(&self, seed: u64) -> Case {
        draw::case(seed, self.machine.as_ref())
    }

    /// The judgement of a case; a text that the reader of workloads refuses breaks nothing.
    fn verdict(&self, case: &Case) -> io::Result<Verdict> {
        let (Ok(machine), Ok(workload)) = (case.platform.machine(), case.workload()) else {
            return Ok(Verdict {
                broken: Vec::new(),
                cut_short: Some("the workload is refused".into()),
            });
        };
        let mut verdict = judge(self.tuned, &machine, &workload, &case.circumstances)?;
        if verdict.broken.is_empty() && verdict.cut_short.is_none() {
            verdict.broken.extend(self.names(case)?);
        }
        Ok(verdict)
    }

    /// Does a kind of task get another share when the names come in the opposite order?
    fn names(&self, case: &Case) -> io::Result<Option<Broken>> {
        let is_long = case.duration.0 >= NAMES_FROM_NS && case.tasks.len() > 1;
        if !is_long || !case.circumstances.is_plain() || case.has_meetings() {
            return Ok(None);
        }
        let opposite = case.renamed();
        let times = |case: &Case| match (case.platform.machine(), case.workload()) {
            (Ok(machine), Ok(workload)) => {
                cpu_times(self.tuned, &machine, &workload, &case.circumstances)
            }
            _ => Ok(None),
        };
        let (Some(times), Some(others)) = (times(case)?, times(&opposite)?) else {
            return Ok(None);
        };
        let pairs = times.iter().zip(others.iter().rev()).enumerate();
        let differs = pairs.map(|(kind, (a, b))| (a.0.abs_diff(b.0), kind, *a, *b));
        let most = differs.max_by_key(|(ns, ..)| *ns);
        Ok(most.filter(|(ns, ..)| *ns > NAMES.0).map(|(_, kind, a, b)| Broken {
            id: "names".into(),
            hook: None,
            is_failure: false,
            message: format!("tasks t{kind} get {a} of CPU time, and {b} if the names come in the opposite order"),
        }))
    }

    fn shrunk(&self, found: &Found) -> io::Result<Found> {
        let mut problem = None;
        let mut smallest = found.clone();
        smallest.is_shrunk = true;
        let mut last = found.broken.clone();
        smallest.case = shrink(&found.case, |case| match self.verdict(case) {
            Ok(verdict) => {
                let same = verdict
                    .broken
                    .into_iter()
                    .find(|b| b.is_like(&found.broken));
                let breaks = same.is_some();
                last = same.unwrap_or_else(|| last.clone());
                breaks
            }
            Err(error) => {
                problem = Some(error);
                false
            }
        });
        smallest.broken = last;
        problem.map_or(Ok(smallest), Err)
    }
}

impl Results {
    fn add(&mut self, seed: u64, verdict: Verdict, case: impl Fn() -> Case) {
        self.nr_runs += 1;
        self.nr_cut_short += u64::from(verdict.cut_short.is_some());
        for broken in verdict.broken {
            match self
                .found
                .iter_mut()
                .find(|found| found.broken.is_like(&broken))
            {
                Some(found) => found.nr_runs += 1,
                None => self.found.push(Found {
                    seed,
                    nr_runs: 1,
                    case: case(),
                    is_shrunk: false,
                    broken,
                }),
            }
        }
    }
}

impl Case {
    /// The case with its kinds of tasks in the opposite order, and so with opposite names.
    fn renamed(&self) -> Case {
        let mut case = self.clone();
        let last = case.tasks.len() - 1;
        case.tasks.reverse();
        for task in &mut case.tasks {
            let named = task
                .program
                .iter_mut()
                .filter_map(|statement| statement.names());
            named.for_each(|task| *task = last - *task);
        }
        case
    }
}
