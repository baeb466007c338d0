//! An independent reader of Protocol Buffers without a schema: fields by number.

use quick_protobuf::BytesReader;

/// A message as its fields, in the order they stand in the file.
#[derive(Debug, Default)]
pub struct Fields(Vec<(u32, Value)>);

#[derive(Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Fields {
    pub fn parse(bytes: &[u8]) -> Fields {
        let mut input = BytesReader::from_bytes(bytes);
        let mut fields = Vec::new();
        while !input.is_eof() {
            let tag = input.next_tag(bytes).unwrap();
            let value = match tag & 7 {
                0 => Value::Number(input.read_uint64(bytes).unwrap()),
                2 => Value::Bytes(input.read_bytes(bytes).unwrap().to_vec()),
                wire_type => panic!("wire type {wire_type}"),
            };
            fields.push((tag >> 3, value));
        }
        Fields(fields)
    }

    /// All the nested messages in a field.
    pub fn messages(&self, field: u32) -> Vec<Fields> {
        self.all_bytes(field).map(Fields::parse).collect()
    }

    /// The nested message in a field, if there is one; panics if there are more.
    pub fn message(&self, field: u32) -> Option<Fields> {
        let mut messages = self.messages(field);
        assert!(messages.len() <= 1, "field {field} repeats");
        messages.pop()
    }

    /// The last number in a field.
    pub fn number(&self, field: u32) -> Option<u64> {
        self.0.iter().rev().find_map(|(f, value)| match value {
            Value::Number(number) if *f == field => Some(*number),
            _ => None,
        })
    }

    /// All the strings in a field.
    pub fn texts(&self, field: u32) -> Vec<String> {
        self.all_bytes(field)
            .map(|b| String::from_utf8(b.to_vec()).unwrap())
            .collect()
    }

    /// The numbers in a packed field.
    pub fn packed(&self, field: u32) -> Vec<u64> {
        let mut numbers = Vec::new();
        for bytes in self.all_bytes(field) {
            let mut input = BytesReader::from_bytes(bytes);
            while !input.is_eof() {
                numbers.push(input.read_uint64(bytes).unwrap());
            }
        }
        numbers
    }

    /// The raw content of the first string, message or packed array in a field.
    pub fn bytes(&self, field: u32) -> Option<&[u8]> {
        self.all_bytes(field).next()
    }

    fn all_bytes(&self, field: u32) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(move |(f, value)| match value {
            Value::Bytes(bytes) if *f == field => Some(bytes.as_slice()),
            _ => None,
        })
    }
}
