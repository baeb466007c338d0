//! `schedlab check`: a search for workloads that break a policy.

mod crash;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schedlab_check::{invariant, judge, Broken, Circumstances, Found, Results, Search};
use schedlab_input::Diagnostic;
use schedlab_lab::choose::{self, policy, spelled, Assignments};
use schedlab_lab::{threads, CommandLine};
use schedlab_policy::Tuned;

use crate::arguments::CheckArguments;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TextFile};

use super::print;
use super::result::load_schedulers;

/// Runs between two looks at the clock.
const BLOCK: u64 = 64;

/// Searches, or checks one workload, and prints what is broken.  Findings are no failure.
pub fn check(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&[], &[])?;
    let mut tuned = policy("POLICY", &arguments.policy, &set, &interrupt.stop())?;
    match &arguments.machine {
        Some(name) => {
            let machine = schedlab_machine::find(name)?;
            load_schedulers([&mut tuned], &machine, &interrupt)?;
        }
        None if tuned.policy.is_in_rust() => {
            let problem = "a sched_ext scheduler is loaded for one machine";
            let mistake = Diagnostic::new(problem).at("--machine", 0);
            return Err(mistake.expected("a name of `list machines`").into());
        }
        None => {}
    }
    match (&arguments.workload, &arguments.worker) {
        (Some(workload), _) => check_one(arguments, &tuned, workload),
        (None, Some(seed_file)) => search(arguments, &tuned, seed_file.as_deref(), &interrupt),
        (None, None) => crash::guarded(arguments, &tuned, &interrupt),
    }
}

/// Checks one run.
fn check_one(arguments: &CheckArguments, tuned: &Tuned, workload: &str) -> Result<Exit, Failure> {
    let named = [workload.to_string()];
    let workloads = choose::workloads(&named, &schedlab_workload::rtapp::Options::default())?;
    let machine = schedlab_machine::find(arguments.machine.as_deref().unwrap_or_default())?;
    let circumstances = Circumstances {
        seed: arguments.seed,
        order: arguments.order,
        refuse_locks: arguments.refuse_locks,
        twice: true,
    };
    let mut exit = Exit::Success;
    for workload in &workloads {
        let verdict = judge(tuned, &machine, workload, &circumstances).map_err(no_timer)?;
        if let Some(reason) = verdict.cut_short {
            return Err(Failure::Ended(Exit::LimitReached, reason));
        }
        let mut out = String::new();
        for broken in &verdict.broken {
            out += &format!("{}\n{}", heading(broken), explained(broken));
            if broken.is_failure {
                exit = Exit::PolicyFault;
            }
        }
        if verdict.broken.is_empty() {
            out = format!("{}: the run breaks no invariant\n", tuned.full_name());
        }
        print(&out)?;
    }
    Ok(exit)
}

/// Searches for the time or the runs that the user wants.
fn search(
    arguments: &CheckArguments,
    tuned: &Tuned,
    seed_file: Option<&Path>,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let search = described(arguments, tuned, seed_file.is_some())?;
    let end = Instant::now() + Duration::from_nanos(arguments.time.0);
    let is_timed = arguments.runs.is_none() && arguments.seeds.is_none();
    let stop = |seed: u64| {
        if let Some(file) = seed_file {
            // Without it the seed of a crash stays unknown, no more.
            let _ = fs::write(file, seed.to_string());
        }
        interrupt.signal().is_some() || is_timed && Instant::now() >= end
    };
    let results = search.run(stop).map_err(no_timer)?;
    interrupt.check()?;
    report(arguments, tuned, &search, &results)
}

/// The search that the user describes; one by one if the seed of a crash is wanted.
fn described<'a>(
    arguments: &CheckArguments,
    tuned: &'a Tuned,
    one_by_one: bool,
) -> Result<Search<'a>, Failure> {
    let machine = arguments.machine.as_deref().map(schedlab_machine::find);
    let machine = machine
        .transpose()?
        .map(|machine| machine.cpus.len() as u32);
    let fixed = arguments.runs.map(|runs| 1..=runs);
    let fixed = fixed.or_else(|| arguments.seeds.clone());
    Ok(Search {
        tuned,
        seeds: fixed.unwrap_or(1..=u64::MAX),
        threads: match one_by_one {
            true => 1,
            false => threads(arguments.jobs),
        },
        block: match one_by_one {
            true => 1,
            false => BLOCK,
        },
        shrinks: !arguments.no_shrink,
        machine: arguments.machine.clone().zip(machine),
    })
}

fn no_timer(error: std::io::Error) -> Failure {
    Failure::Other(format!("timers: {error}"))
}

/// Reports the results.
fn report(
    arguments: &CheckArguments,
    tuned: &Tuned,
    search: &Search,
    results: &Results,
) -> Result<Exit, Failure> {
    let first = *search.seeds.start();
    let mut out = format!(
        "{}: {}, seeds {first} to {}\n",
        tuned.full_name(),
        counted(results.nr_runs),
        (first + results.nr_runs).saturating_sub(1)
    );
    if results.nr_cut_short > 0 {
        let runs = counted(results.nr_cut_short);
        let _ = writeln!(out, "{runs} reached a limit, or its workload was refused");
    }
    let failures = results.found.iter().filter(|f| f.broken.is_failure).count();
    let _ = writeln!(
        out,
        "failures: {failures}, findings: {}",
        results.found.len() - failures
    );
    let policy = spelled(&(arguments.policy.clone(), tuned.clone()));
    show(arguments, &policy, out, &results.found)?;
    Ok(match failures {
        0 => Exit::Success,
        _ => Exit::PolicyFault,
    })
}

/// Prints what was found after the text, and writes the files.
fn show(
    arguments: &CheckArguments,
    policy: &str,
    mut out: String,
    found: &[Found],
) -> Result<(), Failure> {
    let folder = arguments.write.as_deref();
    if let Some(folder) = folder {
        fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
    }
    let mut written = Vec::new();
    for found in found {
        let files = Files::of(found, folder);
        out += &files.described(found, policy);
        if folder.is_some() {
            written.extend(files.write(found)?);
        }
    }
    let paths: Vec<String> = written
        .iter()
        .map(|file| file.path().display().to_string())
        .collect();
    written.into_iter().try_for_each(Finished::keep)?;
    if !paths.is_empty() {
        let _ = writeln!(out, "\nwrote {}", paths.join(", "));
    }
    print(&out)
}

/// The files of something found.
struct Files {
    workload: PathBuf,
    machine: PathBuf,
}

impl Files {
    /// Named after the invariant and the hook, so that no two are equal.
    fn of(found: &Found, folder: Option<&Path>) -> Files {
        let hook = found.broken.hook.as_ref().map(|hook| format!("-{hook}"));
        let name = format!("{}{}", found.broken.id, hook.unwrap_or_default());
        let folder = folder.unwrap_or(Path::new(""));
        Files {
            workload: folder.join(format!("{name}.toml")),
            machine: folder.join(format!("{name}-machine.toml")),
        }
    }

    /// What was found: where, the smallest case, and the command that shows it again.
    fn described(&self, found: &Found, policy: &str) -> String {
        let mut out = format!(
            "\n{} (seed {}, runs: {})\n",
            heading(&found.broken),
            found.seed,
            found.nr_runs
        );
        out += &explained(&found.broken);
        let _ = writeln!(
            out,
            "  {}: tasks: {}, CPUs: {}, statements: {}",
            if found.is_shrunk {
                "smallest case"
            } else {
                "case"
            },
            found.case.nr_tasks(),
            found.case.platform.nr_cpus(),
            found.case.nr_statements()
        );
        for line in found.case.text().lines() {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        }
        let _ = writeln!(out, "  again: {}", self.command(found, policy));
        out
    }

    fn command(&self, found: &Found, policy: &str) -> CommandLine {
        let platform = &found.case.platform;
        let machine = platform.name();
        let machine = machine.unwrap_or_else(|| self.machine.display().to_string());
        let circumstances = &found.case.circumstances;
        let seed = (circumstances.seed != 1).then(|| circumstances.seed.to_string());
        let workload = self.workload.display().to_string();
        if found.broken.id == "names" {
            // Needs two workloads.
            let given = platform.name().filter(|_| !platform.is_drawn());
            return CommandLine::new("check")
                .word(policy)
                .flag("--seeds", format!("{0}..{0}", found.seed))
                .flag_if("--machine", given);
        }
        if found.broken.is_engines() && circumstances.is_plain() {
            return CommandLine::new("run")
                .flag("--policy", policy)
                .flag("--workload", workload)
                .flag("--machine", machine)
                .flag_if("--seed", seed);
        }
        let number = |number: u64| number.to_string();
        CommandLine::new("check")
            .word(policy)
            .flag("--workload", workload)
            .flag("--machine", machine)
            .flag_if("--seed", seed)
            .flag_if("--order", circumstances.order.map(number))
            .flag_if(
                "--refuse-locks",
                circumstances.refuse_locks.map(u64::from).map(number),
            )
    }

    fn write(&self, found: &Found) -> Result<Vec<Finished>, Failure> {
        let write =
            |path: &Path, text: &str| TextFile::create("--write", path, "toml")?.write(text);
        let mut written = vec![write(&self.workload, &found.case.text())?];
        if let Some(text) = found.case.platform.text() {
            written.push(write(&self.machine, &text)?);
        }
        Ok(written)
    }
}

fn counted(runs: u64) -> String {
    format!("{runs} {}", if runs == 1 { "run" } else { "runs" })
}

fn heading(broken: &Broken) -> String {
    let kind = match broken.is_failure {
        true => "FAILURE",
        false => "finding",
    };
    let hook = broken.hook.as_ref().map(|hook| format!(", hook {hook}"));
    format!("{kind} {}{}", broken.id, hook.unwrap_or_default())
}

/// The invariant, and how it was broken.
fn explained(broken: &Broken) -> String {
    let sentence = invariant(&broken.id).map_or("", |row| row.sentence);
    format!("  {sentence}\n  {}\n", broken.message)
}
