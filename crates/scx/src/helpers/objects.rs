//! Objects that programs allocate; lists and trees of them.
//!
//! Before an object are its size and the address of its count of references.  Who is in which list or tree is known
//! to the host alone.

use std::collections::{BTreeMap, VecDeque};

use super::error;
use crate::btf::TypeId;
use crate::machine::Machine;

/// Bytes before an object.
const HEAD: u64 = 64;

/// Lists and trees, by the address of their heads; nodes are addresses of struct bpf_list_node or bpf_rb_node.
#[derive(Clone, Default, Debug)]
pub(crate) struct Collections {
    lists: BTreeMap<u64, VecDeque<u64>>,
    trees: BTreeMap<u64, Vec<u64>>,
    /// Of each node, what it is in.
    owners: BTreeMap<u64, u64>,
}

calls! {
    new(m, type_id) {
        let Some((size, refcount)) = m.object_type(type_id) else {
            return 0;
        };
        let head = m.memory.allocate(HEAD + size);
        if head == 0 {
            return 0;
        }
        let object = head + HEAD;
        let _ = m.memory.set(head, [size, refcount]);
        m.set_references(object, 1);
        object
    }

    drop_object(m, object) {
        if !m.memory.contains(object) {
            return 0;
        }
        let references = m.references(object);
        if references > 1 {
            m.set_references(object, references - 1);
            return 0;
        }
        let size = m.memory.get::<u64>(object - HEAD);
        m.memory.free(object - HEAD, size.saturating_add(HEAD));
        0
    }

    acquire(m, object) {
        let references = m.references(object);
        m.set_references(object, references.wrapping_add(1));
        object
    }

    new_per_cpu(m, type_id) {
        let nr_cpus = m.nr_cpus;
        let size = m.object_type(type_id).map(|(size, _)| size);
        let address = size.and_then(|size| m.memory.allocate_per_cpu(size + HEAD, nr_cpus));
        let Some(address) = address else {
            return 0;
        };
        let _ = m.memory.set(address, size.unwrap_or(0));
        address + HEAD
    }

    drop_per_cpu(m, object) {
        if m.memory.contains(object) {
            let size = m.memory.get::<u64>(object - HEAD);
            m.memory.free_per_cpu(object - HEAD, size.saturating_add(HEAD));
        }
        0
    }

    kptr_xchg(m, place, pointer) {
        let old = m.memory.get::<u64>(place);
        m.set_or_fail(place, pointer);
        old
    }

    push_front(m, list, node, _meta, offset) { m.push_node(list, node, offset, true) }

    push_back(m, list, node, _meta, offset) { m.push_node(list, node, offset, false) }

    pop_front(m, list) { m.pop_node(list, true) }

    pop_back(m, list) { m.pop_node(list, false) }

    front(m, list) {
        let list = m.kept.objects.lists.get(&list);
        list.and_then(|list| list.front().copied()).unwrap_or(0)
    }

    back(m, list) {
        let list = m.kept.objects.lists.get(&list);
        list.and_then(|list| list.back().copied()).unwrap_or(0)
    }

    tree_add(m, root, node, less, _meta, _offset) {
        if m.kept.objects.owners.contains_key(&node) {
            m.drop_owned(node, _offset);
            return error(libc::EINVAL);
        }
        let (mut low, mut high) = (0, m.kept.objects.trees.get(&root).map_or(0, Vec::len));
        // After all that are not greater, as the kernel descends.
        while low < high && m.tick() {
            let middle = (low + high) / 2;
            let other = m.kept.objects.trees[&root][middle];
            match m.call_function(less, [node, other, 0, 0, 0]) & 1 {
                0 => low = middle + 1,
                _ => high = middle,
            }
        }
        let objects = &mut m.kept.objects;
        let tree = objects.trees.entry(root).or_default();
        tree.insert(low.min(tree.len()), node);
        objects.owners.insert(node, root);
        0
    }

    tree_remove(m, root, node) {
        let objects = &mut m.kept.objects;
        let Some(tree) = objects.trees.get_mut(&root) else {
            return 0;
        };
        match tree.iter().position(|&other| other == node) {
            Some(place) => {
                tree.remove(place);
                objects.owners.remove(&node);
                node
            }
            None => 0,
        }
    }

    tree_first(m, root) {
        let tree = m.kept.objects.trees.get(&root);
        tree.and_then(|tree| tree.first().copied()).unwrap_or(0)
    }
}

impl Machine {
    /// Size of a type of the program's object, and where its count of references is, or u64::MAX.
    fn object_type(&self, type_id: u64) -> Option<(u64, u64)> {
        let types = self.object_types()?;
        let id = TypeId(u32::try_from(type_id).ok()?);
        let size = u64::from(types.size(id));
        let mut members = types.members(id).into_iter();
        let refcount = members.find(|member| types.name(types.resolve(member.1)) == "bpf_refcount");
        let refcount = refcount.map_or(u64::MAX, |member| u64::from(member.2 / 8));
        (size > 0).then_some((size, refcount))
    }

    fn references(&self, object: u64) -> u32 {
        let at: u64 = self.memory.get(object.wrapping_sub(HEAD - 8));
        match at {
            u64::MAX => 1,
            at => self.memory.get(object.wrapping_add(at)),
        }
    }

    fn set_references(&mut self, object: u64, references: u32) {
        let at: u64 = self.memory.get(object.wrapping_sub(HEAD - 8));
        if at != u64::MAX {
            let _ = self.memory.set(object.wrapping_add(at), references);
        }
    }

    /// A node that is in something else already: the reference to its object is given back.
    fn drop_owned(&mut self, node: u64, offset: u64) {
        drop_object(self, node.wrapping_sub(offset), 0, 0, 0, 0);
    }

    fn push_node(&mut self, list: u64, node: u64, offset: u64, front: bool) -> u64 {
        if self.kept.objects.owners.contains_key(&node) {
            self.drop_owned(node, offset);
            return error(libc::EINVAL);
        }
        let objects = &mut self.kept.objects;
        let nodes = objects.lists.entry(list).or_default();
        match front {
            true => nodes.push_front(node),
            false => nodes.push_back(node),
        }
        objects.owners.insert(node, list);
        0
    }

    fn pop_node(&mut self, list: u64, front: bool) -> u64 {
        let objects = &mut self.kept.objects;
        let Some(nodes) = objects.lists.get_mut(&list) else {
            return 0;
        };
        let node = if front {
            nodes.pop_front()
        } else {
            nodes.pop_back()
        };
        let Some(node) = node else {
            return 0;
        };
        objects.owners.remove(&node);
        node
    }
}
