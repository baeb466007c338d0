//! One run and what it breaks.

use std::io;
use std::time::Duration;

use schedlab_machine::Machine;
use schedlab_policy::{Disturbance, Hook, HookTimer, Tuned};
use schedlab_sim::{Limits, Setup, SimError, Simulation, TieBreak};
use schedlab_trace::{HashSink, Ns, Sink, Tee, Time, TraceHash};
use schedlab_workload::Workload;

use crate::case::Circumstances;
use crate::invariant::{
    of_fault, of_rule, EXAMINED, IDLE_BESIDE_WAITING, IDLE_CALLS, OWN_BOOKS, OWN_MEMORY,
    TWO_TRACES, WAIT,
};
use crate::watch::Watch;

/// Real CPU time that one call of a hook may take.
const HOOK_TIMEOUT: Duration = Duration::from_secs(1);

/// How much hooks of different CPUs overlap where locks are refused.
const DELAY_NS: u64 = 10_000;

/// Most events and tasks of a run.  A run that reaches them tells nothing.
const LIMITS: Limits = Limits {
    events: 200_000,
    tasks: 500,
    time: Ns::from_secs(3600),
};

/// What a run breaks, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The invariant's id.
    pub id: String,
    /// The hook that caused it, if one did.
    pub hook: Option<String>,
    /// Is it a failure?  Otherwise it is a finding.
    pub is_failure: bool,
    /// Time, CPU, task and values.
    pub message: String,
}

impl Broken {
    /// Is it the same as far as a search is concerned?
    pub fn is_like(&self, other: &Broken) -> bool {
        (&self.hook, &self.id) == (&other.hook, &other.id)
    }

    /// Does every run of the simulator end with it?  Otherwise only check sees it.
    pub fn is_engines(&self) -> bool {
        self.is_failure && ![TWO_TRACES, OWN_BOOKS, OWN_MEMORY].contains(&self.id.as_str())
    }

    fn finding(id: &str, message: String) -> Broken {
        Broken {
            id: id.into(),
            hook: None,
            is_failure: false,
            message,
        }
    }
}

/// The judgement of a run.
#[derive(Clone, Default, Debug)]
pub struct Verdict {
    /// What it breaks; a failure comes first.
    pub broken: Vec<Broken>,
    /// Why the run ended early without a fault of the policy: it reached a limit, or the workload is wrong.
    pub cut_short: Option<String>,
}

/// Runs a workload and judges the run.
///
/// # Errors
/// The system provides no timer to watch hooks.
pub fn judge(
    tuned: &Tuned,
    machine: &Machine,
    workload: &Workload,
    circumstances: &Circumstances,
) -> io::Result<Verdict> {
    let mut watch = Watch::new(workload, machine);
    let ended = simulated(tuned, machine, workload, circumstances, &mut watch)?;
    Ok(match ended {
        Ok(()) => Verdict {
            broken: relations(&watch),
            cut_short: None,
        },
        Err(error) => failed(&error),
    })
}

/// The CPU time of each kind of task; none if the run ends early.
///
/// # Errors
/// The system provides no timer to watch hooks.
pub fn cpu_times(
    tuned: &Tuned,
    machine: &Machine,
    workload: &Workload,
    circumstances: &Circumstances,
) -> io::Result<Option<Vec<Ns>>> {
    let circumstances = &Circumstances {
        twice: false,
        ..*circumstances
    };
    let mut watch = Watch::new(workload, machine);
    let ended = simulated(tuned, machine, workload, circumstances, &mut watch)?;
    let groups = workload.tasks.iter().map(|task| &task.group);
    let times = groups.map(|group| watch.cpu_time(group)).collect();
    Ok(ended.is_ok().then_some(times))
}

fn simulated(
    tuned: &Tuned,
    machine: &Machine,
    workload: &Workload,
    circumstances: &Circumstances,
    watch: &mut Watch,
) -> io::Result<Result<(), Error>> {
    let _timer = HookTimer::start(HOOK_TIMEOUT)?;
    let run = Run {
        tuned,
        machine,
        workload,
        circumstances,
    };
    Ok(run.simulate(watch))
}

/// Why a run failed.
enum Error {
    Sim(SimError),
    TwoTraces(TraceHash, TraceHash),
}

struct Run<'a> {
    tuned: &'a Tuned,
    machine: &'a Machine,
    workload: &'a Workload,
    circumstances: &'a Circumstances,
}

impl Run<'_> {
    fn setup(&self) -> Setup<'_> {
        Setup {
            seed: self.circumstances.seed,
            limits: LIMITS,
            checks_policy: true,
            tie_break: match self.circumstances.order {
                Some(order) => TieBreak::Shuffled(order),
                None => TieBreak::Canonical,
            },
            ..Setup::new(self.machine, self.workload, self.tuned)
        }
    }

    /// Runs it, and again beside the first run if the circumstances ask for it.
    fn simulate(&self, watch: &mut Watch) -> Result<(), Error> {
        let setup = self.setup();
        let mut first = Tee(HashSink::default(), watch);
        if !self.circumstances.twice {
            self.finish(self.start(&setup, &mut first).map_err(Error::Sim)?)
                .map_err(Error::Sim)?;
            return Ok(());
        }
        let mut second = HashSink::default();
        {
            // Both exist at the same time, so no address is the same.
            let one = self.start(&setup, &mut first).map_err(Error::Sim)?;
            let other = self.start(&setup, &mut second).map_err(Error::Sim);
            let ended = self.finish(one).map_err(Error::Sim);
            let other = other.and_then(|other| self.finish(other).map_err(Error::Sim));
            ended?;
            other?;
        }
        let (one, other) = (first.0.finish(), second.finish());
        match one == other {
            true => Ok(()),
            false => Err(Error::TwoTraces(one, other)),
        }
    }

    fn start<'s>(
        &self,
        setup: &Setup<'s>,
        sink: &'s mut dyn Sink,
    ) -> Result<Simulation<'s>, SimError> {
        let mut simulation = Simulation::new(setup, sink)?;
        if let Some(refuse_one_in) = self.circumstances.refuse_locks {
            simulation.disturb(Disturbance {
                seed: self.circumstances.seed,
                refuse_one_in,
                delay_ns: DELAY_NS,
            });
        }
        Ok(simulation)
    }

    fn finish(&self, mut simulation: Simulation) -> Result<(), SimError> {
        match simulation.run_until(Time::MAX) {
            Ok(_) => simulation.finish().map(|_| ()),
            Err(error) => {
                simulation.abandon();
                Err(error)
            }
        }
    }
}

/// The verdict of a run that failed.
fn failed(error: &Error) -> Verdict {
    let broken = |id: String, hook, message| Verdict {
        broken: vec![Broken {
            id,
            hook,
            is_failure: true,
            message,
        }],
        cut_short: None,
    };
    match error {
        Error::TwoTraces(one, other) => broken(
            TWO_TRACES.into(),
            None,
            format!("one instance of the policy gives the trace {one}, another one {other}"),
        ),
        Error::Sim(error) => match error {
            SimError::Violation(found) => {
                broken(of_rule(found.rule), found.hook.map(name), error.to_string())
            }
            SimError::Fault { fault, .. } => broken(
                of_fault(fault).into(),
                Some(name(fault.hook)),
                error.to_string(),
            ),
            _ => Verdict {
                broken: Vec::new(),
                cut_short: Some(error.to_string()),
            },
        },
    }
}

/// The findings of a run that went through.
fn relations(watch: &Watch) -> Vec<Broken> {
    let mut found = Vec::new();
    let idle = &watch.idle_beside;
    if idle.ns > IDLE_BESIDE_WAITING {
        let (cpu, ns, until) = (idle.cpu, idle.ns, idle.until);
        let task = watch.name(idle.task);
        found.push(Broken::finding(
            "no-idle-beside-waiting",
            format!(
                "CPU {cpu} idles for {ns} until {until}, while task {task} waits and may run on it"
            ),
        ));
    }
    let wait = &watch.wait;
    if watch.all_normal && !watch.has_groups && wait.ns > WAIT {
        let (ns, until, task) = (wait.ns, wait.until, watch.name(wait.task));
        found.push(Broken::finding(
            "bounded-waiting",
            format!("task {task} waits for {ns} until {until}"),
        ));
    }
    let (calls, time, cpu) = watch.most_idle_calls;
    if calls > IDLE_CALLS {
        found.push(Broken::finding(
            "idle-stays-idle",
            format!(
                "CPU {cpu} calls schedule() {calls} times until {time}, while no task is runnable"
            ),
        ));
    }
    if let Some(away) = &watch.wakers.first {
        let (task, from, to) = (watch.name(away.task), away.from, away.to);
        found.push(Broken::finding(
            "stays-with-waker",
            format!("task {task} is woken on CPU {from} and queued on CPU {to} at {}; then CPU {from} idles", away.time),
        ));
    }
    let (examined, time, cpu) = watch.most_examined;
    if examined > EXAMINED * watch.nr_cpus() {
        found.push(Broken::finding(
            "bounded-choice",
            format!("schedule() examines {examined} tasks on CPU {cpu} at {time}"),
        ));
    }
    found
}

fn name(hook: Hook) -> String {
    hook.name().into()
}
