//! late: simulated applications that compute, sleep, and record how late they ran.
//!
//! After the tool of that name in the ULE paper (BSDCon 2003): a task runs R, sleeps S and
//! repeats.  Its response time is the delay of its wakeup plus the time of its work; the mark
//! "NAME response" records the sum, "NAME lateness" the delay alone.  The paper does not print R
//! and S of its applications; the presets are placeholders of this project.
//!
//! Batches are gated as a build's stages are: all tasks exist from the start, as the paper's
//! waited for a signal, and a batch starts when the last task of the one before has ended.

use std::collections::BTreeSet;

use schedlab_input::{nearest, Diagnostic};
use schedlab_trace::Ns;

use super::errors::bad_option;
use super::values::{nice, number, positive_time, sigma, size, time, yes_or_no};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Distribution, Op, Process, ProgramId, TaskSpec, Times};

/// The options.
#[derive(clap::Parser, Debug)]
pub struct Late {
    /// Tasks: NAME or NAME:KEY=VALUE,...
    ///
    /// Keys: run (CPU time of a period, 0 < run), sleep (0: never), cpu (CPU time after which it
    /// ends, 0: never), count (how many), batches (how many such groups, one after the other; needs
    /// cpu), nice, start (when it begins), ws (working set), vary (how much the CPU time varies: the
    /// standard deviation of its logarithm), burst (the work of this many periods at once, after as many
    /// sleeps), threads (yes: they are threads of one process).  The names vi (1ms/100ms), mozilla
    /// (20ms/300ms; also plausible: 25ms/100ms, 60ms/400ms) and compiler (200ms/10ms, cpu 1.2s)
    /// bring run, sleep and cpu along.  Without --task: 4 vi, 2 mozilla and two batches of 30
    /// compilers, Figure 4 of the ULE paper.
    #[arg(long = "task", value_name = "TASK", value_parser = LateTask::parse, verbatim_doc_comment)]
    pub tasks: Vec<LateTask>,
    /// Duration of the run.  Default: until all tasks with a cpu have ended; 60s if no task has one.
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub duration: Option<Ns>,
    /// Let all sleepers begin at the same time rather than at random in their first period.
    #[arg(long)]
    pub aligned: bool,
}

/// How long a run of endless tasks lasts.
const DURATION: Ns = Ns::from_secs(60);

/// How many tasks of one kind a run may have.
const COUNT_MAX: u32 = 1_000_000;

/// One kind of simulated application.
#[derive(Clone, Debug, PartialEq)]
pub struct LateTask {
    /// What it is called.
    pub name: String,
    /// CPU time of a period.
    pub run: Ns,
    /// How long it sleeps in each; 0: never.
    pub sleep: Ns,
    /// CPU time after which it ends; 0: never.
    pub cpu: Ns,
    /// How many there are at a time.
    pub count: u32,
    /// How many such groups there are, one after the other.
    pub batches: u32,
    /// nice.
    pub nice: i8,
    /// When it begins.
    pub start: Ns,
    /// Memory it touches again and again.
    pub working_set_bytes: u64,
    /// How much its CPU time varies: the standard deviation of its logarithm, in thousandths.
    pub vary_milli: u32,
    /// The number of periods for which the work comes at once, after as many sleeps.
    pub burst: u32,
    /// Are all tasks of the kind threads of one process?
    pub threads: bool,
}

impl Benchmark for Late {
    const NAME: &'static str = "late";
    const SUMMARY: &'static str =
        "simulated applications that run and sleep; measures how late they run";

    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        let tasks = self.kinds()?;
        let ends = tasks.iter().any(LateTask::ends);
        for (number, kind) in (1..).zip(&tasks) {
            self.add(builder, kind, Process::Shared(number), ends);
        }
        builder.workload().duration = match ends {
            true => self.duration,
            false => Some(self.duration.unwrap_or(DURATION)),
        };
        Ok(())
    }
}

impl Late {
    /// The kinds of tasks: those given, or the default ones.
    ///
    /// # Errors
    /// Two have the same name.
    pub fn kinds(&self) -> Result<Vec<LateTask>, Diagnostic> {
        let tasks = match self.tasks.is_empty() {
            true => default_mix(),
            false => self.tasks.clone(),
        };
        check(&tasks)?;
        Ok(tasks)
    }

    /// How long the run lasts; none: until all tasks that end have ended.
    ///
    /// # Errors
    /// As [`Late::kinds`].
    pub fn lasts(&self) -> Result<Option<Ns>, Diagnostic> {
        Ok(match self.kinds()?.iter().any(LateTask::ends) {
            true => self.duration,
            false => Some(self.duration.unwrap_or(DURATION)),
        })
    }

    /// Adds one kind of tasks; if any kind ends, those that do not are background.
    fn add(&self, builder: &mut Builder, kind: &LateTask, process: Process, some_end: bool) {
        let total = kind.count * kind.batches;
        let gates = (kind.batches > 1).then(|| Gates {
            open: builder.semaphore(kind.count),
            ended: builder.semaphore(0),
        });
        let ops = self.program(builder, kind, gates.as_ref());
        let program = builder.program(ops);
        builder.task(TaskSpec {
            count: total,
            background: some_end && !kind.ends(),
            process: if kind.threads { process } else { Process::Own },
            ..kind.spec(program)
        });
        if let Some(gates) = gates {
            let program = builder.program(gates.keeper(kind));
            builder.task(task(format!("{}-gate", kind.name), program));
        }
    }

    /// What each task of a kind does.
    fn program(&self, builder: &mut Builder, kind: &LateTask, gates: Option<&Gates>) -> Ops {
        let mut ops = Ops::new();
        if let Some(gates) = gates {
            ops.push(Op::SemWait(gates.open));
        }
        if kind.sleep > Ns::ZERO && !kind.ends() && !self.aligned {
            let (low, high) = (0, kind.run.0 + kind.sleep.0);
            let first = builder.drawn(Distribution::Uniform { low, high });
            ops.push(Op::Sleep(first));
        }
        let cycle = cycle(builder, kind);
        match kind.ends() {
            true => {
                let (rounds, rest) = kind.rounds();
                ops.repeat(Times::Fixed(rounds), cycle);
                ops.run(Amount::Fixed(rest));
                let mark = builder.mark(&format!("{} done", kind.name));
                ops.push(Op::Mark { mark, count: 1 });
            }
            false => {
                ops.repeat(Times::Forever, cycle);
            }
        }
        if let Some(gates) = gates {
            ops.push(Op::SemPost(gates.ended));
        }
        ops
    }
}

/// One period: sleep, note how late it woke, work, note the response time.
fn cycle(builder: &mut Builder, kind: &LateTask) -> impl FnOnce(&mut Ops) {
    let run = builder.around(kind.run, kind.vary_milli);
    let burst = Times::Fixed(kind.burst);
    let sleep = Amount::Fixed(Ns(kind.sleep.0.saturating_mul(kind.burst.into())));
    let marks = (kind.sleep > Ns::ZERO).then(|| {
        let mut mark = |what| builder.mark(&format!("{} {what}", kind.name));
        (mark("lateness"), mark("response"))
    });
    move |ops| {
        let Some((lateness, response)) = marks else {
            ops.run(run);
            return;
        };
        ops.push(Op::TimedSleep(sleep));
        ops.push(Op::StopClock { mark: lateness });
        ops.repeat(burst, |ops| {
            ops.run(run);
            ops.push(Op::StopClock { mark: response });
        });
    }
}

/// Semaphores that delay all batches of a kind but the first.
struct Gates {
    /// A task takes one before it begins; the first batch finds its share here.
    open: u32,
    /// A task adds one when it ends.
    ended: u32,
}

impl Gates {
    /// The program that lets the next batch in when a whole batch has ended.
    fn keeper(&self, kind: &LateTask) -> Ops {
        let batch = Times::Fixed(kind.count);
        let mut ops = Ops::new();
        ops.repeat(Times::Fixed(kind.batches - 1), |ops| {
            ops.repeat(batch, |ops| {
                ops.push(Op::SemWait(self.ended));
            });
            ops.repeat(batch, |ops| {
                ops.push(Op::SemPost(self.open));
            });
        });
        ops
    }
}

impl LateTask {
    const KEYS: [&'static str; 11] = [
        "run", "sleep", "cpu", "count", "batches", "nice", "start", "ws", "vary", "burst",
        "threads",
    ];

    /// The preset of this name, or a task without settings.
    fn named(name: &str) -> Self {
        let (run, sleep, cpu, working_set_bytes) = match name {
            "vi" => (Ns::from_ms(1), Ns::from_ms(100), Ns::ZERO, 16 << 10),
            "mozilla" => (Ns::from_ms(20), Ns::from_ms(300), Ns::ZERO, 128 << 10),
            "compiler" => (
                Ns::from_ms(200),
                Ns::from_ms(10),
                Ns::from_ms(1200),
                128 << 10,
            ),
            _ => (Ns::ZERO, Ns::ZERO, Ns::ZERO, 0),
        };
        LateTask {
            name: name.to_string(),
            run,
            sleep,
            cpu,
            count: 1,
            batches: 1,
            nice: 0,
            start: Ns::ZERO,
            working_set_bytes,
            vary_milli: 0,
            burst: 1,
            threads: false,
        }
    }

    /// Reads "vi:count=4,nice=5".
    fn parse(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(
                "NAME:KEY=VALUE,... with a name of letters, digits, \".\", \"_\" and \"-\"".into(),
            );
        }
        let mut task = LateTask::named(name);
        for setting in settings.split(',').filter(|s| !s.is_empty()) {
            let (key, value) = setting.split_once('=').ok_or_else(|| {
                format!(
                    "KEY=VALUE instead of \"{setting}\"; keys are {}",
                    LateTask::KEYS.join(", ")
                )
            })?;
            task.set(key, value)
                .map_err(|expected| format!("{expected} for {key}"))?;
        }
        task.complete()
    }

    /// Sets one key.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "run" => self.run = positive_time(value)?,
            "sleep" => self.sleep = time(value)?,
            "cpu" => self.cpu = time(value)?,
            "count" => self.count = number(1, COUNT_MAX)(value)?,
            "batches" => self.batches = number(1, COUNT_MAX)(value)?,
            "nice" => self.nice = nice(value)?,
            "start" => self.start = time(value)?,
            "ws" => self.working_set_bytes = size(value)?,
            "vary" => self.vary_milli = sigma(value)?,
            "burst" => self.burst = number(1, 1000)(value)?,
            "threads" => self.threads = yes_or_no(value)?,
            _ => {
                let meant = nearest(key, LateTask::KEYS)
                    .map(|key| format!(" (did you mean \"{key}\"?)"))
                    .unwrap_or_default();
                return Err(format!("one of {}{meant}", LateTask::KEYS.join(", ")));
            }
        }
        Ok(())
    }

    /// Checks the keys against each other.
    fn complete(self) -> Result<Self, String> {
        if self.run == Ns::ZERO {
            return Err(format!(
                "run=TIME for \"{}\", which is no preset",
                self.name
            ));
        }
        if self.batches > 1 && !self.ends() {
            return Err(
                "cpu=TIME with batches: the next waits for the end of the one before".into(),
            );
        }
        if u64::from(self.count) * u64::from(self.batches) > u64::from(COUNT_MAX) {
            return Err(format!("count times batches at most {COUNT_MAX}"));
        }
        if self.cpu.0 / self.run.0 > u64::from(u32::MAX) {
            return Err("cpu at most 4 billion times run".into());
        }
        Ok(self)
    }

    /// How many cycles its CPU time is enough for, on average, and the rest.
    pub fn rounds(&self) -> (u32, Ns) {
        let cycle = match self.sleep {
            Ns::ZERO => self.run.0,
            _ => self.run.0.saturating_mul(self.burst.into()),
        };
        ((self.cpu.0 / cycle) as u32, Ns(self.cpu.0 % cycle))
    }

    /// Does it end by itself?
    pub fn ends(&self) -> bool {
        self.cpu > Ns::ZERO
    }

    fn spec(&self, program: ProgramId) -> TaskSpec {
        TaskSpec {
            nice: self.nice,
            start: self.start,
            working_set_bytes: self.working_set_bytes,
            ..task(self.name.clone(), program)
        }
    }
}

/// Figure 4 of the ULE paper.
fn default_mix() -> Vec<LateTask> {
    let kind = |name, count, batches| LateTask {
        count,
        batches,
        ..LateTask::named(name)
    };
    vec![
        kind("vi", 4, 1),
        kind("mozilla", 2, 1),
        kind("compiler", 30, 2),
    ]
}

/// Refuses names that would not be unique.
fn check(tasks: &[LateTask]) -> Result<(), Diagnostic> {
    let mut names = BTreeSet::new();
    for kind in tasks {
        let gate = (kind.batches > 1).then(|| format!("{}-gate", kind.name));
        for name in [Some(kind.name.clone()), gate].into_iter().flatten() {
            if !names.insert(name.clone()) {
                let problem = format!("the name \"{name}\" is used twice");
                return Err(bad_option(Late::NAME, "--task", problem, "another name"));
            }
        }
    }
    Ok(())
}
