//! Invariants, and one of them in detail.

use schedlab_check::{invariant, Invariant, INVARIANTS};
use serde::Serialize;

use crate::failure::Failure;

use super::{text, unknown, Listing};

#[derive(Serialize)]
struct InvariantJson {
    id: &'static str,
    sentence: &'static str,
    source: &'static str,
    bound: &'static str,
    failure: bool,
}

/// Every invariant, a line each.
pub fn all() -> Result<Listing, Failure> {
    let rows: Vec<[String; 4]> = INVARIANTS
        .iter()
        .map(|row| {
            let kind = match row.is_promised {
                true => "failure",
                false => "finding",
            };
            [row.id, kind, row.bound, row.sentence].map(str::to_string)
        })
        .collect();
    let json: Vec<InvariantJson> = INVARIANTS.iter().map(describe).collect();
    Listing::new(text::columns(&rows), &json)
}

/// One invariant.
pub fn one(id: &str) -> Result<Listing, Failure> {
    let Some(row) = invariant(id) else {
        let ids: Vec<&str> = INVARIANTS.iter().map(|row| row.id).collect();
        return Err(unknown("invariant", id, &ids));
    };
    let line = |what: &str, value: &str| [what.to_string(), value.to_string()];
    let rows = [
        line("source", row.source),
        line("allowed", row.bound),
        line(
            "a run that breaks it",
            match row.is_promised {
                true => "is a failure",
                false => "is a finding",
            },
        ),
    ];
    let out = format!(
        "{}: {}\n\n{}",
        row.id,
        row.sentence,
        text::indented(&text::columns(&rows))
    );
    Listing::new(out, &describe(row))
}

fn describe(row: &Invariant) -> InvariantJson {
    InvariantJson {
        id: row.id,
        sentence: row.sentence,
        source: row.source,
        bound: row.bound,
        failure: row.is_promised,
    }
}
