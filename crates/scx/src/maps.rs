//! BPF maps.
//!
//! Values are in the machine's [`Memory`](crate::Memory), keys and order are not.  Iteration is in an order
//! that depends on nothing but the calls before.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::btf::{Btf, TypeId};
use crate::machine::Errno;
use crate::memory::{memory_file, Memory};
use crate::special::{special_fields, Special};
use crate::table::Table;

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

/// Flags of BPF_MAP_CREATE.
pub const F_MMAPABLE: u32 = 1 << 10;

/// Flags of an update: the key must be new, or known.
pub const NOEXIST: u64 = 1;
/// See [`NOEXIST`].
pub const EXIST: u64 = 2;

/// Bytes before what programs see of a map; MAP_HEAD in prelude.h.
pub const HEAD: u64 = 64;

/// Most bytes of a key, and of a value.
const MOST_KEY: u32 = 512;
const MOST_VALUE: u32 = 1 << 30;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Most records of a ring buffer that are kept for whoever asks.
const MOST_RECORDS: usize = 4096;

/// What a map holds besides its values.
#[derive(Clone, Debug)]
pub enum Data {
    /// Values by index; also the one value of a struct_ops.
    Array,
    /// Values by key, and where they are.
    Hash(Table, Vec<u64>),
    /// Values that belong to objects which have no room for them: by the object's address.
    Storage(BTreeMap<u64, u64>),
    /// Values in order.
    Queue(VecDeque<Vec<u8>>),
    /// Records that were submitted.
    Ring(Ring),
    /// Pages that are in use.
    Arena(Pages),
}

/// A ring buffer.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// Where the next record goes.
    pub next: u64,
    /// The latest records.
    pub records: VecDeque<Vec<u8>>,
    /// Number of records submitted.
    pub submitted: u64,
}

impl Ring {
    /// Keeps a record.
    pub fn submit(&mut self, record: Vec<u8>) {
        self.submitted += 1;
        if self.records.len() == MOST_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back(record);
    }
}

/// Pages of an arena.
#[derive(Clone, Debug)]
pub struct Pages {
    /// One bit for each page that is in use.
    used: Vec<u64>,
    count: u32,
    /// Address of the first page for user space; none before it is known.
    pub user: Option<u64>,
}

impl Pages {
    fn new(count: u32) -> Pages {
        Pages {
            used: vec![0; (count as usize).div_ceil(64)],
            count,
            user: None,
        }
    }

    fn is_used(&self, page: u32) -> bool {
        self.used[page as usize / 64] >> (page % 64) & 1 != 0
    }

    /// Marks pages; those beyond the end are left out.
    pub fn mark(&mut self, from: u32, count: u32, used: bool) {
        for page in from..from.saturating_add(count).min(self.count) {
            let bit = 1 << (page % 64);
            match used {
                true => self.used[page as usize / 64] |= bit,
                false => self.used[page as usize / 64] &= !bit,
            }
        }
    }

    /// Are all these pages free?
    pub fn are_free(&self, from: u32, count: u32) -> bool {
        let end = from.checked_add(count).filter(|&end| end <= self.count);
        end.is_some_and(|end| (from..end).all(|page| !self.is_used(page)))
    }

    /// The first of so many free pages in a row.
    pub fn find(&self, count: u32) -> Option<u32> {
        let mut run = 0;
        for page in 0..self.count {
            if page % 64 == 0 && self.used[page as usize / 64] == u64::MAX {
                run = 0;
                continue;
            }
            run = if self.is_used(page) { 0 } else { run + 1 };
            if run == count {
                return Some(page + 1 - count);
            }
        }
        None
    }
}

/// A map.
#[derive(Clone, Debug)]
pub struct Map {
    /// What it was created as.
    pub spec: MapSpec,
    /// Its address, as programs have it.
    pub address: u64,
    /// Address of the first value of an array, of a ring's records, of an arena.
    pub values: u64,
    /// From one value to the next.
    pub stride: u64,
    /// What else it holds.
    pub data: Data,
    /// Backs its values while it is loaded, for the loader to map.
    pub file: Option<Arc<File>>,
    /// Parts of a value that are not plain bytes.
    pub special: Vec<Special>,
    /// User space may write it no more.
    pub frozen: bool,
    /// Of a storage: which of an object's pointers to values are this map's.
    pub pointer: Option<u32>,
}

impl Map {
    /// A new map; `address` is where its head is.
    ///
    /// # Errors
    /// As the kernel: EINVAL, E2BIG, ENOMEM.
    pub fn new(
        spec: MapSpec,
        address: u64,
        memory: &mut Memory,
        nr_cpus: u32,
    ) -> Result<Map, Errno> {
        check(&spec)?;
        let stride = u64::from(spec.value_size).next_multiple_of(8);
        let data = match spec.kind {
            MapKind::Queue | MapKind::Stack => Data::Queue(VecDeque::new()),
            MapKind::TaskStorage | MapKind::CgroupStorage => Data::Storage(BTreeMap::new()),
            MapKind::RingBuf | MapKind::UserRingBuf => Data::Ring(Ring::default()),
            MapKind::Arena => Data::Arena(Pages::new(spec.max_entries)),
            _ if spec.kind.is_hash() => Data::Hash(Table::new(spec.key_size as usize), Vec::new()),
            _ => Data::Array,
        };
        let special = match &spec.types {
            Some((btf, _, value)) => special_fields(btf, *value),
            None => Vec::new(),
        };
        let mut map = Map {
            address,
            values: 0,
            stride: if spec.kind.is_of_maps() { 8 } else { stride },
            data,
            file: None,
            special,
            frozen: false,
            pointer: None,
            spec,
        };
        map.place(memory, nr_cpus)
            .map_err(|_| Errno(libc::ENOMEM))?;
        Ok(map)
    }

    /// Finds room for the values of a map that has all of them from the start.
    fn place(&mut self, memory: &mut Memory, nr_cpus: u32) -> io::Result<()> {
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let size = self.stride * u64::from(self.spec.max_entries);
        match (&self.data, self.spec.kind) {
            (Data::Array, MapKind::PerCpuArray) => {
                self.values = memory.allocate_per_cpu(size, nr_cpus).ok_or_else(full)?;
            }
            (Data::Array, _) => {
                self.values = memory.allocate_slot(size).ok_or_else(full)?;
                if self.spec.flags & F_MMAPABLE != 0 {
                    let file = memory_file(size.max(1).next_multiple_of(PAGE))?;
                    memory.share(self.values, size.max(1), &file, 0)?;
                    self.file = Some(Arc::new(file));
                }
            }
            (Data::Ring(_), _) => {
                let size = u64::from(self.spec.max_entries);
                let file = memory_file(2 * PAGE + 2 * size)?;
                self.values = memory.allocate_slot(2 * size).ok_or_else(full)?;
                if self.spec.kind == MapKind::UserRingBuf {
                    memory.share(self.values, 2 * size, &file, 2 * PAGE)?;
                }
                self.file = Some(Arc::new(file));
            }
            (Data::Arena(_), _) => {
                self.values = memory.allocate_arena().ok_or_else(full)?;
                let size = u64::from(self.spec.max_entries) * PAGE;
                self.file = Some(Arc::new(memory_file(size)?));
            }
            _ => {}
        }
        Ok(())
    }

    /// Maps an arena's pages where programs find them: addresses have their lower 32 bits in common.
    ///
    /// # Errors
    /// The host refuses the mapping.
    pub fn place_arena(&mut self, user: u64, memory: &mut Memory) -> io::Result<()> {
        let (Data::Arena(pages), Some(file)) = (&mut self.data, &self.file) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if pages.user == Some(user) {
            return Ok(());
        }
        pages.user = Some(user);
        let size = u64::from(self.spec.max_entries) * PAGE;
        let low = u64::from(user as u32);
        let before_end = size.min((1 << 32) - low);
        memory.share(self.values + low, before_end, file, 0)?;
        if before_end < size {
            memory.share(self.values, size - before_end, file, before_end)?;
        }
        Ok(())
    }

    /// Bytes of a value of a program.
    pub fn value_size(&self) -> u64 {
        match self.spec.kind.is_of_maps() {
            true => 8,
            false => u64::from(self.spec.value_size),
        }
    }

    /// Address of the value of a key (CPU 0's copy); none: there is no such key.
    #[inline]
    pub fn find(&mut self, key: &[u8]) -> Option<u64> {
        let lru = self.spec.kind.is_lru();
        match &mut self.data {
            Data::Array => {
                let index = u32::from_le_bytes(key.try_into().ok()?);
                let inside = index < self.spec.max_entries;
                inside.then(|| self.values + u64::from(index) * self.stride)
            }
            Data::Hash(table, places) => {
                let place = table.find(key)?;
                if lru {
                    table.touch(place);
                }
                Some(places[place as usize])
            }
            _ => None,
        }
    }

    /// Address of the value of a key, which is made if there is none; what it held before is not cleared.  Also
    /// tells whether it was made.
    ///
    /// # Errors
    /// As the kernel: EEXIST, ENOENT, E2BIG, ENOMEM, EINVAL.
    pub fn find_or_insert(
        &mut self,
        key: &[u8],
        flags: u64,
        memory: &mut Memory,
        nr_cpus: u32,
    ) -> Result<(u64, bool), Errno> {
        let found = self.find(key);
        match (found, &self.data, flags & 3) {
            (_, _, 3) => return Err(Errno(libc::EINVAL)),
            (Some(_), _, NOEXIST) => return Err(Errno(libc::EEXIST)),
            (Some(address), ..) => return Ok((address, false)),
            (None, Data::Array, _) => return Err(Errno(libc::E2BIG)),
            (None, Data::Hash(..), EXIST) => return Err(Errno(libc::ENOENT)),
            (None, Data::Hash(..), _) => {}
            _ => return Err(Errno(libc::EINVAL)),
        }
        let (is_lru, is_per_cpu) = (self.spec.kind.is_lru(), self.spec.kind.is_per_cpu());
        let Data::Hash(table, places) = &mut self.data else {
            return Err(Errno(libc::EINVAL));
        };
        if table.len() >= self.spec.max_entries {
            let oldest = table
                .oldest()
                .filter(|_| is_lru)
                .ok_or(Errno(libc::E2BIG))?;
            let oldest = table.key(oldest).to_vec();
            table.remove(&oldest);
        }
        let place = table.insert(key) as usize;
        if place == places.len() {
            let address = match is_per_cpu {
                true => memory.allocate_per_cpu(self.stride, nr_cpus).unwrap_or(0),
                false => memory.allocate(self.stride),
            };
            if address == 0 {
                table.remove(key);
                return Err(Errno(libc::ENOMEM));
            }
            places.push(address);
        }
        Ok((places[place], true))
    }

    /// Forgets a key; the address its value had.
    ///
    /// # Errors
    /// ENOENT, or EINVAL for a map whose keys stay.
    pub fn remove(&mut self, key: &[u8]) -> Result<u64, Errno> {
        match &mut self.data {
            Data::Hash(table, places) => {
                let place = table.remove(key).ok_or(Errno(libc::ENOENT))?;
                Ok(places[place as usize])
            }
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    /// The key after this one, or the first.
    ///
    /// # Errors
    /// ENOENT after the last one; EOPNOTSUPP if there are no keys.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        match &self.data {
            Data::Array => {
                let index = key.and_then(|key| Some(u32::from_le_bytes(key.try_into().ok()?)));
                let next = match index {
                    Some(index) if index < self.spec.max_entries => index + 1,
                    _ => 0,
                };
                let inside = next < self.spec.max_entries;
                let next = next.to_le_bytes().to_vec();
                inside.then_some(next).ok_or(Errno(libc::ENOENT))
            }
            Data::Hash(table, _) => {
                let place = table.after(key).ok_or(Errno(libc::ENOENT))?;
                Ok(table.key(place).to_vec())
            }
            _ => Err(Errno(libc::EOPNOTSUPP)),
        }
    }
}

impl MapKind {
    /// Has it values by key?
    pub fn is_hash(self) -> bool {
        use MapKind::{Hash, HashOfMaps, LruHash, LruPerCpuHash, PerCpuHash};
        matches!(
            self,
            Hash | PerCpuHash | LruHash | LruPerCpuHash | HashOfMaps
        )
    }

    /// Has each CPU values of its own?
    pub fn is_per_cpu(self) -> bool {
        matches!(
            self,
            MapKind::PerCpuArray | MapKind::PerCpuHash | MapKind::LruPerCpuHash
        )
    }

    /// Are its values maps?
    pub fn is_of_maps(self) -> bool {
        matches!(self, MapKind::ArrayOfMaps | MapKind::HashOfMaps)
    }

    /// Does a new key push out the one that was not used for the longest time?
    pub fn is_lru(self) -> bool {
        matches!(self, MapKind::LruHash | MapKind::LruPerCpuHash)
    }

    /// Has it one value for each task or cgroup?
    pub fn is_storage(self) -> bool {
        matches!(self, MapKind::TaskStorage | MapKind::CgroupStorage)
    }
}

/// What the kernel checks of a new map.
fn check(spec: &MapSpec) -> Result<(), Errno> {
    let (key, value, entries) = (spec.key_size, spec.value_size, spec.max_entries);
    let is_power = entries.is_power_of_two() && u64::from(entries) % PAGE == 0;
    let right = match spec.kind {
        MapKind::Array | MapKind::PerCpuArray | MapKind::StructOps => {
            key == 4 && value > 0 && entries > 0
        }
        MapKind::PerfEventArray | MapKind::ArrayOfMaps => key == 4 && entries > 0,
        MapKind::Queue | MapKind::Stack => key == 0 && value > 0 && entries > 0,
        MapKind::TaskStorage | MapKind::CgroupStorage => key == 4 && value > 0 && entries == 0,
        MapKind::RingBuf | MapKind::UserRingBuf => key == 0 && value == 0 && is_power,
        MapKind::Arena => key == 0 && value == 0 && entries > 0 && entries <= 1 << 20,
        _ => key > 0 && entries > 0 && (value > 0 || spec.kind.is_of_maps()),
    };
    if !right {
        return Err(Errno(libc::EINVAL));
    }
    match key > MOST_KEY || value > MOST_VALUE {
        true => Err(Errno(libc::E2BIG)),
        false => Ok(()),
    }
}
