//! Measures the time to load a working set into the cache.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use super::thread::pin;
use super::{rounds, Measured};

const LINE_BYTES: usize = 64;

/// A working set that fits into most caches.
const SET_BYTES: usize = 1 << 20;

/// Most memory that is read to evict it.
const MOST_BYTES: u64 = 512 << 20;

/// Additional time for each line of a working set after it was evicted.
///
/// # Errors
/// The cache is too large to be evicted.
pub fn refill_line(cpu: u32, cache_bytes: Option<u64>) -> io::Result<Measured> {
    let cache_bytes = cache_bytes.unwrap_or(32 << 20);
    let evict_bytes = cache_bytes.saturating_mul(2);
    if evict_bytes > MOST_BYTES {
        return Err(io::Error::other("the cache is too large to be evicted"));
    }
    let _pinned = pin(cpu)?;
    let set = vec![1u8; SET_BYTES];
    let mut others = vec![1u8; evict_bytes as usize];
    let lines = SET_BYTES / LINE_BYTES;
    rounds(|| {
        walk(&set);
        let begun = Instant::now();
        walk(&set);
        let warm = begun.elapsed().as_nanos() as f64;
        for at in (0..others.len()).step_by(LINE_BYTES) {
            others[at] = others[at].wrapping_add(1);
        }
        let begun = Instant::now();
        walk(&set);
        let cold = begun.elapsed().as_nanos() as f64;
        Ok((cold - warm).max(0.0) / lines as f64)
    })
}

/// Reads each line once, in an order that prefetchers cannot predict.
fn walk(set: &[u8]) {
    let lines = set.len() / LINE_BYTES;
    let mut sum = 0u64;
    for i in 0..lines {
        // An odd multiplier modulo a power of two visits every line once.
        let line = i.wrapping_mul(0x9e37_79b1) % lines;
        sum += u64::from(set[line * LINE_BYTES]);
    }
    black_box(sum);
}
