//! The table of invariants.

use schedlab_policy::{Fault, FaultKind, Hook};
use schedlab_sim::Rule;
use schedlab_trace::Ns;

/// A CPU may idle this long beside a task that waits and may run on it.
pub const IDLE_BESIDE_WAITING: Ns = Ns::from_ms(200);

/// A task may wait this long for a CPU.
pub const WAIT: Ns = Ns::from_secs(2);

/// A CPU may call schedule() this often while no task is runnable.
pub const IDLE_CALLS: u32 = 3;

/// A call of schedule() may examine so many tasks for each CPU of the machine.
pub const EXAMINED: u32 = 96;

/// The CPU time of a task may change this much when the tasks are named in the opposite order.
pub const NAMES: Ns = Ns::from_secs(1);

/// The id of what the hook check() of a policy says.
pub const OWN_BOOKS: &str = "own-books";

/// The id of a write behind a policy's state.
pub const OWN_MEMORY: &str = "own-memory";

/// The id of two traces of one run.
pub const TWO_TRACES: &str = "determinism";

/// A property of every run.
#[derive(Clone, Copy, Debug)]
pub struct Invariant {
    /// What it is called in results.
    pub id: &'static str,
    /// What holds.
    pub sentence: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// What is allowed unless the policy promises another value.
    pub bound: &'static str,
    /// Is a run that breaks it a failure?  Otherwise it is a finding: no policy has promised it.
    pub is_promised: bool,
}

const ENGINE: &str = "simulator, after every event";
const HOOKS: &str = "simulator, in every hook";
const TRACE: &str = "check, from the trace";
const POLICY: &str = "policy, after every event";
const RUNS: &str = "check, from two runs";

/// A row that no policy may break.
const fn must(
    id: &'static str,
    sentence: &'static str,
    source: &'static str,
    bound: &'static str,
) -> Invariant {
    Invariant {
        id,
        sentence,
        source,
        bound,
        is_promised: true,
    }
}

/// A row that is only shown.
const fn shown(
    id: &'static str,
    sentence: &'static str,
    source: &'static str,
    bound: &'static str,
) -> Invariant {
    Invariant {
        is_promised: false,
        ..must(id, sentence, source, bound)
    }
}

/// Every invariant.
pub const INVARIANTS: [Invariant; 28] = [
    must(
        "task-lost",
        "A runnable task runs or is in the policy's run queue.",
        ENGINE,
        "none",
    ),
    must(
        "task-on-two-cpus",
        "A task runs on one CPU at most, and a CPU runs one task at most.",
        ENGINE,
        "none",
    ),
    must(
        "placement",
        "A task runs and is queued only where its affinity allows.",
        ENGINE,
        "none",
    ),
    must(
        "picked-a-task-that-is-not-runnable",
        "A task is only picked while it is runnable.",
        ENGINE,
        "none",
    ),
    must(
        "work-conservation",
        "A CPU does not idle while a task waits on its run queue.",
        ENGINE,
        "if the policy promises it",
    ),
    must(
        "starvation-bound",
        "No normal task waits longer than the policy promises.",
        ENGINE,
        "the policy's promise",
    ),
    must(
        "promise-of-nice",
        "Of tasks that compete for 10 s the one of lower nice gets what the policy promises.",
        ENGINE,
        "the policy's promise",
    ),
    must(
        "weight-of-a-group",
        "Of groups that compete for 10 s the one of more weight gets more CPU time.",
        ENGINE,
        "if the policy has groups",
    ),
    must(
        "quota-of-a-group",
        "A group uses at most its quota of CPU time.",
        ENGINE,
        "late ticks",
    ),
    must("time-order", "Time never goes back.", ENGINE, "none"),
    must(
        "cpu-time",
        "Work, idle time and overhead of a CPU add up to the time elapsed.",
        ENGINE,
        "1 ns",
    ),
    must(
        "work-conservation-of-a-task",
        "Work done and work left of a task add up to what it asked for.",
        ENGINE,
        "1 ns",
    ),
    must(
        OWN_BOOKS,
        "What a policy keeps as a sum or an average is one: its hook check() finds no fault.",
        POLICY,
        "none",
    ),
    must(
        "hook-loops",
        "A hook ends.",
        HOOKS,
        "8 million rounds of its loops",
    ),
    must(
        "hook-reports",
        "A policy does not call policy_error().",
        HOOKS,
        "none",
    ),
    must("hook-crashes", "A hook does not crash.", HOOKS, "none"),
    must(
        "hook-chooses",
        "A hook names CPUs and tasks that exist and that affinity allows.",
        HOOKS,
        "none",
    ),
    must(
        "hook-exists",
        "A hook that is needed exists.",
        HOOKS,
        "none",
    ),
    must(
        "hook-locks",
        "A hook changes a run queue under its lock, takes no lock twice, and keeps none.",
        HOOKS,
        "none",
    ),
    must(
        OWN_MEMORY,
        "A hook writes nothing behind the state that the policy declares.",
        HOOKS,
        "none",
    ),
    must(
        "timer-storm",
        "A timer does not expire again and again at one time.",
        HOOKS,
        "the simulator's limit",
    ),
    must(
        TWO_TRACES,
        "The same run has the same trace in two instances of the policy.",
        RUNS,
        "none",
    ),
    shown(
        "names",
        "The order of the tasks' names does not change how much CPU time a task gets.",
        RUNS,
        "1 s",
    ),
    shown(
        "idle-stays-idle",
        "A CPU does not call schedule() again and again while no task is runnable.",
        TRACE,
        "3 calls",
    ),
    shown(
        "no-idle-beside-waiting",
        "A CPU does not idle beside a task that waits and may run on it.",
        TRACE,
        "200 ms",
    ),
    shown(
        "bounded-waiting",
        "A task does not wait for a CPU without end while all tasks are normal.",
        TRACE,
        "2 s",
    ),
    shown(
        "stays-with-waker",
        "A task woken by a message of the only task of a CPU, which then sleeps, is not queued on an idle CPU of another cache.",
        TRACE,
        "none",
    ),
    shown(
        "bounded-choice",
        "A call of schedule() does not examine the more tasks the more there are.",
        TRACE,
        "96 tasks for each CPU",
    ),
];

/// The invariant with this id.
pub fn invariant(id: &str) -> Option<&'static Invariant> {
    INVARIANTS.iter().find(|invariant| invariant.id == id)
}

/// The id of a rule of the simulator: its name with dashes.
pub fn of_rule(rule: Rule) -> String {
    rule.name().to_lowercase().replace(' ', "-")
}

/// The id of what a hook did wrong.
pub fn of_fault(fault: &Fault) -> &'static str {
    match fault.kind {
        FaultKind::Looped => "hook-loops",
        FaultKind::Reported { .. } if fault.hook == Hook::Check => OWN_BOOKS,
        FaultKind::Reported { .. } => "hook-reports",
        FaultKind::BadCpu { .. } | FaultKind::NoSuchCpu(_) | FaultKind::NotATask => "hook-chooses",
        FaultKind::Missing | FaultKind::InitFailed(_) => "hook-exists",
        FaultKind::TimerStorm => "timer-storm",
        FaultKind::Lock(..) => "hook-locks",
        FaultKind::WroteBeyond => OWN_MEMORY,
    }
}
