//! bpf_iter_*(): loops over numbers, bits and tasks.

use super::error;
use crate::machine::Machine;

/// Most rounds of a loop over numbers: BPF_MAX_LOOPS.
const MOST_ROUNDS: i64 = 8 << 20;

/// Most words of a loop over bits: BITS_ITER_NR_WORDS_MAX.
const MOST_WORDS: u64 = 511;

/// Bytes of the state of a loop over tasks.
const TASK_STATE: u64 = 24;

/// A loop over the tasks of a cgroup; smaller numbers are the flags of bpf_iter_task_new().
const IN_CGROUP: u64 = 3;

calls! {
    // struct bpf_iter_num_kern: int cur, int end.
    num_new(m, iterator, start, end) {
        let (start, end) = (start as i32, end as i32);
        let (state, answer) = match i64::from(end) - i64::from(start) {
            ..0 => ([0, 0], error(libc::EINVAL)),
            rounds if rounds > MOST_ROUNDS => ([0, 0], error(libc::E2BIG)),
            _ => ([start.wrapping_sub(1), end], 0),
        };
        m.set_or_fail(iterator, state);
        answer
    }

    num_next(m, iterator) {
        let [cur, end] = m.memory.get::<[i32; 2]>(iterator);
        if i64::from(cur) + 1 >= i64::from(end) {
            m.set_or_fail(iterator, [0_i32; 2]);
            return 0;
        }
        m.set_or_fail(iterator, cur + 1);
        iterator
    }

    // Address of a copy of the bits; its number of words; bit after the last answer.
    bits_new(m, iterator, from, words) {
        let words = u64::from(words as u32);
        m.set_or_fail(iterator, [0_u64; 2]);
        if words == 0 || from == 0 {
            return error(libc::EINVAL);
        }
        if words > MOST_WORDS {
            return error(libc::E2BIG);
        }
        if m.memory.bytes(from, 8 * words).is_none() {
            return error(libc::EFAULT);
        }
        let copy = m.memory.allocate(8 * words + 8);
        let _ = m.memory.copy(copy + 8, from, 8 * words);
        m.set_or_fail(iterator, copy);
        m.set_or_fail(iterator.wrapping_add(8), [words as u32, 0]);
        0
    }

    bits_next(m, iterator) {
        let copy = m.memory.get::<u64>(iterator);
        let [words, mut bit] = m.memory.get::<[u32; 2]>(iterator.wrapping_add(8));
        let words = words.min(MOST_WORDS as u32);
        while copy != 0 && bit < words * 64 {
            let word = m.memory.get::<u64>(copy.wrapping_add(8 + u64::from(bit / 64) * 8)) >> (bit % 64);
            if word != 0 {
                let found = bit + word.trailing_zeros();
                m.set_or_fail(iterator.wrapping_add(12), found + 1);
                m.set_or_fail(copy, found);
                return copy;
            }
            bit = (bit / 64 + 1) * 64;
        }
        m.set_or_fail(iterator.wrapping_add(12), u32::MAX);
        0
    }

    bits_destroy(m, iterator) {
        let copy = m.memory.get::<u64>(iterator);
        let words = m.memory.get::<u32>(iterator.wrapping_add(8));
        if m.memory.contains(copy) && u64::from(words) <= MOST_WORDS {
            m.memory.free(copy, 8 * u64::from(words) + 8);
        }
        m.set_or_fail(iterator, 0_u64);
        0
    }

    // Number of the next task; what it must belong to; of which kind.
    task_new(m, iterator, task, flags) {
        match flags {
            // BPF_TASK_ITER_ALL_PROCS, BPF_TASK_ITER_ALL_THREADS
            0 | 1 => m.set_or_fail(iterator, [0, 0, flags]),
            // BPF_TASK_ITER_PROC_THREADS
            2 => m.set_or_fail(iterator, [0, task, 2]),
            _ => {
                m.set_or_fail(iterator, [u64::MAX, 0, 0]);
                return error(libc::EINVAL);
            }
        }
        0
    }

    task_next(m, iterator) { m.next_task(iterator) }

    // Address of the same state as above.
    css_task_new(m, iterator, css) {
        let cgroup = m.cgroup_of_css(css);
        let state = m.memory.allocate(TASK_STATE);
        m.set_or_fail(state, [0, cgroup, IN_CGROUP]);
        m.set_or_fail(iterator, state);
        0
    }

    css_task_next(m, iterator) {
        let state = m.memory.get::<u64>(iterator);
        match m.memory.contains(state) {
            true => m.next_task(state),
            false => 0,
        }
    }

    css_task_destroy(m, iterator) {
        let state = m.memory.get::<u64>(iterator);
        if m.memory.contains(state) {
            m.memory.free(state, TASK_STATE);
        }
        m.set_or_fail(iterator, 0_u64);
        0
    }

    // Address of what is to come, the next one's place and their number.
    css_new(m, iterator, start, flags) {
        let start = m.cgroup_of_css(start);
        let found = match flags {
            // BPF_CGROUP_ITER_DESCENDANTS_PRE, _POST, _ANCESTORS_UP
            2 => m.descendants(start, false),
            3 => m.descendants(start, true),
            4 => (0..=m.level(start)).rev().map(|level| m.ancestor(start, level)).collect(),
            _ => {
                m.set_or_fail(iterator, [0_u64; 3]);
                return error(libc::EINVAL);
            }
        };
        let list = m.memory.allocate(8 * found.len() as u64);
        let own = m.kernel.offsets.cgroup_self;
        for (i, cgroup) in found.iter().enumerate() {
            m.set_or_fail(list + 8 * i as u64, cgroup + own);
        }
        m.set_or_fail(iterator, [list, 0, found.len() as u64]);
        0
    }

    css_next(m, iterator) {
        let [list, next, count] = m.memory.get::<[u64; 3]>(iterator);
        if next >= count {
            return 0;
        }
        m.set_or_fail(iterator.wrapping_add(8), next + 1);
        m.memory.get(list.wrapping_add(next.wrapping_mul(8)))
    }

    css_destroy(m, iterator) {
        let [list, _, count] = m.memory.get::<[u64; 3]>(iterator);
        if m.memory.contains(list) {
            m.memory.free(list, count.saturating_mul(8));
        }
        m.set_or_fail(iterator, [0_u64; 3]);
        0
    }
}

impl Machine {
    fn cgroup_of_css(&self, css: u64) -> u64 {
        let cgroup = self.kernel.offsets.css_cgroup;
        cgroup.map_or(0, |at| self.memory.get(css.wrapping_add(at)))
    }

    /// A cgroup and all below it: parents before their children, or after them; otherwise in the order in which
    /// they were made.
    fn descendants(&self, start: u64, parents_last: bool) -> Vec<u64> {
        let level = self.level(start) + 1;
        let is_child = |&cgroup: &u64| {
            self.level(cgroup) == level && self.ancestor(cgroup, level - 1) == start
        };
        let children: Vec<u64> = match self.cgroups.contains(&start) {
            true => self.cgroups.iter().copied().filter(is_child).collect(),
            false => return Vec::new(),
        };
        let below = children
            .into_iter()
            .flat_map(|child| self.descendants(child, parents_last));
        match parents_last {
            true => below.chain([start]).collect(),
            false => std::iter::once(start).chain(below).collect(),
        }
    }

    /// The next task of a loop.
    fn next_task(&mut self, state: u64) -> u64 {
        let [mut next, of, kind] = self.memory.get::<[u64; 3]>(state);
        while let Some(&task) = self.tasks.get(next as usize) {
            next += 1;
            if task != 0 && self.is_wanted(task, of, kind) {
                self.set_or_fail(state, next);
                return task;
            }
        }
        self.set_or_fail(state, u64::MAX);
        0
    }

    /// Does a loop over tasks come to this one?
    fn is_wanted(&self, task: u64, of: u64, kind: u64) -> bool {
        let number =
            |task: u64, at: Option<u64>| at.map(|at| self.memory.get::<u32>(task.wrapping_add(at)));
        let offsets = &self.kernel.offsets;
        let tgid = |task| number(task, offsets.tgid);
        match kind {
            0 => tgid(task) == number(task, offsets.pid),
            1 => true,
            2 => tgid(task) == tgid(of),
            _ => self.cgroup_of(task) == of,
        }
    }
}
