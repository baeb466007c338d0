//! An encoder of Protocol Buffers: varints, length-delimited
//! fields and packed arrays (<https://protobuf.dev/programming-guides/encoding/>).

/// Wire type of integers.
const VARINT: u32 = 0;
/// Wire type of strings, nested messages and packed arrays.
const LEN: u32 = 2;

/// A message under construction.
#[derive(Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// An unsigned integer field, written even when it is zero.
    pub fn uint(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        push_varint(&mut self.bytes, value);
    }

    /// A signed integer field (int32 and int64 alike): two's complement, ten bytes if negative.
    pub fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value as u64);
    }

    /// A string field.
    pub fn text(&mut self, field: u32, text: &str) {
        self.delimited(field, text.as_bytes());
    }

    /// A packed repeated field of integers; an empty one is not written.
    pub fn packed(&mut self, field: u32, values: &Packed) {
        if !values.bytes.is_empty() {
            self.delimited(field, &values.bytes);
        }
    }

    /// A nested message.
    pub fn message(&mut self, field: u32, build: impl FnOnce(&mut Message)) {
        self.tag(field, LEN);
        let start = self.bytes.len();
        build(self);
        // The length stands before the content but is known only now: append it, then rotate.
        let end = self.bytes.len();
        push_varint(&mut self.bytes, (end - start) as u64);
        let length_bytes = self.bytes.len() - end;
        self.bytes[start..].rotate_right(length_bytes);
    }

    /// Appends the content of another message.
    pub fn append(&mut self, other: &Message) {
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// What has been written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Starts over, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    fn delimited(&mut self, field: u32, content: &[u8]) {
        self.tag(field, LEN);
        push_varint(&mut self.bytes, content.len() as u64);
        self.bytes.extend_from_slice(content);
    }

    fn tag(&mut self, field: u32, wire_type: u32) {
        push_varint(&mut self.bytes, u64::from(field << 3 | wire_type));
    }
}

/// The content of a packed repeated integer field.
#[derive(Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    /// Appends an unsigned number.
    pub fn push(&mut self, value: u64) {
        push_varint(&mut self.bytes, value);
    }

    /// Appends a signed number: two's complement.
    pub fn push_int(&mut self, value: i64) {
        self.push(value as u64);
    }

    /// Starts over, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Seven bits a byte, lowest first; the top bit says that more follow.
fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three examples of the encoding guide: 150, "testing", and 150 nested in field 3.
    #[test]
    fn encodes_the_guides_examples() {
        let mut message = Message::default();
        message.uint(1, 150);
        assert_eq!(message.as_bytes(), [0x08, 0x96, 0x01]);

        message.clear();
        message.text(2, "testing");
        assert_eq!(message.as_bytes(), b"\x12\x07testing");

        message.clear();
        message.message(3, |inner| inner.uint(1, 150));
        assert_eq!(message.as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }

    /// The guide's packed example: field 6 holds 3, 270, 86942.
    #[test]
    fn packs_arrays() {
        let mut values = Packed::default();
        for value in [3, 270, 86_942] {
            values.push(value);
        }
        let mut message = Message::default();
        message.packed(6, &values);
        assert_eq!(
            message.as_bytes(),
            [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]
        );
    }

    /// -2 is ten bytes of two's complement, as the guide says.
    #[test]
    fn negative_numbers_take_ten_bytes() {
        let mut message = Message::default();
        message.int(1, -2);
        let mut expected = vec![0x08, 0xfe];
        expected.extend([0xff; 8]);
        expected.push(0x01);
        assert_eq!(message.as_bytes(), expected);
    }

    /// 200 bytes need a length of two bytes (200 = 0xc8 0x01), put in front of content already written.
    #[test]
    fn long_nested_messages_keep_their_order() {
        let text = "x".repeat(197);
        let mut message = Message::default();
        message.message(1, |inner| inner.text(1, &text));
        // Inner: tag, two bytes of length (197 = 0xc5 0x01), 197 bytes of text.
        assert_eq!(
            &message.as_bytes()[..6],
            [0x0a, 0xc8, 0x01, 0x0a, 0xc5, 0x01]
        );
        assert_eq!(message.as_bytes().len(), 3 + 200);
    }
}
