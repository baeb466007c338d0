//! Verdicts over what papers do not state.

use schedlab_reproduce::{
    experiments, explore, parameters, regions, Design, Experiment, Report, Rule, Runner, Split,
    Tried, Verdict,
};
use schedlab_workload::builtin;

fn find(id: &str) -> &'static Experiment {
    let found = experiments().iter().find(|e| e.id == id);
    found.unwrap_or_else(|| panic!("there is no experiment {id}"))
}

fn explored(id: &str, machine: Option<f64>, threads: usize) -> Report {
    let design = Design {
        points: 20,
        machine,
    };
    let runner = || Runner::new(true, Some(threads), &|| false);
    let mut reports = explore(&[find(id)], &design, runner, |_| ()).unwrap();
    reports.remove(0)
}

#[test]
fn a_verdict_is_certain_when_no_further_point_can_change_it() {
    // At most 2 of 50 points may disagree.
    let rule = Rule { points: 50 };
    assert_eq!(rule.verdict(3, 5), None);
    assert_eq!(rule.verdict(3, 6), Some(Verdict::Depends));
    assert_eq!(rule.verdict(49, 49), None);
    assert_eq!(rule.verdict(48, 50), Some(Verdict::Holds));
    assert_eq!(rule.verdict(47, 50), Some(Verdict::Depends));
    assert_eq!(rule.verdict(2, 50), Some(Verdict::Fails));
}

/// Each option and time of the file, in the words of the workload it is of.
#[test]
fn every_parameter_of_a_workload_is_one_of_its_options() {
    let text = include_str!("../../../../experiments/unstated.toml");
    let file: toml::Table = text.parse().unwrap();
    let parts = |kind: &str| file[kind].as_array().unwrap().clone();
    let word = |table: &toml::Value, key: &str| table[key].as_str().unwrap().to_string();
    let mut lines = Vec::new();
    for scale in parts("scale") {
        let options = scale["options"].as_table().unwrap().clone();
        for (option, time) in options {
            let time = time.as_str().unwrap();
            lines.push(format!("{} --{option} {time}", word(&scale, "workload")));
        }
    }
    for choice in parts("option") {
        for value in choice["values"].as_array().unwrap() {
            let (workload, option) = (word(&choice, "workload"), word(&choice, "option"));
            lines.push(format!("{workload} --{option} {}", value.as_str().unwrap()));
        }
    }
    for line in lines {
        builtin::parse(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn a_region_has_the_costs_of_its_machine_and_does_not_depend_on_threads() {
    let one = explored("ule-figure-3", Some(0.5), 1);
    let claims = &one.findings.claims;
    let region = claims[0].region.as_ref().unwrap();
    let names: Vec<&str> = region
        .parameters
        .iter()
        .map(|range| range.name.as_str())
        .collect();
    assert!(
        names.contains(&"switches") && names.contains(&"kernel entries"),
        "{names:?}"
    );
    assert!(!names.contains(&"work of a packet"), "{names:?}");
    assert_eq!(region.parameters[0].values, ["0.50 times", "1.50 times"]);
    assert_eq!(
        claims,
        &explored("ule-figure-3", Some(0.5), 2).findings.claims
    );
    let page = regions(&[one], "schedlab reproduce C7 --region 20");
    assert!(page.contains("holds at 20 of 20 points"), "{page}");
}

/// Ten points in the middles of tenths of the first cost (0.7 to 1.3 times) and of a choice; `holds` says where.
fn split(holds: impl Fn(usize) -> bool) -> Option<(usize, String, usize)> {
    let all = parameters(None);
    let choice = all
        .iter()
        .position(|p| p.name == "rows of the database")
        .unwrap();
    // The choice's positions are in another order than the cost's.
    let point = |i: usize| Tried {
        positions: vec![(i as f64 + 0.5) / 10.0, ((3 * i) % 10) as f64 / 10.0],
        measured: String::new(),
        holds: holds(i),
    };
    let tried: Vec<Tried> = (0..10).map(point).collect();
    let split = Split::best(&[(0, &all[0]), (choice, &all[choice])], &tried)?;
    Some((split.parameter, split.holds, split.exceptions))
}

#[test]
fn the_parameter_that_decides_is_the_one_with_the_fewest_exceptions() {
    // 0.7 times (1.3 / 0.7) to the power of 0.4 is 0.897.
    let above = Some((0, "it holds above 0.90 times".to_string(), 0));
    assert_eq!(split(|i| i >= 4), above);
    assert_eq!(
        split(|i| i >= 4 && i != 8),
        Some((0, "it holds above 0.90 times".to_string(), 1))
    );
    assert_eq!(
        split(|i| i < 4),
        Some((0, "it holds below 0.90 times".to_string(), 0))
    );
    // Positions 0.7 and more stand for the last of three values.
    let last = |i: usize| (3 * i) % 10 >= 7;
    assert_eq!(split(last), Some((1, "it holds with 500".to_string(), 0)));
    assert_eq!(split(|_| true), None);
}

/// On machines without costs, with workloads of its own, nothing is open.
#[test]
fn an_experiment_without_unstated_parameters_has_no_region() {
    let report = explored("molnar-axax", None, 2);
    assert!(report
        .findings
        .claims
        .iter()
        .all(|claim| claim.region.is_none()));
}
