//! Response times of vi and Mozilla while a shell runs two batches of 30 compilers.

use crate::prelude::*;
use crate::ule::{
    self, all_mixes, by_mix, Grid, Mix, Responses, Seeds, BSD4, LINUX, MACHINE, MIXES, SCHEDULERS,
    SOLARIS, ULE,
};

/// The shell starts the first batch after this many seconds.
const START: usize = 10;

const COMPILER: &str = "[task.compiler]\ncount = 0\nworking_set = \"128KiB\"\nprogram = \"\"\"\nloop 6\n  run 200ms\n  sleep 10ms\nend\n\"\"\"\n";

/// A Mozilla with a small load.
const CHEAP: Mix = (5, 300);

/// 4 vi, 2 Mozilla, and a shell that starts two batches of 30 compilers, one after the other.
pub fn figure_4(policy: &str, mix: Mix) -> Case {
    let (run, sleep) = mix;
    let text = format!(
        "{}[task.shell]\nprogram = \"\"\"\nsleep {START}s\nloop 2\n  mark batch\n  loop 30\n    fork compiler\n  end\n  \
         wait-children\nend\n\"\"\"\n\n\
         {COMPILER}",
        ule::interactive_tasks(mix)
    );
    ule::from_shell(Case::text(
        policy,
        MACHINE,
        &format!("ule-figure-4-mozilla-{run}-{sleep}"),
        text,
    ))
}

/// The same with a separate shell for each batch; the second is signalled when the first batch ends.
fn two_shells(policy: &str, mix: Mix) -> Case {
    let (run, sleep) = mix;
    let batch = "mark batch\nloop 30\n  fork compiler\nend\nwait-children\n";
    let text = format!(
        "{}[semaphore.over]\n\n[task.first]\nprogram = \"\"\"\nsleep {START}s\n{batch}post over\n\"\"\"\n\n\
         [task.second]\nprogram = \"\"\"\nwait-sem over\n{batch}\"\"\"\n\n{COMPILER}",
        ule::interactive_tasks(mix)
    );
    ule::from_shell(Case::text(
        policy,
        MACHINE,
        &format!("ule-figure-4-two-shells-{run}-{sleep}"),
        text,
    ))
}

/// When the second batch began, in s.
fn second(r: &Responses) -> f64 {
    r.batches[1]
}

/// The sums of a stretch of time, in s from `from` to `to`.
fn between(r: &Responses, from: f64, to: f64) -> Vec<f64> {
    let sums = r.sums();
    let last = (to as usize).min(sums.len());
    sums[(from as usize).min(last)..last].to_vec()
}

/// The middle sum of the second halves of both batches.
fn late_halves(r: &Responses) -> f64 {
    let (first, second, end) = (START as f64, second(r), r.sums().len() as f64);
    let mut late = between(r, (first + second) / 2.0, second);
    late.extend(between(r, (second + end) / 2.0, end));
    ule::median(&late)
}

/// The largest sum in the 5 s after the second batch began, and in the 5 s before.
fn around_second(r: &Responses) -> (f64, f64) {
    let at = second(r);
    (
        ule::largest(&between(r, at, at + 6.0)),
        ule::largest(&between(r, at - 5.0, at)),
    )
}

/// The part of all seconds with a sum above a given number of seconds.
fn part_above(r: &Responses, limit: f64) -> f64 {
    let loaded = &r.sums()[START..];
    loaded.iter().filter(|s| **s > limit).count() as f64 / loaded.len() as f64
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let loaded = ule::grid(lab, &mut findings, figure_4)?;
    let alone = ule::grid(lab, &mut findings, |policy, mix| {
        ule::late(policy, &ule::interactive(mix))
    })?;
    let baseline = |i: usize, m: usize| alone[i][m].mean(0).max();
    settle(&mut findings, &loaded, baseline);
    spikes(&mut findings, &loaded, baseline);
    second_batch(lab, &mut findings, &loaded)?;
    for (m, mix) in MIXES.into_iter().enumerate().take(lab.pick(3, 1)) {
        let shown =
            SCHEDULERS.map(|(_, policy)| figure_4(policy, mix).seeds(lab.pick(3, 1)).command());
        findings.exhibit_of(
            ule::response_plot(
                &format!(
                    "Sum of response times beside compilers, Mozilla {}",
                    ule::mix_name(mix)
                ),
                &SCHEDULERS,
                START,
                |i| loaded[i][m].0[0].sums(),
            ),
            format!(
                "Logarithmic. The second batch begins at {} under 4BSD; the paper's near 45 s.",
                ule::time(second(&loaded[BSD4][m].0[0]) - START as f64)
            ),
            &["C16", "C17", "C18", "C19", "C20", "C21"],
            |command| shown.iter().any(|own| own == command),
        );
    }
    ablations(lab, &mut findings)?;
    findings.table(table(&loaded, &alone));
    Ok(findings)
}

/// C16, C19 and C20.
fn settle(findings: &mut Findings, loaded: &Grid, baseline: impl Fn(usize, usize) -> f64) {
    let late = |i: usize, m: usize| loaded[i][m].each(late_halves);
    let text = |i: usize| format!("{} {}", SCHEDULERS[i].0, by_mix(|m| late(i, m).median()));
    let well = |i: usize| all_mixes(|m| late(i, m).max() < 3.0 * baseline(i, m));
    findings.judge_text(
        "C16",
        format!(
            "median sum in the second half of a batch: {}; without load {}",
            [0, 1, 2, 3].map(text).join("; "),
            by_mix(|m| baseline(ULE, m))
        ),
        "",
        [0, 1, 2, 3].into_iter().all(well),
    );
    let bursts = |m: usize| loaded[SOLARIS][m].each(|r| part_above(r, 0.5));
    let parts: Vec<String> = (0..MIXES.len())
        .map(|m| Unit::Share.show(bursts(m).median()))
        .collect();
    findings.judge_text(
        "C19",
        format!(
            "sum above 0.5 s in {} of all seconds, by mix",
            parts.join(", ")
        ),
        "",
        all_mixes(|m| bursts(m).max() < 0.2),
    );
    let early = |m: usize| {
        loaded[LINUX][m].each(|r| ule::largest(&between(r, START as f64, START as f64 + 15.0)))
    };
    let holds = all_mixes(|m| early(m).min() > 1.0) && well(LINUX);
    findings.judge_text(
        "C20",
        format!(
            "at most {} in the first 15 s, later halves {}",
            by_mix(|m| early(m).median()),
            by_mix(|m| late(LINUX, m).median())
        ),
        "",
        holds,
    );
}

/// C17 and C18.
fn spikes(findings: &mut Findings, loaded: &Grid, baseline: impl Fn(usize, usize) -> f64) {
    let worst = |i: usize, m: usize| loaded[i][m].each(|r| r.worst(START as f64));
    let text = |i: usize| format!("{} {}", SCHEDULERS[i].0, by_mix(|m| worst(i, m).median()));
    let holds = all_mixes(|m| {
        [SOLARIS, LINUX, ULE]
            .iter()
            .all(|i| worst(BSD4, m).median() > worst(*i, m).median())
    });
    findings.judge_text(
        "C17",
        format!("longest response: {}", [0, 1, 2, 3].map(text).join("; ")),
        "",
        holds,
    );
    let peak = |m: usize, from: usize| loaded[ULE][m].from(START + from, ule::largest);
    findings.judge_text(
        "C18",
        format!(
            "largest sum {}, after the first 5 s {} (without load {})",
            by_mix(|m| peak(m, 0).median()),
            by_mix(|m| peak(m, 5).median()),
            by_mix(|m| baseline(ULE, m))
        ),
        "",
        all_mixes(|m| peak(m, 0).max() < 3.0 * baseline(ULE, m)),
    );
}

/// C21 and C22.
fn second_batch(lab: &Lab, findings: &mut Findings, loaded: &Grid) -> Result<(), Error> {
    let after = |seeds: &Seeds| seeds.each(|r| around_second(r).0);
    let before = |seeds: &Seeds| seeds.each(|r| around_second(r).1);
    let shows = |i: usize| {
        all_mixes(|m| after(&loaded[i][m]).median() > before(&loaded[i][m]).median() + 0.3)
    };
    let hides = |i: usize| {
        all_mixes(|m| after(&loaded[i][m]).median() < before(&loaded[i][m]).median() + 0.3)
    };
    let text = |i: usize| {
        format!(
            "{} {} before, {} after",
            SCHEDULERS[i].0,
            by_mix(|m| before(&loaded[i][m]).median()),
            by_mix(|m| after(&loaded[i][m]).median())
        )
    };
    findings.judge_text(
        "C21",
        format!(
            "largest sum in the 5 s before the second batch began and in the 5 s after: {}",
            [0, 1, 2, 3].map(text).join("; ")
        ),
        "",
        shows(BSD4) && shows(SOLARIS) && hides(LINUX) && hides(ULE),
    );
    let without = |policy: &'static str, name: &'static str| {
        MIXES.map(|mix| figure_4(policy, mix).set(name, 0).seeds(lab.pick(3, 1)))
    };
    let ablate = |findings: &mut Findings, cases: &[Case]| -> Result<Vec<Seeds>, Error> {
        Ok(ule::observe(lab, findings, cases, Responses::default)?
            .into_iter()
            .map(Seeds)
            .collect())
    };
    let forgetful = ablate(findings, &without("ule", "exit_runtime"))?;
    let holds = all_mixes(|m| after(&forgetful[m]).min() > after(&loaded[ULE][m]).max() + 0.3);
    findings.judge_text(
        "C22",
        format!(
            "ULE with exit_runtime=0: {}, where it was {}",
            by_mix(|m| after(&forgetful[m]).median()),
            by_mix(|m| after(&loaded[ULE][m]).median())
        ),
        "",
        holds,
    );
    for (policy, name, lesson) in [
        (
            "o1:2.5.73",
            "exit_weight",
            "Linux without what children's ends teach their parent",
        ),
        (
            "bsd4",
            "exit_charges_parent",
            "4BSD teaches its shells, too: without it the second batch is as unknown as the first",
        ),
    ] {
        let seeds = ablate(findings, &without(policy, name))?;
        let peaks: Sample = seeds.iter().map(|s| 1e9 * after(s).median()).collect();
        findings.ablation(
            "C22",
            &format!("{policy} {name}=0, over the mixes"),
            &peaks,
            Unit::Time,
            lesson,
        );
    }
    Ok(())
}

/// Parameters of the failing claims; the largest or middle sum with the mix that is drawn first.
fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    type Value = fn(&Responses) -> f64;
    let late: Value = late_halves;
    let bursts: Value = |r| part_above(r, 0.5);
    let first: Value = |r| ule::largest(&between(r, START as f64, START as f64 + 15.0));
    let after: Value = |r| around_second(r).0;
    let [shown, ..] = MIXES;
    let cheap = ule::mix_name(CHEAP);
    let mut changes = vec![
        ("C16", figure_4("bsd4", CHEAP), late, format!("4BSD, Mozilla {cheap}"), "of second halves: a cheaper Mozilla is answered"),
        ("C16", figure_4("svr4", CHEAP), late, format!("Solaris, Mozilla {cheap}"), "of second halves: so it is here"),
        ("C19", figure_4("svr4", CHEAP), bursts, format!("Mozilla {cheap}"), "of all seconds have a sum above 0.5 s"),
        ("C18", figure_4("ule", shown).set("slp_run_fork_ms", 50), first, "slp_run_fork_ms=50".to_string(), "largest in the first 15 s: children with a tenth of the history are found out ten times as soon"),
        ("C20", figure_4("o1:2.5.73", shown).set("child_penalty", 95), first, "child_penalty=95".to_string(), "largest in the first 15 s: children nearly as interactive as their shell"),
        ("C20", figure_4("o1:2.5.73", shown).set("child_penalty", 95).set("prio_bonus_ratio", 0), first, "child_penalty=95 without the interactivity estimator (prio_bonus_ratio=0)".to_string(), "largest in the first 15 s: vi and Mozilla wait for turns like everybody"),
    ];
    changes.extend(SCHEDULERS.map(|(name, policy)| {
        (
            "C21",
            two_shells(policy, shown),
            after,
            format!("a fresh shell for the second batch, {name}"),
            "largest in the 5 s after it began",
        )
    }));
    let cases: Vec<Case> = changes
        .iter()
        .map(|(_, case, ..)| case.clone().seeds(lab.pick(3, 1)))
        .collect();
    let sinks = ule::observe(lab, findings, &cases, Responses::default)?;
    for ((id, _, value, change, lesson), runs) in changes.into_iter().zip(sinks) {
        let measured = Seeds(runs).each(value);
        match id {
            "C19" => findings.ablation(id, &change, &measured, Unit::Share, lesson),
            _ => findings.ablation(id, &change, &measured.map(|s| s * 1e9), Unit::Time, lesson),
        }
    }
    Ok(())
}

fn table(loaded: &Grid, alone: &Grid) -> Table {
    let mut subjects = Vec::new();
    for (m, mix) in MIXES.into_iter().enumerate() {
        for (i, (name, _)) in SCHEDULERS.into_iter().enumerate() {
            let cell = &loaded[i][m];
            let ns = |sample: Sample| sample.map(|s| s * 1e9).cell();
            let first = cell.each(|r| ule::largest(&between(r, START as f64, START as f64 + 15.0)));
            subjects.push(Subject {
                labels: vec![ule::mix_name(mix), name.to_string()],
                contest: m,
                cells: vec![
                    ns(alone[i][m].mean(0)),
                    ns(first),
                    ns(cell.each(late_halves)),
                    ns(cell.each(|r| around_second(r).0)),
                    ns(cell.each(|r| r.worst(START as f64))),
                    ns(cell.each(|r| second(r) - START as f64)),
                ],
            });
        }
    }
    let field = |name: &str| Field::new(name, Unit::Time).better(Better::Lower);
    let mut fields: Vec<Field> = [
        "no load, mean",
        "first 15 s, most",
        "second halves, median",
        "batch 2, first 5 s, most",
        "one response",
    ]
    .map(field)
    .into();
    fields.push(Field::new("batch 2 begins", Unit::Time));
    Table {
        title: "Sum of response times; then one program's longest, and when the second batch began"
            .to_string(),
        stubs: vec!["Mozilla".to_string(), "scheduler".to_string()],
        fields,
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec![],
    }
}
