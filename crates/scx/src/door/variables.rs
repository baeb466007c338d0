//! The constants of an object that can be set before it is loaded.

use super::elf;
use super::wire::number;
use crate::btf::Kind;
use crate::{Btf, TypeId};

/// The section of constants.
const CONSTANTS: &str = ".rodata";

/// What a kernel's own constants are called in objects: their values are the kernel's.
const KERNELS: &str = "__SCX_";

/// A number in an object's constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, unless it is set.
    pub value: i64,
    /// Bytes it has.
    pub size: u32,
}

/// The numbers among an object's constants.
pub fn variables(object: &[u8]) -> Vec<Variable> {
    let types = elf::section(object, ".BTF").and_then(|bytes| Btf::parse(bytes).ok());
    let (Some(btf), Some(values)) = (types, elf::section(object, CONSTANTS)) else {
        return Vec::new();
    };
    let found = btf.section(CONSTANTS).into_iter();
    let found = found.filter_map(|(id, offset, size)| variable(&btf, values, id, offset, size));
    found.collect()
}

fn variable(btf: &Btf, values: &[u8], id: TypeId, offset: u32, size: u32) -> Option<Variable> {
    let kind = btf.kind(btf.resolve(btf.target(id)?))?;
    let is_number = matches!(kind, Kind::Int | Kind::Enum | Kind::Enum64);
    let name = btf.name(id);
    if !is_number || size > 8 || name.starts_with(KERNELS) {
        return None;
    }
    Some(Variable {
        name: name.to_string(),
        value: number(values, offset as usize, size as usize) as i64,
        size,
    })
}

impl Variable {
    /// The least and the greatest value that fit, whether it has a sign or not.
    pub fn range(&self) -> (i64, i64) {
        match self.size {
            8 => (i64::MIN, i64::MAX),
            size => (-(1 << (8 * size - 1)), (1 << (8 * size)) - 1),
        }
    }
}
