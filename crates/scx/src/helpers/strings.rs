//! Strings.  kernel/bpf/helpers.c, bpf_str*().

use super::error;
use crate::machine::Machine;

/// Most bytes of a string: XATTR_SIZE_MAX.
const MOST: u64 = 65536;

calls! {
    strncmp(m, one, len, two) {
        for i in 0..u64::from(len as u32) {
            let (a, b) = (m.byte(one, i), m.byte(two, i));
            if a != b || a == 0 {
                return (i64::from(a) - i64::from(b)) as u64;
            }
        }
        0
    }

    compare(m, one, two) { m.compare_strings(one, two, |byte| byte) }

    compare_any_case(m, one, two) {
        m.compare_strings(one, two, |byte| byte.to_ascii_lowercase())
    }

    find_byte(m, string, byte) {
        for i in 0..MOST {
            match m.byte(string, i) {
                found if found == byte as u8 => return i,
                0 => return error(libc::ENOENT),
                _ => {}
            }
        }
        error(libc::E2BIG)
    }

    find_last_byte(m, string, byte) {
        let mut last = error(libc::ENOENT);
        for i in 0..MOST {
            let found = m.byte(string, i);
            if found == byte as u8 {
                last = i;
            }
            if found == 0 {
                return last;
            }
        }
        error(libc::E2BIG)
    }

    length(m, string) {
        match m.length(string, MOST) {
            MOST => error(libc::E2BIG),
            len => len,
        }
    }

    length_within(m, string, most) { m.length(string, most.min(MOST)) }

    span(m, string, accepted) { m.span(string, accepted, true) }

    span_without(m, string, refused) { m.span(string, refused, false) }

    find(m, string, part) { m.find_string(string, part, MOST) }

    find_within(m, string, part, most) { m.find_string(string, part, most.min(MOST)) }
}

impl Machine {
    fn byte(&self, string: u64, at: u64) -> u8 {
        self.memory.get(string.wrapping_add(at))
    }

    fn length(&self, string: u64, most: u64) -> u64 {
        (0..most)
            .find(|&i| self.byte(string, i) == 0)
            .unwrap_or(most)
    }

    /// -1, 0 or 1.
    fn compare_strings(&self, one: u64, two: u64, fold: impl Fn(u8) -> u8) -> u64 {
        for i in 0..MOST {
            let (a, b) = (fold(self.byte(one, i)), fold(self.byte(two, i)));
            if a != b {
                return if a < b { u64::MAX } else { 1 };
            }
            if a == 0 {
                return 0;
            }
        }
        error(libc::E2BIG)
    }

    fn span(&self, string: u64, set: u64, inside: bool) -> u64 {
        let set: Vec<u8> = (0..self.length(set, MOST))
            .map(|i| self.byte(set, i))
            .collect();
        let ends = |&i: &u64| {
            let byte = self.byte(string, i);
            byte == 0 || set.contains(&byte) != inside
        };
        (0..MOST).find(ends).unwrap_or_else(|| error(libc::E2BIG))
    }

    fn find_string(&self, string: u64, part: u64, most: u64) -> u64 {
        let bytes = |at: u64, most: u64| -> Vec<u8> {
            (0..self.length(at, most))
                .map(|i| self.byte(at, i))
                .collect()
        };
        let (string, part) = (bytes(string, most), bytes(part, MOST));
        if part.is_empty() {
            return 0;
        }
        let found = string.windows(part.len()).position(|window| window == part);
        found.map_or_else(|| error(libc::ENOENT), |at| at as u64)
    }
}
