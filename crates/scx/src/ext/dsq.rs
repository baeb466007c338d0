//! Dispatch queues: lists of tasks, first come first served or by vtime, and iterators over them.
//!
//! Modelled after struct scx_dispatch_q and its list functions in kernel/sched/ext.c.  A task is on at most one
//! list: a queue, or one of the lists of a CPU that hold tasks on their way (`ddsp_deferred_locals`), which are
//! queues here, too.  Tasks and queues are numbers; nothing here knows what they are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::consts::{dsq, NONE};
use super::tree::{Links, Tree};

/// A queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DsqIndex(pub u32);

/// Where a task goes in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// First of all.
    Head,
    /// Last of all.
    Tail,
    /// By vtime, after those of equal vtime.
    Vtime(u64),
}

/// What a queue finds wrong with how it is used; it is used all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mixed {
    /// It holds tasks without vtime.
    HasFifo,
    /// It holds tasks with vtime.
    HasPriq,
}

#[derive(Clone, Debug)]
struct Queue {
    id: u64,
    nr: u32,
    seq: u32,
    first: u32,
    last: u32,
    tree: Tree,
}

/// A task's place in a list.
#[derive(Clone, Debug)]
pub(super) struct Node {
    dsq: u32,
    next: u32,
    prev: u32,
    seq: u32,
    on_tree: bool,
    pub(super) vtime: u64,
    pub(super) links: Links,
}

const FRESH: Node = Node {
    dsq: NONE,
    next: NONE,
    prev: NONE,
    seq: 0,
    on_tree: false,
    vtime: 0,
    links: Links::FRESH,
};

/// An iterator: it stands behind a task (in the direction it goes), or before all.
#[derive(Clone, Debug)]
struct Cursor {
    dsq: u32,
    /// Tasks that came later are not seen.
    seq: u32,
    backwards: bool,
    /// The task it stands at; NONE: at the start.
    at: u32,
    done: bool,
}

/// A hash of a queue's number.
#[derive(Clone, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0 ^ id)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

/// All queues of a machine.
#[derive(Clone, Debug, Default)]
pub struct Dsqs {
    pub(super) nodes: Vec<Node>,
    queues: Vec<Queue>,
    free: Vec<u32>,
    by_id: HashMap<u64, u32, BuildHasherDefault<IdHasher>>,
    cursors: Vec<Option<Cursor>>,
}

/// `a` is before `b`, with wrap-around: time_before() and u32_before().
fn before32(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Dsqs {
    /// A new queue that is not found by its number.
    pub fn add(&mut self, id: u64) -> DsqIndex {
        let queue = Queue {
            id,
            nr: 0,
            seq: 0,
            first: NONE,
            last: NONE,
            tree: Tree::EMPTY,
        };
        match self.free.pop() {
            Some(free) => {
                self.queues[free as usize] = queue;
                DsqIndex(free)
            }
            None => {
                self.queues.push(queue);
                DsqIndex(self.queues.len() as u32 - 1)
            }
        }
    }

    /// A new queue of the scheduler's own; none if there is one of this number.
    pub fn create(&mut self, id: u64) -> Option<DsqIndex> {
        if self.by_id.contains_key(&id) {
            return None;
        }
        let new = self.add(id);
        self.by_id.insert(id, new.0);
        Some(new)
    }

    /// find_user_dsq().
    #[inline]
    pub fn find(&self, id: u64) -> Option<DsqIndex> {
        self.by_id.get(&id).copied().map(DsqIndex)
    }

    /// Forgets an empty queue; iterators over it end.
    pub fn destroy(&mut self, queue: DsqIndex) {
        let found = &mut self.queues[queue.0 as usize];
        debug_assert_eq!(found.nr, 0);
        self.by_id.remove(&found.id);
        found.id = dsq::INVALID;
        for cursor in self.cursors.iter_mut().flatten() {
            if cursor.dsq == queue.0 {
                cursor.done = true;
            }
        }
        self.free.push(queue.0);
    }

    /// Its number.
    #[inline]
    pub fn id(&self, queue: DsqIndex) -> u64 {
        self.queues[queue.0 as usize].id
    }

    /// How many tasks are on it.
    #[inline]
    pub fn nr(&self, queue: DsqIndex) -> u32 {
        self.queues[queue.0 as usize].nr
    }

    /// Number of its own queues.
    pub fn nr_user(&self) -> usize {
        self.by_id.len()
    }

    /// Makes room for a task.
    pub fn know(&mut self, task: u32) {
        if self.nodes.len() <= task as usize {
            self.nodes.resize(task as usize + 1, FRESH);
        }
    }

    /// The queue a task is on.
    #[inline]
    pub fn of(&self, task: u32) -> Option<DsqIndex> {
        let on = self.nodes[task as usize].dsq;
        (on != NONE).then_some(DsqIndex(on))
    }

    /// The first task of a queue.
    #[inline]
    pub fn first(&self, queue: DsqIndex) -> Option<u32> {
        let first = self.queues[queue.0 as usize].first;
        (first != NONE).then_some(first)
    }

    /// The task behind another one.
    #[inline]
    pub fn next(&self, task: u32) -> Option<u32> {
        let next = self.nodes[task as usize].next;
        (next != NONE).then_some(next)
    }

    // ---- coming and going -------------------------------------------------------

    /// Puts a task that is on no queue on this one.  `renumber`: it counts as new for iterators.
    #[inline]
    pub fn insert(
        &mut self,
        queue: DsqIndex,
        task: u32,
        place: Place,
        renumber: bool,
    ) -> Result<(), Mixed> {
        let q = &mut self.queues[queue.0 as usize];
        let by_vtime = matches!(place, Place::Vtime(_));
        let wrong = match (by_vtime, q.tree.is_empty()) {
            (true, true) if q.first != NONE => Err(Mixed::HasFifo),
            (false, false) => Err(Mixed::HasPriq),
            _ => Ok(()),
        };
        let previous = match place {
            Place::Head => NONE,
            Place::Tail => q.last,
            Place::Vtime(vtime) => {
                self.nodes[task as usize].vtime = vtime;
                self.nodes[task as usize].on_tree = true;
                q.tree.insert(&mut self.nodes, task)
            }
        };
        let q = &mut self.queues[queue.0 as usize];
        let following = match previous {
            NONE => std::mem::replace(&mut q.first, task),
            _ => std::mem::replace(&mut self.nodes[previous as usize].next, task),
        };
        match following {
            NONE => q.last = task,
            _ => self.nodes[following as usize].prev = task,
        }
        q.nr += 1;
        let node = &mut self.nodes[task as usize];
        (node.prev, node.next, node.dsq) = (previous, following, queue.0);
        if renumber {
            q.seq = q.seq.wrapping_add(1);
            node.seq = q.seq;
        }
        wrong
    }

    /// Takes a task off its queue: task_unlink_from_dsq().
    #[inline]
    pub fn remove(&mut self, task: u32) {
        let node = &self.nodes[task as usize];
        let (queue, next, prev, on_tree) = (node.dsq, node.next, node.prev, node.on_tree);
        debug_assert_ne!(queue, NONE);
        let q = &mut self.queues[queue as usize];
        if on_tree {
            q.tree.remove(&mut self.nodes, task);
        }
        match prev {
            NONE => q.first = next,
            _ => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => q.last = prev,
            _ => self.nodes[next as usize].prev = prev,
        }
        q.nr -= 1;
        if !self.cursors.is_empty() {
            self.leave_cursors(task, next, prev);
        }
        let node = &mut self.nodes[task as usize];
        (node.dsq, node.next, node.prev, node.on_tree) = (NONE, NONE, NONE, false);
    }

    /// Iterators that stand at a task that goes stay where it was.
    fn leave_cursors(&mut self, task: u32, next: u32, prev: u32) {
        for cursor in self.cursors.iter_mut().flatten() {
            if cursor.at == task {
                cursor.at = if cursor.backwards { next } else { prev };
            }
        }
    }

    // ---- iterators -----------------------------------------------------------------

    /// A new iterator over the tasks that are on the queue now: INIT_DSQ_LIST_CURSOR().
    pub fn iterate(&mut self, queue: DsqIndex, backwards: bool) -> u32 {
        let cursor = Cursor {
            dsq: queue.0,
            seq: self.queues[queue.0 as usize].seq,
            backwards,
            at: NONE,
            done: false,
        };
        let free = self.cursors.iter().position(Option::is_none);
        let place = free.unwrap_or(self.cursors.len());
        match free {
            Some(free) => self.cursors[free] = Some(cursor),
            None => self.cursors.push(Some(cursor)),
        }
        place as u32
    }

    fn cursor(&self, cursor: u32) -> Option<&Cursor> {
        self.cursors.get(cursor as usize)?.as_ref()
    }

    /// The queue an iterator goes over.
    pub fn iterated(&self, cursor: u32) -> Option<DsqIndex> {
        let cursor = self.cursor(cursor)?;
        (!cursor.done).then_some(DsqIndex(cursor.dsq))
    }

    /// The next task of an iterator: nldsq_cursor_next_task().
    ///
    /// After the last one the iterator starts anew, as the kernel's does.
    pub fn advance(&mut self, cursor: u32) -> Option<u32> {
        let c = self.cursor(cursor)?.clone();
        if c.done {
            return None;
        }
        let queue = &self.queues[c.dsq as usize];
        let mut at = c.at;
        let found = loop {
            at = match (at, c.backwards) {
                (NONE, false) => queue.first,
                (NONE, true) => queue.last,
                (at, false) => self.nodes[at as usize].next,
                (at, true) => self.nodes[at as usize].prev,
            };
            if at == NONE || !before32(c.seq, self.nodes[at as usize].seq) {
                break at;
            }
        };
        if let Some(Some(c)) = self.cursors.get_mut(cursor as usize) {
            c.at = found;
        }
        (found != NONE).then_some(found)
    }

    /// May the iterator's user have this task?  nldsq_cursor_lost_task().
    pub fn holds(&self, cursor: u32, task: u32) -> bool {
        let node = &self.nodes[task as usize];
        self.cursor(cursor)
            .is_some_and(|c| node.dsq == c.dsq && !before32(c.seq, node.seq))
    }

    /// The iterator is not used any more.
    pub fn end(&mut self, cursor: u32) {
        if let Some(place) = self.cursors.get_mut(cursor as usize) {
            *place = None;
        }
        while self.cursors.last().is_some_and(Option::is_none) {
            self.cursors.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(dsqs: &Dsqs, queue: DsqIndex) -> Vec<u32> {
        std::iter::successors(dsqs.first(queue), |&task| dsqs.next(task)).collect()
    }

    fn filled(places: &[Place]) -> (Dsqs, DsqIndex) {
        let mut dsqs = Dsqs::default();
        let queue = dsqs.create(7).unwrap();
        for (task, &place) in (0..).zip(places) {
            dsqs.know(task);
            dsqs.insert(queue, task, place, true).unwrap();
        }
        (dsqs, queue)
    }

    #[test]
    fn fifo_with_heads() {
        use Place::{Head, Tail};
        let (mut dsqs, queue) = filled(&[Tail, Tail, Head, Tail]);
        assert_eq!(tasks(&dsqs, queue), [2, 0, 1, 3]);
        dsqs.remove(0);
        assert_eq!((tasks(&dsqs, queue), dsqs.nr(queue)), (vec![2, 1, 3], 3));
        assert_eq!((dsqs.of(0), dsqs.of(1)), (None, Some(queue)));
        assert_eq!((dsqs.find(7), dsqs.create(7)), (Some(queue), None));
    }

    #[test]
    fn vtime_orders_with_wrap_around_and_ties_are_first_come() {
        let v = Place::Vtime;
        let (mut dsqs, queue) = filled(&[v(5), v(u64::MAX), v(5), v(1), v(5)]);
        assert_eq!(tasks(&dsqs, queue), [1, 3, 0, 2, 4]);
        dsqs.remove(0);
        dsqs.insert(queue, 0, v(5), true).unwrap();
        assert_eq!(tasks(&dsqs, queue), [1, 3, 2, 4, 0]);
    }

    #[test]
    fn kinds_of_order_do_not_mix() {
        let (mut dsqs, queue) = filled(&[Place::Tail]);
        dsqs.know(1);
        let mixed = dsqs.insert(queue, 1, Place::Vtime(3), true);
        assert_eq!(mixed, Err(Mixed::HasFifo));
        dsqs.know(2);
        assert_eq!(
            dsqs.insert(queue, 2, Place::Tail, true),
            Err(Mixed::HasPriq)
        );
        assert_eq!(dsqs.nr(queue), 3);
    }

    #[test]
    fn iterators_survive_moves_and_see_no_newcomers() {
        use Place::Tail;
        let (mut dsqs, queue) = filled(&[Tail; 5]);
        let iterator = dsqs.iterate(queue, false);
        assert_eq!(dsqs.advance(iterator), Some(0));
        dsqs.remove(0); // The one it stands at, and the next one.
        dsqs.remove(1);
        dsqs.insert(queue, 0, Tail, true).unwrap();
        assert!(dsqs.holds(iterator, 2) && !dsqs.holds(iterator, 0) && !dsqs.holds(iterator, 1));
        assert_eq!(dsqs.advance(iterator), Some(2));
        assert_eq!(dsqs.advance(iterator), Some(3));
        assert_eq!(dsqs.advance(iterator), Some(4));
        assert_eq!(dsqs.advance(iterator), None);
        dsqs.end(iterator);
        let back = dsqs.iterate(queue, true);
        assert_eq!(dsqs.advance(back), Some(0));
        assert_eq!(dsqs.advance(back), Some(4));
        dsqs.remove(4);
        assert_eq!(dsqs.advance(back), Some(3));
    }

    #[test]
    fn a_destroyed_queue_ends_its_iterators() {
        let (mut dsqs, queue) = filled(&[Place::Tail]);
        let iterator = dsqs.iterate(queue, false);
        dsqs.remove(0);
        dsqs.destroy(queue);
        assert_eq!((dsqs.find(7), dsqs.advance(iterator)), (None, None));
        assert_eq!(dsqs.iterated(iterator), None);
        assert_eq!(dsqs.create(8), Some(queue), "its place is used again");
    }
}
