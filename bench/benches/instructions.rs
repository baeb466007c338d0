//! The same costs as `decision` and `pass`, in instructions instead of nanoseconds: the same on every machine,
//! and whatever else it does.
//!
//! Valgrind counts them, over this program run twice: with some rounds and with twice as many. The difference
//! is what the rounds took, without the start.

#![allow(missing_docs)] // A program.

use std::process::ExitCode;

use schedlab_bench::Crowd;
use schedlab_policy::Policy;

const SIZES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];

/// What is counted: its name, what it is called, how many rounds, and one round.
struct Subject {
    name: &'static str,
    what: &'static str,
    rounds: u32,
    round: fn(&mut Crowd),
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "decision",
        what: "a decision",
        rounds: 200,
        round: Crowd::turn,
    },
    Subject {
        name: "pass",
        what: "a second's timers",
        rounds: 4,
        round: Crowd::second,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [count, subject, policy, tasks, rounds] if count == "count" => {
            be_counted(subject, policy, number(tasks), number(rounds));
        }
        _ if !schedlab_bench::valgrind_exists() => {
            println!("instructions: needs valgrind (the package of that name)");
        }
        _ => SUBJECTS.iter().for_each(table),
    }
    ExitCode::SUCCESS
}

fn number(text: &str) -> u32 {
    text.parse().expect("this program's own argument")
}

/// The counted program: it sets the scene and plays the rounds.
fn be_counted(subject: &str, policy: &str, tasks: u32, rounds: u32) {
    let subject = SUBJECTS.iter().find(|s| s.name == subject);
    let subject = subject.expect("this program's own argument");
    let policy = Policy::all().iter().find(|p| p.name() == policy);
    let mut crowd = Crowd::new(*policy.expect("this program's own argument"), tasks);
    (0..rounds).for_each(|_| (subject.round)(&mut crowd));
}

fn table(subject: &Subject) {
    print!(
        "\ninstructions of {}, by tasks\n{:<12}",
        subject.what, "policy"
    );
    SIZES.iter().for_each(|size| print!("{size:>12}"));
    println!();
    for policy in Policy::all() {
        print!("{:<12}", policy.name());
        for tasks in SIZES {
            print!("{:>12}", instructions(subject, policy.name(), tasks));
        }
        println!();
    }
}

/// Instructions of one round.
fn instructions(subject: &Subject, policy: &str, tasks: u32) -> u64 {
    let run = |rounds: u32| {
        let (tasks, rounds) = (tasks.to_string(), rounds.to_string());
        schedlab_bench::instructions(&["count", subject.name, policy, &tasks, &rounds])
    };
    (run(2 * subject.rounds) - run(subject.rounds)) / u64::from(subject.rounds)
}
