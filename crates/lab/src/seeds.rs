//! Seeds as users write them.

use std::fmt;
use std::str::FromStr;

/// Most seeds of one command.
const MAX_SEEDS: u64 = 10_000;

/// Some seeds, each once, in the order given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeds {
    /// As it was written.
    text: String,
    /// The seeds; at least one.
    pub list: Vec<u64>,
}

impl FromStr for Seeds {
    type Err = String;

    /// Reads "5" (1 to 5), "3..7" (both included) or "1,4,9".
    fn from_str(text: &str) -> Result<Seeds, String> {
        let expected = || {
            format!("a number of seeds (5), a range (3..7) or a list (1,4,9) of at most {MAX_SEEDS} different ones")
        };
        let list = read(text).ok_or_else(expected)?;
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if list.is_empty() || sorted.len() < list.len() {
            return Err(expected());
        }
        Ok(Seeds {
            text: text.to_string(),
            list,
        })
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn read(text: &str) -> Option<Vec<u64>> {
    if let Some((first, last)) = text.split_once("..") {
        return range(first.parse().ok()?, last.parse().ok()?);
    }
    if text.contains(',') {
        return text.split(',').map(|seed| seed.parse().ok()).collect();
    }
    range(1, text.parse().ok()?)
}

fn range(first: u64, last: u64) -> Option<Vec<u64>> {
    let small = last.checked_sub(first)? < MAX_SEEDS;
    small.then(|| (first..=last).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Option<Vec<u64>> {
        text.parse().ok().map(|seeds: Seeds| seeds.list)
    }

    #[test]
    fn a_number_a_range_or_a_list() {
        assert_eq!(list("3"), Some(vec![1, 2, 3]));
        assert_eq!(list("3..5"), Some(vec![3, 4, 5]));
        assert_eq!(list("9,1"), Some(vec![9, 1]));
        assert_eq!(list("7..7"), Some(vec![7]));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "0",
            "5..3",
            "1,1",
            "1,",
            "a",
            "-1",
            "1..99999",
            "1..",
            "18446744073709551615",
        ] {
            assert_eq!(list(text), None, "{text}");
        }
    }
}
