//! Which workload a user means.

use std::path::Path;

use schedlab_input::{read_text, Diagnostic};
use schedlab_workload::{builtin, exported, native, rtapp, Workload};

/// The workload a user means: a built-in with its options, a file by its extension, or one that
/// comes with the program by its name.
pub fn workload(text: &str, options: &rtapp::Options) -> Result<Workload, Diagnostic> {
    let text = text.trim();
    let first = text.split_whitespace().next().unwrap_or_default();
    if builtin::find(first).is_some() {
        return builtin::parse(text);
    }
    match Path::new(text).extension().and_then(|e| e.to_str()) {
        Some("toml") => native::parse(text, &read_text(Path::new(text))?),
        Some("json") => {
            let content = read_text(Path::new(text))?;
            match exported::is_exported(&content) {
                true => exported::parse(text, &content),
                false => rtapp::parse(text, &content, options),
            }
        }
        // Its file may be far away, so it is called by its name in commands to reproduce a result.
        _ => native::find(text)
            .unwrap_or_else(|| Err(unknown(text)))
            .map(|shipped| Workload {
                source: text.to_string(),
                ..shipped
            }),
    }
}

fn unknown(text: &str) -> Diagnostic {
    let shipped = native::list();
    let names: Vec<&str> = builtin::list()
        .iter()
        .map(|(name, _)| *name)
        .chain(shipped.iter().map(|(name, _)| *name))
        .collect();
    let problem = match Path::new(text).exists() {
        true => format!("the file \"{text}\" has no known extension"),
        false => format!("there is no workload \"{text}\""),
    };
    let name = text.split_whitespace().next().unwrap_or_default();
    Diagnostic::new(problem)
        .at("--workload", 0)
        .expected(format!(
            "one of {}, or a file ending in .toml or .json",
            names.join(", ")
        ))
        .suggest(name, names.iter().copied())
}
