//! Progress of long runs, shown on a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedlab_trace::{Ns, Time};

/// Shorter runs show no progress.
const SILENCE: Duration = Duration::from_secs(1);

/// The progress of several runs, updated by the threads that run them.
pub struct Progress {
    runs: Vec<RunProgress>,
    started: Instant,
}

#[derive(Default)]
struct RunProgress {
    now_ns: AtomicU64,
    end_ns: AtomicU64,
    events: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// No progress in `nr_runs` runs.
    pub fn new(nr_runs: usize) -> Progress {
        Progress {
            runs: (0..nr_runs).map(|_| RunProgress::default()).collect(),
            started: Instant::now(),
        }
    }

    /// A run has reached `now`; it ends at `end` if that is known.
    pub fn set(&self, run: usize, now: Time, end: Option<Time>, events: u64) {
        let run = &self.runs[run];
        run.now_ns.store(now.0, Ordering::Relaxed);
        run.end_ns
            .store(end.map_or(0, |end| end.0), Ordering::Relaxed);
        run.events.store(events, Ordering::Relaxed);
    }

    /// A run has ended.
    pub fn done(&self, run: usize) {
        self.runs[run].done.store(1, Ordering::Relaxed);
    }

    /// Part of the work that is done, 0 to 1; none if a run may end at any time.
    fn fraction(&self) -> Option<f64> {
        let parts = self.runs.iter().map(RunProgress::fraction);
        let sum: Option<f64> = parts.sum();
        sum.map(|sum| sum / self.runs.len() as f64)
    }

    fn message(&self) -> String {
        let sum = |part: fn(&RunProgress) -> &AtomicU64| -> u64 {
            let parts = self
                .runs
                .iter()
                .map(|run| part(run).load(Ordering::Relaxed));
            parts.sum()
        };
        let rate = sum(|r| &r.events) as f64 / self.started.elapsed().as_secs_f64() / 1e6;
        let now = Ns(sum(|r| &r.now_ns));
        let mut message = match self.fraction() {
            Some(fraction) => format!("{:.0} %: {now} simulated", fraction * 100.0),
            None => format!("{now} simulated"),
        };
        message += &format!(", {rate:.1} million events/s");
        if self.runs.len() > 1 {
            message += &format!(", {} of {} runs done", sum(|r| &r.done), self.runs.len());
        }
        message
    }
}

impl RunProgress {
    fn fraction(&self) -> Option<f64> {
        let load = |part: &AtomicU64| part.load(Ordering::Relaxed);
        match (load(&self.done), load(&self.now_ns), load(&self.end_ns)) {
            (1, _, _) => Some(1.0),
            (_, 0, _) => Some(0.0),
            (_, _, 0) => None,
            (_, now, end) => Some(now as f64 / end as f64),
        }
    }
}

/// The line on standard error; it vanishes when dropped.
pub struct Line(Option<ProgressBar>);

impl Line {
    /// Shows nothing yet; shows nothing at all unless standard error is a terminal.
    pub fn new() -> Line {
        Line(None)
    }

    /// Shows the progress.
    pub fn show(&mut self, progress: &Progress) {
        if !std::io::stderr().is_terminal() || progress.started.elapsed() < SILENCE {
            return;
        }
        let bar = self.0.get_or_insert_with(bar);
        bar.set_message(progress.message());
        bar.tick();
    }
}

/// A line of text for work of unknown length.
pub struct Note {
    line: Mutex<Line>,
    started: Instant,
}

impl Note {
    /// Shows nothing yet.
    pub fn new() -> Note {
        Note {
            line: Mutex::new(Line::new()),
            started: Instant::now(),
        }
    }

    /// Shows a text and the time since the start.
    pub fn show(&self, text: &str) {
        let elapsed = self.started.elapsed();
        if !std::io::stderr().is_terminal() || elapsed < SILENCE {
            return;
        }
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = line.0.get_or_insert_with(bar);
        bar.set_message(format!("{} s: {text}", elapsed.as_secs()));
        bar.tick();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A line that shows what the program waits for, and for how long; it vanishes when dropped.
pub struct Waiting {
    line: Line,
    started: Instant,
}

impl Waiting {
    /// Shows nothing yet, and never anything unless standard error is a terminal.
    pub fn new() -> Waiting {
        Waiting {
            line: Line::new(),
            started: Instant::now(),
        }
    }

    /// Shows what the program waits for.
    pub fn show(&mut self, what: &str) {
        let elapsed = self.started.elapsed();
        if std::io::stderr().is_terminal() && elapsed > SILENCE {
            let bar = self.line.0.get_or_insert_with(bar);
            bar.set_message(format!("{what}, {} s", elapsed.as_secs()));
            bar.tick();
        }
    }
}

fn bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg}").expect("a constant template, tested");
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_adds_up_all_runs() {
        let progress = Progress::new(2);
        progress.set(0, Time(500_000_000), Some(Time(1_000_000_000)), 10);
        assert_eq!(progress.fraction(), Some(0.25));
        progress.done(1);
        let message = progress.message();
        assert!(message.starts_with("75 %: 500 ms simulated, "), "{message}");
        assert!(message.ends_with(", 1 of 2 runs done"), "{message}");
    }

    #[test]
    fn without_a_known_end_there_is_no_fraction() {
        let progress = Progress::new(1);
        progress.set(0, Time(1_500_000), None, 1);
        assert_eq!(progress.fraction(), None);
        assert!(progress.message().starts_with("1.50 ms simulated, "));
    }

    #[test]
    fn the_template_is_valid() {
        drop(bar());
    }
}
