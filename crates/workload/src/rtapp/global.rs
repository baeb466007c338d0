//! The `global` object.

use schedlab_input::{nearest, Diagnostic};
use schedlab_trace::TaskClass;

use super::json::Value;
use super::object::Object;

/// The parts of `global` that a workload needs.
#[derive(Debug, PartialEq)]
pub(super) struct Global {
    /// Seconds; none: until the tasks end.
    pub duration_s: Option<u32>,
    /// Nanoseconds of one loop of work, if the file fixes it.
    pub loop_ns: Option<u32>,
    pub policy: TaskClass,
    pub mem_buffer_bytes: u32,
    /// Writes go nowhere and cost little: /dev/null.
    pub io_is_free: bool,
}

impl Default for Global {
    fn default() -> Self {
        Global {
            duration_s: None,
            loop_ns: None,
            policy: TaskClass::Normal,
            mem_buffer_bytes: 4 << 20,
            io_is_free: true,
        }
    }
}

const KEYS: [&str; 13] = [
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// What rt-app's code accepts; its tutorial says "run" for "event".
const FTRACE: [&str; 7] = ["main", "task", "loop", "event", "stats", "attrs", "none"];

/// Reads `global`; everything in it is checked as rt-app checks it, though most only
/// concerns rt-app's own output.
pub(super) fn parse(object: &Object, warnings: &mut Vec<Diagnostic>) -> Result<Global, Diagnostic> {
    object.warn_unknown(&KEYS, &[], |_| false, warnings);
    check_output(object)?;
    if object.boolean("pi_enabled")? == Some(true) {
        let problem = "priority inheritance is not modelled; mutexes are plain";
        warnings.extend(
            object
                .get("pi_enabled")
                .map(|m| object.error(m, problem, "")),
        );
    }
    Ok(Global {
        duration_s: object
            .int("duration")?
            .and_then(|s| u32::try_from(s).ok())
            .filter(|s| *s > 0),
        loop_ns: calibration(object)?,
        policy: policy(object, "default_policy")?.unwrap_or(TaskClass::Normal),
        mem_buffer_bytes: mem_buffer(object)?,
        io_is_free: matches!(object.string("io_device")?, None | Some("/dev/null")),
    })
}

/// Types of what only concerns rt-app's output and memory.
fn check_output(object: &Object) -> Result<(), Diagnostic> {
    for key in ["lock_pages", "gnuplot", "cumulative_slack"] {
        object.boolean(key)?;
    }
    for key in ["logdir", "log_basename"] {
        object.string(key)?;
    }
    if let Some(member) = object.get("log_size") {
        if !matches!(member.node.value, Value::Int(_) | Value::String(_)) {
            return Err(object.wrong_type(member, "an integer or a string"));
        }
    }
    let Some(member) = object.get("ftrace") else {
        return Ok(());
    };
    match &member.node.value {
        Value::Bool(_) => Ok(()),
        Value::String(list) => check_ftrace(object, list),
        _ => Err(object.wrong_type(member, "a string")),
    }
}

/// A list of categories.
fn check_ftrace(object: &Object, list: &str) -> Result<(), Diagnostic> {
    let strange = |word: &&str| !word.is_empty() && !FTRACE.contains(word);
    match list.split(',').map(str::trim).find(strange) {
        None => Ok(()),
        Some(word) => Err(Diagnostic {
            nearest: nearest(word, FTRACE),
            ..object.error_here(
                &format!("ftrace has no category \"{word}\" (rt-app stops with an error)"),
                "main, task, loop, event, stats, attrs or none",
            )
        }),
    }
}

/// Nanoseconds of a loop, or a CPU to measure them on, which is ignored.
fn calibration(object: &Object) -> Result<Option<u32>, Diagnostic> {
    let Some(member) = object.get("calibration") else {
        return Ok(None);
    };
    let expected = "nanoseconds for each loop, or \"CPU\" and a number";
    match &member.node.value {
        Value::Int(ns) => match u32::try_from(*ns) {
            Ok(ns) => Ok(Some(ns).filter(|ns| *ns > 0)),
            Err(_) => Err(object.error(member, format!("{ns} is out of range"), expected)),
        },
        Value::String(cpu) => {
            let number = cpu.strip_prefix("CPU").map(str::trim_start);
            let is_cpu = number.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
            match is_cpu {
                true => Ok(None),
                false => Err(object.error(
                    member,
                    format!("\"{cpu}\" is not a CPU (rt-app stops with an error)"),
                    expected,
                )),
            }
        }
        _ => Err(object.wrong_type(member, expected)),
    }
}

fn mem_buffer(object: &Object) -> Result<u32, Diagnostic> {
    match (
        object.int("mem_buffer_size")?,
        object.get("mem_buffer_size"),
    ) {
        (Some(size), Some(member)) if size <= 0 => {
            let problem = format!("a buffer cannot have {size} bytes");
            Err(object.error(member, problem, "a size above 0"))
        }
        (Some(size), _) => Ok(size as u32),
        (None, _) => Ok(Global::default().mem_buffer_bytes),
    }
}

/// The scheduling class a key names.
pub(super) fn policy(object: &Object, key: &str) -> Result<Option<TaskClass>, Diagnostic> {
    const POLICIES: [(&str, TaskClass); 5] = [
        ("SCHED_OTHER", TaskClass::Normal),
        ("SCHED_BATCH", TaskClass::Batch),
        ("SCHED_IDLE", TaskClass::Idle),
        ("SCHED_RR", TaskClass::Rr),
        ("SCHED_FIFO", TaskClass::Fifo),
    ];
    let (Some(name), Some(member)) = (object.string(key)?, object.get(key)) else {
        return Ok(None);
    };
    let names = POLICIES.map(|(name, _)| name);
    let expected = format!("one of {}", names.join(", "));
    if name == "SCHED_DEADLINE" {
        let problem = "SCHED_DEADLINE is not modelled: none of the schedulers has this class";
        return Err(object.error(member, problem, expected));
    }
    match POLICIES.iter().find(|(known, _)| *known == name) {
        Some((_, class)) => Ok(Some(*class)),
        None => Err(Diagnostic {
            nearest: nearest(name, names),
            ..object.error(
                member,
                format!("\"{name}\" is not a policy (rt-app stops with an error)"),
                expected,
            )
        }),
    }
}
