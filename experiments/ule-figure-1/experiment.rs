//! Score and priority by the part of the CPU a program wants; history and threshold.

use schedlab_trace::{Event, EventKind, Sink};

use crate::prelude::*;
use crate::ule::{self, interactive_tasks, seconds, Mix, Responses, Seeds, MACHINE, MIXES, NICE};
use crate::ule_figure_4::figure_4;

/// The mix whose Mozilla wants most: 20 % each.
const COSTLY: Mix = MIXES[1];
/// A Mozilla that renders for half a second from time to time.
const BURSTY: Mix = (500, 3000);

/// The best and the last priority of all tasks from a given time on.
#[derive(Clone, Debug, Default)]
struct Priority {
    from: f64,
    best: f64,
    last: f64,
}

impl Sink for Priority {
    fn event(&mut self, event: &Event) {
        if let EventKind::Priority { priority, .. } = event.kind {
            self.last = f64::from(priority);
            if seconds(event.time) >= self.from {
                self.best = self.best.min(self.last);
            }
        }
    }
}

fn from(from: f64) -> impl Fn() -> Priority + Sync {
    move || Priority {
        from,
        best: f64::INFINITY,
        last: 0.0,
    }
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    involuntary(lab, &mut findings)?;
    history_and_threshold(lab, &mut findings)?;
    literal(lab, &mut findings)?;
    Ok(findings)
}

/// C31.
fn involuntary(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let case = Case::new("ule", MACHINE, "hogs --count 20").seconds(240);
    let sinks = ule::observe(lab, findings, &[case], from(200.0))?;
    let worst_kept = sinks[0][0].best.min(223.0);
    findings.judge_text("C31", format!("best priority of any hog {worst_kept:.0} after 10 s of running and 190 s of waiting, where 223 is the worst and 179 the limit of the interactive"), "", worst_kept >= 223.0);
    Ok(())
}

/// Four programs that have slept for 40 s and then never stop, beside vi and Mozilla.
fn turned() -> Case {
    let text = interactive_tasks(MIXES[0])
        + "[task.turned]\ncount = 4\nprogram = \"\"\"\nsleep 40s\nforever\n  run 1s\nend\n\"\"\"\n";
    Case::text("ule", MACHINE, "ule-figure-1-turned", text).seconds(60)
}

type Value = fn(&Responses) -> f64;

fn settled(r: &Responses) -> f64 {
    ule::mean(&r.sums()[10..])
}

fn after_the_turn(r: &Responses) -> f64 {
    ule::mean(&r.sums()[40..])
}

/// The mean of a value over seeds for each setting of a tunable.
fn sweep(
    lab: &Lab,
    findings: &mut Findings,
    case: &Case,
    name: &str,
    values: &[i64],
    value: Value,
) -> Result<Vec<f64>, Error> {
    let cases: Vec<Case> = values
        .iter()
        .map(|v| case.clone().set(name, *v).seeds(lab.pick(3, 1)))
        .collect();
    let sinks = ule::observe(lab, findings, &cases, Responses::default)?;
    Ok(sinks
        .into_iter()
        .map(|runs| Seeds(runs).each(value).median())
        .collect())
}

/// The longest wait of a program that never sleeps beside five compilers, in s.
fn beside_compilers(
    lab: &Lab,
    findings: &mut Findings,
    thresholds: &[i64],
) -> Result<Vec<f64>, Error> {
    let text = "[task.hog]\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n\n[task.compiler]\ncount = 5\nprogram = \"\"\"\nforever\n  run uniform(100ms, 300ms)\n  sleep 10ms\nend\n\"\"\"\n";
    let case = |v: &i64| {
        Case::text("ule", MACHINE, "ule-figure-1-compilers", text)
            .seconds(60)
            .set("interact_thresh", *v)
    };
    let done = lab.run(&thresholds.iter().map(case).collect::<Vec<_>>())?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let longest = |m: &Metrics| {
        let hog = m.groups.iter().find(|g| &*g.name == "hog");
        hog.and_then(|g| g.activity.longest_wait)
            .map_or(0.0, |w| w.ns.as_secs_f64())
    };
    Ok(done
        .iter()
        .map(|outcome| outcome.each(longest).median())
        .collect())
}

/// C32.
fn history_and_threshold(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let history = [100, 500, 1000, 2000, 5000, 10_000, 30_000];
    let threshold = [2, 5, 10, 20, 30, 40, 60, 80, 99];
    let bursty = sweep(
        lab,
        findings,
        &ule::late("ule", &ule::figure_5(BURSTY)),
        "slp_run_max_ms",
        &history,
        settled,
    )?;
    let abuse = sweep(
        lab,
        findings,
        &turned(),
        "slp_run_max_ms",
        &history,
        after_the_turn,
    )?;
    let costly = sweep(
        lab,
        findings,
        &ule::late("ule", &ule::figure_5(COSTLY)),
        "interact_thresh",
        &threshold,
        settled,
    )?;
    let left = beside_compilers(lab, findings, &threshold)?;
    let ratios = [
        bursty[0] / bursty[4],
        costly[1] / costly[4],
        abuse[6] / abuse[4],
        left[8] / left[4],
    ];
    findings.judge_text(
        "C32",
        format!(
            "response times {:.1} times as long with 0.1 s of history (a Mozilla that renders for 0.5 s), {:.0} times with a threshold of 5 (Mozilla {}), {:.1} times with 30 s of history (sleepers turned hogs); a hog beside compilers waits up to {} with a threshold of 99, {} with 30",
            ratios[0], ratios[1], ule::mix_name(COSTLY), ratios[2], ule::time(left[8]), ule::time(left[4])
        ),
        "",
        ratios.iter().all(|r| *r > 1.5),
    );
    let pairs = |x: &[i64], unit: f64, y: &[f64], factor: f64| {
        x.iter()
            .zip(y)
            .map(|(x, y)| (*x as f64 * unit, y * factor))
            .collect::<Vec<_>>()
    };
    let time = || Axis::log("mean sum of responses", Unit::Time, 3e7, 1e11);
    let turned = |command: &str| command.contains("ule-figure-1-turned");
    let mozilla = |(run, sleep): Mix| format!("run={run}ms,sleep={sleep}ms");
    findings.exhibit_of(
        sweep_plot(
            "Response times by history remembered",
            (Axis::log("slp_run_max", Unit::Time, 1e8, 3e10), time()),
            vec![("Mozilla 500/3000 ms beside nice hogs", pairs(&history, 1e6, &bursty, 1e9)), ("beside sleepers turned hogs", pairs(&history, 1e6, &abuse, 1e9))],
        ),
        "Too short, and a browser that renders is taken for a hog; too long, and programs that slept for long hold up others. The source has 5 s.",
        &["C32"],
        |command| command.contains("slp_run_max_ms") && (turned(command) || command.contains(&mozilla(BURSTY))),
    );
    findings.exhibit_of(
        sweep_plot("Response times by threshold", (Axis::linear("interact_thresh", Unit::Count, 0.0, 100.0), time()), vec![("Mozilla 25/100 ms beside nice hogs", pairs(&threshold, 1.0, &costly, 1e9))]),
        "Too low, and a Mozilla that scores about 10 is no longer interactive, and without a slice beside nice -20. The source has 30.",
        &["C32"],
        |command| command.contains("interact_thresh") && command.contains(&mozilla(COSTLY)),
    );
    let wait = Axis::log("longest wait", Unit::Time, 1e8, 1e11);
    findings.exhibit_of(
        sweep_plot("A hog beside five compilers by threshold", (Axis::linear("interact_thresh", Unit::Count, 0.0, 100.0), wait), vec![("hog", pairs(&threshold, 1.0, &left, 1e9))]),
        "Too high, and compilers, which score 97, are interactive: they go back to the current queue, and whoever waits in the next one starves.",
        &["C32"],
        |command| command.contains("ule-figure-1-compilers"),
    );
    Ok(())
}

fn sweep_plot(
    title: &str,
    axes: (Axis, Axis),
    lines: Vec<(&str, Vec<(f64, f64)>)>,
) -> schedlab_report::svg::Figure {
    let mut plot = Plot::new(title, axes.0, axes.1);
    let series: Vec<Series> = lines
        .into_iter()
        .enumerate()
        .map(|(i, (name, points))| Series {
            name: name.to_string(),
            style: Style::Series(i),
            points,
        })
        .collect();
    plot.lines(&series);
    plot.finish()
}

/// C44.
fn literal(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let percent: Vec<u64> = (1..=19).map(|i| 5 * i).collect();
    let by_score = |findings: &mut Findings, literal: i64| -> Result<Vec<f64>, Error> {
        let cases: Vec<Case> = percent
            .iter()
            .map(|p| {
                Case::new(
                    "ule",
                    MACHINE,
                    &format!("late --task app:run={p}ms,sleep={}ms", 100 - p),
                )
                .seconds(60)
                .set("literal_figure1", literal)
            })
            .collect();
        let sinks = ule::observe(lab, findings, &cases, from(0.0))?;
        Ok(sinks.iter().map(|s| s[0].last).collect())
    };
    let (corrected, printed) = (by_score(findings, 0)?, by_score(findings, 1)?);
    let at = |values: &[f64], p: u64| values[(p / 5 - 1) as usize];
    let inverted = at(&printed, 60) > at(&printed, 90) && at(&corrected, 60) < at(&corrected, 90);
    let (share, four, five) = elsewhere(lab, findings)?;
    findings.judge_text(
        "C44",
        format!(
            "60 and 90 % of the CPU: priorities {:.0} and {:.0} as printed, {:.0} and {:.0} corrected; Figure 3 moves by at most {:.1} points, Figure 4 by {:.1} %, Figure 5 by {:.1} %",
            at(&printed, 60), at(&printed, 90), at(&corrected, 60), at(&corrected, 90), 100.0 * share, 100.0 * four, 100.0 * five
        ),
        "",
        inverted && share < 0.02 && four < 0.1 && five < 0.1,
    );
    let points = |values: &[f64]| {
        percent
            .iter()
            .zip(values)
            .map(|(p, y)| (*p as f64 / 100.0, *y))
            .collect()
    };
    let line = |name: &str, style, values: &[f64]| Series {
        name: name.to_string(),
        style: Style::Series(style),
        points: points(values),
    };
    let mut plot = Plot::new(
        "Priority after a minute by CPU time wanted",
        Axis::linear("part of each 100 ms it runs", Unit::Share, 0.0, 1.0),
        Axis::linear("priority", Unit::Count, 155.0, 226.0),
    );
    plot.lines(&[
        line("as in the source", 0, &corrected),
        line("Figure 1 as printed", 1, &printed),
    ]);
    plot.reference(179.0, "interactive below");
    let caption = "Lower is better. As printed, a program of 55 % ranks behind one that never sleeps; both are non-interactive either way.";
    findings.exhibit_of(plot.finish(), caption, &["C44"], |command| {
        command.contains("late --task app:")
    });
    Ok(())
}

/// How much Figures 3, 4 and 5 change: the largest difference of a share, and the relative differences of mean sums.
fn elsewhere(lab: &Lab, findings: &mut Findings) -> Result<(f64, f64, f64), Error> {
    let nice = NICE.map(|n| n.to_string()).join(",");
    let hogs = Case::new("ule", MACHINE, &format!("hogs --nice={nice}")).seconds(60);
    let done = lab.run(&[hogs.clone(), hogs.set("literal_figure1", 1)])?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let share = |o: &CaseResult, n: &i8| o.share(&format!("hog-nice{n}")).median();
    let shares = NICE
        .iter()
        .map(|n| (share(&done[0], n) - share(&done[1], n)).abs())
        .fold(0.0, f64::max);
    let mut change = |case: &Case| -> Result<f64, Error> {
        let means = sweep(lab, findings, case, "literal_figure1", &[0, 1], settled)?;
        Ok((means[1] / means[0] - 1.0).abs())
    };
    Ok((
        shares,
        change(&figure_4("ule", COSTLY))?,
        change(&ule::late("ule", &ule::figure_5(COSTLY)))?,
    ))
}
