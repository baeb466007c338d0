//! A mistake in something a person wrote.

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

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
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

/// The candidate most like `name`, if any is like it at all.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    candidates
        .into_iter()
        .map(|c| {
            (
                strsim::damerau_levenshtein(&name.to_lowercase(), &c.to_lowercase()),
                c,
            )
        })
        .filter(|(distance, c)| *distance <= 1 + c.len().max(name.len()) / 3)
        .min()
        .map(|(_, c)| c.to_string())
}
