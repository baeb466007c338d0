//! Speed of work: SMT, slow CPUs, caches.

use crate::common::lab::{fork, run, sleep, times, Lab};
use schedlab_machine::Machine;
use schedlab_workload::Op;

/// Two CPUs of one core; both busy, each runs at 614/1024, which is 600/1000 rounded down.
fn smt(m: &mut Machine) {
    m.cpus[1].core = 0;
    m.smt_speed_milli = 600;
}

#[test]
fn a_busy_sibling_slows_a_burst_and_its_leaving_speeds_it_up_to_the_ns() {
    // Task 0 has 10 ms from 0 on.  Task 1 has 3 ms from 2 ms on.
    // Until 2 ms: 2,000,000 ns * 1024 units; left 8,192,000,000.
    // Task 1 needs 3,072,000,000 / 614 = 5,003,257.33 ns, so it ends 5,003,258 ns later.
    // Task 0 does 5,003,258 * 614 = 3,072,000,412 meanwhile; left 5,119,999,588, at 1024 a ns
    // 4,999,999.6 ns, so 5,000,000.
    let ran = Lab::new(2)
        .task(vec![run(10_000)])
        .task(vec![run(3000)])
        .at(2000)
        .machine(smt)
        .run();
    assert_eq!(ran.exit_ns(1), 7_003_258);
    assert_eq!(ran.exit_ns(0), 12_003_258);
}

#[test]
fn a_sibling_that_only_sleeps_slows_nobody() {
    let ran = Lab::new(2)
        .task(vec![run(10_000)])
        .task(vec![sleep(5000)])
        .machine(smt)
        .run();
    assert_eq!(ran.exit_ns(0), 10_000_000);
}

#[test]
fn a_slow_cpu_takes_longer() {
    // Capacity 256 of 1024: four times as long, to the ns; 300: 1 ms takes 3,413,333.33 ns.
    for (capacity, ns) in [(256, 4_000_000), (300, 3_413_334), (1, 1_024_000_000)] {
        let ran = Lab::new(1)
            .task(vec![run(1000)])
            .machine(|m| m.cpus[0].capacity = capacity)
            .run();
        assert_eq!(ran.exit_ns(0), ns, "capacity {capacity}");
    }
}

#[test]
fn interruptions_lose_no_work_on_a_slow_cpu() {
    // Two of 15 ms on a CPU of 300/1024, switching every 10 ms: 30 ms * 1024 / 300 = 102.4 ms.
    let ran = Lab::new(1)
        .tasks(2, vec![run(15_000)])
        .machine(|m| m.cpus[0].capacity = 300)
        .run();
    assert_eq!(ran.exit_ns(1), 102_400_000);
}

/// A cache of 1 MB, 10 ns a byte to refill.
fn cached(m: &mut Machine) {
    for cache in &mut m.caches {
        cache.size_bytes = 1_000_000;
        cache.refill_ps_per_byte = 10_000;
    }
}

fn using(bytes: u64) -> impl Fn(&mut schedlab_workload::TaskSpec) {
    move |t| t.working_set_bytes = bytes
}

#[test]
fn others_push_out_what_does_not_fit_beside_theirs() {
    // 0: 600 KB, 6 ms of stall, 8 ms of work: 0-14 ms.  1: 600 KB too, from 14 ms: 14-28.
    // Back at 28, task 0 finds 1,000 - 600 = 400 KB: 2 ms of stall and 8 of work: 38 ms.
    let (post, wait) = (Op::SemPost, Op::SemWait);
    let ran = Lab::new(1)
        .task(vec![run(8000), post(0), wait(1), run(8000)])
        .but(using(600_000))
        .task(vec![wait(0), run(8000), post(1)])
        .but(using(600_000))
        .with(|w| w.semaphores = vec![0, 0])
        .run_with(cached);
    assert_eq!(ran.exit_ns(0), 38_000_000);
}

#[test]
fn both_stay_warm_where_both_fit() {
    let (post, wait) = (Op::SemPost, Op::SemWait);
    let ran = Lab::new(1)
        .task(vec![run(8000), post(0), wait(1), run(8000)])
        .but(using(400_000))
        .task(vec![wait(0), run(8000), post(1)])
        .but(using(600_000))
        .with(|w| w.semaphores = vec![0, 0])
        .run_with(cached);
    // 4 + 8, 6 + 8, and 8 without a stall.
    assert_eq!(ran.exit_ns(0), 34_000_000);
}

#[test]
fn what_is_used_again_stays_and_what_is_not_goes() {
    // 0 brings in 600 KB (6 + 8 ms: 14), 1 its 400 KB (4 + 8: 26): the cache is full.  0 uses its own
    // again (8: 34).  2 brings in 400 KB (4 + 8: 46): those of 1 go, as 0's were used since.
    // So 1 is cold again (4 + 8: 58).
    let (post, wait) = (Op::SemPost, Op::SemWait);
    let ran = Lab::new(1)
        .task(vec![run(8000), post(0), wait(1), run(8000), post(2)])
        .but(using(600_000))
        .task(vec![wait(0), run(8000), post(1), wait(3), run(8000)])
        .but(using(400_000))
        .task(vec![wait(2), run(8000), post(3)])
        .but(using(400_000))
        .with(|w| w.semaphores = vec![0; 4])
        .run_with(cached);
    assert_eq!(ran.exit_ns(1), 58_000_000);
}

#[test]
fn tasks_that_do_not_fit_together_stay_cold_however_short_their_turns() {
    // Three of 500 KB take turns of 1 ms of work; 1 MB holds two.  A turn at half speed brings in
    // 100 KB: 100, 200, 300 KB each, 900 in all.  From then on a task finds what the 400 and 400, or
    // 400 and 300, of the other two leave: 200 or 300 KB, and brings in 100 again.  Nobody ever has
    // 500, so all 60 turns take 2 ms.
    let (post, wait) = (Op::SemPost, Op::SemWait);
    let turns = |from, to| times(20, &[wait(from), run(1000), post(to)]);
    let ran = Lab::new(1)
        .task(turns(0, 1))
        .but(using(500_000))
        .task(turns(1, 2))
        .but(using(500_000))
        .task(turns(2, 0))
        .but(using(500_000))
        .with(|w| w.semaphores = vec![1, 0, 0])
        .run_with(cached);
    assert_eq!(ran.exit_ns(2), 120_000_000);
}

#[test]
fn a_refill_that_is_interrupted_goes_on_where_it_was() {
    // 1 MB: 10 ms of stall in 20 ms at half speed.  After 10 ms (a slice) half of it is there.
    // Task 1, without memory of its own, has 3 ms.  Then the other half: 10 ms, and of its 30 ms
    // of work it has done 5 and 5: 20 more.
    let ran = Lab::new(1)
        .task(vec![run(30_000)])
        .but(using(1_000_000))
        .task(vec![run(3000)])
        .run_with(cached);
    assert_eq!(ran.exits()[0], (13_000, 1));
    assert_eq!(ran.exit_ns(0), 43_000_000);
}

#[test]
fn another_cache_is_cold_and_a_shared_one_is_not() {
    // 100 KB: 1 ms of stall on CPU 0, then the task goes over to CPU 1.
    let lab = |shared: bool| {
        Lab::new(2)
            .task(vec![run(2000), Op::SetCpus(Some(0)), run(2000)])
            .but(using(100_000))
            .with(|w| w.cpu_sets = vec![vec![1]])
            .machine(|m| {
                if !shared {
                    m.caches = vec![m.caches[0]; 2];
                    m.cpus[1].cache = 1;
                } else {
                    m.caches.truncate(1);
                    m.cpus[1].cache = 0;
                }
            })
            .run_with(cached)
    };
    assert_eq!(lab(true).exit_ns(0), 5_000_000);
    assert_eq!(lab(false).exit_ns(0), 6_000_000);
}

#[test]
fn what_exceeds_the_cache_is_part_of_the_normal_speed() {
    // 5 MB in a cache of 1 MB: 10 ms of stall, once.
    let ran = Lab::new(1)
        .task(vec![run(15_000), sleep(1000), run(5000)])
        .but(using(5_000_000))
        .run_with(cached);
    assert_eq!(ran.exit_ns(0), 31_000_000);
}

#[test]
fn a_child_starts_cold() {
    let ran = Lab::new(1)
        .task(vec![run(2000), fork(1), Op::WaitAll])
        .but(using(100_000))
        .template(vec![run(2000)])
        .but(using(100_000))
        .run_with(cached);
    assert_eq!(ran.exit_ns(1), 6_000_000);
}

#[test]
fn a_working_set_left_behind_has_pushed_others_out() {
    // 0 warms up 600 KB (6 + 8 ms).  1 brings in 700 KB (7 + 8 ms) and then forgets them for
    // 1 KB (10 µs + 1 ms).  Of 0's memory 1,000 - 701 = 299 KB are left: 3.01 ms of stall.
    let (post, wait) = (Op::SemPost, Op::SemWait);
    let ran = Lab::new(1)
        .task(vec![run(8000), post(0), wait(1), run(8000)])
        .but(using(600_000))
        .task(vec![
            wait(0),
            run(8000),
            Op::WorkingSet(1000),
            run(1000),
            post(1),
        ])
        .but(using(700_000))
        .with(|w| w.semaphores = vec![0, 0])
        .run_with(cached);
    assert_eq!(
        ran.exit_ns(0),
        14_000_000 + 15_000_000 + 1_010_000 + 3_010_000 + 8_000_000
    );
}
