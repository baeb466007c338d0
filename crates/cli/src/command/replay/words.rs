//! What replays mean, in words.

use schedlab_measure::{Distribution, Metrics};
use schedlab_replay::{Counts, SelfCheck};
use schedlab_report::Run;
use schedlab_trace::Ns;

use super::RECORDED;

/// Less than this difference is none.
const EQUAL: f64 = 0.01;

/// A sentence for each policy: what this machine would have done.
pub fn of(runs: &[Run], check: Option<&SelfCheck>, counts: &Counts) -> Vec<String> {
    let Some(check) = check else {
        return Vec::new();
    };
    let Some((recorded, replayed)) = runs.split_first().filter(|(r, _)| r.policy == RECORDED)
    else {
        return Vec::new();
    };
    let sentence = |run: &Run| {
        let name = match run.variant.as_str() {
            "" => run.policy.clone(),
            variant => format!("{}:{variant}", run.policy),
        };
        let duration = duration(&recorded.metrics, &run.metrics, check, counts);
        let delay = delay(&recorded.metrics, &run.metrics);
        format!("Under {name} your machine {duration}{delay}.")
    };
    replayed.iter().map(sentence).collect()
}

fn duration(recorded: &Metrics, run: &Metrics, check: &SelfCheck, counts: &Counts) -> String {
    let (was, is) = (recorded.duration_ns, run.duration_ns);
    let change = is.0 as f64 / was.0.max(1) as f64 - 1.0;
    if counts.ends_by_time {
        return "would have shared the same time among its tasks".to_string();
    }
    if !check.is_understood() {
        return "would have needed a time that is not predicted".to_string();
    }
    match change {
        c if c.abs() < EQUAL => format!("would have needed as long as it did ({was})"),
        c => format!(
            "would have needed {is} instead of {was} ({:+.0} %)",
            c * 100.0
        ),
    }
}

/// Waits for a CPU: the median and the 99th percentile.
fn delay(recorded: &Metrics, run: &Metrics) -> String {
    let get = |metrics: &Metrics, quantile: fn(&Distribution) -> Ns| {
        let delay = metrics.total.run_delay_ns.as_deref();
        delay.map(quantile)
    };
    let both = |quantile| Some((get(recorded, quantile)?, get(run, quantile)?));
    match (both(|d| d.p50), both(|d| d.p99)) {
        (Some((was50, is50)), Some((was99, is99))) => format!(
            "; a task would have waited {is50} for a CPU in the median (recorded {was50}), one in a hundred {is99} ({was99}) or longer"
        ),
        _ => String::new(),
    }
}
