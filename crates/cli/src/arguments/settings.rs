//! The flags that set tunables.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use schedlab_input::Diagnostic;
use schedlab_lab::choose::Assignments;

/// Settings of tunables, for the policies that a command names.
#[derive(Args, Clone)]
pub struct Settings {
    /// Set a tunable of the policy (see `list policies NAME`); NAME[ROW]=VALUE sets a row of a table.  Can be
    /// repeated.  With several policies NAME sets it in each that has it, POLICY.NAME in one of them.  Settings written
    /// with a policy (o1:NAME=VALUE) override these.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set the tunables a file names, before those of --set: .toml (`name = 1`, `table = [1, 2]`,
    /// under `[POLICY]` for one of several) or .dispadmin (a dispatch table as Solaris writes it).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tunables: Vec<PathBuf>,
}

impl Settings {
    /// Reads files and flags.
    ///
    /// # Errors
    /// What is wrong in them.
    pub fn read(&self) -> Result<Assignments, Diagnostic> {
        Assignments::read(&self.tunables, &self.set)
    }

    /// The flags again.
    pub fn flags(&self) -> Vec<String> {
        let files = self.tunables.iter();
        let files = files.map(|file| ("--tunables", file.display().to_string()));
        let set = self.set.iter().map(|set| ("--set", set.clone()));
        files
            .chain(set)
            .flat_map(|(flag, value)| [flag.to_string(), value])
            .collect()
    }
}
