//! The position of a task in its program: follows the loops and draws the random amounts, both in the simulator and
//! in real threads.

use schedlab_trace::Ns;

use crate::{Amount, Distribution, Op, Stream, Times, MAX_LOOP_DEPTH};

/// Longer than any run; longer amounts are cut to it, so that sums do not overflow.
pub const LONGEST: Ns = Ns(1 << 53);

/// A task's place in the operations of its program.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// Index of the next operation.
    next: u32,
    /// The number of loops it is in, and the rounds each has left.
    depth: u32,
    rounds: [u32; MAX_LOOP_DEPTH],
    /// Messages the last [`Op::ReceiveAll`] took: the rounds of [`Times::Received`].
    pub received: u32,
    numbers: Stream,
    has_drawn: bool,
}

impl Cursor {
    /// At the first operation; random amounts are drawn from this stream.
    pub fn new(numbers: Stream) -> Cursor {
        Cursor {
            next: 0,
            depth: 0,
            rounds: [0; MAX_LOOP_DEPTH],
            received: 0,
            numbers,
            has_drawn: false,
        }
    }

    /// The next operation; none at the end.
    pub fn peek(&self, ops: &[Op]) -> Option<Op> {
        ops.get(self.next as usize).copied()
    }

    /// Goes past the next operation and returns it.  At the begin or end of a loop it moves to the operation
    /// that the loop continues with.
    pub fn step(&mut self, ops: &[Op]) -> Option<Op> {
        let op = self.peek(ops)?;
        self.next += 1;
        match op {
            Op::Loop { times, end } => self.begin_loop(times, end),
            Op::EndLoop { start } => self.end_loop(start, ops),
            _ => {}
        }
        Some(op)
    }

    /// Steps back to the last operation, which is no loop: the task repeats it.
    pub fn step_back(&mut self) {
        self.next -= 1;
    }

    /// Does an [`Op::Uninterruptible`] stand before the next operation?
    pub fn is_uninterruptible(&self, ops: &[Op]) -> bool {
        let before = self.next.checked_sub(1);
        before.is_some_and(|before| ops[before as usize] == Op::Uninterruptible)
    }

    /// An amount of time, at most [`LONGEST`].
    pub fn amount(&mut self, amount: Amount, distributions: &[Distribution]) -> Ns {
        let ns = match amount {
            Amount::Fixed(ns) => ns,
            Amount::Drawn(index) => {
                self.has_drawn = true;
                Ns(self.numbers.draw(&distributions[index as usize]))
            }
        };
        ns.min(LONGEST)
    }

    /// Has it drawn a random amount?
    pub fn has_drawn(&self) -> bool {
        self.has_drawn
    }

    fn begin_loop(&mut self, times: Times, end: u32) {
        let rounds = match times {
            Times::Fixed(rounds) => rounds,
            Times::Received => self.received,
            Times::Forever => u32::MAX,
        };
        if rounds == 0 {
            self.next = end + 1;
        } else {
            self.rounds[self.depth as usize] = rounds;
            self.depth += 1;
        }
    }

    fn end_loop(&mut self, start: u32, ops: &[Op]) {
        let times = Times::Forever;
        let for_ever = matches!(ops[start as usize], Op::Loop { times: t, .. } if t == times);
        let rounds = &mut self.rounds[self.depth as usize - 1];
        if !for_ever {
            *rounds -= 1;
        }
        if *rounds > 0 {
            self.next = start + 1;
        } else {
            self.depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(ops: &[Op], most: usize, received: u32) -> Vec<Op> {
        let mut cursor = Cursor::new(Stream::of_task(1, "t", 0));
        cursor.received = received;
        let mut done = Vec::new();
        while let Some(op) = cursor.step(ops) {
            if !matches!(op, Op::Loop { .. } | Op::EndLoop { .. }) {
                done.push(op);
            }
            if done.len() == most {
                break;
            }
        }
        done
    }

    #[test]
    fn loops_nest_and_may_be_empty() {
        let times = Times::Fixed;
        let ops = [
            Op::Loop {
                times: times(2),
                end: 7,
            },
            Op::Loop {
                times: times(3),
                end: 3,
            },
            Op::Yield,
            Op::EndLoop { start: 1 },
            Op::Loop {
                times: times(0),
                end: 6,
            },
            Op::Exec,
            Op::EndLoop { start: 4 },
            Op::EndLoop { start: 0 },
        ];
        assert_eq!(walk(&ops, 99, 0), [Op::Yield; 6]);
    }

    #[test]
    fn loops_run_as_often_as_messages_came_or_for_ever() {
        let of = |times| {
            [
                Op::Loop { times, end: 2 },
                Op::Yield,
                Op::EndLoop { start: 0 },
            ]
        };
        assert_eq!(walk(&of(Times::Received), 99, 5).len(), 5);
        assert_eq!(walk(&of(Times::Received), 99, 0).len(), 0);
        assert_eq!(walk(&of(Times::Forever), 99, 0).len(), 99);
    }

    #[test]
    fn an_operation_can_be_done_again() {
        let ops = [Op::Uninterruptible, Op::Yield];
        let mut cursor = Cursor::new(Stream::of_task(1, "t", 0));
        assert!(!cursor.is_uninterruptible(&ops));
        cursor.step(&ops);
        assert!(cursor.is_uninterruptible(&ops));
        assert_eq!(cursor.step(&ops), Some(Op::Yield));
        cursor.step_back();
        assert_eq!(
            (cursor.step(&ops), cursor.step(&ops)),
            (Some(Op::Yield), None)
        );
    }
}
