//! Results as JSON.

use std::collections::BTreeMap;

use schedlab_measure::{Headline, Metrics, Summary};
use schedlab_trace::{printable_json, Ns, TraceHash};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::run::{Comparison, Identity, Run, Setup, World};

/// A run: first its identity, then all measurements except the points of figures.
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
    #[serde(flatten)]
    identity: Identity,
    command: &'a str,
    end: &'a str,
    warnings: &'a [String],
    /// What comparisons and studies show.
    headlines: Vec<HeadlineValue>,
    #[serde(flatten)]
    metrics: Map<String, Value>,
}

#[derive(Serialize)]
struct HeadlineValue {
    #[serde(flatten)]
    headline: Headline,
    value: f64,
}

/// The summary of runs that differ only in their seeds.
#[derive(Serialize)]
struct SetupJson<'a> {
    policy: &'a str,
    variant: &'a str,
    tunables: &'a BTreeMap<String, String>,
    workload: &'a str,
    machine: &'a str,
    seeds: Vec<u64>,
    /// Are the traces of all seeds equal?  Then the metrics are of one run.
    equal_for_all_seeds: bool,
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

/// A document, and the program that wrote it.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schedlab: &'a str,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    runs: Vec<RunJson<'a>>,
    summary: Vec<SetupJson<'a>>,
}

/// One run, as an object; `version` is the program's.
pub fn run(run: &Run, version: &str) -> Result<String, serde_json::Error> {
    to_text(run_json(run)?, version)
}

/// Several runs, as an object with the array `runs` and, for each set-up, medians and intervals in the array `summary`.
pub fn comparison(runs: &[Run], version: &str) -> Result<String, serde_json::Error> {
    let comparison = Comparison::new(runs);
    let headlines = Headline::all(comparison.metrics());
    let document = ComparisonJson {
        runs: runs.iter().map(run_json).collect::<Result<_, _>>()?,
        summary: comparison
            .setups
            .iter()
            .map(|s| setup_json(s, &headlines))
            .collect(),
    };
    to_text(document, version)
}

fn to_text(content: impl Serialize, schedlab: &str) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(&Versioned { schedlab, content })?;
    Ok(printable_json(&text).into_owned() + "\n")
}

fn run_json(run: &Run) -> Result<RunJson<'_>, serde_json::Error> {
    let Value::Object(mut metrics) = serde_json::to_value(&run.metrics)? else {
        unreachable!("metrics are a struct");
    };
    // The run's own fields take precedence over those of the trace.
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
        identity: run.identity,
        command: &run.command,
        end: &run.end,
        warnings: &run.warnings,
        headlines: headlines(&run.metrics),
        metrics,
    })
}

fn headlines(metrics: &Metrics) -> Vec<HeadlineValue> {
    let all = Headline::with_groups(metrics).into_iter();
    let value = |headline: Headline| {
        let value = headline.value(metrics)?;
        Some(HeadlineValue { headline, value })
    };
    all.filter_map(value).collect()
}

fn setup_json<'a>(setup: &Setup<'a>, headlines: &[Headline]) -> SetupJson<'a> {
    let run = setup.shown();
    let summarize = |headline: &Headline| {
        let summary = headline.summarize(setup.results().iter().map(|r| &r.metrics))?;
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
        equal_for_all_seeds: setup.is_equal_for_all_seeds(),
        trace_hashes: setup.runs.iter().map(|r| r.trace_hash).collect(),
        metrics: headlines.iter().filter_map(summarize).collect(),
    }
}
