//! The memory of one machine: one region, seen by programs at fixed addresses.
//!
//! A program sees the region at [`BASE`], whatever the host chose.  Loads outside it give 0, as a kernel's
//! exception table has it; stores outside are faults.  Pages cost something once they are written.  A region
//! can be frozen: machines made of it share its pages until they write to them.
//!
//! What is where:
//!
//! ```text
//! 0       nothing (64 KiB)
//! 64 KiB  the kernel's objects: tasks, CPU masks, stacks, values of hash maps        allocate()
//! 8 GiB   per-CPU data: 1024 copies, PER_CPU_STRIDE apart                            allocate_per_cpu()
//! 26 GiB  values of array maps, each in a slot of its own                            allocate_slot()
//! 44 GiB  arenas, each of 4 GiB and aligned to 4 GiB                                 allocate_arena()
//! 64 GiB  end
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

/// First address of the region; looks like the kernel's direct map.
pub const BASE: u64 = 0xffff_8880_0000_0000;

/// Bytes of the region: addresses with the same upper 28 bits as [`BASE`].
pub const SIZE: u64 = 1 << SHIFT;

/// `address >> SHIFT == BASE >> SHIFT` says that an address is in the region.
pub const SHIFT: u32 = 36;

/// From one CPU's copy of per-CPU data to the next one's.
pub const PER_CPU_STRIDE: u64 = (16 << 20) + 65 * 64;

/// Bytes of an arena's part of the region.
pub const ARENA_SIZE: u64 = 1 << 32;

/// Bytes before and after the region that may be touched: an instruction's offset is of 16 bits, and only the
/// register it is added to is compared with the region.
const GUARD: u64 = 64 << 10;

const GIB: u64 = 1 << 30;
const PAGE: u64 = 4096;
const HEAP: (u64, u64) = (BASE + GUARD, BASE + 8 * GIB);
const PER_CPU: (u64, u64) = (HEAP.1, HEAP.1 + (16 << 20));
const SLOTS: (u64, u64) = (BASE + 26 * GIB, BASE + 44 * GIB);
const ARENAS: (u64, u64) = (SLOTS.1, BASE + SIZE);

/// Least bytes of a slot of [`Memory::allocate_slot`].
const LEAST_SLOT: u64 = 2 << 20;

/// Numbers and plain records that can be read from any bytes.
///
/// # Safety
/// Every pattern of bits is a value, and the type has no padding.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($t:ty),*) => { $(
        // SAFETY: an integer, or an array of them.
        unsafe impl Plain for $t {}
    )* };
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64);

// SAFETY: arrays have no padding.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A store that did not land in the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outside(pub u64);

/// What a frozen region holds: the same bytes for any number of regions.
#[derive(Debug)]
pub struct Snapshot {
    file: File,
    /// Parts that hold anything but zeros: from, to; in bytes from the region's start, in whole pages.
    parts: Vec<(u64, u64)>,
    places: Places,
}

/// Where the next allocations go.
#[derive(Clone, Debug)]
struct Places {
    heap: u64,
    per_cpu: u64,
    slot: u64,
    arena: u64,
    /// What was given back, by size; the last one first.
    free: BTreeMap<u64, Vec<u64>>,
    free_per_cpu: BTreeMap<u64, Vec<u64>>,
}

/// Pages that another file backs.
#[derive(Debug)]
struct Shared {
    /// Where, in bytes from the region's start.
    at: u64,
    file: File,
    /// Where in the file they begin.
    from: u64,
    len: u64,
}

/// The region of one machine.
#[derive(Debug)]
pub struct Memory {
    /// The host's address of [`BASE`].
    host: *mut u8,
    places: Places,
    /// Backs a new region, so that it can be frozen.
    file: Option<File>,
    /// What other files back.
    shared: Vec<Shared>,
}

// SAFETY: it owns its mapping, as a Vec owns its bytes.
unsafe impl Send for Memory {}

impl Memory {
    /// An empty region.
    ///
    /// # Errors
    /// The host has not enough address space.
    pub fn new() -> io::Result<Memory> {
        let mut memory = Memory::reserve()?;
        let file = memory_file(SIZE)?;
        memory.map(BASE, SIZE, &file, 0, libc::MAP_SHARED)?;
        memory.file = Some(file);
        Ok(memory)
    }

    /// A region that no file backs.
    pub(crate) fn reserve() -> io::Result<Memory> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the host's choice.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                (SIZE + 2 * GUARD) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Memory {
            host: start.cast::<u8>().wrapping_add(GUARD as usize),
            places: Places {
                heap: HEAP.0,
                per_cpu: PER_CPU.0,
                slot: SLOTS.0,
                arena: ARENAS.0,
                free: BTreeMap::new(),
                free_per_cpu: BTreeMap::new(),
            },
            file: None,
            shared: Vec::new(),
        })
    }

    /// A region that holds what a snapshot does.
    ///
    /// # Errors
    /// The host has not enough address space.
    pub fn from_snapshot(snapshot: &Snapshot) -> io::Result<Memory> {
        let mut memory = Memory::reserve()?;
        memory.places = snapshot.places.clone();
        for &(from, to) in &snapshot.parts {
            memory.map(
                BASE + from,
                to - from,
                &snapshot.file,
                from,
                libc::MAP_PRIVATE,
            )?;
        }
        Ok(memory)
    }

    /// What to add to a program's address to get the host's.
    pub fn delta(&self) -> u64 {
        (self.host as u64).wrapping_sub(BASE)
    }

    // ---- allocation ---------------------------------------------------------

    /// Bytes of zeros for the kernel's own objects, aligned to 64; the same order of calls gives the same addresses.
    /// 0 if the region is full.
    pub fn allocate(&mut self, size: u64) -> u64 {
        if size > HEAP.1 - HEAP.0 {
            return 0;
        }
        let size = size.max(1).next_multiple_of(64);
        if let Some(address) = self.places.free.get_mut(&size).and_then(Vec::pop) {
            self.clear(address, size);
            return address;
        }
        if size > HEAP.1 - self.places.heap {
            return 0;
        }
        let address = self.places.heap;
        self.places.heap += size;
        address
    }

    /// Gives back what [`Memory::allocate`] gave, of the same size.
    pub fn free(&mut self, address: u64, size: u64) {
        let inside = (HEAP.0..HEAP.1).contains(&address) && size <= HEAP.1 - address;
        let size = size.clamp(1, SIZE).next_multiple_of(64);
        if inside {
            self.places.free.entry(size).or_default().push(address);
        }
    }

    /// Bytes of zeros for each CPU: its copy is at the address + cpu * [`PER_CPU_STRIDE`].  None: no room.
    pub fn allocate_per_cpu(&mut self, size: u64, nr_cpus: u32) -> Option<u64> {
        if size > PER_CPU.1 - PER_CPU.0 {
            return None;
        }
        let size = size.max(1).next_multiple_of(64);
        if let Some(address) = self.places.free_per_cpu.get_mut(&size).and_then(Vec::pop) {
            for cpu in 0..u64::from(nr_cpus) {
                self.clear(address + cpu * PER_CPU_STRIDE, size);
            }
            return Some(address);
        }
        let address = self.places.per_cpu;
        let end = address.checked_add(size).filter(|&end| end <= PER_CPU.1)?;
        self.places.per_cpu = end;
        Some(address)
    }

    /// Gives back what [`Memory::allocate_per_cpu`] gave, of the same size.
    pub fn free_per_cpu(&mut self, address: u64, size: u64) {
        let inside = (PER_CPU.0..PER_CPU.1).contains(&address) && size <= PER_CPU.1 - address;
        let size = size.clamp(1, SIZE).next_multiple_of(64);
        if inside {
            let free = &mut self.places.free_per_cpu;
            free.entry(size).or_default().push(address);
        }
    }

    /// Pages of zeros in a slot of their own: what is allocated later hardly depends on how many they are.  None: no
    /// room.
    pub fn allocate_slot(&mut self, size: u64) -> Option<u64> {
        let slot = size.max(LEAST_SLOT).checked_next_power_of_two()?;
        // Not all slots begin in the same sets of the host's caches.
        let number = (self.places.slot - SLOTS.0) / LEAST_SLOT;
        let stagger = number % 61 * PAGE;
        let whole = slot + 61 * PAGE;
        let address = self.places.slot + stagger;
        let next = self.places.slot + whole.next_multiple_of(LEAST_SLOT);
        if next > SLOTS.1 {
            return None;
        }
        self.places.slot = next;
        Some(address)
    }

    /// 4 GiB of zeros, aligned to 4 GiB.  None: no room.
    pub fn allocate_arena(&mut self) -> Option<u64> {
        let address = self.places.arena;
        let next = address + ARENA_SIZE;
        (next <= ARENAS.1).then(|| {
            self.places.arena = next;
            address
        })
    }

    fn clear(&mut self, address: u64, size: u64) {
        if let Some(bytes) = self.bytes_mut(address, size) {
            bytes.fill(0);
        }
    }

    // ---- access ---------------------------------------------------------------

    /// The host's address of some bytes, all of them inside.
    #[inline]
    fn host(&self, address: u64, len: u64) -> Option<*mut u8> {
        let offset = address.wrapping_sub(BASE);
        let inside = offset < SIZE && len <= SIZE - offset;
        inside.then(|| self.host.wrapping_add(offset as usize))
    }

    /// Is the address inside?
    #[inline]
    pub fn contains(&self, address: u64) -> bool {
        address >> SHIFT == BASE >> SHIFT
    }

    /// Reads a value; outside: zeros.
    #[inline]
    pub fn get<T: Plain>(&self, address: u64) -> T {
        match self.host(address, size_of::<T>() as u64) {
            // SAFETY: inside the region, which is readable; any bytes are a value.
            Some(host) => unsafe { host.cast::<T>().read_unaligned() },
            // SAFETY: zeros are a value.
            None => unsafe { std::mem::zeroed() },
        }
    }

    /// Writes a value.
    ///
    /// # Errors
    /// The address is outside.
    #[inline]
    pub fn set<T: Plain>(&mut self, address: u64, value: T) -> Result<(), Outside> {
        let host = self.host(address, size_of::<T>() as u64);
        let host = host.ok_or(Outside(address))?;
        // SAFETY: inside the region, which is writable; no reference to it is alive.
        unsafe { host.cast::<T>().write_unaligned(value) };
        Ok(())
    }

    /// Some bytes; none if one of them is outside.
    #[inline]
    pub fn bytes(&self, address: u64, len: u64) -> Option<&[u8]> {
        let host = self.host(address, len)?;
        // SAFETY: inside the region; programs, which may change it, run with &mut Machine.
        Some(unsafe { std::slice::from_raw_parts(host, len as usize) })
    }

    /// The same, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self, address: u64, len: u64) -> Option<&mut [u8]> {
        let host = self.host(address, len)?;
        // SAFETY: as above, and &mut self says that nobody else looks.
        Some(unsafe { std::slice::from_raw_parts_mut(host, len as usize) })
    }

    /// Writes some bytes.
    ///
    /// # Errors
    /// One of them would be outside.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Outside> {
        let place = self.bytes_mut(address, bytes.len() as u64);
        place.ok_or(Outside(address))?.copy_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes within the region, which may overlap.
    ///
    /// # Errors
    /// One of them is outside.
    pub fn copy(&mut self, to: u64, from: u64, len: u64) -> Result<(), Outside> {
        let source = self.host(from, len).ok_or(Outside(from))?;
        let target = self.host(to, len).ok_or(Outside(to))?;
        // SAFETY: both are inside the region.
        unsafe { ptr::copy(source, target, len as usize) };
        Ok(())
    }

    /// A string up to its end, or to `most` bytes.
    pub fn string(&self, address: u64, most: usize) -> String {
        let bytes = (0..most as u64)
            .map(|i| self.get::<u8>(address.wrapping_add(i)))
            .take_while(|&byte| byte != 0)
            .collect::<Vec<u8>>();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    // ---- files ----------------------------------------------------------------

    /// Backs pages from `address` on with those of a file from `from` on, shared with whoever else maps it.
    ///
    /// # Errors
    /// The host refuses the mapping.
    pub fn share(&mut self, address: u64, len: u64, file: &File, from: u64) -> io::Result<()> {
        let len = len.next_multiple_of(PAGE);
        self.map(address, len, file, from, libc::MAP_SHARED)?;
        self.shared.push(Shared {
            at: address - BASE,
            file: file.try_clone()?,
            from,
            len,
        });
        Ok(())
    }

    /// Backs pages with a part of a file.
    fn map(
        &mut self,
        address: u64,
        len: u64,
        file: &File,
        from: u64,
        sharing: libc::c_int,
    ) -> io::Result<()> {
        let host = self.host(address, len).filter(|_| address % PAGE == 0);
        let host = host.ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: replaces pages of this region, which nobody borrows, by others.
        let mapped = unsafe {
            libc::mmap(
                host.cast(),
                len as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                sharing | libc::MAP_FIXED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                from as libc::off_t,
            )
        };
        match mapped == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }

    /// Freezes the region, for any number of regions with the same bytes.
    ///
    /// # Errors
    /// The host has no room for it.
    ///
    /// # Panics
    /// If the region was made of a snapshot: only what [`Memory::new`] made can be frozen.
    pub fn freeze(mut self) -> io::Result<Arc<Snapshot>> {
        let file = self.file.take().expect("only new regions are frozen");
        for shared in &self.shared {
            let range = shared.from..shared.from + shared.len;
            for (start, end) in data(&shared.file)? {
                let (start, end) = (start.max(range.start), end.min(range.end));
                for at in (start..end).step_by(COPIED) {
                    let to = shared.at + (at - shared.from);
                    let bytes = self.bytes(BASE + to, (end - at).min(COPIED as u64));
                    file.write_all_at(bytes.expect("it is inside"), to)?;
                }
            }
        }
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for (from, to) in data(&file)? {
            let to = to.next_multiple_of(PAGE);
            match parts.last_mut() {
                Some(last) if from - last.1 <= NEAR => last.1 = to,
                _ => parts.push((from / PAGE * PAGE, to)),
            }
        }
        Ok(Arc::new(Snapshot {
            file,
            parts,
            places: self.places.clone(),
        }))
    }
}

impl Snapshot {
    /// Adds what is not 0 to a hash.
    pub(crate) fn add_to(&self, hash: &mut Xxh3) -> io::Result<()> {
        add_data(&self.file, hash)
    }
}

/// Adds the pages of a file that are not all 0 to a hash, with their places.
pub(crate) fn add_data(file: &File, hash: &mut Xxh3) -> io::Result<()> {
    let mut page = [0; PAGE as usize];
    for (from, to) in data(file)? {
        for at in (from..to).step_by(page.len()) {
            let got = file.read_at(&mut page, at)?;
            if page[..got].iter().any(|&byte| byte != 0) {
                hash.update(&at.to_le_bytes());
                hash.update(&page[..got]);
            }
        }
    }
    Ok(())
}

/// Parts of a snapshot that are nearer than this are mapped as one: few long parts are mapped fast.
const NEAR: u64 = 256 << 10;

/// Bytes copied at once.
const COPIED: usize = 1 << 20;

/// A file of zeros that is in memory alone and takes room as it is written to.
///
/// # Errors
/// The host refuses it.
pub fn memory_file(len: u64) -> io::Result<File> {
    // SAFETY: a plain system call with a constant string.
    let fd = unsafe { libc::memfd_create(c"schedlab-scx".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(len)?;
    Ok(file)
}

/// Makes a hole in a file: its pages are zeros, and nobody touched them.
pub(crate) fn punch(file: &File, from: u64, to: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (from, len) = (from as libc::off_t, to.saturating_sub(from) as libc::off_t);
    // SAFETY: a plain system call on a file that is open; without it pages stay in use, which does no harm.
    unsafe { libc::fallocate(file.as_raw_fd(), mode, from, len) };
}

/// The parts of a file that are no holes: from, to.
pub(crate) fn data(file: &File) -> io::Result<Vec<(u64, u64)>> {
    let end = file.metadata()?.len();
    let mut found = Vec::new();
    let mut at = 0;
    while at < end {
        let Some(from) = seek(file, at, libc::SEEK_DATA)? else {
            break;
        };
        at = seek(file, from, libc::SEEK_HOLE)?.unwrap_or(end);
        found.push((from, at));
    }
    Ok(found)
}

/// lseek(); none if there is no more.
fn seek(file: &File, from: u64, what: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: a plain system call on a file that is open.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, what) };
    match u64::try_from(found) {
        Ok(at) => Ok(Some(at)),
        Err(_) => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        },
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let start = self.host.wrapping_sub(GUARD as usize);
        // SAFETY: the mapping of new(), with all that replaced parts of it.
        unsafe { libc::munmap(start.cast(), (SIZE + 2 * GUARD) as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_zero_and_cannot_be_written() {
        let mut memory = Memory::new().unwrap();
        let address = memory.allocate(8);
        memory.set(address, 7_u64).unwrap();
        assert_eq!(memory.get::<u64>(address), 7);
        assert_eq!(memory.get::<u16>(address), 7);
        for outside in [0, 8, BASE - 1, BASE + SIZE, BASE + SIZE - 7, u64::MAX] {
            assert_eq!(memory.get::<u64>(outside), 0);
            assert_eq!(memory.set(outside, 1_u64), Err(Outside(outside)));
            assert!(memory.bytes(outside, 8).is_none());
        }
        assert!(memory.bytes(BASE, u64::MAX).is_none());
        assert_eq!(memory.get::<u64>(BASE + SIZE - 8), 0);
    }

    #[test]
    fn the_same_calls_give_the_same_addresses() {
        let addresses = || {
            let mut memory = Memory::new().unwrap();
            let first = memory.allocate(100);
            memory.set(first, 5_u32).unwrap();
            let second = memory.allocate(100);
            memory.free(first, 100);
            let third = memory.allocate(90);
            assert_eq!(first, third, "freed memory is used again");
            assert_eq!(memory.get::<u32>(third), 0, "and cleared");
            let per_cpu = memory.allocate_per_cpu(16, 4).unwrap();
            let slot = memory.allocate_slot(5000).unwrap();
            [
                second,
                third,
                per_cpu,
                slot,
                memory.allocate_arena().unwrap(),
            ]
        };
        let all = addresses();
        assert_eq!(all, addresses());
        assert!(all.iter().all(|address| address % 64 == 0));
        assert_eq!(all[4] % ARENA_SIZE, 0);
    }

    #[test]
    fn a_slot_of_another_size_moves_no_other() {
        let next = |size| {
            let mut memory = Memory::new().unwrap();
            memory.allocate_slot(size).unwrap();
            memory.allocate_slot(4).unwrap()
        };
        assert_eq!(next(4), next(100_000));
    }

    #[test]
    fn regions_of_a_snapshot_do_not_see_each_other() {
        let mut memory = Memory::new().unwrap();
        let near = memory.allocate(8);
        let arena = memory.allocate_arena().unwrap();
        let file = memory_file(3 * PAGE).unwrap();
        memory.share(arena, 3 * PAGE, &file, 0).unwrap();
        memory.set(near, 1_u64).unwrap();
        memory.set(arena + PAGE, 2_u64).unwrap();
        file.write_all_at(&[3], 2 * PAGE).unwrap();
        let snapshot = memory.freeze().unwrap();
        let mut one = Memory::from_snapshot(&snapshot).unwrap();
        let mut two = Memory::from_snapshot(&snapshot).unwrap();
        assert_eq!(one.get::<u64>(near), 1);
        assert_eq!(one.get::<u64>(arena + PAGE), 2);
        assert_eq!(one.get::<u64>(arena + 2 * PAGE), 3);
        one.set(near, 10_u64).unwrap();
        one.set(arena + PAGE, 20_u64).unwrap();
        file.write_all_at(&[30], 2 * PAGE).unwrap();
        assert_eq!(two.get::<u64>(near), 1);
        assert_eq!(two.get::<u64>(arena + PAGE), 2);
        assert_eq!(two.get::<u64>(arena + 2 * PAGE), 3);
        assert_eq!(one.allocate(8), two.allocate(8));
        assert_eq!(one.get::<u64>(near), 10);
    }

    #[test]
    fn copies_may_overlap() {
        let mut memory = Memory::new().unwrap();
        let address = memory.allocate(64);
        memory.write(address, b"abcdef\0").unwrap();
        memory.copy(address + 2, address, 7).unwrap();
        assert_eq!(memory.string(address, 100), "ababcdef");
        assert_eq!(memory.string(address, 3), "aba");
        assert_eq!(memory.copy(address, 4, 2), Err(Outside(4)));
    }
}
