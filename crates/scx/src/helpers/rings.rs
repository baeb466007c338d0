//! Ring buffers, to user space and from it.
//!
//! User space maps a ring's file: a page with the reader's position, a page with the writer's, and twice as many bytes as
//! the ring has, so that no record has to be cut in two.

use std::os::unix::fs::FileExt;

use super::error;
use crate::machine::{Errno, Machine};
use crate::maps::{Data, MapId, MapKind, PAGE};

/// BPF_RINGBUF_BUSY_BIT and BPF_RINGBUF_DISCARD_BIT of a record's length.
const BUSY: u32 = 1 << 31;
const DISCARD: u32 = 1 << 30;

/// Bytes before a record.
const HEAD: u64 = 8;

/// Bytes of a struct bpf_dynptr: an address, a length, and nothing.
const DYNPTR: usize = 16;

/// BPF_MAX_USER_RINGBUF_SAMPLES
const MOST_SAMPLES: u64 = 128 * 1024;

calls! {
    reserve(m, map, size) {
        m.map_at(map).map_or(0, |id| m.reserve(id, size))
    }

    submit(m, record) {
        let [map, len] = m.memory.get::<[u32; 2]>(record.wrapping_sub(HEAD));
        let bytes = m.memory.bytes(record, u64::from(len)).map(<[u8]>::to_vec);
        if let Some(bytes) = bytes {
            m.publish(MapId(map), bytes);
        }
        0
    }

    discard(_m) { 0 }

    output(m, map, data, size) {
        let bytes = m.memory.bytes(data, size).map(<[u8]>::to_vec);
        match (m.map_at(map), bytes) {
            (None, _) => error(libc::EINVAL),
            (Some(id), Some(bytes)) if m.has_room(id, size) => {
                m.publish(id, bytes);
                0
            }
            _ => error(libc::EAGAIN),
        }
    }

    query(m, map, what) {
        let Some(id) = m.map_at(map) else {
            return 0;
        };
        let (read, written) = m.positions(id);
        // BPF_RB_AVAIL_DATA, RING_SIZE, CONS_POS, PROD_POS
        match what {
            0 => written - read,
            1 => u64::from(m.maps[id.0 as usize].spec.max_entries),
            2 => read,
            3 => written,
            _ => 0,
        }
    }

    user_drain(m, map, callback, context) {
        match m.map_at(map).filter(|id| m.maps[id.0 as usize].spec.kind == MapKind::UserRingBuf) {
            Some(id) => m.drain(id, callback, context),
            None => error(libc::EINVAL),
        }
    }

    dynptr_data(m, dynptr, offset, len) {
        let [low, high, size, _] = m.memory.get::<[u32; 4]>(dynptr);
        let start = u64::from(low) | u64::from(high) << 32;
        match offset.checked_add(len).is_some_and(|end| end <= u64::from(size)) {
            true => start + offset,
            false => 0,
        }
    }

    dynptr_read(m, to, len, dynptr, offset, _flags) {
        match dynptr_data(m, dynptr, offset, len, 0, 0) {
            0 => error(libc::E2BIG),
            from => super::answer(m.memory.copy(to, from, len).map_err(Errno::from)),
        }
    }
}

impl Machine {
    /// Positions of a ring's reader and writer.  Without a part in user space, a reader is always fast enough.
    fn positions(&self, id: MapId) -> (u64, u64) {
        let map = &self.maps[id.0 as usize];
        let (Data::Ring(_), Some(file), true) = (&map.data, &map.file, self.is_live) else {
            return (0, 0);
        };
        let position = |at| {
            let mut bytes = [0; 8];
            // A position that cannot be read is that of an empty ring.
            let _ = file.read_exact_at(&mut bytes, at);
            u64::from_le_bytes(bytes)
        };
        let (read, written) = (position(0), position(PAGE));
        (read.min(written), written)
    }

    /// Has a ring records that user space has not read?
    pub(crate) fn is_unread(&self, id: MapId) -> bool {
        let (read, written) = self.positions(id);
        read < written
    }

    fn has_room(&self, id: MapId, len: u64) -> bool {
        let (read, written) = self.positions(id);
        let most = u64::from(self.maps[id.0 as usize].spec.max_entries);
        let whole = len.saturating_add(HEAD).checked_next_multiple_of(8);
        whole.is_some_and(|whole| whole <= most - (written - read).min(most))
    }

    /// Room for a record, behind the number of its map and its length.
    fn reserve(&mut self, id: MapId, size: u64) -> u64 {
        if !self.has_room(id, size) {
            return 0;
        }
        let map = &mut self.maps[id.0 as usize];
        let (most, whole) = (
            u64::from(map.spec.max_entries),
            (size + HEAD).next_multiple_of(8),
        );
        let Data::Ring(ring) = &mut map.data else {
            return 0;
        };
        if ring.next + whole > most {
            ring.next = 0;
        }
        let at = map.values + ring.next;
        ring.next += whole;
        let _ = self.memory.set(at, [id.0, size as u32]);
        at + HEAD
    }

    /// A record is there for user space.
    fn publish(&mut self, id: MapId, bytes: Vec<u8>) {
        let (_, written) = self.positions(id);
        let Some(map) = self.maps.get_mut(id.0 as usize) else {
            return;
        };
        let Data::Ring(ring) = &mut map.data else {
            return;
        };
        if let (Some(file), true) = (&map.file, self.is_live) {
            let at = written % u64::from(map.spec.max_entries);
            let head = (bytes.len() as u32).to_le_bytes();
            let record = [&head[..], &[0; 4], &bytes].concat();
            let end = written + (record.len() as u64).next_multiple_of(8);
            // Memory that cannot be written would have failed when the map was made.
            let _ = file.write_all_at(&record, 2 * PAGE + at);
            let _ = file.write_all_at(&end.to_le_bytes(), PAGE);
            self.user_space_hears = true;
        }
        ring.submit(bytes);
    }

    /// bpf_user_ringbuf_drain(): calls for each sample until the callback answers 1; the number of calls.
    fn drain(&mut self, id: MapId, callback: u64, context: u64) -> u64 {
        let mut calls = 0;
        while calls < MOST_SAMPLES && self.tick() {
            let (read, written) = self.positions(id);
            let map = &self.maps[id.0 as usize];
            let (values, size) = (map.values, u64::from(map.spec.max_entries));
            let at = values + read % size;
            let len: u32 = self.memory.get(at);
            let (bytes, is_sample) = (len & !(BUSY | DISCARD), len & DISCARD == 0);
            if read == written || len & BUSY != 0 {
                break;
            }
            if u64::from(bytes) + HEAD > (written - read).min(size) {
                return error(libc::EINVAL);
            }
            let mut stop = 0;
            if is_sample {
                let mut dynptr = [0; DYNPTR];
                dynptr[..8].copy_from_slice(&(at + HEAD).to_le_bytes());
                dynptr[8..12].copy_from_slice(&bytes.to_le_bytes());
                let pointer = self.push(&dynptr);
                stop = self.call_function(callback, [pointer, context, 0, 0, 0]);
                self.pop(DYNPTR);
                calls += 1;
            }
            let next = read + (u64::from(bytes) + HEAD).next_multiple_of(8);
            if let Some(file) = &self.maps[id.0 as usize].file {
                let _ = file.write_all_at(&next.to_le_bytes(), 0);
            }
            if stop != 0 {
                break;
            }
        }
        calls
    }
}
