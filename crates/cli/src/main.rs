//! `schedlab`: compare CPU schedulers, old and new, in a deterministic simulator.

mod arguments;
mod choose;
mod command;
mod failure;
mod interrupt;
mod outputs;
mod progress;
mod recipe;
mod seeds;
mod session;
mod usage;

use std::process::ExitCode;

fn main() -> ExitCode {
    schedlab_policy::install_crash_handler();
    match command::dispatch(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
