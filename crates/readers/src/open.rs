//! Opens a file, decompresses it and finds its format.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use schedlab_input::{reason, Diagnostic};
use schedlab_recording::Recording;

use crate::budget::{Budget, CountedFile};
use crate::failure::Failure;
use crate::report::{Compression, FileFormat, ReadReport};
use crate::{perf_data, perfetto, text};

/// Number of bytes that identify the format.
const LOOKED_AT: usize = 64 << 10;

/// The formats, for messages.
const KNOWN: &str =
    "perf.data, the text of perf script, ftrace or trace-cmd report, or a Perfetto \
     trace, plain or compressed with gzip, xz or zstd";

/// Reads the recording in a file.
///
/// # Errors
/// The file cannot be opened, has no known format, is damaged or incomplete, or decompresses to far
/// more than its size.
pub fn read(path: &Path) -> Result<(Recording, ReadReport), Diagnostic> {
    read_within(path, None)
}

/// As [`read`], with a limit on the decompressed bytes.
///
/// # Errors
/// Those of [`read`].
pub fn read_within(
    path: &Path,
    max_decompressed: Option<u64>,
) -> Result<(Recording, ReadReport), Diagnostic> {
    let budget = Budget::new(max_decompressed);
    let name = path.display().to_string();
    let mistake = |problem: String| Diagnostic::new(problem).at(&name, 0);
    let unopened = |e: io::Error| mistake(format!("the file cannot be opened ({})", reason(&e)));
    // Checked before it is opened: opening a pipe waits for a writer.
    let found = fs::metadata(path).map_err(unopened)?;
    if found.is_dir() {
        return Err(mistake("this is a folder".into()).expected("a recording"));
    }
    let file = File::open(path).map_err(unopened)?;
    let path = found.is_file().then_some(path);
    read_stream(file, path, &budget).map_err(|failure| failure.in_file(&name))
}

/// Reads a recording from a stream; messages call it `name`.
///
/// # Errors
/// The stream has no known format, or is damaged or incomplete.
pub fn read_from(stream: impl Read, name: &str) -> Result<(Recording, ReadReport), Diagnostic> {
    read_stream(stream, None, &Budget::default()).map_err(|failure| failure.in_file(name))
}

/// `path` is the file of the stream, if it is a regular file.
fn read_stream(
    stream: impl Read,
    path: Option<&Path>,
    budget: &Budget,
) -> Result<(Recording, ReadReport), Failure> {
    let stream = CountedFile {
        inner: stream,
        budget: budget.clone(),
    };
    let mut raw = BufReader::with_capacity(LOOKED_AT, stream);
    let compression = compression_of(raw.fill_buf()?);
    let mut plain = Plain::new(raw, compression, budget.clone())?;
    let mut head = Vec::new();
    plain
        .by_ref()
        .take(LOOKED_AT as u64)
        .read_to_end(&mut head)?;
    let format = format_of(&head)?;
    let whole = Cursor::new(head).chain(plain);
    let (recording, mut report) = match format {
        FileFormat::PerfData => match path.filter(|_| compression.is_none()) {
            Some(path) => perf_data::read(path, budget)?,
            None => perf_data::read_stream(whole, budget)?,
        },
        FileFormat::Perfetto => perfetto::read(whole, budget)?,
        FileFormat::PerfScript | FileFormat::Ftrace => {
            text::read(BufReader::with_capacity(LOOKED_AT, whole), format)?
        }
    };
    report.compression = compression;
    Ok((recording, report))
}

/// The compression of a file, by its first bytes.
fn compression_of(head: &[u8]) -> Option<Compression> {
    let known: [(&[u8], Compression); 3] = [
        (b"\x1f\x8b", Compression::Gzip),
        (b"\xfd7zXZ\0", Compression::Xz),
        (b"\x28\xb5\x2f\xfd", Compression::Zstd),
    ];
    let found = known.iter().find(|(magic, _)| head.starts_with(magic));
    found.map(|(_, compression)| *compression)
}

/// The format of a file, by its first bytes.
fn format_of(head: &[u8]) -> Result<FileFormat, Failure> {
    let unusable = |what: &str, instead: &str| Err(Failure::new(what).expected(instead));
    if head.is_empty() {
        return unusable("the file is empty", KNOWN);
    }
    if head.starts_with(b"PERFILE2") {
        return Ok(FileFormat::PerfData);
    }
    if head.starts_with(b"2ELIFREP") {
        return unusable(
            "a perf.data of a big-endian machine",
            "the text of `perf script --ns` on that machine",
        );
    }
    if head.starts_with(b"\x17\x08\x44tracing") {
        return unusable(
            "a trace.dat of trace-cmd",
            "its text, as of `trace-cmd report -t trace.dat > FILE`",
        );
    }
    if let Some(format) = text::format_of(head) {
        return Ok(format);
    }
    if perfetto::begins(head) {
        return Ok(FileFormat::Perfetto);
    }
    unusable("this is not a recording that schedlab can read", KNOWN)
}

/// A file's content, decompressed.
struct Plain<'a> {
    inner: Box<dyn Read + 'a>,
    compression: Option<Compression>,
    budget: Budget,
}

impl<'a> Plain<'a> {
    fn new(
        raw: impl BufRead + 'a,
        compression: Option<Compression>,
        budget: Budget,
    ) -> io::Result<Plain<'a>> {
        let inner: Box<dyn Read + 'a> = match compression {
            None => Box::new(raw),
            Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Some(Compression::Xz) => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(raw)),
            Some(Compression::Zstd) => Box::new(zstd::Decoder::with_buffer(raw)?),
        };
        Ok(Plain {
            inner,
            compression,
            budget,
        })
    }
}

impl Read for Plain<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        let Some(compression) = self.compression else {
            return read;
        };
        let length = read.map_err(|error| damaged(compression, &error))?;
        self.budget.decompressed(length as u64)?;
        Ok(length)
    }
}

fn damaged(compression: Compression, error: &io::Error) -> io::Error {
    let name = match compression {
        Compression::Gzip => "gzip",
        Compression::Xz => "xz",
        Compression::Zstd => "zstd",
    };
    let why = reason(error);
    let what = format!("its {name} data is damaged or incomplete: {why}");
    io::Error::new(error.kind(), what)
}
