//! Layouts from XML of hwloc's `lstopo`.

use roxmltree::{Document, Node};
use schedlab_input::Diagnostic;

use crate::layout::CacheSize;
use crate::{Layout, Place};

/// Limits the recursion of the parser; real topologies are never nested so deeply.
const MOST_LEVELS: usize = 200;

pub fn read(file: &str, text: &str) -> Result<Layout, Diagnostic> {
    if levels(text) > MOST_LEVELS {
        return Err(Diagnostic::new(format!(
            "the XML is nested deeper than {MOST_LEVELS} levels"
        ))
        .at(file, 1)
        .expected("the output of \"lstopo --of xml\""));
    }
    // hwloc's files name a DTD; the parser skips it.
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        Diagnostic::new(format!("this is not XML: {error}"))
            .at(file, error.pos().row as usize)
            .expected("the output of \"lstopo --of xml\"")
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        let found = root.tag_name().name();
        return Err(Diagnostic::new(format!("the XML holds <{found}>"))
            .at(file, 1)
            .expected("<topology>, as \"lstopo --of xml\" writes it"));
    }
    let mut layout = Layout {
        speeds_from: "assumed: all CPUs are equally fast",
        model: model(root),
        ..Layout::default()
    };
    descend(root, Above::default(), &mut layout);
    speeds(root, &mut layout);
    layout.distances = distances(root);
    Ok(layout)
}

/// The nesting depth of an XML file's elements, or a lower bound.
fn levels(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for tag in text.split('<').skip(1) {
        let inner = tag.split('>').next().unwrap_or("");
        match tag.as_bytes().first() {
            Some(b'/') => depth = depth.saturating_sub(1),
            Some(b'?' | b'!') => {}
            _ if inner.ends_with('/') => {}
            _ => depth += 1,
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The objects that contain a CPU.
#[derive(Clone, Copy, Default)]
struct Above {
    package: u32,
    node: u32,
    cache: Option<u32>,
    core: u32,
}

fn attribute(node: Node, name: &str) -> Option<u64> {
    node.attribute(name)?.parse().ok()
}

fn descend(parent: Node, mut above: Above, layout: &mut Layout) {
    // A memory node is a child of its group of CPUs; in files of hwloc 1 it is their parent.
    let memory = parent
        .children()
        .find(|c| c.attribute("type") == Some("NUMANode"));
    if let Some(node) = memory.and_then(|node| attribute(node, "os_index")) {
        above.node = node as u32;
    }
    for child in parent.children().filter(Node::is_element) {
        let mut inner = above;
        // The offset in the file identifies the object.
        let place = child.range().start as u32;
        match child.attribute("type") {
            Some("Package" | "Socket") => inner.package = place,
            Some("NUMANode") => {
                inner.node = attribute(child, "os_index").unwrap_or(0) as u32;
            }
            Some("Core") => inner.core = place,
            Some("PU") => {
                let number = attribute(child, "os_index").unwrap_or(0) as u32;
                layout.cpus.push(Place {
                    number,
                    core: above.core,
                    package: above.package,
                    node: above.node,
                    cache: above.cache.unwrap_or(above.package),
                    speed: 1024,
                });
            }
            Some(kind) if is_data_cache(kind, child) && above.cache.is_none() => {
                inner.cache = Some(place);
                let size = CacheSize {
                    bytes: attribute(child, "cache_size").unwrap_or(0),
                    line_bytes: attribute(child, "cache_linesize").unwrap_or(0),
                };
                layout.caches.insert(place, size);
            }
            _ => {}
        }
        descend(child, inner, layout);
    }
}

/// True for data and unified caches; the outermost one is the last level.
fn is_data_cache(kind: &str, node: Node) -> bool {
    let unified = kind.starts_with('L') && kind.ends_with("Cache") && !kind.ends_with("iCache");
    unified || (kind == "Cache" && node.attribute("cache_type") != Some("2"))
}

fn model(root: Node) -> String {
    let info = root
        .descendants()
        .find(|n| n.attribute("name") == Some("CPUModel"));
    let value = info.and_then(|n| n.attribute("value"));
    value.unwrap_or_default().to_string()
}

/// Kinds of CPUs with their highest frequencies, in files of hwloc 2.4 and later.
fn speeds(root: Node, layout: &mut Layout) {
    for kind in root.descendants().filter(|n| n.has_tag_name("cpukind")) {
        let infos = kind.children().filter(|n| n.has_tag_name("info"));
        let mut mhz = infos.filter(|n| n.attribute("name") == Some("FrequencyMaxMHz"));
        let mhz: Option<u32> = mhz.next().and_then(|n| n.attribute("value")?.parse().ok());
        let (Some(mhz), Some(set)) = (mhz, kind.attribute("cpuset")) else {
            continue;
        };
        layout.speeds_from = "hwloc: highest frequency";
        for cpu in &mut layout.cpus {
            if in_set(set, cpu.number) {
                cpu.speed = mhz;
            }
        }
    }
}

/// hwloc's sets of CPUs: words of 32 bits in hexadecimal with commas between them, the highest first.
fn in_set(set: &str, cpu: u32) -> bool {
    let mut words = set.rsplit(',');
    let word = words.nth(cpu as usize / 32).unwrap_or("0");
    let word = u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
    word >> (cpu % 32) & 1 == 1
}

/// The matrix of latencies between memory nodes.
fn distances(root: Node) -> Vec<Vec<u32>> {
    let matrix = root
        .descendants()
        .find(|n| n.has_tag_name("distances2") && n.attribute("type") == Some("NUMANode"));
    let Some(matrix) = matrix else {
        return Vec::new();
    };
    let values = matrix.children().filter(|n| n.has_tag_name("u64values"));
    let values: Vec<u32> = values
        .filter_map(|n| n.text())
        .flat_map(str::split_whitespace)
        .filter_map(|value| value.parse().ok())
        .collect();
    match attribute(matrix, "nbobjs").map(|n| n as usize) {
        Some(n) if n > 0 && values.len() == n * n => {
            values.chunks(n).map(<[u32]>::to_vec).collect()
        }
        _ => Vec::new(),
    }
}
