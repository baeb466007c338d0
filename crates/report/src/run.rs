//! A run as it is reported, and runs that are compared.

use std::collections::BTreeMap;

use schedlab_measure::Metrics;
use schedlab_trace::{Ns, TraceHash};
use serde::Serialize;

/// Where a run took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// In the simulator.
    #[default]
    Simulator,
    /// In a real kernel.
    Kernel,
    /// In a simulator; this is its trace, read again.
    #[serde(rename = "simulated-trace")]
    SimulatedTrace,
}

/// What was run, by hashes: equal hashes, equal inputs.  None where it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Identity {
    /// The policy's source with all it includes, its variant and the tunables that were set.
    #[serde(rename = "policy_hash")]
    pub policy: Option<TraceHash>,
    /// The workload as read, independent of its file.
    #[serde(rename = "workload_hash")]
    pub workload: Option<TraceHash>,
    /// The machine as read.
    #[serde(rename = "machine_hash")]
    pub machine: Option<TraceHash>,
}

/// One run: its inputs, its results, and the command that repeats it.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Where it took place.
    pub world: World,
    /// The policy's name.
    pub policy: String,
    /// Its variant ("2.6.11"); empty if the policy has none.
    pub variant: String,
    /// Tunables the user set, by name.  Those left at their defaults are not named.
    pub tunables: BTreeMap<String, String>,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The seed of all that is random; it has no meaning in a real kernel.
    pub seed: u64,
    /// How long it ran, in its own time.
    pub duration_ns: Ns,
    /// The trace's name: equal hashes, equal traces.
    pub trace_hash: TraceHash,
    /// What was run, by hashes.
    pub identity: Identity,
    /// The exact command that repeats it.
    pub command: String,
    /// What was measured.
    pub metrics: Metrics,
    /// Why it ended, as a short clause ("all tasks ended", "time limit").
    pub end: String,
    /// What the user should know before trusting it.
    pub warnings: Vec<String>,
}

/// Runs that differ only in their seeds.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// A short text that differs from the other set-ups of the comparison: "o1 2.6.11 granularity=5".
    pub label: String,
    /// The same in parts, one for each of [`Comparison::stubs`].
    pub labels: Vec<String>,
    /// The runs, in the order given; at least one.
    pub runs: Vec<&'a Run>,
}

/// Runs put side by side.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// What the parts of [`Setup::labels`] are.
    pub stubs: Vec<String>,
    /// The set-ups, in order of first appearance.
    pub setups: Vec<Setup<'a>>,
}

impl Run {
    /// Tunables as they were given: "granularity=5 max_sleep=1000"; only the beginning of a long table.
    pub fn tunables_text(&self) -> String {
        const MOST_SHOWN: usize = 20;
        let shown = |value: &str| match value.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => format!("{}…", &value[..end]),
            None => value.to_string(),
        };
        let set = self.tunables.iter();
        set.map(|(k, v)| format!("{k}={}", shown(v)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn same_setup(&self, other: &Run) -> bool {
        let key = |r: &Run| (r.policy.clone(), r.variant.clone(), r.tunables.clone());
        key(self) == key(other) && self.workload == other.workload && self.machine == other.machine
    }
}

impl<'a> Comparison<'a> {
    /// A comparison for each workload on each machine, in order of first appearance.  Recordings are compared with what
    /// replays them, whatever the machine is called: then there is one.
    pub fn cases(runs: &'a [Run]) -> Vec<Comparison<'a>> {
        if runs.iter().any(|run| run.world != World::Simulator) {
            return vec![Comparison::new(runs)];
        }
        let case = |run: &Run| (run.workload.clone(), run.machine.clone());
        let mut cases: Vec<Vec<&Run>> = Vec::new();
        for run in runs {
            match cases.iter_mut().find(|runs| case(runs[0]) == case(run)) {
                Some(runs) => runs.push(run),
                None => cases.push(vec![run]),
            }
        }
        cases.into_iter().map(Comparison::of).collect()
    }

    /// Puts runs side by side.  Workload and machine are named where there is more than one.
    pub fn new(runs: &'a [Run]) -> Comparison<'a> {
        Comparison::of(runs.iter().collect())
    }

    fn of(runs: Vec<&'a Run>) -> Comparison<'a> {
        let mut setups: Vec<Vec<&Run>> = Vec::new();
        for &run in &runs {
            match setups.iter_mut().find(|s| s[0].same_setup(run)) {
                Some(setup) => setup.push(run),
                None => setups.push(vec![run]),
            }
        }
        let workloads = differ(&runs, |r| &r.workload);
        let machines = differ(&runs, |r| &r.machine);
        Comparison {
            stubs: ["policy", "variant", "set", "workload", "machine"]
                .map(str::to_string)
                .to_vec(),
            setups: setups
                .into_iter()
                .map(|runs| Setup::new(runs, workloads, machines))
                .collect(),
        }
    }

    /// The workload and the machine: "hackbench on desktop".
    pub fn case(&self) -> String {
        let run = self.setups[0].shown();
        format!("{} on {}", run.workload, run.machine)
    }

    /// Runs, all of them.
    pub fn runs(&self) -> impl Iterator<Item = &'a Run> + '_ {
        self.setups.iter().flat_map(|s| s.runs.iter().copied())
    }

    /// Metrics of all runs.
    pub fn metrics(&self) -> impl Iterator<Item = &'a Metrics> + '_ {
        self.runs().map(|r| &r.metrics)
    }

    /// Has any set-up several seeds with different results?
    pub fn has_intervals(&self) -> bool {
        self.setups.iter().any(|s| s.results().len() > 1)
    }
}

impl<'a> Setup<'a> {
    fn new(runs: Vec<&'a Run>, workloads: bool, machines: bool) -> Setup<'a> {
        let run = runs[0];
        let named = |name: &str, yes: bool| if yes { name.to_string() } else { String::new() };
        let labels = vec![
            run.policy.clone(),
            run.variant.clone(),
            run.tunables_text(),
            named(&run.workload, workloads),
            named(&run.machine, machines),
        ];
        let parts: Vec<&str> = labels.iter().map(String::as_str).collect();
        Setup {
            label: parts
                .join(" ")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            labels,
            runs,
        }
    }

    /// Are there several seeds, all with the same trace?  Then nothing in the run is random.
    pub fn is_equal_for_all_seeds(&self) -> bool {
        let first = self.runs[0].trace_hash;
        self.runs.len() > 1 && self.runs.iter().all(|run| run.trace_hash == first)
    }

    /// The runs used for statistics: one if all seeds have the same trace.
    pub fn results(&self) -> &[&'a Run] {
        match self.is_equal_for_all_seeds() {
            true => &self.runs[..1],
            false => &self.runs,
        }
    }

    /// The run that represents the set-up in distributions and timelines: the first.
    pub fn shown(&self) -> &'a Run {
        self.runs[0]
    }
}

fn differ(runs: &[&Run], part: fn(&Run) -> &String) -> bool {
    runs.iter().any(|r| part(r) != part(runs[0]))
}
