//! Recordings of a real kernel, replayed under the recorded scheduler.

use crate::common::{argument, json};
use crate::guest::{have_kernel, vm};

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
        targets, 4,
        "span, work, switches and median run delay: {check}"
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
