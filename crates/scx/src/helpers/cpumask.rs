//! bpf_cpumask_*(): sets of CPUs.  kernel/bpf/cpumask.c.

use super::error;
use crate::machine::Machine;
use crate::memory::Plain;

/// Words of the longest mask.
const WORDS: usize = schedlab_policy::MAX_CPUS / 64;

/// All bits of a mask that stand for CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mask([u64; WORDS]);

impl Mask {
    fn first(&self) -> Option<u32> {
        let words = self.0.iter().zip(0..);
        let mut set = words.filter(|(&word, _)| word != 0);
        set.next().map(|(word, i)| i * 64 + word.trailing_zeros())
    }

    fn has(&self, cpu: u32) -> bool {
        let word = self.0.get(cpu as usize / 64);
        word.is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    }

    fn join(self, other: Mask, join: impl Fn(u64, u64) -> u64) -> Mask {
        Mask(std::array::from_fn(|i| join(self.0[i], other.0[i])))
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

calls! {
    create(m) {
        let size = m.kernel.offsets.bpf_cpumask;
        let address = m.memory.allocate(size);
        m.set_usage(address, 1);
        address
    }

    acquire(m, mask) {
        let usage = m.usage(mask);
        m.set_usage(mask, usage.wrapping_add(1));
        mask
    }

    release(m, mask) {
        m.release_cpumask(mask);
        0
    }

    first(m, mask) { m.first_or_end(m.mask(mask)) }

    first_zero(m, mask) { m.first_or_end(m.complement(m.mask(mask))) }

    first_and(m, one, two) {
        m.first_or_end(m.mask(one).join(m.mask(two), |a, b| a & b))
    }

    set_cpu(m, cpu, mask) { m.change(cpu, mask, Some(true)); 0 }

    clear_cpu(m, cpu, mask) { m.change(cpu, mask, Some(false)); 0 }

    test_cpu(m, cpu, mask) { m.change(cpu, mask, None) }

    test_and_set_cpu(m, cpu, mask) { m.change(cpu, mask, Some(true)) }

    test_and_clear_cpu(m, cpu, mask) { m.change(cpu, mask, Some(false)) }

    setall(m, mask) {
        m.set_mask(mask, m.complement(Mask([0; WORDS])));
        0
    }

    clear(m, mask) {
        m.set_mask(mask, Mask([0; WORDS]));
        0
    }

    and(m, to, one, two) { m.join(to, one, two, |a, b| a & b) }

    or(m, to, one, two) { m.join(to, one, two, |a, b| a | b) }

    xor(m, to, one, two) { m.join(to, one, two, |a, b| a ^ b) }

    equal(m, one, two) { u64::from(m.mask(one) == m.mask(two)) }

    intersects(m, one, two) {
        u64::from(!m.mask(one).join(m.mask(two), |a, b| a & b).is_empty())
    }

    subset(m, one, two) {
        u64::from(m.mask(one).join(m.mask(two), |a, b| a & !b).is_empty())
    }

    empty(m, mask) { u64::from(m.mask(mask).is_empty()) }

    full(m, mask) { u64::from(m.complement(m.mask(mask)).is_empty()) }

    copy(m, to, from) {
        m.set_mask(to, m.mask(from));
        0
    }

    any_distribute(m, mask) { m.distribute(m.mask(mask)) }

    any_and_distribute(m, one, two) {
        m.distribute(m.mask(one).join(m.mask(two), |a, b| a & b))
    }

    weight(m, mask) {
        let words = m.mask(mask).0;
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    populate(m, mask, from, size) {
        let words = m.words() as u64 * 8;
        if from % 8 != 0 || size < words {
            return error(libc::EINVAL);
        }
        let _ = m.memory.copy(mask, from, words);
        0
    }
}

impl Machine {
    /// Words of a mask that hold CPUs.
    fn words(&self) -> usize {
        (self.nr_cpus as usize).div_ceil(64)
    }

    fn mask(&self, address: u64) -> Mask {
        let mut mask = Mask([0; WORDS]);
        for (i, word) in mask.0[..self.words()].iter_mut().enumerate() {
            *word = self.memory.get(address.wrapping_add(8 * i as u64));
        }
        mask
    }

    fn set_mask(&mut self, address: u64, mask: Mask) {
        for (i, word) in mask.0[..self.words()].iter().enumerate() {
            self.set_or_fail(address.wrapping_add(8 * i as u64), *word);
        }
    }

    /// Writes what a program's pointer points to.
    pub(crate) fn set_or_fail<T: Plain>(&mut self, address: u64, value: T) {
        if self.memory.set(address, value).is_err() {
            self.fail(crate::FaultKind::Store {
                address,
                at: ("a helper or kfunc".into(), 0),
            });
        }
    }

    /// All CPUs that are not in a mask.
    fn complement(&self, mask: Mask) -> Mask {
        Mask(std::array::from_fn(|i| {
            let before = (self.nr_cpus as usize).saturating_sub(64 * i);
            let all = if before >= 64 {
                u64::MAX
            } else {
                (1 << before) - 1
            };
            all & !mask.0[i]
        }))
    }

    fn first_or_end(&self, mask: Mask) -> u64 {
        u64::from(mask.first().unwrap_or(self.nr_cpus).min(self.nr_cpus))
    }

    fn join(&mut self, to: u64, one: u64, two: u64, join: impl Fn(u64, u64) -> u64) -> u64 {
        let joined = self.mask(one).join(self.mask(two), join);
        self.set_mask(to, joined);
        u64::from(!joined.is_empty())
    }

    /// Sets or clears a bit; answers what it was.
    fn change(&mut self, cpu: u64, mask: u64, to: Option<bool>) -> u64 {
        let cpu = cpu as u32;
        if cpu >= self.nr_cpus {
            return 0;
        }
        let at = mask.wrapping_add(u64::from(cpu / 64) * 8);
        let (word, bit) = (self.memory.get::<u64>(at), 1 << (cpu % 64));
        match to {
            Some(true) => self.set_or_fail(at, word | bit),
            Some(false) => self.set_or_fail(at, word & !bit),
            None => {}
        }
        u64::from(word & bit != 0)
    }

    /// The next CPU of a mask after the last answer on this CPU.
    fn distribute(&mut self, mask: Mask) -> u64 {
        let nr_cpus = self.nr_cpus;
        let this = self.this_cpu as usize;
        self.kept.distributed.resize(nr_cpus as usize, 0);
        let last = self.kept.distributed[this];
        let next = (1..=nr_cpus)
            .map(|i| (last + i) % nr_cpus)
            .find(|&cpu| mask.has(cpu));
        if let Some(cpu) = next {
            self.kept.distributed[this] = cpu;
        }
        u64::from(next.unwrap_or(nr_cpus))
    }

    fn usage(&self, mask: u64) -> u32 {
        let at = self.kernel.offsets.usage;
        at.map_or(0, |at| self.memory.get(mask.wrapping_add(at)))
    }

    fn set_usage(&mut self, mask: u64, usage: u32) {
        if let Some(at) = self.kernel.offsets.usage {
            let _ = self.memory.set(mask.wrapping_add(at), usage);
        }
    }

    /// One reference to a struct bpf_cpumask less.
    pub(crate) fn release_cpumask(&mut self, mask: u64) {
        if !self.memory.contains(mask) {
            return;
        }
        match self.usage(mask) {
            0 => {}
            1 => {
                self.set_usage(mask, 0);
                let size = self.kernel.offsets.bpf_cpumask;
                self.memory.free(mask, size);
            }
            usage => self.set_usage(mask, usage - 1),
        }
    }
}
