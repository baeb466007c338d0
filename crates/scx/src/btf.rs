//! Types as BTF has them.

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

/// Types of an object or of a kernel.
#[derive(Clone, Debug)]
pub struct Btf {
    bytes: Vec<u8>,
}

impl Btf {
    /// Reads the bytes of a .BTF section or of /sys/kernel/btf/vmlinux.
    ///
    /// # Errors
    /// They are damaged.
    pub fn parse(bytes: &[u8]) -> Result<Btf, BtfError> {
        Ok(Btf {
            bytes: bytes.to_vec(),
        })
    }

    /// What it was read from.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of types, void included.
    pub fn len(&self) -> u32 {
        todo!()
    }

    /// Is there nothing but void?
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// The first type of this kind and name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<TypeId> {
        let _ = (kind, name);
        todo!()
    }

    /// What it is; none for a number that is no type.
    pub fn kind(&self, id: TypeId) -> Option<Kind> {
        let _ = id;
        todo!()
    }

    /// Its name; "" if it has none.
    pub fn name(&self, id: TypeId) -> &str {
        let _ = id;
        todo!()
    }

    /// The type behind typedefs, qualifiers and tags.
    pub fn resolve(&self, id: TypeId) -> TypeId {
        let _ = id;
        todo!()
    }

    /// Bytes of a value of this type; 0 for what has no size.
    pub fn size(&self, id: TypeId) -> u32 {
        let _ = id;
        todo!()
    }

    /// Bytes of `struct NAME` or `union NAME`.
    pub fn size_of(&self, name: &str) -> Option<u32> {
        let _ = name;
        todo!()
    }

    /// A field of `struct NAME`, as "scx.slice" or "cpus_mask.bits".
    pub fn field(&self, name: &str, path: &str) -> Option<Field> {
        let _ = (name, path);
        todo!()
    }

    /// Fields of a structure or union: name (may be ""), type, offset in bits, bits of a bit field or 0.
    pub fn members(&self, id: TypeId) -> Vec<(&str, TypeId, u32, u32)> {
        let _ = id;
        todo!()
    }

    /// Names and values of an enum.
    pub fn enumerators(&self, id: TypeId) -> Vec<(&str, u64)> {
        let _ = id;
        todo!()
    }

    /// Value of an enumerator of any enum.
    pub fn value(&self, name: &str) -> Option<u64> {
        let _ = name;
        todo!()
    }

    /// What a pointer, a func, a variable or a typedef refers to.
    pub fn target(&self, id: TypeId) -> Option<TypeId> {
        let _ = id;
        todo!()
    }
}
