//! Built-in benchmarks, each under its own command line: `volanomark --rooms 10`.
//!
//! One file is one benchmark: a struct whose fields are its options (their comments are the
//! help text) and a function that turns them into tasks and programs.

mod ab;
mod chat;
mod contest;
mod errors;
mod hackbench;
mod hogs;
mod interbench;
mod kernel_build;
mod late;
mod loads;
mod mab;
mod massive_intr;
mod rooms;
mod sysbench_oltp;
mod values;
mod volanomark;

pub use chat::Chat;
pub use late::{Late, Task as LateTask};
pub use volanomark::VolanoMark;

use schedlab_input::{nearest, Diagnostic};

use crate::builder::Builder;
use crate::Workload;

/// What a benchmark has to be.
trait Benchmark: clap::Parser {
    /// The name users choose it by.
    const NAME: &'static str;
    /// One line about it.
    const SUMMARY: &'static str;
    /// The workload its options describe.
    fn workload(&self, builder: Builder) -> Result<Workload, Diagnostic>;
}

/// A built-in benchmark.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// The name users choose it by.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    parse: fn(&[String]) -> Result<Workload, Diagnostic>,
    command: fn() -> clap::Command,
}

impl Builtin {
    const fn of<B: Benchmark>() -> Self {
        Builtin {
            name: B::NAME,
            summary: B::SUMMARY,
            parse: parse_as::<B>,
            command: B::command,
        }
    }

    /// The workload these arguments describe; the benchmark's name is not among them.
    ///
    /// # Errors
    /// An unknown option, a bad value or an impossible combination.
    pub fn parse(&self, args: &[String]) -> Result<Workload, Diagnostic> {
        (self.parse)(args)
    }

    /// Its options with their meanings and defaults, for people.
    pub fn help(&self) -> String {
        let command = (self.command)();
        let mut command = command.name(self.name).about(self.summary);
        command.render_long_help().to_string()
    }
}

/// All benchmarks, in the order of their names.
const BUILTINS: [Builtin; 12] = [
    Builtin::of::<ab::Ab>(),
    Builtin::of::<chat::Chat>(),
    Builtin::of::<contest::Contest>(),
    Builtin::of::<hackbench::Hackbench>(),
    Builtin::of::<hogs::Hogs>(),
    Builtin::of::<interbench::Interbench>(),
    Builtin::of::<kernel_build::KernelBuild>(),
    Builtin::of::<late::Late>(),
    Builtin::of::<mab::Mab>(),
    Builtin::of::<massive_intr::MassiveIntr>(),
    Builtin::of::<sysbench_oltp::SysbenchOltp>(),
    Builtin::of::<volanomark::VolanoMark>(),
];

/// Name and summary of every built-in benchmark, sorted by name.
pub fn list() -> Vec<(&'static str, &'static str)> {
    BUILTINS.iter().map(|b| (b.name, b.summary)).collect()
}

/// The built-in benchmark of this name.
pub fn find(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|b| b.name == name).copied()
}

/// The workload a line like `volanomark --rooms 10` describes; words may be quoted as in a shell.
///
/// # Errors
/// An unknown benchmark, or what [`Builtin::parse`] refuses.
pub fn parse(line: &str) -> Result<Workload, Diagnostic> {
    let mut words = words(line)?;
    if words.is_empty() {
        return Err(unknown(""));
    }
    let name = words.remove(0);
    find(&name).ok_or_else(|| unknown(&name))?.parse(&words)
}

/// The help text a line asks for with `--help` or `-h`, if it names a benchmark and does.
pub fn help(line: &str) -> Option<String> {
    let words = words(line).ok()?;
    let (name, options) = words.split_first()?;
    let asks = options.iter().any(|word| word == "--help" || word == "-h");
    find(name).filter(|_| asks).map(|builtin| builtin.help())
}

/// The words of a line.
fn words(line: &str) -> Result<Vec<String>, Diagnostic> {
    shlex::split(line).ok_or_else(|| Diagnostic {
        problem: format!("a quote in \"{line}\" has no end"),
        ..errors::on_the_command_line()
    })
}

/// No benchmark has this name.
fn unknown(name: &str) -> Diagnostic {
    let names: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
    Diagnostic {
        problem: format!("there is no built-in workload \"{name}\""),
        expected: format!("one of {}", names.join(", ")),
        nearest: nearest(name, names),
        ..errors::on_the_command_line()
    }
}

/// Parses the arguments of one benchmark and builds its workload.
fn parse_as<B: Benchmark>(args: &[String]) -> Result<Workload, Diagnostic> {
    // A negative number is a bad value of an option, not an unknown option.
    let command = B::command()
        .no_binary_name(true)
        .disable_version_flag(true)
        .mut_args(|option| {
            let takes_values = option.get_action().takes_values();
            option.allow_negative_numbers(takes_values)
        });
    let options = command
        .try_get_matches_from(args)
        .and_then(|matches| B::from_arg_matches(&matches))
        .map_err(|error| errors::diagnostic(B::NAME, &error))?;
    options.workload(Builder::new(B::NAME, command_line(B::NAME, args)))
}

/// The line that asks for this workload again.
fn command_line(name: &str, args: &[String]) -> String {
    let words = std::iter::once(name).chain(args.iter().map(String::as_str));
    // Only a NUL byte cannot be quoted, and no command line can hold one.
    shlex::try_join(words).unwrap_or_else(|_| name.to_string())
}

#[cfg(test)]
mod tests;
