//! Maps as programs have them.

use super::{answer, error};
use crate::machine::{Errno, Machine};
use crate::maps::{Data, MapId, MapKind};
use crate::memory::PER_CPU_STRIDE;

/// Create what is not there: BPF_LOCAL_STORAGE_GET_F_CREATE.
const CREATE: u64 = 1;

/// Most bytes of a key that need no allocation.
const SHORT: usize = 64;

calls! {
    lookup(m, map, key) {
        let cpu = m.this_cpu;
        m.lookup(map, key, cpu).unwrap_or(0)
    }

    lookup_percpu(m, map, key, cpu) {
        let cpu = cpu as u32;
        match cpu < m.nr_cpus {
            true => m.lookup(map, key, cpu).unwrap_or(0),
            false => 0,
        }
    }

    update(m, map, key, value, flags) {
        answer(m.update(map, key, value, flags))
    }

    delete(m, map, key) {
        let Some(id) = m.map_at(map) else {
            return error(libc::EINVAL);
        };
        let removed = m.with_key(id, key, |m, key| m.maps[id.0 as usize].remove(key));
        answer(removed.map(|address| m.drop_value(id, address)))
    }

    push(m, map, value, flags) {
        let Some(id) = m.map_at(map) else {
            return error(libc::EINVAL);
        };
        let size = m.maps[id.0 as usize].value_size();
        let value = m.memory.bytes(value, size).map(<[u8]>::to_vec);
        let value = value.ok_or(Errno(libc::EFAULT));
        answer(value.and_then(|value| m.push_value(id, value, flags)))
    }

    pop(m, map, value) { m.take_value(map, value, true) }

    peek(m, map, value) { m.take_value(map, value, false) }

    perf_event_output(_m) { error(libc::ENOENT) }

    perf_event_read_value(m, _map, _flags, value, size) {
        if let Some(bytes) = m.memory.bytes_mut(value, u64::from(size as u32)) {
            bytes.fill(0);
        }
        error(libc::ENOENT)
    }

    for_each(m, map, callback, context, flags) {
        let Some(id) = m.map_at(map).filter(|_| flags == 0) else {
            return error(libc::EINVAL);
        };
        m.for_each(id, callback, context)
    }

    storage_get(m, map, owner, value, flags) {
        let Some(id) = m.map_at(map).filter(|_| owner != 0 && flags & !CREATE == 0) else {
            return 0;
        };
        match m.stored(id, owner) {
            0 if flags & CREATE != 0 => m.store_new(id, owner, value),
            found => found,
        }
    }

    storage_delete(m, map, owner) {
        let Some(id) = m.map_at(map).filter(|_| owner != 0) else {
            return error(libc::EINVAL);
        };
        match m.stored(id, owner) {
            0 => error(libc::ENOENT),
            address => {
                m.drop_storage(id, owner, address);
                0
            }
        }
    }
}

impl Machine {
    /// Calls with the bytes of a key in memory.
    fn with_key<T>(
        &mut self,
        map: MapId,
        key: u64,
        call: impl FnOnce(&mut Machine, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let size = self.maps[map.0 as usize].spec.key_size as usize;
        let bytes = self
            .memory
            .bytes(key, size as u64)
            .ok_or(Errno(libc::EFAULT))?;
        if size > SHORT {
            let bytes = bytes.to_vec();
            return call(self, &bytes);
        }
        let mut short = [0; SHORT];
        short[..size].copy_from_slice(bytes);
        call(self, &short[..size])
    }

    fn lookup(&mut self, map: u64, key: u64, cpu: u32) -> Option<u64> {
        let id = self.map_at(map)?;
        let found = self.with_key(id, key, |m, key| {
            let found = m.maps[id.0 as usize].find(key);
            found.ok_or(Errno(libc::ENOENT))
        });
        let address = found.ok()?;
        match self.maps[id.0 as usize].spec.kind {
            kind if kind.is_of_maps() => Some(self.memory.get(address)),
            kind if kind.is_per_cpu() => Some(address + u64::from(cpu) * PER_CPU_STRIDE),
            _ => Some(address),
        }
    }

    fn update(&mut self, map: u64, key: u64, value: u64, flags: u64) -> Result<(), Errno> {
        let id = self.map_at(map).ok_or(Errno(libc::EINVAL))?;
        let kind = self.maps[id.0 as usize].spec.kind;
        if kind.is_of_maps() || kind == MapKind::StructOps {
            return Err(Errno(libc::EINVAL));
        }
        let nr_cpus = self.nr_cpus;
        let (address, new) = self.with_key(id, key, |m, key| {
            m.maps[id.0 as usize].find_or_insert(key, flags, &mut m.memory, nr_cpus)
        })?;
        let size = self.maps[id.0 as usize].value_size();
        let bytes = self
            .memory
            .bytes(value, size)
            .ok_or(Errno(libc::EFAULT))?
            .to_vec();
        if !kind.is_per_cpu() {
            self.put_value(id, address, &bytes, new);
            return Ok(());
        }
        for cpu in (0..nr_cpus).filter(|_| new) {
            let other = address + u64::from(cpu) * PER_CPU_STRIDE;
            self.put_value(id, other, &vec![0; bytes.len()], true);
        }
        let own = address + u64::from(self.this_cpu) * PER_CPU_STRIDE;
        self.put_value(id, own, &bytes, false);
        Ok(())
    }

    fn take_value(&mut self, map: u64, value: u64, remove: bool) -> u64 {
        let Some(id) = self.map_at(map) else {
            return error(libc::EINVAL);
        };
        let taken = self.pop_value(id, remove);
        answer(taken.and_then(|bytes| Ok(self.memory.write(value, &bytes)?)))
    }

    /// Calls for each entry until the callback answers 1; returns the number of calls.
    fn for_each(&mut self, id: MapId, callback: u64, context: u64) -> u64 {
        let map = &self.maps[id.0 as usize];
        let (address, per_cpu) = (map.address, map.spec.kind.is_per_cpu());
        if !matches!(map.data, Data::Array | Data::Hash(..)) {
            return error(libc::EINVAL);
        }
        let offset = if per_cpu {
            u64::from(self.this_cpu) * PER_CPU_STRIDE
        } else {
            0
        };
        let mut calls = 0;
        let mut next = 0;
        loop {
            let map = &self.maps[id.0 as usize];
            let (key, value) = match &map.data {
                Data::Array if next < map.spec.max_entries => {
                    let value = map.values + u64::from(next) * map.stride;
                    (next.to_le_bytes().to_vec(), value)
                }
                Data::Hash(table, places) => match table.from(next) {
                    Some(place) => {
                        next = place;
                        (table.key(place).to_vec(), places[place as usize])
                    }
                    None => return calls,
                },
                _ => return calls,
            };
            next += 1;
            if !self.tick() {
                return calls;
            }
            let at = self.push(&key);
            let stop = self.call_function(callback, [address, at, value + offset, context, 0]);
            self.pop(key.len());
            calls += 1;
            if stop != 0 {
                return calls;
            }
        }
    }

    /// Address of an owner's value; 0: none.
    fn stored(&self, map: MapId, owner: u64) -> u64 {
        if let Some(pointer) = self.storage_pointer(map, owner) {
            return self.memory.get(pointer);
        }
        match &self.maps[map.0 as usize].data {
            Data::Storage(values) => values.get(&owner).copied().unwrap_or(0),
            _ => 0,
        }
    }

    fn store_new(&mut self, map: MapId, owner: u64, value: u64) -> u64 {
        let size = self.maps[map.0 as usize].value_size();
        let address = self.memory.allocate(size);
        if address == 0 {
            return 0;
        }
        if let Some(bytes) = self.memory.bytes(value, size).map(<[u8]>::to_vec) {
            self.put_value(map, address, &bytes, true);
        }
        self.set_stored(map, owner, address);
        address
    }

    fn set_stored(&mut self, map: MapId, owner: u64, address: u64) {
        if let Some(pointer) = self.storage_pointer(map, owner) {
            // It is before its owner, which is inside.
            let _ = self.memory.set(pointer, address);
        } else if let Data::Storage(values) = &mut self.maps[map.0 as usize].data {
            match address {
                0 => values.remove(&owner),
                _ => values.insert(owner, address),
            };
        }
    }

    fn drop_storage(&mut self, map: MapId, owner: u64, address: u64) {
        self.drop_value(map, address);
        self.set_stored(map, owner, 0);
        let size = self.maps[map.0 as usize].value_size();
        self.memory.free(address, size);
    }

    /// Frees all storage of an object of the kernel that is gone for good.
    pub fn forget_storage(&mut self, owner: u64) {
        for id in (0..self.maps.len() as u32).map(MapId) {
            if self.maps[id.0 as usize].spec.kind.is_storage() {
                match self.stored(id, owner) {
                    0 => {}
                    address => self.drop_storage(id, owner, address),
                }
            }
        }
    }
}
