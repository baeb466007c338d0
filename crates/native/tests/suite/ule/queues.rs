//! Current and next: the queue of each task, and when the two are exchanged.

use super::*;

/// Every task starts as a shell's child: 0.5 s of sleep.
fn interactive() -> Machine {
    Machine::new("ule", 1, &[])
}

#[test]
fn hogs_take_turns_by_two_queues() {
    let mut m = up(&[]);
    let a = hog_on(&mut m, 0, 0);
    let [b, c] = [0; 2].map(|nice| m.start(&normal(nice)));
    // Blank threads score 0 and are interactive; b at 160 preempts a at 223.
    assert_eq!(current(&m, 0), [b, c]);
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(current(&m, 0), [c, a], "a has slice left");
    m.ticks(0, 1); // b is a hog, too.
    assert_eq!(m.schedule(0), Some(c));
    assert_eq!(next(&m, 0), [b]);
    m.ticks(0, 1);
    assert_eq!(m.schedule(0), Some(a));
    assert_eq!(next(&m, 0), [b, c]);
    assert!(!m.ticks(0, 13));
    assert!(m.ticks(0, 1), "14 ticks");
    // Current is empty, and next takes its place.
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!((current(&m, 0), next(&m, 0)), (vec![c, a], vec![]));
}

#[test]
fn an_interactive_thread_is_filed_under_current_again_and_again() {
    let mut m = interactive();
    let hog = run_on(&mut m, 0, &normal(0));
    // 50 ticks asleep: score n * 1024 / 1024 = n after n ticks of running; interactive below 30.
    for ran in 1..30 {
        assert!(m.ticks(0, 1), "slices of one tick");
        assert_eq!(m.schedule(0), Some(hog));
        assert_eq!(thread(&m, hog).runq, kseq(&m, 0).curr as usize, "{ran}");
    }
    m.ticks(0, 1);
    assert_eq!(thread(&m, hog).runq, kseq(&m, 0).next as usize);
    assert_eq!(thread(&m, hog).slice, 14);
}

#[test]
fn a_preempted_thread_goes_to_the_back_of_its_bucket_with_the_rest_of_its_slice() {
    let mut m = up(&[]);
    let a = hog_on(&mut m, 0, 0);
    let b = m.start(&normal(0));
    m.schedule(0);
    m.ticks(0, 1);
    assert_eq!(m.schedule(0), Some(a), "b is filed under next");
    m.ticks(0, 5);
    let c = m.start(&normal(0));
    assert_eq!(m.asked(), [0]);
    assert_eq!(m.schedule(0), Some(c));
    assert_eq!(thread(&m, a).slice, 14 - 5);
    assert_eq!((current(&m, 0), next(&m, 0)), (vec![a], vec![b]));
}

#[test]
fn every_wakeup_goes_to_current_at_kernel_priority_and_preempts() {
    let mut m = up(&[]);
    let sleeper = hog_on(&mut m, 0, 10); // a hog, and nice
    m.ticks(0, 100);
    m.block(0);
    let hog = hog_on(&mut m, 0, 0);
    assert_eq!(m.after(10_000_000).wake(sleeper), [0]);
    assert_eq!(thread(&m, sleeper).pri, 92, "PWAIT");
    assert_eq!(current(&m, 0), [sleeper]);
    assert_eq!(m.schedule(0), Some(sleeper));
    assert_eq!(thread(&m, sleeper).pri, 223, "back in user mode");
    assert_eq!(current(&m, 0), [hog]);
    // Preempted now, in user mode, it would stay under current until its slice is over.
    assert_eq!(thread(&m, sleeper).runq, kseq(&m, 0).curr as usize);
}

#[test]
fn a_real_time_thread_still_comes_before_the_woken() {
    let mut m = up(&[]);
    let rt = run_on(&mut m, 0, &real_time(schedlab_policy::Class::Fifo, 99));
    let task = m.add(&normal(0));
    m.block(0);
    m.schedule(0);
    assert_eq!(m.wake(rt), [0]);
    m.schedule(0);
    assert_eq!(thread(&m, rt).pri, 128);
    assert_eq!(m.wake(task), [], "it has not slept in the kernel: 160");
}

#[test]
fn without_a_slice_a_thread_waits_until_all_less_nice_are_gone() {
    // Claim C33.
    let mut m = up(&[]);
    let important = hog_on(&mut m, 0, -20);
    let nice = m.start(&normal(0)); // 20 levels: beyond the window once it is no longer interactive
    assert_eq!(
        m.schedule(0),
        Some(nice),
        "at 160 against 204: it comes as interactive"
    );
    m.ticks(0, 1);
    assert_eq!(thread(&m, nice).slice, 0);
    for _ in 0..20 {
        assert_eq!(m.schedule(0), Some(important));
        m.ticks(0, 14);
    }
    // When it is looked at its slice is computed anew, still 0, and it goes to the next queue.
    m.schedule(0);
    assert_eq!(thread(&m, nice).slice, 0);
    assert_eq!(history(&m, nice), (0, 1));
    assert_eq!(m.block(0), Some(nice), "alone: it has a slice");
    assert_eq!(thread(&m, nice).slice, 14);
}

#[test]
fn yield_goes_behind_all_of_current() {
    let mut m = up(&[]);
    let [a, b] = [0; 2].map(|nice| m.start(&normal(nice)));
    m.schedule(0);
    assert_eq!(m.yields(0), Some(b), "a at 223 against b at 160");
    assert_eq!(current(&m, 0), [a]);
    assert_eq!(m.yields(0), Some(a), "behind it in the bucket");
    assert_eq!(thread(&m, a).pri, 160, "for this once only");
}

#[test]
fn a_lone_thread_yields_to_itself() {
    let mut m = up(&[]);
    let task = run_on(&mut m, 0, &normal(0));
    assert_eq!(m.yields(0), Some(task));
}

#[test]
fn r3_files_a_hog_under_current_when_its_score_moved() {
    // Section 1.9, 6: a blank thread at 160 becomes a hog at 223.
    for (rule, current) in [(2, false), (3, true), (4, true)] {
        let mut m = up(&[("curr_rule", rule)]);
        let task = run_on(&mut m, 0, &normal(0));
        m.ticks(0, 1);
        let at = thread(&m, task).runq;
        assert_eq!(at == kseq(&m, 0).curr as usize, current, "rule {rule}");
    }
}

#[test]
fn a_choice_looks_at_one_thread_however_many_there_are() {
    // Claim C36.
    for n in [10, 1000] {
        let mut m = up(&[]);
        let hogs: Vec<TaskId> = (0..n).map(|_| m.start(&normal(0))).collect();
        m.schedule(0);
        for _ in 0..2 * hogs.len() {
            m.ticks(0, 1);
            m.work();
            m.schedule(0);
            assert_eq!(m.work().examined, 1, "{n} threads");
        }
    }
}

#[test]
fn everybody_with_a_slice_runs_once_in_two_switches_of_the_queues() {
    // Claim C14, one bound: with 5 hogs no task waits longer than the slices of the four others.
    let mut m = up(&[]);
    let nice = [0, 3, 6, 9, 12];
    let hogs = nice.map(|nice| m.start(&normal(nice)));
    m.schedule(0);
    let mut last = [0u32; 5];
    let mut tick = 0;
    for _ in 0..500 {
        let running = m.running(0).unwrap();
        let index = hogs.iter().position(|&t| t == running).unwrap();
        // Slices of diff 0, 3, 6, 9, 12: 14, 12, 10, 8, 6, together 50.
        assert!(
            tick - last[index] <= 50 + 14,
            "task {index} waited since {}",
            last[index]
        );
        while !m.ticks(0, 1) {
            tick += 1;
        }
        tick += 1;
        last[index] = tick;
        m.schedule(0);
    }
    assert!(last.iter().all(|&l| tick - l <= 64));
}

#[test]
fn beyond_the_nice_window_not_even_a_wakeup_helps() {
    // It preempts, is looked at, has no slice and goes to next.
    let mut m = up(&[]);
    let sleeper = hog_on(&mut m, 0, 19);
    m.ticks(0, 100);
    m.block(0);
    let hog = hog_on(&mut m, 0, 0);
    assert_eq!(m.after(10_000_000).wake(sleeper), [0]);
    assert_eq!(m.schedule(0), Some(hog));
    assert_eq!(next(&m, 0), [sleeper]);
}
