//! Splitting lines.
//!
//! What lines are split at is ASCII, the pieces between are short, and there are a dozen of them
//! in a line: looking at one byte after the other is faster than `str`'s own searches, which
//! prepare more for each search than such a piece takes.

/// The text before and behind the first such byte, which is ASCII.
pub fn once(text: &str, ascii: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == ascii)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The text before and behind the last such byte, which is ASCII.
pub fn last(text: &str, ascii: u8) -> Option<(&str, &str)> {
    let at = text.bytes().rposition(|byte| byte == ascii)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The text before and behind the last place where this key stands: "=" and what is before it.
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

/// Where such bytes, which are ASCII, stand.
pub fn positions(text: &str, ascii: u8) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.bytes().enumerate();
    bytes.filter_map(move |(at, byte)| (byte == ascii).then_some(at))
}

/// The words between single blanks.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (word, behind) =
            once(text, b' ').map_or((text, None), |(word, behind)| (word, Some(behind)));
        rest = behind;
        Some(word)
    })
}

/// Up to the first blank.
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
            assert!(words(text).eq(text.split(' ')), "{text}");
            assert_eq!(Some(first_word(text)), text.split(' ').next(), "{text}");
        }
    }
}
