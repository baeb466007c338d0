//! Layouts from `lscpu -J`: the summary, or the table of `lscpu -J -e`.

use schedlab_input::quantity::{cpu_list, size};
use schedlab_input::Diagnostic;
use serde_json::Value;

use crate::layout::CacheSize;
use crate::{Layout, Place};

pub fn read(file: &str, text: &str) -> Result<Layout, Diagnostic> {
    let json: Value = serde_json::from_str(text).map_err(|error| {
        Diagnostic::new(format!("this is not JSON: {error}"))
            .at(file, error.line())
            .expected("the output of \"lscpu -J\"")
    })?;
    match (&json["lscpu"], &json["cpus"]) {
        (Value::Array(fields), _) => summary(file, fields),
        (_, Value::Array(rows)) => Ok(table(rows)),
        _ => Err(
            Diagnostic::new("there is neither \"lscpu\" nor \"cpus\" in this file")
                .at(file, 1)
                .expected("the output of \"lscpu -J\""),
        ),
    }
}

/// A number, or a string that contains one.
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64()?.try_into().ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// `lscpu -J -e`: a row for each CPU.
fn table(rows: &[Value]) -> Layout {
    let mut layout = Layout {
        speeds_from: "lscpu: highest frequency",
        ..Layout::default()
    };
    for row in rows {
        let Some(cpu) = number(&row["cpu"]) else {
            continue;
        };
        if matches!(&row["online"], Value::Bool(false)) || row["online"] == "no" {
            continue;
        }
        let mhz = match &row["maxmhz"] {
            Value::Number(mhz) => mhz.as_f64(),
            Value::String(mhz) => mhz.parse().ok(),
            _ => None,
        };
        let caches = row.as_object().into_iter().flatten();
        let caches = caches.filter(|(key, _)| key.starts_with("l1d"));
        let mut last = caches.filter_map(|(_, ids)| ids.as_str()?.rsplit(':').next()?.parse().ok());
        let package = number(&row["socket"]).unwrap_or(0);
        layout.cpus.push(Place {
            number: cpu,
            core: number(&row["core"]).unwrap_or(cpu),
            package,
            node: number(&row["node"]).unwrap_or(0),
            cache: last.next_back().unwrap_or(package),
            speed: mhz.map_or(1, |mhz| mhz as u32).max(1),
        });
    }
    layout
        .notes
        .push("lscpu's table has no sizes of caches; they are assumed.".into());
    layout
}

/// `lscpu -J`: fields and values, nested in some versions.
fn summary(file: &str, fields: &[Value]) -> Result<Layout, Diagnostic> {
    let mut all = Vec::new();
    flatten(fields, &mut all);
    let find = |name: &str| {
        let field = all
            .iter()
            .find(|(field, _)| field.trim_end_matches(':') == name);
        field.map(|(_, data)| data.as_str())
    };
    let need = |name: &str| {
        let count = find(name).and_then(|data| data.parse::<u32>().ok());
        count
            .filter(|&count| (1..=4096).contains(&count))
            .ok_or_else(|| {
                Diagnostic::new(format!("there is no field \"{name}\" with a number"))
                    .at(file, 1)
                    .expected("the output of \"lscpu -J\"")
            })
    };
    let (sockets, cores, threads) = (
        need("Socket(s)")?,
        need("Core(s) per socket")?,
        need("Thread(s) per core")?,
    );
    let nr_cores = u64::from(sockets) * u64::from(cores);
    let nr_cpus = nr_cores * u64::from(threads);
    if nr_cpus > u64::from(schedlab_machine::MAX_CPUS) {
        let most = schedlab_machine::MAX_CPUS;
        return Err(Diagnostic::new(format!("the machine has {nr_cpus} CPUs"))
            .at(file, 1)
            .expected(format!("at most {most}")));
    }
    let (nr_cores, nr_cpus) = (nr_cores as u32, nr_cpus as u32);
    let (bytes, instances) = ["L3", "L3 cache", "L2", "L2 cache"]
        .iter()
        .find_map(|name| cache(find(name)?))
        .unwrap_or((0, sockets));
    let instances = instances.clamp(1, nr_cores);
    let node_of = |cpu: u32| {
        let nodes = (0..64).find(|node| {
            let list = find(&format!("NUMA node{node} CPU(s)"));
            list.and_then(|list| cpu_list(list).ok())
                .is_some_and(|list| list.contains(&cpu))
        });
        nodes.unwrap_or(0)
    };
    let cpus = (0..nr_cpus).map(|cpu| Place {
        number: cpu,
        core: cpu % nr_cores,
        package: cpu % nr_cores / cores,
        node: node_of(cpu),
        cache: (u64::from(cpu % nr_cores) * u64::from(instances) / u64::from(nr_cores)) as u32,
        speed: 1024,
    });
    Ok(Layout {
        model: find("Model name").unwrap_or("").to_string(),
        cpus: cpus.collect(),
        caches: (0..instances)
            .map(|cache| {
                let bytes = bytes / u64::from(instances);
                (cache, CacheSize { bytes, line_bytes: 0 })
            })
            .collect(),
        distances: Vec::new(),
        idle_states_us: Vec::new(),
        speeds_from: "assumed: all CPUs are equally fast",
        notes: vec![
            "lscpu's summary has no SMT siblings: the numbering of most x86 machines is assumed, the first threads of all cores first."
                .into(),
        ],
    })
}

fn flatten(fields: &[Value], into: &mut Vec<(String, String)>) {
    for field in fields {
        if let (Some(name), Some(data)) = (field["field"].as_str(), field["data"].as_str()) {
            into.push((name.to_string(), data.to_string()));
        }
        if let Value::Array(children) = &field["children"] {
            flatten(children, into);
        }
    }
}

/// Total bytes and number of caches: "64 MiB (2 instances)".
fn cache(text: &str) -> Option<(u64, u32)> {
    let (bytes, instances) = match text.split_once('(') {
        Some((bytes, rest)) => (bytes, rest.split_whitespace().next()?.parse().ok()?),
        None => (text, 1),
    };
    let bytes = bytes.trim().replace(' ', "");
    Some((size(&bytes).ok()?, instances))
}
