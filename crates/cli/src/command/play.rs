//! `schedlab play`: a workload executed on this machine.

use std::collections::BTreeMap;

use schedlab_programs::{
    approximations, leave_notes, notes, play as execute, Options, PlayError, Played, What,
};
use schedlab_trace::Ns;

use crate::arguments::PlayArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use schedlab_lab::choose;

use super::{note, print};

/// Executes a workload and prints its counts and times.
pub fn play(arguments: &PlayArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let played = &arguments.played;
    let mut workload = choose::workload(&arguments.workload, &played.rtapp.options())?;
    if played.duration.is_none() {
        workload.warnings.extend(workload.assumed_duration.take());
    }
    if !arguments.quiet {
        tell_caveats(&workload);
    }
    let (name, marks) = (workload.name.clone(), workload.marks.clone());
    let options = Options {
        duration: played.duration,
        seed: played.seed,
        stop: &|| interrupt.signal().is_some(),
    };
    let played =
        execute(workload, &options).map_err(|error| match (error, interrupt.signal()) {
            (PlayError::Interrupted, signal) => Failure::Interrupted(signal.unwrap_or(0)),
            (error, _) => Failure::Other(error.to_string()),
        })?;
    let left = leave_notes(&notes(&marks, &played));
    left.map_err(|error| Failure::Output("the notes for the recorder".into(), error))?;
    if played.nr_lost > 0 {
        note(&format!(
            "warning: {} marks were lost: the buffer was full",
            played.nr_lost
        ));
    }
    match arguments.quiet {
        true => Ok(()),
        false => print(&summary(&name, &marks, &played)),
    }
}

/// Prints warnings for the reader of the result.
pub(super) fn tell_caveats(workload: &schedlab_workload::Workload) {
    for warning in &workload.warnings {
        note(&format!("warning: {warning}"));
    }
    for difference in approximations(workload) {
        note(&format!("different from the simulator: {difference}"));
    }
}

/// Counts and times of a mark.
#[derive(Default)]
struct Tally {
    count: u64,
    times: Vec<Ns>,
}

fn summary(name: &str, marks: &[String], played: &Played) -> String {
    let seconds = played.span.1.since(played.span.0).0 as f64 / 1e9;
    let why = match played.finished {
        true => "all tasks ended",
        false => "time limit",
    };
    let mut text = format!(
        "{name}: {} tasks, {seconds:.6} s, {why}\n",
        played.tasks.len()
    );
    let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
    for marked in &played.marks {
        let tally = tallies.entry(marked.mark.0 as usize).or_default();
        match marked.what {
            What::Count(count) => tally.count += u64::from(count),
            What::Time(time) => tally.times.push(time),
            What::Group(_) => {}
        }
    }
    if tallies.is_empty() {
        return text;
    }
    let width = marks.iter().map(|mark| mark.len()).max().unwrap_or(0);
    let head = [
        "count",
        "per second",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "max ms",
    ];
    text += &row(width, "", head.map(str::to_string));
    for (mark, tally) in tallies {
        text += &row(width, &marks[mark], tally.cells(seconds));
    }
    text
}

fn row(width: usize, name: &str, cells: [String; 6]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>12}")).collect();
    format!("{name:width$}{cells}\n")
}

impl Tally {
    fn cells(mut self, seconds: f64) -> [String; 6] {
        self.times.sort_unstable();
        let count = self.count.max(self.times.len() as u64);
        let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
        let at = |percent: usize| {
            let index = (self.times.len() * percent).div_ceil(100);
            let time = self.times.get(index.saturating_sub(1));
            time.map_or_else(String::new, |time| ms(time.0))
        };
        let sum: u64 = self.times.iter().map(|time| time.0).sum();
        let mean = sum.checked_div(self.times.len() as u64);
        [
            count.to_string(),
            format!("{:.1}", count as f64 / seconds),
            mean.map_or_else(String::new, ms),
            at(50),
            at(99),
            at(100),
        ]
    }
}
