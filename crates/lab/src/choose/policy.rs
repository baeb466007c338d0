//! Which policies a user means.

use std::path::Path;

use schedlab_input::{read_text, Diagnostic};
use schedlab_policy::{CompileError, Policy, Tuned};

use super::tunables::Assignments;
use crate::Error;

/// A policy and, if the user named one, its variant.
type Choice<'a> = (Policy, Option<&'a str>);

/// The policy a user means by NAME, NAME:VARIANT or PATH.c.
///
/// `flag` is where the user wrote it; `stop` ends a compilation.
///
/// # Errors
/// There is no such policy or variant, the file does not compile, an assignment is wrong, or `stop`.
pub fn policy(
    flag: &str,
    text: &str,
    set: &Assignments,
    stop: &dyn Fn() -> bool,
) -> Result<Tuned, Error> {
    let mut tuned = tune(flag, vec![find(flag, text, stop)?], set)?;
    Ok(tuned.remove(0))
}

/// The C file in a user's PATH.c or PATH.c:VARIANT; none if it is the name of a policy.
pub fn policy_file(text: &str) -> Option<&Path> {
    let end = match text.ends_with(".c") {
        true => text.len(),
        false => text.rfind(".c:")? + ".c".len(),
    };
    Some(Path::new(&text[..end]))
}

/// The policies a user means by a list with commas, each beside the name the user wrote.
///
/// # Errors
/// As [`policy`], for the first policy that is wrong; a policy and variant that is named twice.
pub fn policies(
    flag: &str,
    text: &str,
    set: &Assignments,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<(String, Tuned)>, Error> {
    let written: Vec<&str> = text.split(',').map(str::trim).flat_map(expand).collect();
    let chosen: Vec<Choice> = written
        .iter()
        .map(|name| find(flag, name, stop))
        .collect::<Result<_, _>>()?;
    let tuned = tune(flag, chosen, set)?;
    let names: Vec<String> = tuned.iter().map(Tuned::name).collect();
    match (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
        Some(twice) => Err(Diagnostic::new(format!("{} is named twice", names[twice]))
            .at(flag, 0)
            .expected("each policy and variant once")
            .into()),
        None => Ok(written
            .iter()
            .map(|name| name.to_string())
            .zip(tuned)
            .collect()),
    }
}

/// "all" is every policy that comes with the program.
fn expand(name: &str) -> Vec<&str> {
    match name {
        "all" => Policy::all().iter().map(Policy::name).collect(),
        name => vec![name],
    }
}

fn tune(flag: &str, chosen: Vec<Choice>, set: &Assignments) -> Result<Vec<Tuned>, Error> {
    // Variants first: a wrong one is the first mistake to mention.
    let plain: Vec<Tuned> = chosen
        .iter()
        .map(|&(policy, variant)| Tuned::new(policy, variant, &[]))
        .collect::<Result<_, _>>()
        .map_err(|mistake| Error::flag(flag, mistake))?;
    set.check(&plain)?;
    let tuned = plain.into_iter().map(|plain| set.apply(plain));
    tuned.collect::<Result<_, _>>().map_err(Error::from)
}

fn find<'a>(flag: &str, text: &'a str, stop: &dyn Fn() -> bool) -> Result<Choice<'a>, Error> {
    if text.ends_with(".c") {
        return Ok((compile(text, stop)?, None));
    }
    if let Some(end) = text.rfind(".c:").map(|at| at + ".c".len()) {
        return Ok((compile(&text[..end], stop)?, Some(&text[end + 1..])));
    }
    let (name, variant) = match text.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (text, None),
    };
    match Policy::find(name) {
        Some(policy) => Ok((policy, variant)),
        None => Err(unknown(flag, name)),
    }
}

fn compile(path: &str, stop: &dyn Fn() -> bool) -> Result<Policy, Error> {
    // Reading it first gives the same messages as for every other file.
    read_text(Path::new(path))?;
    Policy::compile_unless(Path::new(path), stop).map_err(|error| match error {
        CompileError::Stopped => Error::Stopped,
        error => Error::Compile(error),
    })
}

fn unknown(flag: &str, name: &str) -> Error {
    if flag == "--policy" && (name.contains(',') || name == "all") {
        return Diagnostic::new(format!("\"{name}\" is more than one policy"))
            .at(flag, 0)
            .expected(format!("one; several: schedlab compare --policies {name}"))
            .into();
    }
    let names: Vec<&str> = Policy::all().iter().map(|policy| policy.name()).collect();
    Diagnostic::new(format!("there is no policy \"{name}\""))
        .at(flag, 0)
        .expected(format!(
            "one of {}, or a file ending in .c",
            names.join(", ")
        ))
        .suggest(name, names.iter().copied())
        .into()
}
