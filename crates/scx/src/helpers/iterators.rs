//! bpf_iter_*(): loops over numbers, bits and tasks.

use super::error;
use crate::machine::Machine;

/// Most rounds of a loop over numbers: BPF_MAX_LOOPS.
const MOST_ROUNDS: i64 = 8 << 20;

/// Most words of a loop over bits: BITS_ITER_NR_WORDS_MAX.
const MOST_WORDS: u64 = 511;

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
        m.set_or_fail(iterator + 8, [words as u32, 0]);
        0
    }

    bits_next(m, iterator) {
        let copy = m.memory.get::<u64>(iterator);
        let [words, mut bit] = m.memory.get::<[u32; 2]>(iterator.wrapping_add(8));
        let words = words.min(MOST_WORDS as u32);
        while copy != 0 && bit < words * 64 {
            let word = m.memory.get::<u64>(copy + 8 + u64::from(bit / 64) * 8) >> (bit % 64);
            if word != 0 {
                let found = bit + word.trailing_zeros();
                m.set_or_fail(iterator + 12, found + 1);
                m.set_or_fail(copy, found);
                return copy;
            }
            bit = (bit / 64 + 1) * 64;
        }
        m.set_or_fail(iterator + 12, u32::MAX);
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

    task_next(m, iterator) {
        let [mut next, of, kind] = m.memory.get::<[u64; 3]>(iterator);
        while let Some(&task) = m.tasks.get(next as usize) {
            next += 1;
            if task != 0 && m.is_wanted(task, of, kind) {
                m.set_or_fail(iterator, next);
                return task;
            }
        }
        m.set_or_fail(iterator, u64::MAX);
        0
    }

    css_task_new(m, iterator, css) {
        let cgroup = m.kernel.offsets.css_cgroup;
        let cgroup = cgroup.map_or(0, |at| m.memory.get::<u64>(css.wrapping_add(at)));
        m.set_or_fail(iterator, [0, cgroup]);
        m.set_or_fail(iterator.wrapping_add(16), 3_u64);
        0
    }
}

impl Machine {
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
