//! `schedlab list`: lists policies, machines and workloads.

mod invariants;
mod machines;
mod policies;
mod scx;
mod text;
mod workloads;

use schedlab_input::Diagnostic;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{Catalogue, ListArguments, ListFormat};
use crate::failure::Failure;

use super::print;

/// Prints one catalogue, all catalogues, or one entry in detail.
pub fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let listing = match (arguments.what, &arguments.name) {
        (None, _) => everything()?,
        (Some(Catalogue::Policies), Some(name)) => policies::one(name)?,
        (Some(Catalogue::Workloads), Some(name)) => workloads::one(name)?,
        (Some(Catalogue::Machines), Some(name)) => machines::one(name)?,
        (Some(Catalogue::Scx), Some(name)) => scx::one(name)?,
        (Some(Catalogue::Invariants), Some(name)) => invariants::one(name)?,
        (Some(what), None) => all_of(what)?,
    };
    print(&match arguments.format {
        ListFormat::Table => listing.text,
        ListFormat::Json => format!("{:#}\n", listing.json),
    })
}

/// A listing as text and as JSON.
struct Listing {
    text: String,
    json: Value,
}

impl Listing {
    fn new(text: String, json: &impl Serialize) -> Result<Listing, Failure> {
        let json = serde_json::to_value(json).map_err(|e| Failure::Other(e.to_string()))?;
        Ok(Listing { text, json })
    }
}

fn all_of(what: Catalogue) -> Result<Listing, Failure> {
    match what {
        Catalogue::Policies => policies::all(),
        Catalogue::Machines => machines::all(),
        Catalogue::Workloads => workloads::all(),
        Catalogue::Scx => scx::all(),
        Catalogue::Invariants => invariants::all(),
    }
}

fn everything() -> Result<Listing, Failure> {
    let parts = [
        ("policies", "Policies (--policy)", policies::all()?),
        ("machines", "Machines (--machine)", machines::all()?),
        ("workloads", "Workloads (--workload)", workloads::all()?),
    ];
    let texts: Vec<String> = parts
        .iter()
        .map(|(_, title, part)| format!("{title}\n{}", text::indented(&part.text)))
        .collect();
    let json = parts
        .into_iter()
        .map(|(key, _, part)| (key.to_string(), part.json));
    Ok(Listing {
        text: texts.join("\n"),
        json: Value::Object(json.collect()),
    })
}

/// A name that is not in the catalogue.
fn unknown(what: &str, name: &str, names: &[&str]) -> Failure {
    Diagnostic::new(format!("there is no {what} \"{name}\""))
        .at("list", 0)
        .expected(format!("one of {}", names.join(", ")))
        .suggest(name, names.iter().copied())
        .into()
}
