//! A TOML file as a tree that knows its lines.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

use crate::{Diagnostic, Table};

/// A TOML file, read but not yet understood.
#[derive(Debug)]
pub struct Document {
    pub(crate) file: String,
    pub(crate) entries: Entries,
}

/// The keys of a table in alphabetical order, so that the order of definition changes nothing.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// A value and the line of its key.
#[derive(Debug)]
pub(crate) struct Entry {
    pub line: usize,
    pub value: Value,
}

/// A value as TOML knows it.
#[derive(Debug)]
pub(crate) enum Value {
    Text(Text),
    Integer(i64),
    Boolean(bool),
    Array(Vec<Entry>),
    Table(Entries),
    /// A type or number that no key accepts, described for a message.
    Other(String),
}

/// A string and where in the file each of its lines stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The string.
    pub text: String,
    lines: Vec<usize>,
}

impl Text {
    /// Its lines, each with its line number in the file.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let last = self.lines.last().copied().unwrap_or(0);
        let numbers = self.lines.iter().copied().chain(std::iter::repeat(last));
        numbers.zip(self.text.lines())
    }

    /// The line in the file on which it ends.
    pub fn last_line(&self) -> usize {
        self.lines.last().copied().unwrap_or(0)
    }
}

impl Document {
    /// Reads the text of a TOML file.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn parse(file: &str, text: &str) -> Result<Document, Diagnostic> {
        let lines = Lines::of(text);
        let tree = DeTable::parse(text).map_err(|e| {
            let line = e.span().map_or(1, |span| lines.number(span.start));
            Diagnostic::new(format!(
                "not valid TOML: {}",
                e.message().replace('\n', ", ")
            ))
            .at(file, line)
        })?;
        Ok(Document {
            file: file.to_string(),
            entries: lines.entries(tree.get_ref()),
        })
    }

    /// The top-level table.
    pub fn root(&self) -> Table<'_> {
        Table::root(self)
    }
}

/// Where the lines of a text begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let starts = text
            .bytes()
            .enumerate()
            .filter(|(_, b)| *b == b'\n')
            .map(|(i, _)| i + 1)
            .collect();
        Lines { text, starts }
    }

    /// The line, from 1, of a byte offset.
    fn number(&self, offset: usize) -> usize {
        1 + self.starts.partition_point(|start| *start <= offset)
    }

    fn entries(&self, table: &DeTable<'_>) -> Entries {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &Spanned<toml::de::DeString<'_>> = key;
            (
                key.get_ref().to_string(),
                self.entry(self.number(key.span().start), value),
            )
        };
        table.iter().map(entry).collect()
    }

    fn entry(&self, line: usize, value: &Spanned<DeValue<'_>>) -> Entry {
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(self.text(text, value.span())),
            DeValue::Integer(number) => integer(number),
            DeValue::Boolean(truth) => Value::Boolean(*truth),
            DeValue::Array(values) => {
                Value::Array(values.iter().map(|v| self.element(v)).collect())
            }
            DeValue::Table(table) => Value::Table(self.entries(table)),
            DeValue::Float(number) => Value::Other(format!("the number {}", number.as_str())),
            DeValue::Datetime(date) => Value::Other(format!("the date {date}")),
        };
        Entry { line, value }
    }

    fn element(&self, value: &Spanned<DeValue<'_>>) -> Entry {
        self.entry(self.number(value.span().start), value)
    }

    fn text(&self, text: &str, span: std::ops::Range<usize>) -> Text {
        let raw = self.text.get(span.clone()).unwrap_or_default();
        Text {
            text: text.to_string(),
            lines: string_lines(raw, self.number(span.start)),
        }
    }
}

fn integer(number: &toml::de::DeInteger<'_>) -> Value {
    let digits = number.as_str().replace('_', "");
    i64::from_str_radix(&digits, number.radix()).map_or_else(
        |_| Value::Other(format!("the number {}", number.as_str())),
        Value::Integer,
    )
}

/// The file line on which each line of a string stands, given its source with quotes.  They
/// differ where a string is continued with a backslash or contains an escaped line end.
fn string_lines(raw: &str, first: usize) -> Vec<usize> {
    let escapes = raw.starts_with('"');
    let mut line = first;
    let mut chars = raw.chars().peekable();
    if raw.starts_with("\"\"\"") || raw.starts_with("'''") {
        chars.nth(2);
        chars.next_if_eq(&'\r');
        line += usize::from(chars.next_if_eq(&'\n').is_some());
    }
    let mut lines = vec![line];
    while let Some(c) = chars.next() {
        if c == '\n' {
            line += 1;
            lines.push(line);
        } else if c == '\\' && escapes {
            match chars.next() {
                Some('n') => lines.push(line),
                Some(space) if space.is_whitespace() => {
                    line += usize::from(space == '\n');
                    while let Some(space) = chars.next_if(|c| c.is_whitespace()) {
                        line += usize::from(space == '\n');
                    }
                }
                _ => {}
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &str) -> Vec<(usize, String)> {
        let document = Document::parse("f.toml", text).unwrap();
        let text = document.root().text("p").unwrap().unwrap();
        text.lines()
            .map(|(n, line)| (n, line.to_string()))
            .collect()
    }

    fn numbered(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
        lines
            .iter()
            .map(|(n, line)| (*n, line.to_string()))
            .collect()
    }

    #[test]
    fn lines_of_a_string_are_lines_of_the_file() {
        let plain = "a = 1\n\np = \"\"\"\none\ntwo\n\"\"\"\n";
        assert_eq!(lines_of(plain), numbered(&[(4, "one"), (5, "two")]));
        assert_eq!(
            lines_of(&plain.replace('\n', "\r\n")),
            numbered(&[(4, "one"), (5, "two")])
        );
        assert_eq!(
            lines_of("p = '''one\n\nthree'''"),
            numbered(&[(1, "one"), (2, ""), (3, "three")])
        );
        assert_eq!(
            lines_of("p = \"one\\ntwo\""),
            numbered(&[(1, "one"), (1, "two")])
        );
        let continued = "p = \"\"\"\none \\\n   more\ntwo\"\"\"";
        assert_eq!(
            lines_of(continued),
            numbered(&[(2, "one more"), (4, "two")])
        );
    }

    #[test]
    fn text_that_is_not_toml_is_refused_with_its_line() {
        let error = Document::parse("f.toml", "a = 1\nb = = 2\n")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("f.toml:2: not valid TOML: "), "{error}");
        let error = Document::parse("f.toml", "a = 1\na = 2\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("f.toml:2: not valid TOML: duplicate key"),
            "{error}"
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(Document::parse("f.toml", &deep).is_err());
        let dotted = format!("[{}a]", "a.".repeat(100_000));
        assert!(Document::parse("f.toml", &dotted).is_err());
    }
}
