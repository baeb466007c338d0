//! The memory of one machine: one region, seen by programs at fixed addresses.
//!
//! A program sees the region at [`BASE`], whatever the host chose.  Loads outside it give 0, as a kernel's
//! exception table has it; stores outside are faults.  Pages cost something once they are written.  A region
//! can be frozen: machines made of it share its pages until they write to them.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

/// First address of the region; looks like the kernel's direct map.
pub const BASE: u64 = 0xffff_8880_0000_0000;

/// Bytes of the region: addresses with the same upper 28 bits as [`BASE`].
pub const SIZE: u64 = 1 << SHIFT;

/// `address >> SHIFT == BASE >> SHIFT` says that an address is in the region.
pub const SHIFT: u32 = 36;

/// From one CPU's copy of per-CPU data to the next one's.
pub const PER_CPU_STRIDE: u64 = (16 << 20) + 65 * 64;

/// Numbers and plain records that can be read from any bytes.
///
/// # Safety
/// Every pattern of bits is a value, and the type has no padding.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($t:ty),*) => { $(
        // SAFETY: an integer.
        unsafe impl Plain for $t {}
    )* };
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64, [u8; 16], [u64; 2], [u64; 16]);

/// A store that did not land in the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outside(pub u64);

/// What a frozen region holds.
#[derive(Debug)]
pub struct Snapshot {
    _file: OwnedFd,
}

/// The region of one machine.
#[derive(Debug)]
pub struct Memory {
    host: *mut u8,
}

impl Memory {
    /// An empty region.
    ///
    /// # Errors
    /// The host has not enough address space.
    pub fn new() -> io::Result<Memory> {
        todo!()
    }

    /// What to add to a program's address to get the host's.
    pub fn delta(&self) -> u64 {
        (self.host as u64).wrapping_sub(BASE)
    }

    /// Bytes of zeros for the kernel's own objects, aligned to 64; the same order of calls gives the same addresses.
    pub fn allocate(&mut self, size: u64) -> u64 {
        let _ = size;
        todo!()
    }

    /// Gives back what [`Memory::allocate`] gave, of the same size.
    pub fn free(&mut self, address: u64, size: u64) {
        let _ = (address, size);
        todo!()
    }

    /// Bytes of zeros for each CPU: its copy is at the address + cpu * [`PER_CPU_STRIDE`].  None: no room.
    pub fn allocate_per_cpu(&mut self, size: u64) -> Option<u64> {
        let _ = size;
        todo!()
    }

    /// Reads a value; outside: zeros.
    pub fn get<T: Plain>(&self, address: u64) -> T {
        let _ = address;
        todo!()
    }

    /// Writes a value.
    ///
    /// # Errors
    /// The address is outside.
    pub fn set<T: Plain>(&mut self, address: u64, value: T) -> Result<(), Outside> {
        let _ = (address, value);
        todo!()
    }

    /// Some bytes; none if one of them is outside.
    pub fn bytes(&self, address: u64, len: u64) -> Option<&[u8]> {
        let _ = (address, len);
        todo!()
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, address: u64, len: u64) -> Option<&mut [u8]> {
        let _ = (address, len);
        todo!()
    }

    /// A string up to its end, or to `most` bytes.
    pub fn string(&self, address: u64, most: usize) -> String {
        let _ = (address, most);
        todo!()
    }

    /// Backs pages from `address` on with a file, shared with whoever else maps it.
    ///
    /// # Errors
    /// The host refuses the mapping.
    pub fn share(&mut self, address: u64, len: u64, file: BorrowedFd) -> io::Result<()> {
        let _ = (address, len, file);
        todo!()
    }

    /// Everything the region holds now.
    ///
    /// # Errors
    /// The host has no room for it.
    pub fn snapshot(&self) -> io::Result<Arc<Snapshot>> {
        todo!()
    }
}
