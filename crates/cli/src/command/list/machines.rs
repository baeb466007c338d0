//! Machines, and one of them in detail.

use schedlab_machine::{find, names, Machine};
use serde::Serialize;

use crate::failure::Failure;

use super::{text, Listing};

#[derive(Serialize)]
struct MachineJson {
    name: String,
    title: String,
    cpus: usize,
    cores: usize,
    nodes: usize,
    caches: usize,
    hz: u32,
}

/// Every machine, a line each.
pub fn all() -> Result<Listing, Failure> {
    let machines: Vec<MachineJson> = names()
        .into_iter()
        .map(|name| find(name).map(|machine| describe(&machine)))
        .collect::<Result<_, _>>()?;
    let row = |m: &MachineJson| [m.name.clone(), cpus(m.cpus), m.title.clone()];
    let mut rows: Vec<[String; 3]> = machines.iter().map(row).collect();
    rows.push(
        [
            "ideal-N",
            "N CPUs",
            "Without costs: what remains is the policy",
        ]
        .map(str::to_string),
    );
    Listing::new(text::columns(&rows), &machines)
}

/// One machine.
pub fn one(name: &str) -> Result<Listing, Failure> {
    let machine = find(name).map_err(|mistake| Failure::flag("list", mistake))?;
    let machine = describe(&machine);
    let row = |what: &str, value: String| [what.to_string(), value];
    let rows = [
        row("CPUs", machine.cpus.to_string()),
        row("cores", machine.cores.to_string()),
        row("memory nodes", machine.nodes.to_string()),
        row("last-level caches", machine.caches.to_string()),
        row("ticks per second", machine.hz.to_string()),
    ];
    let out = format!(
        "{}: {}\n\n{}",
        machine.name,
        machine.title,
        text::indented(&text::columns(&rows))
    );
    Listing::new(out, &machine)
}

fn cpus(number: usize) -> String {
    match number {
        1 => "1 CPU".into(),
        n => format!("{n} CPUs"),
    }
}

fn describe(machine: &Machine) -> MachineJson {
    let distinct = |part: fn(&schedlab_machine::Cpu) -> u32| {
        let mut parts: Vec<u32> = machine.cpus.iter().map(part).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.len()
    };
    MachineJson {
        name: machine.name.clone(),
        title: machine.title.clone(),
        cpus: machine.cpus.len(),
        cores: distinct(|cpu| cpu.core),
        nodes: distinct(|cpu| cpu.node),
        caches: distinct(|cpu| cpu.cache),
        hz: machine.hz,
    }
}
