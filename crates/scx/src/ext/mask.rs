//! Sets of CPUs.

use crate::machine::Machine;

/// Words of the longest set.
const WORDS: usize = schedlab_policy::MAX_CPUS / 64;

/// A set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mask(pub [u64; WORDS]);

impl Mask {
    pub const EMPTY: Mask = Mask([0; WORDS]);

    pub fn of(cpus: impl Iterator<Item = u32>) -> Mask {
        let mut mask = Mask::EMPTY;
        cpus.for_each(|cpu| mask.set(cpu));
        mask
    }

    #[inline]
    pub fn has(&self, cpu: u32) -> bool {
        let word = self.0.get(cpu as usize / 64);
        word.is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    }

    #[inline]
    pub fn set(&mut self, cpu: u32) {
        self.0[cpu as usize / 64] |= 1 << (cpu % 64);
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub fn and(&self, other: &Mask) -> Mask {
        Mask(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    pub fn weight(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The lowest CPU from this one on.
    #[inline]
    pub fn from(&self, cpu: u32) -> Option<u32> {
        let mut word = cpu as usize / 64;
        let mut bits = *self.0.get(word)? & (!0 << (cpu % 64));
        loop {
            if bits != 0 {
                return Some(word as u32 * 64 + bits.trailing_zeros());
            }
            word += 1;
            bits = *self.0.get(word)?;
        }
    }

    /// Its CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.from(0), |&cpu| self.from(cpu + 1))
    }
}

/// Where the kernel's own sets are in memory; 0: not made yet.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    /// cpu_possible_mask and cpu_online_mask; no CPU comes or goes.
    all: u64,
    /// cpu_none_mask.
    none: u64,
}

impl Machine {
    /// Words of a set that hold CPUs of this machine.
    fn mask_words(&self) -> usize {
        (self.nr_cpus as usize).div_ceil(64)
    }

    /// Reads a set that programs see.
    #[inline]
    pub(super) fn read_mask(&self, address: u64) -> Mask {
        let mut mask = Mask::EMPTY;
        for (i, word) in mask.0[..self.mask_words()].iter_mut().enumerate() {
            *word = self.memory.get(address.wrapping_add(8 * i as u64));
        }
        // Bits beyond the last CPU mean nothing.
        let beyond = self.nr_cpus % 64;
        if beyond != 0 {
            mask.0[self.nr_cpus as usize / 64] &= (1 << beyond) - 1;
        }
        mask
    }

    /// Writes a set of the kernel's own.
    pub(super) fn write_mask(&mut self, address: u64, mask: &Mask) {
        for (i, word) in mask.0.iter().enumerate() {
            self.store(address + 8 * i as u64, *word);
        }
    }

    /// A new set.
    pub(super) fn new_mask(&mut self, mask: &Mask) -> u64 {
        let address = self.memory.allocate(8 * WORDS as u64);
        self.write_mask(address, mask);
        address
    }

    /// cpu_possible_mask.
    pub(super) fn all_cpus(&mut self) -> u64 {
        if self.ext.masks.all == 0 {
            let all = Mask::of(0..self.nr_cpus);
            self.ext.masks.all = self.new_mask(&all);
        }
        self.ext.masks.all
    }

    /// cpu_none_mask.
    pub(super) fn no_cpus(&mut self) -> u64 {
        if self.ext.masks.none == 0 {
            self.ext.masks.none = self.new_mask(&Mask::EMPTY);
        }
        self.ext.masks.none
    }

    /// cpumask_any_distribute(): the next CPU of a set after the one that was chosen last on this CPU.
    pub(super) fn any_distribute(&mut self, mask: &Mask) -> Option<u32> {
        let (this, nr_cpus) = (self.this_cpu as usize, self.nr_cpus as usize);
        self.kept.distributed.resize(nr_cpus, 0);
        let last = self.kept.distributed[this];
        let next = mask.from(last + 1).or_else(|| mask.from(0))?;
        self.kept.distributed[this] = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_cpus() {
        let mut mask = Mask::of([3, 64, 200].into_iter());
        assert_eq!(mask.iter().collect::<Vec<_>>(), [3, 64, 200]);
        assert_eq!((mask.from(4), mask.from(201)), (Some(64), None));
        mask.set(65);
        assert!(mask.has(200) && mask.has(65) && !mask.has(9999));
        assert_eq!((mask.weight(), mask.is_empty()), (4, false));
        assert_eq!(mask.and(&Mask::of(0..10)), Mask::of(3..4));
    }
}
