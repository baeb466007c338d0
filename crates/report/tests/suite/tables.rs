//! Tables as text.

use crate::sample::{Sample, DURATION_NS};
use schedlab_report::quantity::Unit;
use schedlab_report::table::{Better, Cell, Field, Layout, Subject, Table, Terminal};
use schedlab_report::{text, Run};
use unicode_width::UnicodeWidthStr;

fn plain(width: usize) -> Terminal {
    Terminal {
        width,
        colour: false,
    }
}

/// Throughput, a latency and a count of some policies.
fn comparison(policies: &[(&str, [f64; 3])]) -> Table {
    let subject = |(name, cells): &(&str, [f64; 3])| Subject {
        labels: vec![name.to_string()],
        contest: 0,
        cells: cells.iter().map(|c| Cell::number(*c)).collect(),
    };
    Table {
        title: "chat on ideal-4".into(),
        stubs: vec!["policy".into()],
        fields: vec![
            Field::new("messages", Unit::Rate).better(Better::Higher),
            Field::new("wakeup latency p99", Unit::Time).better(Better::Lower),
            Field::new("migrations", Unit::Count),
        ],
        subjects: policies.iter().map(subject).collect(),
        layout: Layout::FieldsAsRows,
        notes: vec![],
    }
}

const THREE: [(&str, [f64; 3]); 3] = [
    ("linux24", [812.0, 48_100_000.0, 1_523.0]),
    ("elsc", [1_190.0, 9_300_000.0, 1_498.0]),
    ("o1", [1_423.0, 2_300_000.0, 87.0]),
];

fn intervals(mut table: Table, spread: f64) -> Table {
    for cell in table.subjects.iter_mut().flat_map(|s| &mut s.cells) {
        if let Cell::Number { value, interval } = cell {
            *interval = Some((*value * (1.0 - spread), *value * (1.0 + spread)));
        }
    }
    table
}

#[test]
fn numbers_units_and_marks_stand_below_each_other() {
    let expected = "\
chat on ideal-4
                     linux24      elsc         o1
─────────────────────────────────────────────────
messages              812 /s  1,190 /s  1,423 /s*
wakeup latency p99   48.1 ms    9.3 ms    2.3 ms*
migrations          1,523     1,498        87
* best; unmarked where values are equal or intervals overlap
";
    assert_eq!(plain(80).render(&comparison(&THREE)), expected);
}

#[test]
fn with_fields_as_columns_the_unit_stands_in_the_heading() {
    let mut table = comparison(&THREE);
    table.layout = Layout::FieldsAsColumns;
    let expected = "\
chat on ideal-4
                     wakeup
         messages   latency
policy       (/s)  p99 (ms)  migrations
───────────────────────────────────────
linux24      812      48.1        1,523
elsc       1,190       9.3        1,498
o1         1,423*      2.3*          87
* best; unmarked where values are equal or intervals overlap
";
    assert_eq!(plain(80).render(&table), expected);
}

#[test]
fn intervals_follow_their_values() {
    // 10 % to both sides: o1's throughput reaches down to 1,281 /s, that of elsc up to 1,309 /s, so
    // nobody has the best one; the latencies stay apart.
    let expected = "\
chat on ideal-4
                                    linux24                     elsc                        o1
──────────────────────────────────────────────────────────────────────────────────────────────
messages              812 /s     [731, 893]  1,190 /s [1,071, 1,309]  1,423 /s  [1,281, 1,565]
wakeup latency p99   48.1 ms   [43.3, 52.9]    9.3 ms    [8.4, 10.2]    2.3 ms*     [2.1, 2.5]
migrations          1,523    [1,371, 1,675]  1,498    [1,348, 1,648]     87           [78, 96]
* best; unmarked where values are equal or intervals overlap
";
    let rendered = plain(120).render(&intervals(comparison(&THREE), 0.1));
    assert_eq!(rendered, expected);
}

#[test]
fn markdown_has_the_same_numbers() {
    let mut table = comparison(&THREE);
    table.subjects[0].labels[0] = "a|b_*c*".into();
    let expected = "\
**chat on ideal-4**

|  | a\\|b\\_\\*c\\* | elsc | o1 |
| :--- | ---: | ---: | ---: |
| messages | 812 /s | 1,190 /s | **1,423 /s** |
| wakeup latency p99 | 48.1 ms | 9.3 ms | **2.3 ms** |
| migrations | 1,523 | 1,498 | 87 |
";
    assert_eq!(table.markdown(), expected);
}

#[test]
fn equal_values_and_missing_ones_have_no_best() {
    let mut table = comparison(&[("a", [5.0, 1e6, 0.0]), ("b", [5.0, 2e6, 0.0])]);
    table.subjects[1].cells[1] = Cell::Missing;
    let rendered = plain(80).render(&table);
    assert!(!rendered.contains('*'), "{rendered}");
    assert!(rendered.contains('–'), "{rendered}");
}

#[test]
fn the_best_is_marked_once_in_each_contest() {
    let mut table = comparison(&THREE);
    table.layout = Layout::FieldsAsColumns;
    table.subjects[2].contest = 1;
    let mut other = table.subjects[2].clone();
    other.cells[0] = Cell::number(1.0);
    table.subjects.push(other);
    let rendered = plain(80).render(&table);
    assert!(
        rendered.contains("1,190*") && rendered.contains("1,423*"),
        "{rendered}"
    );
}

#[test]
fn a_lead_that_rounding_hides_is_none() {
    let rendered = plain(80).render(&comparison(&[
        ("a", [812.4, 9_310_000.0, 0.0]),
        ("b", [812.3, 9_320_000.0, 0.0]),
        ("c", [1.0, 99_000_000.0, 0.0]),
    ]));
    assert!(!rendered.contains('*'), "{rendered}");
}

#[test]
fn each_contest_has_the_unit_that_suits_it() {
    // 3 µs against 5 µs is one question, 1 s against 2 s another; in one unit neither could be read.
    let mut table = comparison(&[
        ("a", [1.0, 3e3, 0.0]),
        ("b", [1.0, 5e3, 0.0]),
        ("c", [1.0, 1e9, 0.0]),
        ("d", [1.0, 2e9, 0.0]),
    ]);
    table.layout = Layout::FieldsAsColumns;
    table.subjects[2].contest = 1;
    table.subjects[3].contest = 1;
    let rendered = plain(80).render(&table);
    for expected in ["3.00 µs*", "5.00 µs", "1.00 s*", "2.00 s"] {
        assert!(rendered.contains(expected), "{rendered}");
    }
    assert!(!rendered.contains("(µs)"), "{rendered}");
}

#[test]
fn colour_is_used_only_where_allowed() {
    let table = comparison(&THREE);
    assert!(!plain(80).render(&table).contains('\x1b'));
    let coloured = Terminal {
        width: 80,
        colour: true,
    }
    .render(&table);
    assert!(
        coloured.contains("\x1b[1;32m1,423 /s*\x1b[0m"),
        "{coloured:?}"
    );
}

#[test]
fn names_from_users_cannot_command_the_terminal() {
    let mut table = comparison(&THREE);
    table.subjects[0].labels[0] = "evil\x1b]0;title\x07\nname".into();
    table.title = "\x1b[2J".into();
    let rendered = plain(80).render(&table);
    assert!(
        !rendered.contains('\x1b') && !rendered.contains('\x07'),
        "{rendered:?}"
    );
}

#[test]
fn wide_names_keep_the_columns_straight() {
    let mut table = comparison(&THREE);
    table.layout = Layout::FieldsAsColumns;
    table.subjects[0].labels[0] = "編集者".into();
    let rendered = plain(80).render(&table);
    let ends: Vec<usize> = rendered
        .lines()
        .skip(4)
        .take(3)
        .map(UnicodeWidthStr::width)
        .collect();
    assert_eq!(ends, [38, 38, 38], "{rendered}");
}

/// `count` policies that differ in their names alone.
fn policies(count: u64, seeds: u64) -> Vec<Run> {
    let names = [
        "linux24",
        "elsc",
        "o1",
        "staircase",
        "rbs",
        "ule",
        "svr4-ts",
        "4bsd",
        "cfs",
        "eevdf",
        "fifo",
        "lottery",
        "stride",
        "bvt",
        "mlfq",
        "random",
    ];
    let run = |i: u64, seed| {
        let mut run = Sample {
            policy: names[i as usize],
            variant: if i == 0 { "2.4.16" } else { "" },
            seed,
            nr_cpus: 2,
            groups: vec![("vi", 1, 0.1), ("make", 3, 0.8)],
            latency_ns: 1e5 * (i + 1) as f64,
            overhead: 0.01 * (i + 1) as f64 / 2.0,
        }
        .run();
        run.command = "schedlab compare --policies all".into();
        run
    };
    (0..count)
        .flat_map(|i| (1..=seeds).map(move |seed| run(i, seed)))
        .collect()
}

#[test]
fn one_to_sixteen_policies_fit_80_and_120_columns() {
    for width in [80, 120] {
        for (count, seeds) in [(1, 1), (2, 1), (3, 5), (5, 3), (16, 1), (16, 7)] {
            let runs = policies(count, seeds);
            let rendered = text::terminal(&runs, plain(width));
            let commands = |l: &&str| !l.contains("reproduce:") && !l.contains(" simulated (");
            for line in rendered.lines().filter(commands) {
                assert!(
                    line.width() <= width,
                    "{count} policies, {width}: {line}\n{rendered}"
                );
            }
            for run in &runs {
                assert!(rendered.contains(&run.policy), "{rendered}");
                assert!(rendered.contains(&run.trace_hash.to_string()), "{rendered}");
            }
        }
    }
}

#[test]
fn a_wide_comparison_is_turned() {
    let rendered = text::terminal(&policies(16, 1), plain(80));
    let line = |word: &str| rendered.lines().filter(|l| l.starts_with(word)).count();
    // Turned, each policy begins a line of every part; it began none as the heading of a column.
    assert!(line("staircase") >= 2, "{rendered}");
    assert_eq!(line("Wakeup latency p99"), 0, "{rendered}");
}

#[test]
fn results_end_with_hash_and_command() {
    let runs = policies(2, 1);
    let rendered = text::terminal(&runs, plain(80));
    let last: Vec<&str> = rendered.lines().rev().take(3).collect();
    assert_eq!(last[0], "  reproduce: schedlab compare --policies all");
    assert_eq!(
        last[1],
        format!("trace {}  elsc seed 1", runs[1].trace_hash)
    );
    assert_eq!(
        last[2],
        format!("trace {}  linux24 2.4.16 seed 1", runs[0].trace_hash)
    );
    let markdown = text::markdown(&runs);
    assert!(
        markdown.contains("```sh\nschedlab compare --policies all\n```\n"),
        "{markdown}"
    );
}

#[test]
fn seeds_are_summed_up_as_median_and_range() {
    // Throughputs of three seeds: 10, 40, 20 frames a second.
    let mut runs = policies(1, 3);
    for (run, rate) in runs.iter_mut().zip([10.0, 40.0, 20.0]) {
        run.metrics.marks[0].per_second = rate;
    }
    let rendered = text::terminal(&runs, plain(80));
    assert!(rendered.contains("20 /s     [10, 40]"), "{rendered}");
    assert!(
        rendered.contains("Medians of 3 seeds [lowest, highest]"),
        "{rendered}"
    );
    assert!(rendered.contains("seeds 1–3"), "{rendered}");
}

#[test]
fn a_run_without_anything_can_be_shown() {
    let mut run = policies(1, 1).remove(0);
    run.metrics = Sample {
        policy: "o1",
        variant: "",
        seed: 1,
        nr_cpus: 1,
        groups: vec![],
        latency_ns: 1.0,
        overhead: 0.0,
    }
    .metrics();
    run.metrics.marks.clear();
    run.metrics.scheduler = None;
    run.metrics.counters.clear();
    let rendered = text::terminal(std::slice::from_ref(&run), plain(80));
    assert!(rendered.contains("reproduce:"), "{rendered}");
    assert!(
        !rendered.contains("NaN") && !rendered.contains("inf"),
        "{rendered}"
    );
    text::markdown(std::slice::from_ref(&run));
    assert_eq!(run.duration_ns.0, DURATION_NS);
}

#[test]
fn of_many_tasks_those_that_waited_longest_are_shown() {
    let mut run = policies(1, 1).remove(0);
    let task = run.metrics.tasks[0].clone();
    run.metrics.tasks = (0..10_000)
        .map(|i| {
            let mut task = task.clone();
            task.id = schedlab_trace::TaskId(i);
            task.name = format!("worker-{i}");
            if let Some(wait) = &mut task.activity.longest_wait {
                wait.ns.0 = if i == 7_777 { 10_000_000_000 } else { 1_000 };
            }
            task
        })
        .collect();
    let rendered = text::terminal(&[run], plain(120));
    assert!(rendered.contains("worker-7777"), "{rendered}");
    assert!(!rendered.contains("worker-7776"), "{rendered}");
    assert!(
        rendered.contains("the 20 of 10000 tasks that waited longest"),
        "{rendered}"
    );
    assert!(
        rendered.lines().count() < 150,
        "{}",
        rendered.lines().count()
    );
}

/// A policy, and how fast; each seed of `random` has another trace.
fn seeds(policy: &'static str, random: bool, messages: f64) -> Vec<Run> {
    let run = |seed| {
        let sample = Sample {
            policy,
            variant: "",
            seed: if random { seed } else { 1 },
            nr_cpus: 2,
            groups: vec![("vi", 1, 0.2)],
            latency_ns: 5e4,
            overhead: (299.0 - messages) / 1000.0,
        };
        Run {
            seed,
            ..sample.run()
        }
    };
    (1..=10).map(run).collect()
}

/// Ten seeds with one trace are one result: no interval, and the text says so.
#[test]
fn seeds_that_change_nothing_are_no_statistics() {
    let equal = seeds("o1", false, 250.0);
    let shown = text::terminal(&equal, plain(120));
    assert!(shown.contains("Equal for all seeds\n"), "{shown}");
    assert!(shown.contains("o1 seeds 1–10: equal for all"), "{shown}");
    assert_eq!(shown.matches("\ntrace ").count(), 1, "{shown}");
    assert!(!shown.contains("Medians of"), "{shown}");
    assert!(!shown.contains('['), "{shown}");

    let mixed = [equal, seeds("lottery", true, 240.0)].concat();
    let shown = text::terminal(&mixed, plain(120));
    assert!(shown.contains("Equal for all seeds: o1\n"), "{shown}");
    assert!(shown.contains("Medians of 10 seeds ["), "{shown}");
    assert_eq!(shown.matches("\ntrace ").count(), 1 + 10, "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&schedlab_report::json::comparison(&mixed, "0.1.0").unwrap()).unwrap();
    let summary = &json["summary"];
    assert_eq!(summary[0]["equal_for_all_seeds"], true);
    assert_eq!(summary[0]["metrics"][0]["n"], 1);
    assert_eq!(summary[1]["equal_for_all_seeds"], false);
    assert_eq!(summary[1]["metrics"][0]["n"], 10);
}
