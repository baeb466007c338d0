//! Experiments for a real kernel with one CPU: shares, response times, scaling, and real servers.
//! A kernel's events have no priorities (Figure 2 of ULE); its deterministic clock does not cover
//! caches and several CPUs.

use crate::prelude::*;
use crate::question::{Look, Programs, Question, Reading};
use crate::staircase::{self, Served, COMPUTE, INT0, INT1, O1};
use crate::ule::{self, mean, NICE, SHOWN};

/// Simulated seconds of each run: a virtual machine takes a few real ones for each.
const SECONDS: u64 = 20;
/// The time from which response times count: hogs have started and are no longer interactive.
const SETTLED: usize = 10;

pub const QUESTIONS: &[Question] = &[
    Question {
        experiment: "ule-figure-3",
        title: "Nine hogs of nice -20 to 19 on one CPU, 20 s: share by nice",
        cases: hogs,
        programs: None,
        readings: &[
            ("-20", Unit::Share, |l| share(l, 0)),
            ("-15", Unit::Share, |l| share(l, 1)),
            ("-10", Unit::Share, |l| share(l, 2)),
            ("-5", Unit::Share, |l| share(l, 3)),
            ("0", Unit::Share, |l| share(l, 4)),
            ("19", Unit::Share, |l| share(l, 8)),
        ],
        claims: &[
            ("C8", "Solaris favours -20 over -15 more than 1.3 times as much as -15 over -10", |v| {
                v[1][0] / v[1][1] > 1.3 * v[1][1] / v[1][2]
            }),
            ("C10", "Linux 2.5.73 gives nice 19 more than 0.2 %", |v| v[2][5] > 0.002),
            ("C11", "Solaris gives nice 19 less than 0.5 %", |v| v[1][5] < 0.005),
        ],
    },
    Question {
        experiment: "ule-figure-5",
        title: "4 vi and 2 Mozilla beside nine nice hogs on one CPU, 20 s",
        cases: beside_hogs,
        programs: None,
        readings: &[
            ("mean sum of responses", Unit::Time, |l| 1e9 * mean(&l.responses.sums()[3..])),
            ("from 10 s on", Unit::Time, |l| 1e9 * mean(&l.responses.sums()[SETTLED..])),
            ("longest response", Unit::Time, |l| 1e9 * l.responses.worst(0.0)),
        ],
        claims: &[("C28", "ULE's mean sum is the lowest of the four", |v| {
            (0..3).all(|i| v[3][0] < v[i][0])
        })],
    },
    Question {
        experiment: "ule-figure-6",
        title: "A vi beside five nice -5 programs of 25 % on one CPU, 20 s",
        cases: loaders,
        programs: None,
        readings: &[
            ("mean response", Unit::Time, |l| 1e9 * mean(&l.responses.sums()[SETTLED..])),
            ("longest response", Unit::Time, |l| 1e9 * l.responses.worst(SETTLED as f64)),
        ],
        claims: &[
            ("C29", "Linux's vi responds more than 10 times as late as alone", |v| {
                v[0][0] > 10.0 * v[1][0]
            }),
            ("C30", "ULE's vi responds within 1.5 times its time alone", |v| {
                v[2][0] < 1.5 * v[3][0]
            }),
        ],
    },
    Question {
        experiment: "elsc-figure-4",
        title: "VolanoMark on one CPU",
        cases: chat,
        programs: None,
        readings: &[("messages a second", Unit::Rate, |l| {
            let marks = l.metrics.marks.iter();
            marks.filter(|m| m.name == "message").map(|m| m.per_second).sum()
        })],
        claims: &[
            ("E3", "ELSC keeps more of its 5-room throughput with 20 rooms than stock", |v| {
                v[3][0] / v[2][0] > v[1][0] / v[0][0]
            }),
            ("E4", "ELSC's throughput is higher with 20 rooms", |v| v[3][0] > v[1][0]),
        ],
    },
    Question {
        experiment: "staircase-apache",
        title: "ab -c 150 -n 600 on an Apache of 150 processes, one CPU",
        cases: web,
        programs: Some(Programs {
            script: include_str!("staircase-apache/real.sh"),
            needs: &[("apache2", "apache2-bin"), ("ab", "apache2-utils")],
            with: &[
                "/usr/lib/apache2/modules/mod_mpm_prefork.so",
                "/usr/lib/apache2/modules/mod_authz_core.so",
                "/usr/lib/apache2/modules/mod_lua.so",
            ],
        }),
        readings: SERVED,
        claims: &[
            ("S1", "Staircase without compute mode takes as long as O(1), within 1 %", |v| {
                [INT0, INT1].iter().all(|&mode| (v[mode][0] / v[O1][0] - 1.0).abs() < 0.01)
            }),
            ("S2", "Compute mode takes longest, by more than 0.1 %", |v| {
                [O1, INT0, INT1].iter().all(|&mode| v[COMPUTE][0] > 1.001 * v[mode][0])
            }),
            ("S3", "interactive=0 is faster than interactive=1, by more than 0.1 %", |v| {
                v[INT1][0] > 1.001 * v[INT0][0]
            }),
            ("S4", BEST_WORST, best_worst),
            ("S5", BEST_MAJORITY, best_majority),
            ("S6", "Compute mode has Staircase's best 95 %-min, and a max-min of a third of the run", |v| {
                let best = [INT0, INT1].iter().all(|&mode| v[COMPUTE][2] < v[mode][2]);
                best && v[COMPUTE][1] > v[COMPUTE][0] / 3.0
            }),
        ],
    },
    Question {
        experiment: "staircase-mysql",
        title: "sysbench on a database without a disk: 8 threads, 300 transactions, 10,000 rows, one CPU",
        cases: database,
        programs: Some(Programs {
            script: include_str!("staircase-mysql/real.sh"),
            needs: &[("mariadbd", "mariadb-server-core"), ("sysbench", "sysbench")],
            with: &["/usr/share/mysql/english", "/usr/share/mysql/charsets", "/usr/share/sysbench"],
        }),
        readings: SERVED,
        claims: &[
            ("S3", "interactive=1 is faster than interactive=0, by more than 0.1 %", |v| {
                v[INT0][0] > 1.001 * v[INT1][0]
            }),
            ("S4", BEST_WORST, best_worst),
            ("S5", BEST_MAJORITY, best_majority),
            ("S7", "interactive=1 takes 1 to 4 % longer than O(1)", |v| {
                (0.01..0.04).contains(&(v[INT1][0] / v[O1][0] - 1.0))
            }),
        ],
    },
];

/// The article's measurements.
const SERVED: &[Reading] = &[
    ("completion", Unit::Time, |l| served(l, |s| s.completion)),
    ("max-min", Unit::Time, |l| served(l, |s| s.max_min)),
    ("95 %-min", Unit::Time, |l| served(l, |s| s.major_min)),
];

fn served(look: &Look, value: fn(&Served) -> f64) -> f64 {
    look.served.as_ref().map_or(f64::NAN, value)
}

const BEST_WORST: &str = "interactive=0's max-min is below O(1)'s by more than 5 %";

fn best_worst(v: &[Vec<f64>]) -> bool {
    v[INT0][1] < 0.95 * v[O1][1]
}

const BEST_MAJORITY: &str = "O(1) has the lowest 95 %-min, within 1 %";

fn best_majority(v: &[Vec<f64>]) -> bool {
    [INT0, INT1, COMPUTE]
        .iter()
        .all(|&mode| v[O1][2] <= 1.01 * v[mode][2])
}

/// The share of a hog by its place in [`NICE`].
fn share(look: &Look, place: usize) -> f64 {
    let name = format!("hog-nice{}", NICE[place]);
    let group = look.metrics.groups.iter().find(|g| *g.name == *name);
    group.map_or(f64::NAN, |g| g.activity.cpu_share)
}

/// The paper's schedulers, and the one of the kernel itself.
fn each(case: impl Fn(&str) -> Case) -> Vec<(&'static str, Case)> {
    let known = ule::SCHEDULERS.iter().chain(&[("EEVDF", "eevdf")]);
    known
        .map(|(name, policy)| (*name, case(policy).seconds(SECONDS)))
        .collect()
}

fn hogs() -> Vec<(&'static str, Case)> {
    let nice = NICE.map(|n| n.to_string()).join(",");
    each(|policy| {
        ule::from_shell(Case::new(
            policy,
            ule::MACHINE,
            &format!("hogs --nice={nice}"),
        ))
    })
}

fn beside_hogs() -> Vec<(&'static str, Case)> {
    each(|policy| ule::late(policy, &ule::figure_5(SHOWN)))
}

/// Linux needs a minute to give sleeping loaders the best priority: here they begin with it.
fn loaders() -> Vec<(&'static str, Case)> {
    let run = |policy: &str, others: &str| {
        let case =
            Case::new(policy, ule::MACHINE, &format!("late --task vi{others}")).seconds(SECONDS);
        match policy {
            "o1:2.5.73" => case.set("initial_sleep_avg_ms", 10_000),
            _ => case,
        }
    };
    let five = " --task loader:count=5,run=25ms,sleep=75ms,nice=-5";
    vec![
        ("Linux 2.5.73", run("o1:2.5.73", five)),
        ("Linux 2.5.73, vi alone", run("o1:2.5.73", "")),
        ("ULE", run("ule", five)),
        ("ULE, vi alone", run("ule", "")),
        ("EEVDF", run("eevdf", five)),
    ]
}

fn chat() -> Vec<(&'static str, Case)> {
    let run = |policy, rooms| {
        Case::new(
            policy,
            "netfinity-7000-up",
            &format!("volanomark --rooms {rooms} --count 2"),
        )
    };
    vec![
        ("stock 2.3.99, 5 rooms", run(crate::elsc::STOCK, 5)),
        ("stock 2.3.99, 20 rooms", run(crate::elsc::STOCK, 20)),
        ("ELSC, 5 rooms", run(crate::elsc::ELSC, 5)),
        ("ELSC, 20 rooms", run(crate::elsc::ELSC, 20)),
        ("EEVDF, 5 rooms", run("eevdf", 5)),
        ("EEVDF, 20 rooms", run("eevdf", 20)),
    ]
}

/// All servers exist from the start: a run this short ends before Apache has forked many.
fn web() -> Vec<(&'static str, Case)> {
    modes("ab -n 600 --start-servers 150")
}

fn database() -> Vec<(&'static str, Case)> {
    modes("sysbench-oltp -t 8 -n 300 --rows 10000 --read 0 --flush 0")
}

/// The article's modes, and the kernel's own scheduler.
fn modes(workload: &str) -> Vec<(&'static str, Case)> {
    let cases = staircase::MODES
        .iter()
        .map(|mode| (mode.0, staircase::case(mode, workload)));
    cases
        .chain([("EEVDF", Case::new("eevdf", staircase::MACHINE, workload))])
        .collect()
}
