//! Measurements with threads on one CPU.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

use super::echo::with_thread;
use super::{each_ns, rounds, Measured};

/// CPUs this thread may use.
pub fn allowed() -> Vec<u32> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU as u32)
        .filter(|&cpu| set.is_set(cpu as usize))
        .collect()
}

/// Keeps this thread on a CPU until the guard is dropped.
pub struct Pinned(CpuSet);

/// Moves this thread to a CPU.
pub fn pin(cpu: u32) -> io::Result<Pinned> {
    let before = sched_getaffinity(None)?;
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set)?;
    Ok(Pinned(before))
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error is impossible: these CPUs were allowed before.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// Time of a system call.
pub fn syscall(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    rounds(|| {
        each_ns(20_000, || {
            // SAFETY: it takes no arguments and cannot fail.
            unsafe { libc::syscall(libc::SYS_getppid) };
            Ok(())
        })
    })
}

/// Context switches of this thread.
fn switches() -> u64 {
    // SAFETY: an all-zero `rusage` is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}

/// Time of a switch between two threads that call sched_yield(), minus the system call.
pub fn context_switch(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    let call = syscall(cpu)?.median;
    with_rival(|| {
        rounds(|| {
            let (before, begun) = (switches(), Instant::now());
            let yields = 4000;
            for _ in 0..yields {
                std::thread::yield_now();
            }
            let ns = begun.elapsed().as_nanos() as f64;
            // The other thread switches as often as this one.
            let left = (switches() - before) as f64;
            if left * 4.0 < f64::from(yields) {
                return Err(io::Error::other(
                    "sched_yield() rarely switches to the other thread",
                ));
            }
            Ok((ns - call * (f64::from(yields) + left)) / (2.0 * left))
        })
    })
}

/// Runs `work` while another thread on the same CPU calls sched_yield() in a loop.
fn with_rival<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// Time to wake a thread through a pipe: a round trip on one CPU, minus the time of read, write and
/// switches.
pub fn wakeup(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    let switch = context_switch(cpu)?.median;
    let (mut reader, mut writer) = io::pipe()?;
    with_thread(cpu, |echo| {
        rounds(|| {
            let alone = each_ns(2000, || {
                writer.write_all(&[0])?;
                reader.read_exact(&mut [0])
            })?;
            let round_trip = each_ns(2000, || echo.round_trip())?;
            Ok(round_trip / 2.0 - alone - switch)
        })
    })
}

/// Time that a tick takes from a computing thread: the median of gaps that occur at the tick's
/// rate.
pub fn tick(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    let mut gaps = Vec::new();
    for _ in 0..20 {
        let (begun, mut last) = (Instant::now(), Instant::now());
        while begun.elapsed() < Duration::from_millis(50) {
            let now = Instant::now();
            let gap = (now - last).as_nanos() as f64;
            // Shorter gaps are the loop itself, longer ones are other tasks.
            if (500.0..50_000.0).contains(&gap) {
                gaps.push(gap);
            }
            last = now;
        }
    }
    match gaps.len() {
        0..=20 => Err(io::Error::other(
            "too few ticks were measured: the kernel may be tickless",
        )),
        _ => Ok(Measured::of(gaps)),
    }
}

/// Increments the counter for `time`; returns the increments per second.
pub fn speed(counter: &AtomicU64, time: Duration) -> f64 {
    let (begun, before) = (Instant::now(), counter.load(Ordering::Relaxed));
    while begun.elapsed() < time {
        let mut x = counter.load(Ordering::Relaxed);
        for _ in 0..2000 {
            x = std::hint::black_box(x.wrapping_add(1));
        }
        counter.store(x, Ordering::Relaxed);
    }
    (counter.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64()
}
