//! The workload files that come with the program.

use include_dir::{include_dir, Dir};
use schedlab_input::{Diagnostic, Document};

use super::parse;
use crate::Workload;

static WORKLOADS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// The names of the workload files that come with the program, in alphabetical order, each with
/// its title.
pub fn list() -> Vec<(&'static str, String)> {
    let name = |file: &'static include_dir::File<'_>| {
        Some((file.path().to_str()?.strip_suffix(".toml")?, file))
    };
    let mut files: Vec<_> = WORKLOADS.files().filter_map(name).collect();
    files.sort_unstable_by_key(|(name, _)| *name);
    files
        .into_iter()
        .map(|(name, file)| (name, title(file.contents_utf8().unwrap_or_default())))
        .collect()
}

fn title(text: &str) -> String {
    let document = Document::parse("", text).ok();
    let title = document
        .as_ref()
        .and_then(|document| document.root().string("title").ok().flatten());
    title.unwrap_or_default().to_string()
}

/// The workload of this name that comes with the program; none if there is none.
///
/// # Errors
/// Its file has a mistake, which the tests exclude.
pub fn find(name: &str) -> Option<Result<Workload, Diagnostic>> {
    let file = format!("{name}.toml");
    let text = WORKLOADS.get_file(&file)?.contents_utf8()?;
    Some(parse(&format!("workloads/{file}"), text))
}
