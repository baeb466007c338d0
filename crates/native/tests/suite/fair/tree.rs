//! The ordered tree of policy/tree.h, driven through a policy and compared with a sorted list.

use schedlab_policy::Class;
use schedlab_trace::TaskId;

use super::{entity, Node};
use crate::script::{normal, Machine};

/// In order, with every property of the tree checked on the way.  Returns the height.
fn walk<'a>(node: *const Node, parent: *const Node, nodes: &mut Vec<&'a Node>) -> u32 {
    if node.is_null() {
        return 0;
    }
    // SAFETY: links lead to nodes within task states of a living host.
    let node: &'a Node = unsafe { &*node };
    assert_eq!(node.parent, parent, "parents know their children");
    let left = walk(node.child[0], node, nodes);
    nodes.push(node);
    let right = walk(node.child[1], node, nodes);
    assert!(left.abs_diff(right) <= 1, "balanced");
    assert_eq!(node.height, 1 + left.max(right));
    node.height
}

/// The root of the tree this node is in.
fn root(mut node: &Node) -> &Node {
    while !node.parent.is_null() {
        // SAFETY: as above.
        node = unsafe { &*node.parent };
    }
    node
}

/// Checks the tree of one CPU: these tasks, and no others, are in it.
pub fn check(m: &Machine, waiting: &[TaskId]) {
    let Some(first) = waiting.first() else { return };
    let root = root(&entity(m, *first).node);
    let mut nodes = Vec::new();
    walk(root, std::ptr::null(), &mut nodes);

    // The model: the keys of the waiting tasks, sorted.
    let mut keys: Vec<u64> = waiting.iter().map(|t| entity(m, *t).node.key).collect();
    keys.sort_by(|a, b| (a.wrapping_sub(*b) as i64).cmp(&0));
    let found: Vec<u64> = nodes.iter().map(|n| n.key).collect();
    assert_eq!(found, keys, "in order, none lost, none twice");
    for task in waiting {
        let node = &entity(m, *task).node;
        assert!(nodes.iter().any(|n| std::ptr::eq(*n, node)), "task {task}");
    }
    for node in nodes {
        let mut below = Vec::new();
        walk(node, node.parent, &mut below);
        let least = below.iter().map(|n| n.value as i64).min().unwrap();
        assert_eq!(node.least as i64, least, "least of the subtree");
    }
}

/// xorshift64, so that a seed names one life for ever.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Many tasks of all weights on one CPU come, wait, run and sleep in random order.
pub fn random_life(policy: &str, seed: u64, tasks: usize, events: usize) {
    let mut m = Machine::new(
        policy,
        1,
        &[("delay_dequeue", 0)][..usize::from(policy.starts_with("eevdf"))],
    );
    let mut rng = Rng(seed | 1);
    let mut asleep: Vec<TaskId> = Vec::new();
    let mut waiting: Vec<TaskId> = Vec::new();
    for _ in 0..tasks {
        let nice = rng.below(40) as i8 - 20;
        let class = [Class::Normal, Class::Batch, Class::Idle][rng.below(3)];
        let new = schedlab_policy::NewTask {
            class,
            ..normal(nice)
        };
        asleep.push(m.add(&new));
    }
    for _ in 0..events {
        m.after(rng.below(3_000_000) as u64);
        let running = m.running(0);
        match rng.below(4) {
            0 | 1 if !asleep.is_empty() => {
                let task = asleep.swap_remove(rng.below(asleep.len()));
                m.wake(task);
                waiting.push(task);
            }
            2 if running.is_some() => {
                m.block(0);
                asleep.extend(running);
                waiting.retain(|t| Some(*t) != m.running(0));
            }
            _ => {
                m.schedule(0);
                waiting.extend(running);
                waiting.retain(|t| Some(*t) != m.running(0));
            }
        }
        check(&m, &waiting);
    }
    assert!(waiting.len() > 10, "the tree was put to the test");
}
