//! docs/metrics.md defines every number.

use schedlab_measure::{Headline, Metrics};
use serde_json::Value;

const REFERENCE: &str = include_str!("../../../../docs/metrics.md");

fn is_named(name: &str) -> bool {
    REFERENCE.contains(&format!("`{name}`"))
}

#[test]
fn every_headline_is_in_the_reference_with_its_label() {
    let headlines = Headline::all([]);
    assert!(!headlines.is_empty());
    for headline in headlines {
        let row = format!("| {} | `{}` |", headline.label, headline.id);
        assert!(REFERENCE.contains(&row), "docs/metrics.md has no row {row}");
    }
}

/// What is empty or optional in a run without events has its own tests; these are the parts of every run.
#[test]
fn every_key_of_a_run_is_in_the_reference() {
    let run = serde_json::to_value(Metrics::default()).unwrap();
    let keys =
        |part: &Value| -> Vec<String> { part.as_object().unwrap().keys().cloned().collect() };
    let parts = ["total", "fairness", "idle_while_runnable"].map(|part| keys(&run[part]));
    let optional = ["control_groups", "groups_without_effect", "knows_future"].map(String::from);
    let all = keys(&run).into_iter().chain(parts.into_iter().flatten());
    let missing: Vec<String> = all.chain(optional).filter(|key| !is_named(key)).collect();
    assert!(
        missing.is_empty(),
        "docs/metrics.md does not define {missing:?}"
    );
}
