//! `schedlab measure`: measures a recording.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use schedlab_input::Diagnostic;
use schedlab_measure::Measure;
use schedlab_readers::{read_within, ReadReport};
use schedlab_recording::{KernelEventKind, KernelState, Mended, Pid, Recording};
use schedlab_report::quantity::Unit;
use schedlab_report::table::{Cell, Field, Layout, Subject, Table, Terminal};
use schedlab_report::{json, text, Run};
use schedlab_trace::{printable_json, TraceInfo};
use serde::Serialize;

use crate::arguments::{Format, MeasureArguments, View};
use crate::failure::Failure;
use crate::outputs::Finished;
use crate::perf_sched::{Latency, Timehist};
use crate::results::{report_info, Files};
use crate::version::VERSION;

use super::record::called;
use super::{note, print, standard_output};

/// Shows a recording.
pub fn measure(arguments: &MeasureArguments) -> Result<(), Failure> {
    let (recording, report) =
        read_within(&arguments.recording, arguments.reading.max_decompressed)?;
    let recorded = Recorded::new(&recording, report);
    match arguments.view {
        View::Metrics => metrics(arguments, &recording, recorded),
        _ if arguments.format != Format::Table || arguments.report.is_some() => {
            let problem = "this view is text in perf's own layout";
            let mistake = Diagnostic::new(problem).at("--view", 0);
            Err(mistake
                .expected("neither --format nor --report, or --view metrics")
                .into())
        }
        View::Latency => {
            let mut latency = Latency::new(recording.span.0);
            recorded.tell(recording.play(&TraceInfo::default(), &mut latency));
            print(&latency.text())
        }
        View::Timehist => {
            let mut timehist = Timehist::new(io::stdout().lock(), recording.span.0);
            let mended = recording.play(&TraceInfo::default(), &mut timehist);
            timehist.finish().map_err(standard_output)?;
            recorded.tell(mended);
            Ok(())
        }
    }
}

fn metrics(
    arguments: &MeasureArguments,
    recording: &Recording,
    mut recorded: Recorded,
) -> Result<(), Failure> {
    let files = Files::create(arguments.report.as_deref(), None)?;
    let run = measured(&arguments.recording, recording, &mut recorded);
    let info = report_info(run.command.clone(), run.machine.clone());
    let runs = [run];
    let written = files.write(&runs, &info)?;
    let shown = match arguments.format {
        Format::Table => {
            let terminal = Terminal::stdout();
            let tables = recorded
                .tables()
                .map(|table| terminal.render(&table) + "\n");
            tables.concat() + &text::terminal(&runs, terminal)
        }
        Format::Markdown => {
            let tables = recorded.tables().map(|table| table.markdown() + "\n");
            tables.concat() + &text::markdown(&runs)
        }
        Format::Json => with_recording(&runs[0], &recorded)?,
    };
    written.into_iter().try_for_each(Finished::keep)?;
    print(&shown)
}

fn measured(path: &Path, recording: &Recording, recorded: &mut Recorded) -> Run {
    let nr_cpus = recording.nr_cpus();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let info = TraceInfo {
        policy: "recorded".into(),
        workload: first_stem(&name),
        machine: format!("{nr_cpus} CPU{}", if nr_cpus == 1 { "" } else { "s" }),
        ..TraceInfo::default()
    };
    let measured = schedlab_lab::Recorded::new(recording, &info, None::<Measure>);
    recorded.mended = measured.mended.into();
    let mut run = Run {
        command: called(),
        ..measured.run
    };
    run.warnings.extend(recorded.warnings());
    run
}

/// The name of a recording: "make-j4" for "make-j4.perf-script.txt.zst".
fn first_stem(name: &str) -> String {
    let extensions = [
        "zst",
        "gz",
        "xz",
        "txt",
        "perf-script",
        "data",
        "ftrace",
        "pftrace",
    ];
    let mut stem = name;
    while let Some((shorter, extension)) = stem.rsplit_once('.') {
        if shorter.is_empty() || !extensions.contains(&extension) {
            break;
        }
        stem = shorter;
    }
    stem.to_string()
}

/// The run as JSON, with the contents of the recording.
fn with_recording(run: &Run, recorded: &Recorded) -> Result<String, Failure> {
    let failed = |error: serde_json::Error| Failure::Other(error.to_string());
    let mut value: serde_json::Value =
        serde_json::from_str(&json::run(run, VERSION).map_err(failed)?).map_err(failed)?;
    value["recording"] = serde_json::to_value(recorded).map_err(failed)?;
    let text = serde_json::to_string_pretty(&value).map_err(failed)?;
    Ok(printable_json(&text).into_owned() + "\n")
}

/// The contents of a recording, and what it lacks.
#[derive(Serialize)]
struct Recorded {
    #[serde(flatten)]
    file: ReadReport,
    nr_lost: u64,
    mended: Missing,
    /// Switches by the state of the task that was switched away from.
    switches: Switches,
    /// Events by kind.
    events: BTreeMap<&'static str, u64>,
}

/// The missing events that were added.
#[derive(Clone, Copy, Default, Serialize)]
struct Missing {
    switches: u64,
    wakeups: u64,
}

impl From<Mended> for Missing {
    fn from(mended: Mended) -> Missing {
        Missing {
            switches: mended.switches,
            wakeups: mended.wakeups,
        }
    }
}

/// `R+` alone is not preemption: a task preempted on its way back to user mode is left in `R`,
/// as is one that yields.
#[derive(Default, Serialize)]
struct Switches {
    /// `R` of tasks that had not called sched_yield just before, as far as that was recorded.
    preempted_or_yielded: u64,
    /// `R` right after a recorded call of sched_yield.
    yielded: u64,
    /// `R+`
    preempted_in_kernel: u64,
    /// `S`, `T`, `t`
    slept: u64,
    /// `D`
    disk_sleep: u64,
    /// `I`, `P`: threads of the kernel
    kernel_idle: u64,
    /// `Z`, `X`
    died: u64,
    /// Switches away from the idle task.
    from_idle: u64,
}

impl Recorded {
    fn new(recording: &Recording, file: ReadReport) -> Recorded {
        let mut events: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut switches = Switches::default();
        let mut yielding = vec![false; recording.nr_cpus() as usize];
        for event in recording.events() {
            *events.entry(kind(&event.kind)).or_default() += 1;
            let yielding = &mut yielding[event.cpu.index()];
            let yields = std::mem::replace(
                yielding,
                matches!(event.kind, KernelEventKind::Yield { .. }),
            );
            if let KernelEventKind::Switch {
                prev, prev_state, ..
            } = event.kind
            {
                switches.count(prev.pid, prev_state, yields);
            }
        }
        Recorded {
            file,
            nr_lost: recording.nr_lost,
            mended: Missing::default(),
            switches,
            events,
        }
    }

    /// Warnings for the reader of the numbers.
    fn warnings(&self) -> Vec<String> {
        let file = &self.file;
        let mut warnings = file.notes.clone();
        if file.nr_gaps > 0 && self.nr_lost == 0 {
            let gaps = file.nr_gaps;
            warnings.push(format!(
                "events were lost in {gaps} places; their number is unknown"
            ));
        }
        if file.nr_out_of_order > 0 {
            let events = file.nr_out_of_order;
            warnings.push(format!("{events} events were out of order and were sorted"));
        }
        warnings
    }

    /// Prints the notes that perf's layouts cannot show on standard error.
    fn tell(&self, mended: Mended) {
        let made_up = (mended.switches + mended.wakeups > 0).then(|| {
            format!(
                "{} switches and {} wakeups are missing from the recording and were added",
                mended.switches, mended.wakeups
            )
        });
        let lost = (self.nr_lost > 0).then(|| format!("{} events were lost", self.nr_lost));
        for warning in self.warnings().into_iter().chain(lost).chain(made_up) {
            note(&format!("warning: {warning}"));
        }
    }

    fn tables(&self) -> [Table; 2] {
        let file = &self.file;
        let ignored = file.ignored.values().sum::<u64>();
        let mut held: Vec<(String, u64)> = vec![("events taken".into(), file.nr_events)];
        let events = self.events.iter();
        held.extend(events.map(|(name, count)| (format!("· {name}"), *count)));
        held.push(("events of other kinds".into(), ignored));
        held.extend(
            file.ignored
                .iter()
                .map(|(name, count)| (format!("· {name}"), *count)),
        );
        held.push(("lines without an event".into(), file.nr_other_lines));
        held.push(("events lost".into(), self.nr_lost));
        let s = &self.switches;
        let switches = [
            ("preempted or yielded (R)", s.preempted_or_yielded),
            ("yielded (R after sched_yield)", s.yielded),
            ("preempted in the kernel (R+)", s.preempted_in_kernel),
            ("slept (S, T)", s.slept),
            ("waited for a device (D)", s.disk_sleep),
            ("idle kernel thread (I, P)", s.kernel_idle),
            ("died (Z, X)", s.died),
            ("from the idle task", s.from_idle),
        ];
        let switches = switches.map(|(name, count)| (name.to_string(), count));
        let trap = "R+ alone is not preemption: a task preempted on its way to user mode is R";
        [
            counts(&format!("Read from {}", file.format), held.as_slice(), None),
            counts("Switches by the task's state", &switches, Some(trap)),
        ]
    }
}

impl Switches {
    fn count(&mut self, prev: Pid, state: KernelState, yields: bool) {
        let counter = match state {
            _ if prev == Pid::IDLE => &mut self.from_idle,
            KernelState::Runnable if yields => &mut self.yielded,
            KernelState::Runnable => &mut self.preempted_or_yielded,
            KernelState::PreemptedInKernel => &mut self.preempted_in_kernel,
            KernelState::Sleeping | KernelState::Stopped => &mut self.slept,
            KernelState::DiskSleep => &mut self.disk_sleep,
            KernelState::Idle | KernelState::Parked => &mut self.kernel_idle,
            KernelState::Dead => &mut self.died,
        };
        *counter += 1;
    }
}

fn kind(kind: &KernelEventKind) -> &'static str {
    match kind {
        KernelEventKind::Switch { .. } => "sched_switch",
        KernelEventKind::Waking { .. } => "sched_waking",
        KernelEventKind::Wakeup { .. } => "sched_wakeup and sched_wakeup_new",
        KernelEventKind::Migrate { .. } => "sched_migrate_task",
        KernelEventKind::NewTask { .. } => "task_newtask",
        KernelEventKind::Fork { .. } => "sched_process_fork",
        KernelEventKind::Exec { .. } => "sched_process_exec",
        KernelEventKind::Rename { .. } => "task_rename",
        KernelEventKind::Exit { .. } => "sched_process_exit",
        KernelEventKind::Yield { .. } => "sched_yield",
        KernelEventKind::Runtime { .. } => "sched_stat_runtime",
        KernelEventKind::Enter { .. } => "sys_enter",
        KernelEventKind::Return { .. } => "sys_exit",
    }
}

/// A table of counts, a row for each that is not 0.
fn counts(title: &str, rows: &[(String, u64)], note: Option<&str>) -> Table {
    let rows = || rows.iter().filter(|(_, count)| *count > 0);
    Table {
        title: title.to_string(),
        stubs: vec![String::new()],
        fields: rows()
            .map(|(name, _)| Field::new(name.as_str(), Unit::Count))
            .collect(),
        subjects: vec![Subject {
            labels: vec![String::new()],
            contest: 0,
            cells: rows()
                .map(|(_, count)| Cell::number(*count as f64))
                .collect(),
        }],
        layout: Layout::FieldsAsRows,
        notes: note.map(str::to_string).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::first_stem;

    #[test]
    fn recordings_are_called_after_their_file() {
        assert_eq!(first_stem("make-j4.perf-script.txt.zst"), "make-j4");
        assert_eq!(first_stem("perf.data"), "perf");
        assert_eq!(first_stem("v6.12.ftrace.gz"), "v6.12");
        assert_eq!(first_stem(".txt"), ".txt");
    }
}
