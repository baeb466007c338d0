//! BPF maps.
//!
//! Values are in the machine's [`Memory`](crate::Memory), keys and order are not.  Iteration is in an order
//! that depends on nothing but the calls before.

use std::sync::Arc;

use crate::btf::{Btf, TypeId};

/// A map of a machine; programs name it in their instructions instead of a file descriptor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MapId(pub u32);

/// What a map is; numbers of `enum bpf_map_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum MapKind {
    Hash = 1,
    Array = 2,
    PerfEventArray = 4,
    PerCpuHash = 5,
    PerCpuArray = 6,
    LruHash = 9,
    LruPerCpuHash = 10,
    ArrayOfMaps = 12,
    HashOfMaps = 13,
    Queue = 22,
    Stack = 23,
    StructOps = 26,
    RingBuf = 27,
    TaskStorage = 29,
    UserRingBuf = 31,
    CgroupStorage = 32,
    Arena = 33,
}

impl MapKind {
    /// Every kind there is.
    pub const ALL: &[MapKind] = &[
        MapKind::Hash,
        MapKind::Array,
        MapKind::PerfEventArray,
        MapKind::PerCpuHash,
        MapKind::PerCpuArray,
        MapKind::LruHash,
        MapKind::LruPerCpuHash,
        MapKind::ArrayOfMaps,
        MapKind::HashOfMaps,
        MapKind::Queue,
        MapKind::Stack,
        MapKind::StructOps,
        MapKind::RingBuf,
        MapKind::TaskStorage,
        MapKind::UserRingBuf,
        MapKind::CgroupStorage,
        MapKind::Arena,
    ];

    /// The kind with this number of `enum bpf_map_type`.
    pub fn from_number(number: u32) -> Option<MapKind> {
        MapKind::ALL
            .iter()
            .copied()
            .find(|&kind| kind as u32 == number)
    }
}

/// What BPF_MAP_CREATE asks for.
#[derive(Clone, Debug)]
pub struct MapSpec {
    /// Its name, up to 15 characters.
    pub name: String,
    /// What it is.
    pub kind: MapKind,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Most entries; bytes of a ring buffer; pages of an arena.
    pub max_entries: u32,
    /// BPF_F_*.
    pub flags: u32,
    /// map_extra: an arena's address in the loader, if it is given.
    pub extra: u64,
    /// What a map of maps holds.
    pub inner: Option<MapId>,
    /// The object's types and those of key and value in them.
    pub types: Option<(Arc<Btf>, TypeId, TypeId)>,
}
