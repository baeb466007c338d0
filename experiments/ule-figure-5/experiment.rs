//! Response times of vi and Mozilla while nine hogs of nice -20 to 19 run.

use crate::prelude::*;
use crate::ule::{
    self, all_mixes, Grid, Responses, Seeds, BSD4, LINUX, MACHINE, MIXES, SCHEDULERS, SHOWN,
    SOLARIS, ULE,
};

/// The hogs start at this second.
const START: usize = 3;
/// The start of the steady state: the hogs, interactive at first, lose this status within 5 s.
const SETTLED: usize = START + 5;
/// "Several" seconds.
const SEVERAL: f64 = 3.0;
/// The paper's "beginning", from the hogs' start.
const BEGINNING: usize = START + 15;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let loaded = ule::grid(lab, &mut findings, |policy, mix| {
        ule::late(policy, &ule::figure_5(mix))
    })?;
    let alone = ule::grid(lab, &mut findings, |policy, mix| {
        ule::late(policy, &ule::interactive(mix))
    })?;
    let in_step =
        |policy: &str, mix| ule::late(policy, &format!("--aligned {}", ule::interactive(mix)));
    let in_step = ule::grid(lab, &mut findings, in_step)?;
    as_without_load(&mut findings, &loaded[ULE], &alone[ULE], &in_step[ULE]);
    bsd(&mut findings, &loaded[BSD4]);
    order(&mut findings, &loaded);
    vi(&mut findings, &loaded);
    lost(&mut findings, &loaded);
    regular(&mut findings, &loaded);
    ablations(lab, &mut findings)?;
    let shown = SCHEDULERS.map(|(_, policy)| {
        ule::late(policy, &ule::figure_5(SHOWN))
            .seeds(lab.pick(3, 1))
            .command()
    });
    findings.exhibit_of(
        ule::response_plot("Sum of response times beside nine nice hogs", &SCHEDULERS, START, |i| loaded[i][0].0[0].sums()),
        format!("Mozilla {}, hogs from 0 s on; logarithmic. The paper: ULE as without load, 4BSD spikes first, Solaris around 2.5 s, Linux worst.", ule::mix_name(SHOWN)),
        &["C23", "C24", "C25", "C26", "C27", "C28"],
        |command| shown.iter().any(|own| own == command),
    );
    findings.table(table(&loaded, &alone));
    Ok(findings)
}

/// C23.
fn as_without_load(findings: &mut Findings, loaded: &[Seeds], alone: &[Seeds], in_step: &[Seeds]) {
    // Two programs of equal period that once waited for the same hog stay in step and delay each other.
    let most = |m: usize| alone[m].mean(START).max().max(in_step[m].mean(START).max());
    let holds = all_mixes(|m| loaded[m].mean(START).max() < 1.1 * most(m));
    findings.judge_text(
        "C23",
        format!(
            "{} beside {} without load ({} if the programs are in step); from 5 s on {}, before at most {}",
            ule::by_mix(|m| loaded[m].mean(START).median()),
            ule::by_mix(|m| alone[m].mean(START).median()),
            ule::by_mix(|m| in_step[m].mean(START).median()),
            ule::by_mix(|m| loaded[m].mean(SETTLED).median()),
            ule::time(loaded.iter().map(|c| c.from(0, |s| ule::largest(&s[..SETTLED])).max()).fold(0.0, f64::max)),
        ),
        "",
        holds,
    );
}

/// C24.
fn bsd(findings: &mut Findings, loaded: &[Seeds]) {
    let first = |m: usize| loaded[m].from(START, |s| ule::largest(&s[..BEGINNING - START]));
    let later = |m: usize| loaded[m].from(BEGINNING, ule::median);
    let holds = all_mixes(|m| {
        first(m).min() > 2.0 && first(m).min() > 5.0 * later(m).max() && later(m).max() < 1.5
    });
    findings.judge_text(
        "C24",
        format!(
            "at most {} in the first 15 s, later {} (median)",
            ule::by_mix(|m| first(m).median()),
            ule::by_mix(|m| later(m).median())
        ),
        "",
        holds,
    );
}

/// C25 and the average of C26.
fn order(findings: &mut Findings, loaded: &Grid) {
    let settled = |i: usize, m: usize| loaded[i][m].mean(BEGINNING).median();
    let whole = |i: usize, m: usize| loaded[i][m].mean(START).median();
    let near = (2.0..=3.0).contains(&whole(SOLARIS, 0));
    let next = all_mixes(|m| settled(BSD4, m) < settled(SOLARIS, m));
    findings.judge_text(
        "C25",
        format!(
            "mean {} (4BSD after its beginning {})",
            ule::by_mix(|m| whole(SOLARIS, m)),
            ule::by_mix(|m| settled(BSD4, m))
        ),
        "",
        near && next,
    );
}

/// C26.
fn vi(findings: &mut Findings, loaded: &Grid) {
    let vi = |i: usize, m: usize| -> Sample {
        loaded[i][m]
            .0
            .iter()
            .map(|r| ule::mean(&r.sums_of(&["vi"])[START..]) / 4.0)
            .collect()
    };
    let whole = |i: usize, m: usize| loaded[i][m].mean(START).median();
    let others = |value: &dyn Fn(usize) -> f64| {
        [BSD4, SOLARIS, ULE]
            .map(value)
            .into_iter()
            .fold(0.0, f64::max)
    };
    let worst = all_mixes(|m| whole(LINUX, m) > others(&|i| whole(i, m)));
    let vi_suffers = all_mixes(|m| vi(LINUX, m).min() > 0.1);
    findings.judge_text(
        "C26",
        format!(
            "mean sum {} (the worst other: {}); one vi alone: {}",
            ule::by_mix(|m| whole(LINUX, m)),
            ule::by_mix(|m| others(&|i| whole(i, m))),
            ule::by_mix(|m| vi(LINUX, m).median())
        ),
        "",
        worst && vi_suffers,
    );
}

/// C27.
fn lost(findings: &mut Findings, loaded: &Grid) {
    let lost = |i: usize, m: usize| -> Sample {
        loaded[i][m]
            .0
            .iter()
            .map(|r| r.lost_seconds() as f64)
            .collect()
    };
    let holds = all_mixes(|m| {
        [BSD4, SOLARIS, LINUX]
            .iter()
            .all(|i| lost(*i, m).min() >= SEVERAL)
            && lost(ULE, m).max() < SEVERAL
    });
    let text = |i: usize| {
        let counts: Vec<String> = (0..MIXES.len())
            .map(|m| format!("{:.0}", lost(i, m).median()))
            .collect();
        format!("{} {}", SCHEDULERS[i].0, counts.join("/"))
    };
    findings.judge_text(
        "C27",
        format!(
            "seconds of 60 in which somebody answered nothing, by mix: {}",
            [0, 1, 2, 3].map(text).join(", ")
        ),
        "",
        holds,
    );
}

/// C28.
fn regular(findings: &mut Findings, loaded: &Grid) {
    let mean = |i: usize, m: usize| loaded[i][m].mean(START);
    let sd = |i: usize, m: usize| {
        loaded[i][m].from(START, |s| s.iter().copied().collect::<Sample>().sd())
    };
    let others = [BSD4, SOLARIS, LINUX];
    let lower = |value: &dyn Fn(usize, usize) -> Sample| {
        all_mixes(|m| {
            others
                .iter()
                .all(|i| value(ULE, m).max() < value(*i, m).min())
        })
    };
    let text = |i: usize| {
        format!(
            "{} {} ± {}",
            SCHEDULERS[i].0,
            ule::time(mean(i, 0).median()),
            ule::time(sd(i, 0).median())
        )
    };
    findings.judge_text(
        "C28",
        format!(
            "mean and deviation of the sum with {}: {}",
            ule::mix_name(SHOWN),
            [0, 1, 2, 3].map(text).join(", ")
        ),
        "",
        lower(&mean) && lower(&sd),
    );
}

/// ULE's and Linux's means with the mix of the largest load.
fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let mix = MIXES[1];
    let late = |policy: &str| ule::late(policy, &ule::figure_5(mix)).seeds(lab.pick(3, 1));
    let changes = [
        ("C23", late("ule:R3"), "the source of November 2003"),
        ("C23", late("ule:R2"), "the source of June 2003: 100 ms of memory make Mozilla a hog, and nice 0 beside nice -20 has no slice"),
        ("C23", late("ule:R0"), "the first design of February 2003"),
        ("C23", late("ule").set("literal_figure1", 1), "the score as printed in Figure 1 (C44)"),
        ("C23", late("ule14"), "ULE of FreeBSD 14, where nice counts in the score and not in the slice"),
        ("C24", late("bsd4:4.x"), "FreeBSD 4's weight of nice"),
        ("C26", late("o1:2.5.73").set("prio_bonus_ratio", 0), "no interactivity estimator at all: nice alone decides"),
        ("C26", late("o1"), "Linux 2.6.11, which weighs sleep and forgets within a second"),
    ];
    let cases: Vec<Case> = changes.iter().map(|(_, case, _)| case.clone()).collect();
    let sinks = ule::observe(lab, findings, &cases, Responses::default)?;
    for ((id, case, lesson), runs) in changes.iter().zip(sinks) {
        let mean = Seeds(runs).mean(SETTLED).map(|s| s * 1e9);
        let change = format!(
            "{}, mean sum from 5 s on with Mozilla {}",
            ule::change(case),
            ule::mix_name(mix)
        );
        findings.ablation(id, &change, &mean, Unit::Time, lesson);
    }
    score(lab, findings)?;
    credit(lab, findings)
}

/// C23 from the hogs' start on, if they inherit no sleep and are not interactive at first.
fn score(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let case = |mix| {
        ule::late("ule", &ule::figure_5(mix))
            .set("initial_slptime_ms", 0)
            .seeds(lab.pick(3, 1))
    };
    let sinks = ule::observe(lab, findings, &MIXES.map(case), Responses::default)?;
    for (mix, runs) in MIXES.into_iter().zip(sinks) {
        let mean = Seeds(runs).mean(START).map(|s| s * 1e9);
        let change = format!(
            "initial_slptime_ms=0, mean sum from the hogs' start on with Mozilla {}",
            ule::mix_name(mix)
        );
        findings.ablation(
            "C23",
            &change,
            &mean,
            Unit::Time,
            "hogs that do not inherit a shell's sleep",
        );
    }
    Ok(())
}

/// C26 by the hogs' initial sleep credit: none, and the most they could have while waiting for their signal.
fn credit(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let lessons = [
        (0, "hogs that begin without credit"),
        (
            10_000,
            "hogs that waited 10 s for their signal hold up everybody for 23 s",
        ),
    ];
    for (ms, lesson) in lessons {
        let case = |mix| {
            Case::new(
                "o1:2.5.73",
                MACHINE,
                &format!("late {}", ule::figure_5(mix)),
            )
            .seconds(60)
            .set("initial_sleep_avg_ms", ms)
        };
        let sinks = ule::observe(lab, findings, &MIXES.map(case), Responses::default)?;
        let mean: Sample = sinks
            .into_iter()
            .map(|runs| 1e9 * Seeds(runs).mean(START).median())
            .collect();
        findings.ablation(
            "C26",
            &format!("initial_sleep_avg_ms={ms}, mean sum over the mixes"),
            &mean,
            Unit::Time,
            lesson,
        );
    }
    Ok(())
}

fn table(loaded: &Grid, alone: &Grid) -> Table {
    let mut subjects = Vec::new();
    for (m, mix) in MIXES.into_iter().enumerate() {
        for (i, (name, _)) in SCHEDULERS.into_iter().enumerate() {
            let cell = &loaded[i][m];
            let ns = |sample: Sample| sample.map(|s| s * 1e9).cell();
            subjects.push(Subject {
                labels: vec![ule::mix_name(mix), name.to_string()],
                contest: m,
                cells: vec![
                    ns(alone[i][m].mean(SETTLED)),
                    ns(cell.from(START, |s| ule::largest(&s[..BEGINNING - START]))),
                    ns(cell.from(BEGINNING, ule::median)),
                    ns(cell.mean(START)),
                    ns(cell.0.iter().map(|r| r.worst(0.0)).collect()),
                ],
            });
        }
    }
    let field = |name: &str| Field::new(name, Unit::Time).better(Better::Lower);
    Table {
        title: "Sum of response times; the last column is one program's worst".to_string(),
        stubs: vec!["Mozilla".to_string(), "scheduler".to_string()],
        fields: [
            "no load, mean",
            "first 15 s, most",
            "later, median",
            "all, mean",
            "one response",
        ]
        .map(field)
        .into(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec![],
    }
}
