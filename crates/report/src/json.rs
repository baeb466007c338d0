//! Results for machines.

use std::collections::BTreeMap;

use schedlab_measure::{Headline, Summary};
use schedlab_trace::{Ns, TraceHash};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::run::{Comparison, Run, Setup, World};

/// A run.  What it is comes first, then everything measured but the points of figures.
#[derive(Serialize)]
struct RunJson<'a> {
    policy: &'a str,
    variant: &'a str,
    tunables: &'a BTreeMap<String, String>,
    workload: &'a str,
    machine: &'a str,
    world: World,
    seed: Option<u64>,
    duration_ns: Ns,
    trace_hash: TraceHash,
    command: &'a str,
    end: &'a str,
    warnings: &'a [String],
    #[serde(flatten)]
    metrics: Map<String, Value>,
}

/// What runs that differ in their seeds alone have in common.
#[derive(Serialize)]
struct SetupJson<'a> {
    policy: &'a str,
    variant: &'a str,
    tunables: &'a BTreeMap<String, String>,
    workload: &'a str,
    machine: &'a str,
    seeds: Vec<u64>,
    trace_hashes: Vec<TraceHash>,
    metrics: Vec<HeadlineJson>,
}

#[derive(Serialize)]
struct HeadlineJson {
    #[serde(flatten)]
    headline: Headline,
    #[serde(flatten)]
    summary: Summary,
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    runs: Vec<RunJson<'a>>,
    summary: Vec<SetupJson<'a>>,
}

/// One run, as an object.
pub fn run(run: &Run) -> Result<String, serde_json::Error> {
    to_text(&run_json(run)?)
}

/// Several runs, as an object with the array `runs` and, for each set-up, medians and intervals in the array `summary`.
pub fn comparison(runs: &[Run]) -> Result<String, serde_json::Error> {
    let comparison = Comparison::new(runs);
    let headlines = Headline::all(comparison.metrics());
    to_text(&ComparisonJson {
        runs: runs.iter().map(run_json).collect::<Result<_, _>>()?,
        summary: comparison
            .setups
            .iter()
            .map(|s| setup_json(s, &headlines))
            .collect(),
    })
}

fn to_text(value: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(value).map(|text| text + "\n")
}

fn run_json(run: &Run) -> Result<RunJson<'_>, serde_json::Error> {
    let Value::Object(mut metrics) = serde_json::to_value(&run.metrics)? else {
        unreachable!("metrics are a struct");
    };
    // What the run says of itself goes before what the trace calls it.
    for key in ["policy", "workload", "machine", "duration_ns", "plots"] {
        metrics.remove(key);
    }
    Ok(RunJson {
        policy: &run.policy,
        variant: &run.variant,
        tunables: &run.tunables,
        workload: &run.workload,
        machine: &run.machine,
        world: run.world,
        seed: (run.world == World::Simulator).then_some(run.seed),
        duration_ns: run.duration_ns,
        trace_hash: run.trace_hash,
        command: &run.command,
        end: &run.end,
        warnings: &run.warnings,
        metrics,
    })
}

fn setup_json<'a>(setup: &Setup<'a>, headlines: &[Headline]) -> SetupJson<'a> {
    let run = setup.shown();
    let summarize = |headline: &Headline| {
        let summary = headline.summarize(setup.runs.iter().map(|r| &r.metrics))?;
        Some(HeadlineJson {
            headline: headline.clone(),
            summary,
        })
    };
    SetupJson {
        policy: &run.policy,
        variant: &run.variant,
        tunables: &run.tunables,
        workload: &run.workload,
        machine: &run.machine,
        seeds: setup.runs.iter().map(|r| r.seed).collect(),
        trace_hashes: setup.runs.iter().map(|r| r.trace_hash).collect(),
        metrics: headlines.iter().filter_map(summarize).collect(),
    }
}
