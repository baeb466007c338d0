use super::*;
use crate::ideal;
use crate::{Op, Process, Times};
use schedlab_trace::{Ns, TaskClass};

fn workload(line: &str) -> Workload {
    let workload = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    check(&workload);
    workload
}

/// What the model demands of every workload.
fn check(workload: &Workload) {
    let names: Vec<&str> = workload.tasks.iter().map(|t| t.name.as_str()).collect();
    assert!(names.windows(2).all(|w| w[0] < w[1]), "sorted, unique");
    for program in &workload.programs {
        let mut open = Vec::new();
        for (index, op) in program.ops.iter().enumerate() {
            match *op {
                Op::Loop { end, .. } => open.push((index as u32, end)),
                Op::EndLoop { start } => assert_eq!(open.pop(), Some((start, index as u32))),
                _ => {}
            }
            assert!(open.len() <= crate::MAX_LOOP_DEPTH);
        }
        assert!(open.is_empty());
    }
}

fn refused(line: &str) -> String {
    parse(line).expect_err(line).to_string()
}

#[test]
fn volanomark_adds_up_as_its_source_does() {
    // 3 rooms of 20 users, 10 messages each: 3 x 20 x 10 = 600 sent, 19 times as many
    // received.  Server and client read and write 600 + 600 x 20 packets each: senders and
    // receivers yield at most 600 x (1 + 1 + 20 + 20) times, fewer when a batch holds several.
    let outcome = ideal::run(&workload("volanomark --rooms 3 --count 10"));
    assert_eq!(outcome.stuck, Vec::<String>::new());
    assert_eq!(outcome.marks["message"], 600 * 20);
    assert!(outcome.yields <= 600 * 42, "{}", outcome.yields);
    assert!(outcome.yields >= 600 * 22, "{}", outcome.yields);
}

#[test]
fn volanomark_of_the_published_size_scores_400_000() {
    // The programs alone say it: each client sender marks 100, each client receiver
    // u + 99 x 19 + (19 - u) = 1,900: 200 x 2,000.
    let workload = workload("volanomark --rooms 10 --users 20 --count 100");
    assert_eq!(workload.tasks.len(), 800);
    let marks = |group: &str| -> u64 {
        let tasks = workload.tasks.iter().filter(|t| t.group == group);
        tasks
            .map(|t| marks_of(&workload.programs[t.program.0 as usize].ops))
            .sum()
    };
    assert_eq!(marks("client-sender"), 20_000);
    assert_eq!(marks("client-receiver"), 380_000);
}

/// How much a program with fixed loops counts.
fn marks_of(ops: &[Op]) -> u64 {
    let mut factor = vec![1];
    let mut sum = 0;
    for op in ops {
        match op {
            Op::Loop {
                times: Times::Fixed(n),
                ..
            } => factor.push(factor[factor.len() - 1] * u64::from(*n)),
            Op::EndLoop { .. } => drop(factor.pop()),
            Op::Mark { count, .. } => sum += factor[factor.len() - 1] * u64::from(*count),
            _ => {}
        }
    }
    sum
}

/// A task may cost 1 KiB in all; its program should leave room for the rest.
#[test]
fn programs_are_compact() {
    for line in [
        "volanomark --rooms 20",
        "chat",
        "hackbench",
        "late",
        "kernel-build",
    ] {
        let workload = workload(line);
        let ops: usize = workload.programs.iter().map(|p| p.ops.len()).sum();
        let tasks: u32 = workload.tasks.iter().map(|t| t.count.max(1)).sum();
        let bytes = ops * std::mem::size_of::<Op>() / tasks as usize;
        assert!(
            bytes <= 640,
            "{line}: {bytes} bytes of program for each task"
        );
    }
}

#[test]
fn in_volanomark_one_message_is_current_in_a_room() {
    // Two users, one message each, everything 10 us: user 0 writes 0-10, the server reads
    // 10-20, puts for user 1 20-30 and confirms 30-40; its sender writes to user 1 30-40, who
    // reads 40-50 and only then writes 50-60.
    let line = "volanomark --rooms 1 --users 2 --count 1 --variation 0 --write 10us --read 10us --put 10us";
    let outcome = ideal::run(&workload(line));
    let us = |name: &str| -> Vec<(u64, u64)> {
        let runs = outcome.runs[name].iter();
        runs.map(|(from, to)| (from / 1000, to / 1000)).collect()
    };
    assert_eq!(us("client-sender-0-0"), [(0, 10)]);
    assert_eq!(us("server-receiver-0-0"), [(10, 20), (20, 30), (30, 40)]);
    assert_eq!(us("client-receiver-0-1")[0], (40, 50));
    assert_eq!(us("client-sender-0-1"), [(50, 60)]);
}

#[test]
fn volanomark_has_two_processes_and_its_server_is_background() {
    let workload = workload("volanomark --rooms 1");
    for task in &workload.tasks {
        let serves = task.name.starts_with("server");
        assert_eq!(task.background, serves);
        let process = if serves { 2 } else { 1 };
        assert_eq!(task.process, Process::Shared(process));
    }
}

#[test]
fn the_command_line_is_kept_for_reproducing() {
    let workload = workload("volanomark --rooms 2");
    assert_eq!(workload.name, "volanomark");
    assert_eq!(workload.source, "volanomark --rooms 2");
}

#[test]
fn chat_is_an_open_loop() {
    // 1 room, 3 users, 4 messages each, 10 us to send: a sender is done after 40 us, whatever
    // the others do.  12 sent, 24 received.
    let line = "chat --rooms 1 --users 3 --messages 4 --variation 0 --send 10us";
    let outcome = ideal::run(&workload(line));
    assert_eq!(outcome.ends["client-sender-0-0"], [40_000]);
    assert_eq!(outcome.marks["message"], 36);
    assert_eq!(outcome.yields, 0);
    // The paper's figure: 20 x 100 x 19 = 38,000 received in each room, and 2,000 sent.
    let outcome = ideal::run(&workload("chat --rooms 1"));
    assert_eq!(outcome.marks["message"], 40_000);
}

#[test]
fn hackbench_sends_from_each_to_each() {
    // 2 groups x 3 senders x 3 receivers x 5 loops = 90 messages among 12 tasks.
    let workload = workload("hackbench -g 2 -f 3 -l 5 -s 100 -p -T");
    assert_eq!(workload.tasks.iter().map(|t| t.count).sum::<u32>(), 12);
    assert!(workload
        .tasks
        .iter()
        .all(|t| t.process == Process::Shared(1)));
    // 40 messages of 100 bytes fit into each of a pipe's 16 pages.
    assert!(workload.channels.iter().all(|c| c.capacity == 640));
    let outcome = ideal::run(&workload);
    assert_eq!(outcome.marks["message"], 90);
    assert_eq!(outcome.stuck, Vec::<String>::new());
}

#[test]
fn hackbench_knows_sockets_processes_and_fifo() {
    let workload = workload("hackbench -g 1 -F");
    assert_eq!(workload.tasks.iter().map(|t| t.count).sum::<u32>(), 40);
    // 100 + 320 bytes round up to 512, with 256 more 768; 212,992 / 768 = 277.
    assert!(workload.channels.iter().all(|c| c.capacity == 277));
    for task in &workload.tasks {
        assert_eq!(task.process, Process::Own);
        assert_eq!((task.class, task.rt_priority), (TaskClass::Fifo, 1));
    }
}

#[test]
fn a_million_hogs_share_one_program() {
    let workload = workload("hogs --nice -5,0,10 --count 300000");
    assert_eq!(workload.programs.len(), 1);
    let tasks: Vec<(&str, i8, u32)> = workload
        .tasks
        .iter()
        .map(|t| (t.name.as_str(), t.nice, t.count))
        .collect();
    assert_eq!(
        tasks,
        [
            ("hog-nice-5", -5, 300_000),
            ("hog-nice0", 0, 300_000),
            ("hog-nice10", 10, 300_000)
        ]
    );
    assert_eq!(workload.duration, Some(Ns::from_secs(60)));
}

#[test]
fn hogs_with_work_end() {
    let workload = workload("hogs --count 3 --work 2s");
    assert_eq!(workload.duration, None);
    assert_eq!(ideal::run(&workload).ends["hog-nice0"], [2_000_000_000; 3]);
}

#[test]
fn massive_intr_works_and_sleeps() {
    // Rounds of 9 ms: within 90 ms each of 3 tasks works 10 times.
    let outcome = ideal::run(&workload("massive-intr -n 3 -t 90ms"));
    assert_eq!(outcome.marks["round"], 30);
}

#[test]
fn late_measures_lateness_and_response() {
    let line = "late --task a:run=1ms,sleep=9ms --aligned --duration 100ms";
    let outcome = ideal::run(&workload(line));
    // With a CPU for each task none is late, and the response time is the work itself.
    assert_eq!(outcome.clocks["a lateness"], [0; 10]);
    assert_eq!(outcome.clocks["a response"], [1_000_000; 10]);
}

#[test]
fn late_gates_batches() {
    // Each task works 30 ms and sleeps 10 ms before every full 10 ms of it: 60 ms.  The second
    // batch starts when the first is over, the third after that.
    let line = "late --task cc:run=10ms,sleep=10ms,cpu=30ms,count=2,batches=3";
    let outcome = ideal::run(&workload(line));
    let ms: Vec<u64> = outcome.ends["cc"].iter().map(|ns| ns / 1_000_000).collect();
    assert_eq!(ms, [60, 60, 120, 120, 180, 180]);
    assert_eq!(outcome.marks["cc done"], 6);
}

#[test]
fn late_by_itself_is_the_papers_mix() {
    let workload = workload("late");
    let tasks: Vec<(&str, u32, bool)> = workload
        .tasks
        .iter()
        .map(|t| (t.name.as_str(), t.count, t.background))
        .collect();
    assert_eq!(
        tasks,
        [
            ("compiler", 60, false),
            ("compiler-gate", 1, false),
            ("mozilla", 2, true),
            ("vi", 4, true)
        ]
    );
    // 1.2 s in 6 periods of 200 ms, each after 10 ms of sleep; two batches.
    assert_eq!(ideal::run(&workload).end, 2 * 6 * 210_000_000);
}

#[test]
fn late_presets_can_be_changed() {
    let workload =
        workload("late --task mozilla:run=25ms,sleep=100ms,nice=-5 --task vi --duration 1s");
    assert_eq!(workload.tasks[0].nice, -5);
    let runs = workload.programs[workload.tasks[0].program.0 as usize]
        .ops
        .iter();
    let runs: Vec<&Op> = runs.filter(|op| matches!(op, Op::Run(_))).collect();
    assert_eq!(runs, [&Op::Run(crate::Amount::Fixed(Ns::from_ms(25)))]);
    assert_eq!(workload.duration, Some(Ns::from_secs(1)));
}

#[test]
fn kernel_build_keeps_its_jobs_busy() {
    // 4 files of 10 (make) + 10 (gcc) + 100 (cc1) + 20 (as) ms, two at a time: make forks at 10
    // and 20; these end at 140 and 150; the next two start 10 ms later and end at 280 and
    // 290; then 50 ms of linking.
    let line = "kernel-build -j 2 --files 4 --driver 10ms --compile 100ms --assemble 20ms --link 50ms --variation 0 --disk 0";
    let workload = workload(line);
    let outcome = ideal::run(&workload);
    let ms: Vec<u64> = outcome.ends["gcc"]
        .iter()
        .map(|ns| ns / 1_000_000)
        .collect();
    assert_eq!(ms, [140, 150, 280, 290]);
    assert_eq!(outcome.end, 340_000_000);
    assert_eq!(outcome.marks["file"], 4);
}

#[test]
fn kernel_build_without_a_number_starts_all_jobs() {
    for line in [
        "kernel-build -j --files 3",
        "kernel-build -j9 --files 3",
        "kernel-build --jobs 3 --files 3",
    ] {
        let workload = workload(line);
        let make = workload.tasks.iter().find(|t| t.name == "make").unwrap();
        let ops = &workload.programs[make.program.0 as usize].ops;
        assert!(
            matches!(
                ops[0],
                Op::Loop {
                    times: Times::Fixed(3),
                    ..
                }
            ),
            "{line}"
        );
    }
}

#[test]
fn every_builtin_is_found_and_explains_itself() {
    for builtin in list() {
        let (name, summary) = (builtin.name, builtin.summary());
        assert!(!summary.is_empty() && !summary.ends_with('.'), "{name}");
        let help = super::help(&format!("{name} --help"));
        assert_eq!(help, builtin.help());
        assert_eq!(super::help(name), None);
        if let Some(help) = help {
            assert!(
                help.contains(&summary) && help.contains("--"),
                "{name}: {help}"
            );
        }
        workload(name);
    }
    assert!(find("volano").is_none());
}

#[test]
fn mistakes_get_one_clear_line() {
    let cases = [
        (
            "volanomrk",
            "--workload: there is no workload \"volanomrk\"; expected one of ab, chat, closed-loop-server, containers, contest, fiftyp, hackbench, hogs, \
             interbench, kernel-build, late, mab, massive-intr, mixed, nice-pair, producer-consumer, ring, rt-over-normal, short-slice, sysbench-oltp, \
             thud, victims, volanomark, wake-storm (did you mean \"volanomark\"?)",
        ),
        (
            "volanomark --room 3",
            "--workload: volanomark: there is no option \"--room\"; expected an option of \
             \"volanomark --help\" (did you mean \"--rooms\"?)",
        ),
        (
            "volanomark --rooms 3 4",
            "--workload: volanomark: \"4\" does not belong here; expected options only",
        ),
        (
            "volanomark --rooms x",
            "--workload: volanomark --rooms: \"x\" is not valid; expected a whole number, 1 to 25000",
        ),
        (
            "volanomark --write 3",
            "--workload: volanomark --write: \"3\" is not valid; expected a duration with its unit, such as \"250ns\", \"10us\", \"2ms\", \"1.5s\"",
        ),
        (
            "volanomark --rooms",
            "--workload: volanomark --rooms: --rooms <ROOMS> has no value",
        ),
        (
            "volanomark --rooms 2000",
            "--workload: volanomark --rooms: 40000 connections are too many; expected rooms times users at most 25000",
        ),
        (
            "hogs --nice 0,20",
            "--workload: hogs --nice: 20 is out of range; expected -20 to 19",
        ),
        (
            "hogs --nice 3,3",
            "workloads/hogs.toml:31: task.hog: another task is named \"hog-nice3\"; expected another name",
        ),
        (
            "late --task vi:cuont=4",
            "--workload: late --task: \"vi:cuont=4\" is not valid; expected one of run, sleep, cpu, count, \
             batches, nice, start, ws, vary, burst, threads (did you mean \"count\"?) for cuont",
        ),
        (
            "late --task emacs",
            "--workload: late --task: \"emacs\" is not valid; expected run=TIME for \"emacs\", which is no preset",
        ),
        (
            "late --task vi --task vi",
            "--workload: late --task: the name \"vi\" is used twice; expected another name",
        ),
        (
            "hackbench -T -P",
            "--workload: hackbench --threads: --threads and --process exclude each other; expected one of them",
        ),
        (
            "hogs \"x",
            "--workload: a quote in \"hogs \"x\" has no end",
        ),
    ];
    for (line, message) in cases {
        assert_eq!(refused(line), message);
    }
}

#[test]
fn a_piped_build_has_compiler_and_assembler_side_by_side() {
    // One file of 4 pages: make and gcc take 10 ms each, cc1 25 ms for a page, as 5 ms.  The pages come at
    // 45, 70, 95 and 120 ms; as ends 5 ms after the last, and 50 ms of linking follow.
    let line = "kernel-build -j 2 --files 1 --pipe 4 --driver 10ms --compile 100ms --assemble 20ms --link 50ms --variation 0 --disk 0";
    let outcome = ideal::run(&workload(line));
    let ms = |ns: &u64| ns / 1_000_000;
    let assembled: Vec<u64> = outcome.runs["as-0"].iter().map(|r| ms(&r.0)).collect();
    assert_eq!(assembled, [45, 70, 95, 120]);
    assert_eq!(
        outcome.ends["cc1-0"].iter().map(ms).collect::<Vec<_>>(),
        [120]
    );
    assert_eq!(outcome.end, 175_000_000);
}

#[test]
fn files_of_a_piped_build_differ_as_the_distribution_does() {
    // Eighths of a log-normal distribution with sigma 0.6: of 50 pages, 50 exp(0.6 x 1.534) = 125.5 to
    // 50 exp(-0.6 x 1.534) = 19.9.
    let workload = workload("kernel-build --files 8 --pipe 50");
    let sent = |op: &Op| match op {
        Op::Loop {
            times: Times::Fixed(n),
            ..
        } => Some(*n),
        _ => None,
    };
    let of_cc1 = workload.tasks.iter().filter(|t| t.group == "cc1");
    let mut pages: Vec<u32> = of_cc1
        .filter_map(|t| {
            workload.programs[t.program.0 as usize]
                .ops
                .iter()
                .find_map(sent)
        })
        .collect();
    pages.sort_unstable();
    assert_eq!(pages, [20, 29, 37, 46, 55, 67, 85, 126]);
}

#[test]
fn ab_keeps_its_requests_open_and_times_them() {
    // 3 requests, 2 at a time, one server: pages end at 10, 20 and 30 ms, and ab takes 1 ms more
    // for each.  Its third connection opens at 11 ms: 31 - 11 = 20.
    let line =
        "ab -c 2 -n 3 --page 10ms --client 1ms --variation 0 --start-servers 1 --max-clients 1";
    let outcome = ideal::run(&workload(line));
    assert_eq!(outcome.stuck, Vec::<String>::new());
    assert_eq!(outcome.marks["request"], 3);
    let ms: Vec<u64> = outcome.clocks["request"]
        .iter()
        .map(|ns| ns / 1_000_000)
        .collect();
    assert_eq!(ms, [11, 21, 20]);
}

#[test]
fn apache_forks_more_servers_each_second() {
    // 8 at first; 1 after a second, then 2, 4, 8, 16, 32, 32, 32 and the last 15: 150.
    let workload = workload("ab");
    let parent = workload
        .tasks
        .iter()
        .find(|t| t.name == "httpd-parent")
        .unwrap();
    let mut forks = Vec::new();
    let mut factor = 1;
    for op in &workload.programs[parent.program.0 as usize].ops {
        match op {
            Op::Loop {
                times: Times::Fixed(n),
                ..
            } => factor = *n,
            Op::EndLoop { .. } => factor = 1,
            Op::Fork(_) => forks.push(factor),
            _ => {}
        }
    }
    assert_eq!(forks, [8, 1, 2, 4, 8, 16, 32, 32, 32, 15]);
    assert!(refused("ab -c 5 -n 4").contains("--requests"));
}

#[test]
fn an_oltp_transaction_is_twenty_round_trips() {
    // 20 x 1 ms of the client; 10 + 4 rows at 1 ms, 4 ranges at 5 ms: 20 + 14 + 20 = 54 ms.
    let line = "sysbench-oltp -t 2 -n 6 --point 1ms --range 5ms --client 1ms --variation 0 --read 0 --flush 0";
    let outcome = ideal::run(&workload(line));
    assert_eq!(outcome.marks["transaction"], 6);
    assert!(outcome.clocks["transaction"]
        .iter()
        .all(|ns| *ns >= 54_000_000));
    let alone = ideal::run(&workload(&line.replace("-t 2 -n 6", "-t 1 -n 5")));
    assert_eq!(alone.clocks["transaction"], [54_000_000; 5]);
}

#[test]
fn oltp_changes_lock_their_rows_until_the_commit() {
    // With one row all transactions change the same row: they cannot overlap from their first change on.
    let workload = workload("sysbench-oltp -t 3 --rows 100");
    assert!(workload.nr_mutexes <= 100);
    for program in &workload.programs {
        let mut held: Vec<u32> = Vec::new();
        for op in &program.ops {
            match op {
                Op::Lock(m) => {
                    assert!(held.iter().all(|h| h < m), "in the order of the rows");
                    held.push(*m);
                }
                Op::Unlock(m) => held.retain(|h| h != m),
                _ => {}
            }
        }
        assert!(held.is_empty());
    }
}

#[test]
fn mab_has_four_phases_one_after_the_other() {
    let line = "mab --checks 2 --check 10ms --files 2 --compile 100ms --variation 0 --disk 0";
    let outcome = ideal::run(&workload(line));
    assert_eq!(outcome.marks["mab-file"], 2);
    let end = |name: &str| *outcome.ends[name].last().unwrap();
    // bunzip2 takes 3,000 x 1.4 ms, tar 0.25 ms more for the last block.
    assert_eq!(end("unpack"), 4_200_250_000);
    // 2 x (1 + 10) ms, 2 x (10 + 10 + 100 + 20) ms, and 2,500 x 1 ms.
    assert_eq!(end("configure") - end("unpack"), 22_000_000);
    assert_eq!(end("mab-make") - end("configure"), 280_000_000);
    assert_eq!(outcome.end - end("mab-make"), 2_500_000_000);
    let both = workload("mab --kernel-jobs 2 --kernel-options '--files 3'");
    assert!(both.tasks.iter().any(|t| t.name == "make"));
    assert!(refused("mab --kernel-jobs 2 --kernel-options '--fils 3'").contains("--fils"));
}

#[test]
fn interbench_has_the_frames_of_the_original() {
    let runs = |bench: &str| {
        let outcome = ideal::run(&workload(&format!("interbench --bench {bench} -t 1s")));
        (outcome.runs[bench].clone(), outcome.marks)
    };
    // The first frame is due at 50 ms, the last that is done at 950 ms.
    let (audio, marks) = runs("audio");
    let (ms, us) = (1_000_000, 1_000);
    let expected: Vec<(u64, u64)> = (1..20)
        .map(|n| (n * 50 * ms, n * 50 * ms + 2500 * us))
        .collect();
    assert_eq!(audio[..19], expected);
    assert_eq!(marks["burn"], 19);
    let (video, _) = runs("video");
    assert_eq!(video[2], (3 * 16_666 * us, 3 * 16_666 * us + 6_666_400));
    // X: nothing, then 1 ms, 2 ms and so on.
    let (x, _) = runs("x");
    assert_eq!(x[..2], [(200 * ms, 201 * ms), (300 * ms, 302 * ms)]);
}

#[test]
fn interbench_wakes_its_thread_from_above_but_not_its_load() {
    let both = workload("interbench --bench video --load video");
    let class = |name: &str| {
        let spec = both.tasks.iter().find(|t| t.name == name).unwrap();
        (spec.class, spec.rt_priority)
    };
    assert_eq!(class("timekeeper"), (TaskClass::Fifo, 96));
    assert_eq!(class("video"), (TaskClass::Normal, 0));
    assert_eq!(class("load-video-timer"), (TaskClass::Normal, 0));
    let real_time = workload("interbench -r -B 5 --load compile -L 2 -N -5");
    let audio = real_time.tasks.iter().find(|t| t.name == "audio").unwrap();
    assert_eq!(
        (audio.class, audio.rt_priority, audio.nice),
        (TaskClass::Fifo, 95, 5)
    );
    let load = real_time.tasks.iter().filter(|t| t.group == "load");
    assert_eq!(
        load.clone().map(|t| t.count).sum::<u32>(),
        4,
        "two burners, write, read"
    );
    assert!(load.clone().all(|t| t.nice == -5 && t.background));
    assert_eq!(real_time.nr_disks, 1);
    assert!(refused("interbench --bench vido").contains("did you mean \"video\""));
    assert!(refused("interbench --bench custom -C 1 -I 50ns").contains("100ns"));
}

#[test]
fn contest_is_a_build_beside_a_load_nobody_waits_for() {
    let line = |load: &str| {
        format!("contest --load {load} --build '--files 2 --variation 0 --disk 0 --link 1s'")
    };
    let alone = ideal::run(&workload(&line("none"))).end;
    for load in ["mem", "io", "read", "list", "ctar", "xtar", "dbench"] {
        let outcome = ideal::run(&workload(&line(load)));
        assert_eq!(outcome.end, alone, "{load}: each task has a CPU here");
    }
    let ring = workload(&line("process --processes 6 --chunks 2"));
    assert_eq!(ring.tasks.iter().filter(|t| t.group == "load").count(), 6);
    assert_eq!(ring.semaphores.iter().sum::<u32>(), 2);
    assert!(refused("contest --build '--fils 3'").contains("--fils"));
}
