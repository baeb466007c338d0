//! `schedlab compare`: a workload under several policies, side by side.

use crate::arguments::{CompareArguments, World};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use schedlab_lab::choose::{policies, Assignments};

use super::kernel_result::kernel_runs;
use super::result::{perform, Asked};

/// Runs a workload under several policies and prints them side by side.
pub fn compare(arguments: &CompareArguments) -> Result<Exit, Failure> {
    if arguments.common.world == World::Vm {
        return kernel_runs("compare", &arguments.policies, &arguments.common)
            .map(|()| Exit::Success);
    }
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&arguments.common.tunables, &arguments.common.set)?;
    let policies = policies("--policies", &arguments.policies, &set, &interrupt.stop())?;
    perform(Asked {
        command: "compare",
        policies,
        set,
        interrupt,
        common: &arguments.common,
    })
}
