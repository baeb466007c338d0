//! The guest's access to the shared memory: BAR 2 of a PCI device.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::channel::{Region, MAGIC};

const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// Vendor and device of QEMU's `ivshmem`.
const IVSHMEM: [&str; 2] = ["0x1af4", "0x1110"];

/// Size of a mapping; mapping all of a large range would only fill page tables.
const WINDOW: u64 = 4 << 20;

/// The shared memory.
pub struct SharedMemory {
    file: File,
    size: u64,
    first: Window,
    current: Window,
}

impl SharedMemory {
    /// Finds the device and enables it.
    ///
    /// # Errors
    /// No such device, or its memory is not schedlab's (`NotFound`), or it cannot be
    /// mapped.
    pub fn find() -> io::Result<SharedMemory> {
        let device = find_device()?;
        fs::write(device.join("enable"), "1")?;
        let path = device.join("resource2");
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let size = file.metadata()?.len();
        let first = Window::map(&file, 0, size)?;
        let current = Window::map(&file, 0, size)?;
        let memory = SharedMemory {
            file,
            size,
            first,
            current,
        };
        match memory.first.starts_with(&MAGIC) {
            true => Ok(memory),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Region for SharedMemory {
    fn size(&self) -> u64 {
        self.size
    }

    fn write_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let start = offset - offset % WINDOW;
            if self.current.start != start {
                self.current = Window::map(&self.file, start, self.size)?;
            }
            let copied = self.current.copy(offset - start, bytes);
            offset += copied as u64;
            bytes = &bytes[copied..];
        }
        Ok(())
    }

    fn publish(&mut self, offset: u64, number: u64) -> io::Result<()> {
        self.first.store(offset, number);
        Ok(())
    }
}

/// A mapped part of the memory.
struct Window {
    start: u64,
    address: *mut u8,
    length: usize,
}

impl Window {
    fn map(file: &File, start: u64, size: u64) -> io::Result<Window> {
        let length = WINDOW.min(size - start) as usize;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address the kernel chooses touches no memory of ours.
        let address = unsafe {
            mmap(
                ptr::null_mut(),
                length,
                access,
                MapFlags::SHARED,
                file,
                start,
            )?
        };
        Ok(Window {
            start,
            address: address.cast(),
            length,
        })
    }

    /// Copies the bytes that fit into the window at `offset`; returns their number.
    fn copy(&mut self, offset: u64, bytes: &[u8]) -> usize {
        let offset = offset as usize;
        assert!(offset < self.length, "{offset} is outside the window");
        let count = bytes.len().min(self.length - offset);
        // SAFETY: both ranges have `count` bytes, and device memory never overlaps `bytes`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.add(offset), count) };
        count
    }

    fn store(&mut self, offset: u64, number: u64) {
        let offset = offset as usize;
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.length);
        // SAFETY: inside the mapping, aligned, and no other code of this process accesses it.
        let place = unsafe { AtomicU64::from_ptr(self.address.add(offset).cast()) };
        place.store(number.to_le(), Ordering::Release);
    }

    fn starts_with(&self, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= self.length);
        // SAFETY: inside the mapping; the host writes these bytes only before the guest starts.
        let start = unsafe { std::slice::from_raw_parts(self.address, bytes.len()) };
        start == bytes
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: this process mapped it, and no reference into it is left.
        let _ = unsafe { munmap(self.address.cast(), self.length) };
    }
}

fn find_device() -> io::Result<PathBuf> {
    for entry in fs::read_dir(PCI_DEVICES)? {
        let path = entry?.path();
        let ids = ["vendor", "device"].map(|name| read_word(&path, name));
        if ids == IVSHMEM.map(str::to_string) {
            return Ok(path);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn read_word(folder: &Path, name: &str) -> String {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
    text.trim().to_string()
}
