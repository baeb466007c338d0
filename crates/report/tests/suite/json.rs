//! Results as JSON.

use schedlab_report::json;
use serde_json::Value;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_run_carries_what_is_promised() {
    let run = crate::sample::three(4).remove(2);
    let value = parse(&json::run(&run, "0.1.0").unwrap());
    assert_eq!(value["policy"], "o1");
    assert_eq!(value["variant"], "2.6.11");
    assert_eq!(value["workload"], "late --vi 2 --mozilla 1 --make 8");
    assert_eq!(value["machine"], "netfinity-7000-4p");
    assert_eq!(value["seed"], 4);
    assert_eq!(value["duration_ns"], 10_000_000_000u64);
    assert_eq!(value["trace_hash"], run.trace_hash.to_string());
    assert_eq!(value["counters"]["pulls"], 77);
    assert_eq!(value["cpus"].as_array().unwrap().len(), 4);
    let task = &value["tasks"][3];
    assert_eq!(
        (&task["name"], &task["id"], &task["nice"]),
        (&"make-0".into(), &3.into(), &5.into())
    );
    for key in ["run_ns", "nr_switches", "nr_migrations"] {
        assert!(task[key].is_u64(), "{key}");
    }
    for key in ["p50", "p95", "p99", "max"] {
        assert!(task["run_delay_ns"][key].is_u64(), "{key}");
        assert!(task["wakeup_latency_ns"][key].is_u64(), "{key}");
    }
}

#[test]
fn what_it_is_comes_first() {
    let text = json::run(&crate::sample::three(1)[0], "0.1.0").unwrap();
    assert!(
        text.starts_with("{\n  \"schedlab\": \"0.1.0\",\n  \"policy\": \"linux24\",\n  \"variant\": \"2.4.16\",\n"),
        "{text}"
    );
    assert!(text.ends_with("}\n"));
}

#[test]
fn a_comparison_carries_runs_and_intervals() {
    let mut runs: Vec<_> = (1..=3).flat_map(crate::sample::three).collect();
    // Preemptions under linux24 in three seeds: 30, 10, 20.
    for (i, n) in [30, 10, 20].into_iter().enumerate() {
        runs[3 * i].metrics.total.nr_involuntary_switches = n;
    }
    let value = parse(&json::comparison(&runs, "0.1.0").unwrap());
    assert_eq!(value["runs"].as_array().unwrap().len(), 9);
    assert_eq!(value["runs"][4]["policy"], "elsc");
    assert_eq!(value["runs"][4]["seed"], 2);
    let summary = value["summary"].as_array().unwrap();
    assert_eq!(summary.len(), 3);
    assert_eq!(summary[0]["seeds"], Value::from(vec![1, 2, 3]));
    let metrics = summary[0]["metrics"].as_array().unwrap();
    let metric = metrics
        .iter()
        .find(|m| m["id"] == "nr_involuntary_switches")
        .unwrap();
    assert_eq!(metric["median"], 20.0);
    assert_eq!((&metric["lo"], &metric["hi"]), (&10.0.into(), &30.0.into()));
    assert_eq!(
        (&metric["n"], &metric["interval"]),
        (&3.into(), &"range".into())
    );
    assert_eq!(metric["better"], "neither");
}
