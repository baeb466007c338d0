//! The layout of `perf sched latency -p`.

use std::fmt::Write;

use schedlab_trace::{printable, Event, EventKind, PrevState, Sink, TaskId, TaskInfo, Time};

use super::seconds;

/// The line above and below the head.
const RULE: usize = 139;

/// Measures for each task how long it waited for a CPU, from becoming runnable to running.
pub struct Latency {
    /// Added to the trace's times: perf shows the times of the recording.
    start: Time,
    tasks: Vec<Task>,
}

#[derive(Clone, Default)]
struct Task {
    name: String,
    pid: u32,
    run_ns: u64,
    /// The time since which it runs.
    running: Option<Time>,
    /// The time since which it waits.
    waiting: Option<Time>,
    /// Whether an event has named it.
    known: bool,
    nr_delays: u64,
    sum_ns: u64,
    worst: Option<Delay>,
}

#[derive(Clone, Copy)]
struct Delay {
    start: Time,
    end: Time,
}

impl Delay {
    fn ns(self) -> u64 {
        self.end.since(self.start).0
    }
}

impl Latency {
    /// Will measure a trace whose time 0 was `start` on the recording's clock.
    pub fn new(start: Time) -> Latency {
        Latency {
            start,
            tasks: Vec::new(),
        }
    }

    /// The table: tasks that ran after a wait, those with the longest average wait first.
    pub fn text(&self) -> String {
        let mut tasks: Vec<&Task> = self.tasks.iter().filter(|t| t.nr_delays > 0).collect();
        let average = |task: &Task| task.sum_ns / task.nr_delays;
        let worst = |task: &Task| task.worst.map_or(0, Delay::ns);
        tasks.sort_by_key(|task| std::cmp::Reverse((average(task), worst(task), task.nr_delays)));
        let rule = format!(" {}\n", "-".repeat(RULE));
        let mut out = format!(
            "\n{rule}  Task                  |   Runtime ms  |  Count   | Avg delay ms    | \
             Max delay ms    | Max delay start           | Max delay end          |\n{rule}"
        );
        for task in &tasks {
            self.line(task, average(task), &mut out);
        }
        let run_ns: u64 = tasks.iter().map(|task| task.run_ns).sum();
        let nr_delays: u64 = tasks.iter().map(|task| task.nr_delays).sum();
        let total = run_ns as f64 / 1e6;
        let _ = write!(
            out,
            " {}\n  TOTAL:                |{total:11.3} ms |{nr_delays:9} |\n {}\n\n",
            "-".repeat(113),
            "-".repeat(51)
        );
        out
    }

    fn line(&self, task: &Task, average: u64, out: &mut String) {
        let who = format!("{}:{} ", printable(&task.name), task.pid);
        let ms = |ns: u64| ns as f64 / 1e6;
        let at = |time: Option<Time>| seconds(time.map_or(0, |time| self.start.0 + time.0));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "  {who:<22}|{:11.3} ms |{:9} | avg:{:8.3} ms | max:{:8.3} ms | \
             max start: {:>12} s | max end: {:>12} s",
            ms(task.run_ns),
            task.nr_delays,
            ms(average),
            ms(task.worst.map_or(0, Delay::ns)),
            at(task.worst.map(|worst| worst.start)),
            at(task.worst.map(|worst| worst.end)),
        );
    }

    fn task(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.index()]
    }

    fn waits(&mut self, task: TaskId, time: Time) {
        let task = self.task(task);
        task.waiting.get_or_insert(time);
        task.known = true;
    }

    fn starts(&mut self, task: TaskId, time: Time) {
        let task = self.task(task);
        task.running = Some(time);
        // perf takes an unknown task as woken at this moment.
        let first_heard = !std::mem::replace(&mut task.known, true) && time > Time::ZERO;
        let since = task.waiting.take().or(first_heard.then_some(time));
        let Some(start) = since else { return };
        let delay = Delay { start, end: time };
        task.nr_delays += 1;
        task.sum_ns += delay.ns();
        if delay.ns() > task.worst.map_or(0, Delay::ns) {
            task.worst = Some(delay);
        }
    }

    fn stops(&mut self, task: TaskId, time: Time) {
        let task = self.task(task);
        if let Some(start) = task.running.take() {
            task.run_ns += time.since(start).0;
        }
    }
}

impl Sink for Latency {
    fn task(&mut self, info: &TaskInfo) {
        if self.tasks.len() <= info.id.index() {
            self.tasks.resize(info.id.index() + 1, Task::default());
        }
        let task = Latency::task(self, info.id);
        task.name = info.name.clone();
        task.pid = info.pid.unwrap_or_else(|| schedlab_trace::pid(info.id));
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Wakeup { task, .. } if self.tasks[task.index()].running.is_none() => {
                self.waits(task, event.time);
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                if let Some(prev) = prev {
                    self.stops(prev, event.time);
                    if let PrevState::Preempted | PrevState::Yielded | PrevState::Moved = prev_state
                    {
                        self.waits(prev, event.time);
                    }
                }
                if let Some(next) = next {
                    self.starts(next, event.time);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        for index in 0..self.tasks.len() {
            self.stops(TaskId(index as u32), time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_trace::{CpuId, TaskClass};

    /// "a" is woken at 1 ms, runs from 3 to 7 ms, is preempted until 8 ms and runs until 10 ms:
    /// 6 ms, two delays of 2 and 1 ms.
    #[test]
    fn delays_are_waits_for_a_cpu() {
        let mut latency = Latency::new(Time(5_000_000_000));
        let info = TaskInfo {
            id: TaskId(0),
            name: "a".into(),
            group: "a".into(),
            control_group: None,
            process: 7,
            pid: Some(7),
            nice: 0,
            class: TaskClass::Normal,
            rt_priority: 0,
        };
        Sink::task(&mut latency, &info);
        let task = TaskId(0);
        let (run, wait) = (Some(task), PrevState::Preempted);
        let switch = |prev, prev_state, next| EventKind::Switch {
            prev,
            prev_state,
            next,
        };
        let cpu = CpuId(0);
        for (ms, kind) in [
            (1, EventKind::Wakeup { task, target: cpu }),
            (3, switch(None, PrevState::Idle, run)),
            (7, switch(run, wait, None)),
            (8, switch(None, PrevState::Idle, run)),
            (10, switch(run, PrevState::Sleeping, None)),
        ] {
            let time = Time(ms * 1_000_000);
            latency.event(&Event { time, cpu, kind });
        }
        latency.end(Time(11_000_000));
        let line = "  a:7                   |      6.000 ms |        2 | avg:   1.500 ms | \
                    max:   2.000 ms | max start:     5.001000 s | max end:     5.003000 s";
        let text = latency.text();
        assert!(text.lines().any(|l| l == line), "{text}");
        assert!(text.contains("  TOTAL:                |      6.000 ms |        2 |\n"));
    }
}
