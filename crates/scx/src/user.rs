//! Maps as user space has them: the commands of bpf(2).

use crate::machine::{Errno, Machine};
use crate::maps::{Data, Map, MapId};
use crate::memory::PER_CPU_STRIDE;
use crate::special::{Part, Special};

impl Machine {
    /// Bytes of a value as user space has it: of per-CPU maps, those of all CPUs, each in multiples of 8.
    ///
    /// # Panics
    /// If there is no such map (this and all below).
    pub fn user_value_size(&self, map: MapId) -> usize {
        let spec = &self.maps[map.0 as usize].spec;
        let one = spec.value_size as usize;
        match spec.kind {
            kind if kind.is_per_cpu() => one.next_multiple_of(8) * self.nr_cpus as usize,
            kind if kind.is_of_maps() => 4,
            _ => one,
        }
    }

    /// BPF_MAP_LOOKUP_ELEM.  Of a map of maps the value is a [`MapId`], as 4 bytes.
    ///
    /// # Errors
    /// ENOENT, or EINVAL for a key of another size.
    pub fn map_lookup(&mut self, map: MapId, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let found = self.keyed(map, key)?;
        if let Data::Queue(values) = &found.data {
            let value = values.front().cloned();
            return value.ok_or(Errno(libc::ENOENT));
        }
        let address = found.find(key).ok_or(Errno(libc::ENOENT))?;
        let kind = found.spec.kind;
        if kind.is_of_maps() {
            let inner = self.map_at(self.memory.get(address));
            let inner = inner.ok_or(Errno(libc::ENOENT))?;
            return Ok(inner.0.to_le_bytes().to_vec());
        }
        Ok(self.value(map, address))
    }

    /// A value at an address, as user space has it.
    fn value(&self, map: MapId, address: u64) -> Vec<u8> {
        let spec = &self.maps[map.0 as usize].spec;
        let size = u64::from(spec.value_size);
        let copy = |at: u64| {
            self.memory
                .bytes(at, size)
                .map_or(Vec::new(), <[u8]>::to_vec)
        };
        if !spec.kind.is_per_cpu() {
            return copy(address);
        }
        let cpus = 0..u64::from(self.nr_cpus);
        let values = cpus.flat_map(|cpu| {
            let mut value = copy(address + cpu * PER_CPU_STRIDE);
            value.resize(value.len().next_multiple_of(8), 0);
            value
        });
        values.collect()
    }

    /// BPF_MAP_UPDATE_ELEM.  For maps of maps the value is a [`MapId`], as 4 bytes.
    ///
    /// # Errors
    /// As the kernel: ENOENT, EEXIST, E2BIG, EINVAL, EPERM for a frozen map.
    pub fn map_update(
        &mut self,
        map: MapId,
        key: &[u8],
        value: &[u8],
        flags: u64,
    ) -> Result<(), Errno> {
        let size = self.user_value_size(map);
        let nr_cpus = self.nr_cpus;
        let found = self.keyed(map, key)?;
        if found.frozen {
            return Err(Errno(libc::EPERM));
        }
        if value.len() != size {
            return Err(Errno(libc::EINVAL));
        }
        if found.spec.kind.is_of_maps() {
            return self.put_map(map, key, value, flags);
        }
        if let Data::Queue(_) = found.data {
            return self.push_value(map, value.to_vec(), flags);
        }
        let found = &mut self.maps[map.0 as usize];
        let per_cpu = found.spec.kind.is_per_cpu();
        let (address, new) = found.find_or_insert(key, flags, &mut self.memory, nr_cpus)?;
        let one = found.spec.value_size as usize;
        let step = if per_cpu {
            one.next_multiple_of(8)
        } else {
            size
        };
        for (cpu, value) in value.chunks(step.max(1)).enumerate() {
            let address = address + cpu as u64 * PER_CPU_STRIDE;
            self.put_value(map, address, &value[..one], new);
        }
        Ok(())
    }

    fn put_map(&mut self, map: MapId, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let id = u32::from_le_bytes(value.try_into().map_err(|_| Errno(libc::EINVAL))?);
        let inner = self
            .maps
            .get(id as usize)
            .ok_or(Errno(libc::EBADF))?
            .address;
        let nr_cpus = self.nr_cpus;
        let found = &mut self.maps[map.0 as usize];
        let (address, _) = found.find_or_insert(key, flags, &mut self.memory, nr_cpus)?;
        let _ = self.memory.set(address, inner);
        Ok(())
    }

    /// Writes a value; timers, locks and pointers of the old one stay, unless it is a new one.
    pub(crate) fn put_value(&mut self, map: MapId, address: u64, value: &[u8], new: bool) {
        let map = &self.maps[map.0 as usize];
        let mut from = 0;
        let ends = map.special.iter().map(|special| {
            let start = special.offset as usize;
            (start, start + special.size as usize, Some(*special))
        });
        for (start, end, special) in ends.chain([(value.len(), value.len(), None)]) {
            if let Some(plain) = value.get(from..start) {
                // A value is inside.
                let _ = self.memory.write(address + from as u64, plain);
            }
            if let (Some(special), true) = (special, new) {
                let at = address + u64::from(special.offset);
                if let Some(bytes) = self.memory.bytes_mut(at, u64::from(special.size)) {
                    bytes.fill(0);
                }
            }
            from = end;
        }
    }

    /// BPF_MAP_DELETE_ELEM.
    ///
    /// # Errors
    /// ENOENT, EINVAL for an array, EPERM for a frozen map.
    pub fn map_delete(&mut self, map: MapId, key: &[u8]) -> Result<(), Errno> {
        let found = self.keyed(map, key)?;
        if found.frozen {
            return Err(Errno(libc::EPERM));
        }
        let address = found.remove(key)?;
        self.drop_value(map, address);
        Ok(())
    }

    /// A value is gone: its timers are cancelled, its pointers released.
    pub(crate) fn drop_value(&mut self, map: MapId, address: u64) {
        let special: Vec<Special> = self.maps[map.0 as usize].special.clone();
        for part in special {
            let at = address + u64::from(part.offset);
            match part.part {
                Part::Timer => self.forget_timer(at),
                Part::Pointer { to_cpumask: true } => {
                    let pointer = self.memory.get(at);
                    self.release_cpumask(pointer);
                    let _ = self.memory.set(at, 0_u64);
                }
                _ => {}
            }
        }
    }

    /// BPF_MAP_GET_NEXT_KEY: the key after this one, or the first.
    ///
    /// # Errors
    /// ENOENT after the last one; EOPNOTSUPP for a map without keys.
    pub fn map_next_key(&mut self, map: MapId, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        self.maps[map.0 as usize].next_key(key)
    }

    /// BPF_MAP_LOOKUP_AND_DELETE_ELEM.
    ///
    /// # Errors
    /// ENOENT.
    pub fn map_take(&mut self, map: MapId, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let found = self.keyed(map, key)?;
        if let Data::Queue(_) = found.data {
            return self.pop_value(map, true);
        }
        let value = self.map_lookup(map, key)?;
        self.map_delete(map, key)?;
        Ok(value)
    }

    /// BPF_MAP_FREEZE: user space can change it no more.
    pub fn map_freeze(&mut self, map: MapId) {
        self.maps[map.0 as usize].frozen = true;
    }

    /// The map, for a key of its size.
    fn keyed(&mut self, map: MapId, key: &[u8]) -> Result<&mut Map, Errno> {
        let found = &mut self.maps[map.0 as usize];
        match (
            found.spec.kind.is_storage(),
            key.len() == found.spec.key_size as usize,
        ) {
            (true, _) => Err(Errno(libc::EOPNOTSUPP)),
            (false, true) => Ok(found),
            (false, false) => Err(Errno(libc::EINVAL)),
        }
    }

    /// Appends to a queue or stack.
    pub(crate) fn push_value(
        &mut self,
        map: MapId,
        value: Vec<u8>,
        flags: u64,
    ) -> Result<(), Errno> {
        let map = &mut self.maps[map.0 as usize];
        let most = map.spec.max_entries as usize;
        let Data::Queue(values) = &mut map.data else {
            return Err(Errno(libc::EINVAL));
        };
        if flags & !crate::maps::EXIST != 0 {
            return Err(Errno(libc::EINVAL));
        }
        if values.len() >= most {
            // BPF_EXIST: the oldest one gives way.
            if flags & crate::maps::EXIST == 0 {
                return Err(Errno(libc::E2BIG));
            }
            values.pop_front();
        }
        values.push_back(value);
        Ok(())
    }

    /// The next value of a queue or stack.
    pub(crate) fn pop_value(&mut self, map: MapId, remove: bool) -> Result<Vec<u8>, Errno> {
        let map = &mut self.maps[map.0 as usize];
        let is_stack = map.spec.kind == crate::maps::MapKind::Stack;
        let Data::Queue(values) = &mut map.data else {
            return Err(Errno(libc::EINVAL));
        };
        let value = match (is_stack, remove) {
            (true, true) => values.pop_back(),
            (true, false) => values.back().cloned(),
            (false, true) => values.pop_front(),
            (false, false) => values.front().cloned(),
        };
        value.ok_or(Errno(libc::ENOENT))
    }

    /// Records of a ring buffer that were submitted since the last time, the latest 4096 of them.
    pub fn take_records(&mut self, map: MapId) -> Vec<Vec<u8>> {
        match &mut self.maps[map.0 as usize].data {
            Data::Ring(ring) => std::mem::take(&mut ring.records).into(),
            _ => Vec::new(),
        }
    }
}
