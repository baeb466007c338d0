//! The layout of `perf sched timehist`.

use std::io::{self, BufWriter, Write};

use schedlab_trace::{printable, Event, EventKind, Sink, TaskId, TaskInfo, Time, TraceInfo};

use super::{ms, seconds};

/// Prints a line whenever a task stops running: how long it had been away, how much of that it
/// waited for a CPU, how long it ran.
pub struct Timehist<W: Write> {
    out: BufWriter<W>,
    /// The first error; nothing is printed after it.
    error: Option<io::Error>,
    /// Added to the trace's times: perf shows the times of the recording.
    start: Time,
    tasks: Vec<Task>,
    /// For each CPU, the time since which its task runs.
    since: Vec<Time>,
}

#[derive(Clone, Default)]
struct Task {
    /// "name[tid/pid]"
    label: String,
    /// When it last stopped.
    stopped: Option<Time>,
    /// The time it was woken.
    ready: Option<Time>,
}

/// How long a task was away before it ran, waited before it ran, and ran.
#[derive(Clone, Copy, Default)]
struct Spell {
    wait_ns: u64,
    delay_ns: u64,
    run_ns: u64,
}

impl<W: Write> Timehist<W> {
    /// Will print a trace whose time 0 was `start` on the recording's clock.
    pub fn new(out: W, start: Time) -> Timehist<W> {
        Timehist {
            out: BufWriter::new(out),
            error: None,
            start,
            tasks: Vec::new(),
            since: Vec::new(),
        }
    }

    /// Prints the rest.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn print(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = self.out.write_all(text.as_bytes()).err();
        }
    }

    fn line(&mut self, event: &Event, label: &str, spell: Spell) {
        let time = seconds(self.start.0 + event.time.0);
        let (wait, delay, run) = (ms(spell.wait_ns), ms(spell.delay_ns), ms(spell.run_ns));
        let cpu = event.cpu.0;
        self.print(&format!(
            "{time:>15} [{cpu:04}]  {label:<30} {wait:>10} {delay:>10} {run:>10} \n"
        ));
    }

    fn switch(&mut self, event: &Event, prev: Option<TaskId>) {
        let since = std::mem::replace(&mut self.since[event.cpu.index()], event.time);
        let run_ns = event.time.since(since).0;
        let Some(prev) = prev else {
            let spell = Spell {
                run_ns,
                ..Spell::default()
            };
            return self.line(event, "<idle>", spell);
        };
        let task = &mut self.tasks[prev.index()];
        let before = |time: Time| since.0.saturating_sub(time.0);
        let spell = Spell {
            wait_ns: task.stopped.map_or(0, before),
            delay_ns: task.ready.take().map_or(0, before),
            run_ns,
        };
        task.stopped = Some(event.time);
        let label = task.label.clone();
        self.line(event, &label, spell);
    }
}

impl<W: Write> Sink for Timehist<W> {
    fn begin(&mut self, info: &TraceInfo) {
        self.since = vec![Time::ZERO; info.nr_cpus as usize];
        let (tid, ms) = ("[tid/pid]", "(msec)");
        self.print(&format!(
            "{:>15} {:<6}  {:<30}  {:>9}  {:>9}  {:>9}\n",
            "time", "   cpu", "task name", "wait time", "sch delay", "run time"
        ));
        self.print(&format!(
            "{:>15} {:<6}  {tid:<30}  {ms:>9}  {ms:>9}  {ms:>9}\n",
            "", ""
        ));
        let dashes = |n| "-".repeat(n);
        self.print(&format!(
            "{} {}  {}  {}  {}  {}\n",
            dashes(15),
            dashes(6),
            dashes(30),
            dashes(9),
            dashes(9),
            dashes(9)
        ));
    }

    fn task(&mut self, info: &TaskInfo) {
        if self.tasks.len() <= info.id.index() {
            self.tasks.resize(info.id.index() + 1, Task::default());
        }
        let pid = info.pid.unwrap_or_else(|| schedlab_trace::pid(info.id));
        let ids = match info.process == pid || info.pid.is_none() {
            true => format!("[{pid}]"),
            false => format!("[{pid}/{}]", info.process),
        };
        self.tasks[info.id.index()].label = format!("{}{ids}", printable(&info.name));
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Waking { task, .. } | EventKind::Wakeup { task, .. } => {
                self.tasks[task.index()].ready.get_or_insert(event.time);
            }
            // The trace begins with switches to the running tasks.
            EventKind::Switch { prev: None, .. } if event.time == Time::ZERO => {}
            EventKind::Switch { prev, .. } => self.switch(event, prev),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_trace::{CpuId, PrevState, TaskClass};

    /// Thread 8 of process 7 runs until 1 ms, is woken at 3 ms and runs from 4 to 9 ms: away for
    /// 3 ms, of which it waited 1 ms.
    #[test]
    fn a_line_for_each_time_a_task_ran() {
        let mut text = Vec::new();
        let mut timehist = Timehist::new(&mut text, Time(2_000_000_000));
        timehist.begin(&TraceInfo {
            nr_cpus: 1,
            ..TraceInfo::default()
        });
        timehist.task(&TaskInfo {
            id: TaskId(0),
            name: "a".into(),
            group: "a".into(),
            control_group: None,
            process: 7,
            pid: Some(8),
            nice: 0,
            class: TaskClass::Normal,
            rt_priority: 0,
        });
        let task = TaskId(0);
        let (by, target) = (schedlab_trace::WakeContext::Irq, CpuId(0));
        let switch = |prev, prev_state, next| EventKind::Switch {
            prev,
            prev_state,
            next,
        };
        for (ms, kind) in [
            (0, switch(None, PrevState::Idle, Some(task))),
            (1, switch(Some(task), PrevState::Sleeping, None)),
            (3, EventKind::Waking { task, by }),
            (3, EventKind::Wakeup { task, target }),
            (4, switch(None, PrevState::Idle, Some(task))),
            (9, switch(Some(task), PrevState::Sleeping, None)),
        ] {
            let (time, cpu) = (Time(ms * 1_000_000), CpuId(0));
            timehist.event(&Event { time, cpu, kind });
        }
        timehist.finish().unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().skip(3).collect();
        let blanks = " ".repeat(24);
        assert_eq!(
            lines,
            [
                format!("       2.001000 [0000]  a[8/7]{blanks}      0.000      0.000      1.000 "),
                format!("       2.004000 [0000]  <idle>{blanks}      0.000      0.000      3.000 "),
                format!("       2.009000 [0000]  a[8/7]{blanks}      3.000      1.000      5.000 "),
            ]
        );
    }
}
