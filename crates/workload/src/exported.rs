//! Complete workloads as JSON, written so that schedlab or other programs can run them again.
//! Users write the [native format](crate::native).

use std::collections::BTreeSet;

use schedlab_input::{stem, Diagnostic};
use schedlab_trace::{CpuMax, GroupWeight, Ns, TaskClass};
use serde::{Deserialize, Serialize};

use crate::{
    Amount, Distribution, Op, TimerScope, Times, Workload, MAX_GROUP_DEPTH, MAX_LOOP_DEPTH,
    MAX_OWN_TIMERS, MAX_SLICE, MAX_TASKS, MIN_SLICE,
};

/// The version of the format.
const VERSION: u32 = 1;

/// The key that tells these files from rt-app's.
const KEY: &str = "schedlab_workload";

#[derive(Serialize)]
struct Written<'a> {
    schedlab_workload: u32,
    #[serde(flatten)]
    workload: &'a Workload,
}

#[derive(Deserialize)]
struct Read {
    schedlab_workload: u32,
    #[serde(flatten)]
    workload: Workload,
}

/// The workload as JSON: a line for each program.
pub fn to_json(workload: &Workload) -> String {
    let written = Written {
        schedlab_workload: VERSION,
        workload,
    };
    let text = serde_json::to_string(&written).expect("a workload has no keys but strings");
    text.replace("{\"ops\":", "\n{\"ops\":") + "\n"
}

/// Is this text such a file?
pub fn is_exported(text: &str) -> bool {
    let start = text.trim_start().strip_prefix('{').map(str::trim_start);
    let key = start.and_then(|text| text.strip_prefix('"'));
    key.is_some_and(|text| text.starts_with(KEY))
}

/// Reads a workload; it is called after the file.
///
/// # Errors
/// It is not JSON of this form, or it contradicts itself.
pub fn parse(file_name: &str, text: &str) -> Result<Workload, Diagnostic> {
    let read: Read = serde_json::from_str(text).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        Diagnostic::new(error.to_string()).at(file_name, line as _)
    })?;
    let mistake = |problem: String| Diagnostic::new(problem).at(file_name, 0);
    if read.schedlab_workload != VERSION {
        let problem = format!("this is version {}", read.schedlab_workload);
        return Err(mistake(problem).key(KEY).expected(VERSION.to_string()));
    }
    check(&read.workload).map_err(mistake)?;
    Ok(Workload {
        name: stem(file_name),
        source: file_name.to_string(),
        ..read.workload
    })
}

/// The first contradiction in the workload.
fn check(workload: &Workload) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for task in &workload.tasks {
        let wrong = |what: &str| Err(format!("task \"{}\": {what}", task.name));
        if !names.insert(&task.name) {
            return wrong("another one has this name");
        }
        if task.program.0 as usize >= workload.programs.len() {
            return wrong("there is no such program");
        }
        if !standing_is_possible(task.nice, task.class, task.rt_priority) {
            return wrong(
                "nice must be -20 to 19, a real-time priority 1 to 99 in its classes only",
            );
        }
        if !task.slice.is_none_or(slice_is_possible) {
            return wrong("a slice must be 100us to 100ms");
        }
        if !task
            .clamps
            .is_none_or(|(min, max)| min <= max && max <= 1024)
        {
            return wrong("clamps must be 0 to 1024, the least not above the most");
        }
        if !in_range(task.cpus, workload.cpu_sets.len()) {
            return wrong("there is no such set of CPUs");
        }
        if !in_range(task.control_group, workload.control_groups.len()) {
            return wrong("there is no such control group");
        }
    }
    check_groups(workload)?;
    let tasks: u64 = workload.tasks.iter().map(|t| u64::from(t.count)).sum();
    if tasks > u64::from(MAX_TASKS) {
        return Err(format!("there are {tasks} tasks, more than {MAX_TASKS}"));
    }
    if workload.barriers.contains(&0) || workload.channels.iter().any(|c| c.capacity == 0) {
        return Err("barriers and channels hold at least 1".into());
    }
    if !workload.distributions.iter().all(is_possible) {
        return Err("a distribution's parameters are invalid".into());
    }
    for (index, program) in workload.programs.iter().enumerate() {
        let wrong = |(at, what)| format!("program {index}, operation {at}: {what}");
        check_program(workload, &program.ops).map_err(wrong)?;
    }
    Ok(())
}

fn slice_is_possible(slice: Ns) -> bool {
    (MIN_SLICE..=MAX_SLICE).contains(&slice)
}

/// Groups come after the ones they are in, and their numbers make sense.
fn check_groups(workload: &Workload) -> Result<(), String> {
    let mut depths: Vec<usize> = Vec::new();
    for group in &workload.control_groups {
        let wrong = |what: &str| Err(format!("control group \"{}\": {what}", group.name));
        let depth = match group.parent {
            None => 0,
            Some(parent) => match depths.get(parent as usize) {
                Some(depth) => depth + 1,
                None => return wrong("the group it is in must come before it"),
            },
        };
        if depth >= MAX_GROUP_DEPTH {
            return wrong("groups nest too deep");
        }
        if !weight_is_possible(group.weight) || !group.max.is_none_or(max_is_possible) {
            return wrong("its weight or limit makes no sense");
        }
        depths.push(depth);
    }
    Ok(())
}

fn weight_is_possible(weight: GroupWeight) -> bool {
    match weight {
        GroupWeight::Weight(weight) => (1..=10_000).contains(&weight),
        GroupWeight::Shares(shares) => (2..=262_144).contains(&shares),
        GroupWeight::Nice(nice) => (-20..=19).contains(&nice),
        GroupWeight::Idle => true,
    }
}

fn max_is_possible(max: CpuMax) -> bool {
    max.quota_us >= 1000
        && (1000..=1_000_000).contains(&max.period_us)
        && max.burst_us <= max.quota_us
}

fn is_possible(distribution: &Distribution) -> bool {
    match distribution {
        Distribution::Uniform { low, high } => low <= high,
        Distribution::Pareto { shape_milli, .. } => *shape_milli > 0,
        _ => true,
    }
}

fn standing_is_possible(nice: i8, class: TaskClass, rt_priority: u8) -> bool {
    let real_time = matches!(class, TaskClass::Fifo | TaskClass::Rr);
    let priority = match real_time {
        true => (1..=99).contains(&rt_priority),
        false => class == TaskClass::Iso || rt_priority == 0,
    };
    priority && (-20..=19).contains(&nice)
}

fn in_range(index: Option<u32>, len: usize) -> bool {
    index.is_none_or(|index| (index as usize) < len)
}

/// The first mistake in a program: its operation and what is wrong.
fn check_program(workload: &Workload, ops: &[Op]) -> Result<(), (usize, &'static str)> {
    let mut open = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        match *op {
            Op::Loop { end, .. } if open.len() == MAX_LOOP_DEPTH => {
                let _ = end;
                return Err((at, "loops are nested too deep"));
            }
            Op::Loop { end, .. } => open.push((at, end)),
            Op::EndLoop { start } if open.pop() != Some((start as usize, at as u32)) => {
                return Err((at, "it names a loop that it does not end"));
            }
            _ if !refers_to_something(workload, op) => {
                return Err((at, "it refers to something that does not exist"));
            }
            _ => {}
        }
    }
    match open.first() {
        Some(&(at, _)) => Err((at, "the loop has no end")),
        None => Ok(()),
    }
}

/// Is everything there that the operation uses?
fn refers_to_something(w: &Workload, op: &Op) -> bool {
    let amount = |amount: Amount| match amount {
        Amount::Fixed(_) => true,
        Amount::Drawn(index) => in_range(Some(index), w.distributions.len()),
    };
    let spec = |spec: crate::SpecId| in_range(Some(spec.0), w.tasks.len());
    let mark = |mark: schedlab_trace::MarkId| in_range(Some(mark.0), w.marks.len());
    let channel = |channel: u32| in_range(Some(channel), w.channels.len());
    let cpus = |set: Option<u32>| in_range(set, w.cpu_sets.len());
    match *op {
        Op::Run(a) | Op::RunFor(a) | Op::Sleep(a) | Op::TimedSleep(a) => amount(a),
        Op::Timer { timer, period, .. } => {
            let known = match timer {
                TimerScope::Own(index) => (index as usize) < MAX_OWN_TIMERS,
                TimerScope::Shared(index) => index < w.nr_shared_timers,
            };
            known && period.0 > 0
        }
        Op::Lock(mutex) | Op::Unlock(mutex) => mutex < w.nr_mutexes,
        Op::CondWait { condition, mutex } => {
            condition < w.nr_conditions && mutex.is_none_or(|mutex| mutex < w.nr_mutexes)
        }
        Op::CondSignal(condition) | Op::CondBroadcast(condition) => condition < w.nr_conditions,
        Op::SemPost(index) | Op::SemWait(index) | Op::SemSleep(index) => {
            in_range(Some(index), w.semaphores.len())
        }
        Op::Barrier(index) => in_range(Some(index), w.barriers.len()),
        Op::Send { channel: c, .. } | Op::Receive { channel: c, .. } => channel(c),
        Op::ReceiveAll { channel: c } => channel(c),
        Op::Disk { disk, service } => disk < w.nr_disks && amount(service),
        Op::Fork(s) => spec(s),
        Op::SetNice(nice) => standing_is_possible(nice, TaskClass::Normal, 0),
        Op::SetClass(class, priority) => standing_is_possible(0, class, priority),
        Op::SetSlice(slice) => slice.is_none_or(slice_is_possible),
        Op::SetCpus(set) => cpus(set),
        Op::Renice(s, nice) => spec(s) && standing_is_possible(nice, TaskClass::Normal, 0),
        Op::Reclass(s, class, priority) => spec(s) && standing_is_possible(0, class, priority),
        Op::Repin(s, set) => spec(s) && cpus(set),
        Op::SetGroup(group) => in_range(group, w.control_groups.len()),
        Op::Regroup(s, group) => spec(s) && in_range(group, w.control_groups.len()),
        Op::Weigh(group, weight) => {
            in_range(Some(group), w.control_groups.len()) && weight_is_possible(weight)
        }
        Op::Limit(group, max) => {
            in_range(Some(group), w.control_groups.len()) && max.is_none_or(max_is_possible)
        }
        Op::Mark { mark: m, .. } | Op::StopClock { mark: m } => mark(m),
        Op::RunInKernel(_)
        | Op::SleepUntil(_)
        | Op::Rest
        | Op::Uninterruptible
        | Op::Exec
        | Op::WaitChild
        | Op::WaitAll
        | Op::Reap
        | Op::Yield
        | Op::WorkingSet(_)
        | Op::Loop {
            times: Times::Fixed(_) | Times::Forever | Times::Received,
            ..
        }
        | Op::EndLoop { .. }
        | Op::StartClock
        | Op::TakeClock
        | Op::Exit => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn what_is_written_is_read_again() {
        for name in builtin::list().into_iter().map(|builtin| builtin.name) {
            let workload = builtin::parse(name).unwrap();
            let text = to_json(&workload);
            assert!(is_exported(&text), "{name}");
            let again = parse("x.json", &text).unwrap();
            assert_eq!(again.name, "x");
            assert_eq!(
                to_json(&Workload {
                    name: workload.name.clone(),
                    source: workload.source.clone(),
                    ..again
                }),
                text,
                "{name}"
            );
        }
    }

    #[test]
    fn files_of_rt_app_are_not_exported_ones() {
        assert!(!is_exported("{ \"tasks\": {} }"));
        assert!(!is_exported(""));
    }

    #[test]
    fn what_does_not_fit_together_is_named() {
        let workload = builtin::parse("hackbench").unwrap();
        let text = to_json(&workload);
        for (from, to, problem) in [
            (
                "\"schedlab_workload\":1",
                "\"schedlab_workload\":7",
                "version 7",
            ),
            ("\"nice\":0", "\"nice\":40", "nice must be"),
            ("\"program\":0", "\"program\":99999", "no such program"),
            ("\"channel\":0", "\"channel\":9999", "does not exist"),
            ("\"capacity\":", "\"capacity\":0,\"x\":", "at least 1"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = parse("x.json", &text.replace(from, to))
                .unwrap_err()
                .to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert!(parse("x.json", &text[..text.len() / 2]).is_err());
    }
}
