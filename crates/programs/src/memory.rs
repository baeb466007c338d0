//! Memory at the same address in all processes forked from this one.

use std::ffi::c_void;
use std::io;
use std::mem::{align_of, size_of};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};

/// Memory shared by all processes, allocated piece by piece and never freed.
pub struct Memory {
    next: usize,
    end: usize,
}

/// Numbers shared by all processes, initially 0.
pub fn numbers(length: usize) -> io::Result<&'static [AtomicU64]> {
    let mut memory = Memory::map(length * size_of::<AtomicU64>())?;
    // SAFETY: zero is a valid number.
    Ok(unsafe { memory.array(length) })
}

/// Words shared by all processes, initially 0.
pub fn words(length: usize) -> io::Result<&'static [AtomicU32]> {
    let mut memory = Memory::map(length * size_of::<AtomicU32>())?;
    // SAFETY: zero is a valid number.
    Ok(unsafe { memory.array(length) })
}

impl Memory {
    /// Maps this size, all zero.
    pub fn map(size: usize) -> io::Result<Memory> {
        // Untouched pages take no memory.
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses an unused address.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut::<c_void>(),
                size,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
            )
        }? as usize;
        Ok(Memory {
            next: start,
            end: start + size,
        })
    }

    /// The next piece.
    ///
    /// # Safety
    /// All zeros must be a valid `T`.
    pub unsafe fn array<T>(&mut self, length: usize) -> &'static [T] {
        let start = self.next.next_multiple_of(align_of::<T>());
        self.next = start + length * size_of::<T>();
        assert!(self.next <= self.end, "the stage is too small");
        // SAFETY: the memory stays mapped, has no other user, is aligned, and zero.
        unsafe { std::slice::from_raw_parts(start as *const T, length) }
    }
}
