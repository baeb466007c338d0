//! `schedlab`: compare CPU schedulers, old and new, in a deterministic simulator and in a real kernel.

mod arguments;
mod command;
mod failure;
mod interrupt;
mod kernel;
mod outputs;
mod perf_sched;
mod progress;
mod results;
mod runs;
mod usage;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    if schedlab_vm::guest::is_this() {
        schedlab_vm::guest::main();
    }
    schedlab_policy::install_crash_handler();
    match command::dispatch(std::env::args_os()) {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
