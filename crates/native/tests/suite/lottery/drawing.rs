//! The winners: a model of the pool predicts every drawing from the seed.

use crate::lottery::MS;
use crate::script::{normal, Machine};
use schedlab_policy::first_state;
use schedlab_trace::TaskId;

/// The machine's generator, xorshift64*, from seed 1.
struct Generator(u64);

impl Generator {
    fn u32(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    /// The winning ticket of a drawing.
    fn ticket(&mut self, total: u64) -> u64 {
        (self.u32() << 32 | self.u32()) % total
    }
}

/// Clients and their tickets: a list from front to back, or a tree, number 1 first.
#[derive(Default)]
struct Pool(Vec<(TaskId, u64)>);

impl Pool {
    fn total(&self) -> u64 {
        self.0.iter().map(|&(_, tickets)| tickets).sum()
    }

    /// Takes a client out of a list.
    fn unlink(&mut self, task: TaskId) {
        self.0.retain(|&(t, _)| t != task);
    }

    /// Takes a client out of a tree: the last one takes its number.
    fn replace(&mut self, task: TaskId) {
        let at = self.0.iter().position(|&(t, _)| t == task).unwrap();
        self.0.swap_remove(at);
    }

    /// The winner and the number of clients looked at, in the list's order.
    fn of_list(&self, mut ticket: u64) -> (TaskId, u32) {
        for (nr, &(task, tickets)) in self.0.iter().enumerate() {
            if ticket < tickets {
                return (task, nr as u32 + 1);
            }
            ticket -= tickets;
        }
        panic!("no such ticket");
    }

    /// The clients below a number and it, from left to right.
    fn in_order(&self, number: usize) -> Vec<(TaskId, u64)> {
        let Some(&client) = self.0.get(number - 1) else {
            return Vec::new();
        };
        let mut all = self.in_order(2 * number);
        all.push(client);
        all.extend(self.in_order(2 * number + 1));
        all
    }

    /// The winner and the number of clients looked at, which is its depth.
    fn of_tree(&self, ticket: u64) -> (TaskId, u32) {
        let (task, _) = Pool(self.in_order(1)).of_list(ticket);
        let number = self.0.iter().position(|&(t, _)| t == task).unwrap() + 1;
        (task, number.ilog2() + 1)
    }
}

/// Drawings on one CPU among tasks of many nice values that block, wake up, yield and are reniced.
fn foretold(set: &[(&str, i64)], tree: bool, to_front: bool) {
    let mut m = Machine::new("lottery", 1, set);
    let mut draws = Generator(first_state(1, 0));
    let mut script = Generator(7);
    let mut pool = Pool::default();
    let mut sleeping: Vec<TaskId> = Vec::new();
    for nice in (-10..12).chain(-3..4) {
        let task = m.start(&normal(nice));
        pool.0.push((task, m.priority(task) as u64));
    }
    for _ in 0..3000 {
        if script.u32() % 4 == 0 && !sleeping.is_empty() {
            let task = sleeping.swap_remove(script.u32() as usize % sleeping.len());
            m.wake(task);
            pool.0.push((task, m.priority(task) as u64));
        }
        if script.u32() % 8 == 0 && !pool.0.is_empty() {
            let at = script.u32() as usize % pool.0.len();
            let task = pool.0[at].0;
            m.set_nice(task, (script.u32() % 40) as i8 - 20);
            pool.0[at].1 = m.priority(task) as u64;
        }
        m.after(script.u32() % 120 * MS);
        m.work();
        let before = m.running(0);
        let blocks = before.is_some() && script.u32() % 5 == 0;
        let won = if blocks { m.block(0) } else { m.schedule(0) };
        let examined = m.work().examined;
        match before {
            Some(task) if blocks => sleeping.push(task),
            Some(task) => {
                // Its tickets when it went back: it ran from its win until now.
                let tickets = m.priority(task) as u64;
                let at = if to_front && !tree { 0 } else { pool.0.len() };
                pool.0.insert(at, (task, tickets));
            }
            None => {}
        }
        if pool.0.is_empty() {
            assert_eq!(won, None);
            continue;
        }
        let ticket = draws.ticket(pool.total());
        let (winner, looked_at) = if tree {
            pool.of_tree(ticket)
        } else {
            pool.of_list(ticket)
        };
        assert_eq!((won, examined), (Some(winner), looked_at));
        if tree {
            pool.replace(winner);
        } else {
            pool.unlink(winner);
        }
    }
}

#[test]
fn the_holder_of_the_drawn_ticket_wins_in_the_tree() {
    foretold(&[], true, true);
}

#[test]
fn the_holder_of_the_drawn_ticket_wins_in_the_list() {
    foretold(&[("tree", 0)], false, true);
    foretold(&[("tree", 0), ("move_to_front", 0)], false, false);
}

#[test]
fn whoever_may_not_run_here_does_not_win_here() {
    for tree in [0, 1] {
        let mut m = Machine::new("lottery", 2, &[("tree", tree)]);
        // Nearly all tickets belong to a task of CPU 1.
        let other = m.pinned(1, -20);
        let other = m.start(&other);
        let a = m.start(&normal(0));
        let b = m.start(&normal(5));
        let mut wins = [0; 2];
        for _ in 0..4000 {
            let won = m.schedule(0).unwrap();
            assert_ne!(won, other);
            wins[usize::from(won == b)] += 1;
            m.after(100 * MS);
        }
        // 1000 of 1328 tickets: 3012, sigma sqrt(4000 * 0.753 * 0.247) = 27.
        assert_eq!(m.priority(a), 1000);
        assert!((wins[0] - 3012_i32).abs() < 3 * 27, "{wins:?}");
        assert_eq!(m.schedule(1), Some(other));
    }
}

#[test]
fn a_tree_is_as_deep_as_the_logarithm_of_its_size() {
    for tasks in [10, 1000, 5000_u32] {
        let mut m = Machine::new("lottery", 1, &[]);
        for _ in 0..tasks {
            m.start(&normal(0));
        }
        for _ in 0..20 {
            m.work();
            m.schedule(0);
            let examined = m.work().examined;
            assert!(examined <= tasks.ilog2() + 1, "{examined} of {tasks}");
            m.after(100 * MS);
        }
    }
}
