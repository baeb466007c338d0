//! How far the recorded work was under each policy when the recording ended.

use std::collections::BTreeMap;

use schedlab_lab::Trial;
use schedlab_measure::{Measure, Metrics};
use schedlab_report::Run;
use schedlab_trace::Ns;

use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Groups that did less than this share of the work are not named.
const NEGLIGIBLE: f64 = 0.01;

/// A sentence for each policy whose replay took longer than the recording.
pub fn at_the_end(
    trials: &[Trial],
    runs: &[Run],
    span: Ns,
    interrupt: &Interrupt,
) -> Result<Vec<String>, Failure> {
    let mut sentences = Vec::new();
    // The first run is the recording.
    for (trial, run) in trials.iter().zip(runs.iter().skip(1)) {
        if run.duration_ns > span {
            let until = until(trial, span, interrupt)?;
            sentences.push(sentence(&trial.tuned.name(), &until, &run.metrics, span));
        }
    }
    Ok(sentences)
}

/// A replay that ends after this time.
fn until(trial: &Trial, span: Ns, interrupt: &Interrupt) -> Result<Metrics, Failure> {
    let trial = Trial {
        duration: Some(span),
        ..trial.clone()
    };
    let ran = trial.run(Measure::new(), |_| interrupt.signal().is_some());
    let ran = ran.map_err(|unfinished| Failure::of_run(trial.name(), unfinished.reason))?;
    Ok(ran.sink.finish())
}

fn sentence(policy: &str, until: &Metrics, whole: &Metrics, span: Ns) -> String {
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let all = whole.total.run_ns.0;
    let work = |of: &Metrics| -> BTreeMap<String, u64> {
        let groups = of.groups.iter();
        groups
            .map(|g| (g.name.to_string(), g.activity.run_ns.0))
            .collect()
    };
    let done = work(until);
    let shares = work(whole)
        .into_iter()
        .filter(|(_, ns)| share(*ns, all) > NEGLIGIBLE);
    let shares = shares.map(|(name, ns)| {
        let done = done.get(&name).copied().unwrap_or(0);
        (name, share(done, ns))
    });
    let least = shares.min_by(|one, other| one.1.total_cmp(&other.1));
    let least = least.map_or_else(String::new, |(name, share)| {
        format!("; least far: {name}, {:.0} %", share * 100.0)
    });
    let done = share(until.total.run_ns.0, all) * 100.0;
    format!("After {span}, when the recording ended, {done:.0} % of the work would have been done under {policy}{least}.")
}
