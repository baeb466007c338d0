//! The report as text and in a browser.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::sample::{Random, Sample};
use schedlab_report::{render_html, ReportError, ReportInfo, Run};
use schedlab_trace::TaskId;

fn info() -> ReportInfo {
    ReportInfo {
        command: "schedlab compare --policies linux24,elsc,o1 --workload late".to_string(),
        machine: "four old processors".to_string(),
        version: "schedlab 0.1.0".to_string(),
    }
}

fn render(runs: &[Run]) -> String {
    render_html(runs, &info()).unwrap()
}

fn one(groups: Vec<(&'static str, u32, f64)>) -> Run {
    Sample {
        policy: "o1",
        variant: "2.6.11",
        seed: 7,
        nr_cpus: 2,
        groups,
        latency_ns: 5e4,
        overhead: 0.01,
    }
    .run()
}

#[test]
fn no_runs_are_no_report() {
    assert!(matches!(
        render_html(&[], &info()),
        Err(ReportError::NoRuns)
    ));
}

#[test]
fn what_was_asked_and_how_to_repeat_it_is_there() {
    let runs = crate::sample::three(1);
    let html = render(&runs);
    assert!(html.contains("schedlab compare --policies linux24,elsc,o1 --workload late"));
    assert!(html.contains("four old processors, 4 CPUs"));
    for run in &runs {
        assert!(html.contains(&run.trace_hash.to_string()));
        assert!(html.contains(&run.policy));
    }
}

#[test]
fn equal_runs_give_equal_files() {
    assert_eq!(
        render(&crate::sample::three(3)),
        render(&crate::sample::three(3))
    );
}

#[test]
fn names_from_users_stay_text() {
    let evil = "</title><script>alert(1)</script>\"'&<b>";
    let mut run = one(vec![("vi", 1, 0.5)]);
    run.workload = evil.into();
    run.machine = evil.into();
    run.command = evil.into();
    run.policy = evil.into();
    run.warnings.push(evil.into());
    run.metrics.tasks[0].name = format!("{evil}\u{0}\u{1b}");
    run.metrics.tasks[0].group = evil.into();
    run.metrics.groups[0].name = evil.into();
    run.metrics.plots.group_latency[0].group = evil.into();
    run.metrics.marks[0].name = evil.into();
    run.metrics.counters.insert(evil.into(), 1);
    let html = render_html(
        &[run.clone(), one(vec![("vi", 1, 0.5)])],
        &ReportInfo {
            command: evil.into(),
            machine: evil.into(),
            version: evil.into(),
        },
    )
    .unwrap();
    assert!(!html.contains("<script>alert"));
    assert!(!html.contains("\"'&<b>"));
    assert!(!html.contains(['\u{0}', '\u{1b}']));
    // The page has one title and one script, its own.
    assert_eq!(html.matches("</title>\n<link").count(), 1);
    assert_eq!(html.matches("<script>").count(), 1);
}

#[test]
fn nothing_is_fetched() {
    let html = render(&crate::sample::three(1));
    for forbidden in [
        "http:", "https:", "//www", "@import", "url(", " src=", "<iframe", "<base",
    ] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn a_run_without_anything_is_a_report() {
    let mut run = one(vec![]);
    run.metrics.marks.clear();
    run.metrics.scheduler = None;
    run.metrics.counters.clear();
    run.metrics.plots = Default::default();
    let html = render(&[run]);
    assert!(!html.contains("NaN"));
    assert!(html.contains("id=\"reproduce\""));
}

#[test]
fn one_task_is_a_report() {
    let html = render(&[one(vec![("alone", 1, 1.0)])]);
    assert!(html.contains("alone-0"));
    assert!(html.contains("Wakeup latency, all tasks"));
    assert!(
        !html.contains("Wakeup latency, alone"),
        "the only group is all tasks"
    );
}

#[test]
fn of_ten_thousand_tasks_some_are_listed() {
    let mut run = one(vec![("worker", 1, 0.9)]);
    let task = run.metrics.tasks[0].clone();
    run.metrics.tasks = (0..10_000)
        .map(|i| {
            let mut task = task.clone();
            task.id = TaskId(i);
            task.name = format!("worker-{i}");
            task
        })
        .collect();
    let html = render(&[run]);
    assert!(html.contains("the 200 of 10000 tasks that waited longest"));
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
}

#[test]
fn sixteen_policies_with_full_timelines_stay_a_file_one_can_mail() {
    let names = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
    ];
    let runs: Vec<Run> = names
        .iter()
        .map(|name| {
            let mut run = one(vec![("vi", 2, 0.1), ("make", 8, 0.8)]);
            run.policy = name.to_string();
            crowd(&mut run);
            run
        })
        .collect();
    let html = render(&runs);
    assert!(html.len() < 25_000_000, "{} bytes", html.len());
    assert!(html.contains("16 schedulers"));
}

/// Gives both windows of a run's timeline 2,000 slices.
fn crowd(run: &mut Run) {
    let mut random = Random::new(1);
    let plot = &mut run.metrics.plots.timeline;
    for window in [Some(&mut plot.start), plot.longest_wait.as_mut()]
        .into_iter()
        .flatten()
    {
        let (start, slice) = (window.start_ns, window.slices[0]);
        window.slices = (0..2_000u64)
            .map(|i| {
                let mut slice = slice;
                slice.task = TaskId((random.next() % 10) as u32);
                slice.start_ns.0 = start.0 + i * 50_000;
                slice.end_ns.0 = slice.start_ns.0 + 40_000;
                slice
            })
            .collect();
    }
}

/// A browser, or none: then the test says so where nobody can miss it, past the harness's
/// capture, in a form that can be counted.  Where `SCHEDLAB_REQUIRE_BROWSER` is set it must be there.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::var_os("SCHEDLAB_REQUIRE_BROWSER").is_some();
        assert!(
            !required,
            "SCHEDLAB_REQUIRE_BROWSER is set and there is no Chromium"
        );
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED report in a browser: there is no Chromium"
        );
    }
    found
}

/// What the page looks like once it has run, and what the browser logged meanwhile.
fn open(chromium: &PathBuf, html: &str, width: u32) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, html).unwrap();
    let flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
                 --disable-background-networking --disable-component-update --disable-sync \
                 --enable-logging=stderr --virtual-time-budget=2000 --dump-dom";
    let output = Command::new(chromium)
        .args(flags.split_whitespace())
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--window-size={width},1200"))
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Uses the page as a person would and writes down what it finds: every tab pressed, a table
/// sorted, every figure measured, everything that was fetched.
const PROBE: &str = include_str!("probe.js");

#[test]
fn a_browser_shows_it() {
    let Some(chromium) = chromium() else {
        return;
    };
    let (_, log) = open(&chromium, "<script>nonsense()</script>", 800);
    assert!(log.contains("CONSOLE"), "the alarm must work: {log}");
    let html = render(&crate::sample::three(1));
    let nr_figures = html.matches("<svg ").count();
    assert!(nr_figures > 20, "{nr_figures}");
    let probed = html.replace("</body>", &format!("<script>{{{PROBE}}}</script></body>"));
    for width in [1280, 500] {
        let (dom, log) = open(&chromium, &probed, width);
        assert!(!log.contains("CONSOLE"), "{log}");
        let expected =
            format!("sorted=true squeezed=0 figures={nr_figures} empty=0 wide=false fetched=0");
        let probe = dom.split("id=\"probe\">").nth(1).unwrap_or("nothing");
        assert!(
            probe.starts_with(&expected),
            "{width}: {}",
            &probe[..probe.len().min(200)]
        );
        for title in [
            "frame throughput",
            "Wakeup latency, all tasks",
            "Run delay, all tasks",
            "Wakeup latency, all tasks, tail",
            "Wakeup latency, vi",
            "What ran where at the start, linux24 2.4.16",
            "What ran where during the longest wait, o1 2.6.11",
            "CPU time over time, elsc",
            "Tasks waiting on run queues",
            "CPU time by group",
            "Tasks examined per call",
        ] {
            assert!(
                dom.contains(&format!("<figcaption>{title}</figcaption>")),
                "{title}"
            );
        }
    }
}

/// Names that could break the page are visible in it, and nothing in it is invalid.
#[test]
fn control_characters_do_not_reach_the_page() {
    let mut run = one(vec![("vi\u{1b}[31m\u{202e}", 2, 0.3)]);
    run.warnings.push("a\u{0}b\u{ffff}".into());
    let html = render(&[run]);
    let wrong = html
        .chars()
        .find(|c| *c != '\n' && schedlab_trace::is_unprintable(*c));
    assert_eq!(wrong, None);
    assert!(html.contains("vi\\u{1b}[31m\\u{202e}"));
    assert!(html.contains("a\\u{0}b\\u{ffff}"));
}

/// Fifteen curves on one plot cannot be told apart: each gets a plot of its own, the best first, with
/// the first policy's curve in grey.
#[test]
fn many_distributions_are_drawn_side_by_side() {
    let policies = ["a", "b", "c", "d", "e", "f"];
    let run = |i: usize| {
        Sample {
            policy: policies[i],
            variant: "",
            seed: 1,
            nr_cpus: 2,
            groups: vec![("vi", 1, 0.2)],
            latency_ns: 5e7 / f64::from(1 << (3 * i)),
            overhead: 0.01,
        }
        .run()
    };
    let runs: Vec<Run> = (0..6).map(run).collect();
    let html = render(&runs);
    let panel = &html[html.find("<h4>Wakeup latency, all tasks</h4>").unwrap()..];
    let panel = &panel[..panel
        .find("<h4>Wakeup latency, all tasks, tail</h4>")
        .unwrap()];
    let order: Vec<usize> = ["f", "e", "d", "c", "b", "a"]
        .iter()
        .map(|p| panel.find(&format!("<figcaption>{p}: p99\u{a0}")).unwrap())
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    // All but the first policy's own.
    assert_eq!(panel.matches("curve baseline").count(), 5);
    assert!(panel.contains("Grey: a."), "{panel}");
    let few = render(&runs[..5]);
    assert!(!few.contains("curve baseline"));
}
