//! BPF objects, as far as their symbols: what one needs of a kernel, and why a file is none.

use std::collections::BTreeSet;

use memchr::memmem;

use super::wire::{number, text};
use crate::btf::Kind;
use crate::Btf;

/// Start of a 64-bit little-endian ELF file.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// EM_BPF.
const BPF: u64 = 247;

/// SHT_SYMTAB.
const SYMBOLS: u64 = 2;

/// STB_GLOBAL: a symbol that must be found.
const GLOBAL: u8 = 1;

/// Names that libbpf finds elsewhere: in the configuration of the kernel.
const CONFIGURED: &[&str] = &["CONFIG_", "LINUX_"];

/// Symbols that BPF objects in these bytes need, and that a kernel with these types has not.
pub fn missing(bytes: &[u8], btf: &Btf) -> BTreeSet<String> {
    let symbols = objects(bytes).into_iter().flat_map(undefined);
    symbols.filter(|name| !exists(name, btf)).collect()
}

/// Names of all sections of the BPF objects in these bytes.
pub fn section_names(bytes: &[u8]) -> Vec<String> {
    let sections = objects(bytes).into_iter().filter_map(sections);
    sections.flatten().map(|section| section.name).collect()
}

/// The BPF objects in these bytes: loaders carry theirs with them.
pub fn objects(bytes: &[u8]) -> Vec<&[u8]> {
    let mut objects = Vec::new();
    let mut from = 0;
    while let Some(at) = memmem::find(&bytes[from..], MAGIC) {
        let elf = &bytes[from + at..];
        if number(elf, 18, 2) == BPF {
            objects.push(elf);
        }
        from += at + MAGIC.len();
    }
    objects
}

/// Why a file is no BPF object that holds a scheduler; none if it may be one.
pub fn mistake(bytes: &[u8]) -> Option<String> {
    let elf = |says: &str| Some(says.to_string());
    if !bytes.starts_with(b"\x7fELF") {
        return elf("it is no ELF file; a scheduler's object is what \"clang -target bpf\" makes");
    }
    let (class, order) = (bytes.get(4), bytes.get(5));
    if order == Some(&2) {
        return elf("it is for big-endian machines; compile it with -target bpfel");
    }
    if class != Some(&2) || order != Some(&1) || bytes.len() < 64 {
        return elf("it is no 64-bit little-endian ELF file, or it is cut off");
    }
    if number(bytes, 18, 2) != BPF {
        return elf(
            "it is no BPF object; a scheduler's object is what \"clang -target bpf\" makes",
        );
    }
    let Some(sections) = sections(bytes) else {
        return elf("it is cut off: its sections are not all there");
    };
    let ends = sections.iter().filter(|section| section.kind != 8);
    if ends
        .into_iter()
        .any(|s| s.start.saturating_add(s.len) > bytes.len())
    {
        return elf("it is cut off: its sections are not all there");
    }
    let named = |name: &str| sections.iter().any(|section| section.name == name);
    if !named(".BTF") {
        return elf("it has no BTF; compile it with -g, and do not strip it");
    }
    if !sections.iter().any(|s| s.name.starts_with(".struct_ops")) {
        return elf("it has no struct_ops, so it is no scheduler");
    }
    None
}

/// The bytes of an object's section.
pub fn section<'a>(elf: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let sections = sections(elf)?;
    let section = sections.iter().find(|section| section.name == name)?;
    elf.get(section.start..section.start.checked_add(section.len)?)
}

struct Section {
    name: String,
    kind: u64,
    start: usize,
    len: usize,
    link: usize,
}

/// The sections of an ELF file; none if their table is not there.
fn sections(elf: &[u8]) -> Option<Vec<Section>> {
    let (table, size) = (number(elf, 0x28, 8) as usize, number(elf, 0x3a, 2) as usize);
    let (count, names) = (number(elf, 0x3c, 2) as usize, number(elf, 0x3e, 2) as usize);
    let header = |index: usize| {
        let start = table.checked_add(index.checked_mul(size)?)?;
        elf.get(start..start.checked_add(64)?)
    };
    let names = header(names)?;
    let names = elf.get(number(names, 0x18, 8) as usize..)?;
    let section = |index| {
        let header = header(index)?;
        let name = names.get(number(header, 0, 4) as usize..)?;
        Some(Section {
            name: text(&name[..name.len().min(256)]),
            kind: number(header, 4, 4),
            start: number(header, 0x18, 8) as usize,
            len: number(header, 0x20, 8) as usize,
            link: number(header, 0x28, 4) as usize,
        })
    };
    (0..count).map(section).collect()
}

/// Names of the symbols that an object must find elsewhere.
fn undefined(elf: &[u8]) -> impl Iterator<Item = String> {
    let sections = sections(elf).unwrap_or_default();
    let bytes = |section: &Section| {
        let end = section.start.checked_add(section.len)?;
        elf.get(section.start..end)
    };
    let table = sections.iter().find(|section| section.kind == SYMBOLS);
    let names = table.and_then(|table| bytes(sections.get(table.link)?));
    let symbols = table.and_then(bytes).unwrap_or_default();
    let names = names.unwrap_or_default();
    let undefined = symbols.chunks_exact(24).filter_map(|symbol| {
        let is_needed = symbol[4] >> 4 == GLOBAL && number(symbol, 6, 2) == 0;
        let name = names.get(number(symbol, 0, 4) as usize..)?;
        is_needed.then(|| text(&name[..name.len().min(256)]))
    });
    let undefined: Vec<String> = undefined.filter(|name| !name.is_empty()).collect();
    undefined.into_iter()
}

fn exists(name: &str, btf: &Btf) -> bool {
    let essential = name.split("___").next().unwrap_or(name);
    let found = |kind| btf.find(kind, essential).is_some();
    CONFIGURED.iter().any(|prefix| name.starts_with(prefix))
        || found(Kind::Func)
        || found(Kind::Var)
}
