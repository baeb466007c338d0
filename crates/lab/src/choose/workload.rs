//! Finds the workload that a user names.

use std::path::Path;

use schedlab_input::{read_text, Diagnostic};
use schedlab_workload::{builtin, exported, native, rtapp, Workload};

/// The workload a user names: a built-in with its options, a file by its extension, or one that
/// comes with the program by its name.
pub fn workload(text: &str, options: &rtapp::Options) -> Result<Workload, Diagnostic> {
    let text = text.trim();
    let (name, args) = words(text)?;
    let path = Path::new(&name);
    match path.extension().and_then(|e| e.to_str()) {
        Some("toml") => native::parse_with(&name, &read_text(path)?, &args),
        Some("json") => {
            let content = read_text(Path::new(text))?;
            match exported::is_exported(&content) {
                true => exported::parse(text, &content),
                false => rtapp::parse(text, &content, options),
            }
        }
        _ => match builtin::find(&name) {
            Some(builtin) => builtin.parse(&args),
            None => Err(unknown(text)),
        },
    }
}

/// The help text for a line such as "my.toml --help"; none for other lines.
pub fn help(text: &str) -> Result<Option<String>, Diagnostic> {
    let (name, args) = words(text.trim())?;
    if !args.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(None);
    }
    match builtin::find(&name) {
        Some(builtin) => Ok(builtin.help()),
        None if name.ends_with(".toml") => native::help(&name, &read_text(Path::new(&name))?),
        None => Ok(None),
    }
}

/// A name and its options.  A path may contain spaces.
fn words(text: &str) -> Result<(String, Vec<String>), Diagnostic> {
    if Path::new(text).is_file() {
        return Ok((text.to_string(), Vec::new()));
    }
    let mut words = builtin::words(text)?;
    match words.is_empty() {
        true => Ok((String::new(), words)),
        false => Ok((words.remove(0), words)),
    }
}

fn unknown(text: &str) -> Diagnostic {
    let builtins = builtin::list();
    let names: Vec<&str> = builtins.iter().map(|builtin| builtin.name).collect();
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
