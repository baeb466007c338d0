//! The experiments as a whole: their claims, their testbeds.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_reproduce::{experiments, testbed};

/// The claims that have to be judged, by the letter of their ids: linux.md and bsd-svr4-ule.md, section 8 of each.
const SPECIFIED: [(&str, u32); 5] = [("E", 9), ("M", 5), ("S", 10), ("R", 6), ("C", 44)];

/// Each claim's id with the experiments that have it.
fn claims() -> BTreeMap<String, Vec<&'static str>> {
    let mut claims = BTreeMap::<String, Vec<&str>>::new();
    for experiment in experiments() {
        for claim in experiment.paper().unwrap().claims {
            claims.entry(claim.id).or_default().push(experiment.id);
        }
    }
    claims
}

#[test]
fn every_claim_of_the_specification_is_judged() {
    let claims = claims();
    let specified = SPECIFIED.iter();
    let ids = specified.flat_map(|(letter, last)| (1..=*last).map(move |n| format!("{letter}{n}")));
    let missing: Vec<String> = ids.filter(|id| !claims.contains_key(id)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// Experiments that belong to no paper have ids with other letters.
#[test]
fn every_claim_is_judged_once_and_is_one_of_the_specification_or_of_our_own() {
    for (id, judges) in claims() {
        assert_eq!(judges.len(), 1, "{id} is judged by {judges:?}");
        let (letter, number) = id.split_at(1);
        let number: u32 = number.parse().unwrap_or_else(|_| panic!("{id} is no id"));
        let specified = SPECIFIED.iter().find(|(known, _)| *known == letter);
        assert!(
            specified.is_none_or(|(_, last)| (1..=*last).contains(&number)),
            "{id} is not in the specification"
        );
    }
}

#[test]
fn every_claim_says_what_the_paper_says_and_when_it_holds() {
    for experiment in experiments() {
        for claim in experiment.paper().unwrap().claims {
            let id = &claim.id;
            assert!(claim.sentence.ends_with('.'), "{id}: {}", claim.sentence);
            assert!(!claim.paper.is_empty(), "{id}");
            assert_eq!(
                claim.criterion.is_empty(),
                claim.not_testable.is_some(),
                "{id}"
            );
        }
    }
}

/// One machine for one kernel of a testbed: no claim has a machine of its own.
#[test]
fn experiments_of_a_testbed_share_its_machines() {
    let mut owners = BTreeMap::new();
    for (testbed, machines) in testbed::TESTBEDS {
        for machine in *machines {
            assert!(schedlab_machine::find(machine).is_ok(), "{machine}");
            let other = owners.insert(*machine, *testbed);
            assert_eq!(other, None, "{machine} stands for two testbeds");
        }
    }
    let known: BTreeSet<&str> = testbed::TESTBEDS.iter().map(|(name, _)| *name).collect();
    for experiment in experiments() {
        let paper = experiment.paper().unwrap();
        assert!(known.contains(paper.testbed.as_str()), "{}", experiment.id);
    }
}

/// The README of each begins with a title and tells the question and the set-up.
#[test]
fn every_experiment_tells_its_question_and_set_up() {
    for experiment in experiments() {
        let readme = experiment.readme;
        assert!(readme.starts_with("# "), "{}", experiment.id);
        assert!(readme.contains("**Question"), "{}", experiment.id);
        assert!(readme.contains("**Set-up"), "{}", experiment.id);
    }
}
