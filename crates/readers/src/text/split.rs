//! Splits lines at ASCII bytes.
//!
//! A line has dozens of short parts. For these the searches of `str` spend most time on
//! preparation.

use memchr::{memchr, memchr_iter, memrchr};

/// The text before and after the first occurrence of an ASCII byte.
pub fn once(text: &str, ascii: u8) -> Option<(&str, &str)> {
    let at = memchr(ascii, text.as_bytes())?;
    Some((&text[..at], &text[at + 1..]))
}

/// The text before and after the last occurrence of an ASCII byte.
pub fn last(text: &str, ascii: u8) -> Option<(&str, &str)> {
    let at = memrchr(ascii, text.as_bytes())?;
    Some((&text[..at], &text[at + 1..]))
}

/// The text before and after the last occurrence of a key that ends with "=".
pub fn last_key<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    let mut before = text;
    loop {
        before = last(before, b'=')?.0;
        let (whole, behind) = text.split_at(before.len() + 1);
        if let Some(before) = whole.strip_suffix(key) {
            return Some((before, behind));
        }
    }
}

/// The positions of an ASCII byte.
pub fn positions(text: &str, ascii: u8) -> impl Iterator<Item = usize> + '_ {
    memchr_iter(ascii, text.as_bytes())
}

/// The text up to the first blank.
pub fn first_word(text: &str) -> &str {
    once(text, b' ').map_or(text, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_the_library() {
        for text in [
            "",
            " ",
            "a",
            "a b",
            " é=1 é=2 ",
            "k=é k==2",
            "==",
            "a=b k=c k=",
        ] {
            assert_eq!(once(text, b'='), text.split_once('='), "{text}");
            assert_eq!(last(text, b'='), text.rsplit_once('='), "{text}");
            for key in ["=", " k=", "é="] {
                assert_eq!(last_key(text, key), text.rsplit_once(key), "{text}");
            }
            assert_eq!(Some(first_word(text)), text.split(' ').next(), "{text}");
        }
    }
}
