//! Errors of reading, without the name of the file.

use std::io;

use schedlab_input::{reason, Diagnostic};

use crate::budget::TooLarge;

/// A problem and its place.
#[derive(Debug)]
pub struct Failure {
    /// Line, from 1; 0 in files that have none.
    pub line: u64,
    /// The problem.
    pub problem: String,
    /// The expected content.
    pub expected: String,
}

impl Failure {
    /// A problem of the whole file.
    pub fn new(problem: impl Into<String>) -> Failure {
        Failure {
            line: 0,
            problem: problem.into(),
            expected: String::new(),
        }
    }

    /// A problem at a byte of the decompressed file, counted from 0.
    pub fn at_byte(offset: u64, problem: impl AsRef<str>) -> Failure {
        Failure::new(format!("byte {offset}: {}", problem.as_ref()))
    }

    /// Adds the expected content.
    pub fn expected(mut self, expected: impl Into<String>) -> Failure {
        self.expected = expected.into();
        self
    }

    /// Adds the line.
    pub fn line(mut self, line: u64) -> Failure {
        self.line = line;
        self
    }

    /// The message for the user.
    pub fn in_file(self, file: &str) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.problem).at(file, self.line as usize);
        diagnostic.expected(self.expected)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match TooLarge::of(&error) {
            Some(problem) => Failure::new(problem.to_string())
                .expected("a smaller recording, or a larger --max-decompressed"),
            None => Failure::new(format!("cannot be read ({})", reason(&error))),
        }
    }
}
