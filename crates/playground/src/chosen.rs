//! From a set-up as the page describes it to what the simulator takes.

use schedlab_input::{quantity, Diagnostic};
use schedlab_machine::Machine;
use schedlab_policy::{Assignment, Policy, Tuned};
use schedlab_trace::Ns;
use schedlab_workload::{builtin, native, rtapp, Workload};

use crate::request::{Choice, Mistake, Part, SetUp, Source};

/// A set-up, read.
pub(crate) struct Chosen {
    pub policies: Vec<Tuned>,
    pub machine: Machine,
    pub workload: Workload,
    pub duration: Option<Ns>,
}

impl Chosen {
    /// Reads a set-up; all mistakes are found, one in each part.
    pub fn read(set_up: &SetUp, linked: &[Policy]) -> Result<Chosen, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let policies: Vec<Tuned> = (0..)
            .zip(&set_up.policies)
            .filter_map(|(i, choice)| keep(tuned(choice, linked), Part::Policy(i), &mut mistakes))
            .collect();
        let machine = keep(machine(&set_up.machine), Part::Machine, &mut mistakes);
        let workload = keep(workload(&set_up.workload), Part::Workload, &mut mistakes);
        let duration = keep(duration(&set_up.duration), Part::Duration, &mut mistakes);
        match (machine, workload, duration) {
            (Some(machine), Some(workload), Some(duration)) if mistakes.is_empty() => Ok(Chosen {
                policies,
                machine,
                workload,
                duration,
            }),
            _ => Err(mistakes),
        }
    }
}

fn keep<T>(read: Result<T, Diagnostic>, part: Part, mistakes: &mut Vec<Mistake>) -> Option<T> {
    read.map_err(|mistake| mistakes.push(Mistake::in_part(part)(mistake)))
        .ok()
}

/// A policy with its variant and settings.
fn tuned(choice: &Choice, linked: &[Policy]) -> Result<Tuned, Diagnostic> {
    let names = || linked.iter().map(|policy| policy.name());
    let found = linked.iter().find(|policy| policy.name() == choice.name);
    let policy = found.ok_or_else(|| {
        Diagnostic::new(format!("there is no policy \"{}\"", choice.name))
            .at("policy", 0)
            .expected(format!("one of {}", names().collect::<Vec<_>>().join(", ")))
            .suggest(&choice.name, names())
    })?;
    let variant = Some(choice.variant.as_str()).filter(|variant| !variant.is_empty());
    let mut tuned = Tuned::new(*policy, variant, &[])?;
    for setting in choice.settings.split_whitespace() {
        let mut assignment = Assignment::parse(setting)?;
        assignment.file = "settings".into();
        tuned.set(assignment)?;
    }
    Ok(tuned)
}

fn machine(source: &Source) -> Result<Machine, Diagnostic> {
    match source.text.is_empty() {
        true => schedlab_machine::find(source.name.trim()),
        false => Machine::parse(&source.file(), &source.text),
    }
}

/// A line such as "hackbench -g 4", or the text of a workload file or an rt-app file.
fn workload(source: &Source) -> Result<Workload, Diagnostic> {
    let text = &source.text;
    if text.is_empty() {
        return builtin::parse(&source.name);
    }
    match text.trim_start().starts_with('{') {
        true => rtapp::parse(&source.file(), text, &rtapp::Options::default()),
        false => native::parse_with(&source.file(), text, &source.options()?),
    }
}

fn duration(text: &str) -> Result<Option<Ns>, Diagnostic> {
    match text.trim() {
        "" => Ok(None),
        text => quantity::duration(text)
            .map(Some)
            .map_err(|mistake| mistake.at("duration", 0)),
    }
}
