//! Pages of the kernel's ring buffer, read from `trace_pipe_raw`.
//!
//! A page begins with the time of its first event and the length of its data. The first word of an
//! event contains its type and the time since the event before (`include/linux/ring_buffer.h`).

use crate::format::{EventFormat, Field};
use crate::RecordingError;

/// The lowest bits of an event's first word are its type; the others are time.
const TYPE_BITS: u32 = 5;

/// Bits of time in an event's first word.
const TIME_BITS: u32 = 32 - TYPE_BITS;

/// Larger types are not data records.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Flags in the length of a page's data: events were lost before the page; their number follows the data.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

/// The layout of a page's header, from the kernel's `events/header_page`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageLayout {
    timestamp: Field,
    commit: Field,
    data: usize,
}

/// The content of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageEnd {
    /// Whether events were lost between the page before and this one.
    pub missed: bool,
    /// How many, if the kernel counted them.
    pub nr_missed: u64,
}

impl PageLayout {
    /// Reads the text of `events/header_page`.
    pub fn parse(text: &str) -> Result<PageLayout, RecordingError> {
        // The text is that of a format without its head.
        let format = EventFormat::parse(&format!("name: header_page\nID: 0\n{text}"))?;
        let field = |name: &str| {
            let field = format.field(name).cloned();
            field.ok_or_else(|| RecordingError::Format {
                event: "header_page".into(),
                problem: format!("no {name}"),
            })
        };
        Ok(PageLayout {
            timestamp: field("timestamp")?,
            commit: field("commit")?,
            data: field("data")?.offset,
        })
    }

    /// Calls `each` with each record of a page and its time.
    ///
    /// # Errors
    /// The reason why the page is invalid.
    pub fn records(
        &self,
        page: &[u8],
        mut each: impl FnMut(u64, &[u8]),
    ) -> Result<PageEnd, &'static str> {
        let mut time = self.timestamp.number(page).ok_or("no head")? as u64;
        let commit = self.commit.number(page).ok_or("no head")? as u64;
        let length = (commit & (MISSED_STORED - 1)) as usize;
        let data = page.get(self.data..).ok_or("no data")?;
        let mut left = data.get(..length).ok_or("too short")?;
        while let Some(word) = word(left, 0) {
            let (kind, delta) = (word & ((1 << TYPE_BITS) - 1), u64::from(word >> TYPE_BITS));
            let size = size_of_event(kind, delta, left)?;
            let event = left.get(..size).ok_or("an event beyond the end")?;
            let long = || self::word(event, 4).ok_or("an event without its content");
            match kind {
                TIME_EXTEND => time = time.wrapping_add((u64::from(long()?) << TIME_BITS) + delta),
                // The record lacks the upper five bits; they are those of the last time.
                TIME_STAMP => {
                    let kept = !((1 << (32 + TIME_BITS)) - 1);
                    time = time & kept | u64::from(long()?) << TIME_BITS | delta;
                }
                PADDING => time = time.wrapping_add(delta),
                _ => {
                    time = time.wrapping_add(delta);
                    let head = if kind == 0 { 8 } else { 4 };
                    each(
                        time,
                        event.get(head..).ok_or("an event without its content")?,
                    );
                }
            }
            left = &left[size..];
        }
        let stored = commit & MISSED != 0 && commit & MISSED_STORED != 0;
        let count = data.get(length..length + 8).filter(|_| stored);
        let count = count.map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
        Ok(PageEnd {
            missed: commit & MISSED != 0,
            nr_missed: count.unwrap_or(0),
        })
    }
}

/// Bytes from this event to the next.
fn size_of_event(kind: u32, delta: u64, left: &[u8]) -> Result<usize, &'static str> {
    match kind {
        // Padding without a time fills the rest of the page.
        PADDING if delta == 0 => Ok(left.len()),
        PADDING | 0 => {
            let length = word(left, 4).ok_or("an event without its length")? as usize;
            Ok(4 + length.max(4).next_multiple_of(4))
        }
        TIME_EXTEND | TIME_STAMP => Ok(8),
        kind => Ok(4 + 4 * kind as usize),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:0;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn page(timestamp: u64, flags: u64, words: &[u32], behind: &[u8]) -> Vec<u8> {
        let mut page = timestamp.to_le_bytes().to_vec();
        page.extend((flags | (4 * words.len() as u64)).to_le_bytes());
        words
            .iter()
            .for_each(|word| page.extend(word.to_le_bytes()));
        page.extend(behind);
        page
    }

    /// Records with their times, and how the page ended.
    type Content = (Vec<(u64, Vec<u8>)>, PageEnd);

    fn read(page: &[u8]) -> Result<Content, &'static str> {
        let layout = PageLayout::parse(HEADER).unwrap();
        let mut records = Vec::new();
        let end = layout.records(page, |time, record| records.push((time, record.to_vec())))?;
        Ok((records, end))
    }

    /// One of each kind: 8 bytes 5 ns after the page; 2^27 + 1 ns more; a long one of 4 bytes (its
    /// length counts itself) 2 ns later; a discarded one 3 ns later; an absolute time; the rest unused.
    #[test]
    fn all_kinds_of_events() {
        let kind = |kind: u32, delta: u32| kind | delta << 5;
        let words = [
            kind(2, 5),
            0xaaaa_aaaa,
            0xbbbb_bbbb,
            kind(TIME_EXTEND, 1),
            1,
            kind(0, 2),
            8,
            0xcccc_cccc,
            kind(PADDING, 3),
            4,
            kind(1, 0),
            0xdddd_dddd,
            kind(TIME_STAMP, 7),
            2,
            kind(1, 0),
            0xeeee_eeee,
            kind(PADDING, 0),
            0x1234_5678,
        ];
        let (records, end) = read(&page(1000, 0, &words, &[])).unwrap();
        let extended = 1005 + (1 << 27) + 1;
        assert_eq!(
            records,
            [
                (1005, vec![0xaa, 0xaa, 0xaa, 0xaa, 0xbb, 0xbb, 0xbb, 0xbb]),
                (extended + 2, vec![0xcc; 4]),
                (extended + 5, vec![0xdd; 4]),
                ((2 << 27) + 7, vec![0xee; 4]),
            ]
        );
        assert_eq!(end, PageEnd::default());
    }

    #[test]
    fn lost_events_are_told() {
        let words = [1, 0];
        let missed = page(0, MISSED, &words, &[]);
        assert_eq!(
            read(&missed).unwrap().1,
            PageEnd {
                missed: true,
                nr_missed: 0
            }
        );
        let counted = page(0, MISSED | MISSED_STORED, &words, &77u64.to_le_bytes());
        assert_eq!(
            read(&counted).unwrap().1,
            PageEnd {
                missed: true,
                nr_missed: 77
            }
        );
    }

    /// Whatever bytes a page holds, reading it ends, and does not read beyond the page.
    #[test]
    fn damaged_pages_are_errors() {
        let good = page(1, 0, &[2, 1, 2, 1, 7], &[]);
        for length in 0..good.len() {
            assert!(read(&good[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&page(0, 0, &[28, 0], &[])).is_err());
        assert!(read(&page(0, 0, &[0], &[])).is_err());
        assert!(read(&page(0, 0, &[0, u32::MAX], &[])).is_err());
        assert!(read(&page(0, 0, &[TIME_EXTEND], &[])).is_err());
    }
}
