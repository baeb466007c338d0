//! The writer of the encoders: it keeps the first error until the end.

use std::fmt;
use std::io::{self, BufWriter, Write};

/// A buffered writer that drops everything after its first error and reports the error at the end,
/// since the methods of a [`Sink`](crate::Sink) cannot fail.
pub(crate) struct Output<W: Write> {
    writer: BufWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write> Output<W> {
    pub fn new(writer: W) -> Self {
        Output {
            writer: BufWriter::with_capacity(1 << 16, writer),
            error: None,
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.writer.write_all(bytes).err();
        }
    }

    pub fn text(&mut self, text: fmt::Arguments<'_>) {
        if self.error.is_none() {
            self.error = self.writer.write_fmt(text).err();
        }
    }

    /// Flushes the buffer and returns the writer, or the first error.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self
                .writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error),
        }
    }
}
