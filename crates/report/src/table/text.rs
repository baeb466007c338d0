//! The width of text on a terminal.

use unicode_width::UnicodeWidthStr;

/// Columns of a terminal it takes.
pub(super) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// At most `limit` columns of it, with a sign where something was cut off.
pub(super) fn clip(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_string();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if width(&out) + 1 > limit {
            out.pop();
            break;
        }
    }
    out.push('…');
    out
}

/// Broken between words into lines of at most `limit` columns; longer words stay whole.
pub(super) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

pub(super) fn pad_left(text: &str, to: usize) -> String {
    " ".repeat(to.saturating_sub(width(text))) + text
}

pub(super) fn pad_right(text: &str, to: usize) -> String {
    text.to_string() + &" ".repeat(to.saturating_sub(width(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(width("vi"), 2);
        assert_eq!(width("編集"), 4);
        assert_eq!(clip("編集者たち", 5), "編集…");
        assert_eq!(pad_left("編", 4), "  編");
    }

    #[test]
    fn wrapping_keeps_words_whole() {
        assert_eq!(wrap("wakeup latency p99", 8), ["wakeup", "latency", "p99"]);
        assert_eq!(wrap("wakeup latency p99", 14), ["wakeup latency", "p99"]);
        assert_eq!(wrap("", 8), [""]);
    }
}
