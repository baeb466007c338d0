//! bpf_arena_*(): pages of an arena.  kernel/bpf/arena.c.

use super::error;
use crate::machine::Machine;
use crate::maps::{Data, MapId, Pages, PAGE};
use crate::memory::data;

calls! {
    alloc_pages(m, map, address, count) {
        let Some(id) = m.map_at(map) else {
            return 0;
        };
        m.alloc_pages(id, address, count as u32).unwrap_or(0)
    }

    free_pages(m, map, address, count) {
        let Some((id, first)) = m.arena_page(map, address) else {
            return 0;
        };
        let count = count as u32;
        let Some(pages) = m.pages(id) else {
            return 0;
        };
        pages.mark(first, count, false);
        m.clear_pages(id, first, count);
        0
    }

    reserve_pages(m, map, address, count) {
        let Some((id, first)) = m.arena_page(map, address) else {
            return error(libc::EINVAL);
        };
        let count = count as u32;
        match m.pages(id) {
            Some(pages) if count == 0 || pages.are_free(first, count) => {
                pages.mark(first, count, true);
                0
            }
            Some(_) => error(libc::EBUSY),
            None => error(libc::EINVAL),
        }
    }
}

impl Machine {
    fn pages(&mut self, id: MapId) -> Option<&mut Pages> {
        match &mut self.maps[id.0 as usize].data {
            Data::Arena(pages) => Some(pages),
            _ => None,
        }
    }

    /// Number of the page a pointer is to.
    fn arena_page(&mut self, map: u64, address: u64) -> Option<(MapId, u32)> {
        let id = self.map_at(map)?;
        let user = self.pages(id)?.user?;
        // Both kinds of pointers have the lower 32 bits in common.
        let offset = (address as u32).wrapping_sub(user as u32);
        Some((id, offset / PAGE as u32))
    }

    fn alloc_pages(&mut self, id: MapId, address: u64, count: u32) -> Option<u64> {
        self.mark_touched(id);
        let map = self.maps[id.0 as usize].address;
        let wanted = match address {
            0 => None,
            address => Some(self.arena_page(map, address)?.1),
        };
        let pages = self.pages(id)?;
        let user = pages.user?;
        let first = match wanted {
            Some(page) => pages.are_free(page, count).then_some(page)?,
            None => pages.find(count)?,
        };
        pages.mark(first, count, true);
        Some(user + u64::from(first) * PAGE)
    }

    /// While the loader has the arena mapped: pages that it touched are in use.
    fn mark_touched(&mut self, id: MapId) {
        let Some(file) = self.maps[id.0 as usize].file.clone() else {
            return;
        };
        let touched = data(&file).unwrap_or_default();
        if let Some(pages) = self.pages(id) {
            for (from, to) in touched {
                let (first, end) = (from / PAGE, to.div_ceil(PAGE));
                pages.mark(first as u32, (end - first) as u32, true);
            }
        }
    }

    /// Freed pages hold zeros when they are used again.
    fn clear_pages(&mut self, id: MapId, first: u32, count: u32) {
        let map = &self.maps[id.0 as usize];
        let Data::Arena(Pages {
            user: Some(user), ..
        }) = &map.data
        else {
            return;
        };
        let end = u64::from(first)
            .saturating_add(u64::from(count))
            .min(u64::from(map.spec.max_entries));
        let (values, user) = (map.values, *user);
        for page in u64::from(first)..end {
            let low = (user as u32).wrapping_add((page * PAGE) as u32);
            if let Some(bytes) = self.memory.bytes_mut(values + u64::from(low), PAGE) {
                bytes.fill(0);
            }
        }
        if let Some(file) = &self.maps[id.0 as usize].file {
            crate::memory::punch(file, u64::from(first) * PAGE, end * PAGE);
        }
    }
}
