//! Types as BTF has them.

use std::collections::HashMap;

/// A type of a [`Btf`]; 0 is void.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u32);

/// Why some bytes are no BTF.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("damaged BTF: {0}")]
pub struct BtfError(pub String);

/// What a type is; numbers of BTF_KIND_*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Void = 0,
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Fwd,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Func,
    FuncProto,
    Var,
    DataSec,
    Float,
    DeclTag,
    TypeTag,
    Enum64,
}

/// Where a field is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Bytes from the start of the outermost structure.
    pub offset: u32,
    /// Bytes of its type.
    pub size: u32,
    /// First bit within `offset`, and how many, of a bit field.
    pub bits: Option<(u32, u32)>,
    /// Its type, without typedefs and qualifiers.
    pub type_id: TypeId,
}

/// One type as the section has it.
#[derive(Clone, Copy, Debug)]
struct Record {
    name: u32,
    kind: Kind,
    /// The kind flag.
    flag: bool,
    /// Number of members, parameters or enumerators.
    count: u32,
    /// Size in bytes, or the type it refers to.
    size_or_type: u32,
    /// Where in the bytes its own data begin.
    data: usize,
}

/// Types of an object or of a kernel.
#[derive(Clone, Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    strings: (usize, usize),
    types: Vec<Record>,
    by_name: HashMap<(Kind, String), TypeId>,
}

const MAGIC: u64 = 0xeb9f;

/// How often typedefs, qualifiers and structures may be nested; damaged BTF has loops.
const MOST_NESTED: u32 = 64;

impl Btf {
    /// Reads the bytes of a .BTF section or of /sys/kernel/btf/vmlinux.
    ///
    /// # Errors
    /// They are damaged.
    pub fn parse(bytes: &[u8]) -> Result<Btf, BtfError> {
        let damaged = |what: &str| BtfError(what.to_string());
        if number(bytes, 0, 2) != Some(MAGIC) {
            return Err(damaged("it does not begin with the magic number"));
        }
        let header = |at: usize| {
            let value = number(bytes, at, 4).ok_or_else(|| damaged("the header is cut off"))?;
            Ok(value as usize)
        };
        let start = header(4)?;
        let section = |from: usize| -> Result<(usize, usize), BtfError> {
            let (first, last) = (
                start + header(from)?,
                start + header(from)? + header(from + 4)?,
            );
            match last <= bytes.len() {
                true => Ok((first, last)),
                false => Err(damaged("a section is cut off")),
            }
        };
        let (types, strings) = (section(8)?, section(16)?);
        let mut btf = Btf {
            bytes: bytes.to_vec(),
            strings,
            types: vec![Record {
                name: 0,
                kind: Kind::Void,
                flag: false,
                count: 0,
                size_or_type: 0,
                data: 0,
            }],
            by_name: HashMap::new(),
        };
        btf.read_types(types)?;
        Ok(btf)
    }

    fn read_types(&mut self, (mut at, end): (usize, usize)) -> Result<(), BtfError> {
        while at < end {
            let id = TypeId(self.types.len() as u32);
            let record = self
                .read_type(at)
                .ok_or_else(|| BtfError(format!("type {} is of an unknown kind", id.0)))?;
            at = record.data + own_size(&record);
            if at > end {
                return Err(BtfError(format!("type {} is cut off", id.0)));
            }
            self.types.push(record);
            let name = self.string(record.name).to_string();
            if !name.is_empty() {
                self.by_name.entry((record.kind, name)).or_insert(id);
            }
        }
        Ok(())
    }

    fn read_type(&self, at: usize) -> Option<Record> {
        let word = |i: usize| number(&self.bytes, at + 4 * i, 4).map(|n| n as u32);
        let info = word(1)?;
        Some(Record {
            name: word(0)?,
            kind: *KINDS.get((info >> 24 & 0x1f) as usize)?,
            flag: info >> 31 != 0,
            count: info & 0xffff,
            size_or_type: word(2)?,
            data: at + 12,
        })
    }

    /// What it was read from.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of types, void included.
    pub fn len(&self) -> u32 {
        self.types.len() as u32
    }

    /// Is there nothing but void?
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// The first type of this kind and name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<TypeId> {
        self.by_name.get(&(kind, name.to_string())).copied()
    }

    /// All types of a kind.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = TypeId> + '_ {
        (0..self.len())
            .map(TypeId)
            .filter(move |&id| self.kind(id) == Some(kind))
    }

    /// What it is; none for a number that is no type.
    pub fn kind(&self, id: TypeId) -> Option<Kind> {
        self.record(id).map(|record| record.kind)
    }

    /// Its name; "" if it has none.
    pub fn name(&self, id: TypeId) -> &str {
        self.record(id)
            .map_or("", |record| self.string(record.name))
    }

    /// The type behind typedefs, qualifiers and tags.
    pub fn resolve(&self, id: TypeId) -> TypeId {
        let mut id = id;
        for _ in 0..MOST_NESTED {
            match self.record(id) {
                Some(record) if is_alias(record.kind) => id = TypeId(record.size_or_type),
                _ => break,
            }
        }
        id
    }

    /// Bytes of a value of this type; 0 for what has no size.
    pub fn size(&self, id: TypeId) -> u32 {
        self.size_within(id, MOST_NESTED)
    }

    fn size_within(&self, id: TypeId, nested: u32) -> u32 {
        let id = self.resolve(id);
        let Some(record) = self.record(id).filter(|_| nested > 0) else {
            return 0;
        };
        match record.kind {
            Kind::Ptr => 8,
            Kind::Array => {
                let (element, count) = self.array(id).unwrap_or((TypeId(0), 0));
                self.size_within(element, nested - 1).saturating_mul(count)
            }
            Kind::Var => self.size_within(TypeId(record.size_or_type), nested - 1),
            Kind::Int
            | Kind::Struct
            | Kind::Union
            | Kind::Enum
            | Kind::Enum64
            | Kind::Float
            | Kind::DataSec => record.size_or_type,
            _ => 0,
        }
    }

    /// Bytes of `struct NAME` or `union NAME`.
    pub fn size_of(&self, name: &str) -> Option<u32> {
        self.structure(name).map(|id| self.size(id))
    }

    /// `struct NAME` or `union NAME`.
    pub fn structure(&self, name: &str) -> Option<TypeId> {
        self.find(Kind::Struct, name)
            .or_else(|| self.find(Kind::Union, name))
    }

    /// A field of `struct NAME`, as "scx.slice" or "cpus_mask.bits".
    pub fn field(&self, name: &str, path: &str) -> Option<Field> {
        self.field_of(self.structure(name)?, path)
    }

    /// The same, of a type.
    pub fn field_of(&self, id: TypeId, path: &str) -> Option<Field> {
        let mut found = Field {
            offset: 0,
            size: 0,
            bits: None,
            type_id: self.resolve(id),
        };
        for part in path.split('.') {
            let inner = self.member(found.type_id, part, MOST_NESTED)?;
            found = Field {
                offset: found.offset + inner.offset,
                ..inner
            };
        }
        Some(found)
    }

    /// A member by name, also one of an unnamed structure within.
    fn member(&self, id: TypeId, name: &str, nested: u32) -> Option<Field> {
        if nested == 0 {
            return None;
        }
        for (found, type_id, at, width) in self.members(id) {
            let type_id = self.resolve(type_id);
            let here = Field {
                offset: at / 8,
                size: self.size(type_id),
                bits: (width > 0).then_some((at % 8, width)),
                type_id,
            };
            if found == name {
                return Some(here);
            }
            if found.is_empty() {
                if let Some(inner) = self.member(type_id, name, nested - 1) {
                    return Some(Field {
                        offset: here.offset + inner.offset,
                        ..inner
                    });
                }
            }
        }
        None
    }

    /// Fields of a structure or union: name (may be ""), type, offset in bits, bits of a bit field or 0.
    pub fn members(&self, id: TypeId) -> Vec<(&str, TypeId, u32, u32)> {
        let Some(record) = self.record(self.resolve(id)) else {
            return Vec::new();
        };
        if !matches!(record.kind, Kind::Struct | Kind::Union) {
            return Vec::new();
        }
        let members = (0..record.count as usize).map(|i| {
            let [name, type_id, offset] = self.words(record.data + 12 * i);
            let (offset, width) = match record.flag {
                true => (offset & 0xff_ffff, offset >> 24),
                false => (offset, 0),
            };
            (self.string(name), TypeId(type_id), offset, width)
        });
        members.collect()
    }

    /// Names and values of an enum.
    pub fn enumerators(&self, id: TypeId) -> Vec<(&str, u64)> {
        let Some(record) = self.record(self.resolve(id)) else {
            return Vec::new();
        };
        let signed = record.flag;
        let values = (0..record.count as usize).map(|i| match record.kind {
            Kind::Enum => {
                let [name, value] = self.words(record.data + 8 * i);
                let value = match signed {
                    true => value as i32 as u64,
                    false => u64::from(value),
                };
                (self.string(name), value)
            }
            _ => {
                let [name, low, high] = self.words(record.data + 12 * i);
                (self.string(name), u64::from(high) << 32 | u64::from(low))
            }
        });
        match record.kind {
            Kind::Enum | Kind::Enum64 => values.collect(),
            _ => Vec::new(),
        }
    }

    /// Value of an enumerator of any enum.
    pub fn value(&self, name: &str) -> Option<u64> {
        let enums = self.all(Kind::Enum).chain(self.all(Kind::Enum64));
        enums
            .flat_map(|id| self.enumerators(id))
            .find(|&(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// What a pointer, a func, a variable or a typedef refers to.
    pub fn target(&self, id: TypeId) -> Option<TypeId> {
        let record = self.record(id)?;
        let refers = matches!(
            record.kind,
            Kind::Ptr | Kind::Func | Kind::Var | Kind::FuncProto | Kind::DeclTag
        ) || is_alias(record.kind);
        refers.then_some(TypeId(record.size_or_type))
    }

    /// Element and number of elements of an array.
    pub fn array(&self, id: TypeId) -> Option<(TypeId, u32)> {
        let record = self.record(self.resolve(id))?;
        let [element, _, count] = self.words(record.data);
        (record.kind == Kind::Array).then_some((TypeId(element), count))
    }

    /// Variables of a section: type, offset, size.
    pub fn section(&self, name: &str) -> Vec<(TypeId, u32, u32)> {
        let Some(record) = self
            .find(Kind::DataSec, name)
            .and_then(|id| self.record(id))
        else {
            return Vec::new();
        };
        let entries = (0..record.count as usize).map(|i| {
            let [id, offset, size] = self.words(record.data + 12 * i);
            (TypeId(id), offset, size)
        });
        entries.collect()
    }

    fn record(&self, id: TypeId) -> Option<&Record> {
        self.types.get(id.0 as usize)
    }

    /// Words that were found to be there when the types were read.
    fn words<const N: usize>(&self, at: usize) -> [u32; N] {
        std::array::from_fn(|i| number(&self.bytes, at + 4 * i, 4).unwrap_or(0) as u32)
    }

    /// The string at this offset.
    pub fn string(&self, at: u32) -> &str {
        let all = &self.bytes[self.strings.0..self.strings.1];
        let text = all.get(at as usize..).unwrap_or(&[]);
        let end = text
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(text.len());
        std::str::from_utf8(&text[..end]).unwrap_or("")
    }
}

const KINDS: [Kind; 20] = [
    Kind::Void,
    Kind::Int,
    Kind::Ptr,
    Kind::Array,
    Kind::Struct,
    Kind::Union,
    Kind::Enum,
    Kind::Fwd,
    Kind::Typedef,
    Kind::Volatile,
    Kind::Const,
    Kind::Restrict,
    Kind::Func,
    Kind::FuncProto,
    Kind::Var,
    Kind::DataSec,
    Kind::Float,
    Kind::DeclTag,
    Kind::TypeTag,
    Kind::Enum64,
];

/// Stands for another type.
fn is_alias(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Typedef | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::TypeTag
    )
}

/// Bytes after the common part.
fn own_size(record: &Record) -> usize {
    let count = record.count as usize;
    match record.kind {
        Kind::Int | Kind::Var | Kind::DeclTag => 4,
        Kind::Array => 12,
        Kind::Struct | Kind::Union | Kind::DataSec | Kind::Enum64 => 12 * count,
        Kind::Enum | Kind::FuncProto => 8 * count,
        _ => 0,
    }
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    let little = bytes.iter().rev();
    Some(little.fold(0, |n, &byte| n << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Btf {
        Btf::parse(include_bytes!(concat!(env!("OUT_DIR"), "/kernel.btf"))).unwrap()
    }

    #[test]
    fn fields_are_where_c_puts_them() {
        let btf = kernel();
        let whole = btf.field("task_struct", "scx").unwrap();
        let slice = btf.field("task_struct", "scx.slice").unwrap();
        let within = btf.field("sched_ext_entity", "slice").unwrap();
        assert_eq!(slice.offset, whole.offset + within.offset);
        assert_eq!((slice.size, slice.bits), (8, None));
        assert_eq!(btf.field("task_struct", "scx.nothing"), None);
        assert_eq!(btf.field("nothing", "scx"), None);
        let size = btf.size_of("task_struct").unwrap();
        assert!(size >= slice.offset + 8);
        assert_eq!(btf.field("task_struct", "comm").unwrap().size, 16);
    }

    #[test]
    fn functions_have_numbers() {
        let btf = kernel();
        let id = btf.find(Kind::Func, "bpf_cpumask_create").unwrap();
        assert_eq!(btf.name(id), "bpf_cpumask_create");
        assert_eq!(btf.kind(btf.target(id).unwrap()), Some(Kind::FuncProto));
        assert!(btf.all(Kind::Func).any(|other| other == id));
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_without_harm() {
        let whole = kernel().bytes().to_vec();
        assert!(Btf::parse(&[]).is_err());
        assert!(Btf::parse(&whole[..30]).is_err());
        let mut state = 1_u32;
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
                let at = state as usize / 7 % bytes.len();
                bytes[at] ^= (state >> 16) as u8;
            }
            let Ok(btf) = Btf::parse(&bytes) else {
                continue;
            };
            for id in (0..btf.len()).map(TypeId) {
                let _ = (btf.size(id), btf.members(id), btf.enumerators(id));
                let _ = (btf.name(id), btf.array(id), btf.field_of(id, "slice"));
            }
        }
    }
}
