//! `schedlab reproduce --world vm`: a smaller form of experiments in a real kernel and in the simulator.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schedlab_input::Diagnostic;
use schedlab_report::table::Terminal;
use schedlab_reproduce::{questions, Answer, Case, Error, Programs, Question, Runner, World};
use schedlab_trace::{Ns, Sink};
use schedlab_vm::{find_program, Machine};
use serde::Serialize;

use crate::arguments::{ListFormat, ReproduceArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::{failure, machine, Echo, KernelSession, Scheduler, Task};
use crate::progress::Note;
use schedlab_lab::choose::Assignments;
use schedlab_lab::exact;

use super::{note, print};

/// The policy of the kernel's own scheduler.
const OWN: &str = "eevdf";

/// Some policies let nice tasks starve, which is a valid result: the kernel's watchdog gets its longest limit.
const PATIENCE: Ns = Ns::from_secs(30);

/// Runs the questions in both worlds and prints the results side by side.
pub fn ask(arguments: &ReproduceArguments, interrupt: &Interrupt) -> Result<(), Failure> {
    let chosen = choose(&arguments.experiments)?;
    if arguments.report.is_some() {
        let mistake = Diagnostic::new("the book contains only results of the simulator");
        return Err(mistake.at("--report", 0).expected("--world sim").into());
    }
    if arguments.vm.cpus != 1 {
        let mistake = Diagnostic::new("these experiments run with one CPU in a virtual machine");
        return Err(mistake.at("--cpus", 0).expected("1").into());
    }
    chosen
        .iter()
        .try_for_each(|question| have_programs(question))?;
    let stop = || interrupt.signal().is_some();
    let machine = machine(&arguments.vm, &mut note, &stop).map_err(|e| failure(e, interrupt))?;
    let kernel = RealKernel {
        machine,
        timeout: Duration::from_nanos(arguments.vm.timeout.0),
        watchdog: arguments.vm.watchdog.unwrap_or(PATIENCE),
        interrupt,
    };
    let runner = Runner::new(false, arguments.jobs.map(usize::from), &stop);
    let line = Note::new();
    let mut asked = Vec::new();
    for question in chosen {
        let ask = |world: Option<(&str, &dyn World)>| {
            runner.ask(question, world, || line.show(question.experiment))
        };
        let answers = [ask(None), ask(Some(("kernel", &kernel)))];
        let answers: Result<Vec<Answer>, Error> = answers.into_iter().collect();
        asked.push((
            question,
            answers.map_err(|e| super::reproduce::failed(e, interrupt))?,
        ));
    }
    drop(line);
    match arguments.format {
        ListFormat::Table => print(&tables(&asked)),
        ListFormat::Json => print(&json(&asked)?),
    }
}

fn tables(asked: &[(&Question, Vec<Answer>)]) -> String {
    let terminal = Terminal::stdout();
    let text =
        |(question, answers): &(&Question, Vec<Answer>)| terminal.render(&question.table(answers));
    let parts: Vec<String> = asked.iter().map(text).collect();
    parts.join("\n")
}

#[derive(Serialize)]
struct Asked<'a> {
    experiment: &'a str,
    answers: &'a [Answer],
}

fn json(asked: &[(&Question, Vec<Answer>)]) -> Result<String, Failure> {
    let asked: Vec<Asked> = asked
        .iter()
        .map(|(question, answers)| Asked {
            experiment: question.experiment,
            answers,
        })
        .collect();
    let text = serde_json::to_string_pretty(&serde_json::json!({ "questions": asked }));
    text.map(|text| text + "\n")
        .map_err(|e| Failure::Other(e.to_string()))
}

/// The questions of these names; "all" means all of them.
fn choose(names: &[String]) -> Result<Vec<&'static Question>, Failure> {
    let all = || questions().iter();
    if names.iter().any(|name| name == "all") {
        return Ok(all().collect());
    }
    let find = |name: &String| {
        all().find(|q| q.experiment == name).ok_or_else(|| {
            let ids: Vec<&str> = all().map(|q| q.experiment).collect();
            Diagnostic::new(format!(
                "\"{name}\" has no form for a real kernel with one CPU"
            ))
            .at("--world vm", 0)
            .expected(format!("all, or some of {}", ids.join(", ")))
            .into()
        })
    };
    names.iter().map(find).collect()
}

/// The guest uses programs of this machine: are they installed?
fn have_programs(question: &Question) -> Result<(), Failure> {
    let needs = question.programs.iter().flat_map(|programs| programs.needs);
    let missing = needs.filter(|(program, _)| find_program(program, Path::new("/")).is_none());
    let (programs, packages): (Vec<&str>, Vec<&str>) = missing.copied().unzip();
    if programs.is_empty() {
        return Ok(());
    }
    let (id, programs) = (question.experiment, programs.join(" and "));
    Err(Failure::Other(format!(
        "{id} needs real programs, and this machine has no {programs}\nhint: apt-get install {}",
        packages.join(" ")
    )))
}

/// A real kernel in a virtual machine with one CPU.
struct RealKernel<'a> {
    machine: Machine,
    timeout: Duration,
    watchdog: Ns,
    interrupt: &'a Interrupt,
}

impl World for RealKernel<'_> {
    fn run(
        &self,
        case: &Case,
        programs: Option<&Programs>,
        sink: &mut dyn Sink,
        stop: &dyn Fn() -> bool,
    ) -> Result<String, Error> {
        let failed = |problem: String| Error::Elsewhere {
            run: case.command(),
            problem,
        };
        let scheduler = self.scheduler(case).map_err(|e| failed(e.to_string()))?;
        let session = KernelSession {
            machine: self.machine.clone(),
            task: Task::Command(command(case, programs)),
            with: programs.map_or(Vec::new(), files),
            record: true,
            data_flow: false,
            timeout: self.timeout,
            watchdog: Some(self.watchdog),
        };
        let (mut printed, mut said) = (Vec::new(), Vec::new());
        let mut echo = Echo {
            stdout: &mut printed,
            stderr: &mut said,
            beat: &mut |_| (),
        };
        let outcome = session
            .run(&scheduler, &mut echo, stop)
            .map_err(|e| match stop() {
                true => Error::Stopped,
                false => failed(e.to_string()),
            })?;
        if outcome.ended.exit.code() != 0 {
            return Err(failed(String::from_utf8_lossy(&said).trim().to_string()));
        }
        let recording = outcome.recording.as_ref();
        let recording = recording.ok_or_else(|| failed("nothing was recorded".to_string()))?;
        let mended = recording.play(&session.info(&scheduler, &outcome), sink);
        for warning in schedlab_lab::mending_warnings(recording, &mended) {
            note(&format!("warning: {}: {warning}", case.command()));
        }
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}

impl RealKernel<'_> {
    fn scheduler(&self, case: &Case) -> Result<Scheduler, Failure> {
        if case.policy == OWN {
            return Ok(Scheduler::Own);
        }
        let set: Vec<String> = case
            .set
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let set = Assignments::read(&[], &set)?;
        Scheduler::of_policy(&case.policy, &set, self.interrupt)
    }
}

fn files(programs: &Programs) -> Vec<PathBuf> {
    programs.with.iter().map(PathBuf::from).collect()
}

/// The case as a command in the guest: the programs that replace its workload, or `play`.
fn command(case: &Case, programs: Option<&Programs>) -> Vec<String> {
    if let Some(programs) = programs {
        return ["sh", "-c", programs.script].map(str::to_string).to_vec();
    }
    let workload = match &case.work {
        schedlab_reproduce::Work::Named(line) => line.clone(),
        schedlab_reproduce::Work::Text { name, .. } => name.clone(),
    };
    let mut words = ["schedlab", "play", "--quiet", &workload]
        .map(str::to_string)
        .to_vec();
    if let Some(duration) = case.duration {
        words.extend(["--duration".to_string(), exact(duration)]);
    }
    words
}
