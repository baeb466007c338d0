//! Policies, and one of them in detail.

use std::collections::BTreeMap;

use schedlab_lab::choose::{self, Assignments};
use schedlab_policy::{LockScope, Nice, Policy};
use schedlab_trace::Ns;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::interrupt::Interrupt;

use super::{text, Listing};

#[derive(Serialize)]
struct PolicyJson {
    name: &'static str,
    summary: &'static str,
    variants: Vec<VariantJson>,
    tunables: Vec<TunableJson>,
    /// What the user set, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    set: BTreeMap<String, String>,
    counters: Vec<&'static str>,
    promise: PromiseJson,
    run_queue_lock: &'static str,
    task_state_bytes: usize,
}

#[derive(Serialize)]
struct VariantJson {
    name: &'static str,
    doc: &'static str,
    set: &'static str,
    default: bool,
}

#[derive(Serialize)]
struct TunableJson {
    name: &'static str,
    /// A number, or an array for a table.
    default: Value,
    min: i64,
    max: i64,
    doc: &'static str,
}

#[derive(Serialize)]
struct PromiseJson {
    work_conserving: bool,
    nice: &'static str,
    starvation_bound_ns: Option<u64>,
}

/// Every policy, a line each.
pub fn all() -> Result<Listing, Failure> {
    let policies: Vec<PolicyJson> = Policy::all().iter().map(describe).collect();
    let row = |p: &PolicyJson| {
        let variants: Vec<&str> = p.variants.iter().map(|v| v.name).collect();
        [
            p.name.to_string(),
            variants.join(" "),
            p.summary.to_string(),
        ]
    };
    let rows: Vec<[String; 3]> = policies.iter().map(row).collect();
    Listing::new(text::columns(&rows), &policies)
}

/// One policy in detail, as it is written in --policy; if a variant is named, of the variants that one only.
pub fn one(text: &str) -> Result<Listing, Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&[], &[])?;
    let tuned = choose::policy("list", text, &set, &interrupt.stop())?;
    let mut policy = describe(&tuned.policy);
    if choose::Written::parse(text).variant.is_some() {
        policy.variants.retain(|v| v.name == tuned.variant);
    }
    for set in tuned.changed() {
        policy.set.insert(set.target(), set.values_text());
    }
    Listing::new(detail(&policy), &policy)
}

fn describe(policy: &Policy) -> PolicyJson {
    let promise = policy.promise();
    PolicyJson {
        name: policy.name(),
        summary: policy.summary(),
        variants: variants(policy),
        tunables: tunables(policy),
        set: BTreeMap::new(),
        counters: policy.counters(),
        promise: PromiseJson {
            work_conserving: promise.conserving,
            nice: match promise.nice {
                Nice::Ignored => "ignored",
                Nice::Ordered => "ordered",
                Nice::Weighted => "weighted",
            },
            starvation_bound_ns: promise.starvation_bound_ns,
        },
        run_queue_lock: match policy.lock_scope() {
            LockScope::Global => "global",
            LockScope::PerCpu => "per CPU",
        },
        task_state_bytes: policy.task_size(),
    }
}

fn variants(policy: &Policy) -> Vec<VariantJson> {
    let json = |(index, variant): (usize, schedlab_policy::Variant)| VariantJson {
        name: variant.name,
        doc: variant.doc,
        set: variant.set,
        default: index == 0,
    };
    policy
        .variants()
        .into_iter()
        .enumerate()
        .map(json)
        .collect()
}

fn tunables(policy: &Policy) -> Vec<TunableJson> {
    let json = |tunable: schedlab_policy::Tunable| TunableJson {
        name: tunable.name,
        default: match tunable.rows() {
            Some(_) => tunable.initial.into(),
            None => tunable.initial[0].into(),
        },
        min: tunable.min,
        max: tunable.max,
        doc: tunable.doc,
    };
    policy.tunables().into_iter().map(json).collect()
}

fn detail(policy: &PolicyJson) -> String {
    let mut out = format!("{}: {}\n", policy.name, policy.summary);
    let mut section = |title: &str, body: String| {
        if !body.is_empty() {
            out += &format!("\n{title}\n{}", text::indented(&body));
        }
    };
    section("Variants", variant_lines(policy));
    if let [variant] = policy.variants.as_slice() {
        section("Tunables the variant sets", settings(variant));
    }
    let set = policy.set.iter();
    section(
        "Set",
        set.map(|(name, value)| format!("{name}={value}\n"))
            .collect(),
    );
    section(
        &format!("Tunables ({}:NAME=VALUE, --set NAME=VALUE)", policy.name),
        tunable_lines(policy),
    );
    section(
        "Counters",
        policy.counters.iter().map(|c| format!("{c}\n")).collect(),
    );
    section("Promises", promise_lines(policy));
    out
}

fn variant_lines(policy: &PolicyJson) -> String {
    let name = |v: &VariantJson| match v.default {
        true => format!("{}:{} (default)", policy.name, v.name),
        false => format!("{}:{}", policy.name, v.name),
    };
    let rows: Vec<[String; 2]> = policy
        .variants
        .iter()
        .map(|v| [name(v), v.doc.to_string()])
        .collect();
    text::columns(&rows)
}

/// "a=1 b=2", a line each.
fn settings(variant: &VariantJson) -> String {
    let words = variant.set.split_whitespace();
    words.map(|setting| format!("{setting}\n")).collect()
}

fn tunable_lines(policy: &PolicyJson) -> String {
    let row = |t: &TunableJson| {
        let range = format!("{} to {}", t.min, t.max);
        [
            t.name.to_string(),
            default_text(&t.default),
            range,
            t.doc.to_string(),
        ]
    };
    let rows: Vec<[String; 4]> = policy.tunables.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let head = ["name", "default", "range", "meaning"].map(str::to_string);
            text::columns(&[vec![head], rows].concat())
        }
    }
}

/// The default as text; of a table only its length.
fn default_text(default: &Value) -> String {
    match default.as_array() {
        Some(rows) => format!("table of {}", rows.len()),
        None => default.to_string(),
    }
}

fn promise_lines(policy: &PolicyJson) -> String {
    let promise = &policy.promise;
    let conserving = match promise.work_conserving {
        true => "a CPU never idles while a task waits in its run queue",
        false => "not work-conserving",
    };
    let nice = match promise.nice {
        "ignored" => "nice is ignored",
        "ordered" => "a lower nice never gets less",
        _ => "a lower nice gets a larger share",
    };
    let starvation = match promise.starvation_bound_ns {
        Some(ns) => format!(
            "no task waits longer than {} (with at most 32 tasks per CPU)",
            Ns(ns)
        ),
        None => "no bound on how long a task waits".into(),
    };
    format!("{conserving}\n{nice}\n{starvation}\n")
}
