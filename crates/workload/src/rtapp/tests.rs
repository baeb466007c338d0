use super::*;
use crate::{ideal, Amount, Op, Process, TaskSpec, TimerScope, Times};
use proptest::prelude::*;
use schedlab_trace::{Ns, TaskClass};

fn with(text: &str, options: Options) -> Workload {
    parse("file.json", text, &options).unwrap_or_else(|error| panic!("{error}"))
}

fn read(text: &str) -> Workload {
    with(text, Options::default())
}

/// One task "t" with these members.
fn task(members: &str) -> Workload {
    read(&format!("{{\"tasks\":{{\"t\":{{{members}}}}}}}"))
}

fn refused(text: &str) -> String {
    let result = parse("file.json", text, &Options::default());
    result.expect_err(text).to_string()
}

fn refused_task(members: &str) -> String {
    refused(&format!("{{\"tasks\":{{\"t\":{{{members}}}}}}}"))
}

fn spec<'a>(workload: &'a Workload, name: &str) -> &'a TaskSpec {
    workload.tasks.iter().find(|t| t.name == name).unwrap()
}

fn ops<'a>(workload: &'a Workload, name: &str) -> &'a [Op] {
    &workload.programs[spec(workload, name).program.0 as usize].ops
}

fn run(us: u64) -> Op {
    Op::Run(Amount::Fixed(Ns::from_us(us)))
}

fn sleep(us: u64) -> Op {
    Op::Sleep(Amount::Fixed(Ns::from_us(us)))
}

fn repeat(times: Times, end: u32) -> Op {
    Op::Loop { times, end }
}

const FOREVER: Times = Times::Forever;

/// suspend, with the number that its name has as a mutex and as a condition variable.
fn suspend(name: u32) -> [Op; 3] {
    let wait = Op::CondWait {
        condition: name,
        mutex: Some(name),
    };
    [Op::Lock(name), wait, Op::Unlock(name)]
}

fn resume(name: u32) -> [Op; 3] {
    [Op::Lock(name), Op::CondBroadcast(name), Op::Unlock(name)]
}

const FILES: [(&str, &str); 11] = [
    (
        "browser-short",
        include_str!("../../../../workloads/rt-app/browser-short.json"),
    ),
    (
        "example1",
        include_str!("../../../../workloads/rt-app/example1.json"),
    ),
    (
        "example10",
        include_str!("../../../../workloads/rt-app/example10.json"),
    ),
    (
        "example2",
        include_str!("../../../../workloads/rt-app/example2.json"),
    ),
    (
        "example4",
        include_str!("../../../../workloads/rt-app/example4.json"),
    ),
    (
        "example5",
        include_str!("../../../../workloads/rt-app/example5.json"),
    ),
    (
        "example7",
        include_str!("../../../../workloads/rt-app/example7.json"),
    ),
    (
        "example9",
        include_str!("../../../../workloads/rt-app/example9.json"),
    ),
    (
        "mp3-long",
        include_str!("../../../../workloads/rt-app/mp3-long.json"),
    ),
    (
        "spreading-tasks",
        include_str!("../../../../workloads/rt-app/spreading-tasks.json"),
    ),
    (
        "video-long",
        include_str!("../../../../workloads/rt-app/video-long.json"),
    ),
];

fn file(name: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == name).unwrap().1
}

mod files;
mod refusals;
mod semantics;
mod syntax;
proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let _ = parse("x", &text, &Options::default());
    }

    #[test]
    fn no_change_to_a_file_makes_it_panic(
        which in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[\\PC\n]{0,4}"), 1..6),
        json_c in any::<bool>(),
    ) {
        let mut text: Vec<char> = FILES[which].1.chars().collect();
        for (place, new) in changes {
            let at = place.index(text.len());
            let end = (at + new.chars().count() / 2 + 1).min(text.len());
            text.splice(at..end, new.chars());
        }
        let text: String = text.into_iter().collect();
        let repeated = if json_c { RepeatedKeys::JsonC } else { RepeatedKeys::Ordered };
        let _ = parse("x", &text, &Options { repeated, ..Options::default() });
    }

    #[test]
    fn no_exchange_of_words_makes_it_panic(
        which in 0..FILES.len(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let words: Vec<&str> = FILES[which].1.split_inclusive([' ', '\t', '\n', ',']).collect();
        let mut exchanged = words.clone();
        exchanged[from.index(words.len())] = words[to.index(words.len())];
        let _ = parse("x", &exchanged.concat(), &Options::default());
    }
}
