//! `schedlab search`: the settings that serve workloads best.

use schedlab_input::Diagnostic;
use schedlab_lab::threads;
use schedlab_report::study::{Difference, Metric, StudySetup, Verdict};
use schedlab_sweep::{
    candidates, About, Aim, Candidate, Design, Found, Method, Plan, Search, SearchError,
};
use schedlab_trace::printable;

use crate::arguments::{SearchArguments, SearchMethod};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::version::VERSION;

use super::print;
use super::sweep::{about, failure, open, read_plan, ready, Following};

/// Candidates listed beside the winner.
const LISTED: usize = 5;

/// Sifts candidates, judges the winner on what the search has not seen, and prints both.
pub fn search(arguments: &SearchArguments) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut plan = read_plan(&arguments.plan)?;
    let method = method(arguments, &plan)?;
    check(&plan)?;
    let number = method.candidates(arguments.candidates as usize);
    let design = Design::new("random", Some(number), arguments.design_seed);
    plan.design = design.map_err(|mistake| mistake.at("--candidates", 0))?;
    let batch = ready(&plan, &arguments.plan, &interrupt)?;
    let drawn = candidates(&batch);
    let default = default_of(&plan, arguments, &interrupt)?;
    let asked = About {
        plan: format!("search: {}", about(&plan, &arguments.plan).plan),
        ..about(&plan, &arguments.plan)
    };
    let mut store = open(&arguments.output, &asked, true)?;
    let progress = Following::new(drawn.len() * batch.seeds.len(), &interrupt);
    let mut search = Search {
        store: &mut store,
        seeds: &batch.seeds,
        version: VERSION,
        threads: threads(arguments.plan.jobs),
        watch: &progress,
        meanwhile: &mut || progress.show(),
    };
    let aim = Aim {
        metric: arguments
            .minimise
            .as_deref()
            .or(arguments.maximise.as_deref())
            .unwrap_or(""),
        minimise: arguments.minimise.is_some(),
        subject_to: &arguments.subject_to,
    };
    let ended = |error| ended(error, &interrupt);
    let found = search.find(&drawn, &default, &aim, method).map_err(ended)?;
    let best = found.ranking[0];
    if !best.score.is_finite() {
        let text = format!(
            "none of {} candidates meets what the winner must (--subject-to), or all failed\n",
            drawn.len()
        );
        return print(&text).map(|()| Exit::CheckFailed);
    }
    let winner = &drawn[best.candidate];
    let (judged_plan, seeds) = unseen(&plan, arguments, winner);
    let judged = ready(&judged_plan, &arguments.plan, &interrupt)?;
    let without = Plan {
        policies: vec![plan.policies[0].clone()],
        ..judged_plan.clone()
    };
    let without = ready(&without, &arguments.plan, &interrupt)?;
    search.seeds = &seeds;
    let (winners, defaults) = (candidates(&judged), candidates(&without));
    let differences = search
        .judge(&winners[0], &defaults[0], &found.metric)
        .map_err(ended)?;
    drop(progress);
    print(&told(&found, &drawn, &differences, arguments, &seeds))?;
    Ok(Exit::Success)
}

/// A search needs one policy and something to vary.
fn check(plan: &Plan) -> Result<(), Failure> {
    if plan.vary.is_empty() {
        let mistake = Diagnostic::new("there is nothing to search").at("--vary", 0);
        return Err(mistake.expected(schedlab_sweep::FORM).into());
    }
    let of_policies = |name: &str| !name.starts_with("workload.") && name != "duration";
    if let Some(axis) = plan.vary.iter().find(|axis| !of_policies(&axis.name)) {
        let problem = "this is no tunable of a policy";
        return Err(axis
            .mistake(problem)
            .expected("tunables; workloads and durations are given")
            .into());
    }
    match plan.policies.len() {
        1 => Ok(()),
        n => Err(Diagnostic::new(format!("there are {n} policies"))
            .at("--policies", 0)
            .expected("one, whose tunables are searched")
            .into()),
    }
}

fn method(arguments: &SearchArguments, plan: &Plan) -> Result<Method, Failure> {
    match (arguments.method, plan.duration) {
        (SearchMethod::Random, _) => Ok(Method::Random),
        (SearchMethod::Halving, Some(duration)) => Ok(Method::Halving(duration)),
        (SearchMethod::Halving, None) => {
            let problem = "missing: successive halving runs candidates for parts of it";
            let mistake = Diagnostic::new(problem).at("--duration", 0);
            Err(mistake
                .expected("--duration TIME, or --method random")
                .into())
        }
    }
}

/// The policy without the varied tunables, on the same workloads and machines.
fn default_of(
    plan: &Plan,
    arguments: &SearchArguments,
    interrupt: &Interrupt,
) -> Result<Candidate, Failure> {
    let plan = Plan {
        vary: Vec::new(),
        constraints: Vec::new(),
        design: Design::Grid,
        ..plan.clone()
    };
    let batch = ready(&plan, &arguments.plan, interrupt)?;
    Ok(candidates(&batch).remove(0))
}

/// A plan of the winner on what the search has not seen, and its seeds: other workloads, or other seeds.
fn unseen(plan: &Plan, arguments: &SearchArguments, winner: &Candidate) -> (Plan, Vec<u64>) {
    let seeds = plan.seeds();
    let last = seeds.iter().copied().max().unwrap_or(0);
    let seeds = match arguments.held_out.is_empty() {
        false => seeds,
        true => (1..=seeds.len() as u64)
            .map(|i| last.saturating_add(i))
            .collect(),
    };
    let plan = Plan {
        policies: vec![policy(&plan.policies[0], winner)],
        workloads: match arguments.held_out.is_empty() {
            true => plan.workloads.clone(),
            false => arguments.held_out.clone(),
        },
        vary: Vec::new(),
        constraints: Vec::new(),
        design: Design::Grid,
        ..plan.clone()
    };
    (plan, seeds)
}

/// The policy with the winner's settings, as users write it.
fn policy(base: &str, winner: &Candidate) -> String {
    let tuned = winner.setups[0].tuned();
    let set = tuned.changed().iter();
    let set = set.map(|set| format!("{}={}", set.target(), set.values_text()));
    let written = schedlab_lab::choose::Written::parse(base);
    let plain = schedlab_lab::choose::Written {
        settings: Vec::new(),
        ..written
    };
    [plain.with_variant(tuned.variant)]
        .into_iter()
        .chain(set)
        .collect::<Vec<_>>()
        .join(":")
}

fn ended(error: SearchError, interrupt: &Interrupt) -> Failure {
    match error {
        SearchError::Store(error) => failure(error),
        SearchError::Input(mistake) => Failure::Input(mistake),
        SearchError::Stopped => Failure::Interrupted(interrupt.signal().unwrap_or_default()),
        SearchError::NoBaseline(run) => Failure::Ended(
            Exit::PolicyFault,
            format!("the policy as it is failed, so nothing can be compared with it: {run}"),
        ),
    }
}

fn told(
    found: &Found,
    drawn: &[Candidate],
    differences: &[(StudySetup, Option<Difference>)],
    arguments: &SearchArguments,
    seeds: &[u64],
) -> String {
    let base = arguments.plan.policies.as_deref().unwrap_or("");
    let name = |candidate: usize| {
        let tuned = drawn[candidate].setups[0].tuned();
        tuned.full_name()
    };
    let mut out = format!(
        "{} candidates, {} runs done, {} known before\n\n",
        drawn.len(),
        found.tally.done,
        found.tally.known
    );
    for (place, ranked) in (1..).zip(found.ranking.iter().take(LISTED)) {
        if ranked.score.is_finite() {
            out += &format!(
                "{place}. {}  ({})\n",
                name(ranked.candidate),
                score(ranked.score)
            );
        }
    }
    let on = match arguments.held_out.is_empty() {
        true => "with seeds the search has not used",
        false => "on workloads the search has not used",
    };
    let winner = found.ranking[0].candidate;
    out += &format!(
        "\nwinner: {}\n\n{}, {on}:\n",
        name(winner),
        found.metric.label
    );
    for (setup, difference) in differences {
        out += &format!(
            "  {}: {}\n",
            setup.case(),
            gain(&found.metric, difference.as_ref())
        );
    }
    let policy = policy(base, &drawn[winner]);
    let base = if base.is_empty() {
        policy.split(':').next().unwrap_or("")
    } else {
        base
    };
    for (setup, _) in differences.iter().take(1) {
        // The command of the winner's run, with the policy as it is beside it.
        let words = shlex::split(&setup.command).unwrap_or_default();
        let mut words = words.into_iter().skip_while(|word| word != "--workload");
        let rest: Vec<String> = words.by_ref().collect();
        let seeds = format!("{}..{}", seeds[0], seeds[seeds.len() - 1]);
        let line = schedlab_lab::CommandLine::new("compare")
            .flag("--policies", format!("{base},{policy}"))
            .words(rest)
            .flag("--seeds", seeds);
        out += &format!(
            "\nthe command that shows it:\n  {}\n",
            printable(&line.to_string())
        );
    }
    out
}

fn score(score: f64) -> String {
    format!("{:.1} % better than the policy as it is", -score * 100.0)
}

/// What the winner changes, with the interval of the differences of common seeds.
fn gain(metric: &Metric, difference: Option<&Difference>) -> String {
    let Some(difference) = difference else {
        return "not measured".to_string();
    };
    let show = |value: f64| metric.unit.show(value);
    let both = format!(
        "{} instead of {}",
        show(difference.now),
        show(difference.before)
    );
    let change = difference
        .relative()
        .map_or(String::new(), |part| format!(", {:+.1} %", part * 100.0));
    let d = &difference.difference;
    let interval = match d.n > 1 {
        true => format!(
            ", difference {} [{}, {}] over {} seeds",
            show(d.median),
            show(d.lo),
            show(d.hi),
            d.n
        ),
        false => String::new(),
    };
    match difference.verdict {
        Verdict::Equal => format!("equal, {}", show(difference.now)),
        verdict => format!("{}: {both}{change}{interval}", verdict.words()),
    }
}
