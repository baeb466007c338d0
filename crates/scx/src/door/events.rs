//! Events of a kernel that programs can wait for, and that never happen in a simulation.
//!
//! A tracing program names its event by a type of the kernel.  The BTF that loaders see has such a type for each event
//! that their object names, after the types of the simulated kernel.

use std::path::Path;

use super::elf;
use crate::btf::Kind;
use crate::ext::Tracepoint;
use crate::Btf;

/// Sections of tracing programs: what they wait for follows; the first is about tracepoints, the others about functions.
const SECTIONS: &[&str] = &[
    "tp_btf/",
    "fentry/",
    "fexit/",
    "fmod_ret/",
    "fentry.s/",
    "fexit.s/",
];

/// What is in the names of events that do happen in a simulation, and that no program would hear of.
const HAPPENS: &[&str] = &[
    "sched",
    "wake_up",
    "wakeup",
    "enqueue",
    "dequeue",
    "pick_next",
];

const FUNC: u32 = 12;
const TYPEDEF: u32 = 8;

/// The types that a loader sees.
#[derive(Debug)]
pub struct Offered {
    /// As /sys/kernel/btf/vmlinux has them.
    pub bytes: Vec<u8>,
    /// Number of the first event's type.
    first: u32,
    events: Vec<String>,
}

impl Offered {
    /// The kernel's types, and those of the events that the objects in `file` name.
    pub fn new(btf: &Btf, file: &[u8]) -> Offered {
        let mut events = Vec::new();
        for section in elf::section_names(file) {
            let section = section.trim_start_matches('?');
            let event = SECTIONS.iter().find_map(|kind| section.strip_prefix(kind));
            let Some(event) = event else { continue };
            let name = match section.starts_with(SECTIONS[0]) {
                true => format!("btf_trace_{event}"),
                false => event.to_string(),
            };
            let kind = match section.starts_with(SECTIONS[0]) {
                true => Kind::Typedef,
                false => Kind::Func,
            };
            let happens = Tracepoint::named(event).is_none()
                && HAPPENS.iter().any(|part| event.contains(part));
            let known = btf.find(kind, &name).is_some() || events.contains(&(kind, name.clone()));
            if !happens && !known {
                events.push((kind, name));
            }
        }
        let first = btf.len();
        let prototype = btf.all(Kind::FuncProto).next().map_or(0, |id| id.0);
        Offered {
            bytes: extended(btf.bytes(), &events, prototype).unwrap_or(btf.bytes().to_vec()),
            first,
            events: events.into_iter().map(|(_, name)| name).collect(),
        }
    }

    /// The event with this type.
    pub fn event(&self, type_id: u32) -> Option<&str> {
        let index = type_id.checked_sub(self.first)?;
        self.events.get(index as usize).map(String::as_str)
    }
}

/// BTF with more types at its end; none if it is damaged.
fn extended(btf: &[u8], events: &[(Kind, String)], prototype: u32) -> Option<Vec<u8>> {
    let field = |at| Some(super::wire::number(btf.get(at..at + 4)?, 0, 4) as usize);
    let (header, types) = (field(4)?, (field(8)?, field(12)?));
    let strings = (field(16)?, field(20)?);
    let part = |(start, len): (usize, usize)| btf.get(header + start..header + start + len);
    let mut types = part(types)?.to_vec();
    let mut strings = part(strings)?.to_vec();
    for (kind, name) in events {
        let (number, target) = match kind {
            Kind::Func => (FUNC, prototype),
            _ => (TYPEDEF, 0),
        };
        let words = [strings.len() as u32, number << 24, target];
        types.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        strings.extend_from_slice(name.as_bytes());
        strings.push(0);
    }
    let mut bytes = btf.get(..header)?.to_vec();
    let lengths = [0, types.len(), types.len(), strings.len()];
    for (i, len) in lengths.into_iter().enumerate() {
        bytes[8 + 4 * i..12 + 4 * i].copy_from_slice(&(len as u32).to_le_bytes());
    }
    bytes.extend(types);
    bytes.extend(strings);
    Some(bytes)
}

/// The bytes of a file; none if it cannot be read: then nobody needs them.
pub fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap_or_default()
}
