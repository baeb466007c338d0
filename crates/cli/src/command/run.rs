//! `schedlab run`: a workload under one policy.

use crate::arguments::{RunArguments, World};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use schedlab_lab::choose::policy;

use super::kernel_result::kernel_runs;
use super::result::{perform, Asked};

/// Runs a workload under one policy and prints what was measured.
pub fn run(arguments: &RunArguments) -> Result<Exit, Failure> {
    if arguments.common.world == World::Vm {
        return kernel_runs("run", &arguments.policy, None, &arguments.common)
            .map(|()| Exit::Success);
    }
    let interrupt = Interrupt::listen()?;
    let set = arguments.common.settings.read()?;
    let tuned = policy("--policy", &arguments.policy, &set, &interrupt.stop())?;
    perform(Asked {
        command: "run",
        policies: vec![(arguments.policy.clone(), tuned)],
        interrupt,
        common: &arguments.common,
    })
}
