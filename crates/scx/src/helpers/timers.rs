//! struct bpf_timer: what programs ask is handed to whoever lets time pass; see [`Machine::take_timers`].

use super::error;
use crate::machine::{Machine, Timer, TimerRequest};
use crate::maps::{Data, MapId};
use crate::special::Part;

/// The time is not from now on: BPF_F_TIMER_ABS.
const ABSOLUTE: u64 = 1;
/// BPF_F_TIMER_CPU_PIN.
const PINNED: u64 = 2;

calls! {
    init(m, timer, map) {
        let Some(id) = m.map_at(map) else {
            return error(libc::EINVAL);
        };
        if m.timers.contains_key(&timer) {
            return error(libc::EBUSY);
        }
        let Some((value, key)) = m.value_of_timer(id, timer) else {
            return error(libc::EINVAL);
        };
        let new = Timer { map: id, value, key, callback: 0, armed: false };
        m.timers.insert(timer, new);
        0
    }

    set_callback(m, timer, callback) {
        match m.timers.get_mut(&timer) {
            Some(timer) => {
                timer.callback = callback;
                0
            }
            None => error(libc::EINVAL),
        }
    }

    start(m, timer, ns, flags) {
        let (now, cpu) = (m.now_ns, m.this_cpu);
        let Some(found) = m.timers.get_mut(&timer) else {
            return error(libc::EINVAL);
        };
        if found.callback == 0 || flags & !(ABSOLUTE | PINNED) != 0 {
            return error(libc::EINVAL);
        }
        found.armed = true;
        let at_ns = match flags & ABSOLUTE {
            0 => now.saturating_add(ns),
            _ => ns.max(now),
        };
        m.requests.push(TimerRequest::Start { timer, at_ns, cpu });
        0
    }

    cancel(m, timer) {
        let Some(found) = m.timers.get_mut(&timer) else {
            return error(libc::EINVAL);
        };
        let was = std::mem::take(&mut found.armed);
        if was {
            m.requests.push(TimerRequest::Cancel { timer });
        }
        u64::from(was)
    }
}

impl Machine {
    /// A timer's value is gone.
    pub(crate) fn forget_timer(&mut self, timer: u64) {
        if self.timers.remove(&timer).is_some_and(|timer| timer.armed) {
            self.requests.push(TimerRequest::Cancel { timer });
        }
    }

    /// The value a timer is in, and its key.
    fn value_of_timer(&self, id: MapId, timer: u64) -> Option<(u64, Vec<u8>)> {
        let map = &self.maps[id.0 as usize];
        let parts = map
            .special
            .iter()
            .filter(|special| special.part == Part::Timer);
        let offsets: Vec<u64> = parts.map(|special| u64::from(special.offset)).collect();
        let is_in = |value: u64| match offsets.is_empty() {
            // The map was created without types.
            true => (value..value + map.stride).contains(&timer),
            false => offsets.iter().any(|offset| value + offset == timer),
        };
        match &map.data {
            Data::Array => {
                let index = timer.checked_sub(map.values)?.checked_div(map.stride)?;
                let value = map.values + index * map.stride;
                let inside = index < u64::from(map.spec.max_entries) && is_in(value);
                inside.then(|| (value, (index as u32).to_le_bytes().to_vec()))
            }
            Data::Hash(table, places) => {
                let place = places.iter().position(|&value| is_in(value))? as u32;
                table.from(place).filter(|&used| used == place)?;
                Some((places[place as usize], table.key(place).to_vec()))
            }
            _ => None,
        }
    }
}
