//! Pipes and sockets: capacity, blocking senders and receivers, batches.

use crate::common::lab::{forever, mark, receive, run, send, Lab};
use schedlab_sim::EndReason::{Deadlock, Finished};
use schedlab_trace::{EventKind, MarkId};
use schedlab_workload::{Op, Times};

const ALL: Op = Op::ReceiveAll { channel: 0 };

#[test]
fn a_pipe_of_one_makes_sender_and_receiver_take_turns() {
    // The sender's third message waits for the receiver, which takes 1 ms for each: it has taken
    // the first at 0, the second at 1 ms (the sender's third goes in), the third at 2 ms.
    let ran = Lab::new(2)
        .task(vec![send(3), mark(0)])
        .task(vec![
            receive(1),
            run(1000),
            receive(1),
            run(1000),
            receive(1),
            run(1000),
        ])
        .channel(1)
        .run();
    assert_eq!(ran.marks(), [(1000, 0, 0)]);
    assert_eq!(ran.exits(), [(1000, 0), (3000, 1)]);
}

#[test]
fn a_channel_holds_as_much_as_it_says() {
    // Four go in at once, the fifth when one is taken, at 5 ms.
    let ran = Lab::new(2)
        .task(vec![send(4), mark(0), send(1), mark(1)])
        .task(vec![run(5000), receive(5), run(1000)])
        .channel(4)
        .run();
    assert_eq!(ran.marks(), [(0, 0, 0), (5000, 0, 1)]);
    assert_eq!(ran.exits(), [(5000, 0), (6000, 1)]);
}

#[test]
fn receiving_several_takes_them_as_they_come() {
    // One each millisecond; three of them are there at 3 ms.  It is woken once for each.
    let ran = Lab::new(2)
        .task(vec![
            run(1000),
            send(1),
            run(1000),
            send(1),
            run(1000),
            send(1),
        ])
        .task(vec![receive(3), mark(0)])
        .channel(8)
        .run();
    assert_eq!(ran.marks(), [(3000, 1, 0)]);
    assert_eq!(ran.wakings(1), 3);
}

#[test]
fn receiving_all_takes_a_batch_and_loops_as_often() {
    // Five are there at 10 ms: one operation takes them, then a round of 1 ms for each.
    let batch = vec![
        ALL,
        Op::Loop {
            times: Times::Received,
            end: 4,
        },
        run(1000),
        mark(0),
        Op::EndLoop { start: 1 },
    ];
    let mut reader = vec![run(10_000)];
    // One operation before it: the loop's two ends move by one.
    reader.extend(batch.into_iter().map(|op| match op {
        Op::Loop { times, end } => Op::Loop {
            times,
            end: end + 1,
        },
        Op::EndLoop { start } => Op::EndLoop { start: start + 1 },
        op => op,
    }));
    let ran = Lab::new(2)
        .task(vec![send(5)])
        .task(reader)
        .channel(8)
        .run();
    let times: Vec<u64> = ran.marks().iter().map(|m| m.0).collect();
    assert_eq!(times, [11_000, 12_000, 13_000, 14_000, 15_000]);
}

#[test]
fn receiving_all_wakes_one_sender_for_each_place_it_frees() {
    // Capacity 2, full at 0; three more senders wait.  At 5 ms two places are free: two of them
    // wake; the third sleeps on and the run ends with it asleep.
    let ran = Lab::new(6)
        .tasks(5, vec![send(1)])
        .task(vec![run(5000), ALL])
        .channel(2)
        .run();
    ran.ends(5000, Deadlock);
    let woken: usize = (0..5).map(|t| ran.wakings(t)).sum();
    assert_eq!(woken, 2);
}

#[test]
fn receivers_are_served_in_the_order_they_came_and_none_for_nothing() {
    // Three wait from 0, 1 and 2 ms; messages come two at 5 ms and one at 6 ms.
    let ran = Lab::new(4)
        .task(vec![receive(1)])
        .task(vec![run(1000), receive(1)])
        .task(vec![run(2000), receive(1)])
        .task(vec![run(5000), send(2), run(1000), send(1)])
        .channel(8)
        .run();
    assert_eq!(ran.exits(), [(5000, 0), (5000, 1), (6000, 3), (6000, 2)]);
    assert_eq!([0, 1, 2].map(|t| ran.wakings(t)), [1, 1, 1]);
}

#[test]
fn whoever_comes_first_takes_a_message_and_the_woken_waits_on() {
    // One CPU.  Task 0 sleeps for a message; task 1 sends one, which wakes it, and takes the
    // message itself before task 0 gets to run.  The second message is task 0's.
    let ran = Lab::new(1)
        .task(vec![receive(1), mark(0)])
        .task(vec![run(1000), send(1), receive(1), run(1000), send(1)])
        .channel(8)
        .run();
    assert_eq!(ran.marks(), [(2000, 0, 0)]);
    ran.ends(2000, Finished);
}

#[test]
fn many_senders_and_receivers_lose_nothing() {
    // 7 senders of 30 messages each, 5 receivers of 42 each, capacity 3, whatever the CPUs.
    for nr_cpus in 1..=6 {
        let mut lab = Lab::new(nr_cpus).channel(3);
        for i in 0..7 {
            lab = lab.task(crate::common::lab::times(30, &[run(10 + i), send(1)]));
        }
        for i in 0..5 {
            lab = lab.task(crate::common::lab::times(21, &[receive(2), run(7 + 3 * i)]));
        }
        assert_eq!(lab.run().outcome.reason, Finished, "{nr_cpus} CPUs");
    }
}

#[test]
fn a_server_for_ever_is_no_reason_to_go_on() {
    let ran = Lab::new(1)
        .task(vec![run(100), send(2)])
        .task(forever(&[receive(1), run(50)]))
        .but(|t| t.background = true)
        .channel(4)
        .run();
    ran.ends(100, Finished);
}

#[test]
fn messages_are_counted_not_kept() {
    // One message for each of 2^32 - 1 places: 30 GB if each were an object.
    let most = u32::MAX;
    let ran = Lab::new(2)
        .task(vec![send(most), mark(0), send(1), mark(1)])
        .task(vec![run(5000), ALL, run(1000), receive(1), mark(2)])
        .channel(most)
        .run();
    assert_eq!(ran.marks(), [(0, 0, 0), (5000, 0, 1), (6000, 1, 2)]);
    let ran = Lab::new(2)
        .task(vec![run(1000), send(most), mark(0)])
        .task(vec![receive(most), mark(1)])
        .channel(most)
        .run();
    assert_eq!(ran.marks(), [(1000, 0, 0), (1000, 1, 1)]);
}

#[test]
fn batches_keep_their_clocks_in_order() {
    // Two senders' clocks; the receiver answers to the clock of each message it took.
    let stop = Op::StopClock { mark: MarkId(0) };
    let ran = Lab::new(3)
        .task(vec![Op::StartClock, run(1000), send(2)])
        .task(vec![run(2000), Op::StartClock, run(1000), send(2)])
        .task(vec![
            run(4000),
            receive(1),
            Op::TakeClock,
            stop,
            receive(2),
            Op::TakeClock,
            stop,
            receive(1),
            Op::TakeClock,
            stop,
        ])
        .channel(8)
        .run();
    let latencies = ran.pick(|e| match e.kind {
        EventKind::Latency { ns, .. } => Some(ns.0 / 1000),
        _ => None,
    });
    assert_eq!(latencies, [4000, 2000, 2000]);
}
