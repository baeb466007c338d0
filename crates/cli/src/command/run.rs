//! `schedlab run`: a workload under one policy.

use crate::arguments::RunArguments;
use crate::choose::{policy, Assignments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

use super::result::{perform, Asked};

/// Runs a workload under one policy and prints what was measured.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&arguments.common.tunables, &arguments.common.set)?;
    let tuned = policy("--policy", &arguments.policy, &set, &interrupt)?;
    perform(Asked {
        command: "run",
        policies: vec![(arguments.policy.clone(), tuned)],
        set,
        interrupt,
        common: &arguments.common,
    })
}
