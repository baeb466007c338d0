//! Finds the workload that a user names.

use std::path::Path;

use crate::command::quoted;
use schedlab_input::{read_text, Diagnostic};
use schedlab_machine::Machine;
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

/// The file in a workload as users write it, and what follows it; none if the workload comes with the program.
///
/// # Errors
/// A quote does not end.
pub fn workload_file(text: &str) -> Result<Option<(String, String)>, Diagnostic> {
    let text = text.trim();
    let (name, args) = words(text)?;
    let extension = Path::new(&name).extension().and_then(|e| e.to_str());
    Ok(match extension {
        Some("toml") if args.is_empty() => Some((name, String::new())),
        Some("toml") => Some((name, format!(" {}", quoted(&args)))),
        Some("json") => Some((text.to_string(), String::new())),
        _ => None,
    })
}

/// Several workloads, each under a name of its own: the line it was written as, where names are equal.
///
/// # Errors
/// As [`workload`]; two that are equal.
pub fn workloads(texts: &[String], options: &rtapp::Options) -> Result<Vec<Workload>, Diagnostic> {
    once("--workload", texts)?;
    let read = texts.iter().map(|text| workload(text, options));
    let mut workloads: Vec<Workload> = read.collect::<Result<_, _>>()?;
    let names: Vec<String> = workloads.iter().map(|w| w.name.clone()).collect();
    for (workload, text) in workloads.iter_mut().zip(texts) {
        if is_ambiguous(&workload.name, &names) {
            workload.name = text.trim().to_string();
        }
    }
    Ok(workloads)
}

/// Several machines, each under a name of its own, as [`workloads`].
///
/// # Errors
/// There is no such machine; two that are equal.
pub fn machines(texts: &[String]) -> Result<Vec<Machine>, Diagnostic> {
    once("--machine", texts)?;
    let read = texts.iter().map(|text| schedlab_machine::find(text));
    let mut machines: Vec<Machine> = read.collect::<Result<_, _>>()?;
    let names: Vec<String> = machines.iter().map(|m| m.name.clone()).collect();
    for (machine, text) in machines.iter_mut().zip(texts) {
        if is_ambiguous(&machine.name, &names) {
            machine.name = text.clone();
        }
    }
    Ok(machines)
}

fn is_ambiguous(name: &str, names: &[String]) -> bool {
    names.iter().filter(|other| *other == name).count() > 1
}

/// Refuses a text that is named twice.
fn once(flag: &str, texts: &[String]) -> Result<(), Diagnostic> {
    let twice = (1..texts.len()).find(|&i| texts[..i].contains(&texts[i]));
    match twice {
        Some(i) => Err(Diagnostic::new(format!("\"{}\" is named twice", texts[i]))
            .at(flag, 0)
            .expected("each once")),
        None => Ok(()),
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
