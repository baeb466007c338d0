//! The README's figures equal the program's output.

use serde_json::Value;

use crate::common::{json, root};

const POLICIES: &str = "linux24:2.3.99,elsc,o1";

/// A table of the README by its heading: each policy with its figures, from 5 to 20 rooms.
fn table(heading: &str) -> Vec<(String, Vec<String>)> {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let start = readme.find(&format!("\n{heading} ")).expect("it is there");
    let lines = readme[start + 1..].lines().skip(1);
    let rows = lines.take_while(|line| line.starts_with("  "));
    rows.map(|line| {
        let (policy, figures) = line[2..].split_at(30);
        let figures = figures.split_whitespace().take(4).map(str::to_string);
        (policy.trim().to_string(), figures.collect())
    })
    .collect()
}

/// "15023.4" as "15,023".
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (head, tail) = digits.split_at(digits.len().saturating_sub(3));
    match head {
        "" => tail.to_string(),
        head => format!("{head},{tail}"),
    }
}

/// Compares a column of both tables with a run of the demonstration.
fn compare(column: usize) {
    let rooms = 5 * (column + 1);
    let workload = format!("volanomark --rooms {rooms}");
    let result = json(&[
        "compare",
        "--policies",
        POLICIES,
        "--workload",
        &workload,
        "--machine",
        "netfinity-7000-4p",
    ]);
    let (messages, examined) = (table("messages/s"), table("tasks examined per schedule()"));
    let runs = result["runs"].as_array().unwrap();
    assert_eq!((messages.len(), examined.len()), (runs.len(), runs.len()));
    for (i, run) in runs.iter().enumerate() {
        let text = |key: &str| run[key].as_str().unwrap().to_string();
        let name = format!("{} {}", text("policy"), text("variant"));
        let number = |value: &Value| value.as_f64().unwrap();
        let printed = [
            thousands(number(&run["marks"][0]["per_second"])),
            format!("{:.1}", number(&run["scheduler"]["examined_mean"])),
        ];
        let written =
            [&messages[i], &examined[i]].map(|row| (row.0.clone(), row.1[column].clone()));
        let printed = printed.map(|figure| (name.trim().to_string(), figure));
        assert_eq!(written, printed, "README.md, {rooms} rooms: make demo");
    }
}

#[test]
fn the_first_column_is_what_the_program_prints() {
    compare(0);
}

#[test]
#[ignore = "minutes without optimisation"]
fn all_columns_are_what_the_program_prints() {
    (1..4).for_each(compare);
}
