//! A mistake in what the user wrote.

use std::fmt;

/// One mistake: where it is, what is wrong, what was expected, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Diagnostic {
    /// The file, or "--flag" for the command line.
    pub file: String,
    /// Line, from 1; 0 when the input has none.
    pub line: usize,
    /// The key, dotted ("task.vi.nice"); empty when there is none.
    pub key: String,
    /// What is wrong, without a full stop.
    pub problem: String,
    /// What would have been right; empty when that is obvious.
    pub expected: String,
    /// The valid name nearest to what was written.
    pub nearest: Option<String>,
}

impl Diagnostic {
    /// A mistake whose place is still to be filled in by [`Diagnostic::at`] and [`Diagnostic::key`].
    pub fn new(problem: impl Into<String>) -> Diagnostic {
        Diagnostic {
            problem: problem.into(),
            ..Diagnostic::default()
        }
    }

    /// Says where: the file and the line, from 1, or 0 when there is none.
    pub fn at(mut self, file: impl Into<String>, line: usize) -> Diagnostic {
        self.file = file.into();
        self.line = line;
        self
    }

    /// Says which key, dotted.
    pub fn key(mut self, key: impl Into<String>) -> Diagnostic {
        self.key = key.into();
        self
    }

    /// Says what would have been right.
    pub fn expected(mut self, expected: impl Into<String>) -> Diagnostic {
        self.expected = expected.into();
        self
    }

    /// Suggests the candidate most similar to `name`, if any is similar.
    pub fn suggest<'a>(
        mut self,
        name: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Diagnostic {
        self.nearest = nearest(name, candidates);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", readable(&self.key))?;
        }
        write!(f, ": {}", readable(&self.problem))?;
        if !self.expected.is_empty() {
            write!(f, "; expected {}", self.expected)?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, " (did you mean \"{nearest}\"?)")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// The longest text quoted from the input, in characters.
const MOST_SHOWN: usize = 400;

/// Makes a text that may quote a file fit for a terminal: escapes control characters and leaves out the middle of a
/// very long one.
fn readable(text: &str) -> String {
    let nr_chars = text.chars().count();
    let half = MOST_SHOWN / 2;
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    if nr_chars <= MOST_SHOWN {
        return text.chars().map(escape).collect();
    }
    let head = text.chars().take(half).map(escape);
    let tail = text.chars().skip(nr_chars - half).map(escape);
    head.chain([" … ".to_string()]).chain(tail).collect()
}

/// The candidate most similar to `name`, if any is similar.  Among equals: one with the same first
/// letter, then the first in alphabetical order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if name.len() > MOST_SHOWN {
        return None; // Similar to no name, and slow to compare.
    }
    let name = name.to_lowercase();
    let rank = |candidate: &'a str| {
        let other = candidate.to_lowercase();
        let distance = strsim::damerau_levenshtein(&name, &other);
        let close = distance <= 1 + other.len().max(name.len()) / 3;
        close.then_some((
            distance,
            other.chars().next() != name.chars().next(),
            candidate,
        ))
    };
    let best = candidates.into_iter().filter_map(rank).min()?;
    Some(best.2.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_does_no_harm_to_a_terminal() {
        let mistake = Diagnostic::new("\u{1b}[31m\u{7}é").at("f", 1).key("a\nb");
        assert_eq!(mistake.to_string(), "f:1: a\\nb: \\u{1b}[31m\\u{7}é");
        let long = format!("{}{}", "a".repeat(100_000), "b".repeat(100_000));
        assert_eq!(
            Diagnostic::new(&long).at("f", 0).to_string(),
            format!("f: {} … {}", "a".repeat(200), "b".repeat(200))
        );
        assert_eq!(nearest(&long, [long.as_str()]), None);
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(
            nearest("recieve", ["send", "receive"]),
            Some("receive".into())
        );
        assert_eq!(nearest("KB", ["B", "GiB", "KiB"]), Some("KiB".into()));
        assert_eq!(nearest("zebra", ["send", "receive"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
