//! The memory that a million tasks take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::script::*;
use schedlab_measure::Measure;
use schedlab_trace::{PrevState, Sink, Time};

/// The system's allocator, with a count of what is allocated and the most there ever was.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(by: usize) {
    PEAK.fetch_max(NOW.fetch_add(by, Relaxed) + by, Relaxed);
}

// SAFETY: everything is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks grow in place or by remapping, so old and new are not there at once.
        grow(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_million_tasks_cost_less_than_400_bytes_each() {
    const TASKS: u32 = 1_000_000;
    let mut measure = Measure::new();
    measure.begin(&simulated(4, &[]).info);
    for id in 0..TASKS {
        measure.task(&task_info(id, &format!("client-{id}"), "client"));
        measure.event(&exists(id));
    }
    let per_task = |bytes: usize| bytes / TASKS as usize;
    assert!(
        per_task(NOW.load(Relaxed)) < 300,
        "{}",
        per_task(NOW.load(Relaxed))
    );
    PEAK.store(0, Relaxed);
    for id in 0..TASKS {
        let now = u64::from(id) * 20;
        measure.event(&wakeup(now, 0, id));
        measure.event(&start(now + 5, 0, id));
        measure.event(&stop(now + 15, 0, id, PrevState::Sleeping));
    }
    measure.end(Time(u64::from(TASKS) * 20));
    let metrics = measure.finish();
    assert_eq!(metrics.accounting_error, None);
    assert_eq!(metrics.total.nr_switches, u64::from(TASKS));
    assert_eq!(metrics.tasks.len(), TASKS as usize);
    assert!(metrics.task_distributions_dropped);
    let peak = per_task(PEAK.load(Relaxed));
    assert!(peak < 400, "measuring and result together: {peak}");
}
