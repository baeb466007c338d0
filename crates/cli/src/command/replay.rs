//! `schedlab replay`: a recorded machine under other schedulers.

mod archive;
mod printed;
mod progress;
mod smallest;
mod words;

use std::path::Path;
use std::sync::Arc;

use schedlab_input::{stem, Diagnostic};
use schedlab_lab::choose::{names, policies, policy, spelled, to_front, Assignments};
use schedlab_lab::{CommandLine, Recorded, Trial};
use schedlab_machine::{Machine, MAX_CPUS};
use schedlab_measure::Measure;
use schedlab_policy::Tuned;
use schedlab_readers::ReadReport;
use schedlab_recording::{Mended, Raw, Recording};
use schedlab_replay::{
    fit, is_complete, machine_like, own_scheduler, Identified, Identities, Options, Rebuild,
    Replay, SelfCheck, WithoutCosts,
};
use schedlab_report::Run;
use schedlab_trace::TraceInfo;
use schedlab_workload::Workload;

use crate::arguments::{ReadingArguments, ReplayArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TextFile, TraceFile};
use crate::results::{report_info, Files};
use crate::runs::{Results, Runs};

use super::result::{bounded, load_schedulers, tell_failures};
use super::{note, print};
use archive::ReplayTraces;
use printed::Printed;

/// The name of the recording where results have a policy's name.
const RECORDED: &str = "recorded";

/// Replays a recording under several policies and prints them beside what was recorded.
pub fn replay(arguments: &ReplayArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&[], &arguments.set)?;
    let mut chosen = policies("--policies", &arguments.policies, &set, &interrupt.stop())?;
    to_front(&mut chosen, arguments.baseline.as_deref(), names)?;
    let files = Files::create(arguments.report.as_deref(), arguments.json.as_deref())?;
    let export = TextFile::create_if("--export", arguments.export.as_deref(), "json")?;
    let mut source = Source::read(&arguments.recording, arguments.reading)?;
    let under = recorded_under(arguments, &source.recording, &interrupt)?;
    let mut traces = ReplayTraces::parse(arguments.trace.as_deref(), chosen.len() + 1)?;
    let mut replay = source.rebuild(&Options {
        mode: arguments.mode.mode(),
        end: arguments.end.end(),
        ..Options::default()
    });
    let raw = Raw::of(&source.recording);
    let machine = Arc::new(machine(&replay, arguments)?);
    let loaded = chosen.iter_mut().map(|(_, tuned)| tuned);
    load_schedulers(loaded, &machine, &interrupt)?;
    let tuned: Vec<Tuned> = chosen.iter().map(|(_, tuned)| tuned.clone()).collect();
    let command = command(arguments, &under, &chosen).to_string();
    let (recorded, mended) = source.recorded(&command, traces.recorded()?);
    let mut runs = vec![recorded];
    if arguments.minimise.is_none() {
        source.forget_events();
    }
    let mut check = Some(self_check(
        &mut replay,
        (&runs[0], &raw),
        under,
        arguments,
        &interrupt,
    )?);
    let mut smallest = None;
    if let Some(symptom) = &arguments.minimise {
        let search = smallest::Search {
            source: &source,
            symptom,
            machine: &machine,
            policies: &tuned,
            seed: arguments.seed,
            bounds: &arguments.bounds,
            interrupt: &interrupt,
        };
        let (found, part) = search.find(&replay)?;
        (smallest, replay) = (Some(found), part);
        (runs, check) = (Vec::new(), None);
    }
    let identities = Identities::of(&replay);
    // Moved into the trials: it may be large.
    let mut workload = std::mem::take(&mut replay.workload);
    fit(&mut workload, machine.cpus.len() as u32);
    let workload = Arc::new(workload);
    let trials = trials(&workload, &machine, &tuned, arguments);
    let replayed = Runs {
        trials: &trials,
        jobs: arguments.jobs,
        traces: traces.of_replays(),
        identities,
    };
    let Results {
        finished,
        failures,
        partial,
    } = replayed.run(&interrupt)?;
    for mut result in finished {
        traces.take(&mut result.trace)?;
        let trial = &trials[result.trial];
        let (ending, hash) = (&result.ending, result.trace_hash);
        runs.push(trial.report(ending, hash, result.metrics, &command));
    }
    let progress = match arguments.progress {
        true => progress::at_the_end(&trials, &runs, replay.span, &interrupt)?,
        false => Vec::new(),
    };
    for run in &mut runs {
        // Each task does its recorded work, so its CPU time does not depend on the policy.
        run.metrics.drop_fairness();
    }
    let printed = Printed {
        recording: arguments.recording.display().to_string(),
        replay: &replay,
        words: words::of(&runs, check.as_ref(), &replay.counts),
        progress,
        check,
        smallest,
        read: &source.report,
        mended,
    };
    let mut written = traces.finish(&runs)?;
    if arguments.baseline.is_some() && runs.len() > 1 {
        runs.swap(0, 1);
    }
    let info = report_info(command, machine.title.clone());
    written.extend(files.write_as(&printed.remarked(&runs), &info, || printed.json(&runs))?);
    if let Some(export) = export {
        written.push(export.write(&schedlab_workload::exported::to_json(&workload))?);
    }
    written.into_iter().try_for_each(Finished::keep)?;
    print(&printed.text(runs, arguments.format)?)?;
    tell_failures(failures, partial)
}

/// Times are in no order if more than one event in so many is out of order.
const OUT_OF_ORDER: u64 = 5;

/// A recording that was read.
pub struct Source {
    pub recording: Recording,
    pub report: ReadReport,
    name: String,
    path: String,
}

impl Source {
    /// Reads a file.
    pub fn read(path: &Path, reading: ReadingArguments) -> Result<Source, Diagnostic> {
        let (recording, report) = schedlab_readers::read_within(path, reading.max_decompressed)?;
        let path = path.display().to_string();
        let name = stem(&path);
        let name = name.split('.').next().unwrap_or(&name).to_string();
        if recording.events().is_empty() {
            return Err(Diagnostic::new("it contains no scheduler events")
                .at(&path, 0)
                .expected("sched_switch and sched_wakeup"));
        }
        if recording.span.0 == recording.span.1 {
            let problem = "all events have one timestamp; the recording has no duration";
            return Err(Diagnostic::new(problem).at(&path, 0));
        }
        let nr_cpus = recording.nr_cpus();
        if nr_cpus > MAX_CPUS {
            let problem = format!("the recorded machine has {nr_cpus} CPUs");
            let expected = format!("at most {MAX_CPUS}, the limit of simulated machines");
            return Err(Diagnostic::new(problem).at(&path, 0).expected(expected));
        }
        if report.is_sampled {
            return Err(Diagnostic::new(
                "only samples of the events were recorded (perf record -F)",
            )
            .at(&path, 0)
            .expected("all events, as of `perf sched record`"));
        }
        if report.nr_out_of_order * OUT_OF_ORDER > report.nr_events {
            return Err(
                Diagnostic::new("its times are in no order (perf script --deltatime?)")
                    .at(&path, 0)
                    .expected("times of one clock, as of `perf script --ns`"),
            );
        }
        if let Some(partial) = Raw::of(&recording).partial() {
            return Err(Diagnostic::new(partial.to_string()).at(&path, 0).expected(
                "a recording of the whole machine, as of `schedlab record` or `perf sched record`",
            ));
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

    /// Drops the events once they have been evaluated; they take most of the memory.
    fn forget_events(&mut self) {
        let empty = Recording::new(self.recording.carries, self.recording.nr_cpus());
        self.recording = empty;
    }

    /// The workload rebuilt from it.
    pub fn rebuild(&self, options: &Options) -> Replay {
        rebuild(
            &self.recording,
            &self.info(),
            options,
            &self.name,
            &self.path,
        )
    }

    /// The recording as it is, as if it were a run.
    fn recorded(&self, command: &str, trace: Option<&mut TraceFile>) -> (Run, Mended) {
        let recorded = Recorded::new(&self.recording, &self.info(), trace);
        let run = Run {
            command: command.to_string(),
            warnings: Vec::new(),
            ..recorded.run
        };
        (run, recorded.mended)
    }
}

/// The workload behind a recording, what recording cost included unless the options say what that was; with its data flow if that was recorded and all tasks are kept.
pub fn rebuild(
    recording: &Recording,
    info: &TraceInfo,
    options: &Options,
    name: &str,
    path: &str,
) -> Replay {
    let options = Options {
        wakers_are_guessed: !recording.has_contexts,
        ..options.clone()
    };
    let whole = options.keep.is_none() && options.until.is_none();
    if let Some(flow) = recording.flow().filter(|_| whole) {
        let mut rebuild = Rebuild::new(options.clone());
        rebuild.flow(&flow);
        recording.play_flow(info, &flow, &mut rebuild);
        let replay = rebuild.finish(name, path);
        if is_complete(&replay.workload) {
            return replay;
        }
        note("warning: the data flow is not consistent: the tasks' waits are replayed as recorded");
    }
    let mut rebuild = Rebuild::new(options);
    recording.play(info, &mut rebuild);
    rebuild.finish(name, path)
}

/// The machine to replay on.
fn machine(replay: &Replay, arguments: &ReplayArguments) -> Result<Machine, Failure> {
    match &arguments.machine {
        Some(name) => Ok(schedlab_machine::find(name)?),
        None => Ok(machine_like(replay, replay.nr_cpus, arguments.hz)),
    }
}

/// A replay under each policy.
fn trials(
    workload: &Arc<Workload>,
    machine: &Arc<Machine>,
    policies: &[Tuned],
    arguments: &ReplayArguments,
) -> Vec<Trial> {
    let trial = |tuned: &Tuned| {
        let (machine, workload) = (Arc::clone(machine), Arc::clone(workload));
        let trial = Trial::new(tuned.clone(), machine, workload, arguments.seed);
        bounded(trial, &arguments.bounds)
    };
    policies.iter().map(trial).collect()
}

/// The kernel's own schedulers tick with their kernel.  Loaded schedulers have their own tick rate: each tick of
/// the kernel delivers the ticks that have become due.
fn ticks_with_the_kernel(policy: &str) -> bool {
    matches!(policy.split(':').next(), Some("cfs" | "eevdf"))
}

/// The scheduler of the recorded machine.
fn recorded_under(
    arguments: &ReplayArguments,
    recording: &Recording,
    interrupt: &Interrupt,
) -> Result<Tuned, Failure> {
    let own = || own_scheduler(recording.release.as_deref());
    let name = arguments.recorded_under.as_deref().unwrap_or_else(own);
    let hz = ticks_with_the_kernel(name).then(|| format!("hz={}", arguments.hz));
    let set = Assignments::read(&[], hz.as_slice())?;
    Ok(policy("--recorded-under", name, &set, &interrupt.stop())?)
}

/// Replays under the recording's own scheduler on its own machine and compares with it.
fn self_check(
    replay: &mut Replay,
    (recorded, raw): (&Run, &Raw),
    under: Tuned,
    arguments: &ReplayArguments,
    interrupt: &Interrupt,
) -> Result<SelfCheck, Failure> {
    let name = under.name();
    let mut machine = machine_like(replay, replay.nr_cpus, arguments.hz);
    if !ticks_with_the_kernel(&name) {
        machine.kernel_hz = Some(arguments.hz);
    }
    let identities = Identities::of(replay);
    // Moved, not copied: it may be large.
    let mut workload = std::mem::take(&mut replay.workload);
    fit(&mut workload, replay.nr_cpus);
    let workload = Arc::new(workload);
    let [trial] = trials(&workload, &Arc::new(machine), &[under], arguments)
        .try_into()
        .unwrap_or_else(|_| unreachable!("one policy is one trial"));
    let sink = Identified::new(identities, WithoutCosts(Measure::new()));
    let ran = trial
        .run(sink, |_| interrupt.signal().is_some())
        .map_err(|unfinished| Failure::of_run(trial.name(), unfinished.reason))?;
    drop(trial);
    replay.workload =
        Arc::try_unwrap(workload).unwrap_or_else(|_| unreachable!("the trial is gone"));
    let (identified, WithoutCosts(measure)) = ran.sink.into_parts();
    let metrics = measure.finish();
    Ok(SelfCheck::new(
        &name,
        replay.counts,
        &recorded.metrics,
        Some((raw, &replay.tasks)),
        &metrics,
        &identified,
    ))
}

fn command(
    arguments: &ReplayArguments,
    under: &Tuned,
    policies: &[(String, Tuned)],
) -> CommandLine {
    let names: Vec<String> = policies.iter().map(spelled).collect();
    let open = arguments.mode.mode() == schedlab_replay::Mode::Open;
    let given = arguments.recorded_under.clone();
    let symptom = arguments.minimise.as_ref();
    CommandLine::new("replay")
        .word(arguments.recording.display().to_string())
        .flag("--policies", names.join(","))
        .flag_if("--mode", open.then_some("open"))
        .flag_if("--end", arguments.end.word())
        .words(arguments.progress.then(|| "--progress".to_string()))
        .flag_if("--machine", arguments.machine.as_deref())
        .flag("--recorded-under", given.unwrap_or_else(|| under.name()))
        .flag("--hz", arguments.hz.to_string())
        .flag_if("--minimise", symptom.map(ToString::to_string))
        .flag("--seed", arguments.seed.to_string())
        .flags("--set", &arguments.set)
}
