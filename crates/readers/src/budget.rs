//! Limits the decompressed size of a recording, so that a small file cannot fill the memory.

use std::cell::Cell;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// Bytes that every recording may decompress to.
const ALWAYS: u64 = 256 << 20;

/// Decompressed size relative to the file, at most; xz compresses perf script's text about 30
/// times.
const RATIO: u64 = 100;

/// Counts the bytes read and decompressed, of all layers of compression together.
#[derive(Clone, Default)]
pub struct Budget {
    counted: Rc<Counted>,
    /// The user's limit; `None`: see [`Budget::limit`].
    allowed: Option<u64>,
}

#[derive(Default)]
struct Counted {
    compressed: Cell<u64>,
    plain: Cell<u64>,
}

/// A recording decompresses to more than its limit.
#[derive(Debug)]
pub struct TooLarge {
    limit: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.limit >> 20;
        write!(f, "the recording decompresses to more than {mib} MiB")
    }
}

impl std::error::Error for TooLarge {}

impl TooLarge {
    /// The error inside an I/O error, if it is this one.
    pub fn of(error: &io::Error) -> Option<&TooLarge> {
        error.get_ref()?.downcast_ref()
    }
}

impl Budget {
    /// A budget of `allowed` bytes; `None`: the default for the file's size.
    pub fn new(allowed: Option<u64>) -> Budget {
        Budget {
            allowed,
            ..Budget::default()
        }
    }

    /// Counts bytes read from the file.
    pub fn read(&self, bytes: u64) {
        let compressed = &self.counted.compressed;
        compressed.set(compressed.get().saturating_add(bytes));
    }

    /// Counts decompressed bytes.
    ///
    /// # Errors
    /// The limit is exceeded.
    pub fn decompressed(&self, bytes: u64) -> io::Result<()> {
        let plain = self.counted.plain.get().saturating_add(bytes);
        self.counted.plain.set(plain);
        let limit = self.limit();
        match plain <= limit {
            true => Ok(()),
            false => Err(io::Error::other(TooLarge { limit })),
        }
    }

    /// The user's limit; otherwise by the size of the file, and at most the machine's memory.
    fn limit(&self) -> u64 {
        self.allowed.unwrap_or_else(|| {
            let usual = RATIO.saturating_mul(self.counted.compressed.get());
            usual.min(memory()).max(ALWAYS)
        })
    }
}

/// The machine's memory in bytes, if it is known.
fn memory() -> u64 {
    let known = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = known
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib << 10)
}

/// A file that counts the bytes read.
pub struct CountedFile<R> {
    pub inner: R,
    pub budget: Budget,
}

impl<R: Read> Read for CountedFile<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.budget.read(length as u64);
        Ok(length)
    }
}

/// Decompressed bytes in memory, counted when written.
#[derive(Default)]
pub struct Inflated {
    pub bytes: Vec<u8>,
    budget: Budget,
}

impl Inflated {
    pub fn new(budget: Budget) -> Inflated {
        Inflated {
            bytes: Vec::new(),
            budget,
        }
    }
}

impl Write for Inflated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.budget.decompressed(bytes.len() as u64)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_the_file() {
        let budget = Budget::new(None);
        assert!(budget.decompressed(ALWAYS).is_ok());
        let refused = budget.decompressed(1).unwrap_err();
        assert_eq!(TooLarge::of(&refused).unwrap().limit, ALWAYS);
        budget.read(4 << 20);
        assert!(budget.decompressed(1).is_ok());
    }

    #[test]
    fn the_user_decides() {
        let budget = Budget::new(Some(10));
        budget.read(1 << 20);
        assert!(budget.decompressed(10).is_ok());
        assert!(budget.decompressed(1).is_err());
    }
}
