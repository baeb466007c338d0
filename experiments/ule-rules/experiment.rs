//! Slices, turns, classes, %cpu and cost.

use std::collections::BTreeMap;

use schedlab_trace::{Event, EventKind, PrevState, Sink, TaskId, Time};

use crate::prelude::*;
use crate::ule::{largest, observe, seconds, MACHINE};

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    slices(lab, &mut findings)?;
    turns(lab, &mut findings)?;
    no_slice(lab, &mut findings)?;
    percent_cpu(lab, &mut findings)?;
    cost(lab, &mut findings)?;
    classes(lab, &mut findings)?;
    Ok(findings)
}

/// The slices of the source in ticks, by levels from the least nice.
const SLICES: [f64; 20] = [
    14., 14., 13., 12., 12., 11., 10., 9., 9., 8., 7., 6., 6., 5., 4., 3., 3., 2., 1., 0.,
];

/// C13 and C15: CPU time of the less nice of two hogs over the other's, by levels between them.
fn slices(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let case = |levels: i32| {
        let workload = match levels {
            0 => "hogs --count 2".to_string(),
            levels => format!("hogs --nice=0,{levels}"),
        };
        Case::new("ule", MACHINE, &workload).seconds(600)
    };
    let done = lab.run(&(0..=18).map(case).collect::<Vec<_>>())?;
    let mut ratios = Vec::new();
    for outcome in &done {
        findings.ran(outcome);
        let tasks = &outcome.first().tasks;
        ratios.push(tasks[0].activity.cpu_share / tasks[1].activity.cpu_share);
    }
    findings.judge(
        "C13",
        &ratios[18].into(),
        Unit::Plain,
        (ratios[18] / 14.0 - 1.0).abs() < 0.03,
    );
    let even = |levels: usize| (ratios[levels] - 1.0).abs() < 0.02;
    findings.judge_text(
        "C15",
        format!(
            "ratios {:.3} and {:.3}, three levels {:.3}",
            ratios[1], ratios[2], ratios[3]
        ),
        "",
        even(1) && even(2),
    );
    let mut plot = Plot::new(
        "CPU time of two hogs: the less nice over the other",
        Axis::linear("levels of nice between them", Unit::Count, 0.0, 18.0),
        Axis::linear("ratio", Unit::Plain, 0.0, 15.0),
    );
    let line = |name: &str, style, values: Vec<f64>| Series {
        name: name.to_string(),
        style: Style::Series(style),
        points: values
            .into_iter()
            .enumerate()
            .map(|(i, y)| (i as f64, y))
            .collect(),
    };
    plot.lines(&[
        line("measured", 0, ratios),
        line(
            "14 over the source's slice",
            1,
            (0..=18).map(|i| 14.0 / SLICES[i]).collect(),
        ),
    ]);
    plot.reference(14.0, "the paper: 14");
    let caption = "Slices of 140 ms for the less nice and of the length the source's arithmetic gives for the other; the two lines coincide.";
    findings.exhibit_of(plot.finish(), caption, &["C13", "C15"], |_| true);
    coarser(lab, findings)
}

/// C15 with other ranges of slices: CPU time of nice 0 over that of nice 2.
fn coarser(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let two_levels = || Case::new("ule", MACHINE, "hogs --nice=0,2").seconds(600);
    for (change, case, lesson) in [
        (
            "slice_max_ms=70",
            two_levels().set("slice_max_ms", 70),
            "seven slices for the window in place of fourteen: two levels share one",
        ),
        (
            "nice_window=40",
            two_levels().set("nice_window", 40),
            "fourteen slices for forty levels, as the paper divides them",
        ),
        (
            "R2",
            Case {
                policy: "ule:R2".to_string(),
                ..two_levels()
            },
            "June 2003: ten slices",
        ),
    ] {
        let outcome = lab.run(&[case])?.remove(0);
        findings.ran(&outcome);
        let ratio = outcome.each(|m| m.tasks[0].activity.cpu_share / m.tasks[1].activity.cpu_share);
        findings.ablation(
            "C15",
            change,
            &ratio,
            Unit::Plain,
            &format!("CPU time two levels apart; {lesson}"),
        );
    }
    Ok(())
}

/// How long each task waited for the CPU, and the begin of the wait.
#[derive(Clone, Debug, Default)]
struct Waits {
    names: BTreeMap<TaskId, String>,
    since: BTreeMap<TaskId, f64>,
    /// Task, from, to.
    waits: Vec<(TaskId, f64, f64)>,
}

impl Sink for Waits {
    fn task(&mut self, info: &schedlab_trace::TaskInfo) {
        self.names.insert(info.id, info.name.clone());
    }

    fn event(&mut self, event: &Event) {
        let EventKind::Switch {
            prev,
            prev_state,
            next,
        } = event.kind
        else {
            return;
        };
        let now = seconds(event.time);
        if let Some(task) = prev.filter(|_| prev_state == PrevState::Preempted) {
            self.since.insert(task, now);
        }
        if let Some((task, since)) = next.and_then(|task| self.since.remove_entry(&task)) {
            self.waits.push((task, since, now));
        }
    }

    fn end(&mut self, time: Time) {
        for (task, since) in std::mem::take(&mut self.since) {
            self.waits.push((task, since, seconds(time)));
        }
    }
}

impl Waits {
    /// The longest wait of a task that began after `from`, in s.
    fn longest(&self, from: f64, name: impl Fn(&str) -> bool) -> f64 {
        let waits = self
            .waits
            .iter()
            .filter(|(task, since, _)| *since >= from && name(&self.names[task]));
        largest(&waits.map(|(_, since, to)| to - since).collect::<Vec<_>>())
    }
}

/// C14: in each switch every task on the queue runs its slice, so in two a wait is at most twice the others' slices.
fn turns(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let case = Case::new("ule", MACHINE, "hogs --nice=0,3,6,9,12").seconds(300);
    let sinks = observe(lab, findings, &[case], Waits::default)?;
    // Slices of 14, 12, 10, 9 and 6 ticks of 10 ms.
    let all: f64 = [0, 3, 6, 9, 12]
        .iter()
        .map(|levels| SLICES[*levels] / 100.0)
        .sum();
    let mut holds = true;
    let mut texts = Vec::new();
    for levels in [0usize, 3, 6, 9, 12] {
        let name = format!("hog-nice{levels}");
        let waited = sinks[0][0].longest(20.0, |n| n == name);
        let bound = 2.0 * (all - SLICES[levels] / 100.0);
        holds &= waited > 0.0 && waited <= bound + 0.001;
        texts.push(format!(
            "{} of {}",
            crate::ule::time(waited),
            crate::ule::time(bound)
        ));
    }
    findings.judge_text(
        "C14",
        format!("longest waits of nice 0, 3, 6, 9, 12: {}", texts.join(", ")),
        "",
        holds,
    );
    Ok(())
}

/// C33.
fn no_slice(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let text = "[task.less]\nprogram = \"run 20s\"\n\n[task.nicer]\nnice = 19\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n";
    let case = Case::text("ule", MACHINE, "ule-rules-no-slice", text).seconds(40);
    let sinks = observe(lab, findings, &[case], Waits::default)?;
    let nicer = |name: &str| name == "nicer";
    let waits = &sinks[0][0];
    let long = waits
        .waits
        .iter()
        .find(|(task, since, to)| nicer(&waits.names[task]) && to - since > 10.0);
    let (from, to) = long.map_or((f64::NAN, f64::NAN), |w| (w.1, w.2));
    let after = waits.longest(to, nicer);
    findings.judge_text(
        "C33",
        format!("nothing from {from:.2} to {to:.2} s, then all of the CPU"),
        "",
        from < 1.0 && (20.0..21.5).contains(&to) && after < 0.01,
    );
    Ok(())
}

/// %cpu of each task in 0.1 %, whenever it changed.
#[derive(Clone, Debug, Default)]
struct PercentCpu {
    now: BTreeMap<TaskId, f64>,
    series: Vec<(f64, f64)>,
}

impl Sink for PercentCpu {
    fn event(&mut self, event: &Event) {
        if let EventKind::Priority { task, priority } = event.kind {
            self.now.insert(task, f64::from(priority) / 1000.0);
            self.series
                .push((seconds(event.time), self.now.values().sum()));
        }
    }
}

/// C35.  A change of nice makes an observer read %cpu, here for a moment of no length 100 and 10 times a second.
fn percent_cpu(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let read = "run 10ms\n  nice 1\n  nice 0\n";
    let hog = format!("[task.hog]\nprogram = \"\"\"\nforever\n  {read}end\n\"\"\"\n");
    let hog = Case::text("ule", MACHINE, "ule-rules-hog", hog)
        .seconds(60)
        .set("show_pctcpu", 1);
    let text = "[task.one]\nprogram = \"run 10s\\nsleep 1h\"\n\n[task.other]\nstart = \"10s\"\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n\n\
        [task.top]\nprogram = \"\"\"\nforever\n  sleep 100ms\n  renice one 1\n  renice one 0\n  renice other 1\n  renice other 0\nend\n\"\"\"\n";
    let turns = Case::text("ule", MACHINE, "ule-rules-turns", text)
        .seconds(60)
        .set("show_pctcpu", 1);
    let sinks = observe(lab, findings, &[hog, turns], PercentCpu::default)?;
    let after = |i: usize, from: f64| {
        sinks[i][0]
            .series
            .iter()
            .filter(move |(t, _)| *t > from)
            .map(|(_, sum)| *sum)
    };
    let last = sinks[0][0].series.last().map_or(0.0, |s| s.1);
    let kept = after(0, 15.0).fold(last, f64::min);
    let sum = after(1, 10.0).fold(0.0, f64::max);
    findings.judge_text(
        "C35",
        format!(
            "a hog's stays at {:.1} %; two programs, one after the other: up to {:.1} % together",
            100.0 * kept,
            100.0 * sum
        ),
        "",
        kept >= 0.99 && sum > 1.0,
    );
    Ok(())
}

/// C36.
fn cost(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let policies = ["ule", "svr4", "bsd4", "o1:2.5.73", "linux24"];
    let mut subjects = Vec::new();
    let mut looked = Vec::new();
    let mut grows = Vec::new();
    for policy in policies {
        let hogs = |n: u32| Case::new(policy, MACHINE, &format!("hogs --count {n}")).seconds(20);
        let asleep = |n: u32| {
            let text = format!("[task.hog]\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n\n[task.asleep]\ncount = {n}\nprogram = \"sleep 1h\"\n");
            Case::text(policy, MACHINE, &format!("ule-rules-asleep-{n}"), text).seconds(600)
        };
        let done = lab.run(&[hogs(10), hogs(1000), asleep(10), asleep(1000)])?;
        done.iter().for_each(|outcome| findings.ran(outcome));
        let examined = |i: usize| {
            done[i]
                .each(|m| m.scheduler.as_ref().map_or(f64::NAN, |s| s.examined_mean))
                .median()
        };
        let overhead = |i: usize| overhead_of(&done[i]);
        looked.push(examined(1));
        grows.push(overhead(3) / overhead(2));
        subjects.push(Subject {
            labels: vec![policy.to_string()],
            contest: 0,
            cells: vec![
                Cell::number(examined(0)),
                Cell::number(examined(1)),
                Cell::number(overhead(2)),
                Cell::number(overhead(3)),
            ],
        });
    }
    let texts: Vec<String> = policies
        .iter()
        .zip(looked.iter().zip(&grows))
        .map(|(p, (l, g))| format!("{p} {l:.1} and {g:.2}"))
        .collect();
    findings.judge_text(
        "C36",
        format!("tasks looked at with 1000 hogs, and overhead with 1000 sleeping tasks over that with 10: {}", texts.join(", ")),
        "",
        looked[0] <= 1.1 && looked[1] <= 1.1 && grows[0] < 1.1 && grows[2] > 1.5,
    );
    findings.table(Table {
        title: "What a choice and a second cost".to_string(),
        stubs: vec!["policy".to_string()],
        fields: vec![
            Field::new("looked at, 10 hogs", Unit::Plain).better(Better::Lower),
            Field::new("looked at, 1000 hogs", Unit::Plain).better(Better::Lower),
            Field::new("overhead a second, 10 asleep", Unit::Time).better(Better::Lower),
            Field::new("overhead a second, 1000 asleep", Unit::Time).better(Better::Lower),
        ],
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec!["Solaris updates all tasks each second as 4BSD does: its choice is O(1), the scheduler is not, which the paper's text overlooks.".to_string()],
    });
    Ok(())
}

/// Overhead of all kinds in a second after the start's, in ns.
fn overhead_of(outcome: &CaseResult) -> f64 {
    outcome
        .each(|m| {
            let busy = m.cpus.iter().map(|c| c.busy_ns.0 - c.run_ns.0).sum::<u64>();
            busy as f64 / m.duration_ns.as_secs_f64()
        })
        .median()
}

/// C43.
fn classes(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let text = "[task.idle]\nclass = \"idle\"\nprogram = \"\"\"\nforever\n  run 7ms\n  sleep 3ms\nend\n\"\"\"\n\n\
        [task.normal]\nnice = 19\nprogram = \"\"\"\nforever\n  run 60ms\n  sleep 40ms\nend\n\"\"\"\n\n\
        [task.rt]\nclass = \"fifo\"\nrt_priority = 1\nprogram = \"\"\"\nforever\n  run 10ms\n  sleep 90ms\nend\n\"\"\"\n";
    let alone = text.replacen("run 7ms", "run 1ns", 1);
    let cases = [("with", text.to_string()), ("without", alone)].map(|(name, text)| {
        Case::text(
            "ule",
            MACHINE,
            &format!("ule-rules-classes-{name}-idle"),
            text,
        )
        .seconds(60)
    });
    let done = lab.run(&cases)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let of = |i: usize, name: &str| done[i].share(name).median();
    let longest = |m: &Metrics| {
        let rt = m.groups.iter().find(|g| &*g.name == "rt");
        rt.and_then(|g| g.activity.longest_wait)
            .map_or(0.0, |w| w.ns.0 as f64)
    };
    let rt_waits = done[0].each(longest);
    let asks = lab
        .run(&[cases[0].clone().set("userret_resched", 2)])?
        .remove(0);
    findings.ran(&asks);
    findings.ablation("C43", "userret_resched=2", &asks.each(longest), Unit::Time, "the real-time thread's longest wait if each return to user mode looks for a better thread, as in R2");
    let (normal, undisturbed) = (of(0, "normal"), of(1, "normal"));
    findings.judge_text(
        "C43",
        format!(
            "real time waits at most {}; nice 19 gets {} beside the idle class and {} without; idle gets {}",
            Unit::Time.show(rt_waits.max()),
            Unit::Share.show(normal),
            Unit::Share.show(undisturbed),
            Unit::Share.show(of(0, "idle"))
        ),
        "",
        rt_waits.max() < 50_000.0 && normal > 0.98 * undisturbed && of(0, "idle") > 0.1,
    );
    Ok(())
}
