//! Results as columns, in the memory layout of Apache Arrow.

use std::ffi::{CStr, CString};

use pyo3::prelude::*;
use pyo3::types::PyList;

/// Columns of equal length.
pub struct Table {
    pub rows: usize,
    pub columns: Vec<Column>,
}

/// A column; a missing value has a bit that is 0 in `valid`, and some value.
pub struct Column {
    pub name: CString,
    pub values: Values,
    pub valid: Vec<u8>,
    pub nr_missing: usize,
}

/// The values of a column.
pub enum Values {
    /// Text i is at `offsets[i]..offsets[i + 1]`.
    Text {
        offsets: Vec<i64>,
        bytes: Vec<u8>,
    },
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
}

impl Values {
    /// The type in the words of Arrow's C data interface.
    pub fn format(&self) -> &'static CStr {
        match self {
            Values::Text { .. } => c"U",
            Values::Signed(_) => c"l",
            Values::Unsigned(_) => c"L",
            Values::Float(_) => c"g",
        }
    }
}

impl Table {
    /// A table without columns.
    pub fn new(rows: usize) -> Table {
        let columns = Vec::new();
        Table { rows, columns }
    }

    pub fn add_text<T: AsRef<str>>(&mut self, name: &str, texts: Vec<Option<T>>) {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for text in &texts {
            bytes.extend_from_slice(text.as_ref().map_or("", T::as_ref).as_bytes());
            offsets.push(bytes.len() as i64);
        }
        self.add(name, &texts, Values::Text { offsets, bytes });
    }

    /// Adds numbers if all texts are whole numbers, else the texts.
    pub fn add_setting<T: AsRef<str>>(&mut self, name: &str, texts: Vec<Option<T>>) {
        let number = |text: &Option<T>| text.as_ref().map(|text| text.as_ref().parse()).transpose();
        let numbers: Result<Vec<Option<i64>>, _> = texts.iter().map(number).collect();
        match numbers {
            Ok(numbers) if numbers.iter().any(Option::is_some) => {
                let values = numbers.iter().map(|number| number.unwrap_or(0));
                self.add(name, &numbers, Values::Signed(values.collect()));
            }
            _ => self.add_text(name, texts),
        }
    }

    pub fn add_unsigned(&mut self, name: &str, numbers: Vec<Option<u64>>) {
        let values = numbers.iter().map(|number| number.unwrap_or(0));
        self.add(name, &numbers, Values::Unsigned(values.collect()));
    }

    pub fn add_float(&mut self, name: &str, numbers: Vec<Option<f64>>) {
        let values = numbers.iter().map(|number| number.unwrap_or(f64::NAN));
        self.add(name, &numbers, Values::Float(values.collect()));
    }

    fn add<T>(&mut self, name: &str, present: &[Option<T>], values: Values) {
        assert_eq!(
            present.len(),
            self.rows,
            "a column has a value for each row"
        );
        let mut valid = vec![0; self.rows.div_ceil(8)];
        for (row, _) in present
            .iter()
            .enumerate()
            .filter(|(_, value)| value.is_some())
        {
            valid[row / 8] |= 1 << (row % 8);
        }
        let name = CString::new(name.replace('\0', "")).expect("it has no NUL");
        let nr_missing = present.iter().filter(|value| value.is_none()).count();
        self.columns.push(Column {
            name,
            values,
            valid,
            nr_missing,
        });
    }
}

impl Column {
    fn is_valid(&self, row: usize) -> bool {
        self.valid[row / 8] & (1 << (row % 8)) != 0
    }

    /// The values as a Python list, a missing value as None.
    pub fn list<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyList>> {
        let rows = (0..rows).map(|row| self.is_valid(row).then_some(row));
        match &self.values {
            Values::Text { offsets, bytes } => {
                let text = |row: usize| {
                    let text = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
                    String::from_utf8_lossy(text)
                };
                PyList::new(py, rows.map(|row| row.map(text)).collect::<Vec<_>>())
            }
            Values::Signed(numbers) => listed(py, rows, numbers),
            Values::Unsigned(numbers) => listed(py, rows, numbers),
            Values::Float(numbers) => listed(py, rows, numbers),
        }
    }
}

fn listed<'py, T: Copy + IntoPyObject<'py>>(
    py: Python<'py>,
    rows: impl Iterator<Item = Option<usize>>,
    numbers: &[T],
) -> PyResult<Bound<'py, PyList>> {
    let values: Vec<Option<T>> = rows.map(|row| row.map(|row| numbers[row])).collect();
    PyList::new(py, values)
}
