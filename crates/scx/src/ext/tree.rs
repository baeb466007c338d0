//! The tree behind a queue ordered by vtime: finds where a task goes in O(log n).
//!
//! A treap whose nodes are the tasks themselves.  Keys are compared as kernel/sched/ext.c does
//! (time_before64(), scx_dsq_priq_less()), which is no total order if they are very far apart: then the order is
//! some order, but nothing breaks.

use super::consts::NONE;
use super::dsq::Node;

/// A task's neighbours in the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    parent: u32,
    left: u32,
    right: u32,
    /// Parents rank higher than their children.
    rank: u32,
}

impl Links {
    pub const FRESH: Links = Links {
        parent: NONE,
        left: NONE,
        right: NONE,
        rank: 0,
    };
}

/// The tree of one queue.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    root: u32,
    /// State of the generator of ranks.
    ranks: u32,
}

impl Tree {
    pub const EMPTY: Tree = Tree {
        root: NONE,
        ranks: 0x9e37_79b9,
    };

    pub fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Adds a task behind all that are not after it; returns the one before it, or NONE.
    pub fn insert(&mut self, nodes: &mut [Node], task: u32) -> u32 {
        let vtime = nodes[task as usize].vtime;
        let (mut parent, mut previous, mut at) = (NONE, NONE, self.root);
        let mut is_left = false;
        while at != NONE {
            parent = at;
            let node = &nodes[at as usize];
            is_left = (vtime.wrapping_sub(node.vtime) as i64) < 0;
            if is_left {
                at = node.links.left;
            } else {
                previous = at;
                at = node.links.right;
            }
        }
        // Xorshift, Marsaglia 2003.
        self.ranks ^= self.ranks << 13;
        self.ranks ^= self.ranks >> 17;
        self.ranks ^= self.ranks << 5;
        nodes[task as usize].links = Links {
            parent,
            rank: self.ranks,
            ..Links::FRESH
        };
        match parent {
            NONE => self.root = task,
            _ if is_left => nodes[parent as usize].links.left = task,
            _ => nodes[parent as usize].links.right = task,
        }
        while let Some(parent) = self.lower_parent(nodes, task) {
            self.rotate_up(nodes, task, parent);
        }
        previous
    }

    fn lower_parent(&self, nodes: &[Node], task: u32) -> Option<u32> {
        let links = &nodes[task as usize].links;
        let lower = links.parent != NONE && nodes[links.parent as usize].links.rank < links.rank;
        lower.then_some(links.parent)
    }

    /// A child takes its parent's place.
    fn rotate_up(&mut self, nodes: &mut [Node], child: u32, parent: u32) {
        let is_left = nodes[parent as usize].links.left == child;
        let moved = {
            let links = &mut nodes[child as usize].links;
            let inner = if is_left {
                &mut links.right
            } else {
                &mut links.left
            };
            std::mem::replace(inner, parent)
        };
        let above = {
            let links = &mut nodes[parent as usize].links;
            *(if is_left {
                &mut links.left
            } else {
                &mut links.right
            }) = moved;
            std::mem::replace(&mut links.parent, child)
        };
        if moved != NONE {
            nodes[moved as usize].links.parent = parent;
        }
        nodes[child as usize].links.parent = above;
        self.replace_child(nodes, above, parent, child);
    }

    fn replace_child(&mut self, nodes: &mut [Node], parent: u32, from: u32, to: u32) {
        match parent {
            NONE => self.root = to,
            _ => {
                let links = &mut nodes[parent as usize].links;
                *(if links.left == from {
                    &mut links.left
                } else {
                    &mut links.right
                }) = to;
            }
        }
    }

    /// Takes a task out.
    pub fn remove(&mut self, nodes: &mut [Node], task: u32) {
        loop {
            let Links { left, right, .. } = nodes[task as usize].links;
            let child = match (left, right) {
                (NONE, only) | (only, NONE) => {
                    let parent = nodes[task as usize].links.parent;
                    if only != NONE {
                        nodes[only as usize].links.parent = parent;
                    }
                    self.replace_child(nodes, parent, task, only);
                    return;
                }
                (left, right) => {
                    let rank = |node: u32| nodes[node as usize].links.rank;
                    if rank(left) > rank(right) {
                        left
                    } else {
                        right
                    }
                }
            };
            self.rotate_up(nodes, child, task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dsq::{DsqIndex, Dsqs, Place};

    fn order(dsqs: &Dsqs, queue: DsqIndex) -> Vec<u32> {
        std::iter::successors(dsqs.first(queue), |&task| dsqs.next(task)).collect()
    }

    #[test]
    fn like_a_sorted_list() {
        let mut dsqs = Dsqs::default();
        let queue = dsqs.create(1).unwrap();
        let mut model: Vec<(u64, u32)> = Vec::new();
        let mut state = 3_u32;
        for round in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let task = state >> 25;
            dsqs.know(task);
            match model.iter().position(|&(_, known)| known == task) {
                Some(place) => {
                    model.remove(place);
                    dsqs.remove(task);
                }
                None => {
                    let vtime = u64::from(state >> 8 & 31);
                    let place = model.partition_point(|&(other, _)| other <= vtime);
                    model.insert(place, (vtime, task));
                    dsqs.insert(queue, task, Place::Vtime(vtime), true).unwrap();
                }
            }
            if round % 16 == 0 {
                let expected: Vec<u32> = model.iter().map(|&(_, task)| task).collect();
                assert_eq!(order(&dsqs, queue), expected, "round {round}");
            }
        }
    }
}
