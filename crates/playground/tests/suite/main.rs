//! The engine behind the page, natively: what it answers, and that the few exported functions pass it on.

use schedlab_playground::{abi, Session};
use schedlab_policy::Policy;
use serde_json::{json, Value};

/// A session with all policies.
fn session() -> Session {
    let mut session = Session::default();
    Policy::all()
        .iter()
        .for_each(|policy| session.link(*policy));
    session
}

fn set_up(policies: &[&str], machine: &str, workload: &str, duration: &str) -> Value {
    let policy = |text: &&str| {
        let (name, variant) = text.split_once(':').unwrap_or((text, ""));
        json!({ "name": name, "variant": variant, "settings": "" })
    };
    json!({
        "policies": policies.iter().map(policy).collect::<Vec<_>>(),
        "machine": { "name": machine, "text": "" },
        "workload": { "name": workload, "text": "" },
        "seed": 1,
        "duration": duration,
    })
}

fn answer(session: &mut Session, question: &Value) -> Value {
    let answer = session.answer(&question.to_string(), &mut |_| {});
    serde_json::from_str(&answer).unwrap()
}

fn run(session: &mut Session, set_up: &Value, policy: usize) -> Value {
    let question = json!({ "ask": "run", "set_up": set_up, "policy": policy });
    let answer = answer(session, &question);
    assert!(answer["ok"].is_object(), "{answer}");
    answer["ok"].clone()
}

/// The mistakes in a set-up: part, index, line, message.
fn mistakes(set_up: &Value) -> Vec<(String, u64, u64, String)> {
    let mut question = set_up.clone();
    question["ask"] = json!("check");
    let answer = answer(&mut session(), &question);
    let list = answer["mistakes"].as_array().cloned().unwrap_or_default();
    let one = |m: &Value| {
        let text = |key: &str| m[key].as_str().unwrap().to_string();
        let number = |key: &str| m[key].as_u64().unwrap();
        (
            text("part"),
            number("index"),
            number("line"),
            text("message"),
        )
    };
    list.iter().map(one).collect()
}

#[test]
fn a_run_has_its_golden_hash_and_the_command_that_repeats_it() {
    let golden = include_str!("../../../../tests/golden/hashes.txt");
    let mut session = session();
    let given = set_up(&["o1", "rr"], "ideal-2", "rt-over-normal", "1s");
    for (policy, name) in [(0, "o1 2.6.11"), (1, "rr")] {
        let run = run(&mut session, &given, policy);
        let line = format!("rt-over-normal on ideal-2, {name}, seed 1");
        let line = golden.lines().find(|l| l.ends_with(&line)).unwrap();
        assert_eq!(run["hash"], line.split_whitespace().next().unwrap());
        assert_eq!(run["label"], name);
    }
    let run = run(&mut session, &given, 0);
    assert_eq!(
        run["command"],
        "schedlab run --policy o1:2.6.11 --workload rt-over-normal --machine ideal-2 --seed 1 --duration 1s"
    );
}

#[test]
fn every_policy_machine_and_workload_is_in_the_catalogue() {
    let all = answer(&mut session(), &json!({ "ask": "catalogue" }));
    let names = |what: &str| -> Vec<String> {
        let list = all["ok"][what].as_array().unwrap();
        list.iter()
            .map(|one| one["name"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(names("policies").len(), Policy::all().len());
    assert!(names("machines").contains(&"desktop".to_string()));
    assert!(names("workloads").contains(&"volanomark".to_string()));
}

#[test]
fn each_part_of_a_set_up_has_its_mistake() {
    let mut given = set_up(&["o1", "mlqf"], "dekstop", "late", "5 parsecs");
    given["policies"][0]["settings"] = json!("max_timeslice=5");
    let text = "duration = \"1s\"\n[task.hog]\nprogramme = \"run 1ms\"\n";
    given["workload"] = json!({ "name": "mine", "text": text });
    let found = mistakes(&given);
    let places: Vec<(&str, u64, u64)> = found
        .iter()
        .map(|(p, i, l, _)| (p.as_str(), *i, *l))
        .collect();
    let expected = [
        ("policy", 0, 0),
        ("policy", 1, 0),
        ("machine", 0, 0),
        ("workload", 0, 3),
        ("duration", 0, 0),
    ];
    assert_eq!(places, expected, "{found:?}");
    let nearest = ["max_timeslice_ms", "mlfq", "desktop", "program"];
    for ((_, _, _, message), nearest) in found.iter().zip(nearest) {
        assert!(
            message.contains(&format!("did you mean \"{nearest}\"?")),
            "{message}"
        );
    }
    assert!(found[3].3.starts_with("mine.toml:3: "), "{}", found[3].3);
}

#[test]
fn an_edited_text_runs_and_the_command_names_its_file() {
    let mut given = set_up(&["rr"], "ideal-1", "", "");
    let text = "duration = \"100ms\"\n[task.hog]\ncount = 3\nprogram = \"\"\"\nforever\n  run 1ms\nend\n\"\"\"\n";
    given["workload"] = json!({ "name": "mine", "text": text });
    let run = run(&mut session(), &given, 0);
    assert_eq!(run["duration_ns"], 100_000_000);
    assert_eq!(run["tasks"].as_array().unwrap().len(), 3);
    let command = run["command"].as_str().unwrap();
    assert!(command.contains("--workload mine.toml"), "{command}");
}

/// One CPU, three tasks of equal rank: at every moment one runs and the others wait, the longest first.
#[test]
fn a_moment_tells_who_runs_and_who_waits() {
    let mut session = session();
    let mut given = set_up(&["rr"], "ideal-1", "", "");
    let text =
        "duration = \"1s\"\n[task.hog]\ncount = 3\nprogram = \"\"\"\nforever\n  run 1ms\nend\n\"\"\"\n";
    given["workload"] = json!({ "name": "mine", "text": text });
    let ran = run(&mut session, &given, 0);
    let events = ran["kept_events"].as_u64().unwrap();
    let mut switches = 0;
    for event in events / 2..events {
        let question = json!({ "ask": "moment", "run": 0, "event": event });
        let moment = answer(&mut session, &question)["ok"].clone();
        let cpu = &moment["cpus"][0];
        let waits: Vec<u64> = cpu["waiting"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w["ns"].as_u64().unwrap())
            .collect();
        assert_eq!(waits.len(), 2, "{moment}");
        assert!(waits[0] >= waits[1], "{moment}");
        assert!(
            cpu["running"]["name"].as_str().unwrap().starts_with("hog"),
            "{moment}"
        );
        switches += u32::from(moment["what"].as_str().unwrap().contains("is preempted"));
    }
    assert!(switches > 2, "{switches} switches");
    let beyond = json!({ "ask": "moment", "run": 0, "event": events });
    assert!(answer(&mut session, &beyond)["mistakes"].is_array());
}

#[test]
fn the_report_compares_all_runs() {
    let mut session = session();
    let given = set_up(&["rr", "fifo"], "ideal-1", "nice-pair", "200ms");
    run(&mut session, &given, 0);
    run(&mut session, &given, 1);
    let html = answer(&mut session, &json!({ "ask": "report" }));
    let html = html["ok"]["html"].as_str().unwrap();
    assert!(html.contains("<h2>Summary</h2>") && html.contains("rr") && html.contains("fifo"));
    assert!(
        !html.contains("What ran where"),
        "the page draws its own timelines"
    );
}

#[test]
fn a_run_that_asks_for_another_cpu_than_there_is_fails_with_a_message() {
    let mut given = set_up(&["rr"], "ideal-1", "", "");
    let text = "duration = \"1s\"\n[task.far]\ncpus = \"7\"\nprogram = \"run 1ms\"\n";
    given["workload"] = json!({ "name": "mine", "text": text });
    let question = json!({ "ask": "run", "set_up": given, "policy": 0 });
    let answer = answer(&mut session(), &question);
    let message = answer["mistakes"][0]["message"].as_str().unwrap();
    assert!(message.contains("CPU"), "{message}");
}

/// What the page does, with the same five functions.
#[test]
fn the_exported_functions_pass_questions_and_answers_on() {
    let ask = |question: &Value| -> Value {
        let question = question.to_string();
        let at = abi::schedlab_alloc(question.len());
        assert_eq!(at.addr() % 64, 0);
        // SAFETY: the memory is as long as the question; answers stay until the next question.
        unsafe {
            at.copy_from_nonoverlapping(question.as_ptr(), question.len());
            let len = abi::schedlab_ask(at, question.len());
            assert_eq!(len, abi::schedlab_answer_len());
            let answer = std::slice::from_raw_parts(abi::schedlab_answer(), len);
            serde_json::from_slice(answer).unwrap()
        }
    };
    let rr = Policy::find("rr").unwrap();
    // SAFETY: the table of a policy in this program.
    let link = |name: &str| unsafe { abi::schedlab_link(rr.table(), name.as_ptr(), name.len()) };
    link("");
    link("rr.c");
    let all = ask(&json!({ "ask": "catalogue" }));
    assert_eq!(all["ok"]["policies"][0]["name"], "rr");
    assert_eq!(all["ok"]["policies"][1]["name"], "rr.c");
    let given = set_up(&["rr"], "ideal-1", "nice-pair", "10ms");
    let ran = ask(&json!({ "ask": "run", "set_up": given, "policy": 0 }));
    let column = &ran["ok"]["columns"]["task"];
    let (at, len) = (
        column[0].as_u64().unwrap() as usize,
        column[1].as_u64().unwrap() as usize,
    );
    // SAFETY: the run is kept in the session, and so are its columns.
    let tasks =
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u32>(at), len) };
    assert!(
        !tasks.is_empty() && tasks.iter().all(|&task| task < 2),
        "{tasks:?}"
    );
    assert!(ask(&json!({ "ask": "nonsense" }))["mistakes"].is_array());
}
