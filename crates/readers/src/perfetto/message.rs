//! Reads protocol buffers field by field; `quick-protobuf` reads the wire format.

use quick_protobuf::{BytesReader, Error, Result};

/// The fields of a message, in their order in the file.
pub struct Fields<'a> {
    bytes: &'a [u8],
    reader: BytesReader,
}

/// A field's value, by its wire type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A number, a Boolean or a value of an enumeration.
    Number(u64),
    /// A text, a message or a packed column.
    Bytes(&'a [u8]),
    /// A number of fixed length.
    Fixed,
}

impl<'a> Fields<'a> {
    /// The fields of these bytes.
    pub fn of(bytes: &'a [u8]) -> Fields<'a> {
        Fields {
            bytes,
            reader: BytesReader::from_bytes(bytes),
        }
    }

    /// The number and value of the next field; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(u32, Value<'a>)>> {
        if self.reader.is_eof() {
            return Ok(None);
        }
        let (bytes, reader) = (self.bytes, &mut self.reader);
        let tag = reader.next_tag(bytes)?;
        let value = match tag & 7 {
            0 => Value::Number(reader.read_varint64(bytes)?),
            1 => reader.read_fixed64(bytes).map(|_| Value::Fixed)?,
            2 => Value::Bytes(reader.read_bytes(bytes)?),
            5 => reader.read_fixed32(bytes).map(|_| Value::Fixed)?,
            _ => return Err(Error::UnknownWireType((tag & 7) as u8)),
        };
        match tag >> 3 {
            0 => Err(Error::Varint),
            number => Ok(Some((number, value))),
        }
    }
}

impl<'a> Value<'a> {
    /// The number; 0 if the value has another type.
    pub fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Bytes(_) | Value::Fixed => 0,
        }
    }

    /// The bytes; none if the value has another type.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) | Value::Fixed => &[],
        }
    }
}

/// Appends the numbers of a column, packed or not.
pub fn push_column(column: &mut Vec<u64>, value: Value<'_>) -> Result<()> {
    match value {
        Value::Number(number) => column.push(number),
        Value::Fixed => return Err(Error::Varint),
        Value::Bytes(bytes) => {
            let mut reader = BytesReader::from_bytes(bytes);
            while !reader.is_eof() {
                column.push(reader.read_varint64(bytes)?);
            }
        }
    }
    Ok(())
}
