//! The purpose of the patch: three hogs, with and without a light task that calls schedule() often.

use super::*;

/// Which of three hogs of nice 0 has the CPU in each of `n` ticks.  If `light` is there, it wakes
/// and blocks again right after every tick; it is worth more than they are (11 + 20, a sleeper's).
fn hogs(name: &str, light: bool, n: u32) -> Vec<usize> {
    let mut m = up(name);
    let x = m.add(&normal(0));
    epochs(&mut m, 3);
    let [c, b, a] = [0; 3].map(|nice| m.start(&normal(nice)));
    let names = [a, b, c]; // the last to start is at the front
    m.schedule(0);
    let mut ran = Vec::new();
    for _ in 0..n {
        if light {
            assert_eq!(m.wake(x), [0]);
            assert_eq!(m.schedule(0), Some(x));
            m.block(0);
        }
        let hog = m.running(0);
        ran.push(names.iter().position(|&t| Some(t) == hog).unwrap());
        if m.ticks(0, 1) {
            m.schedule(0);
        }
    }
    ran
}

/// (hog, ticks at a stretch)
fn runs(ticks: &[usize]) -> Vec<(usize, usize)> {
    let stretch = |run: &[usize]| (run[0], run.len());
    ticks.chunk_by(|a, b| a == b).map(stretch).collect()
}

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

#[test]
fn stock_hogs_take_turns_at_every_tick_beside_a_light_task() {
    // A falls to 25, B and C have 26: B.  B falls to 25: C.  All have 25: A, at the front.
    let ran = hogs("affinity24:stock", true, 54);
    assert_eq!(ran, [A, B, C].repeat(18));
}

#[test]
fn patched_hogs_run_for_their_whole_slices_beside_a_light_task() {
    // All have 26 until one has 0; of those with 26 the front one runs whenever X blocks.  The last
    // of an epoch would start the next, being in its own address space, were it not for X.
    for name in ["affinity24", "affinity24:2.4.16"] {
        let ran = hogs(name, true, 54);
        let epoch = [(A, 6), (B, 6), (C, 6)];
        assert_eq!(runs(&ran), epoch.repeat(3), "{name}");
    }
}

#[test]
fn without_a_light_task_the_patch_changes_nothing() {
    // 6 ticks each an epoch.  The last of an epoch has 6 + 20 + 1 in its own address space and starts
    // the next, then the others from the front: 6 and 12 in turn, 9 on average.
    let expected = [
        (A, 6),
        (B, 6),
        (C, 12),
        (A, 6),
        (B, 12),
        (A, 6),
        (C, 12),
        (A, 6),
        (B, 6),
    ];
    for name in VARIANTS {
        assert_eq!(runs(&hogs(name, false, 72)), expected, "{name}");
    }
}

#[test]
fn a_woken_task_of_equal_goodness_waits_where_stock_let_it_preempt() {
    // Both have a fresh slice of 6.  After a tick the hog has 25 + 1 (stock: wakes with 26, no gain)
    // and after two 24 + 1; patched it has 26 + 1 until its slice ends.
    for (name, asked) in [
        ("affinity24", [vec![], vec![]]),
        ("affinity24:stock", [vec![], vec![0]]),
    ] {
        let mut m = up(name);
        let [x, y] = [0; 2].map(|nice| m.add(&normal(nice)));
        running(&mut m, 0);
        m.ticks(0, 1);
        assert_eq!(m.wake(x), asked[0], "{name}");
        m.ticks(0, 1);
        assert_eq!(m.wake(y), asked[1], "{name}");
    }
}
