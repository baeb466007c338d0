//! `schedlab completions` and `schedlab man`: made from the same definitions as the flags.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use schedlab_policy::Policy;
use schedlab_workload::builtin;

use crate::arguments::Arguments;
use crate::failure::Failure;

use super::print;

/// Names of variants contain colons; by default bash breaks words there.
const BASH_COLONS: &str = "\nCOMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n";

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut command = visible(Arguments::command()).mut_subcommands(with_names);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "schedlab", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Bash {
        script += BASH_COLONS;
    }
    print(&script)
}

/// Writes schedlab.1 and a page for each command.
pub fn man_pages(folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Arguments::command(), folder).map_err(Failure::writing(folder))
}

/// The program without its hidden commands, which clap_complete would offer.
fn visible(command: Command) -> Command {
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    Command::new("schedlab")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommands(shown.cloned().collect::<Vec<_>>())
}

/// A command with the valid names of its arguments' values.  Files are valid, too: shells offer them if no name
/// fits.
fn with_names(command: Command) -> Command {
    let catalogue = command.get_name() == "list";
    command.mut_args(|argument| match argument.get_id().as_str() {
        "policy" | "policies" | "recorded_under" => offer(argument, policies()),
        "workload" => offer(argument, workloads()),
        "machine" => offer(argument, machines()),
        "experiments" => offer(argument, experiments()),
        "name" if catalogue => offer(argument, [policies(), workloads(), machines()].concat()),
        _ => argument,
    })
}

fn offer(argument: Arg, names: Vec<String>) -> Arg {
    // clap keeps names for the rest of the program.
    let names = names.into_iter().map(|name| &*name.leak());
    // With a hint of files bash's script would split the names at line ends only.
    argument
        .value_hint(ValueHint::Unknown)
        .value_parser(PossibleValuesParser::new(names))
}

/// Every policy, also with each of its variants, and "all".
fn policies() -> Vec<String> {
    let with_variants = |policy: &Policy| {
        let name = policy.name();
        let variants = policy.variants().into_iter();
        let variants = variants.map(move |variant| format!("{name}:{}", variant.name));
        std::iter::once(name.to_string()).chain(variants)
    };
    let all = Policy::all().iter().flat_map(with_variants);
    all.chain(["all".to_string()]).collect()
}

fn workloads() -> Vec<String> {
    let all = builtin::list().into_iter();
    all.map(|workload| workload.name.to_string()).collect()
}

fn machines() -> Vec<String> {
    let names = schedlab_machine::names().into_iter();
    names.map(str::to_string).collect()
}

fn experiments() -> Vec<String> {
    let all = schedlab_reproduce::experiments().iter();
    all.map(|experiment| experiment.id.to_string()).collect()
}
