//! Recordings of a real kernel, replayed under the recorded scheduler.

use crate::common::{argument, json, schedlab, text};
use crate::guest::{have_kernel, number, vm};

/// Records a command and replays it; the self-check has to meet all its targets.
#[track_caller]
fn replays_itself(policy: &str, command: &[&str], flags: &[&str], checked_under: &str) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("recorded.pftrace");
    let record = ["--policy", policy, "--trace", argument(&trace)];
    let ran = vm(&[&record[..], &["--", "schedlab"], command].concat());
    assert!(ran.status.success());
    let replay = ["replay", argument(&trace), "--policies", "o1"];
    let result = json(&[&replay[..], flags].concat());
    let check = &result["self_check"];
    assert_eq!(check["policy"], checked_under);
    assert_eq!(check["differing"], serde_json::json!([]));
    let mut targets = 0;
    for distance in check["distances"].as_array().unwrap() {
        let Some(target) = distance["target"].as_f64() else {
            continue;
        };
        let [recorded, replayed] = ["recorded", "replayed"].map(|n| distance[n].as_f64().unwrap());
        let off = (replayed / recorded - 1.0).abs();
        assert!(off <= target, "{policy}: {distance}");
        targets += 1;
    }
    assert_eq!(
        targets, 5,
        "span, work, switches, median run delay and its 99th percentile: {check}"
    );
}

/// The kernel's own scheduler, known by the kernel's release.
#[test]
fn what_the_kernel_did_itself_is_replayed() {
    if have_kernel("what_the_kernel_did_itself_is_replayed") {
        let hogs = ["play", "--duration", "500ms", "hogs --nice 0 --count 3"];
        replays_itself("none", &hogs, &[], "eevdf:7.1");
    }
}

/// Recorded under EEVDF and predicted for a scheduler that switches at each message, which a timeline cannot tell: it has a
/// tenth of the switches.
#[test]
fn what_if_of_tasks_that_communicate() {
    if !have_kernel("what_if_of_tasks_that_communicate") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("whatif.json");
    let asked = ["--workload", "hackbench -g 1 -l 10", "--policies", "bsd43"];
    let command = ["dev", "whatif", "--json", argument(&file)];
    let ran = schedlab(&[&command[..], &asked].concat()).output().unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let studied: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let counts = &studied[0]["counts"];
    let [understood, data] = ["understood", "woken_by_data"].map(|name| number(&counts[name]));
    assert!(understood * 10 > data * 9 && data > 100, "{counts}");
    let run = &studied[0]["runs"][0];
    for (figure, most) in [("duration_ns", 1.2), ("switches", 1.3)] {
        let [predicted, actual] = ["predicted", "actual"].map(|w| run[w][figure].as_f64().unwrap());
        let off = (predicted / actual).max(actual / predicted);
        assert!(off < most, "{figure}: {predicted}, in truth {actual}");
    }
}

/// A policy of ours: kernel and simulator share its source.
#[test]
#[ignore = "long: make test-vm"]
fn what_a_loaded_policy_did_is_replayed() {
    if have_kernel("what_a_loaded_policy_did_is_replayed") {
        let sleepers = ["play", "--duration", "1s", "massive-intr"];
        let flags = ["--recorded-under", "o1"];
        replays_itself("o1", &sleepers, &flags, "o1:2.6.11");
    }
}
