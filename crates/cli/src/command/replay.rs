//! `schedlab replay`: what if a recorded machine had had another scheduler.

mod archive;
mod printed;
mod smallest;

use std::collections::BTreeMap;
use std::path::Path;

use schedlab_input::{stem, Diagnostic};
use schedlab_machine::{Machine, MAX_CPUS};
use schedlab_measure::Measure;
use schedlab_policy::Tuned;
use schedlab_readers::ReadReport;
use schedlab_recording::{Mended, Recording};
use schedlab_replay::{
    fit, machine_like, own_scheduler, Identities, Options, Rebuild, Replay, SelfCheck,
};
use schedlab_report::{render_html, ReportInfo, Run, World};
use schedlab_sim::Limits;
use schedlab_trace::{HashSink, Tee, TraceInfo};
use schedlab_workload::Workload;

use crate::arguments::ReplayArguments;
use crate::choose::{policies, policy, Assignments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TextFile, TraceFile};
use crate::recipe::quoted;
use crate::session::{RunResult, Session};

use super::print;
use super::result::reported;
use archive::ReplayTraces;
use printed::Printed;

/// What stands for the recording where results have a policy's name.
const RECORDED: &str = "recorded";

/// Replays a recording under several policies and prints them beside what was recorded.
pub fn replay(arguments: &ReplayArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&[], &arguments.set)?;
    let chosen = policies("--policies", &arguments.policies, &set, &interrupt)?;
    let report = text_file("--report", arguments.report.as_deref(), "html")?;
    let json = text_file("--json", arguments.json.as_deref(), "json")?;
    let export = text_file("--export", arguments.export.as_deref(), "json")?;
    let mut source = Source::read(&arguments.recording)?;
    let under = recorded_under(arguments, &source.recording, &interrupt)?;
    let mut traces = ReplayTraces::parse(arguments.trace.as_deref(), chosen.len() + 1)?;
    let mut replay = source.rebuild(&Options {
        mode: arguments.mode.mode(),
        ..Options::default()
    });
    let machine = machine(&replay, arguments)?;
    let tuned: Vec<Tuned> = chosen.iter().map(|(_, tuned)| tuned.clone()).collect();
    let command = command(arguments, &under, &tuned);
    let (recorded, mended) = source.recorded(&command, traces.recorded()?);
    let mut runs = vec![recorded];
    if arguments.minimise.is_none() {
        source.forget_events();
    }
    let mut check = Some(self_check(
        &mut replay,
        &runs[0],
        under,
        arguments,
        &interrupt,
    )?);
    let mut smallest = None;
    if let Some(symptom) = &arguments.minimise {
        let trial = smallest::Trial {
            source: &source,
            symptom,
            machine: &machine,
            policies: &tuned,
            seed: arguments.seed,
        };
        let (found, part) = trial.find(&replay)?;
        (smallest, replay) = (Some(found), part);
        (runs, check) = (Vec::new(), None);
    }
    let identities = Identities::of(&replay);
    // All of it goes to the session: there may be a lot.
    let mut workload = std::mem::take(&mut replay.workload);
    fit(&mut workload, machine.cpus.len() as u32);
    let session = Session {
        traces: traces.of_replays(),
        ..session(workload, identities, machine, tuned, arguments)
    };
    for mut result in session.run(&interrupt)? {
        traces.take(&mut result.trace)?;
        runs.push(reported(&session, result, &command));
    }
    let printed = Printed {
        recording: arguments.recording.display().to_string(),
        replay: &replay,
        check,
        smallest,
        read: &source.report,
        mended,
    };
    let mut files = traces.finish(&runs)?;
    if let Some(report) = report {
        files.push(report.write(&html(&runs, &printed, &session, &command)?)?);
    }
    if let Some(json) = json {
        files.push(json.write(&printed.json(&runs)?)?);
    }
    if let Some(export) = export {
        files.push(export.write(&schedlab_workload::exported::to_json(&session.workload))?);
    }
    interrupt.check()?;
    files.into_iter().try_for_each(Finished::keep)?;
    print(&printed.text(runs, arguments.format)?)
}

fn text_file(
    flag: &str,
    path: Option<&Path>,
    extension: &str,
) -> Result<Option<TextFile>, Failure> {
    path.map(|path| TextFile::create(flag, path, extension))
        .transpose()
}

/// A recording that was read.
pub struct Source {
    pub recording: Recording,
    pub report: ReadReport,
    name: String,
    path: String,
}

impl Source {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Source, Diagnostic> {
        let (recording, report) = schedlab_readers::read(path)?;
        let path = path.display().to_string();
        let name = stem(&path);
        let name = name.split('.').next().unwrap_or(&name).to_string();
        if recording.events().is_empty() {
            return Err(
                Diagnostic::new("there are no events of the scheduler in it")
                    .at(&path, 0)
                    .expected("sched_switch and sched_wakeup"),
            );
        }
        if recording.span.0 == recording.span.1 {
            let problem = "all events have one timestamp; the recording has no duration";
            return Err(Diagnostic::new(problem).at(&path, 0));
        }
        let nr_cpus = recording.nr_cpus();
        if nr_cpus > MAX_CPUS {
            let problem = format!("the recorded machine has {nr_cpus} CPUs");
            let expected = format!("at most {MAX_CPUS}, which a simulated machine can have");
            return Err(Diagnostic::new(problem).at(&path, 0).expected(expected));
        }
        Ok(Source {
            recording,
            report,
            name,
            path,
        })
    }

    pub fn info(&self) -> TraceInfo {
        TraceInfo {
            policy: RECORDED.to_string(),
            workload: self.name.clone(),
            machine: RECORDED.to_string(),
            ..TraceInfo::default()
        }
    }

    /// What was to be learnt from the events has been; they take most of the memory.
    fn forget_events(&mut self) {
        let empty = Recording::new(self.recording.carries, self.recording.nr_cpus());
        self.recording = empty;
    }

    /// The workload behind it.
    pub fn rebuild(&self, options: &Options) -> Replay {
        let mut rebuild = Rebuild::new(options.clone());
        self.recording.play(&self.info(), &mut rebuild);
        rebuild.finish(&self.name, &self.path)
    }

    /// The recording as it is, as if it were a run.
    fn recorded(&self, command: &str, trace: Option<&mut TraceFile>) -> (Run, Mended) {
        let mut sink = Tee(HashSink::default(), Tee(Measure::new(), trace));
        let mended = self.recording.play(&self.info(), &mut sink);
        let Tee(hash, Tee(measure, _)) = sink;
        let metrics = measure.finish();
        let run = Run {
            world: World::Kernel,
            policy: RECORDED.to_string(),
            variant: String::new(),
            tunables: BTreeMap::new(),
            workload: self.name.clone(),
            machine: RECORDED.to_string(),
            seed: 0,
            duration_ns: metrics.duration_ns,
            trace_hash: hash.finish(),
            command: command.to_string(),
            metrics,
            end: "recorded".to_string(),
            warnings: Vec::new(),
        };
        (run, mended)
    }
}

/// The machine to replay on.
fn machine(replay: &Replay, arguments: &ReplayArguments) -> Result<Machine, Failure> {
    match &arguments.machine {
        Some(name) => Ok(schedlab_machine::find(name)?),
        None => Ok(machine_like(replay, arguments.hz)),
    }
}

fn session(
    workload: Workload,
    identities: Identities,
    machine: Machine,
    policies: Vec<Tuned>,
    arguments: &ReplayArguments,
) -> Session {
    Session {
        policies,
        workload,
        machine,
        seeds: vec![arguments.seed],
        duration: None,
        limits: Limits {
            events: arguments.bounds.max_events,
            tasks: arguments.bounds.max_tasks,
            ..Limits::default()
        },
        hook_timeout: arguments.bounds.hook_timeout,
        jobs: arguments.jobs,
        traces: None,
        identities,
    }
}

/// The kernel's own schedulers tick as their kernel does.  Others were loaded into it and get their own
/// ticks, as many as have become due, when it ticks.
fn ticks_with_the_kernel(policy: &str) -> bool {
    matches!(policy.split(':').next(), Some("cfs" | "eevdf"))
}

/// The scheduler the recording was made under.
fn recorded_under(
    arguments: &ReplayArguments,
    recording: &Recording,
    interrupt: &Interrupt,
) -> Result<Tuned, Failure> {
    let own = || own_scheduler(recording.release.as_deref());
    let name = arguments.recorded_under.as_deref().unwrap_or_else(own);
    let hz = ticks_with_the_kernel(name).then(|| format!("hz={}", arguments.hz));
    let set = Assignments::read(&[], hz.as_slice())?;
    policy("--recorded-under", name, &set, interrupt)
}

/// Replays under the recording's own scheduler on its own machine and compares with it.
fn self_check(
    replay: &mut Replay,
    recorded: &Run,
    under: Tuned,
    arguments: &ReplayArguments,
    interrupt: &Interrupt,
) -> Result<SelfCheck, Failure> {
    let name = under.name();
    let mut machine = machine_like(replay, arguments.hz);
    if !ticks_with_the_kernel(&name) {
        machine.kernel_hz = Some(arguments.hz);
    }
    let identities = Identities::of(replay);
    // Lent, not copied: there may be a lot of it.
    let mut workload = std::mem::take(&mut replay.workload);
    fit(&mut workload, replay.nr_cpus);
    let session = session(workload, identities, machine, vec![under], arguments);
    let results: Vec<RunResult> = session.run(interrupt)?;
    replay.workload = session.workload;
    let check = results.first().map(|result| {
        SelfCheck::new(
            &name,
            replay.counts,
            &recorded.metrics,
            &result.metrics,
            &result.recorded,
        )
    });
    check.ok_or_else(|| Failure::Other("the self-check did not run".into()))
}

fn command(arguments: &ReplayArguments, under: &Tuned, policies: &[Tuned]) -> String {
    let names: Vec<String> = policies.iter().map(Tuned::name).collect();
    let mut words = vec![
        "schedlab".to_string(),
        "replay".to_string(),
        arguments.recording.display().to_string(),
        "--policies".to_string(),
        names.join(","),
    ];
    let mut flag = |name: &str, value: String| words.extend([name.to_string(), value]);
    if arguments.mode.mode() == schedlab_replay::Mode::Open {
        flag("--mode", "open".to_string());
    }
    if let Some(machine) = &arguments.machine {
        flag("--machine", machine.clone());
    }
    let given = arguments.recorded_under.clone();
    flag("--recorded-under", given.unwrap_or_else(|| under.name()));
    flag("--hz", arguments.hz.to_string());
    if let Some(symptom) = &arguments.minimise {
        flag("--minimise", symptom.to_string());
    }
    flag("--seed", arguments.seed.to_string());
    for set in &arguments.set {
        flag("--set", set.clone());
    }
    quoted(&words)
}

fn html(
    runs: &[Run],
    printed: &Printed,
    session: &Session,
    command: &str,
) -> Result<String, Failure> {
    let mut runs = runs.to_vec();
    if let Some(run) = runs.first_mut() {
        run.warnings.splice(0..0, printed.remarks());
    }
    let info = ReportInfo {
        command: command.to_string(),
        machine: session.machine.title.clone(),
        version: format!("schedlab {}", env!("CARGO_PKG_VERSION")),
    };
    render_html(&runs, &info).map_err(|error| Failure::Other(error.to_string()))
}
