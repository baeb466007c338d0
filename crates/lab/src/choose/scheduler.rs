//! Schedulers that are not part of schedlab: sched_ext programs and objects.

use std::ffi::OsString;

use schedlab_input::Diagnostic;
use schedlab_machine::Machine;
use schedlab_policy::{Policy, Tuned};
use schedlab_scx::door::Unloaded;
use schedlab_scx::Scheduler;

use super::written::split_outside_quotes;
use crate::Error;

/// The items of a list with commas; those in quotes are part of an item.
pub fn items(text: &str) -> Vec<&str> {
    split_outside_quotes(text, ',')
}

/// A scheduler that is not loaded yet; none if the text names none.
///
/// # Errors
/// What is wrong with its file.
pub(super) fn find(flag: &str, text: &str) -> Result<Option<Policy>, Error> {
    let Some(scheduler) = Scheduler::find(text) else {
        return Ok(None);
    };
    let declared = scheduler.declared(text);
    declared
        .map(Some)
        .map_err(|problem| mistake(flag, text, &problem))
}

/// Loads the sched_ext schedulers among these policies for a machine.  `attach` is the command that attaches an object.
/// Returns what the user should know of them.
///
/// # Errors
/// One cannot be loaded, or `stop`.
pub fn load<'a>(
    flag: &str,
    policies: impl IntoIterator<Item = &'a mut Tuned>,
    machine: &Machine,
    attach: &[OsString],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    for tuned in policies {
        if !tuned.policy.is_in_rust() {
            continue;
        }
        let name = tuned.policy.name();
        let scheduler = Scheduler::find(name);
        let scheduler = scheduler.ok_or_else(|| mistake(flag, name, "it is gone"))?;
        if matches!(scheduler, Scheduler::Object(_)) && attach.is_empty() {
            let problem = "objects need libbpf, which this schedlab was built without";
            return Err(mistake(flag, name, problem));
        }
        let loaded = scheduler.load(name, tuned.changed(), machine, attach, stop);
        let (policy, loaded) = loaded.map_err(|unloaded| match unloaded {
            Unloaded::Stopped => Error::Stopped,
            unloaded => mistake(flag, name, &unloaded.to_string()),
        })?;
        if !loaded.idle.is_empty() {
            let programs = loaded.idle.join(", ");
            notes.push(format!(
                "{name}: not run, for nothing here raises their events: {programs}"
            ));
        }
        *tuned = tuned.clone().with_policy(policy);
    }
    Ok(notes)
}

fn mistake(flag: &str, name: &str, problem: &str) -> Error {
    let problem = format!("{name}: {problem}");
    Diagnostic::new(problem).at(flag, 0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_are_part_of_an_item() {
        let text = "eevdf, o1,scx_a --slice-us 5000,scx_b --cpus '0,1' -x \"a,b\",./x.bpf.o";
        let expected = [
            "eevdf",
            "o1",
            "scx_a --slice-us 5000",
            "scx_b --cpus '0,1' -x \"a,b\"",
            "./x.bpf.o",
        ];
        assert_eq!(items(text), expected);
    }
}
