//! Measurements with two CPUs.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::echo::with_thread;
use super::thread::{pin, speed};
use super::{rounds, Measured};
use crate::{Layout, Place};

/// Two CPUs of different cores, which share a cache if possible.
pub fn apart(layout: &Layout, allowed: &[u32]) -> Option<(u32, u32)> {
    let of = |closer: &dyn Fn(&Place, &Place) -> bool| pair(layout, allowed, closer);
    of(&|a, b| a.core != b.core && a.cache == b.cache).or_else(|| of(&|a, b| a.core != b.core))
}

/// Two threads of one core.
pub fn siblings(layout: &Layout, allowed: &[u32]) -> Option<(u32, u32)> {
    pair(layout, allowed, &|a, b| a.core == b.core)
}

/// The first two CPUs that this process may use and that `fit` accepts.
fn pair(
    layout: &Layout,
    allowed: &[u32],
    fit: &dyn Fn(&Place, &Place) -> bool,
) -> Option<(u32, u32)> {
    let usable = || {
        layout
            .cpus
            .iter()
            .filter(|cpu| allowed.contains(&cpu.number))
    };
    usable().find_map(|a| {
        let b = usable().find(|b| b.number > a.number && fit(a, b))?;
        Some((a.number, b.number))
    })
}

/// Time to take a lock that another CPU held last: two cache lines, the lock and the data.
pub fn lock_transfer(a: u32, b: u32) -> io::Result<Measured> {
    let (turn, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let trips = 20_000;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _pinned = pin(b)?;
            while !over.load(Ordering::Relaxed) {
                if turn.load(Ordering::Acquire) == 1 {
                    turn.store(0, Ordering::Release);
                }
            }
            io::Result::Ok(())
        });
        let figure = pin(a).and_then(|_pinned| {
            rounds(|| {
                let begun = Instant::now();
                for _ in 0..trips {
                    turn.store(1, Ordering::Release);
                    while turn.load(Ordering::Acquire) == 1 {
                        if begun.elapsed() > Duration::from_secs(5) {
                            return Err(io::Error::other(
                                "the thread on the other CPU does not respond",
                            ));
                        }
                    }
                }
                // A round trip moves the line twice; so does a lock with its data.
                Ok(begun.elapsed().as_nanos() as f64 / f64::from(trips))
            })
        });
        over.store(true, Ordering::Relaxed);
        other
            .join()
            .map_err(|_| io::Error::other("a measuring thread failed"))??;
        figure
    })
}

/// Time to wake a thread on a CPU that has idled: half a round trip, minus half of one on a busy
/// CPU.
pub fn idle_exit(a: u32, b: u32) -> io::Result<Measured> {
    let apart = round_trip_ns(a, b)?;
    let together = round_trip_ns(a, a)?;
    let difference = |of: fn(&Measured) -> f64| (of(&apart) - of(&together)).max(0.0) / 2.0;
    Ok(Measured {
        median: difference(|m| m.median),
        low: difference(|m| m.low),
        high: difference(|m| m.high),
        rounds: apart.rounds,
    })
}

/// Round-trip time of a byte between threads on these CPUs; both sleep before each trip.
fn round_trip_ns(a: u32, b: u32) -> io::Result<Measured> {
    let _pinned = pin(a)?;
    with_thread(b, |echo| {
        rounds(|| {
            let mut total = 0;
            for _ in 0..50 {
                std::thread::sleep(Duration::from_micros(500));
                let begun = Instant::now();
                echo.round_trip()?;
                total += begun.elapsed().as_nanos();
            }
            Ok(total as f64 / 50.0)
        })
    })
}

/// Speed of a CPU while its sibling computes, in thousandths of its speed while the sibling idles.
pub fn smt_speed_milli(a: u32, b: u32) -> io::Result<Measured> {
    let _pinned = pin(a)?;
    let (mine, theirs) = (AtomicU64::new(0), AtomicU64::new(0));
    rounds(|| {
        let time = Duration::from_millis(20);
        let alone = speed(&mine, time);
        let together = std::thread::scope(|scope| {
            let other = scope.spawn(|| pin(b).map(|_pinned| speed(&theirs, time * 3)));
            std::thread::sleep(time / 2);
            let together = speed(&mine, time);
            other
                .join()
                .map_err(|_| io::Error::other("a measuring thread failed"))??;
            io::Result::Ok(together)
        })?;
        Ok((1000.0 * together / alone).min(1000.0))
    })
}
