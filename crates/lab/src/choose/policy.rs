//! Finds the policies that a user names.

use std::path::Path;

use schedlab_input::{read_text, Diagnostic};
use schedlab_policy::{CompileError, Policy, Tuned};

use super::scheduler::{self, items};
use super::tunables::Assignments;
use super::written::Written;
use crate::Error;

/// A policy, and what the user wrote.
type Choice<'a> = (Policy, Written<'a>);

/// The policy called POLICY, POLICY:VARIANT, POLICY:TUNABLE=VALUE or POLICY:VARIANT:TUNABLE=VALUE..., where POLICY is a
/// name, PATH.c, a sched_ext scheduler, or PATH.so, which `vm` compiled.  These settings override those of `set`.
///
/// `flag` is the flag with the name; `stop` ends a compilation.
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

/// The C file in a policy as users write it; none if it is the name of a policy.
pub fn policy_file(text: &str) -> Option<&Path> {
    Written::parse(text).file(".c")
}

/// A policy as a command names it again: with its variant, and the settings that were written with it.
pub fn spelled((written, tuned): &(String, Tuned)) -> String {
    Written::parse(written).with_variant(tuned.variant)
}

/// The policies of a list with commas, each with the name the user wrote.  Of files that declare one name each is
/// called by its path.
///
/// # Errors
/// As [`policy`], for the first policy that is wrong; two policies that are equal in everything.
pub fn policies(
    flag: &str,
    text: &str,
    set: &Assignments,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<(String, Tuned)>, Error> {
    let written: Vec<&str> = items(text).into_iter().flat_map(expand).collect();
    let chosen: Vec<Choice> = written
        .iter()
        .map(|name| find(flag, name, stop))
        .collect::<Result<_, _>>()?;
    let tuned = tune(flag, told_apart(chosen), set)?;
    for (second, later) in tuned.iter().enumerate() {
        let first = tuned[..second].iter().position(|tuned| tuned.equals(later));
        if let Some(first) = first {
            return Err(twice(flag, (written[first], written[second]), later));
        }
    }
    let written = written.iter().map(|name| name.to_string());
    Ok(written.zip(tuned).collect())
}

fn twice(flag: &str, (first, second): (&str, &str), tuned: &Tuned) -> Error {
    let problem = match first == second {
        true => format!("{} is named twice", tuned.name()),
        false => format!("\"{first}\" and \"{second}\" are equal"),
    };
    Diagnostic::new(problem)
        .at(flag, 0)
        .expected("policies that differ in source, variant or tunables")
        .into()
}

/// Gives policies from different files that declare one name the names of their files.
fn told_apart(chosen: Vec<Choice>) -> Vec<Choice> {
    let sources: Vec<_> = chosen.iter().map(|(policy, _)| policy.sources()).collect();
    let clashes = |i: usize| {
        let other = |j: usize| {
            let same_name = chosen[i].0.name() == chosen[j].0.name();
            same_name && chosen[i].1.base != chosen[j].1.base && sources[i] != sources[j]
        };
        (0..chosen.len()).any(other)
    };
    let apart: Vec<bool> = (0..chosen.len()).map(clashes).collect();
    let named = chosen.into_iter().zip(apart);
    named
        .map(|((policy, written), apart)| match apart {
            true => (policy.renamed(written.base), written),
            false => (policy, written),
        })
        .collect()
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

/// The names of a policy: as on the command line, with variant and settings, with its variant, without it.
pub fn names(named: &(String, Tuned)) -> Vec<String> {
    let (written, tuned) = named;
    vec![
        written.clone(),
        spelled(named),
        tuned.name(),
        tuned.policy.name().to_string(),
    ]
}

/// The first policy of "all", to which differences refer: what Linux runs today.
const PRESENT: &str = "eevdf";

/// "all" is every policy that comes with the program: [`PRESENT`], then the others by name.
fn expand(name: &str) -> Vec<&str> {
    all_or(name, Policy::all().iter())
}

/// The same, where "all" is every policy that a kernel can run.
pub fn expand_for_kernels(name: &str) -> Vec<&str> {
    all_or(name, Policy::for_kernels())
}

fn all_or(name: &str, policies: impl Iterator<Item = &'static Policy>) -> Vec<&str> {
    if name != "all" {
        return vec![name];
    }
    let mut all: Vec<&str> = policies.map(Policy::name).collect();
    all.sort_by_key(|&name| (name != PRESENT, name));
    all
}

fn tune(flag: &str, chosen: Vec<Choice>, set: &Assignments) -> Result<Vec<Tuned>, Error> {
    // Variants first: a wrong one is the first mistake to mention.
    let plain: Vec<Tuned> = chosen
        .iter()
        .map(|(policy, written)| Tuned::new(*policy, written.variant, &[]))
        .collect::<Result<_, _>>()
        .map_err(|mistake| Error::flag(flag, mistake))?;
    set.check(&plain)?;
    let one = |(plain, (_, written)): (Tuned, Choice)| {
        let mut tuned = set.apply(plain)?;
        for own in written.assignments(flag)? {
            tuned.set(own)?;
        }
        Ok(tuned)
    };
    let tuned = plain.into_iter().zip(chosen).map(one);
    tuned
        .collect::<Result<_, Diagnostic>>()
        .map_err(Error::from)
}

fn find<'a>(flag: &str, text: &'a str, stop: &dyn Fn() -> bool) -> Result<Choice<'a>, Error> {
    let written = Written::parse(text);
    if let Some(source) = written.file(".c") {
        return Ok((compile(source, stop)?, written));
    }
    if let Some(library) = written.file(".so") {
        let policy = Policy::from_library(library).map_err(Error::Compile)?;
        return Ok((policy, written));
    }
    if let Some(policy) = Policy::find(written.base) {
        return Ok((policy, written));
    }
    match scheduler::find(flag, written.base)? {
        Some(_) if written.base != text && written.file(".bpf.o").is_none() => {
            Err(of_a_program(flag, &written))
        }
        Some(policy) => Ok((policy, written)),
        None => Err(unknown(flag, written.base, text)),
    }
}

/// A program has options of its own, and neither variants nor tunables.
fn of_a_program(flag: &str, written: &Written) -> Error {
    let base = written.base;
    Diagnostic::new(format!(
        "\"{base}\" is a program: it has no variants and no tunables"
    ))
    .at(flag, 0)
    .expected(format!("its own options: '{base} --OPTION VALUE'"))
    .into()
}

fn compile(source: &Path, stop: &dyn Fn() -> bool) -> Result<Policy, Error> {
    // Reading it first gives the same messages as for every other file.
    read_text(source)?;
    Policy::compile_unless(source, stop).map_err(|error| match error {
        CompileError::Stopped => Error::Stopped,
        error => Error::Compile(error),
    })
}

fn unknown(flag: &str, name: &str, text: &str) -> Error {
    if text.contains('=') && !text.contains(':') {
        return Diagnostic::new(format!("\"{text}\" is not a policy"))
            .at(flag, 0)
            .expected("settings behind their policy, each after a colon: o1:min_timeslice_ms=5:max_timeslice_ms=50")
            .into();
    }
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
