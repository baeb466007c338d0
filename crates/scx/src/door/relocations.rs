//! What instructions of an object depend on in the kernel's types (.BTF.ext), for messages.

use std::collections::BTreeMap;

use super::elf;
use super::wire::number;
use crate::{Btf, TypeId};

/// BPF_CORE_FIELD_*, and the two about enumerators, of `enum bpf_core_relo_kind`.
const FIELDS: std::ops::RangeInclusive<u64> = 0..=5;
const ENUMERATORS: std::ops::RangeInclusive<u64> = 10..=11;

/// What is needed, as "task_struct.comm", by function and its instruction.
pub type Relocations = BTreeMap<(String, u32), String>;

/// What the BPF objects in these bytes need.
pub fn relocations(bytes: &[u8]) -> Relocations {
    let objects = elf::objects(bytes).into_iter();
    objects.filter_map(of_object).flatten().collect()
}

fn of_object(object: &[u8]) -> Option<Relocations> {
    let btf = Btf::parse(elf::section(object, ".BTF")?).ok()?;
    let ext = elf::section(object, ".BTF.ext")?;
    let part = |at: usize| {
        let start = number(ext, 4, 4).checked_add(number(ext, at, 4))? as usize;
        ext.get(start..start.checked_add(number(ext, at + 4, 4) as usize)?)
    };
    let functions = records(part(8)?);
    let mut found = Relocations::new();
    for (section, relocation) in records(part(24)?) {
        let at = number(relocation, 0, 4);
        let before = functions
            .iter()
            .filter(|(other, function)| *other == section && number(function, 0, 4) <= at);
        let function = before.max_by_key(|(_, function)| number(function, 0, 4));
        let (Some((_, function)), Some(needed)) = (function, needed(&btf, relocation)) else {
            continue;
        };
        let name = btf.name(TypeId(number(function, 4, 4) as u32)).to_string();
        let instruction = ((at - number(function, 0, 4)) / 8) as u32;
        // A kernel knows the first characters of a program's name only.
        let short = name.chars().take(15).collect();
        found.insert((short, instruction), needed.clone());
        found.insert((name, instruction), needed);
    }
    Some(found)
}

/// The records of a part of .BTF.ext, each with the number of its section's name.
fn records(part: &[u8]) -> Vec<(u64, &[u8])> {
    let size = number(part, 0, 4) as usize;
    let mut rest = part.get(4..).unwrap_or_default();
    let mut records = Vec::new();
    while let (true, Some((head, body))) = (size >= 8, rest.split_at_checked(8)) {
        let (section, count) = (number(head, 0, 4), number(head, 4, 4) as usize);
        let len = size.saturating_mul(count).min(body.len());
        records.extend(
            body[..len]
                .chunks_exact(size)
                .map(|record| (section, record)),
        );
        rest = &body[len..];
    }
    records
}

/// What one relocation needs; none if it is damaged.
fn needed(btf: &Btf, relocation: &[u8]) -> Option<String> {
    let (kind, root) = (
        number(relocation, 12, 4),
        TypeId(number(relocation, 4, 4) as u32),
    );
    let path = btf.string(number(relocation, 8, 4) as u32);
    let mut text = btf.name(root).to_string();
    let mut steps = path.split(':').map(|step| step.parse::<usize>().ok());
    if ENUMERATORS.contains(&kind) {
        let enumerators = btf.enumerators(root);
        return Some(enumerators.get(steps.next()??)?.0.to_string());
    }
    let mut id = btf.resolve(root);
    for step in steps.skip(1).filter(|_| FIELDS.contains(&kind)) {
        let members = btf.members(id);
        let Some(&(name, member, ..)) = members.get(step?) else {
            break; // An element of an array.
        };
        if !name.is_empty() {
            text = format!("{text}.{name}");
        }
        id = btf.resolve(member);
    }
    Some(text)
}
