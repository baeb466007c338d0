//! Files as text.

use std::io::Read;
use std::path::Path;

use crate::Diagnostic;

/// The largest file read whole, in bytes.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// The text of a file of at most [`MAX_FILE_BYTES`].
///
/// # Errors
/// It is not a file (but a folder, a pipe or a device), cannot be read, is too large or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, Diagnostic> {
    let mistake = |problem: String| Diagnostic::new(problem).at(path.display().to_string(), 0);
    // Checked before it is opened: opening a pipe waits for a writer.
    let found = std::fs::metadata(path)
        .map_err(|e| mistake(format!("the file cannot be opened ({})", reason(&e))))?;
    if !found.is_file() {
        let what = if found.is_dir() {
            "a folder"
        } else {
            "not a file"
        };
        return Err(mistake(format!("this is {what}")).expected("a regular file"));
    }
    let file = std::fs::File::open(path)
        .map_err(|e| mistake(format!("the file cannot be opened ({})", reason(&e))))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| mistake(format!("the file cannot be read ({})", reason(&e))))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(mistake("the file is too large".into())
            .expected(format!("at most {} MiB", MAX_FILE_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|e| {
        let line = 1 + count_lines(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        Diagnostic::new("not UTF-8 text").at(path.display().to_string(), line)
    })
}

/// The text of a system error, without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().into()
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b == b'\n').count()
}

/// The name of what a file defines: the file's name without folder and extension.
pub fn stem(file_name: &str) -> String {
    Path::new(file_name).file_stem().map_or_else(
        || file_name.to_string(),
        |s| s.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let error = read_text(Path::new("no/such.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("no/such.toml: the file cannot be opened"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        assert_eq!(
            read_text(folder.path()).unwrap_err().to_string(),
            format!("{path}: this is a folder; expected a regular file")
        );
        let pipe = folder.path().join("pipe.toml");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(
            read_text(&pipe).unwrap_err().to_string(),
            format!("{path}/pipe.toml: this is not a file; expected a regular file")
        );
    }

    #[test]
    fn things_are_called_after_their_file() {
        assert_eq!(stem("machines/desktop.toml"), "desktop");
        assert_eq!(stem("a.b.toml"), "a.b");
        assert_eq!(stem("plain"), "plain");
    }
}
