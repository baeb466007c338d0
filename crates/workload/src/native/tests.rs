//! The format as a whole: what files mean, and what is said about files that mean nothing.

mod groups;

use proptest::prelude::*;
use schedlab_trace::{MarkId, Ns, TaskClass};

use super::parse;
use crate::builtin;
use crate::ideal;
use crate::{Amount, Channel, Distribution, Op, Process, SpecId, TimerScope, Times, Workload};

/// A workload with one task "t" that runs this program, after these tables.
fn file(tables: &str, program: &str) -> String {
    format!("duration = \"1s\"\n{tables}\n[task.t]\nprogram = \"\"\"\n{program}\n\"\"\"\n")
}

/// All kinds of things to use.
const THINGS: &str = "[mutex.a]\n[mutex.m]\n[condition.c]\n[semaphore.s]\n[barrier.b]\ntasks = 2\n\
                      [channel.x]\ncapacity = 4\n[disk.d]\n[timer.shared]\n[task.kid]\ncount = 0\nprogram = \"run 1ms\"";

#[track_caller]
fn read(text: &str) -> Workload {
    parse("w.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn says(text: &str, message: &str) {
    assert_eq!(parse("w.toml", text).unwrap_err().to_string(), message);
}

/// What is said about one line of a program.  The program's first line is line 17 of the file.
#[track_caller]
fn refuses(program: &str, message: &str) {
    let text = file(THINGS, program);
    let error = parse("w.toml", &text).unwrap_err().to_string();
    assert_eq!(error, format!("w.toml:{message}"));
}

fn ops(workload: &Workload, task: &str) -> Vec<Op> {
    let task = workload.tasks.iter().find(|t| t.name == task).unwrap();
    workload.programs[task.program.0 as usize].ops.clone()
}

#[test]
fn every_statement_has_its_operation() {
    let program = "run 1ms\nrun-for 2ms\nsleep exp(3ms)\ntimed-sleep 1us\ntimer own 4ms\ntimer shared 5ms relative\n\
                   lock m\nwait c m\nunlock m\nwait c\nsignal c\nbroadcast c\npost s\nwait-sem s\nbarrier b\n\
                   send x\nsend x 3\nreceive x 2\nreceive x all\nloop received\nyield\nend\ndisk d 6ms\n\
                   fork kid\nwait-child\nwait-children\nexec\nnice -5\nclass rr 7\nclass batch\nclass iso\ncpus 0-1\ncpus all\n\
                   working-set 64KiB\nmark done\nmark done 9\nstart-clock\ntake-clock\nstop-clock took\nloop 2\nyield\nend\nexit";
    let workload = read(&file(THINGS, program));
    let ms = |n| Amount::Fixed(Ns::from_ms(n));
    let expected = vec![
        Op::Run(ms(1)),
        Op::RunFor(ms(2)),
        Op::Sleep(Amount::Drawn(0)),
        Op::TimedSleep(Amount::Fixed(Ns(1000))),
        Op::Timer {
            timer: TimerScope::Own(0),
            period: Ns::from_ms(4),
            relative: false,
        },
        Op::Timer {
            timer: TimerScope::Shared(0),
            period: Ns::from_ms(5),
            relative: true,
        },
        // Mutexes are numbered in alphabetical order: a is 0, m is 1.
        Op::Lock(1),
        Op::CondWait {
            condition: 0,
            mutex: Some(1),
        },
        Op::Unlock(1),
        Op::CondWait {
            condition: 0,
            mutex: None,
        },
        Op::CondSignal(0),
        Op::CondBroadcast(0),
        Op::SemPost(0),
        Op::SemWait(0),
        Op::Barrier(0),
        Op::Send {
            channel: 0,
            count: 1,
        },
        Op::Send {
            channel: 0,
            count: 3,
        },
        Op::Receive {
            channel: 0,
            count: 2,
        },
        Op::ReceiveAll { channel: 0 },
        Op::Loop {
            times: Times::Received,
            end: 21,
        },
        Op::Yield,
        Op::EndLoop { start: 19 },
        Op::Disk {
            disk: 0,
            service: ms(6),
        },
        Op::Fork(SpecId(0)),
        Op::WaitChild,
        Op::WaitAll,
        Op::Exec,
        Op::SetNice(-5),
        Op::SetClass(TaskClass::Rr, 7),
        Op::SetClass(TaskClass::Batch, 0),
        Op::SetClass(TaskClass::Iso, 0),
        Op::SetCpus(Some(0)),
        Op::SetCpus(None),
        Op::WorkingSet(65_536),
        Op::Mark {
            mark: MarkId(0),
            count: 1,
        },
        Op::Mark {
            mark: MarkId(0),
            count: 9,
        },
        Op::StartClock,
        Op::TakeClock,
        Op::StopClock { mark: MarkId(1) },
        Op::Loop {
            times: Times::Fixed(2),
            end: 41,
        },
        Op::Yield,
        Op::EndLoop { start: 39 },
        Op::Exit,
    ];
    assert_eq!(ops(&workload, "t"), expected);
    assert_eq!(
        workload.distributions,
        [Distribution::Exponential { mean: 3_000_000 }]
    );
    assert_eq!(workload.cpu_sets, [[0, 1]]);
    assert_eq!(workload.marks, ["done", "took"]);
    assert_eq!(
        (
            workload.nr_mutexes,
            workload.nr_conditions,
            workload.nr_disks
        ),
        (2, 1, 1)
    );
    assert_eq!(
        (&workload.semaphores[..], &workload.barriers[..]),
        (&[0][..], &[2][..])
    );
    assert_eq!(
        (&workload.channels[..], workload.nr_shared_timers),
        (&[Channel::holding(4)][..], 1)
    );
    assert_eq!(workload.warnings, ["w.toml:2: mutex.a: never used"]);
}

#[test]
fn a_task_table_is_a_specification() {
    let text = "[task.t]\ncount = 3\nnice = -3\nclass = \"fifo\"\nrt_priority = 40\ncpus = \"1-2\"\n\
                process = \"p\"\ngroup = \"g\"\nworking_set = \"1MiB\"\nstart = \"5ms\"\nbackground = true\nforeground = true\n\
                program = \"run 1ms\"\n[task.u]\nprogram = \"run 2ms\"\n";
    let workload = read(text);
    let t = &workload.tasks[0];
    assert_eq!(
        (t.name.as_str(), t.group.as_str(), t.count, t.nice),
        ("t", "g", 3, -3)
    );
    assert_eq!(
        (t.class, t.rt_priority, t.process),
        (TaskClass::Fifo, 40, Process::Shared(1))
    );
    assert_eq!(workload.cpu_sets[t.cpus.unwrap() as usize], [1, 2]);
    assert_eq!(
        (t.working_set_bytes, t.start, t.background && t.foreground),
        (1 << 20, Ns::from_ms(5), true)
    );
    let u = &workload.tasks[1];
    assert_eq!(
        (u.group.as_str(), u.count, u.nice, u.class, u.rt_priority),
        ("u", 1, 0, TaskClass::Normal, 0)
    );
    assert_eq!(
        (
            u.process,
            u.cpus,
            u.working_set_bytes,
            u.start,
            u.background || u.foreground
        ),
        (Process::Own, None, 0, Ns(0), false)
    );
    assert_eq!(
        (
            workload.name.as_str(),
            workload.source.as_str(),
            workload.duration
        ),
        ("w", "w.toml", None)
    );
}

#[test]
fn instances_can_differ() {
    let text = "duration = \"1s\"\n[channel.ring]\ncount = 3\ncapacity = 1\n[task.t]\ncount = 3\ncpus = \"{i}\"\n\
                process = \"room.{i / 2}\"\nstart = \"{i}ms\"\nprogram = \"\"\"\nforever # {never read}\n\
                send ring.{(i + 1) % n}\nreceive ring.{i}\nend\n\"\"\"\n";
    let workload = read(text);
    let names: Vec<_> = workload
        .tasks
        .iter()
        .map(|t| (t.name.as_str(), t.group.as_str(), t.count))
        .collect();
    assert_eq!(names, [("t-0", "t", 1), ("t-1", "t", 1), ("t-2", "t", 1)]);
    let processes: Vec<_> = workload.tasks.iter().map(|t| t.process).collect();
    assert_eq!(
        processes,
        [Process::Shared(1), Process::Shared(1), Process::Shared(2)]
    );
    assert_eq!(workload.tasks[2].start, Ns::from_ms(2));
    assert_eq!(workload.cpu_sets, [[0], [1], [2]]);
    assert_eq!(
        ops(&workload, "t-2")[1..3],
        [
            Op::Send {
                channel: 0,
                count: 1
            },
            Op::Receive {
                channel: 2,
                count: 1
            }
        ]
    );
}

#[test]
fn the_order_of_definition_changes_nothing() {
    let parts = [
        "[mutex.b]\n", "[mutex.a]\n", "[channel.x]\ncapacity = 1\n", "[channel.w]\ncapacity = 2\n",
        "[task.z]\nprocess = \"q\"\ncpus = \"1\"\nprogram = '''\nlock b\nrun exp(1ms)\nunlock b\nsend x\nsend w\nmark z\n'''\n",
        "[task.y]\nprocess = \"p\"\ncpus = \"0\"\nprogram = '''\nlock a\nrun exp(2ms)\nunlock a\nreceive x\nreceive w\nmark y\n'''\n",
    ];
    let forward = read(&parts.concat());
    let backward = read(&parts.iter().rev().copied().collect::<String>());
    assert_eq!(format!("{forward:?}"), format!("{backward:?}"));
    assert_eq!(forward.tasks[0].name, "y");
    assert_eq!(forward.channels, [Channel::holding(2), Channel::holding(1)]);
}

#[test]
fn equal_programs_are_kept_once() {
    let text = "[task.a]\nprogram = \"run 1ms # one\"\n[task.b]\nprogram = \"  run 1ms\"\n[task.c]\ncount = 4\nprogram = \"sleep {i/2}ms\"\n";
    let workload = read(text);
    assert_eq!(workload.programs.len(), 3);
    assert_eq!(workload.tasks[0].program, workload.tasks[1].program);
}

#[test]
fn mistakes_in_programs_have_their_own_line() {
    refuses("run 1ms\nrecieve x", "18: task.t.program: unknown statement \"recieve\"; expected a statement such as run, sleep, send, lock or loop (did you mean \"receive\"?)");
    refuses("run 10", "17: task.t.program: \"10\" has no unit; expected a duration with its unit, such as \"250ns\", \"10us\", \"2ms\", \"1.5s\"");
    refuses(
        "\n\nlock",
        "19: task.t.program: \"lock\" cannot be read; expected lock MUTEX",
    );
    refuses(
        "run 2 ms",
        "17: task.t.program: \"run 2 ms\" cannot be read; expected run AMOUNT",
    );
    refuses("send y", "17: task.t.program: there is no channel \"y\"; expected one declared in a table [channel.y] (did you mean \"x\"?)");
    refuses(
        "send x.1",
        "17: task.t.program: channel \"x\" has one instance; expected \"x\" without number",
    );
    refuses("send x 0", "17: task.t.program: \"0\" is not a number that fits here; expected a whole number from 1 to 1000000");
    refuses(
        "nice 20",
        "17: task.t.program: \"20\" is not a nice value; expected a whole number from -20 to 19",
    );
    refuses("class fifo", "17: task.t.program: \"class fifo\" cannot be read; expected class normal, batch, idle, iso, fifo PRIORITY or rr PRIORITY");
    refuses("class fifo 100", "17: task.t.program: \"100\" is not a number that fits here; expected a whole number from 1 to 99");
    refuses("class other", "17: task.t.program: unknown class \"other\"; expected one of normal, batch, idle, iso, fifo, rr");
    refuses("cpus 1-", "17: task.t.program: \"1-\" is not a list of CPUs; expected \"all\" or a list of CPUs, such as \"0-3,8\"");
    refuses("fork kit", "17: task.t.program: there is no task \"kit\"; expected one with a table [task.kit] (did you mean \"kid\"?)");
    refuses(
        "timer own 0ms",
        "17: task.t.program: the period is 0; expected a duration of more than 0",
    );
    refuses("timer a 1ms\ntimer b 1ms\ntimer c 1ms\ntimer d 1ms\ntimer e 1ms", "21: task.t.program: \"e\" is one timer too many; expected at most 4 timers of its own in a program");
    refuses("stop-clock x", "17: task.t.program: no clock is running; expected \"start-clock\", \"take-clock\" or \"timed-sleep\" before it");
    refuses(
        "sleep {i",
        "17: task.t.program: \"{\" without \"}\"; expected such as {i}",
    );
    refuses(
        "mark 5",
        "17: task.t.program: \"5\" is not a name: a letter, then letters, digits, \"-\" and \"_\"",
    );
}

#[test]
fn loops_are_nested_and_do_something() {
    refuses(
        "loop 3\nrun 1ms",
        "17: task.t.program: loop without \"end\"; expected \"end\" on a line of its own",
    );
    refuses(
        "run 1ms\nend",
        "18: task.t.program: \"end\" without a loop; expected \"loop N\" or \"forever\" before it",
    );
    refuses("forever\nyield\nlock m\nunlock m\nend", "17: task.t.program: would loop without time passing; expected a statement inside that takes time or blocks, such as run, sleep or receive");
    refuses("forever\nloop 0\nrun 1ms\nend\nend", "17: task.t.program: would loop without time passing; expected a statement inside that takes time or blocks, such as run, sleep or receive");
    refuses("forever\nrun 0ms\nwait-children\nend", "17: task.t.program: would loop without time passing; expected a statement inside that takes time or blocks, such as run, sleep or receive");
    refuses(
        "forever\nrun 1ms\nend\nrun 1ms",
        "20: task.t.program: never reached, since the loop before goes on for ever",
    );
    refuses(
        "exit\nrun 1ms",
        "18: task.t.program: never reached, since the task exits before",
    );
    refuses("loop received\nend", "17: task.t.program: nothing has been received; expected \"receive CHANNEL all\" before \"loop received\"");
    let deep = "loop 2\n".repeat(7);
    refuses(
        &deep,
        "23: task.t.program: loops are nested too deep; expected at most 6 levels",
    );
    refuses("loop -1\nend", "17: task.t.program: \"-1\" is not a number that fits here; expected a whole number from 0 to 4294967295");
    refuses(
        "# nothing",
        "18: task.t.program: the program is empty; expected at least one statement",
    );
    let forking = "forever\nfork kid\nwait-children\nend";
    read(&file(
        "[task.kid]\ncount = 0\nprogram = \"run 1ms\"\n",
        forking,
    ));
}

#[test]
fn mutexes_are_taken_and_given_back() {
    refuses(
        "unlock m",
        "17: task.t.program: mutex \"m\" is not held here; expected \"lock m\" before it",
    );
    refuses(
        "lock m\nlock m",
        "18: task.t.program: mutex \"m\" is held already: the task would wait for itself",
    );
    refuses("lock m\nrun 1ms", "19: task.t.program: the task ends while it holds mutex \"m\"; expected \"unlock m\" before");
    refuses("lock m\nexit", "18: task.t.program: the task ends while it holds mutex \"m\"; expected \"unlock m\" before");
    refuses("loop 2\nlock m\nend", "19: task.t.program: the loop ends with other mutexes held than it began with (m); expected as many locks as unlocks in a loop");
    refuses(
        "wait c m",
        "17: task.t.program: mutex \"m\" is not held here; expected \"lock m\" before it",
    );
}

#[test]
fn nobody_waits_for_what_nobody_does() {
    says(
        &file("[condition.c]\n", "wait c"),
        "w.toml:6: condition.c: a task would wait here for ever: no program has signal or broadcast",
    );
    says(
        &file("[channel.x]\ncapacity = 1\n", "receive x"),
        "w.toml:7: channel.x: a task would wait here for ever: no program has send",
    );
    says(
        &file("[semaphore.s]\n", "wait-sem s"),
        "w.toml:6: semaphore.s: a task would wait here for ever: no program has post",
    );
    assert!(read(&file("[semaphore.s]\ninitial = 2\n", "wait-sem s"))
        .warnings
        .is_empty());
    let unread = read(&file("[channel.x]\ncapacity = 1\n", "send x"));
    assert_eq!(
        unread.warnings,
        ["w.toml:7: channel.x: no program has receive"]
    );
    let unforked =
        read("[task.a]\nprogram = \"run 1ms\"\n[task.b]\ncount = 0\nprogram = \"run 1ms\"\n");
    assert_eq!(
        unforked.warnings,
        ["w.toml:3: task.b: count is 0 and no task forks it"]
    );
}

#[test]
fn tasks_ask_for_slices_and_clamps() {
    let workload = read(
        "[task.t]\nslice = \"{1 + i}ms\"\ncount = 2\nutil_max = 512\nprogram = \"slice 100us\\nslice none\\nrun 1ms\"\n",
    );
    let slices: Vec<_> = workload.tasks.iter().map(|t| t.slice).collect();
    assert_eq!(slices, [Some(Ns::from_ms(1)), Some(Ns::from_ms(2))]);
    assert_eq!(workload.tasks[0].clamps, Some((0, 512)));
    let ops = &workload.programs[0].ops[..2];
    assert_eq!(ops, [Op::SetSlice(Some(Ns(100_000))), Op::SetSlice(None)]);
}

#[test]
fn mistakes_in_tables_have_line_key_and_expectation() {
    let task = |keys: &str| format!("[task.t]\nprogram = \"run 1ms\"\n{keys}\n");
    says(&task("nise = 3"), "w.toml:3: task.t.nise: unknown key; expected one of when, count, each, name, nice, class, rt_priority, slice, util_min, util_max, runtime, deadline, period, cpus, process, group, session, kind, working_set, start, background, foreground, program (did you mean \"nice\"?)");
    says(
        &task("nice = 20"),
        "w.toml:3: task.t.nice: 20 is out of range; expected a whole number from -20 to 19",
    );
    says(&task("slice = \"50us\""), "w.toml:3: task.t.slice: 50.0 µs is no slice a task can ask for; expected 100us to 100ms, as sched_setattr() allows");
    says(
        &task("util_min = 600\nutil_max = 500"),
        "w.toml:3: task.t.util_min: 600 is more than util_max, 500; expected util_min not above util_max",
    );
    says(&task("class = \"fifo\""), "w.toml:1: task.t.rt_priority: missing; expected 1 (worst) to 99 (best) for a real-time class");
    says(&task("rt_priority = 3"), "w.toml:3: task.t.rt_priority: only real-time tasks have one; expected class = \"fifo\" or class = \"rr\" beside it");
    says(&task("start = 10"), "w.toml:3: task.t.start: the number 10 is not valid here; expected a duration in quotes, such as \"10ms\"");
    says(&task("start = \"10\""), "w.toml:3: task.t.start: \"10\" has no unit; expected a duration with its unit, such as \"250ns\", \"10us\", \"2ms\", \"1.5s\"");
    says(&task("count = 0"), "w.toml:1: task: there is no task; expected at least one table [task.NAME] whose count is not 0");
    says(&task("count = 2000000"), "w.toml:3: task.t.count: 2000000 is out of range; expected a whole number from 0 to 1000000");
    says(
        &task("count = 0\nstart = \"{i}ms\"\n[task.u]\nprogram=\"run 1ms\""),
        "w.toml:3: task.t.count: 0 instances cannot differ by {i}; expected at least 1",
    );
    says(&task("process = \"a b\""), "w.toml:3: task.t.process: \"a b\" is not a name: a letter, then letters, digits, \"-\" and \"_\"; expected \"own\", \"parent\" or a name that threads of one process share");
    says(
        &task("[task.t-3]\nprogram = \"run 1ms\""),
        "w.toml:3: task.t-3: instances of task \"t\" are named like this; expected another name",
    );
    says(
        "[task.t]\n",
        "w.toml:1: task.t.program: missing; expected the statements it runs, between \"\"\"",
    );
    says("[channel.x]\n", "w.toml:1: task: there is no task; expected at least one table [task.NAME] whose count is not 0");
    says(&task("[channel.x]"), "w.toml:3: channel.x.capacity: missing; expected the messages it holds before senders block");
    says(&task("[chanel.x]"), "w.toml:3: chanel: unknown key; expected one of title, duration, options, constants, beside, group, autogroup, task, mutex, condition, semaphore, barrier, channel, disk, timer (did you mean \"channel\"?)");
    says(
        &task("[task.\"\"]\nprogram = \"\""),
        "w.toml:3: task: \"\" is not a name: a letter, then letters, digits, \"-\" and \"_\"",
    );
    says(
        "duration = \"0s\"\n[task.t]\nprogram = \"run 1ms\"",
        "w.toml:1: duration: the duration is 0; expected a duration longer than 0",
    );
}

#[test]
fn what_never_ends_runs_ten_seconds_and_says_so() {
    let assumed = |text: &str| {
        let workload = read(text);
        (workload.duration, workload.assumed_duration)
    };
    let ten = Some(Ns::from_secs(10));
    let note = |why: &str| {
        Some(format!(
            "w.toml:1: duration: missing, and {why}: this runs for 10 s"
        ))
    };
    let endless = "[task.t]\nprogram = \"forever\\nrun 1ms\\nend\"\n";
    assert_eq!(assumed(endless), (ten, note("task \"t\" never ends")));
    let background = "[task.t]\nbackground = true\nprogram = \"run 1ms\"\n";
    assert_eq!(
        assumed(background),
        (ten, note("all tasks are in the background"))
    );
    // A workload with a duration, or with an end, needs no assumption.
    let given = format!("duration = \"3s\"\n{endless}");
    assert_eq!(assumed(&given), (Some(Ns::from_secs(3)), None));
    let ends = "[task.t]\nprogram = \"run 1ms\"\n[task.b]\nbackground = true\nprogram = \"forever\\nrun 1ms\\nend\"";
    assert_eq!(assumed(ends), (None, None));
}

#[test]
fn numbered_things_are_used_by_number() {
    let text = |program: &str| file("[mutex.fork]\ncount = 5\n[mutex.zip]\n", program);
    says(
        &text("lock fork"),
        "w.toml:8: task.t.program: mutex \"fork\" names 5 instances; expected fork.0 to fork.4",
    );
    says(
        &text("lock fork.5"),
        "w.toml:8: task.t.program: mutex \"fork.5\" does not exist; expected fork.0 to fork.4",
    );
    says(&text("lock fork.3"), "w.toml:9: task.t.program: the task ends while it holds mutex \"fork.3\"; expected \"unlock fork.3\" before");
    assert_eq!(
        ops(&read(&text("lock zip\nunlock zip")), "t"),
        [Op::Lock(5), Op::Unlock(5)]
    );
}

#[test]
fn tasks_whose_instances_differ_are_forked_one_by_one() {
    let text = |target: &str| {
        format!("[task.a]\nprogram = \"fork {target}\"\n[task.b]\ncount = 2\nprogram = \"sleep {{i}}ms\"\n")
    };
    says(&text("b"), "w.toml:2: task.a.program: task \"b\" cannot be named, as its instances differ; expected a task that does not use {i}, or one instance such as \"b-0\"");
    assert_eq!(ops(&read(&text("b-1")), "a"), [Op::Fork(SpecId(2))]);
}

#[test]
fn the_examples_of_the_manual_are_valid() {
    let manual = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/workloads.md"
    ));
    let examples: Vec<_> = manual
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(examples.len() >= 4);
    for example in examples {
        let workload = parse("example.toml", example).unwrap_or_else(|e| panic!("{e}\n{example}"));
        assert!(
            workload.warnings.is_empty(),
            "{:?}\n{example}",
            workload.warnings
        );
    }
    for (_, usage) in super::statement::STATEMENTS {
        assert!(
            manual.contains(&format!("`{}", usage.split(' ').next().unwrap())),
            "{usage} is not in the manual"
        );
    }
}

#[test]
fn more_text_than_can_be_read_is_refused() {
    let long = format!(
        "[task.t]\ncount = 100000\nprogram = \"\"\"\nsleep {{i}}ms\n{}\"\"\"\n",
        "#\n".repeat(1000)
    );
    says(&long, "w.toml:1: task: programs that use {i} are too long for this number of instances; expected at most 128 MiB of text in all");
}

#[test]
fn every_workload_that_comes_along_is_valid() {
    let files = files();
    assert!(files.len() >= 16, "{files:?}");
    for name in files {
        let builtin = builtin::find(&name).unwrap();
        let workload = find(&name);
        assert_eq!((workload.name, workload.source), (name.clone(), name));
        assert_eq!(workload.warnings, [""; 0]);
        assert!(builtin.summary().len() > 10);
    }
    assert!(builtin::find("no-such").is_none());
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/");

/// The names of the workload files, sorted.
fn files() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_suffix(".toml")?.to_string())
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort_unstable();
    names
}

fn find(name: &str) -> Workload {
    builtin::parse(name).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn finite_workloads_come_to_an_end() {
    let storm = ideal::run(&find("wake-storm"));
    assert_eq!((storm.marks["woken"], storm.stuck.len()), (64 * 100, 0));
    // Drawn amounts are zero here, so each of the 100 rounds lasts as long as the waker sleeps.
    assert_eq!(storm.end, 100 * 50_000_000);
    let buffers = ideal::run(&find("producer-consumer"));
    assert_eq!(
        (buffers.marks["piped"], buffers.marks["consumed"]),
        (10_000, 10_000)
    );
    assert_eq!(buffers.stuck.len(), 0);
}

#[test]
fn a_closed_loop_is_as_fast_as_its_bottleneck() {
    let mut workload = find("closed-loop-server");
    workload.duration = Some(Ns::from_ms(100));
    // Drawn amounts are zero here: clients do not think and the disk is instant.  Eight slots of
    // 150 us each would do 53 requests a millisecond, but each holds the one mutex for 50 us:
    // 20 a millisecond, of which the last 100 us of work are not done for 2 or 3 at the end.
    let outcome = ideal::run(&workload);
    assert!(
        (1990..=2000).contains(&outcome.marks["request"]),
        "{:?}",
        outcome.marks
    );
}

/// The files mutations start from.
fn seeds() -> Vec<String> {
    let all = "lock m\nwait c m\nunlock m\nsignal c\npost s\nwait-sem s\nbarrier b\nsend x\nreceive x all\n\
               loop received\nrun lognormal(1ms, 0.5)\nend\ndisk d 1ms\nfork kid\nwait-children\nforever\nsleep {i}ms\nend";
    let read = |name: String| std::fs::read_to_string(format!("{FOLDER}{name}.toml")).unwrap();
    let shipped = files().into_iter().map(read);
    shipped.chain([file(THINGS, all)]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = parse("w.toml", &text);
        let _ = parse("w.toml", &file(THINGS, &text.replace('"', "")));
    }

    #[test]
    fn a_mutated_file_is_read_or_refused(
        seed in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, 0_usize..12), 1..6),
    ) {
        const SCRAPS: [&str; 12] =
            ["{", "}", "(", "99999999999999999999", "-", ".", "\n", "\"\"\"", "loop 2\n", "end\n", "é", "#"];
        let mut text = seed.get(&seeds()).clone();
        for (place, kind, scrap) in edits {
            let places: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
            if places.is_empty() {
                break;
            }
            let at = *place.get(&places);
            match kind {
                0 => { text.remove(at); }
                1 => text.insert_str(at, SCRAPS[scrap]),
                2 => text.truncate(at),
                _ => { let tail = text[at..].lines().next().unwrap_or_default().to_string(); text.insert_str(at, &tail); }
            }
        }
        if let Err(mistake) = parse("w.toml", &text) {
            prop_assert!(mistake.line > 0 && mistake.file == "w.toml", "{mistake:?}");
        }
    }
}

#[test]
fn a_task_can_change_others() {
    let text = "duration = \"1s\"\n[task.boss]\nprogram = \"\"\"\n\
                renice worker 5\nreclass worker fifo 3\nreclass worker idle\nrepin worker 0\nrepin worker all\n\
                \"\"\"\n[task.worker]\nprogram = \"run 1ms\"\n";
    let worker = SpecId(1);
    assert_eq!(
        ops(&read(text), "boss"),
        [
            Op::Renice(worker, 5),
            Op::Reclass(worker, TaskClass::Fifo, 3),
            Op::Reclass(worker, TaskClass::Idle, 0),
            Op::Repin(worker, Some(0)),
            Op::Repin(worker, None),
        ]
    );
}

#[test]
fn more_than_a_machine_can_hold_is_refused() {
    let task = "duration = \"1s\"\n[task.t]\nprogram = \"run 1ms\"\n";
    says(
        &format!("{task}count = 4294967295\n"),
        "w.toml:4: task.t.count: 4294967295 is out of range; expected a whole number from 0 to 1000000",
    );
    says(
        &format!("{task}[channel.x]\ncapacity = 4294967295\n"),
        "w.toml:5: channel.x.capacity: 4294967295 is out of range; expected a whole number from 1 to 1000000",
    );
    says(
        &file(THINGS, "send x 4294967295\nreceive x all"),
        "w.toml:17: task.t.program: \"4294967295\" is not a number that fits here; expected a whole number from 1 to 1000000",
    );
    says(
        &format!("{task}each = 1000000\ncount = \"{{2 * 600000}}\"\n"),
        "w.toml:5: task.t.count: 1200000 is out of range; expected a whole number from 0 to 1000000",
    );
    says(
        &format!("{task}each = 1000000\ncount = 1000000\n"),
        "w.toml:2: task: there are 1000000000000 tasks; expected at most 1000000",
    );
    says(
        "[task.t]\nprogram = \"\"\"\nfor k 4294967295\n  run 1ms\nend\n\"\"\"\n",
        "w.toml:4: task.t.program: the program is too long once it is written out; expected at most 1000000 lines",
    );
}

/// A file with an option of each type; the task "t" computes for that time.
const OPTIONS: &str = "duration = \"1s\"\n\
    [options.clients]\nshort = \"c\"\ndefault = 2\nleast = 1\nmost = \"{2 * base}\"\nhelp = \"Clients\"\n\
    [options.base]\ndefault = 50\nhelp = \"Base\"\n\
    [options.work]\ndefault = \"2ms\"\nleast = \"1us\"\nhelp = \"Work\"\n\
    [options.sigma]\ndefault = \"0.5\"\nmost = \"3\"\nhelp = \"Sigma\"\n\
    [options.nices]\ndefault = [0, 5]\nleast = -20\nmost = 19\nhelp = \"nice values\"\n\
    [options.kind]\ndefault = \"own\"\nwords = \"own parent\"\nhelp = \"Kind\"\n\
    [options.fast_start]\nshort = \"f\"\ndefault = false\nexcludes = \"kind\"\nhelp = \"Fast\"\n\
    [constants]\ntwice = \"{2 * work}\"\n\
    [task.t]\nname = \"t{nices[i]}\"\ncount = \"{len(nices)}\"\neach = \"{clients}\"\nnice = \"{nices[i]}\"\nprocess = \"{kind}\"\n\
    program = \"\"\"\nfor k 2\n  run {(k + 1) * twice}\nend\nif {fast_start}\n  yield\nend\nsleep lognormal(1ms, {sigma})\n\"\"\"\n";

fn with(line: &str) -> Result<Workload, String> {
    let args: Vec<String> = line.split_whitespace().map(String::from).collect();
    super::parse_with("o.toml", OPTIONS, &args).map_err(|mistake| mistake.to_string())
}

#[test]
fn options_are_given_on_the_line_of_the_file() {
    let tasks = |workload: &Workload| -> Vec<(String, u32, i8)> {
        let tasks = workload.tasks.iter();
        tasks.map(|t| (t.name.clone(), t.count, t.nice)).collect()
    };
    let plain = with("").unwrap();
    assert_eq!(tasks(&plain), [("t0".into(), 2, 0), ("t5".into(), 2, 5)]);
    let ms = |n| Op::Run(Amount::Fixed(Ns::from_ms(n)));
    assert_eq!(plain.programs[0].ops[..2], [ms(4), ms(8)]);
    assert_eq!(plain.source, "o.toml");
    let line = "-c 7 --nices -5,19,0 --work 1ms --sigma 0 -f";
    let given = with(line).unwrap();
    let expected = [
        ("t-5".into(), 7, -5),
        ("t0".into(), 7, 0),
        ("t19".into(), 7, 19),
    ];
    assert_eq!(tasks(&given), expected);
    let sleep = Op::Sleep(Amount::Fixed(Ns::from_ms(1)));
    assert_eq!(given.programs[0].ops, [ms(2), ms(4), Op::Yield, sleep]);
    let quoted = line.replace("-5,19,0", "'-5,19,0'");
    assert_eq!(given.source, format!("o.toml {quoted}"));
    let help = super::help("o.toml", OPTIONS).unwrap().unwrap();
    assert!(
        help.contains("-c, --clients <CLIENTS>") && help.contains("--fast-start"),
        "{help}"
    );
}

#[test]
fn options_that_do_not_fit_are_refused() {
    for (line, message) in [
        ("--client 3", "--workload: o: there is no option \"--client\"; expected an option of \"o --help\" (did you mean \"--clients\"?)"),
        ("-c 101", "--workload: o --clients: 101 is out of range; expected 1 to 100"),
        ("-c 101 --base 20", "--workload: o --clients: 101 is out of range; expected 1 to 40"),
        ("--clients many", "--workload: o --clients: \"many\" is not valid; expected a whole number"),
        ("--work 0", "--workload: o --work: 0ns is out of range; expected at least 1000ns"),
        ("--work 3", "--workload: o --work: \"3\" is not valid; expected a duration with its unit, such as \"250ns\", \"10us\", \"2ms\", \"1.5s\""),
        ("--nices 3,20", "--workload: o --nices: 20 is out of range; expected -20 to 19"),
        ("--nices 3,3", "o.toml:35: task.t: another task is named \"t3\"; expected another name"),
        ("--kind onw", "--workload: o --kind: \"onw\" is not valid; expected one of own, parent (did you mean \"own\"?)"),
        ("-f --kind own", "--workload: o --fast-start: --fast-start and --kind exclude each other; expected one of them"),
    ] {
        let message = message.replace("--kind exclude", "--kind <KIND> exclude");
        assert_eq!(with(line).unwrap_err(), message, "{line}");
    }
}

#[test]
fn mistakes_in_options_have_their_line() {
    let task = "[task.t]\nprogram = \"run 1ms\"\n";
    for (option, message) in [
        ("[options.a]\ndefault = 5\nmost = 4\nhelp = \"A\"\n", "w.toml:4: options.a.default: 5 is out of range; expected 0 to 4"),
        ("[options.a]\nhelp = \"A\"\n", "w.toml:3: options.a.default: missing; expected false, a number, numbers in [ ], or a time, size or word in quotes"),
        ("[options.a]\ndefault = 5\n", "w.toml:3: options.a.help: missing; expected one sentence about it"),
        ("[options.i]\ndefault = 5\nhelp = \"I\"\n", "w.toml:3: options.i: this name is reserved or used already; expected another name"),
        ("[options.a]\ndefault = 5\nhelp = \"A\"\nshort = \"h\"\n", "w.toml:6: options.a.short: -h asks for help; expected one letter of its own"),
        ("[constants]\nb = \"{a + 1}\"\na = \"{1}\"\n", "w.toml:4: constants.b: {a + 1}: there is no value \"a\"; expected an option, a constant, i, n or a variable of \"for\""),
        ("[beside.x]\nworkload = \"kernel-biuld\"\n", "w.toml:4: beside.x.workload: there is no workload"),
        ("[mutex.m]\nwhen = \"{2}\"\n", "w.toml:4: mutex.m.when: 2 is neither 0 nor 1; expected a condition in braces, such as \"{clients > 0}\""),
    ] {
        let text = format!("{task}{option}");
        let error = parse("w.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
