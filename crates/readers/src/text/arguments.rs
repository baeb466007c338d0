//! The arguments of an event, as the kernel prints them and as trace-cmd prints some of them.
//!
//! Names may contain anything, also blanks and `=`. So keys are searched from the end of the line,
//! where no name can look like a key.

use schedlab_recording::{Comm, KernelEventKind, KernelState, Pid, TaskRef};
use schedlab_trace::CpuId;

use super::head::{thread, Head};
use super::split::{first_word, last, last_key};
use crate::intake::{self, Intake};

/// The meaning of an event's text.
pub enum Said {
    /// An event that a recording needs.
    Event(KernelEventKind),
    /// An event of another kind.
    Other,
    /// A needed event with an invalid text.
    Nonsense,
}

/// Reads an event's text.
pub fn read(head: &Head<'_>, intake: &mut Intake) -> Said {
    let kind = match head.event {
        "sched_switch" => switch(head.arguments, intake),
        "sched_waking" => about_task(head.arguments, intake).and_then(|(task, rest)| {
            let target = target(rest)?;
            let by = head.by;
            Some(KernelEventKind::Waking { task, by, target })
        }),
        "sched_wakeup" | "sched_wakeup_new" => {
            about_task(head.arguments, intake).and_then(|(task, rest)| {
                let target = target(rest)?;
                let by = head.by;
                Some(KernelEventKind::Wakeup { task, by, target })
            })
        }
        "sched_migrate_task" => migrate(head.arguments, intake),
        "sched_process_fork" => fork(head.arguments, intake),
        "sched_process_exit" => {
            about_task(head.arguments, intake).map(|(task, _)| KernelEventKind::Exit { task })
        }
        "sched_process_exec" => exec(head.arguments),
        "task_newtask" => new_task(head.arguments, intake),
        "task_rename" => rename(head, intake),
        "sys_enter_sched_yield" | "sys_sched_yield()" => {
            head.pid.map(|pid| KernelEventKind::Yield { pid })
        }
        _ => return extra(head, intake).map_or(Said::Other, Said::Event),
    };
    kind.map_or(Said::Nonsense, Said::Event)
}

fn switch(text: &str, intake: &mut Intake) -> Option<KernelEventKind> {
    let (prev, state, next) = match text.strip_prefix("prev_comm=") {
        Some(text) => {
            let (prev, next) =
                last_key(text, " ==> next_comm=").or_else(|| last_key(text, " next_comm="))?;
            let (comm, rest) = last_key(prev, " prev_pid=")?;
            let prev = task(comm, rest, " prev_prio=", intake)?;
            let state = value(rest, " prev_state=")?;
            let (comm, rest) = last_key(next, " next_pid=")?;
            (prev, state, task(comm, rest, " next_prio=", intake)?)
        }
        None => {
            let (prev, next) = text.rsplit_once(" ==> ")?;
            let (prev, state) = last(prev, b' ')?;
            let prev = brief_task(prev, intake)?.0;
            (prev, state, brief_task(next, intake)?.0)
        }
    };
    Some(KernelEventKind::Switch {
        prev,
        prev_state: state_of(state)?,
        next,
    })
}

/// The letters, or with `trace-cmd report -R` the bits in their meaning since Linux 4.14.
fn state_of(text: &str) -> Option<KernelState> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let bits = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => text.parse().ok()?,
        };
        return Some(intake::state_of_bits(bits));
    }
    let is_letter = |c: char| c.is_ascii_alphabetic() || matches!(c, '+' | '|' | '?');
    let letters = !text.is_empty() && text.chars().all(is_letter);
    letters.then(|| KernelState::of_letters(text))
}

/// "comm=X pid=1 prio=120 …", or trace-cmd's "X:1 [120] …": the task, and the text after its id.
fn about_task<'a>(text: &'a str, intake: &mut Intake) -> Option<(TaskRef, &'a str)> {
    match text.strip_prefix("comm=") {
        Some(text) => {
            let (comm, rest) = last_key(text, " pid=")?;
            Some((task(comm, rest, " prio=", intake)?, rest))
        }
        None => brief_task(text, intake),
    }
}

/// "X:1 [120] rest", trace-cmd's format of tasks.
fn brief_task<'a>(text: &'a str, intake: &mut Intake) -> Option<(TaskRef, &'a str)> {
    let (who, rest) = text.rsplit_once(" [")?;
    let (prio, rest) = rest.split_once(']')?;
    let (comm, pid) = last(who, b':')?;
    let pid = thread(pid)?;
    let comm = intake.comm(comm);
    Some((intake::task(pid, comm, Some(prio.parse().ok()?)), rest))
}

/// A task; `rest` begins with its thread id.
fn task(comm: &str, rest: &str, prio: &str, intake: &mut Intake) -> Option<TaskRef> {
    let pid = thread(first_word(rest))?;
    let comm: Comm = intake.comm(comm);
    let prio = match value(rest, prio) {
        Some(prio) => Some(prio.parse().ok()?),
        None => None,
    };
    Some(intake::task(pid, comm, prio))
}

fn target(rest: &str) -> Option<CpuId> {
    let target = value(rest, " target_cpu=").or_else(|| Some(rest.rsplit_once("CPU:")?.1))?;
    intake::cpu(target.parse::<u64>().ok()?)
}

fn migrate(text: &str, intake: &mut Intake) -> Option<KernelEventKind> {
    let (task, rest) = about_task(text, intake)?;
    let cpu = |key| intake::cpu(value(rest, key)?.parse::<u64>().ok()?);
    let (from, to) = (cpu(" orig_cpu=")?, cpu(" dest_cpu=")?);
    Some(KernelEventKind::Migrate { task, from, to })
}

/// "comm=X pid=1 child_comm=Y child_pid=2"; with `trace-cmd report -R` the parent's keys begin with
/// "parent_".
fn fork(text: &str, intake: &mut Intake) -> Option<KernelEventKind> {
    let (text, child) = last_key(text, " child_pid=")?;
    let (text, child_comm) = last_key(text, " child_comm=")?;
    let parent = last_key(text, " pid=");
    let (_, parent) = parent.or_else(|| last_key(text, " parent_pid="))?;
    Some(KernelEventKind::Fork {
        parent: thread(parent)?,
        child: thread(first_word(child))?,
        child_comm: intake.comm(child_comm),
    })
}

/// "filename=/bin/x pid=1 old_pid=1"
fn exec(text: &str) -> Option<KernelEventKind> {
    let (_, rest) = last_key(text, " pid=")?;
    let pid = thread(first_word(rest))?;
    Some(KernelEventKind::Exec { pid })
}

/// "pid=2 comm=X clone_flags=1200000 oom_score_adj=0"
fn new_task(text: &str, intake: &mut Intake) -> Option<KernelEventKind> {
    let (text, rest) = last_key(text, " clone_flags=")?;
    let (pid, comm) = text.strip_prefix("pid=")?.split_once(" comm=")?;
    let flags = u64::from_str_radix(first_word(rest), 16).ok()?;
    Some(KernelEventKind::NewTask {
        pid: thread(pid)?,
        comm: intake.comm(comm),
        thread: intake::is_thread(flags),
    })
}

/// "pid=1 oldcomm=X newcomm=Y oom_score_adj=0"; newer kernels omit the running task's id.
fn rename(head: &Head<'_>, intake: &mut Intake) -> Option<KernelEventKind> {
    let (text, _) = last_key(head.arguments, " oom_score_adj=")?;
    let (before, comm) = last_key(text, " newcomm=")?;
    let pid = match before.strip_prefix("pid=") {
        Some(rest) => thread(first_word(rest))?,
        None => head.pid?,
    };
    let comm = intake.comm(comm);
    Some(KernelEventKind::Rename { pid, comm })
}

/// Optional events: some tools print them in other formats, and a recording works without them.
fn extra(head: &Head<'_>, intake: &mut Intake) -> Option<KernelEventKind> {
    match head.event {
        "sched_stat_runtime" => runtime(head.arguments, intake),
        "sys_enter" => enter(head.pid?, head.arguments),
        "sys_exit" => leave(head.pid?, head.arguments),
        _ => None,
    }
}

/// "comm=X pid=1 runtime=1000 [ns]"
fn runtime(text: &str, intake: &mut Intake) -> Option<KernelEventKind> {
    let (comm, rest) = last_key(text.strip_prefix("comm=")?, " pid=")?;
    let task = task(comm, rest, " prio=", intake)?;
    let ns = value(rest, " runtime=")?.parse().ok()?;
    Some(KernelEventKind::Runtime { task, ns })
}

/// "NR 0 (3, 7ffd10, 40, 0, 0, 0)": the number and the arguments in hexadecimal digits.
fn enter(pid: Pid, text: &str) -> Option<KernelEventKind> {
    let (call, arguments) = text.strip_prefix("NR ")?.split_once(" (")?;
    let mut words = arguments.strip_suffix(')')?.split(", ");
    let mut word = || u64::from_str_radix(words.next()?, 16).ok();
    let arguments = [word()?, word()?, word()?];
    Some(KernelEventKind::enter(pid, call.parse().ok()?, arguments))
}

/// "NR 0 = 64"
fn leave(pid: Pid, text: &str) -> Option<KernelEventKind> {
    let (call, result) = text.strip_prefix("NR ")?.split_once(" = ")?;
    Some(KernelEventKind::Return {
        pid,
        call: call.parse().ok()?,
        result: result.parse().ok()?,
    })
}

/// The value of a key in "1 key=value key=value"; values contain no blanks.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    last_key(text, key).map(|(_, value)| first_word(value))
}
