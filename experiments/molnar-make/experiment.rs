//! Building kernels with all jobs at once.

use std::sync::Arc;

use crate::prelude::*;

const STOCK: &str = "affinity24:stock";
const PATCHED: &str = "affinity24:2.4.15-pre1";
const ONE: &str = "xeon-700-up";
const EIGHT: &str = "xeon-700-8p";
/// Working sets of an average compile, in KiB; the middle one is that of ELSC's build.
const SETS_KIB: [u32; 4] = [128, 256, 512, 1024];

/// The three builds.
#[derive(Clone, Copy)]
enum Build {
    /// make -j on eight CPUs.
    Eight,
    /// make -j on one CPU with HZ = 1024.
    Hz1024,
    /// One file many times over, beside a web server.
    Floppy,
}

const BUILDS: [(Build, &str, &str); 3] = [
    (Build::Eight, "make -j, 8 CPUs, HZ = 100", "gain_8p"),
    (Build::Hz1024, "make -j, 1 CPU, HZ = 1024", "gain_hz1024"),
    (Build::Floppy, "floppy.c and network, 1 CPU", "gain_floppy"),
];

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    times(lab, paper, &mut findings)?;
    let mut gains = Vec::new();
    for (build, _, _) in BUILDS {
        gains.push(gain(lab, &mut findings, build, 512)?);
    }
    let text: Vec<String> = gains
        .iter()
        .map(|g| format!("{:.1} %", 100.0 * g.median()))
        .collect();
    let interval = |g: &Sample| format!("{:.1} to {:.1}", 100.0 * g.min(), 100.0 * g.max());
    let intervals: Vec<String> = gains.iter().map(interval).collect();
    let ordered = gains.windows(2).all(|w| w[0].median() < w[1].median());
    let holds = gains[0].min() > 0.0 && ordered;
    findings.judge_text("M5", text.join(", "), intervals.join(", "), holds);
    findings.exhibit_of(
        bars(paper, &gains).figure(),
        "Time saved by the patch. The paper's numbers are a single machine's; only their order is its claim.",
        &["M5"],
        |_| true,
    );
    if lab.thorough() {
        sweep(lab, &mut findings)?;
        without_pipes(lab, &mut findings)?;
    }
    Ok(findings)
}

/// Six builds with each kernel, as the mail lists them.
fn times(lab: &Lab, paper: &Paper, findings: &mut Findings) -> Result<(), Error> {
    let done = pair(lab, Build::Eight, 512)?;
    let mut subjects = Vec::new();
    for (name, key, outcome) in [
        ("stock", "stock", &done[0]),
        ("patched", "patched", &done[1]),
    ] {
        findings.ran(outcome);
        let here = outcome.seconds();
        let published: Sample = paper.list(key).into_iter().collect();
        for (source, sample) in [("here", &here), ("mail", &published)] {
            subjects.push(Subject {
                labels: vec![name.to_string(), source.to_string()],
                contest: 0,
                cells: [sample.min(), sample.mean(), sample.max(), sample.sd()]
                    .map(|s| Cell::number(s * 1e9))
                    .to_vec(),
            });
        }
    }
    findings.table(Table {
        title: "make -j bzImage on 8 CPUs".to_string(),
        stubs: vec!["kernel".to_string(), "times".to_string()],
        fields: ["shortest", "mean", "longest", "deviation"]
            .map(|name| Field::new(name, Unit::Time))
            .to_vec(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec![
            "The build was chosen for the length of the stock times alone; only differences are results.".to_string(),
        ],
    });
    Ok(())
}

fn case(lab: &Lab, policy: &str, build: Build, kib: u32) -> Case {
    let make = |link: &str, files| {
        format!("kernel-build -j --pipe 50 --files {files} --compile 360ms --assemble 43ms --driver 2ms --link {link} --working-set {kib}KiB")
    };
    let case = match build {
        Build::Eight => Case::new(policy, EIGHT, &make("18s", 600)),
        Build::Hz1024 => Case::new(policy, ONE, &make("18s", lab.pick(600, 300))).set("hz", 1024),
        Build::Floppy => {
            let name = format!("floppy-{}kib", 2 * kib);
            Case::text(policy, ONE, &name, floppy(2 * kib))
        }
    };
    case.seeds(lab.pick(6, 2))
}

/// Eight compilers of one file, and Apache answering requests that come by interrupts.
fn floppy(kib: u32) -> String {
    format!(
        "[disk.network]   # completes when a request has come\n\
         [task.cc1]\ncount = 8\nworking_set = \"{kib}KiB\"\nprogram = \"run 4s\"\n\
         [task.apache]\nbackground = true\nworking_set = \"64KiB\"\n\
         program = \"forever\\n  disk network exp(5ms)\\n  run 300us\\nend\"\n"
    )
}

fn pair(lab: &Lab, build: Build, kib: u32) -> Result<Vec<Arc<CaseResult>>, Error> {
    lab.run(&[STOCK, PATCHED].map(|policy| case(lab, policy, build, kib)))
}

/// Time saved by the patch, as a share.
fn gain(lab: &Lab, findings: &mut Findings, build: Build, kib: u32) -> Result<Sample, Error> {
    let done = pair(lab, build, kib)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let (stock, patched) = (done[0].seconds(), done[1].seconds());
    Ok(stock.minus(&patched).over(&stock))
}

fn bars(paper: &Paper, gains: &[Sample]) -> Bars {
    let group = |((_, name, key), gain): (&(Build, &str, &str), &Sample)| BarGroup {
        name: name.to_string(),
        bars: vec![
            Bar {
                name: "here".to_string(),
                style: Style::Series(0),
                value: gain.median(),
                interval: gain.summary().map(|s| (s.lo, s.hi)),
            },
            Bar {
                name: "mail".to_string(),
                style: Style::Series(1),
                value: paper.value(key),
                interval: None,
            },
        ],
    };
    Bars {
        title: "Time saved by the patch".to_string(),
        unit: Unit::Share,
        width: schedlab_report::svg::WIDTH,
        groups: BUILDS.iter().zip(gains).map(group).collect(),
    }
}

/// The parameter the mail does not state.
fn sweep(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let mut table = Table {
        title: "Time saved, by working set".to_string(),
        stubs: vec!["build".to_string()],
        fields: SETS_KIB
            .iter()
            .map(|kib| Field::new(format!("{kib} KiB"), Unit::Share))
            .collect(),
        subjects: Vec::new(),
        layout: Layout::FieldsAsColumns,
        notes: vec!["Working set of an average compile; floppy.c's is twice that.".to_string()],
    };
    for (contest, (build, name, _)) in BUILDS.into_iter().enumerate() {
        let mut cells = Vec::new();
        for kib in SETS_KIB {
            cells.push(gain(lab, findings, build, kib)?.cell());
        }
        table.subjects.push(Subject {
            labels: vec![name.to_string()],
            contest,
            cells,
        });
    }
    findings.table(table);
    Ok(())
}

fn without_pipes(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let line =
        "kernel-build -j --files 600 --compile 360ms --assemble 43ms --driver 2ms --link 18s";
    let cases = [STOCK, PATCHED].map(|policy| Case::new(policy, EIGHT, line).seeds(6));
    let done = lab.run(&cases)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let (stock, patched) = (done[0].seconds(), done[1].seconds());
    let gain = stock.minus(&patched).over(&stock);
    let lesson = "on 8 CPUs: nobody calls schedule() between ticks";
    findings.ablation(
        "M5",
        "as runs after cc1, without a pipe",
        &gain,
        Unit::Share,
        lesson,
    );
    Ok(())
}
