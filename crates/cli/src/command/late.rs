//! `schedlab late`: applications that compute and sleep.

use schedlab_programs::late::{run, total, Plan};

use crate::arguments::LateArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

use super::print;

/// Runs late on this machine and prints what it measured.
pub fn late(arguments: &LateArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let late = &arguments.late;
    let plan = Plan {
        kinds: late.kinds()?,
        duration: late.lasts()?,
        aligned: late.aligned,
        seed: arguments.seed,
        // If nothing reads the output any more, writing the table fails later.
        tell: &mut |line| drop(print(&format!("{line}\n"))),
        stop: &|| interrupt.signal().is_some(),
    };
    let (kinds, time) = run(plan).map_err(|error| Failure::Other(format!("late: {error}")))?;
    interrupt.check()?;
    print(&total(&kinds, time))
}
