//! Building a kernel with make -j4.

use crate::prelude::*;

const KERNELS: [(&str, &str, &str); 2] = [
    ("UP", "netfinity-5500-up", "up"),
    ("2P", "netfinity-5500-2p", "two"),
];

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut subjects = Vec::new();
    let mut gains = Vec::new();
    for (i, (kernel, machine, key)) in KERNELS.into_iter().enumerate() {
        let cases = [crate::elsc::STOCK, crate::elsc::ELSC]
            .map(|policy| Case::new(policy, machine, "kernel-build -j 4").seeds(lab.pick(3, 1)));
        let done = lab.run(&cases)?;
        let (stock, elsc) = (done[0].seconds(), done[1].seconds());
        for (name, outcome, sample) in [("stock", &done[0], &stock), ("elsc", &done[1], &elsc)] {
            findings.ran(outcome);
            let published = paper.value(&format!("{key}.{name}"));
            subjects.push(Subject {
                labels: vec![kernel.to_string(), name.to_string()],
                contest: i,
                cells: vec![
                    sample.map(|s| s * 1e9).cell(),
                    Cell::number(published * 1e9),
                ],
            });
        }
        gains.push(stock.minus(&elsc).over(&stock));
    }
    findings.table(Table {
        title: "make -j4 bzImage".to_string(),
        stubs: vec!["kernel".to_string(), "scheduler".to_string()],
        fields: vec![
            Field::new("here", Unit::Time).better(Better::Lower),
            Field::new("paper", Unit::Time),
        ],
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec![
            "The length of one compile was chosen from the paper's own times: only the difference between schedulers is a result.".to_string(),
        ],
    });
    let [up, two] = [&gains[0], &gains[1]];
    // Equal within half a per cent on 2P; better by any amount on UP.
    let holds = two.median().abs() < 0.005 && up.median() > 0.001;
    findings.judge_text(
        "E5",
        format!(
            "UP {:+.2} %, 2P {:+.2} %",
            100.0 * up.median(),
            100.0 * two.median()
        ),
        "",
        holds,
    );
    unstated(lab, &mut findings)?;
    Ok(findings)
}

/// ELSC's gain for parameters of the build that the paper does not state.
fn unstated(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    const UP: &str = "netfinity-5500-up";
    const TWO: &str = "netfinity-5500-2p";
    let changes = [
        (
            UP,
            "files of a third of the length, three times as many",
            "--files 1200 --compile 209ms --assemble 25ms --driver 5ms",
        ),
        (UP, "compilers beside their assemblers (-pipe)", "--pipe 50"),
        (TWO, "the same on 2P", "--pipe 50"),
        (UP, "a fifth of the pages through pipes", "--pipe 10"),
        (TWO, "the same on 2P", "--pipe 10"),
        (UP, "no waiting for the disk", "--disk 0ns"),
        (UP, "working sets of 64 KiB, not 512", "--working-set 64KiB"),
    ];
    for (machine, change, options) in changes {
        let line = format!("kernel-build -j 4 {options}");
        let cases = [crate::elsc::STOCK, crate::elsc::ELSC]
            .map(|policy| Case::new(policy, machine, &line).seeds(lab.pick(3, 1)));
        let done = lab.run(&cases)?;
        done.iter().for_each(|outcome| findings.ran(outcome));
        let (stock, elsc) = (done[0].seconds(), done[1].seconds());
        let gain = stock.minus(&elsc).over(&stock);
        findings.ablation("E5", change, &gain, Unit::Share, "ELSC's gain");
    }
    Ok(())
}
