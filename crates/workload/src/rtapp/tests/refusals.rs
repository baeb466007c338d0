use super::*;

#[test]
fn what_rt_app_refuses_is_refused_with_its_reason() {
    let cases = [
            ("\"priority\":1", "tasks.t: has no events (rt-app stops with an error); expected at least one event, such as \"run\""),
            ("\"run\":\"5\"", "tasks.t.run: is a string; expected an integer (rt-app stops without it)"),
            ("\"run\":1.5", "tasks.t.run: is a number with a fraction or exponent; expected an integer (rt-app stops without it)"),
            ("\"run\":-5", "tasks.t.run: -5 is negative (rt-app reads it as an enormous number); expected 0 or more"),
            ("\"run\"", "tasks.t.run: is nothing; expected an integer (rt-app stops without it)"),
            ("\"lock\":3", "tasks.t.lock: is an integer; expected a string (rt-app stops without it)"),
            ("\"run\":1,\"priority\":20", "tasks.t.priority: 20 is not a nice value (rt-app stops with an error); expected -20 to 19"),
            (
                "\"run\":1,\"policy\":\"SCHED_FIFO\",\"priority\":0",
                "tasks.t.priority: 0 is not a real-time priority (rt-app stops with an error); expected 1 to 99",
            ),
            (
                "\"run\":1,\"policy\":\"SCHED_FIFI\"",
                "tasks.t.policy: \"SCHED_FIFI\" is not a policy (rt-app stops with an error); expected one of SCHED_OTHER, \
                 SCHED_BATCH, SCHED_IDLE, SCHED_RR, SCHED_FIFO (did you mean \"SCHED_FIFO\"?)",
            ),
            (
                "\"run\":1,\"policy\":\"SCHED_DEADLINE\",\"dl-runtime\":5",
                "tasks.t.policy: SCHED_DEADLINE is not modelled: none of the schedulers has this class; \
                 expected one of SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_RR, SCHED_FIFO",
            ),
            ("\"run\":1,\"cpus\":[]", "tasks.t.cpus: names no CPU (the kernel refuses this); expected at least one CPU number"),
            ("\"run\":1,\"cpus\":0", "tasks.t.cpus: is an integer; expected an array of CPU numbers (rt-app stops without it)"),
            ("\"run\":1,\"util_max\":1025", "tasks.t.util_max: 1025 is too much (rt-app stops with an error); expected 0 to 1024"),
            (
                "\"run\":1,\"taskgroup\":\"tg\"",
                "tasks.t.taskgroup: \"tg\" does not begin with \"/\" (rt-app stops with an error); expected \"/tg\"",
            ),
            (
                "\"run\":1,\"policy\":\"SCHED_RR\",\"taskgroup\":\"/tg\"",
                "tasks.t.taskgroup: real-time tasks have no task groups (rt-app stops with an error); \
                 expected SCHED_OTHER, SCHED_BATCH or SCHED_IDLE",
            ),
            ("\"phases\":{}", "tasks.t.phases: has no phase (rt-app then reads beyond its memory); expected at least one phase"),
            ("\"phases\":{\"p\":3}", "tasks.t.phases.p: is an integer; expected an object (rt-app stops without it)"),
            ("\"instance\":-1,\"run\":1", "tasks.t.instance: -1 is out of range; expected 0 to 1000000"),
            ("\"fork\":\"x\"", "tasks.t.fork: there is no task \"x\" (rt-app stops with an error); expected the name of a task (did you mean \"t\"?)"),
            ("\"unlock\":\"m\"", "tasks.t.unlock: the task does not hold \"m\"; expected a lock before the unlock"),
            (
                "\"wait\":{\"ref\":\"q\",\"mutex\":\"m\"}",
                "tasks.t.wait: waits without holding \"m\", which is undefined; expected a lock before it",
            ),
            (
                "\"memrun\":{\"type\":\"reed\",\"size\":1,\"count\":1}",
                "tasks.t.memrun: type is \"reed\"; expected one of read, write, chase (did you mean \"read\"?)",
            ),
            (
                "\"memrun0\":{\"type\":\"read\",\"size\":1,\"count\":1,\"ref\":\"b\"},\
                 \"memrun1\":{\"type\":\"read\",\"size\":2,\"count\":1,\"ref\":\"b\"}",
                "tasks.t.memrun1: buffer \"b\" was used with other parameters before (rt-app stops with an error); \
                 expected the same parameters, or another ref",
            ),
        ];
    for (members, message) in cases {
        assert_eq!(refused_task(members), format!("file.json:1: {message}"));
    }
}

#[test]
fn globals_are_checked_too() {
    let cases = [
            ("\"duration\":\"5\"", "global.duration: is a string; expected an integer (rt-app stops without it)"),
            ("\"gnuplot\":1", "global.gnuplot: is an integer; expected true or false (rt-app stops without it)"),
            (
                "\"calibration\":\"0\"",
                "global.calibration: \"0\" is not a CPU (rt-app stops with an error); expected nanoseconds for each loop, or \"CPU\" and a number",
            ),
            (
                "\"ftrace\":\"main,run\"",
                "global: ftrace has no category \"run\" (rt-app stops with an error); expected main, task, loop, event, stats, attrs or none",
            ),
        ];
    for (members, message) in cases {
        let text = format!("{{\"tasks\":{{\"t\":{{\"run\":1}}}},\"global\":{{{members}}}}}");
        assert_eq!(refused(&text), format!("file.json:1: {message}"));
    }
}

#[test]
fn the_root_is_checked_too() {
    let cases = [
            ("{}", "file.json:1: there is no \"tasks\" (rt-app stops with an error); expected an object \"tasks\""),
            ("{\"tasks\":{}}", "file.json:1: tasks.tasks: there is no task; expected at least one"),
            (
                "{\"tasks\":{\"a\":{\"run\":1},\"a\":{\"run\":2}}}",
                "file.json:1: tasks.a: there is a task of this name already; expected another name",
            ),
            (
                "{\"tasks\":{\"a\":{\"run\":1}},\"resources\":{\"r\":{\"type\":\"mutexx\"}}}",
                "file.json:1: resources.r: \"mutexx\" is not a type (rt-app stops with an error); expected one of mutex, signal, \
                 wait, broadcast, sync, sleep, run, timer (did you mean \"mutex\"?)",
            ),
        ];
    for (text, message) in cases {
        assert_eq!(refused(text), message);
    }
}

#[test]
fn unknown_keys_are_warned_of() {
    let text = "{\"tasks\":{\"t\":{\"run\":1,\n\"prioritty\":3,\"loop\":1}},\n\"global\":{\"frag\":1},\"globale\":1}";
    assert_eq!(
            read(text).warnings,
            [
                "file.json:3: globale: is unknown and ignored, as in rt-app (did you mean \"global\"?)",
                "file.json:3: global.frag: is unknown and ignored, as in rt-app (did you mean \"ftrace\"?)",
                "file.json:2: tasks.t.prioritty: is unknown and ignored, as in rt-app (did you mean \"priority\"?)",
            ]
        );
}

#[test]
fn what_will_go_wrong_is_warned_of() {
    let forks = "{\"tasks\":{\"a\":{\"fork\":\"b\",\"sleep\":1},\"b\":{\"instance\":0,\"run\":1,\"loop\":1}},\"global\":{\"duration\":1}}";
    assert_eq!(
        read(forks).warnings,
        ["file.json:1: tasks.a.fork: rt-app stops with an error after 1024 forks"]
    );
}

#[test]
fn a_lock_that_is_never_given_back_is_refused() {
    let message = "file.json:1: tasks.t.lock: the task holds \"m\" already and would wait for itself for ever; \
                   expected an unlock before it, in each round of a loop";
    assert_eq!(refused_task("\"loop\":2,\"lock\":\"m\""), message);
    assert_eq!(refused_task("\"lock\":\"m\",\"run\":1"), message);
    assert!(task("\"loop\":1,\"lock\":\"m\",\"run\":1")
        .warnings
        .is_empty());
}

#[test]
fn numbers_beyond_the_range_are_refused() {
    assert_eq!(
        refused_task("\"lock\":\"m\",\"loop\":99999999999999999999"),
        "file.json:1: 99999999999999999999 is out of range; expected -2147483648 to 2147483647"
    );
    assert_eq!(
        refused_task("\"run\":1,\"loop\":4294967295"),
        "file.json:1: tasks.t.loop: 4294967295 is out of range; expected -2147483648 to 2147483647"
    );
}

#[test]
fn more_tasks_than_fit_are_refused() {
    let text = "{\"tasks\":{\"a\":{\"instance\":600000,\"run\":1},\n\"b\":{\"instance\":600000,\"run\":1}}}";
    assert_eq!(
        refused(text),
        "file.json:2: tasks.b: with this task there are 1200000 instances; expected at most 1000000 in all"
    );
}
