//! The same scheduler in a real kernel and in the model: what happened in a recording of `tests/recorded` happens again,
//! and every operation must be called as it was there.
//!
//! What the recording does not hold is read from what follows from it: a `tick` is the kernel's tick, `dispatch` without
//! a switch is a schedule() that stays where it is, and a weight or a disabled task that nothing else explains are a
//! change of nice value or of class.

use std::collections::BTreeMap;

use schedlab_policy::Class;
use schedlab_trace::TaskId;

use super::kernel::{flat, normal, Script};
use super::scheduler::{load, Attached, Scheduler};

/// What a change of group calls: stopping, quiescent, runnable, running.
const LEFT_GROUP: usize = 4;

/// One line of a recording: time in ns, what, and its words.
type Line<'a> = (u64, &'a str, Vec<&'a str>);

fn lines(text: &str) -> Vec<Line<'_>> {
    let parsed = text.lines().map(|line| {
        let mut words = line.split(' ');
        let time: u64 = words.next().unwrap().parse().unwrap();
        (time * 1000, words.next().unwrap(), words.collect())
    });
    parsed.collect()
}

/// The nice value with this weight of control groups: 0, 1, 5, 10, 19.
fn nice_of(weight: &str) -> i8 {
    match weight {
        "64" => 0,
        "50" => 1,
        "21" => 5,
        "b" => 10,
        "1" => 19,
        other => panic!("what is weight {other}?"),
    }
}

/// A priority below 100 is a real-time one, of a task or of the stopper.
fn is_real_time(priority: &str) -> bool {
    priority.parse::<i32>().unwrap() < 100
}

struct Replay<'a> {
    script: Script,
    lines: Vec<Line<'a>>,
    tasks: BTreeMap<&'a str, TaskId>,
    real_time: BTreeMap<&'a str, bool>,
    running: &'a str,
    exited: Vec<&'a str>,
    noted: Vec<String>,
    /// The task that has called sched_yield(), which has not happened yet.
    yielding: Option<&'a str>,
}

impl<'a> Replay<'a> {
    fn new(text: &'a str, scheduler: &Scheduler) -> Replay<'a> {
        let mut replay = Replay {
            script: Script::of(&flat(1), scheduler).unwrap(),
            lines: lines(text),
            tasks: BTreeMap::new(),
            real_time: BTreeMap::new(),
            running: "0",
            exited: Vec::new(),
            noted: Vec::new(),
            yielding: None,
        };
        replay.begin();
        replay
    }

    /// The tasks that were there before, asleep, and the one that ran.
    fn begin(&mut self) {
        self.script.now = self.lines[0].0 - 1000;
        let mut born = Vec::new();
        let mut there = Vec::new();
        for (_, what, words) in &self.lines {
            let named: &[&str] = match *what {
                "fork" => {
                    born.push(words[1]);
                    &words[..1]
                }
                "switch" => &[words[0], words[3]],
                "wakeup" | "exit" => &words[..1],
                "@init_task" => {
                    born.push(words[0]);
                    &[]
                }
                _ => &[],
            };
            for &pid in named {
                if pid != "0" && !born.contains(&pid) && !there.contains(&pid) {
                    there.push(pid);
                }
            }
        }
        for (_, what, words) in self.lines.clone() {
            if what == "switch" {
                self.real_time
                    .entry(words[0])
                    .or_insert(is_real_time(words[1]));
                self.real_time
                    .entry(words[3])
                    .or_insert(is_real_time(words[4]));
            }
        }
        for &pid in &there {
            let mut new = normal(0);
            if self.real_time.get(pid) == Some(&true) {
                (new.class, new.rt_priority) = (Class::Fifo, 99);
            }
            let task = self.script.add(&new);
            self.tasks.insert(pid, task);
        }
        let first = self
            .lines
            .iter()
            .find(|(_, what, _)| *what == "switch")
            .unwrap();
        self.running = first.2[0];
        if self.running != "0" {
            let task = self.tasks[self.running];
            self.script.wake_new(0, task);
            self.script.schedule(0);
        }
        self.script.notes();
    }

    /// Plays all; what was noted, with the numbers of the recording.
    fn play(&mut self) {
        for at in 0..self.lines.len() {
            let (time, what, words) = self.lines[at].clone();
            self.script.now = time;
            self.event(at, what, &words);
            let pids: BTreeMap<String, &str> = self
                .tasks
                .iter()
                .map(|(pid, task)| ((1000 + task.0).to_string(), *pid))
                .collect();
            for note in self.script.notes() {
                let words: Vec<&str> = note.split(' ').collect();
                let pid = pids.get(words[1]).copied().unwrap_or(words[1]);
                self.noted.push(format!("@{} {pid} {}", words[0], words[2]));
            }
            assert!(self.script.fault.is_none(), "{}", self.script.ended());
        }
    }

    fn event(&mut self, at: usize, what: &str, words: &[&'a str]) {
        match what {
            "@init_task" => {
                let pid = words[0];
                let nice = self.lines[at..]
                    .iter()
                    .find(|(_, what, words)| *what == "@set_weight" && words[0] == pid);
                let nice = nice.map_or(0, |(_, _, words)| nice_of(words[1]));
                let task = self.script.fork(0, &normal(nice));
                self.tasks.insert(pid, task);
            }
            // The task that runs is woken before it has gone to sleep: it does not.
            "wakeup" if self.running == words[0] => {}
            "wakeup" => self.script.wake(0, self.tasks[words[0]]),
            "wakeup_new" => self.script.wake_new(0, self.tasks[words[0]]),
            "exit" => self.exited.push(words[0]),
            "@tick" => {
                self.script.tick(0, 0);
            }
            "@dispatch" if !self.switches(at) => {
                self.schedule(words[0]);
            }
            "@enable" if self.is_change(at, "@init_task", words[0]) => {
                self.yielding = None;
                let task = self.tasks[words[0]];
                // A nice value that it got meanwhile shows now.
                let nice = nice_of(self.lines[at + 1].2[1]);
                self.script.set_nice(0, task, nice);
                self.script.set_class(0, task, Class::Normal, 0);
                // In Linux 7.2 it comes back without a slice, in 7.1 with what it had.
                self.script.set_slice(task, 0);
            }
            "@set_weight" if !self.is_part(at, words[0]) => {
                let task = self.tasks[words[0]];
                self.script.set_nice(0, task, nice_of(words[1]));
            }
            "@disable" if !self.exited.contains(&words[0]) => {
                let task = self.tasks[words[0]];
                self.script.set_class(0, task, Class::Fifo, 10);
            }
            // An interrupt may come between the system call and what it does.
            "yield" if self.running == words[0] => self.yielding = Some(words[0]),
            "switch" => self.switch(words),
            _ => {}
        }
    }

    /// The switch that follows, before anything else happens.
    fn next_switch(&self, at: usize) -> Option<&Line<'a>> {
        let mut after = self.lines[at + 1..].iter();
        let apart = ["@tick", "@dispatch", "@enable", "@set_weight"];
        let parts = |what: &str| !what.starts_with('@') || apart.contains(&what);
        let next = after.find(|(_, what, _)| parts(what));
        next.filter(|(_, what, _)| *what == "switch")
    }

    /// The CPU's task, which is ready to go on, yields or is rescheduled.
    fn schedule(&mut self, pid: &str) -> Option<TaskId> {
        match self.yielding.take() == Some(pid) {
            true => self.script.yields(0),
            false => self.script.schedule(0),
        }
    }

    fn switches(&self, at: usize) -> bool {
        self.next_switch(at).is_some()
    }

    /// It does not belong to this operation of the same task just before.
    fn is_change(&self, at: usize, of: &str, pid: &str) -> bool {
        let before = &self.lines[at.saturating_sub(2)..at];
        !before
            .iter()
            .any(|(_, what, words)| *what == of && words[0] == pid)
    }

    /// A weight is set when a task is enabled, and before it leaves for another class.
    fn is_part(&self, at: usize, pid: &str) -> bool {
        !self.is_change(at, "@init_task", pid) || !self.is_change(at, "@enable", pid)
    }

    fn switch(&mut self, words: &[&'a str]) {
        let (prev, state, next) = (words[0], words[2], words[3]);
        let picked = match (prev, state) {
            ("0", _) | (_, "R" | "R+") => self.schedule(prev),
            (_, "X" | "Z") => self.script.exit(0),
            _ => self.script.block(0),
        };
        self.yielding = None;
        let expected = (next != "0").then(|| self.tasks[next]);
        assert_eq!(
            picked,
            expected,
            "at {} ns from {prev} to {next}, after\n{}",
            self.script.now,
            self.noted[self.noted.len().saturating_sub(12)..].join("\n")
        );
        self.running = next;
    }
}

/// The operations of a recording, as "@NAME process argument".
///
/// FIDELITY: what do_exit() does on the way out, beginning with sched_autogroup_exit_task(), is one step in the
/// simulator; here that step is put together, after what the dying task did for its parent.
fn operations(lines: &[Line]) -> Vec<String> {
    let (mut operations, mut exiting) = (Vec::new(), BTreeMap::new());
    for (_, what, words) in lines {
        let operation = format!("{what} {}", words.join(" "));
        let left = match *what {
            "exit" => {
                exiting.insert(words[0], Vec::new());
                continue;
            }
            _ if !what.starts_with('@') => continue,
            "@stopping" | "@quiescent" | "@runnable" | "@running" => exiting.get_mut(words[0]),
            _ => None,
        };
        match left {
            Some(left) if left.len() < LEFT_GROUP => left.push(operation),
            Some(left) => {
                operations.append(left);
                exiting.remove(words[0]);
                operations.push(operation);
            }
            None => operations.push(operation),
        }
    }
    operations
}

/// What the model called.  Linux 7.1 sets the weight of a task that has just left for another class, in
/// __setscheduler_params(); Linux 7.2, where these recordings are from, does not.
fn without_late_weights(noted: &[String]) -> Vec<&String> {
    let is_late = |at: usize| {
        let (weight, before) = (&noted[at], at.checked_sub(1).map_or("", |at| &noted[at]));
        let pid = weight.split(' ').nth(1).unwrap();
        weight.starts_with("@set_weight ") && before == format!("@disable {pid} 0")
    };
    let kept = (0..noted.len()).filter(|&at| !is_late(at));
    kept.map(|at| &noted[at]).collect()
}

/// The scheduler of tests/recorded.
fn noted() -> Scheduler {
    let source = include_str!("../../recorded/noted.h").replace("OP_SLEEPS(", "OP(");
    let without = Attached {
        without: &["set_cpumask", "exit"],
        ..Attached::default()
    };
    let topology = schedlab_scx::Topology { cpus: flat(1) };
    load(&source, &topology, &without)
}

/// Plays a recording and compares; the operations that it holds.
fn compare(text: &str, scheduler: &Scheduler) -> usize {
    let mut replay = Replay::new(text, scheduler);
    replay.play();
    let recorded = operations(&replay.lines);
    let noted = without_late_weights(&replay.noted);
    for (i, (&model, kernel)) in noted.iter().zip(&recorded).enumerate() {
        let before = recorded[i.saturating_sub(6)..i].join("\n");
        assert_eq!(model, kernel, "operation {i}, after\n{before}");
    }
    assert_eq!(noted.len(), recorded.len());
    recorded.len()
}

/// Why a script cannot be compared; none if it can.
fn incomparable(text: &str) -> Option<&'static str> {
    let (mut exited, mut known, mut dead) = (Vec::new(), vec!["0"], None);
    for (_, what, words) in lines(text) {
        if let Some(pid) = dead {
            let parts = ["@disable", "@exit_task"].contains(&what) && words[0] == pid;
            if !parts {
                return Some("the tick came within the last switch of a task, which is one step");
            }
            dead = (what != "@exit_task").then_some(pid);
        }
        match what {
            "exit" => exited.push(words[0]),
            "wakeup" | "wakeup_new" | "fork" => known.extend(words.iter().copied()),
            "switch" if exited.contains(&words[0]) && words[2].starts_with('R') => {
                return Some(
                    "a task lost its CPU while it exited, which is one step in the simulator",
                );
            }
            "switch" => {
                dead = ["X", "Z"].contains(&words[2]).then_some(words[0]);
                known.push(words[0]);
                if !known.contains(&words[3]) {
                    return Some("a task of before was runnable when it began");
                }
            }
            _ => {}
        }
    }
    None
}

/// Compares each script of a recording; how many were equal, operations of those, and how many were not compared, by
/// cause.
fn compare_scripts(text: &str) -> (usize, usize, BTreeMap<&'static str, usize>) {
    let scheduler = noted();
    let (mut equal, mut operations, mut left) = (0, 0, BTreeMap::new());
    let starts = text
        .match_indices(" script ")
        .map(|(at, _)| text[..at].rfind('\n'));
    let starts: Vec<usize> = starts.map(|at| at.map_or(0, |at| at + 1)).collect();
    for part in starts.windows(2) {
        let script = &text[part[0]..part[1]];
        match incomparable(script) {
            Some(cause) => *left.entry(cause).or_default() += 1,
            None => {
                println!("{}", script.lines().next().unwrap());
                operations += compare(script, &scheduler);
                equal += 1;
            }
        }
    }
    (equal, operations, left)
}

/// The first 30 of the random scripts.
#[test]
fn operations_of_random_scripts_are_called_as_in_a_real_kernel() {
    let text = include_str!("../../recorded/scripts-7.2.events");
    let (equal, operations, left) = compare_scripts(text);
    assert_eq!(equal + left.values().sum::<usize>(), 30);
    assert!(
        equal >= 25 && operations > 2500,
        "{equal} scripts, {operations} operations, {left:?}"
    );
}

/// A recording of random scripts that SCHEDLAB_EVENTS names: see tests/recorded/record.sh.
#[test]
fn operations_are_called_as_in_the_recording_that_is_named() {
    let Some(path) = std::env::var_os("SCHEDLAB_EVENTS") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let (equal, operations, left) = compare_scripts(&text);
    println!("{equal} scripts, {operations} operations: 0 differences; not compared: {left:?}");
}

#[test]
fn operations_are_called_as_in_a_real_kernel() {
    let compared = compare(include_str!("../../recorded/linux-7.2.events"), &noted());
    assert!(compared > 700, "{compared}");
}
