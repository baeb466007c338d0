//! Plain columns of text.

/// Rows as lines, with columns aligned and two spaces between them.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// The text with each line moved to the right.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
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
}
