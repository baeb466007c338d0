//! The output of `replay`: first its self-check, then the comparison, then its limits.

use schedlab_readers::ReadReport;
use schedlab_recording::Mended;
use schedlab_replay::{Replay, SelfCheck, Trust, LIMITS};
use schedlab_report::table::Terminal;
use schedlab_report::{json, text, Run};
use schedlab_trace::{printable, printable_json};
use serde::Serialize;
use serde_json::Value;

use super::smallest::Smallest;
use crate::arguments::Format;
use crate::failure::Failure;
use crate::version::VERSION;

/// A replay's result, beside the runs.
pub struct Printed<'a> {
    pub recording: String,
    pub replay: &'a Replay,
    /// What the results mean, in words.
    pub words: Vec<String>,
    /// How far the work was when the recording ended.
    pub progress: Vec<String>,
    pub check: Option<SelfCheck>,
    pub smallest: Option<Smallest>,
    pub read: &'a ReadReport,
    pub mended: Mended,
}

#[derive(Serialize)]
struct Json<'a> {
    recording: &'a str,
    mode: schedlab_replay::Mode,
    /// What the self-check allows to believe.
    trust: Option<Trust>,
    self_check: Option<&'a SelfCheck>,
    minimised: Option<&'a Smallest>,
    rebuilt: schedlab_replay::Counts,
    read: &'a ReadReport,
    limits: &'a [&'a str],
    #[serde(flatten)]
    result: Value,
}

impl Printed<'_> {
    /// Remarks on the trust in the numbers: the verdict first.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.check.iter().map(SelfCheck::verdict).collect();
        remarks.extend(self.smallest.iter().map(ToString::to_string));
        remarks.extend(self.words.iter().chain(&self.progress).cloned());
        remarks.push(self.rebuilt());
        remarks.extend(self.read.notes.iter().cloned());
        remarks.extend(
            LIMITS
                .iter()
                .map(|limit| format!("limit of replays: {limit}")),
        );
        remarks
    }

    fn rebuilt(&self) -> String {
        let counts = &self.replay.counts;
        let mode = match self.replay.mode {
            schedlab_replay::Mode::Open => "open",
            schedlab_replay::Mode::Closed => "closed",
        };
        let mut text = format!(
            "{}: {}, {} events rebuilt as {} tasks; {} sleeps ended by tasks, {} from outside ({mode})",
            self.recording,
            self.read.format,
            counts.events,
            counts.tasks,
            counts.woken_by_tasks,
            counts.woken_from_outside,
        );
        if counts.has_flow {
            text += &format!(", {} for data", counts.woken_by_data);
        }
        for (count, what) in [
            (counts.woken_by_unknown, "by unknown wakers"),
            (
                counts.spurious_wakeups,
                "wakeups of tasks that did not sleep",
            ),
            (self.mended.lost, "events lost"),
            (self.mended.switches, "switches added"),
            (self.mended.wakeups, "wakeups added"),
        ] {
            if count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        text
    }

    /// As text.
    pub fn text(&self, runs: Vec<Run>, format: Format) -> Result<String, Failure> {
        match format {
            Format::Json => self.json(&runs),
            Format::Table => {
                let distances = self.distances("  ");
                let mut out = String::new();
                for (index, remark) in self.remarks().into_iter().enumerate() {
                    out += &format!("{}\n", printable(&remark));
                    if index == 0 {
                        out += &distances;
                    }
                }
                Ok(out + "\n" + &text::brief(&runs, Terminal::stdout()))
            }
            Format::Markdown => {
                let mut out = String::new();
                for (index, remark) in self.remarks().into_iter().enumerate() {
                    out += &format!("- {}\n", printable(&remark));
                    if index == 0 {
                        out += &self.distances("  - ");
                    }
                }
                Ok(out + "\n" + &text::markdown(&runs))
            }
        }
    }

    fn distances(&self, lead: &str) -> String {
        let distances = self.check.iter().flat_map(|check| &check.distances);
        let lines = distances.map(|distance| format!("{lead}{distance}\n"));
        let differing = self.check.iter().map(|check| {
            let equal = check.tasks - check.differing.len() as u64;
            let raw = check.raw_error.map_or_else(String::new, |error| {
                let percent = error * 100.0;
                format!("; {percent:.1} % off the kernel's own account")
            });
            let understood = (check.understood * 100.0).floor();
            let opaque = match self.replay.counts.opaque_reasons() {
                reasons if reasons.is_empty() => String::new(),
                reasons => format!("; not: {reasons}"),
            };
            format!(
                "{lead}CPU time as rebuilt for {equal} of {} tasks{raw}\n{lead}waits understood: {understood:.0} %{opaque}\n",
                check.tasks
            )
        });
        lines.chain(differing).collect()
    }

    /// Runs for a report, the remarks beside the first.
    pub fn remarked(&self, runs: &[Run]) -> Vec<Run> {
        let mut runs = runs.to_vec();
        if let Some(run) = runs.first_mut() {
            run.warnings.splice(0..0, self.remarks());
        }
        runs
    }

    /// As JSON.
    pub fn json(&self, runs: &[Run]) -> Result<String, Failure> {
        let broken = |error: serde_json::Error| Failure::Other(error.to_string());
        let result = json::comparison(runs, VERSION).map_err(broken)?;
        let json = Json {
            recording: &self.recording,
            mode: self.replay.mode,
            trust: self.check.as_ref().map(SelfCheck::trust),
            self_check: self.check.as_ref(),
            minimised: self.smallest.as_ref(),
            rebuilt: self.replay.counts,
            read: self.read,
            limits: LIMITS,
            result: serde_json::from_str(&result).map_err(broken)?,
        };
        let text = serde_json::to_string_pretty(&json).map_err(broken)?;
        Ok(printable_json(&text).into_owned() + "\n")
    }
}
