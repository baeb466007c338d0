//! Makes text from outside safe to print: names of tasks, files and policies can hold any character.

use std::borrow::Cow;

/// One line of text in which control characters, line breaks and tabs included, are visible as `\u{1b}`: a task's
/// name can neither break a line, nor command a terminal, nor reorder the text around it.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable, char::escape_default)
}

/// The same for text of several lines: their breaks stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| c != '\n' && is_unprintable(c),
        char::escape_default,
    )
}

/// Equivalent JSON in which such characters are escaped; JSON itself requires it only below
/// U+0020.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let escape = |c: char| format!("\\u{:04x}", c as u32);
    escaped(json, |c| c != '\n' && is_unprintable(c), escape)
}

fn escaped<T: ToString>(
    text: &str,
    is_wrong: impl Fn(char) -> bool,
    escape: impl Fn(char) -> T,
) -> Cow<'_, str> {
    if !text.contains(&is_wrong) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_wrong(c) {
            true => out += &escape(c).to_string(),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Control characters (C0, DEL, C1), separators of lines, characters that reorder the text around them, and
/// noncharacters.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_visible() {
        assert_eq!(printable("a\x1b[31mb\nc\td"), "a\\u{1b}[31mb\\nc\\td");
        assert_eq!(printable("x\u{202e}y\u{200f}"), "x\\u{202e}y\\u{200f}");
        assert_eq!(printable("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(printable("\u{ffff}"), "\\u{ffff}");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "naïve 編", "kworker/0:1-ev", "👩‍💻"] {
            assert!(matches!(printable(text), Cow::Borrowed(t) if t == text));
        }
        assert_eq!(printable_lines("a\nb\r\n"), "a\nb\\r\n");
    }

    #[test]
    fn json_keeps_its_meaning() {
        assert_eq!(
            printable_json("{\n\"a\": \"\u{9b}\u{202e}\"}"),
            "{\n\"a\": \"\\u009b\\u202e\"}"
        );
    }
}
