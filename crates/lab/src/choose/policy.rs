//! Which policies a user means.

use std::path::Path;

use schedlab_input::{read_text, Diagnostic};
use schedlab_policy::{CompileError, Policy, Tuned};

use super::scheduler;
use super::tunables::Assignments;
use crate::Error;

/// A policy and, if the user named one, its variant.
type Choice<'a> = (Policy, Option<&'a str>);

/// The policy a user means by NAME, NAME:VARIANT, PATH.c or PATH.c:VARIANT; PATH.so is one that `vm` compiled.
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
    in_file(text, ".c").map(|(file, _)| file)
}

/// The file and the variant in PATH or PATH:VARIANT, where PATH has this extension.
fn in_file<'a>(text: &'a str, extension: &str) -> Option<(&'a Path, Option<&'a str>)> {
    if text.ends_with(extension) {
        return Some((Path::new(text), None));
    }
    let end = text.rfind(&format!("{extension}:"))? + extension.len();
    Some((Path::new(&text[..end]), Some(&text[end + 1..])))
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
    let written: Vec<&str> = scheduler::items(text)
        .into_iter()
        .flat_map(expand)
        .collect();
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

/// Moves the item a user calls `wanted` to the front; the others keep their order.
///
/// # Errors
/// No item has that name.
pub fn to_front<T>(
    items: &mut [T],
    wanted: Option<&str>,
    names: impl Fn(&T) -> Vec<String>,
) -> Result<(), Error> {
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let all: Vec<Vec<String>> = items.iter().map(names).collect();
    let called = |names: &Vec<String>| names.iter().any(|name| name == wanted);
    if let Some(index) = all.iter().position(called) {
        items[..=index].rotate_right(1);
        return Ok(());
    }
    let firsts = all.iter().filter_map(|names| names.first());
    let firsts: Vec<&str> = firsts.map(String::as_str).collect();
    Err(
        Diagnostic::new(format!("\"{wanted}\" is not among the policies"))
            .at("--baseline", 0)
            .expected(format!("one of {}", firsts.join(", ")))
            .suggest(wanted, firsts.iter().copied())
            .into(),
    )
}

/// What a user may call a policy: as on the command line, with its variant, without it.
pub fn names((written, tuned): &(String, Tuned)) -> Vec<String> {
    vec![
        written.clone(),
        tuned.name(),
        tuned.policy.name().to_string(),
    ]
}

/// The first policy of "all", to which differences refer: what Linux runs today.
const PRESENT: &str = "eevdf";

/// "all" is every policy that comes with the program: [`PRESENT`], then the others by name.
fn expand(name: &str) -> Vec<&str> {
    if name != "all" {
        return vec![name];
    }
    let mut all: Vec<&str> = Policy::all().iter().map(Policy::name).collect();
    all.sort_by_key(|&name| (name != PRESENT, name));
    all
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
    if let Some((source, variant)) = in_file(text, ".c") {
        return Ok((compile(source, stop)?, variant));
    }
    if let Some((library, variant)) = in_file(text, ".so") {
        let policy = Policy::from_library(library).map_err(Error::Compile)?;
        return Ok((policy, variant));
    }
    let (name, variant) = match text.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (text, None),
    };
    if let Some(policy) = Policy::find(name) {
        return Ok((policy, variant));
    }
    match scheduler::find(flag, text)? {
        Some(policy) => Ok((policy, None)),
        None => Err(unknown(flag, name)),
    }
}

fn compile(source: &Path, stop: &dyn Fn() -> bool) -> Result<Policy, Error> {
    // Reading it first gives the same messages as for every other file.
    read_text(source)?;
    Policy::compile_unless(source, stop).map_err(|error| match error {
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
            "one of {}, a file ending in .c or .bpf.o, or a program that loads a sched_ext scheduler",
            names.join(", ")
        ))
        .suggest(name, names.iter().copied())
        .into()
}
