//! The counters of a scheduler's program, from the lines it printed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Counters of the policy's host; the policy's own counters are under `COUNTERS`.
const HOST: [&str; 6] = [
    "schedule_calls",
    "examined",
    "recalculations",
    "recalculated",
    "locks",
    "failed_locks",
];

/// The policy's own counters in each line.
const COUNTERS: &str = "counters";

/// The sums over all lines of JSON, by name; none of programs that print something else.
pub fn totals(output: &str) -> Vec<(String, u64)> {
    let mut totals = BTreeMap::new();
    let lines = output.lines().filter(|line| line.starts_with('{'));
    for line in lines.filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok()) {
        let own = line
            .get(COUNTERS)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let host = line
            .iter()
            .filter(|(name, _)| HOST.contains(&name.as_str()));
        for (name, count) in own.chain(host) {
            *totals.entry(name.clone()).or_default() += count.as_u64().unwrap_or(0);
        }
    }
    totals.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_up() {
        let output = "schedlab: attached\n\
            {\"policy\":\"o1\",\"seconds\":1.0,\"examined\":5,\"counters\":{\"swaps\":2}}\n\
            {\"policy\":\"o1\",\"seconds\":1.5,\"examined\":7,\"counters\":{\"swaps\":1}}\n\
            {broken\n";
        assert_eq!(
            totals(output),
            [("examined".into(), 12), ("swaps".into(), 3)]
        );
        assert_eq!(totals("something else"), []);
    }
}
