//! Text built without allocation, for signal handlers.

use std::ffi::c_char;

const BYTES: usize = 512;

/// A short text that ends with NUL; text beyond its size is dropped.
pub(crate) struct Text {
    bytes: [u8; BYTES],
    len: usize,
}

impl Text {
    pub fn new() -> Text {
        Text {
            bytes: [0; BYTES],
            len: 0,
        }
    }

    pub fn str(&mut self, text: &str) -> &mut Text {
        for &byte in text.as_bytes() {
            self.byte(byte);
        }
        self
    }

    pub fn decimal(&mut self, number: u64) -> &mut Text {
        self.digits(number, 10, 1)
    }

    pub fn hex(&mut self, number: usize) -> &mut Text {
        self.str("0x").digits(number as u64, 16, 1)
    }

    /// A time in seconds.
    pub fn seconds(&mut self, ns: u64) -> &mut Text {
        self.decimal(ns / 1_000_000_000).str(".");
        self.digits(ns % 1_000_000_000, 10, 9)
    }

    fn digits(&mut self, mut number: u64, base: u64, least: usize) -> &mut Text {
        let mut digits = [b'0'; 20];
        let mut n = 0;
        while number > 0 || n < least {
            digits[n] = b"0123456789abcdef"[(number % base) as usize];
            number /= base;
            n += 1;
        }
        digits[..n].iter().rev().for_each(|&digit| self.byte(digit));
        self
    }

    fn byte(&mut self, byte: u8) {
        if self.len < BYTES - 1 {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }

    /// Appends the rest of a file. Makes only async-signal-safe calls.
    pub fn read_from(&mut self, fd: i32) {
        loop {
            let free = &mut self.bytes[self.len..BYTES - 1];
            // SAFETY: reads into a valid buffer.
            let got = unsafe { libc::read(fd, free.as_mut_ptr().cast(), free.len()) };
            if got <= 0 {
                return;
            }
            self.len += got as usize;
        }
    }

    pub fn truncate(&mut self, len: usize) {
        self.bytes[len..].fill(0);
        self.len = len.min(self.len);
    }

    /// The text up to the first byte that is not UTF-8.
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..self.len];
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    pub fn as_c_str(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    /// Writes it to standard error.
    pub fn print(&self) {
        // SAFETY: writes a valid buffer.
        unsafe { libc::write(2, self.bytes.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_elsewhere() {
        let mut text = Text::new();
        text.str("at ").seconds(3_000_000_014).str(" ").hex(0x1f0);
        text.str(" ").decimal(0);
        assert_eq!(text.as_str(), "at 3.000000014 0x1f0 0");
        let time = schedlab_trace::Time(3_000_000_014).to_string();
        assert!(text.as_str().contains(&time));
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut text = Text::new();
        for _ in 0..100 {
            text.str("0123456789");
        }
        assert_eq!(text.as_str().len(), BYTES - 1);
        text.truncate(3);
        assert_eq!(text.as_str(), "012");
    }
}
