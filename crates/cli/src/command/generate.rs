//! `schedlab completions` and `schedlab man`: made from the same definitions as the flags.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;

use super::print;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "schedlab", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes schedlab.1 and a page for each command.
pub fn man_pages(folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Arguments::command(), folder).map_err(Failure::writing(folder))
}
