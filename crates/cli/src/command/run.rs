//! `schedlab run`: a workload under one policy.

use crate::arguments::RunArguments;
use crate::choose::{policy, Assignments};
use crate::failure::Failure;

use super::result::{perform, Asked};

/// Runs a workload under one policy and prints what was measured.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let set = Assignments::parse(&arguments.common.set)?;
    let tuned = policy("--policy", &arguments.policy, &set)?;
    perform(Asked {
        command: "run",
        policies: vec![(arguments.policy.clone(), tuned)],
        set,
        common: &arguments.common,
    })
}
