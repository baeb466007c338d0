//! `schedlab explain`: why tasks had to wait.

use std::path::Path;

use clap::Parser;
use schedlab_explain::{first_difference, Difference, Explain, Explanation, Order, Step};
use schedlab_input::Diagnostic;
use schedlab_replay::{fit, machine_like, Identified, Identities, Options};
use schedlab_trace::{printable, printable_json, Sink, Tee};
use serde::Serialize;

use crate::arguments::{
    Arguments, Command, ExplainArguments, Format, ReadingArguments, ReplayArguments, RunArguments,
};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use schedlab_lab::choose::{self, policy, Assignments};
use schedlab_lab::Trial;

use super::print;
use super::replay::Source;
use super::result::{bounded, load_schedulers};

/// Lists the worst waits of one or two runs.
pub fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let mut results = Vec::new();
    let mut orders = Vec::new();
    for run in &arguments.runs {
        let explain = Explain::new(arguments.task.as_deref(), arguments.worst as usize);
        let mut sink = Tee(explain, Order::new());
        play(run, arguments.reading, &mut sink, &interrupt)?;
        let Tee(explain, order) = sink;
        let groups = explain.groups();
        let explanation = explain.finish();
        if explanation.tasks == 0 {
            return Err(nobody(arguments, groups));
        }
        results.push((run.clone(), explanation));
        orders.push(order);
    }
    let difference = match orders.as_slice() {
        [a, b] => Some(first_difference(a, b)),
        _ => None,
    };
    print(&formatted(arguments, results, difference)?)
}

fn nobody(arguments: &ExplainArguments, groups: Vec<String>) -> Failure {
    let name = arguments.task.clone().unwrap_or_default();
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    Diagnostic::new(format!("no task is called \"{name}\""))
        .at("--task", 0)
        .expected("a name, a group or a thread id of the run")
        .suggest(&name, names)
        .into()
}

/// Feeds a run to a sink: a file, or a command that is run again.
fn play(
    run: &str,
    reading: ReadingArguments,
    sink: &mut dyn Sink,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    if Path::new(run).exists() {
        let source = Source::read(Path::new(run), reading)?;
        source.recording.play(&source.info(), sink);
        return Ok(());
    }
    let words = shlex::split(run).unwrap_or_default();
    let words = words.iter().skip_while(|word| *word == "schedlab");
    let words: Vec<&str> = std::iter::once("schedlab")
        .chain(words.map(String::as_str))
        .collect();
    let is_command = matches!(words.get(1), Some(&"run" | &"replay"));
    if !is_command {
        return Err(Diagnostic::new(format!("there is no file \"{run}\""))
            .at("RUN", 0)
            .expected("a recording, a trace, or a command in quotes that begins with run or replay")
            .into());
    }
    let parsed = Arguments::try_parse_from(words);
    let parsed = parsed.map_err(|mistake| crate::usage::diagnostic(&mistake))?;
    schedlab_policy::check_undefined(parsed.command.sanitizes());
    match parsed.command {
        Command::Run(arguments) => play_run(&arguments, sink, interrupt),
        Command::Replay(arguments) => play_replay(&arguments, sink, interrupt),
        _ => Ok(()),
    }
}

fn play_run(
    arguments: &RunArguments,
    sink: &mut dyn Sink,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let common = &arguments.common;
    let set = common.settings.read()?;
    let mut tuned = policy("--policy", &arguments.policy, &set, &interrupt.stop())?;
    let [workload] = common.workload.as_slice() else {
        let mistake = Diagnostic::new("one workload in the simulator can be repeated");
        return Err(mistake.at("RUN", 0).expected("one --workload").into());
    };
    let [machine] = common.machine.as_slice() else {
        let mistake = Diagnostic::new("a run has one machine").at("RUN", 0);
        return Err(mistake.expected("one --machine").into());
    };
    let workload = choose::workload(workload, &common.rtapp.options())?;
    let machine = schedlab_machine::find(machine)?;
    load_schedulers([&mut tuned], &machine, interrupt)?;
    let trial = Trial {
        duration: common.duration,
        ..Trial::new(tuned, machine.into(), workload.into(), common.seed)
    };
    simulate(&bounded(trial, &common.bounds), sink, interrupt)
}

fn play_replay(
    arguments: &ReplayArguments,
    sink: &mut dyn Sink,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let set = Assignments::read(&[], &arguments.set)?;
    let mut tuned = policy("--policies", &arguments.policies, &set, &interrupt.stop())?;
    let source = Source::read(&arguments.recording, arguments.reading)?;
    let mut replay = source.rebuild(&Options {
        mode: arguments.mode.mode(),
        ..Options::default()
    });
    let machine = match &arguments.machine {
        Some(name) => schedlab_machine::find(name)?,
        None => machine_like(&replay, replay.nr_cpus, arguments.hz),
    };
    load_schedulers([&mut tuned], &machine, interrupt)?;
    fit(&mut replay.workload, machine.cpus.len() as u32);
    let mut sink = Identified::new(Identities::of(&replay), sink);
    let workload = replay.workload.into();
    let trial = Trial::new(tuned, machine.into(), workload, arguments.seed);
    simulate(&bounded(trial, &arguments.bounds), &mut sink, interrupt)
}

/// Repeats a run.  The sink has all events up to a fault, so faults can be explained, too.
fn simulate(trial: &Trial, sink: &mut dyn Sink, interrupt: &Interrupt) -> Result<(), Failure> {
    match trial.run(sink, |_| interrupt.signal().is_some()) {
        Ok(_) => Ok(()),
        Err(unfinished) => Err(Failure::of_run(trial.name(), unfinished.reason)),
    }
}

#[derive(Serialize)]
struct Json {
    runs: Vec<RunJson>,
    /// The first difference of two runs; null if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<Option<Difference>>,
}

#[derive(Serialize)]
struct RunJson {
    run: String,
    #[serde(flatten)]
    explanation: Explanation,
}

fn formatted(
    arguments: &ExplainArguments,
    results: Vec<(String, Explanation)>,
    difference: Option<Option<Difference>>,
) -> Result<String, Failure> {
    if arguments.format == Format::Json {
        let runs = results.into_iter();
        let json = Json {
            runs: runs
                .map(|(run, explanation)| RunJson { run, explanation })
                .collect(),
            first_difference: difference,
        };
        let text = serde_json::to_string_pretty(&json);
        return text
            .map(|text| printable_json(&text).into_owned() + "\n")
            .map_err(|e| Failure::Other(e.to_string()));
    }
    let fence = match arguments.format {
        Format::Markdown => "```\n",
        _ => "",
    };
    let mut out = fence.to_string();
    for (run, explanation) in &results {
        out += &waits(run, explanation);
    }
    out += &difference.map_or_else(String::new, parting);
    Ok(out + fence)
}

fn waits(run: &str, explanation: &Explanation) -> String {
    let Explanation {
        policy,
        tasks,
        waits,
        waited,
        worst,
    } = explanation;
    let mut out = format!(
        "{} ({}): {tasks} tasks waited {waits} times, {waited} in all; the worst {}:\n\n",
        printable(run),
        printable(policy),
        worst.len()
    );
    for (index, wait) in worst.iter().enumerate() {
        out += &format!("{}. {wait}\n", index + 1);
    }
    out
}

fn parting(difference: Option<Difference>) -> String {
    let Some(Difference {
        cpu,
        same,
        after,
        then,
    }) = difference
    else {
        return "Both runs ran the same tasks in the same order on every CPU.\n".into();
    };
    let did = |step: &Step| {
        let task = step.task.as_deref().unwrap_or("nothing");
        match step.time {
            Some(time) => format!("  {}: {} from {time} on\n", step.policy, printable(task)),
            None => format!("  {}: the run ended\n", step.policy),
        }
    };
    let after = after.unwrap_or_else(|| "nothing".into());
    format!(
        "They first differ on CPU {cpu}, after {same} equal switches, the last to {}; then it ran\n{}{}",
        printable(&after),
        did(&then[0]),
        did(&then[1])
    )
}
