//! `schedlab load`: a policy as the scheduler of this machine.

use std::path::Path;
use std::time::{Duration, Instant};

use schedlab_input::reason;
use schedlab_live::{Ending, Error, Loaded, Options, Program, Statistics};
use schedlab_policy::Tuned;
use serde_json::json;

use super::{note, print};
use crate::arguments::{LoadArguments, StatsFormat};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::kernel::{compile_for_kernel, for_kernels};
use schedlab_lab::choose;

const SECOND: Duration = Duration::from_secs(1);

pub fn load(arguments: &LoadArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = arguments.settings.read()?;
    let tuned = choose::policy("POLICY", &arguments.policy, &set, &interrupt.stop())?;
    let code = object_or(arguments.object.as_deref(), &arguments.policy, &tuned)?;
    let options = Options {
        partial: arguments.partial,
        timeout: Duration::from_nanos(arguments.watchdog.0),
        max_tasks: arguments.max_tasks,
    };
    let program = Program {
        tuned: &tuned,
        code: &code,
    };
    let mut loaded = schedlab_live::load(&program, &options).map_err(not_loaded)?;
    note(&format!(
        "{} is the scheduler of this machine; Ctrl-C ends it",
        tuned.name()
    ));
    if arguments.verified {
        print_verified(&loaded)?;
    }
    let watched = watch(&mut loaded, &tuned, arguments, &interrupt);
    let ending = loaded.unload();
    watched?;
    report(&tuned, ending)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |e| format!("{}: {}", path.display(), reason(&e));
    std::fs::read(path).map_err(|e| Failure::Ended(Exit::BadInput, failed(e)))
}

/// The BPF object in a file, if one is named, else the policy's own.
pub(super) fn object_or(
    file: Option<&Path>,
    text: &str,
    tuned: &Tuned,
) -> Result<Vec<u8>, Failure> {
    match file {
        Some(path) => read(path),
        None => object(text, tuned),
    }
}

/// The policy's BPF object: the one the binary carries, or compiled now.
pub(super) fn object(text: &str, tuned: &Tuned) -> Result<Vec<u8>, Failure> {
    for_kernels(tuned)?;
    if let Some(source) = choose::policy_file(text) {
        return compile_for_kernel(source);
    }
    let name = tuned.policy.name();
    schedlab_bpf::built_in(name).ok_or_else(|| {
        Failure::Other(format!(
            "{name} was not compiled for the kernel when this program was built: \
             there was no clang 19 (scripts/setup.sh installs one), or it refused the policy"
        ))
    })
}

fn print_verified(loaded: &Loaded) -> Result<(), Failure> {
    let sizes = loaded.verified_instructions();
    let lines = sizes.iter().map(|(name, size)| format!("{name} {size}\n"));
    print(&lines.collect::<String>())
}

/// Prints a line each second until a signal, the time limit or the kernel ends it.
fn watch(
    loaded: &mut Loaded,
    tuned: &Tuned,
    arguments: &LoadArguments,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let start = Instant::now();
    let end = arguments
        .duration
        .map(|ns| start + Duration::from_nanos(ns.0));
    let mut last = (start, Statistics::default());
    while loaded.ending().is_none() && interrupt.signal().is_none() {
        let now = Instant::now();
        if end.is_some_and(|end| now >= end) {
            break;
        }
        if now - last.0 >= SECOND {
            let statistics = loaded.statistics().unwrap_or_default();
            show(
                arguments.stats,
                tuned,
                now - start,
                &statistics.since(&last.1),
            )?;
            last = (now, statistics);
        }
        // Rarely, because this program is a task of the scheduler it watches.
        let next = last.0 + SECOND;
        interrupt.sleep(
            end.map_or(next, |end| end.min(next))
                .saturating_duration_since(now),
        );
    }
    match (arguments.stats, loaded.statistics()) {
        // Sums over all lines need the last, shorter one, too.
        (StatsFormat::Json, Some(statistics)) => {
            let rest = statistics.since(&last.1);
            show(arguments.stats, tuned, start.elapsed(), &rest)
        }
        _ => Ok(()),
    }
}

fn show(
    format: StatsFormat,
    tuned: &Tuned,
    time: Duration,
    statistics: &Statistics,
) -> Result<(), Failure> {
    match format {
        StatsFormat::Line => print(&line(statistics)),
        StatsFormat::Json => print(&format!("{}\n", object_of(tuned, time, statistics))),
        StatsFormat::None => Ok(()),
    }
}

fn line(s: &Statistics) -> String {
    let delay = |share| match s.delay.percentile_ns(share) {
        Some(ns) => format!("{:.1} us", ns as f64 / 1000.0),
        None => "-".into(),
    };
    format!(
        "{:>7} tasks  {:>8} switches  {:>6.1} examined/call  {:>6} migrations  run delay p50 {}, p99 {}\n",
        s.tasks,
        s.switches,
        s.examined_per_call(),
        s.migrations,
        delay(0.5),
        delay(0.99)
    )
}

fn object_of(tuned: &Tuned, time: Duration, s: &Statistics) -> serde_json::Value {
    let names = tuned.policy.counters();
    let counters: serde_json::Map<String, serde_json::Value> = names
        .iter()
        .zip(&s.counters)
        .map(|(name, count)| (name.to_string(), json!(count)))
        .collect();
    json!({
        "policy": tuned.name(),
        "seconds": time.as_secs_f64(),
        "tasks": s.tasks,
        "switches": s.switches,
        "schedule_calls": s.schedule_calls,
        "examined": s.examined,
        "recalculations": s.recalculations,
        "recalculated": s.recalculated,
        "migrations": s.migrations,
        "wakeups": s.wakeups,
        "ticks": s.ticks,
        "locks": s.locks,
        "failed_locks": s.failed_locks,
        "run_delay_ns": {
            "count": s.delay.total(),
            "p50": s.delay.percentile_ns(0.5),
            "p99": s.delay.percentile_ns(0.99),
        },
        "counters": counters,
    })
}

/// Prints why it ended; a scheduler that the kernel unloaded is a failure.
fn report(tuned: &Tuned, ending: Option<Ending>) -> Result<(), Failure> {
    let name = tuned.name();
    match ending {
        Some(ending) if ending.is_failure() => {
            eprint!("{}", ending.dump);
            Err(Failure::Ended(
                Exit::PolicyFault,
                format!(
                    "the kernel has unloaded {name} and uses its own scheduler again: {ending}"
                ),
            ))
        }
        Some(ending) => {
            note(&format!("{name} ended: {ending}"));
            Ok(())
        }
        None => Err(Failure::Other(format!(
            "{name} ended, but the kernel does not say why"
        ))),
    }
}

/// The kernel refuses a policy, or it is not for this kernel.
pub fn not_loaded(error: Error) -> Failure {
    let exit = match error {
        Error::Refused(_) => Exit::PolicyFault,
        Error::NotOurs => Exit::BadInput,
        _ => Exit::System,
    };
    Failure::Ended(exit, error.to_string())
}
