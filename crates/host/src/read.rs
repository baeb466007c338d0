//! Layouts from files.

mod hwloc;
mod lscpu;
mod sysfs;

use std::path::Path;

use schedlab_input::{read_text, Diagnostic};

use crate::Layout;

pub use sysfs::from_sysfs;

/// Reads a layout from a file: the output of `lscpu -J`, or XML of `lstopo`.
///
/// # Errors
/// The file cannot be read, has another format, or describes no CPU.
pub fn from_file(path: &Path) -> Result<Layout, Diagnostic> {
    let (file, text) = (path.display().to_string(), read_text(path)?);
    let layout = match text.trim_start().chars().next() {
        Some('{') => lscpu::read(&file, &text)?,
        Some('<') => hwloc::read(&file, &text)?,
        _ => {
            return Err(Diagnostic::new("the file is neither JSON nor XML")
                .at(file, 1)
                .expected("the output of \"lscpu -J\", or of \"lstopo --of xml\""))
        }
    };
    match layout.cpus.is_empty() {
        true => Err(Diagnostic::new("the file describes no CPU").at(file, 1)),
        false => Ok(layout.dense()),
    }
}
