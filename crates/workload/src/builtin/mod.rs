//! Built-in benchmarks, each under its own command line: `volanomark --rooms 10`.
//!
//! Most are files of `workloads/`.  A benchmark in Rust is one file here: a struct with its options (the comments
//! of the fields are the help text) and a function that turns them into tasks and programs.

pub(crate) mod errors;
mod interbench;
mod kernel_build;
mod late;
mod loads;
mod rooms;
mod shipped;
mod sysbench_oltp;
pub mod values;
mod volanomark;

pub use late::{Late, LateTask};
pub use volanomark::VolanoMark;

use schedlab_input::{nearest, Diagnostic};

use crate::builder::Builder;
use crate::{native, Workload};

/// A benchmark written in Rust.
trait Benchmark: clap::Parser {
    /// The name users choose it by.
    const NAME: &'static str;
    /// One line about it.
    const SUMMARY: &'static str;
    /// Adds the tasks its options describe.
    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic>;
}

/// A workload that comes with the program: a benchmark in Rust or a file of `workloads/`.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// The name users choose it by.
    pub name: &'static str,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Rust(Coded),
    /// The text of the file.
    File(&'static str),
}

#[derive(Clone, Copy)]
struct Coded {
    summary: &'static str,
    add: fn(&[String], &mut Builder) -> Result<(), Diagnostic>,
    command: fn() -> clap::Command,
}

impl Builtin {
    const fn of<B: Benchmark>() -> Self {
        Builtin {
            name: B::NAME,
            form: Form::Rust(Coded {
                summary: B::SUMMARY,
                add: add_as::<B>,
                command: B::command,
            }),
        }
    }

    /// One line about it.
    pub fn summary(&self) -> String {
        match self.form {
            Form::Rust(coded) => coded.summary.to_string(),
            Form::File(text) => native::title(text),
        }
    }

    /// The text of its file; none of a benchmark in Rust.
    pub fn text(&self) -> Option<&'static str> {
        match self.form {
            Form::File(text) => Some(text),
            Form::Rust(_) => None,
        }
    }

    /// The workload these arguments describe; the benchmark's name is not among them.
    ///
    /// # Errors
    /// An unknown option, a bad value or an impossible combination.
    pub fn parse(&self, args: &[String]) -> Result<Workload, Diagnostic> {
        let source = command_line(self.name, args);
        match self.form {
            Form::File(text) => {
                let file = format!("workloads/{}.toml", self.name);
                let workload = native::parse_with(&file, text, args)?;
                Ok(Workload { source, ..workload })
            }
            Form::Rust(coded) => {
                let mut builder = Builder::new(self.name, source);
                (coded.add)(args, &mut builder)?;
                Ok(builder.finish())
            }
        }
    }

    /// Its options with their meanings and defaults, for people; none if it has none.
    pub fn help(&self) -> Option<String> {
        match self.form {
            Form::Rust(coded) => {
                let command = (coded.command)().name(self.name).about(coded.summary);
                Some(command.clone().render_long_help().to_string())
            }
            Form::File(text) => native::help(self.name, text).ok().flatten(),
        }
    }
}

/// The benchmarks in Rust.
const IN_RUST: [Builtin; 5] = [
    Builtin::of::<interbench::Interbench>(),
    Builtin::of::<kernel_build::KernelBuild>(),
    Builtin::of::<late::Late>(),
    Builtin::of::<sysbench_oltp::SysbenchOltp>(),
    Builtin::of::<volanomark::VolanoMark>(),
];

/// Every workload that comes with the program, sorted by name.
pub fn list() -> Vec<Builtin> {
    let file = |(name, text)| Builtin {
        name,
        form: Form::File(text),
    };
    let mut all: Vec<Builtin> = IN_RUST
        .into_iter()
        .chain(shipped::files().map(file))
        .collect();
    all.sort_unstable_by_key(|builtin| builtin.name);
    all
}

/// The workload of this name that comes with the program.
pub fn find(name: &str) -> Option<Builtin> {
    list().into_iter().find(|builtin| builtin.name == name)
}

/// The workload a line like `volanomark --rooms 10` describes; words may be quoted as in a shell.
///
/// # Errors
/// An unknown workload, or what [`Builtin::parse`] refuses.
pub fn parse(line: &str) -> Result<Workload, Diagnostic> {
    let mut words = words(line)?;
    if words.is_empty() {
        return Err(unknown(""));
    }
    let name = words.remove(0);
    find(&name).ok_or_else(|| unknown(&name))?.parse(&words)
}

/// Adds the tasks of the benchmark in Rust that a line describes.
pub(crate) fn add(line: &str, builder: &mut Builder) -> Result<(), Diagnostic> {
    let words = words(line)?;
    let (name, args) = words.split_first().ok_or_else(|| unknown(""))?;
    let found = IN_RUST.iter().find(|builtin| builtin.name == name);
    let Some(Builtin {
        form: Form::Rust(coded),
        ..
    }) = found
    else {
        return Err(unknown(name));
    };
    builder.beside(|builder| (coded.add)(args, builder))
}

/// The help text a line asks for with `--help` or `-h`, if it names a benchmark and does.
pub fn help(line: &str) -> Option<String> {
    let words = words(line).ok()?;
    let (name, options) = words.split_first()?;
    let asks = options.iter().any(|word| word == "--help" || word == "-h");
    find(name).filter(|_| asks)?.help()
}

/// The words of a line; they may be quoted as in a shell.
///
/// # Errors
/// A quote has no end.
pub fn words(line: &str) -> Result<Vec<String>, Diagnostic> {
    shlex::split(line).ok_or_else(|| Diagnostic {
        problem: format!("a quote in \"{line}\" has no end"),
        ..errors::on_the_command_line()
    })
}

/// No benchmark has this name.
fn unknown(name: &str) -> Diagnostic {
    let names: Vec<&str> = list().iter().map(|b| b.name).collect();
    Diagnostic {
        problem: format!("there is no workload \"{name}\""),
        expected: format!("one of {}", names.join(", ")),
        nearest: nearest(name, names),
        ..errors::on_the_command_line()
    }
}

/// Parses the arguments of one benchmark and adds its tasks.
fn add_as<B: Benchmark>(args: &[String], builder: &mut Builder) -> Result<(), Diagnostic> {
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
    options.build(builder)
}

/// The line that asks for this workload again.
pub(crate) fn command_line(name: &str, args: &[String]) -> String {
    let words = std::iter::once(name).chain(args.iter().map(String::as_str));
    // Only a NUL byte cannot be quoted, and no command line can hold one.
    shlex::try_join(words).unwrap_or_else(|_| name.to_string())
}

#[cfg(test)]
mod tests;
