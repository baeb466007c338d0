//! Typed access to a table of a [`Document`].

use std::ops::RangeInclusive;

use schedlab_trace::Ns;

use crate::document::{Entries, Entry, Value};
use crate::{quantity, Diagnostic, Document, Text};

/// A table of a TOML file.  Each accessor gives `None` for a key that is not there and an error
/// with file, line and key for a value that is not what was asked for.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    file: &'a str,
    /// Its own dotted key; empty for the top level.
    key: String,
    line: usize,
    entries: &'a Entries,
}

impl<'a> Table<'a> {
    pub(crate) fn root(document: &'a Document) -> Table<'a> {
        Table {
            file: &document.file,
            key: String::new(),
            line: 1,
            entries: &document.entries,
        }
    }

    /// Refuses keys other than these, naming the one probably meant.
    ///
    /// # Errors
    /// The first other key in the file.
    pub fn only(self, keys: &[&str]) -> Result<Table<'a>, Diagnostic> {
        let unknown = self
            .entries
            .iter()
            .filter(|(key, _)| !keys.contains(&key.as_str()));
        match unknown.min_by_key(|(_, entry)| entry.line) {
            None => Ok(self),
            Some((key, _)) => Err(self
                .mistake(key, "unknown key")
                .expected(format!("one of {}", keys.join(", ")))
                .suggest(key, keys.iter().copied())),
        }
    }

    /// Is this key there?
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The keys that are there, in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.entries.keys().map(String::as_str)
    }

    /// Is this key there, and a table?
    pub fn has_table(&self, key: &str) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|entry| matches!(entry.value, Value::Table(_)))
    }

    /// The line of a key; of the table itself when the key is not there.
    pub fn line(&self, key: &str) -> usize {
        self.entries.get(key).map_or(self.line, |entry| entry.line)
    }

    /// The file it is in.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// The dotted form of a key of this table.
    pub fn dotted(&self, key: &str) -> String {
        match (self.key.as_str(), key) {
            ("", key) => key.to_string(),
            (table, "") => table.to_string(),
            (table, key) => format!("{table}.{key}"),
        }
    }

    /// A mistake at this key; an empty key means the table as a whole.
    pub fn mistake(&self, key: &str, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::new(problem)
            .at(self.file, self.line(key))
            .key(self.dotted(key))
    }

    /// The value of a key that has to be there.
    ///
    /// # Errors
    /// It is not there.
    pub fn need<T>(&self, key: &str, value: Option<T>, expected: &str) -> Result<T, Diagnostic> {
        value.ok_or_else(|| self.mistake(key, "missing").expected(expected))
    }

    /// A string with its lines.
    ///
    /// # Errors
    /// Not a string.
    pub fn text(&self, key: &str) -> Result<Option<&'a Text>, Diagnostic> {
        self.typed(key, "a string", |value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    /// A string.
    ///
    /// # Errors
    /// Not a string.
    pub fn string(&self, key: &str) -> Result<Option<&'a str>, Diagnostic> {
        Ok(self.text(key)?.map(|text| text.text.as_str()))
    }

    /// true or false.
    ///
    /// # Errors
    /// The value is neither.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Diagnostic> {
        self.typed(key, "true or false", |value| match value {
            Value::Boolean(truth) => Some(*truth),
            _ => None,
        })
    }

    /// A whole number within a range.
    ///
    /// # Errors
    /// Not a whole number or out of range.
    pub fn integer(
        &self,
        key: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Diagnostic> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = self.typed(key, &expected, |value| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        })?;
        match number {
            Some(number) if !range.contains(&number) => Err(self
                .mistake(key, format!("{number} is out of range"))
                .expected(expected)),
            _ => Ok(number),
        }
    }

    /// A whole number or an array of them, each with its line.
    ///
    /// # Errors
    /// The value, or one in the array, is something else.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<(usize, i64)>>, Diagnostic> {
        let Some(entry) = self.entries.get(key) else {
            return Ok(None);
        };
        let elements = match &entry.value {
            Value::Array(elements) => elements.iter().enumerate().collect(),
            _ => vec![(0, entry)],
        };
        let number = |(row, element): (usize, &Entry)| match (&element.value, &entry.value) {
            (Value::Integer(number), _) => Ok((element.line, *number)),
            (other, Value::Array(_)) => Err(self
                .wrong_type(&format!("{key}[{row}]"), other, "a whole number")
                .at(self.file, element.line)),
            (other, _) => Err(self.wrong_type(key, other, "a whole number, or several in [ ]")),
        };
        elements
            .into_iter()
            .map(number)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A text or a whole number, or an array of them, as texts, each with its line.
    ///
    /// # Errors
    /// The value, or one in the array, is something else.
    pub fn words(&self, key: &str) -> Result<Option<Vec<(usize, String)>>, Diagnostic> {
        let Some(entry) = self.entries.get(key) else {
            return Ok(None);
        };
        let elements = match &entry.value {
            Value::Array(elements) => elements.iter().collect(),
            _ => vec![entry],
        };
        let word = |element: &Entry| match &element.value {
            Value::Integer(number) => Ok((element.line, number.to_string())),
            Value::Text(text) => Ok((element.line, text.text.clone())),
            other => Err(self
                .wrong_type(key, other, "texts or whole numbers")
                .at(self.file, element.line)),
        };
        let words = elements.into_iter().map(word);
        words.collect::<Result<_, _>>().map(Some)
    }

    /// One of several words; each is given with its meaning.
    ///
    /// # Errors
    /// Not one of them.
    pub fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Diagnostic> {
        let names = || words.iter().map(|(name, _)| *name);
        let Some(word) = self.string(key)? else {
            return Ok(None);
        };
        match words.iter().find(|(name, _)| *name == word) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(self
                .mistake(key, format!("unknown value \"{word}\""))
                .expected(format!("one of {}", names().collect::<Vec<_>>().join(", ")))
                .suggest(word, names())),
        }
    }

    /// A duration in a string with its unit.
    ///
    /// # Errors
    /// Not a duration.
    pub fn duration(&self, key: &str) -> Result<Option<Ns>, Diagnostic> {
        self.quantity(
            key,
            "a duration in quotes with its unit, such as \"10ms\"",
            quantity::duration,
        )
    }

    /// A size in a string with its unit, in bytes.
    ///
    /// # Errors
    /// Not a size.
    pub fn size(&self, key: &str) -> Result<Option<u64>, Diagnostic> {
        self.quantity(
            key,
            "a size in quotes with its unit, such as \"512KiB\"",
            quantity::size,
        )
    }

    /// A list of CPUs in a string, sorted.
    ///
    /// # Errors
    /// Not a list of CPUs.
    pub fn cpu_list(&self, key: &str) -> Result<Option<Vec<u32>>, Diagnostic> {
        self.quantity(
            key,
            "a list of CPUs in quotes, such as \"0-3,8\"",
            quantity::cpu_list,
        )
    }

    /// Lists of CPUs, each in a string, sorted.
    ///
    /// # Errors
    /// Not an array of lists of CPUs.
    pub fn cpu_lists(&self, key: &str) -> Result<Option<Vec<Vec<u32>>>, Diagnostic> {
        let expected = "lists of CPUs, such as [\"0-3\", \"4-7\"]";
        let entries = self.typed(key, expected, |value| match value {
            Value::Array(entries) => Some(entries),
            _ => None,
        })?;
        let list = |(row, entry): (usize, &'a Entry)| match &entry.value {
            Value::Text(text) => {
                let place = |mistake: Diagnostic| {
                    let mistake = mistake.at(self.file, entry.line);
                    mistake.key(format!("{}[{row}]", self.dotted(key)))
                };
                quantity::cpu_list(&text.text).map_err(place)
            }
            other => Err(self.wrong_type(key, other, expected)),
        };
        let lists = entries.map(|entries| entries.iter().enumerate().map(list).collect());
        lists.transpose()
    }

    /// Rows of whole numbers within a range.
    ///
    /// # Errors
    /// Not an array of arrays of such numbers.
    pub fn matrix(
        &self,
        key: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<Vec<Vec<u32>>>, Diagnostic> {
        let expected = "rows of whole numbers, such as [[10, 20], [20, 10]]";
        fn array(value: &Value) -> Option<&Vec<Entry>> {
            match value {
                Value::Array(entries) => Some(entries),
                _ => None,
            }
        }
        let Some(rows) = self.typed(key, expected, array)? else {
            return Ok(None);
        };
        let number = |row: usize, column: usize, entry: &Entry| match &entry.value {
            Value::Integer(number) if range.contains(number) => Ok(*number as u32),
            Value::Integer(number) => {
                let place = format!("{key}[{row}][{column}]");
                let (low, high) = (range.start(), range.end());
                let mistake = self.mistake(&place, format!("{number} is out of range"));
                Err(mistake
                    .at(self.file, entry.line)
                    .expected(format!("a whole number from {low} to {high}")))
            }
            other => Err(self.wrong_type(key, other, expected)),
        };
        let read = |(row, entry): (usize, &'a Entry)| {
            let entries =
                array(&entry.value).ok_or_else(|| self.wrong_type(key, &entry.value, expected))?;
            let columns = entries.iter().enumerate();
            columns
                .map(|(column, entry)| number(row, column, entry))
                .collect()
        };
        rows.iter()
            .enumerate()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A table inside this one.
    ///
    /// # Errors
    /// Not a table.
    pub fn table(&self, key: &str) -> Result<Option<Table<'a>>, Diagnostic> {
        self.entries
            .get(key)
            .map(|entry| self.inner(key, entry))
            .transpose()
    }

    /// All the tables within a table, by name: `[channel.a]` and `[channel.b]` for "channel".
    ///
    /// # Errors
    /// The key or something in it is not a table.
    pub fn tables(&self, key: &str) -> Result<Vec<(&'a str, Table<'a>)>, Diagnostic> {
        let Some(outer) = self.table(key)? else {
            return Ok(Vec::new());
        };
        let inner =
            |(name, entry): (&'a String, &'a Entry)| Ok((name.as_str(), outer.inner(name, entry)?));
        outer.entries.iter().map(inner).collect()
    }

    /// The tables of an array of tables: each `[[cluster]]` for "cluster".
    ///
    /// # Errors
    /// Not an array of tables.
    pub fn list(&self, key: &str) -> Result<Vec<Table<'a>>, Diagnostic> {
        let expected = format!("tables that each begin with [[{}]]", self.dotted(key));
        let entries = self.typed(key, &expected, |value| match value {
            Value::Array(entries) => Some(entries),
            _ => None,
        })?;
        let inner = |entry: &'a Entry| self.inner(key, entry);
        entries.into_iter().flatten().map(inner).collect()
    }

    fn inner(&self, key: &str, entry: &'a Entry) -> Result<Table<'a>, Diagnostic> {
        match &entry.value {
            Value::Table(entries) => Ok(Table {
                file: self.file,
                key: self.dotted(key),
                line: entry.line,
                entries,
            }),
            other => Err(self.wrong_type(key, other, &format!("a table [{}]", self.dotted(key)))),
        }
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        pick: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Diagnostic> {
        let Some(entry) = self.entries.get(key) else {
            return Ok(None);
        };
        match pick(&entry.value) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong_type(key, &entry.value, expected)),
        }
    }

    /// The result of `read` on a string.  The file, line and key of its mistakes are filled in here.
    ///
    /// # Errors
    /// Not a string, or one that `read` refuses.
    pub fn quantity<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Result<T, Diagnostic>,
    ) -> Result<Option<T>, Diagnostic> {
        let text = self.typed(key, expected, |value| match value {
            Value::Text(text) => Some(&text.text),
            _ => None,
        })?;
        let place =
            |mistake: Diagnostic| mistake.at(self.file, self.line(key)).key(self.dotted(key));
        text.map(|text| read(text)).transpose().map_err(place)
    }

    fn wrong_type(&self, key: &str, value: &Value, expected: &str) -> Diagnostic {
        self.mistake(key, format!("{} is not valid here", describe(value)))
            .expected(expected)
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Text(text) => format!(
            "the string \"{}\"",
            text.text.chars().take(40).collect::<String>()
        ),
        Value::Integer(number) => format!("the number {number}"),
        Value::Boolean(truth) => format!("{truth}"),
        Value::Array(_) => "an array".into(),
        Value::Table(_) => "a table".into(),
        Value::Other(what) => what.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
title = "all"
wait = 10
[task.vi]
nice = 30
sleep = "10"
colour = "grean"
start = "2ms"
mask = "0-2"
memory = "1MiB"
background = true
[[cluster]]
cores = 2
[[cluster]]
cores = 2.5
"#;

    fn document() -> Document {
        Document::parse("f.toml", FILE).unwrap()
    }

    #[track_caller]
    fn says<T: std::fmt::Debug>(result: Result<T, Diagnostic>, message: &str) {
        assert_eq!(result.unwrap_err().to_string(), message);
    }

    #[test]
    fn values_come_with_their_type() {
        let document = document();
        let vi = document.root().tables("task").unwrap().remove(0).1;
        assert_eq!(vi.duration("start").unwrap(), Some(Ns(2_000_000)));
        assert_eq!(vi.cpu_list("mask").unwrap(), Some(vec![0, 1, 2]));
        assert_eq!(vi.size("memory").unwrap(), Some(1_048_576));
        assert_eq!(vi.boolean("background").unwrap(), Some(true));
        assert_eq!(vi.integer("absent", 0..=1).unwrap(), None);
        assert_eq!(document.root().string("title").unwrap(), Some("all"));
    }

    #[test]
    fn mistakes_name_file_line_key_and_what_was_expected() {
        let document = document();
        let root = document.root();
        let vi = root.tables("task").unwrap().remove(0).1;
        says(
            vi.integer("nice", -20..=19),
            "f.toml:5: task.vi.nice: 30 is out of range; expected a whole number from -20 to 19",
        );
        says(
            vi.duration("sleep"),
            "f.toml:6: task.vi.sleep: \"10\" has no unit; expected a duration with its unit, \
             such as \"250ns\", \"10us\", \"2ms\", \"1.5s\"",
        );
        says(
            root.duration("wait"),
            "f.toml:3: wait: the number 10 is not valid here; expected a duration in quotes with \
             its unit, such as \"10ms\"",
        );
        says(
            vi.choice("colour", &[("green", 1), ("red", 2)]),
            "f.toml:7: task.vi.colour: unknown value \"grean\"; expected one of green, red \
             (did you mean \"green\"?)",
        );
        says(
            root.list("cluster").unwrap()[1].integer("cores", 1..=9),
            "f.toml:15: cluster.cores: the number 2.5 is not valid here; expected a whole number from 1 to 9",
        );
        says(
            root.table("wait"),
            "f.toml:3: wait: the number 10 is not valid here; expected a table [wait]",
        );
    }

    #[test]
    fn numbers_come_alone_or_in_arrays() {
        let text = "one = 1\nmany = [\n 1,\n 2]\nmixed = [1,\n true]\nword = \"a\"\n[t]\n";
        let document = Document::parse("f.toml", text).unwrap();
        let root = document.root();
        assert_eq!(root.integers("one").unwrap(), Some(vec![(1, 1)]));
        assert_eq!(root.integers("many").unwrap(), Some(vec![(3, 1), (4, 2)]));
        assert_eq!(root.integers("none").unwrap(), None);
        assert!(root.has_table("t") && !root.has_table("one"));
        says(
            root.integers("mixed"),
            "f.toml:6: mixed[1]: true is not valid here; expected a whole number",
        );
        says(
            root.integers("word"),
            "f.toml:7: word: the string \"a\" is not valid here; expected a whole number, or several in [ ]",
        );
    }

    #[test]
    fn unknown_and_missing_keys_are_mistakes() {
        let document = document();
        let root = document.root();
        says(
            root.clone().only(&["title", "waits", "cluster", "task"]),
            "f.toml:3: wait: unknown key; expected one of title, waits, cluster, task (did you mean \"waits\"?)",
        );
        let vi = root.tables("task").unwrap().remove(0).1;
        says(
            vi.need("program", vi.text("program").unwrap(), "a program"),
            "f.toml:4: task.vi.program: missing; expected a program",
        );
    }
}
