//! The format of a tracepoint's records: the kernel's text in `events/*/*/format`, which binary
//! recordings contain, too.

use crate::RecordingError;

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The offset of its first byte.
    pub offset: usize,
    /// Its length in bytes.
    pub size: usize,
    /// Whether it is a signed number.
    pub signed: bool,
    /// Where its content is.
    pub place: Place,
}

/// The place of a field's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the field.
    Here,
    /// `__data_loc`: the field's low 16 bits are the content's offset from the record's start.
    FromStart,
    /// `__rel_loc`: the field's low 16 bits are the content's offset from the end of the field.
    FromField,
}

/// A tracepoint's layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventFormat {
    /// Its name, without its system: "sched_switch".
    pub name: String,
    /// The number at the start of its records.
    pub id: u32,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The kernel's print format.
    pub print: String,
}

impl EventFormat {
    /// Reads the kernel's text.
    ///
    /// # Errors
    /// No name, no number, or a field without offset or size.
    pub fn parse(text: &str) -> Result<EventFormat, RecordingError> {
        let head = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let name = head("name:").unwrap_or_default().trim().to_string();
        let problem = |problem: String| RecordingError::Format {
            event: name.clone(),
            problem,
        };
        let id = head("ID:").and_then(|id| id.trim().parse().ok());
        let id = id.ok_or_else(|| problem("no number".into()))?;
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|l| l.starts_with("field:"));
        let placed = |line| field(line).ok_or_else(|| problem(format!("no place in \"{line}\"")));
        let fields: Vec<Field> = lines.map(placed).collect::<Result<_, _>>()?;
        let print = head("print fmt:").unwrap_or_default().trim().to_string();
        Ok(EventFormat {
            name,
            id,
            fields,
            print,
        })
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The letters of a task's state in `__print_flags`, with their bits.
    pub fn flag_letters(&self) -> Vec<(u64, String)> {
        let groups = self.print.split('{').skip(1);
        let pair = |group: &str| {
            let (bits, letter) = group.split_once('}')?.0.split_once(',')?;
            let bits = u64::from_str_radix(bits.trim().strip_prefix("0x")?, 16).ok()?;
            Some((bits, letter.trim().trim_matches('"').to_string()))
        };
        groups.filter_map(pair).collect()
    }
}

/// "field:char prev_comm[16];    offset:8;    size:16;    signed:0;"
fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let mut number = |key: &str| {
        let value = parts.next()?.strip_prefix(key)?;
        value.trim().parse::<usize>().ok()
    };
    let (offset, size) = (number("offset:")?, number("size:")?);
    let signed = number("signed:") == Some(1);
    let name = declaration.split('[').next()?;
    // "__data_loc char[] comm" has its brackets before the name.
    let name = match declaration.contains("_loc ") {
        true => declaration,
        false => name,
    };
    let place = match declaration {
        d if d.contains("__data_loc") => Place::FromStart,
        d if d.contains("__rel_loc") => Place::FromField,
        _ => Place::Here,
    };
    Some(Field {
        name: name
            .split_whitespace()
            .last()?
            .trim_start_matches('*')
            .into(),
        offset,
        size,
        signed,
        place,
    })
}

impl Field {
    /// The number in a record; none if the record is too short.
    pub fn number(&self, record: &[u8]) -> Option<i64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut wide = [0; 8];
        wide.get_mut(..self.size)?.copy_from_slice(bytes);
        let number = i64::from_le_bytes(wide);
        let unused = 64 - 8 * self.size as u32;
        Some(match self.signed && self.size > 0 {
            true => (number << unused) >> unused,
            false => number,
        })
    }

    /// The first three words of an array of 64-bit words; none if the record is too short.
    pub fn words(&self, record: &[u8]) -> Option<[u64; 3]> {
        let word = |index: usize| {
            let at = self.offset + 8 * index;
            let bytes = record.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        Some([word(0)?, word(1)?, word(2)?])
    }

    /// The text in a record, up to its NUL; none if the record is too short.
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = match self.place {
            Place::Here => record.get(self.offset..self.offset.checked_add(self.size)?)?,
            place => {
                let location = self.number(record)? as u32;
                let base = match place {
                    Place::FromField => self.offset + self.size,
                    _ => 0,
                };
                let start = base + (location & 0xffff) as usize;
                record.get(start..start + (location >> 16) as usize)?
            }
        };
        bytes.split(|&byte| byte == 0).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIGRATE: &str = "name: sched_migrate_task\nID: 287\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \n\
        \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:char old[4];\toffset:16;\tsize:4;\tsigned:0;\n\
        \n\
        print fmt: \"comm=%s\", __get_str(comm), { 0x00000001, \"S\" }, { 0x80, \"I\" }\n";

    #[test]
    fn layouts_come_from_the_text() {
        let format = EventFormat::parse(MIGRATE).unwrap();
        assert_eq!(
            (format.name.as_str(), format.id),
            ("sched_migrate_task", 287)
        );
        let names: Vec<&str> = format.fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["common_type", "comm", "pid", "old"]);
        assert_eq!(format.flag_letters(), [(1, "S".into()), (0x80, "I".into())]);
    }

    #[test]
    fn values_are_where_the_layout_says() {
        let format = EventFormat::parse(MIGRATE).unwrap();
        let mut record = vec![0; 20];
        record[8..12].copy_from_slice(&(3u32 << 16 | 20).to_le_bytes());
        record[12..16].copy_from_slice(&(-7i32).to_le_bytes());
        record[16..20].copy_from_slice(b"ab\0c");
        record.extend(b"hi\0");
        let value = |name: &str| format.field(name).unwrap();
        assert_eq!(value("comm").text(&record), Some(&b"hi"[..]));
        assert_eq!(value("pid").number(&record), Some(-7));
        assert_eq!(value("old").text(&record), Some(&b"ab"[..]));
        // A field beyond the end of a short record is missing; nothing is read beyond the end.
        assert_eq!(value("comm").text(&record[..20]), None);
        assert_eq!(value("pid").number(&record[..14]), None);
    }

    #[test]
    fn broken_texts_are_errors() {
        assert!(EventFormat::parse("").is_err());
        let bad = MIGRATE.replace("offset:12;", "");
        assert!(EventFormat::parse(&bad).is_err());
    }
}
