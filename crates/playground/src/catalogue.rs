//! What there is to choose from.

use schedlab_policy::Policy;
use schedlab_workload::builtin;
use serde_json::{json, Value};

/// Machines without costs that the page offers; a link may name any other.
const IDEAL: [&str; 4] = ["ideal-1", "ideal-2", "ideal-4", "ideal-8"];

/// The machines, workloads and policies, each with what the page shows of it.
pub(crate) fn catalogue(linked: &[Policy]) -> Value {
    json!({
        "policies": linked.iter().map(policy).collect::<Vec<_>>(),
        "machines": IDEAL.into_iter().chain(schedlab_machine::names()).map(machine).collect::<Vec<_>>(),
        "workloads": builtin::list().iter().map(workload).collect::<Vec<_>>(),
    })
}

fn policy(policy: &Policy) -> Value {
    let variants = policy.variants();
    let variants = variants
        .iter()
        .map(|variant| json!({ "name": variant.name, "doc": variant.doc }));
    let tunables = policy.tunables();
    let tunables = tunables.iter().map(|tunable| {
        json!({
            "name": tunable.name,
            "initial": tunable.initial,
            "min": tunable.min,
            "max": tunable.max,
            "doc": tunable.doc,
        })
    });
    json!({
        "name": policy.name(),
        "summary": policy.summary(),
        "knows_future": policy.knows_future(),
        "variants": variants.collect::<Vec<_>>(),
        "tunables": tunables.collect::<Vec<_>>(),
    })
}

fn machine(name: &str) -> Value {
    let machine = schedlab_machine::find(name);
    let title = machine.as_ref().map_or("", |machine| &machine.title);
    json!({
        "name": name,
        "title": title,
        "cpus": machine.as_ref().map_or(0, |machine| machine.cpus.len()),
        "text": schedlab_machine::text(name),
    })
}

fn workload(workload: &builtin::Builtin) -> Value {
    json!({
        "name": workload.name,
        "summary": workload.summary(),
        "help": workload.help(),
        "text": workload.text(),
    })
}
