//! `schedlab machine`: an existing machine as a machine file.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;

use schedlab_host::measure::{measure, Results};
use schedlab_host::{describe, from_file, from_sysfs, surroundings, Surroundings};
use schedlab_machine::Machine;
use schedlab_trace::AtomicFile;

use crate::arguments::MachineArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Waiting;

use schedlab_lab::shell_word;

use super::{note, print};

/// What is not said of a machine is that of this one.
const BASE: &str = "desktop";

/// Describes the machine, and writes or prints the description.
pub fn machine(arguments: &MachineArguments) -> Result<(), Failure> {
    let base = schedlab_machine::find(BASE)?;
    // A file that cannot be written is found before anything is measured.
    let output = arguments.output.as_deref();
    let file = output.map(|path| AtomicFile::create(path).map_err(Failure::writing(path)));
    let file = file.transpose()?;
    let text = match &arguments.from {
        Some(file) => {
            let (around, results) = (Surroundings::default(), Results::default());
            describe(&from_file(file)?, &around, &results, &base)
        }
        None => this_machine(arguments, &base)?,
    };
    // Files may describe what no machine can be; the message names the line.
    let name = output.unwrap_or(Path::new("machine.toml"));
    Machine::parse(&name.display().to_string(), &text)?;
    let (Some(path), Some(mut file)) = (output, file) else {
        return print(&text);
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.finish());
    written.map_err(Failure::writing(path))?;
    let path = path.display().to_string();
    let path = shell_word(&path);
    print(&format!(
        "Wrote {path}.  Next:

  schedlab compare --policies all --machine {path} --workload hackbench
"
    ))
}

/// The machine this runs on.
fn this_machine(arguments: &MachineArguments, base: &Machine) -> Result<String, Failure> {
    let root = arguments.sysfs.as_deref().unwrap_or(Path::new("/"));
    let layout = from_sysfs(root)?;
    let around = surroundings(root);
    // Only the machine this runs on can be measured.
    if arguments.no_measure || arguments.sysfs.is_some() {
        return Ok(describe(&layout, &around, &Results::default(), base));
    }
    let interrupt = Interrupt::listen()?;
    let waiting = RefCell::new(Waiting::new());
    let tell = |what: &str| waiting.borrow_mut().show(&format!("measuring {what}"));
    let results = measure(&layout, &tell, &interrupt.stop());
    drop(waiting);
    interrupt.check()?;
    for failed in &results.failed {
        note(&format!("not measured: {failed}"));
    }
    Ok(describe(&layout, &around, &results, base))
}
