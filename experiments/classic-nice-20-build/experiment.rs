//! A build with as many jobs as CPUs, and as many hogs of nice 20.

use std::sync::Arc;

use crate::classic::{lines, policies, run as run_all};
use crate::prelude::*;

/// CPUs, jobs and hogs.
const N: u32 = 8;
const FILES: u32 = 120;
/// CPU time between two disk requests of a compiler, in ms, and how many it makes; the CPU time of a file stays the same.
const PERIODS: [(u32, u32); 5] = [(625, 1), (125, 5), (25, 25), (5, 125), (1, 625)];

/// The build, beside hogs or not.  Disk requests are completed by a kernel thread, as GEOM does.
fn text((period_ms, requests): (u32, u32), hogs: bool) -> String {
    let build = format!(
        "[semaphore.request]\n\n[semaphore.complete]\n\n\
         [task.geom]\nbackground = true\nclass = \"fifo\"\nrt_priority = 50\nprogram = \"\"\"\nforever\n  wait-sem request\n  sleep 100us\n  run 10us\n  post complete\nend\n\"\"\"\n\n\
         [task.make]\nprogram = \"\"\"\nloop {N}\n  fork cc\nend\nloop {}\n  wait-child\n  run 5ms\n  fork cc\nend\nwait-children\n\"\"\"\n\n\
         [task.cc]\ncount = 0\nprogram = \"\"\"\nexec\nrun 15ms\nfork cc1\nwait-child\nmark file\n\"\"\"\n\n\
         [task.cc1]\ncount = 0\nprogram = \"\"\"\nexec\nloop {requests}\n  run lognormal({period_ms}ms, 0.6)\n  post request\n  wait-sem complete\nend\n\"\"\"\n",
        FILES - N
    );
    let hog = format!("\n[task.hog]\ncount = {N}\nnice = 19\nbackground = true\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n");
    match hogs {
        true => build + &hog,
        false => build,
    }
}

fn case(policy: &str, period: (u32, u32), hogs: bool) -> Case {
    let beside = if hogs { "-hogs" } else { "" };
    let name = format!("buildkernel-{}ms{beside}", period.0);
    Case::text(policy, &format!("ideal-{N}"), &name, text(period, hogs))
}

/// How much longer the build takes beside the hogs, by policy and period.
struct Ratios(Vec<Vec<f64>>);

impl Ratios {
    fn measure(
        lab: &Lab,
        findings: &mut Findings,
        change: impl Fn(usize, Case) -> Case,
        rows: usize,
    ) -> Result<Ratios, Error> {
        let mut cases = Vec::new();
        for row in 0..rows {
            for period in PERIODS {
                cases.extend([true, false].map(|hogs| change(row, case("", period, hogs))));
            }
        }
        let done = run_all(lab, findings, &cases)?;
        let ratio = |pair: &[Arc<CaseResult>]| pair[0].seconds().over(&pair[1].seconds()).median();
        let all: Vec<f64> = done.chunks(2).map(ratio).collect();
        Ok(Ratios(
            all.chunks(PERIODS.len()).map(<[f64]>::to_vec).collect(),
        ))
    }

    /// The period at which a row suffers most.
    fn worst(&self, row: usize) -> usize {
        let period = |a: &usize, b: &usize| self.0[row][*a].total_cmp(&self.0[row][*b]);
        (0..PERIODS.len())
            .max_by(period)
            .expect("there are periods")
    }
}

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let names = policies(lab);
    let named = |row: usize, case: Case| Case {
        policy: names[row].clone(),
        ..case
    };
    let ratios = Ratios::measure(lab, &mut findings, named, names.len())?;
    let place = |policy: &str| {
        names
            .iter()
            .position(|name| name == policy)
            .expect("a policy of ours")
    };
    let (ule, bsd) = (place("ule14"), place("bsd4"));

    let worst = ratios.worst(ule);
    let most = ratios.0[ule][worst];
    let wanted = paper.value("beside_hogs_min") / paper.value("alone_min");
    let least = ratios.0[ule].iter().copied().fold(f64::INFINITY, f64::min);
    let text = format!(
        "{least:.1} to {most:.1} times as long, most with a disk request every {} ms",
        PERIODS[worst].0
    );
    findings.judge_text("K16", text, "", least > wanted / 1.5 && most < wanted * 1.5);

    let few = 1.5 * paper.value("beside_hogs_bsd_min") / paper.value("alone_min");
    let at_worst = ratios.0[bsd][worst];
    let text = format!("{at_worst:.1} times as long where ULE takes {most:.1} times");
    findings.judge_text("K17", text, "", at_worst < few);
    for (p, (period, _)) in PERIODS.iter().enumerate() {
        let change = format!("a request every {period} ms");
        let lesson = format!("times as long; under ULE {:.2}", ratios.0[ule][p]);
        findings.ablation(
            "K17",
            &change,
            &Sample::from(ratios.0[bsd][p]),
            Unit::Plain,
            &lesson,
        );
    }

    turns(lab, &mut findings, worst)?;
    cure(lab, &mut findings, ratios.0[ule][worst], (worst, few))?;
    findings.table(table(&names, &ratios));
    findings.exhibit(
        figure(&ratios, &[("ULE of FreeBSD 14", ule), ("4BSD", bsd), ("O(1)", place("o1")), ("CFS", place("cfs"))]),
        "A build beside eight hogs of nice 20, times as long as alone, over the CPU time between two disk requests.",
    );
    Ok(findings)
}

/// K16 with other slices for hogs, at the period where they cost the most.
fn turns(lab: &Lab, findings: &mut Findings, worst: usize) -> Result<(), Error> {
    for (change, set, lesson) in [
        (
            "slices of half the length, slice_divisor=20",
            ("slice_divisor", 20),
            "times as long: a wait costs a hog's slice",
        ),
        (
            "slices of a tenth, slice_divisor=128",
            ("slice_divisor", 128),
            "the same, with one tick",
        ),
    ] {
        let case = |hogs| {
            Case {
                policy: "ule14".to_string(),
                ..case("", PERIODS[worst], hogs)
            }
            .set(set.0, set.1)
        };
        let done = run_all(lab, findings, &[case(true), case(false)])?;
        let ratio = done[0].seconds().over(&done[1].seconds());
        findings.ablation("K16", change, &ratio, Unit::Plain, lesson);
    }
    Ok(())
}

/// The settings that helped in the thread, at ULE's worst period, compared with the time given for 4BSD.
fn cure(
    lab: &Lab,
    findings: &mut Findings,
    ill: f64,
    (worst, few): (usize, f64),
) -> Result<(), Error> {
    let preempting = |_: usize, case: Case| {
        Case {
            policy: "ule14".to_string(),
            ..case
        }
        .set("preempt_thresh", 255)
    };
    let cured = Ratios::measure(lab, findings, preempting, 1)?.0[0][worst];
    let text = format!("{cured:.2} instead of {ill:.1} times as long");
    findings.judge_text("K18", text, "", cured < few);
    Ok(())
}

fn table(names: &[String], ratios: &Ratios) -> Table {
    let row = |(name, row): (&String, &Vec<f64>)| Subject {
        labels: vec![name.clone()],
        contest: 0,
        cells: row.iter().map(|ratio| Cell::number(*ratio)).collect(),
    };
    Table {
        title: "Time of a build on eight CPUs beside eight hogs of nice 20 over that without them"
            .to_string(),
        stubs: vec!["policy".to_string()],
        fields: PERIODS
            .map(|(period, _)| Field::new(format!("a request every {period} ms"), Unit::Plain))
            .to_vec(),
        subjects: names.iter().zip(&ratios.0).map(row).collect(),
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    }
}

fn figure(ratios: &Ratios, rows: &[(&str, usize)]) -> schedlab_report::svg::Figure {
    let line = |(name, row): &(&str, usize)| {
        let points = PERIODS.iter().zip(&ratios.0[*row]);
        let points = points.map(|((ms, _), ratio)| (f64::from(*ms) * 1e6, *ratio));
        (name.to_string(), points.rev().collect())
    };
    lines(
        "A build beside hogs of nice 20",
        Axis::log("CPU time between two disk requests", Unit::Time, 1e6, 1e9),
        Axis::linear("times as long as alone", Unit::Plain, 0.0, 14.0),
        rows.iter().map(line),
    )
}
