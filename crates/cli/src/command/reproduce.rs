//! `schedlab reproduce`: repeats the papers' experiments and checks their claims.

use std::fs;
use std::io::Write;
use std::path::Path;

use schedlab_input::Diagnostic;
use schedlab_reproduce::{
    claims_table, experiments, explore, json, markdown, regions, render_book, Beat, BookInfo,
    Design, Error, Experiment, Report, Runner, Step,
};
use schedlab_trace::AtomicFile;

use crate::arguments::{ListFormat, ReproduceArguments, World};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Note;
use crate::version::program;

/// Repeats the experiments, prints their claims with verdicts, and writes the book.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    if arguments.world == World::Vm {
        return super::asked::ask(arguments, &interrupt);
    }
    let chosen = choose(&arguments.experiments)?;
    if let Some(folder) = &arguments.report {
        can_be_written(folder)?;
    }
    let stop = || interrupt.signal().is_some();
    let note = Note::new();
    let done = |count: usize, beat: &Beat| {
        format!(
            "{} of {count} experiments, {} runs",
            beat.experiments, beat.runs
        )
    };
    let runner = |quick| Runner::new(quick, arguments.jobs.map(usize::from), &stop);
    let reports = match arguments.region {
        None => {
            runner(arguments.quick).reproduce(&chosen, |beat| note.show(&done(chosen.len(), beat)))
        }
        Some(points) => {
            let design = Design {
                points: points.into(),
                machine: arguments.perturb,
            };
            let meanwhile = |step: &Step| {
                let done = done(step.experiments, &step.beat);
                note.show(&format!("point {} of {points}: {done}", step.point));
            };
            explore(&chosen, &design, || runner(true), meanwhile)
        }
    };
    let reports = reports.map_err(|error| failed(error, &interrupt))?;
    drop(note);
    if let Some(folder) = &arguments.report {
        write_book(folder, &reports, arguments)?;
    }
    match arguments.format {
        ListFormat::Table => super::print(&claims_table(&reports, width())),
        ListFormat::Json => super::print(&json(&reports)),
    }
}

/// The failure for experiments without a result.
pub fn failed(error: Error, interrupt: &Interrupt) -> Failure {
    match (error, interrupt.signal()) {
        (_, Some(signal)) => Failure::Interrupted(signal),
        (Error::Input(diagnostic), None) => diagnostic.into(),
        (error, None) => Failure::Other(error.to_string()),
    }
}

/// The experiments of these names or claims; "all" or no name means all of them.
fn choose(names: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    if names.is_empty() || names.iter().any(|name| name == "all") {
        return Ok(experiments().iter().collect());
    }
    let mut chosen: Vec<&'static Experiment> = Vec::new();
    for name in names {
        let experiment = find(name)?;
        if !chosen.iter().any(|e| e.id == experiment.id) {
            chosen.push(experiment);
        }
    }
    Ok(chosen)
}

/// The experiment of that name, or the one that judges the claim of that name.
fn find(name: &str) -> Result<&'static Experiment, Failure> {
    let judges = |e: &&Experiment| {
        let claims = e.paper().map(|paper| paper.claims).unwrap_or_default();
        claims
            .iter()
            .any(|claim| claim.id.eq_ignore_ascii_case(name))
    };
    let all = || experiments().iter();
    all()
        .find(|e| e.id == name)
        .or_else(|| all().find(judges))
        .ok_or_else(|| {
            let ids: Vec<&str> = all().map(|e| e.id).collect();
            Diagnostic::new(format!("there is no experiment and no claim \"{name}\""))
                .at("reproduce", 0)
                .expected(format!(
                    "all, a claim such as E4, or some of {}",
                    ids.join(", ")
                ))
                .suggest(name, ids.iter().copied())
                .into()
        })
}

/// The book with everything it refers to: `index.html`, `results.json`, `results.md`, `figures/`,
/// `workloads/`, and `regions.md` of a region.
fn write_book(
    folder: &Path,
    reports: &[Report],
    arguments: &ReproduceArguments,
) -> Result<(), Failure> {
    let mut command = format!("schedlab reproduce {}", arguments.experiments.join(" "));
    if arguments.quick {
        command += " --quick";
    }
    if let Some(points) = arguments.region {
        command += &format!(" --region {points}");
    }
    if let Some(part) = arguments.perturb {
        command += &format!(" --perturb machine={part}");
    }
    let info = BookInfo {
        command: command.clone(),
        version: program(),
    };
    write(&folder.join("index.html"), &render_book(reports, &info))?;
    write(&folder.join("results.json"), &json(reports))?;
    write(&folder.join("results.md"), &markdown(reports, &command))?;
    if arguments.region.is_some() {
        write(&folder.join("regions.md"), &regions(reports, &command))?;
    }
    for report in reports {
        for (i, exhibit) in report.findings.exhibits.iter().enumerate() {
            let name = format!("{}-{}.svg", report.experiment.id, i + 1);
            write(
                &folder.join("figures").join(name),
                &exhibit.figure.standalone(),
            )?;
        }
        for (name, text) in &report.findings.workloads {
            write(&folder.join("workloads").join(format!("{name}.toml")), text)?;
        }
    }
    Ok(())
}

/// Checks before the experiments, which take minutes, that the folder is writable.  The check leaves no file.
fn can_be_written(folder: &Path) -> Result<(), Failure> {
    let parents = folder.ancestors().filter(|a| !a.as_os_str().is_empty());
    let there = parents.into_iter().find(|a| a.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("."));
    tempfile::tempfile_in(there)
        .map(drop)
        .map_err(Failure::writing(folder))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(Failure::writing(path))?;
    let mut file = AtomicFile::create(path).map_err(Failure::writing(path))?;
    file.write_all(text.as_bytes())
        .map_err(Failure::writing(path))?;
    file.finish().map_err(Failure::writing(path))
}

/// Columns of the terminal, 100 where there is none.
fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
