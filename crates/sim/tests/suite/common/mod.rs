//! Helpers shared by the tests of the engine.
#![allow(dead_code)] // Each test binary uses a part of it.

pub mod lab;

use std::path::Path;
use std::sync::OnceLock;

use schedlab_policy::Policy;

/// The policy `schedlab new fifo` writes: a tick of 1 ms, slices of 10 ms, a queue for each CPU.
pub fn fifo() -> Policy {
    static FIFO: OnceLock<Policy> = OnceLock::new();
    *FIFO.get_or_init(|| fifo_with(&[]))
}

/// The policy `schedlab new fifo` writes, with some of its text replaced.
pub fn fifo_with(replacements: &[(&str, &str)]) -> Policy {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policy/template/template.c");
    let mut source = std::fs::read_to_string(template)
        .unwrap()
        .replace("NAME", "fifo");
    for (from, to) in replacements {
        assert!(source.contains(from), "the template has no {from:?}");
        source = source.replacen(from, to, 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fifo.c");
    std::fs::write(&file, source).unwrap();
    Policy::compile(&file).unwrap_or_else(|error| panic!("{error}"))
}
