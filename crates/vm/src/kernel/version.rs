//! Compares release numbers.

use std::cmp::Ordering;

/// Compares digits as numbers and other text as text: 7.9 is before 7.10.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b))
}

/// The major version: 7 of "7.2.13+deb14-amd64".
pub fn major(release: &str) -> Option<u64> {
    match pieces(release).next()? {
        Piece::Number(number) => Some(number),
        Piece::Text(_) => None,
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    Text(&'a str),
    Number(u64),
}

fn pieces(mut text: &str) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        let is_digit = text.chars().next()?.is_ascii_digit();
        let end = text.find(|c: char| c.is_ascii_digit() != is_digit);
        let (piece, rest) = text.split_at(end.unwrap_or(text.len()));
        text = rest;
        Some(match piece.parse() {
            Ok(number) => Piece::Number(number),
            Err(_) => Piece::Text(piece),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_as_numbers() {
        let mut releases = [
            "7.10.1+deb14",
            "7.2.13+deb14",
            "7.2.9+deb14",
            "6.12",
            "7.10~rc3",
        ];
        releases.sort_by(|a, b| natural_order(a, b));
        let order = [
            "6.12",
            "7.2.9+deb14",
            "7.2.13+deb14",
            "7.10.1+deb14",
            "7.10~rc3",
        ];
        assert_eq!(releases, order);
        assert_eq!(major("7.2.13+deb14-amd64"), Some(7));
        assert_eq!(major("amd64"), None);
    }
}
