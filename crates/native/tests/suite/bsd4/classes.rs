//! Real-time, idle and interrupt classes.

use super::*;

fn ithread(rt_priority: u8) -> NewTask {
    NewTask {
        mm: 0,
        ..real_time(Class::Fifo, rt_priority)
    }
}

#[test]
fn classes_are_ranges_of_priorities() {
    // Real-time: 31 - (rt - 1) * 32 / 99, interrupt: 63 - (rt - 1) * 64 / 99, idle: (nice + 20) * 32 / 40.
    let idle = |nice| with_class(Class::Idle, nice);
    let table = [
        (ithread(99), 0, -32),  // 98 * 64 / 99 = 63
        (ithread(50), 32, -16), // 63 - 49 * 64 / 99 = 63 - 31; 31 - 49 * 32 / 99 = 31 - 15
        (ithread(1), 63, -1),
        (real_time(Class::Rr, 99), 128, -32), // 98 * 32 / 99 = 31
        (real_time(Class::Fifo, 50), 144, -16),
        (real_time(Class::Rr, 1), 159, -1),
        (with_class(Class::Batch, 0), 180, 50),
        (idle(-20), 224, 128),
        (idle(0), 240, 144),
        (idle(19), 255, 159), // 39 * 32 / 40 = 31
    ];
    for (new, five, four) in table {
        for (name, pri) in [("bsd4:5.x", five), ("bsd4:4.x", four)] {
            let mut m = Machine::new(name, 1, &[]);
            let task = m.add(&new);
            assert_eq!(m.priority(task), pri, "{name}, {new:?}");
        }
    }
}

#[test]
fn queues_of_the_classes() {
    // 5.x: priority / 4.  4.x: 32 for the real-time priorities, 32 of four each, 32 for the idle ones.
    // 99 and 97 share a level in both (98 and 96 * 32 / 99 = 31), 95 does not in 4.x (94 * 32 / 99 = 30).
    let new = [
        real_time(Class::Rr, 99),
        real_time(Class::Rr, 97),
        real_time(Class::Rr, 95),
        normal(0),
        with_class(Class::Idle, 0),
    ];
    let start = |name: &str| {
        let mut m = Machine::new(name, 1, &[]);
        run_alone(&mut m, &real_time(Class::Fifo, 99));
        let tasks = new.map(|new| m.start(&new));
        (tasks, queues(&m))
    };
    let ([a, b, c, d, e], found) = start("bsd4:5.x");
    assert_eq!(found, [(32, vec![a, b, c]), (45, vec![d]), (60, vec![e])]);
    let ([a, b, c, d, e], found) = start("bsd4:4.x");
    let levels = [(0, vec![a, b]), (1, vec![c]), (44, vec![d]), (144, vec![e])];
    assert_eq!(found, levels);
}

#[test]
fn usage_is_charged_but_moves_no_class() {
    for name in VARIANTS {
        for new in [real_time(Class::Rr, 50), with_class(Class::Idle, 0)] {
            let mut m = Machine::new(name, 1, &[]);
            let task = run_alone(&mut m, &new);
            let pri = m.priority(task);
            m.ticks_at_once(0, 200);
            m.timers_for(SECOND / 2);
            assert_eq!((estcpu(&m, task), m.priority(task)), (200, pri));
        }
    }
}

#[test]
fn better_classes_preempt() {
    let classes = [
        with_class(Class::Idle, 0),
        with_class(Class::Normal, 0),
        real_time(Class::Rr, 1),
        ithread(1),
    ];
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[]);
        let mut running = run_alone(&mut m, &classes[0]);
        for new in &classes[1..] {
            let better = m.start(new);
            // A new task preempts no task before the next clock tick.
            assert_eq!(m.timers_for(100 * MS), [0]);
            assert_eq!(m.schedule(0), Some(better));
            running = better;
            if name == "bsd4:4.x" && new.rt_priority > 0 {
                break; // no interrupt threads: the last two are equals
            }
        }
        assert_eq!(m.running(0), Some(running));
    }
}

#[test]
fn fifo_takes_no_turns_and_rr_does() {
    for name in VARIANTS {
        for (class, turns) in [(Class::Fifo, 0), (Class::Rr, 1)] {
            let mut m = Machine::new(name, 1, &[]);
            let a = run_alone(&mut m, &real_time(class, 50));
            let b = m.start(&real_time(class, 50));
            assert_eq!(m.timers_for(100 * MS).len(), turns, "{name}, {class:?}");
            if turns == 1 {
                assert_eq!(m.schedule(0), Some(b));
                assert_eq!(queues(&m)[0].1, [a]);
            }
        }
    }
}

#[test]
fn five_x_wakes_everybody_at_kernel_priority() {
    // 92 is better than the 128 to 159 of the real-time class: a woken task preempts that, and then runs at
    // its user priority until the next clock tick.  In 4.x a task keeps its class.
    for (name, preempts) in [("bsd4:5.x", true), ("bsd4:4.x", false)] {
        for new in [with_class(Class::Idle, 0), normal(0)] {
            let mut m = Machine::new(name, 1, &[]);
            let sleeper = run_alone(&mut m, &new);
            m.block(0);
            let realtime = run_alone(&mut m, &real_time(Class::Rr, 99));
            assert_eq!(!m.wake(sleeper).is_empty(), preempts, "{name}");
            let next = if preempts { sleeper } else { realtime };
            assert_eq!(m.schedule(0), Some(next), "{name}");
            m.timers_for(100 * MS);
            assert_eq!(m.schedule(0), Some(realtime));
        }
    }
}

#[test]
fn idle_does_not_wake_above_its_class_in_4_x() {
    for (name, preempts) in [("bsd4:5.x", true), ("bsd4:4.x", false)] {
        let mut m = Machine::new(name, 1, &[]);
        let idle = run_alone(&mut m, &with_class(Class::Idle, 0));
        m.block(0);
        run_alone(&mut m, &normal(19));
        assert_eq!(!m.wake(idle).is_empty(), preempts, "{name}");
    }
}

#[test]
fn interrupt_threads_wait_at_their_own_priority() {
    let mut m = Machine::new("bsd4:5.x", 1, &[]);
    let thread = run_alone(&mut m, &ithread(50));
    m.block(0);
    run_alone(&mut m, &real_time(Class::Fifo, 99));
    assert_eq!(m.wake(thread), [0]);
    assert_eq!(queues(&m), [(32 / 4, vec![thread])]);
}

#[test]
fn a_new_class_counts_at_once() {
    for (name, queue) in [("bsd4:5.x", 32), ("bsd4:4.x", 0)] {
        let mut m = Machine::new(name, 1, &[]);
        let running = run_alone(&mut m, &normal(0));
        let waiting = m.start(&normal(0));
        assert_eq!(m.set_class(waiting, Class::Rr, 99), [0]);
        assert_eq!(queues(&m), [(queue, vec![waiting])]);
        assert_eq!(m.schedule(0), Some(waiting));
        // Now it runs and becomes the worst of all: it looks anew whether it still should.
        assert_eq!(m.set_class(waiting, Class::Idle, 0), [0]);
        assert_eq!(m.schedule(0), Some(running));
        // A sleeping task wakes in its new class, in 4.x at that class's own priority.
        m.block(0);
        assert_eq!(m.running(0), Some(waiting));
        m.set_class(running, Class::Rr, 99);
        m.wake(running);
        assert_eq!(m.schedule(0), Some(running));
        let pri = priorities(&m, running);
        assert_eq!(pri.0, pri.1);
    }
}
