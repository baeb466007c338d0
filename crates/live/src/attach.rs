//! Attaches the scheduler in a BPF object without the loader that its author wrote.

use std::path::Path;

use libbpf_rs::btf::types::{DataSec, Enum, Enum64, Var};
use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, MapMut, MapType, Object, ObjectBuilder, OpenObject};

/// Prefix of the kernel's constants in an object; the enumerator's name follows.
const KERNELS: &str = "__";

/// Opens an object, sets the constants in `set`, loads it, attaches its scheduler and waits until
/// this process is killed.
///
/// # Errors
/// The error that libbpf returned.
pub fn attach_object(path: &Path, set: &[(String, i64)]) -> Result<(), String> {
    libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, text| {
        eprint!("{text}");
    })));
    let mut open = ObjectBuilder::default()
        .open_file(path)
        .map_err(|error| error.to_string())?;
    fill(&mut open, set)?;
    let mut object = open.load().map_err(|error| error.to_string())?;
    let _links = attach(&mut object)?;
    loop {
        std::thread::park();
    }
}

fn attach(object: &mut Object) -> Result<Vec<libbpf_rs::Link>, String> {
    let mut links = Vec::new();
    for program in object.progs_mut() {
        // libbpf attaches the struct_ops programs with their map; other types need their own
        // loader.
        if program.prog_type() == libbpf_rs::ProgramType::Tracing {
            links.push(program.attach().map_err(|error| error.to_string())?);
        }
    }
    let is_table = |map: &MapMut| map_type(map) == MapType::StructOps;
    let mut tables: Vec<MapMut> = object.maps_mut().filter(is_table).collect();
    match &mut tables[..] {
        [table] => {
            links.push(
                table
                    .attach_struct_ops()
                    .map_err(|error| error.to_string())?,
            );
            Ok(links)
        }
        tables => Err(format!(
            "the object has {} schedulers; expected one",
            tables.len()
        )),
    }
}

fn map_type(map: &MapMut) -> MapType {
    use libbpf_rs::MapCore;
    map.map_type()
}

/// Sets constants: the kernel's enumerators, and those in `set`.
fn fill(object: &mut OpenObject, set: &[(String, i64)]) -> Result<(), String> {
    // SAFETY: the object lives as long as the types that are read from it here.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    let places = match Btf::from_bpf_object(raw) {
        Ok(Some(btf)) => constants(&btf),
        _ => return Err("the object has no BTF".into()),
    };
    let kernel = Btf::from_vmlinux().map_err(|error| error.to_string())?;
    for mut map in object.maps_mut() {
        if !map.name().to_string_lossy().ends_with(".rodata") {
            continue;
        }
        let Some(bytes) = map.initial_value_mut() else {
            continue;
        };
        for (name, offset, size) in &places {
            let wanted = set.iter().rev().find(|(set, _)| set == name);
            let wanted = wanted.map(|&(_, value)| value);
            let value = wanted.or_else(|| value_of(&kernel, name.strip_prefix(KERNELS)?));
            if let Some(value) = value {
                let value = value.to_le_bytes();
                bytes[*offset..offset + size].copy_from_slice(&value[..*size]);
            }
        }
    }
    Ok(())
}

/// Names, offsets and sizes of an object's constants of at most 8 bytes.
fn constants(btf: &Btf) -> Vec<(String, usize, usize)> {
    let Some(section) = btf.type_by_name::<DataSec>(".rodata") else {
        return Vec::new();
    };
    let entries = section.iter().filter_map(|entry| {
        let variable: Var = btf.type_by_id(entry.ty)?;
        let name = variable.name()?.to_string_lossy().into_owned();
        let is_number = (1..=8).contains(&entry.size);
        is_number.then_some((name, entry.offset as usize, entry.size))
    });
    entries.collect()
}

/// The value of an enumerator of the kernel.
fn value_of(kernel: &Btf, name: &str) -> Option<i64> {
    let small = kernel.type_by_kind::<Enum>().find_map(|members| {
        let mut members = members.iter();
        members
            .find(|m| m.name.is_some_and(|n| n == name))
            .map(|m| m.value)
    });
    small.or_else(|| {
        kernel.type_by_kind::<Enum64>().find_map(|members| {
            let mut members = members.iter();
            members
                .find(|m| m.name.is_some_and(|n| n == name))
                .map(|m| m.value as i64)
        })
    })
}
