//! Plain columns of text.

use std::io::{self, IsTerminal};

use schedlab_report::table::Terminal;

/// The width of an indentation.
const INDENT: usize = 2;

/// The least width of the last column's lines, even on a narrower terminal.
const LEAST: usize = 24;

/// Rows as lines, with columns aligned and two spaces between them.  On a terminal the last column is broken into
/// lines if it would not fit, also when it is indented.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = match io::stdout().is_terminal() {
        true => Terminal::stdout().width.saturating_sub(INDENT),
        false => usize::MAX,
    };
    columns_within(rows, width)
}

fn columns_within<const N: usize>(rows: &[[String; N]], total: usize) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let before: usize = widths[..N - 1].iter().map(|width| width + 2).sum();
    let last = total.saturating_sub(before).max(LEAST);
    let lines = |row: &[String; N]| {
        let cells = row[..N - 1].iter().zip(&widths);
        let mut front: String = cells
            .map(|(cell, &width)| format!("{cell:width$}  "))
            .collect();
        let mut lines = String::new();
        for part in broken(&row[N - 1], last) {
            lines += format!("{front}{part}").trim_end();
            lines.push('\n');
            front = " ".repeat(before);
        }
        lines
    };
    rows.iter().map(lines).collect()
}

/// A text in lines of at most this width, if its words allow that; at least one line.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// The text with each line indented.
pub fn indented(text: &str) -> String {
    let indent = " ".repeat(INDENT);
    text.lines()
        .map(|line| format!("{indent}{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let row = |a: &str, b: &str| [a.to_string(), b.to_string()];
        let text = columns(&[row("o1", "the O(1) scheduler"), row("linux24", "")]);
        assert_eq!(text, "o1       the O(1) scheduler\nlinux24\n");
        assert_eq!(indented("a\nb\n"), "  a\n  b\n");
    }

    #[test]
    fn the_last_column_is_broken_where_it_does_not_fit() {
        let rows = [["o1", "two words of a summary that is long"].map(str::to_string)];
        let text = columns_within(&rows, 30);
        assert_eq!(text, "o1  two words of a summary\n    that is long\n");
        assert_eq!(columns_within(&rows, usize::MAX).lines().count(), 1);
    }
}
