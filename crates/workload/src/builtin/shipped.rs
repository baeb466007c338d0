//! The workload files that come with the program.

use include_dir::{include_dir, Dir};

static WORKLOADS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// Name and text of each.
pub(super) fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    WORKLOADS.files().filter_map(|file| {
        let name = file.path().to_str()?.strip_suffix(".toml")?;
        Some((name, file.contents_utf8()?))
    })
}
