use super::*;

#[test]
fn every_file_reads_and_runs() {
    for (name, text) in FILES {
        let workload = parse(&format!("{name}.json"), text, &Options::default());
        let mut workload = workload.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workload.name, name);
        // Only example5 ends by itself; the others say how long they run, or run for ever.
        assert_eq!(workload.duration.is_none(), name == "example5");
        workload.duration = Some(Ns::from_secs(2));
        let outcome = ideal::run(&workload);
        assert_eq!(outcome.stuck, Vec::<String>::new(), "{name}");
        assert!(!outcome.runs.is_empty(), "{name}");
    }
}

#[test]
fn example1_runs_and_sleeps() {
    let workload = read(file("example1"));
    // "loop": -1 is the phase's, since the events are inline; the task goes round once.
    assert_eq!(
        ops(&workload, "thread0"),
        [
            repeat(FOREVER, 3),
            run(20_000),
            sleep(80_000),
            Op::EndLoop { start: 0 }
        ]
    );
    assert_eq!(workload.duration, Some(Ns::from_secs(2)));
    let spec = spec(&workload, "thread0");
    assert_eq!(
        (spec.nice, spec.class, spec.count),
        (0, TaskClass::Normal, 1)
    );
    assert_eq!(spec.process, Process::Shared(1));
    assert_eq!(workload.warnings, Vec::<String>::new());
}

#[test]
fn example2_has_a_timer_of_its_own() {
    let workload = read(file("example2"));
    let timer = Op::Timer {
        timer: TimerScope::Own(0),
        period: Ns::from_ms(100),
        relative: true,
    };
    assert_eq!(
        ops(&workload, "thread0"),
        [
            repeat(FOREVER, 3),
            run(10_000),
            timer,
            Op::EndLoop { start: 0 }
        ]
    );
}

#[test]
fn example4_is_two_tasks_waking_each_other() {
    let workload = read(file("example4"));
    // thread0 mentions thread1 first: that is name 0, thread0 is name 1.
    let (one, zero) = (0, 1);
    let mut expected = vec![repeat(FOREVER, 8), run(10_000)];
    expected.extend(resume(one));
    expected.extend(suspend(zero));
    expected.push(Op::EndLoop { start: 0 });
    assert_eq!(ops(&workload, "thread0"), expected);
    assert_eq!((workload.nr_mutexes, workload.nr_conditions), (2, 2));
    // No global at all: rt-app would run until interrupted.
    assert_eq!(workload.duration, Some(Ns::from_secs(10)));
    assert_eq!(
        workload.assumed_duration.as_deref(),
        Some(
            "file.json:7: tasks.thread0: never ends, and global.duration is not set: \
              rt-app would run until interrupted, this runs for 10 s"
        )
    );
    assert!(workload.warnings.is_empty());
}

#[test]
fn example5_keeps_repeated_keys_in_their_order() {
    let workload = read(file("example5"));
    // Names in order of appearance: mutexes "mutex" 0, "thread1" 1; conditions "queue" 0,
    // "thread1" 1.
    let timer = Op::Timer {
        timer: TimerScope::Shared(0),
        period: Ns::from_ms(200),
        relative: true,
    };
    let mut expected = vec![
        sleep(10_000),
        repeat(Times::Fixed(8), 12),
        Op::Lock(0),
        run(10_000),
        Op::CondSignal(0),
        run(10_000),
        Op::Unlock(0),
        run(100_000),
    ];
    expected.extend(resume(1));
    expected.extend([timer, Op::EndLoop { start: 1 }]);
    assert_eq!(ops(&workload, "thread0"), expected);

    let mut expected = vec![
        repeat(Times::Fixed(3), 13),
        Op::Lock(0),
        Op::CondWait {
            condition: 0,
            mutex: Some(0),
        },
        Op::Unlock(0),
        run(10_000),
    ];
    expected.extend(suspend(1));
    expected.push(run(10_000));
    expected.extend(suspend(1));
    expected.extend([run(10_000), Op::EndLoop { start: 0 }]);
    assert_eq!(ops(&workload, "thread1"), expected);

    let zero = spec(&workload, "thread0");
    assert_eq!((zero.nice, zero.cpus), (-19, Some(0)));
    assert_eq!(workload.cpu_sets, [[0], [1]]);
    assert_eq!(
        workload.warnings,
        [
            "file.json:23: run: this is the first of 5 repeated keys: all count, in their order; \
              rt-app itself uses the last value, at the place of the first"
        ]
    );
}

#[test]
fn example7_meets_at_barriers_when_its_comment_says() {
    let workload = read(file("example7"));
    assert_eq!(workload.barriers, [2, 2, 2]);
    let outcome = ideal::run(&workload);
    // The comment's table: task0 runs at 0, after FIRST (3000) and after SECOND (6000); task1
    // likewise.  The third run of task0 ends at 7000, its sleep at 9000; THIRD opens then.
    let starts = |task: &str| -> Vec<u64> {
        let runs = outcome.runs[task].iter();
        runs.map(|(from, _)| from / 1000).take(4).collect()
    };
    assert_eq!(starts("task0"), [0, 3000, 6000, 9000]);
    // Task number 1 starts 20 us after number 0.
    assert_eq!(starts("task1"), [20, 3000, 6000, 9000]);
}

#[test]
fn example9_forks() {
    let workload = read(file("example9"));
    let names: Vec<(&str, u32)> = workload
        .tasks
        .iter()
        .map(|t| (t.name.as_str(), t.count))
        .collect();
    assert_eq!(names, [("thread1", 1), ("thread2", 0), ("thread3", 1)]);
    assert_eq!(
        ops(&workload, "thread3"),
        [
            Op::Fork(crate::SpecId(0)),
            run(10_000),
            sleep(10_000),
            Op::Fork(crate::SpecId(1)),
            run(20_000),
            sleep(20_000)
        ]
    );
    // thread1 has phases and no loop: for ever.
    assert_eq!(ops(&workload, "thread1")[0], repeat(FOREVER, 3));
}

#[test]
fn example10_has_its_task_group() {
    let workload = read(file("example10"));
    assert_eq!(workload.warnings, Vec::<String>::new());
    let groups: Vec<&str> = workload.control_groups.iter().map(|g| &*g.name).collect();
    assert_eq!(groups, ["/tg1"]);
}

#[test]
fn spreading_tasks_keeps_a_phase_that_occurs_twice() {
    let workload = read(file("spreading-tasks"));
    let loops = |workload: &Workload| {
        let ops = ops(workload, "thread2").iter();
        let times = ops.filter_map(|op| match op {
            Op::Loop {
                times: Times::Fixed(n),
                ..
            } => Some(*n),
            _ => None,
        });
        times.collect::<Vec<u32>>()
    };
    assert_eq!(loops(&workload), [900, 600, 300, 600]);
    let options = Options {
        repeated: RepeatedKeys::JsonC,
        ..Options::default()
    };
    assert_eq!(
        loops(&with(file("spreading-tasks"), options)),
        [900, 600, 300]
    );
}

#[test]
fn browser_short_works_in_the_old_meaning_and_hangs_in_the_new() {
    let mut workload = read(file("browser-short"));
    assert!(workload
        .warnings
        .iter()
        .any(|w| w.contains("waits for \"Browser\", as before May 2025")));
    workload.duration = Some(Ns::from_secs(3));
    let outcome = ideal::run(&workload);
    assert!(outcome.runs["BrowserSub1"].len() > 50);
    let options = Options {
        suspend: SuspendMeaning::Own,
        ..Options::default()
    };
    let mut workload = with(file("browser-short"), options);
    assert!(workload
        .warnings
        .iter()
        .any(|w| w.contains("waits for ever: no task resumes or signals \"BrowserSub1\"")));
    workload.duration = Some(Ns::from_secs(3));
    assert!(!ideal::run(&workload).runs.contains_key("BrowserSub1"));
}

#[test]
fn video_long_has_bare_keys_which_json_c_refuses() {
    let workload = read(file("video-long"));
    assert_eq!(spec(&workload, "surfaceflinger").nice, -7);
    let options = Options {
        repeated: RepeatedKeys::JsonC,
        ..Options::default()
    };
    let error = parse("video-long.json", file("video-long"), &options).unwrap_err();
    assert_eq!(
            error.to_string(),
            "video-long.json:6: the key \"suspend\" has no value; expected \":\" and a value (json-c stops without them)"
        );
}
