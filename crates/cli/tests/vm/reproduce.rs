//! Experiments of the papers in a real kernel.

use crate::common::{schedlab, text};
use crate::guest::have_kernel;

/// Real servers answer: their printed times are read, and all of the modes are there.
#[test]
#[ignore = "long: make test-vm"]
fn real_servers_are_asked() {
    if !have_kernel("real_servers_are_asked") {
        return;
    }
    let words = ["reproduce", "staircase-mysql", "--world", "vm"];
    let ran = schedlab(&[&words[..], &["--format", "json"]].concat())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    for answer in document["questions"][0]["answers"].as_array().unwrap() {
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 5);
        for row in rows {
            let [completion, max_min, major_min] = [0, 1, 2].map(|i| row[2][i].as_f64().unwrap());
            assert!(
                0.0 < major_min && major_min <= max_min && max_min < completion,
                "{row}"
            );
            // 300 transactions of a few ms each on one CPU.
            assert!((0.3e9..10e9).contains(&completion), "{row}");
        }
    }
}

/// Both worlds answer, with a trace hash for each run; of a vi beside loaders they say the same.
#[test]
#[ignore = "long: make test-vm"]
fn a_question_is_asked_of_both_worlds() {
    if !have_kernel("a_question_is_asked_of_both_worlds") {
        return;
    }
    let words = [
        "reproduce",
        "ule-figure-6",
        "--world",
        "vm",
        "--format",
        "json",
    ];
    let ran = schedlab(&words).output().unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let answers = document["questions"][0]["answers"].as_array().unwrap();
    let worlds: Vec<&str> = answers
        .iter()
        .map(|a| a["world"].as_str().unwrap())
        .collect();
    assert_eq!(worlds, ["simulator", "kernel"]);
    for answer in answers {
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 5);
        for row in rows {
            assert_eq!(row[1].as_str().unwrap().len(), 32, "{row}");
            let mean = row[2][0].as_f64().unwrap();
            // 1 ms is vi's own work.
            assert!(mean >= 1e6, "{row}");
        }
        let starved = &answer["claims"][0];
        assert_eq!(
            (&starved[0], &starved[2]),
            (&"C29".into(), &true.into()),
            "{answer}"
        );
    }
}
