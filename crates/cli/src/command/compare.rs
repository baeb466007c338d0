//! `schedlab compare`: a workload under several policies, side by side.

use crate::arguments::{CompareArguments, World};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use schedlab_lab::choose::{names, policies, to_front};

use super::kernel_result::kernel_runs;
use super::result::{perform, Asked};

/// Runs a workload under several policies and prints them side by side.
pub fn compare(arguments: &CompareArguments) -> Result<Exit, Failure> {
    let baseline = arguments.baseline.as_deref();
    if arguments.common.world == World::Vm {
        return kernel_runs("compare", &arguments.policies, baseline, &arguments.common)
            .map(|()| Exit::Success);
    }
    let interrupt = Interrupt::listen()?;
    let set = arguments.common.settings.read()?;
    let mut policies = policies("--policies", &arguments.policies, &set, &interrupt.stop())?;
    to_front(&mut policies, baseline, names)?;
    perform(Asked {
        command: "compare",
        policies,
        interrupt,
        common: &arguments.common,
    })
}
