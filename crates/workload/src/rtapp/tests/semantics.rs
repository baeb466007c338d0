use super::*;

#[test]
fn events_are_found_by_their_prefix() {
    let workload =
        task("\"loop\":1,\"run0\":5,\"runA\":6,\"runtime_x\":70,\"sleep9\":8,\"yielding\":\"\"");
    assert_eq!(
        ops(&workload, "t"),
        [
            run(5),
            run(6),
            Op::RunFor(Amount::Fixed(Ns::from_us(70))),
            sleep(8),
            Op::Yield
        ]
    );
}

#[test]
fn runtime_works_at_least_one_piece() {
    let workload = task("\"loop\":1,\"runtime0\":1");
    assert_eq!(
        ops(&workload, "t"),
        [Op::RunFor(Amount::Fixed(Ns::from_us(32)))]
    );
    let workload = task("\"loop\":1,\"runtime\":100");
    assert!(workload.warnings[0].contains("rt-app reads this key twice"));
}

#[test]
fn loops_count_as_rt_app_counts() {
    let phases = |task_loop: &str, phase_loop: &str| {
        let text = format!("{task_loop}\"phases\":{{\"p\":{{{phase_loop}\"run\":1}}}}");
        ops(&task(&text), "t").to_vec()
    };
    // A task's loop of 0 ends it at once; a phase's loop of 0 is never reached.
    assert_eq!(phases("\"loop\":0,", ""), []);
    assert_eq!(phases("\"loop\":2,", "")[0], repeat(Times::Fixed(2), 2));
    assert_eq!(phases("\"loop\":-1,", "")[0], repeat(FOREVER, 2));
    assert_eq!(phases("", "")[0], repeat(FOREVER, 2));
    assert_eq!(phases("\"loop\":1,", "\"loop\":0,")[0], repeat(FOREVER, 2));
    assert_eq!(
        phases("\"loop\":1,", "\"loop\":3,")[0],
        repeat(Times::Fixed(3), 2)
    );
    // Inline, the loop is the phase's; without it the task goes on for ever.
    assert_eq!(
        ops(&task("\"run\":1,\"loop\":3"), "t")[0],
        repeat(Times::Fixed(3), 2)
    );
    assert_eq!(ops(&task("\"run\":1"), "t")[0], repeat(FOREVER, 2));
}

#[test]
fn nested_loops_close_where_they_should() {
    let workload =
        task("\"loop\":2,\"phases\":{\"a\":{\"run\":1},\"b\":{\"loop\":3,\"run\":2,\"sleep\":3}}");
    assert_eq!(
        ops(&workload, "t"),
        [
            repeat(Times::Fixed(2), 6),
            run(1),
            repeat(Times::Fixed(3), 5),
            run(2),
            sleep(3),
            Op::EndLoop { start: 2 },
            Op::EndLoop { start: 0 }
        ]
    );
}

#[test]
fn work_is_whole_loops_when_their_length_is_given() {
    // 300 ns a loop: 1 us is 3 loops, 900 ns; 1,000,001 us is 3,333,333 loops for the
    // second and 3 for the rest.
    let text = "{\"tasks\":{\"t\":{\"loop\":1,\"run\":1,\"run2\":1000001}},\"global\":{\"calibration\":300}}";
    assert_eq!(
        ops(&read(text), "t"),
        [
            Op::Run(Amount::Fixed(Ns(900))),
            Op::Run(Amount::Fixed(Ns(3_333_336 * 300)))
        ]
    );
}

#[test]
fn one_absolute_use_makes_a_timer_absolute() {
    let text = "{\"tasks\":{\
            \"a\":{\"loop\":1,\"timer0\":{\"ref\":\"x\",\"period\":5},\"timer1\":{\"ref\":\"unique\",\"period\":5}},\
            \"b\":{\"loop\":1,\"timer0\":{\"ref\":\"x\",\"period\":7,\"mode\":\"absolute\"},\
                             \"timer1\":{\"ref\":\"unique\",\"period\":7,\"mode\":\"absolute\"}}}}";
    let workload = read(text);
    let timer = |timer, us, relative| Op::Timer {
        timer,
        period: Ns::from_us(us),
        relative,
    };
    let (own, shared) = (TimerScope::Own(0), TimerScope::Shared(0));
    assert_eq!(
        ops(&workload, "a"),
        [timer(shared, 5, false), timer(own, 5, true)]
    );
    assert_eq!(
        ops(&workload, "b"),
        [timer(shared, 7, false), timer(own, 7, false)]
    );
    assert_eq!(workload.nr_shared_timers, 1);
}

#[test]
fn a_task_has_four_unique_timers_at_most() {
    let timers: Vec<String> = (0..5)
        .map(|n| format!("\"timer{n}\":{{\"ref\":\"unique{n}\",\"period\":1}}"))
        .collect();
    assert_eq!(
            refused_task(&timers.join(",")),
            "file.json:1: tasks.t.timer4: a task has at most 4 unique timers here; expected fewer of them"
        );
}

#[test]
fn suspend_has_two_meanings() {
    // "old" is resumed and no task; "b" is a task.
    let text =
        "{\"tasks\":{\"a\":{\"loop\":1,\"suspend\":\"old\"},\"b\":{\"loop\":1,\"suspend\":\"a\"},\
                     \"c\":{\"loop\":1,\"resume0\":\"old\",\"resume1\":\"a\",\"resume2\":\"b\"}}}";
    let meaning = |suspend| {
        let workload = with(
            text,
            Options {
                suspend,
                ..Options::default()
            },
        );
        let [_, wait_a, _] = ops(&workload, "a") else {
            panic!()
        };
        let [_, wait_b, _] = ops(&workload, "b") else {
            panic!()
        };
        let Op::CondBroadcast(old) = ops(&workload, "c")[1] else {
            panic!()
        };
        let Op::CondBroadcast(a) = ops(&workload, "c")[4] else {
            panic!()
        };
        let Op::CondBroadcast(b) = ops(&workload, "c")[7] else {
            panic!()
        };
        let name = |op: &Op| match *op {
            Op::CondWait { condition, .. } if condition == old => "old",
            Op::CondWait { condition, .. } if condition == a => "a",
            Op::CondWait { condition, .. } if condition == b => "b",
            _ => panic!(),
        };
        (name(wait_a), name(wait_b))
    };
    assert_eq!(meaning(SuspendMeaning::Auto), ("old", "b"));
    assert_eq!(meaning(SuspendMeaning::Own), ("a", "b"));
    assert_eq!(meaning(SuspendMeaning::Named), ("old", "a"));
}

#[test]
fn a_resume_nobody_waits_for_is_lost() {
    let text = "{\"tasks\":{\"a\":{\"loop\":1,\"sleep\":100,\"suspend\":\"a\"},\"b\":{\"loop\":1,\"resume\":\"a\"}}}";
    assert_eq!(ideal::run(&read(text)).stuck, ["a"]);
}

#[test]
fn semaphores_remember() {
    let text = "{\"tasks\":{\"a\":{\"loop\":1,\"sleep\":100,\"sem_wait\":\"s\"},\"b\":{\"loop\":1,\"sem_post\":\"s\"}}}";
    let workload = read(text);
    assert_eq!(workload.semaphores, [0]);
    assert_eq!(ideal::run(&workload).stuck, Vec::<String>::new());
}

#[test]
fn sync_signals_and_waits_and_leaves_locking_to_the_file() {
    let workload =
        task("\"loop\":1,\"lock\":\"m\",\"sync\":{\"ref\":\"q\",\"mutex\":\"m\"},\"unlock\":\"m\"");
    assert_eq!(
        ops(&workload, "t"),
        [
            Op::Lock(0),
            Op::CondSignal(0),
            Op::CondWait {
                condition: 0,
                mutex: Some(0)
            },
            Op::Unlock(0)
        ]
    );
}

#[test]
fn barriers_count_mentions_times_instances() {
    let text = "{\"tasks\":{\"a\":{\"instance\":3,\"barrier\":\"x\"},\"b\":{\"barrier0\":\"x\",\"barrier1\":\"x\"}}}";
    assert_eq!(read(text).barriers, [5]);
    assert_eq!(
            refused("{\"tasks\":{\"a\":{\"instance\":0,\"barrier\":\"x\"},\"b\":{\"fork\":\"a\"}}}"),
            "file.json:1: tasks.a.barrier: a task without instances waits here; rt-app does not count forked \
             threads, and they would wait for ever; expected barriers in tasks with instances"
        );
}

#[test]
fn delay_is_the_tasks_and_only_the_tasks() {
    let workload = task("\"delay\":500,\"phases\":{\"p\":{\"delay\":7,\"run\":1}}");
    assert_eq!(spec(&workload, "t").start, Ns::from_us(500));
    assert!(workload.warnings[0].contains("tasks.t.phases.p.delay: is ignored in a phase"));
}

#[test]
fn policies_and_priorities() {
    let text =
        "{\"tasks\":{\"a\":{\"run\":1},\"b\":{\"run\":1,\"policy\":\"SCHED_RR\",\"priority\":7},\
                     \"c\":{\"run\":1,\"policy\":\"SCHED_BATCH\",\"priority\":5}},\
                     \"global\":{\"default_policy\":\"SCHED_FIFO\"}}";
    let workload = read(text);
    let params = |name| {
        let spec = spec(&workload, name);
        (spec.class, spec.nice, spec.rt_priority)
    };
    // Without a priority the real-time classes have 10.
    assert_eq!(params("a"), (TaskClass::Fifo, 0, 10));
    assert_eq!(params("b"), (TaskClass::Rr, 0, 7));
    assert_eq!(params("c"), (TaskClass::Batch, 5, 0));
}

#[test]
fn phases_change_cpus_and_parameters() {
    let workload = task(
        "\"cpus\":[0,1],\"phases\":{\
             \"a\":{\"cpus\":[3],\"run\":1},\
             \"b\":{\"policy\":\"SCHED_FIFO\",\"run\":1},\
             \"c\":{\"priority\":20,\"run\":1},\
             \"d\":{\"policy\":\"SCHED_OTHER\",\"priority\":3,\"run\":1}}",
    );
    // A phase without cpus has the task's; one without a policy keeps the last one, so 20
    // is c's real-time priority; one without any parameter keeps everything.
    let changes: Vec<&Op> = ops(&workload, "t")
        .iter()
        .filter(|op| **op != run(1))
        .collect();
    assert_eq!(workload.cpu_sets, [vec![3], vec![0, 1]]);
    assert_eq!(
        changes,
        [
            &repeat(FOREVER, 13),
            &Op::SetCpus(Some(0)),
            &Op::SetCpus(Some(1)),
            &Op::SetClass(TaskClass::Fifo, 10),
            &Op::SetCpus(Some(1)),
            &Op::SetClass(TaskClass::Fifo, 20),
            &Op::SetCpus(Some(1)),
            &Op::SetClass(TaskClass::Normal, 0),
            &Op::SetNice(3),
            &Op::EndLoop { start: 0 }
        ]
    );
}

#[test]
fn memory_and_devices_take_their_documented_times() {
    let text = "{\"tasks\":{\"t\":{\"loop\":1,\"mem\":1000,\"iorun\":5000000,\
                     \"memrun\":{\"type\":\"chase\",\"size\":4096,\"count\":10}}}}";
    let ns = |ns| Op::Run(Amount::Fixed(Ns(ns)));
    // 1,000 bytes at 0.1 ns; two writes of at most 4 MiB at 500 ns; 10 random accesses at 80 ns.
    let workload = read(text);
    assert_eq!(ops(&workload, "t"), [ns(100), ns(1000), ns(800)]);
    assert!(workload.warnings[0].contains("assumed times"));
    // A device: 100 us for each write and 5 ns for each byte.
    let text =
        "{\"tasks\":{\"t\":{\"loop\":1,\"iorun\":1000}},\"global\":{\"io_device\":\"/dev/sda\"}}";
    let service = Amount::Fixed(Ns(105_000));
    assert_eq!(ops(&read(text), "t"), [Op::Disk { disk: 0, service }]);
}

#[test]
fn a_run_without_end_gets_a_duration() {
    assert_eq!(task("\"run\":1").duration, Some(Ns::from_secs(10)));
    assert_eq!(task("\"run\":1,\"loop\":5").duration, None);
    let text = "{\"tasks\":{\"t\":{\"run\":1,\"loop\":5}},\"global\":{\"duration\":0}}";
    assert_eq!(read(text).duration, None);
}

#[test]
fn tasks_are_in_canonical_order() {
    let a = "\"a\":{\"loop\":1,\"fork\":\"b\"}";
    let b = "\"b\":{\"instance\":0,\"loop\":1,\"run\":1}";
    for text in [format!("{a},{b}"), format!("{b},{a}")] {
        let workload = read(&format!("{{\"tasks\":{{{text}}}}}"));
        assert_eq!(workload.tasks[1].name, "b");
        assert_eq!(ops(&workload, "a"), [Op::Fork(crate::SpecId(1))]);
    }
}

#[test]
fn tasks_leave_the_barrier_one_after_the_other() {
    let text = "{\"tasks\":{\"b\":{\"run\":1},\"a\":{\"run\":1},\"c\":{\"run\":1,\"delay\":100}}}";
    let workload = read(text);
    let starts: Vec<Ns> = workload.tasks.iter().map(|t| t.start).collect();
    assert_eq!(starts, [0, 20, 140].map(Ns::from_us));
}

#[test]
fn options_have_names() {
    assert_eq!("json-c".parse(), Ok(RepeatedKeys::JsonC));
    assert_eq!("self".parse(), Ok(SuspendMeaning::Own));
    let error = "sefl".parse::<SuspendMeaning>().unwrap_err();
    assert_eq!(
        error.to_string(),
        ": \"sefl\" is not a valid meaning; expected one of auto, self, named (did you mean \"self\"?)"
    );
}

#[test]
fn fair_tasks_have_slices_and_clamps() {
    // dl-runtime is in us; the kernel brings it into its range.
    let of = |members: &str| {
        let workload = task(&format!("\"loop\":1,\"run\":1,{members}"));
        (workload.tasks[0].slice, workload.tasks[0].clamps)
    };
    assert_eq!(of("\"dl-runtime\":500"), (Some(Ns(500_000)), None));
    assert_eq!(of("\"dl-runtime\":5"), (Some(Ns(100_000)), None));
    assert_eq!(
        of("\"util_min\":100,\"util_max\":-1"),
        (None, Some((100, 1024)))
    );
    let real_time = of("\"policy\":\"SCHED_FIFO\",\"dl-runtime\":500");
    assert_eq!(real_time, (None, None));
}
