//! `schedlab dev conform`: compares the decisions of the BPF program and the native build.

use schedlab_live::Program;

use super::{load, print};
use crate::arguments::ConformArguments;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use schedlab_lab::choose;

pub fn conform(arguments: &ConformArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = arguments.settings.read()?;
    let tuned = choose::policy("POLICY", &arguments.policy, &set, &interrupt.stop())?;
    let code = load::object(&arguments.policy, &tuned)?;
    let bpf = match &arguments.against {
        Some(other) => choose::policy("--against", other, &set, &interrupt.stop())?,
        None => tuned.clone(),
    };
    let program = Program {
        tuned: &bpf,
        code: &code,
    };
    let found = schedlab_live::conform(&tuned, &program, arguments.scripts, arguments.seed)
        .map_err(|e| Failure::Other(e.to_string()))?;
    let name = tuned.name();
    match found.difference {
        None => print(&format!(
            "{name}: {} scripts, {} hook calls, 0 differences\n",
            found.scripts, found.calls
        )),
        Some(difference) => Err(Failure::Ended(
            Exit::CheckFailed,
            format!("{name}: {difference}"),
        )),
    }
}
