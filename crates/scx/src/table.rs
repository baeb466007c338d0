//! Hash tables for maps: keys to places.
//!
//! Places are numbered from 0 and reused, the last one given back first.  Iteration is in the order of places, so
//! it depends on nothing but the calls before.

/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry {
    hash: u32,
    /// Next entry of the bucket, or next free entry.
    next: u32,
    used: bool,
    /// Neighbours in the order of use.
    newer: u32,
    older: u32,
}

/// Keys of one size, each with a place.
#[derive(Clone, Debug)]
pub struct Table {
    key_size: usize,
    buckets: Vec<u32>,
    entries: Vec<Entry>,
    keys: Vec<u8>,
    free: u32,
    len: u32,
    newest: u32,
    oldest: u32,
}

impl Table {
    /// An empty table.
    pub fn new(key_size: usize) -> Table {
        Table {
            key_size,
            buckets: vec![NONE; 16],
            entries: Vec::new(),
            keys: Vec::new(),
            free: NONE,
            len: 0,
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Number of keys.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The place of a key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = hash(key);
        let mut at = self.buckets[hash as usize & (self.buckets.len() - 1)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.hash == hash && self.key(at) == key {
                return Some(at);
            }
            at = entry.next;
        }
        None
    }

    /// A place for a key that has none.
    pub fn insert(&mut self, key: &[u8]) -> u32 {
        if self.len as usize >= self.buckets.len() {
            self.grow();
        }
        let hash = hash(key);
        let at = self.free_entry();
        let bucket = hash as usize & (self.buckets.len() - 1);
        self.entries[at as usize] = Entry {
            hash,
            next: self.buckets[bucket],
            used: true,
            newer: NONE,
            older: NONE,
        };
        self.buckets[bucket] = at;
        let from = at as usize * self.key_size;
        self.keys[from..from + self.key_size].copy_from_slice(key);
        self.len += 1;
        self.append(at);
        at
    }

    fn free_entry(&mut self) -> u32 {
        if self.free != NONE {
            let at = self.free;
            self.free = self.entries[at as usize].next;
            return at;
        }
        self.entries.push(Entry {
            hash: 0,
            next: NONE,
            used: false,
            newer: NONE,
            older: NONE,
        });
        self.keys.resize(self.entries.len() * self.key_size, 0);
        self.entries.len() as u32 - 1
    }

    fn grow(&mut self) {
        let count = self.buckets.len() * 2;
        self.buckets = vec![NONE; count];
        for at in 0..self.entries.len() {
            if self.entries[at].used {
                let bucket = self.entries[at].hash as usize & (count - 1);
                self.entries[at].next = self.buckets[bucket];
                self.buckets[bucket] = at as u32;
            }
        }
    }

    /// Forgets a key; its place may be given to another one.
    pub fn remove(&mut self, key: &[u8]) -> Option<u32> {
        let found = self.find(key)?;
        let bucket = self.entries[found as usize].hash as usize & (self.buckets.len() - 1);
        let next = self.entries[found as usize].next;
        if self.buckets[bucket] == found {
            self.buckets[bucket] = next;
        } else {
            let mut at = self.buckets[bucket];
            while self.entries[at as usize].next != found {
                at = self.entries[at as usize].next;
            }
            self.entries[at as usize].next = next;
        }
        self.unlink(found);
        let entry = &mut self.entries[found as usize];
        entry.used = false;
        entry.next = self.free;
        self.free = found;
        self.len -= 1;
        Some(found)
    }

    /// The key of a place that is in use.
    pub fn key(&self, place: u32) -> &[u8] {
        let from = place as usize * self.key_size;
        &self.keys[from..from + self.key_size]
    }

    /// The first place in use from this one on.
    pub fn from(&self, place: u32) -> Option<u32> {
        let used = |&at: &u32| self.entries[at as usize].used;
        (place..self.entries.len() as u32).find(used)
    }

    /// The place after that of this key; the first one if the key is unknown.
    pub fn after(&self, key: Option<&[u8]>) -> Option<u32> {
        let known = key.and_then(|key| self.find(key));
        self.from(known.map_or(0, |place| place + 1))
    }

    /// The key of the place was used just now.
    pub fn touch(&mut self, place: u32) {
        if self.newest != place {
            self.unlink(place);
            self.append(place);
        }
    }

    /// The place that was not used for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    fn append(&mut self, place: u32) {
        let newest = self.newest;
        let entry = &mut self.entries[place as usize];
        (entry.older, entry.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = place,
            _ => self.entries[newest as usize].newer = place,
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
    }
}

/// A number that is the same on every host.
#[inline]
fn hash(key: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(23);
    let (words, rest) = key.as_chunks::<8>();
    let start = words.iter().fold(key.len() as u64, |hash, word| {
        mix(hash, u64::from_le_bytes(*word))
    });
    let last = rest
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte));
    let whole = mix(start, last).wrapping_mul(FACTOR);
    (whole >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn like_a_simple_map() {
        let mut table = Table::new(5);
        let mut model: BTreeMap<[u8; 5], u32> = BTreeMap::new();
        let mut used: Vec<[u8; 5]> = Vec::new();
        let mut state = 7_u32;
        for round in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = [(state >> 24) as u8, (state >> 16) as u8 & 3, 1, 2, 3];
            assert_eq!(table.find(&key), model.get(&key).copied(), "round {round}");
            used.retain(|other| *other != key);
            match (model.get(&key).copied(), state >> 9 & 3) {
                (None, _) => {
                    let place = table.insert(&key);
                    assert!(model.values().all(|&other| other != place));
                    model.insert(key, place);
                    used.push(key);
                }
                (Some(place), 0) => {
                    assert_eq!(table.remove(&key), Some(place));
                    model.remove(&key);
                }
                (Some(place), _) => {
                    table.touch(place);
                    used.push(key);
                }
            }
            let oldest = table.oldest().map(|place| table.key(place).to_vec());
            assert_eq!(oldest.as_deref(), used.first().map(|key| key.as_slice()));
            assert_eq!(table.len() as usize, model.len());
        }
        let mut seen = Vec::new();
        let mut key: Option<Vec<u8>> = None;
        while let Some(place) = table.after(key.as_deref()) {
            seen.push(place);
            key = Some(table.key(place).to_vec());
        }
        let mut all: Vec<u32> = model.values().copied().collect();
        all.sort();
        assert_eq!(seen, all);
    }
}
