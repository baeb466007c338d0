//! Helpers of the experiments of Roberson's paper: its schedulers, its mixes of programs, and
//! response times.

use std::collections::BTreeMap;

use schedlab_trace::{Event, EventKind, MarkId, Sink, TaskId, TaskInfo, Time, TraceInfo};

use crate::prelude::*;

/// The paper's machine with its second processor disabled, as in sections 5.1 to 5.3.
pub const MACHINE: &str = "athlon-mp-1900-1p";
/// The paper's machine with both, as in section 5.4.
pub const SMP: &str = "athlon-mp-1900-2p";

/// The schedulers of the paper's figures, and their policies.
pub const SCHEDULERS: [(&str, &str); 4] = [
    ("4BSD", "bsd4"),
    ("Solaris", "svr4"),
    ("Linux 2.5.73", "o1:2.5.73"),
    ("ULE", "ule"),
];
/// Places in [`SCHEDULERS`].
pub const BSD4: usize = 0;
/// Solaris.
pub const SOLARIS: usize = 1;
/// Linux 2.5.73.
pub const LINUX: usize = 2;
/// ULE.
pub const ULE: usize = 3;

/// Run and sleep time of a Mozilla, in ms.
pub type Mix = (u64, u64);
/// Runs and sleeps of a Mozilla in ms; the paper does not print its own.  A vi is 1 ms and 100 ms.
pub const MIXES: [Mix; 3] = [(20, 300), (25, 100), (60, 400)];
/// The mix that figures show: with it the compilers of Figure 4 take the paper's 45 s a batch.
pub const SHOWN: Mix = MIXES[0];

/// The nice values of Figure 3; the engine has Linux's range, so 19 is used for FreeBSD's 20.
pub const NICE: [i8; 9] = [-20, -15, -10, -5, 0, 5, 10, 15, 19];

/// A mix, for tables and figures.
pub fn mix_name((run, sleep): Mix) -> String {
    format!("{run}/{sleep} ms")
}

/// The options of `late` for 4 vi and 2 Mozilla.
pub fn interactive((run, sleep): Mix) -> String {
    format!("--task vi:count=4 --task mozilla:count=2,run={run}ms,sleep={sleep}ms")
}

/// The options of `late` for Figure 5: the same, and from 3 s on the hogs of Figure 3.
pub fn figure_5(mix: Mix) -> String {
    let hog = |nice: i8| format!(" --task hog{nice}:run=1s,nice={nice},start=3s");
    interactive(mix) + &NICE.map(hog).concat()
}

/// A minute of `late` on one CPU.
pub fn late(policy: &str, options: &str) -> Case {
    from_shell(Case::new(policy, MACHINE, &format!("late {options}")).seconds(60))
}

/// A shell that has slept for long starts all programs of the paper.  The policies' defaults give what children
/// inherit from it, except for Linux: there it is half (CHILD_PENALTY) of the 10 s a sleeper can have.
pub fn from_shell(case: Case) -> Case {
    match case.policy.as_str() {
        "o1:2.5.73" => case.set("initial_sleep_avg_ms", 5000),
        _ => case,
    }
}

/// The changes of a case: its policy and settings.
pub fn change(case: &Case) -> String {
    let settings = case
        .set
        .iter()
        .filter(|(name, _)| name != "initial_sleep_avg_ms");
    settings.fold(case.policy.clone(), |text, (name, value)| {
        format!("{text} {name}={value}")
    })
}

/// 4 vi and 2 Mozilla as tasks of schedlab's own language, in the background.
pub fn interactive_tasks((run, sleep): Mix) -> String {
    let task = |name: &str, count: u32, run: u64, sleep: u64, set: &str| {
        format!(
            "[task.{name}]\ncount = {count}\nbackground = true\nworking_set = \"{set}\"\nprogram = \"\"\"\n\
             sleep uniform(0ms, {}ms)\nforever\n  timed-sleep {sleep}ms\n  run {run}ms\n  \
             stop-clock {name}-response\nend\n\"\"\"\n\n",
            run + sleep
        )
    };
    task("vi", 4, 1, 100, "16KiB") + &task("mozilla", 2, run, sleep, "128KiB")
}

/// Runs cases into their own sinks and notes what was run: sinks by case and seed.
pub fn observe<S: Sink + Send>(
    lab: &Lab,
    findings: &mut Findings,
    cases: &[Case],
    sink: impl Fn() -> S + Sync,
) -> Result<Vec<Vec<S>>, Error> {
    let observed = lab.observe(cases, sink)?;
    let mut sinks = Vec::new();
    for (case, runs) in cases.iter().zip(observed) {
        let hashes = runs.iter().map(|(hash, _)| hash.to_string()).collect();
        findings.runs.insert(case.command(), hashes);
        if let crate::Work::Text { name, text } = &case.work {
            findings.workloads.insert(name.clone(), text.clone());
        }
        sinks.push(runs.into_iter().map(|(_, sink)| sink).collect());
    }
    Ok(sinks)
}

/// A response time of an interactive program.
#[derive(Clone, Copy, Debug)]
struct Response {
    task: TaskId,
    /// The time at which it should have been woken; the time of its wakeup if it never completed.
    from: f64,
    to: f64,
    answered: bool,
}

/// Collects the response times of vi and Mozilla: the delay of their wakeups plus the time of their work.
#[derive(Clone, Debug, Default)]
pub struct Responses {
    /// By task, its program's name.
    programs: BTreeMap<TaskId, String>,
    /// By mark, whether it is a response.
    marks: Vec<bool>,
    batch: Option<usize>,
    responses: Vec<Response>,
    /// When each batch of compilers began, in s.
    pub batches: Vec<f64>,
    /// The time since which a response is pending.
    woken: BTreeMap<TaskId, Time>,
    end: f64,
}

impl Sink for Responses {
    fn begin(&mut self, info: &TraceInfo) {
        self.marks = info.marks.iter().map(|m| m.ends_with("response")).collect();
        self.batch = info.marks.iter().position(|m| m == "batch");
    }

    fn task(&mut self, info: &TaskInfo) {
        if ["vi", "mozilla"].contains(&info.group.as_str()) {
            self.programs.insert(info.id, info.group.clone());
        }
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Waking { task, .. } if self.programs.contains_key(&task) => {
                self.woken.entry(task).or_insert(event.time);
            }
            EventKind::Latency { task, mark, ns } if self.is_response(task, mark) => {
                self.woken.remove(&task);
                let to = seconds(event.time);
                let from = to - ns.as_secs_f64();
                self.responses.push(Response {
                    task,
                    from,
                    to,
                    answered: true,
                });
            }
            EventKind::Mark { mark, .. } if Some(mark.0 as usize) == self.batch => {
                self.batches.push(seconds(event.time));
            }
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        self.end = seconds(time);
        for (task, from) in std::mem::take(&mut self.woken) {
            let (from, to) = (seconds(from), self.end);
            self.responses.push(Response {
                task,
                from,
                to,
                answered: false,
            });
        }
    }
}

impl Responses {
    fn is_response(&self, task: TaskId, mark: MarkId) -> bool {
        self.marks[mark.0 as usize] && self.programs.contains_key(&task)
    }

    /// The report of a program for the second before `end`, as late computes it: the mean of its completed
    /// responses, in s; if there is none, the time since the pending one; and whether one was completed.
    fn report(&self, task: TaskId, end: f64) -> (f64, bool) {
        let of_task = || self.responses.iter().filter(|r| r.task == task);
        let ended = of_task().filter(|r| r.answered && r.to > end - 1.0 && r.to <= end);
        let (count, sum) = ended.fold((0, 0.0), |(n, sum), r| (n + 1, sum + r.to - r.from));
        match count {
            0 => {
                let under_way = of_task().find(|r| r.from < end && r.to > end);
                (under_way.map_or(0.0, |r| end - r.from), under_way.is_none())
            }
            n => (sum / f64::from(n), true),
        }
    }

    /// The sum over all programs of what they report, second by second to the end of the run, in s.
    pub fn sums(&self) -> Vec<f64> {
        self.sums_of(&["vi", "mozilla"])
    }

    /// The same over the programs of these names.
    pub fn sums_of(&self, names: &[&str]) -> Vec<f64> {
        let tasks: Vec<TaskId> = self
            .programs
            .iter()
            .filter(|(_, name)| names.contains(&name.as_str()))
            .map(|(task, _)| *task)
            .collect();
        (1..=self.end as u32)
            .map(|end| {
                tasks
                    .iter()
                    .map(|task| self.report(*task, f64::from(end)).0)
                    .sum()
            })
            .collect()
    }

    /// Seconds in which at least one program had a pending response and completed none: gaps in its report.
    pub fn lost_seconds(&self) -> usize {
        let silent = |end: &u32| {
            self.programs
                .keys()
                .any(|task| !self.report(*task, f64::from(*end)).1)
        };
        (1..=self.end as u32).filter(silent).count()
    }

    /// The longest response, completed or pending, from the second `from` on, in s.
    pub fn worst(&self, from: f64) -> f64 {
        let late = self.responses.iter().filter(|r| r.to > from);
        late.map(|r| r.to - r.from).fold(0.0, f64::max)
    }
}

/// Runs of a policy with one mix, by seed.
pub struct Seeds(pub Vec<Responses>);

impl Seeds {
    /// A value of each seed.
    pub fn each(&self, value: impl Fn(&Responses) -> f64) -> Sample {
        self.0.iter().map(value).collect()
    }

    /// A value of each seed's sums from a second on.
    pub fn from(&self, second: usize, value: impl Fn(&[f64]) -> f64) -> Sample {
        self.each(|r| value(&r.sums()[second..]))
    }

    /// The mean sum from a second on.
    pub fn mean(&self, second: usize) -> Sample {
        self.from(second, mean)
    }
}

/// Runs by scheduler, then by mix.
pub type Grid = Vec<Vec<Seeds>>;

/// Runs such a case under each scheduler with each mix.
pub fn grid(
    lab: &Lab,
    findings: &mut Findings,
    case: impl Fn(&str, Mix) -> Case,
) -> Result<Grid, Error> {
    let mut cases = Vec::new();
    for (_, policy) in SCHEDULERS {
        cases.extend(MIXES.map(|mix| case(policy, mix).seeds(lab.pick(3, 1))));
    }
    let mut sinks = observe(lab, findings, &cases, Responses::default)?.into_iter();
    let row = |_| sinks.by_ref().take(MIXES.len()).map(Seeds).collect();
    Ok((0..SCHEDULERS.len()).map(row).collect())
}

/// A value of each mix, in s, as text.
pub fn by_mix(value: impl Fn(usize) -> f64) -> String {
    let texts: Vec<String> = (0..MIXES.len()).map(|m| time(value(m))).collect();
    texts.join(", ")
}

/// Does it hold with every mix?
pub fn all_mixes(holds: impl Fn(usize) -> bool) -> bool {
    (0..MIXES.len()).all(holds)
}

/// A time in seconds.
pub fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e9
}

/// The mean of a part of a series.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The largest of a part of a series.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The middle one of a part of a series.
pub fn median(values: &[f64]) -> f64 {
    let sample: Sample = values.iter().copied().collect();
    sample.median()
}

/// A value in s for the second before each full one; time counts from second `start`.
fn series(name: &str, style: usize, start: usize, values: &[f64]) -> Series {
    let point = |(i, y): (usize, &f64)| (1e9 * (i as f64 + 1.0 - start as f64), 1e9 * y);
    Series {
        name: name.to_string(),
        style: Style::Series(style),
        points: values.iter().enumerate().map(point).collect(),
    }
}

/// Seconds as a table's or a claim's time.
pub fn time(seconds: f64) -> String {
    Unit::Time.show(seconds * 1e9)
}

/// Sums of response times of several schedulers, on a logarithmic scale; time counts from `start`.
pub fn response_plot(
    title: &str,
    schedulers: &[(&str, &str)],
    start: usize,
    sums: impl Fn(usize) -> Vec<f64>,
) -> schedlab_report::svg::Figure {
    let lines: Vec<Series> = schedulers
        .iter()
        .enumerate()
        .map(|(i, (name, _))| series(name, i, start, &sums(i)))
        .collect();
    let end = lines
        .iter()
        .flat_map(|l| l.points.last())
        .map(|p| p.0)
        .fold(0.0, f64::max);
    let mut plot = Plot::sized(
        title,
        Axis::linear(
            "time since the load began",
            Unit::Time,
            -1e9 * start as f64,
            end,
        ),
        Axis::log("sum of response times", Unit::Time, 1e7, 1e11),
        schedlab_report::svg::WIDTH,
        340.0,
    );
    plot.lines(&lines);
    plot.finish()
}
