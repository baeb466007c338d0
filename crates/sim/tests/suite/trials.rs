//! Every policy under random workloads on random machines, with all checks.
//!
//! `SCHEDLAB_TRIALS=1000` runs more seeds than the usual 60; `SCHEDLAB_SEED=N` runs one;
//! `SCHEDLAB_POLICY=NAME` runs one policy.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use schedlab_machine::{Cache, Costs, Cpu, Machine, TickPhase, Timers};
use schedlab_policy::{Disturbance, Policy, Tuned};
use schedlab_sim::{EndReason, Limits, Outcome, Setup, SimError, Simulation, TieBreak};
use schedlab_trace::{CpuMax, GroupWeight, HashSink, Ns, Time, TraceHash};
use schedlab_workload::{
    builtin, random, rtapp, Amount, ControlGroup, Op, Program, ProgramId, SpecId, Workload,
};

/// A machine with 1 to 64 CPUs, with or without SMT, costs, caches and nodes.
fn machine(seed: u64) -> Machine {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |n: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % n
    };
    let nr_cpus = match below(4) {
        0 => 1,
        1 => 2 + below(3),
        2 => 2 + below(15),
        _ => 1 + below(64),
    } as u32;
    let threads = 1 + below(2) as u32;
    let nodes = 1 + below(2) as u32;
    let per_node = nr_cpus.div_ceil(nodes).next_multiple_of(threads);
    let cpu = |i: u32| Cpu {
        core: i / threads,
        package: i / per_node,
        node: i / per_node,
        cache: i / per_node,
        capacity: 1024,
    };
    let mut machine = Machine {
        cpus: (0..nr_cpus).map(cpu).collect(),
        caches: vec![
            Cache {
                size_bytes: below(2) << 20,
                refill_ps_per_byte: 1000 * below(10)
            };
            nodes as usize
        ],
        smt_speed_milli: 600,
        smp: nr_cpus > 1 || below(2) == 0,
        ..Machine::ideal(1)
    };
    if below(2) == 0 {
        let mut us = |most: u64| Ns(below(most * 1000));
        machine.costs = Costs {
            schedule: us(5),
            examine: us(1),
            recalculate: us(1),
            context_switch: us(5),
            mm_switch: us(5),
            wakeup: us(5),
            lock_transfer: us(2),
            tick: us(5),
            ipi: us(10),
            idle_exit: us(50),
            syscall: us(2),
            fork: us(100),
            exec: us(300),
            exit: us(50),
        };
    }
    if below(2) == 0 {
        machine.timers = Timers::Tick;
        machine.tick_phase = TickPhase::Staggered;
    }
    machine
}

/// The disturbances of a kernel: locks are sometimes refused, and the times of hooks overlap.
fn disturbance(seed: u64) -> Option<Disturbance> {
    (seed % 3 != 0).then_some(Disturbance {
        seed,
        refuse_one_in: [0, 2, 10][(seed / 3 % 3) as usize],
        delay_ns: [0, 10_000, 300][(seed / 9 % 3) as usize],
    })
}

fn trial(tuned: &Tuned, seed: u64) -> Result<(Outcome, TraceHash), SimError> {
    let workload = random(seed, machine(seed).cpus.len() as u32);
    trial_of(tuned, seed, &workload)
}

fn trial_of(
    tuned: &Tuned,
    seed: u64,
    workload: &Workload,
) -> Result<(Outcome, TraceHash), SimError> {
    let machine = machine(seed);
    let tie_break = if seed % 2 == 0 {
        TieBreak::Canonical
    } else {
        TieBreak::Shuffled(seed)
    };
    let limits = Limits {
        tasks: 3000,
        ..Limits::default()
    };
    let setup = Setup {
        seed,
        limits,
        tie_break,
        ..Setup::new(&machine, workload, tuned)
    };
    let mut hash = HashSink::default();
    let mut simulation = Simulation::new(&setup, &mut hash)?;
    if let Some(disturbance) = disturbance(seed) {
        simulation.disturb(disturbance);
    }
    simulation.run_until(Time::MAX)?;
    let outcome = simulation.finish()?;
    Ok((outcome, hash.finish()))
}

fn seeds() -> std::ops::Range<u64> {
    if let Ok(seed) = std::env::var("SCHEDLAB_SEED") {
        let seed = seed.parse().expect("SCHEDLAB_SEED is a number");
        return seed..seed + 1;
    }
    let trials = std::env::var("SCHEDLAB_TRIALS")
        .map_or(60, |n| n.parse().expect("SCHEDLAB_TRIALS is a number"));
    0..trials
}

/// Every policy in every variant.
fn every_policy() -> Vec<Tuned> {
    let variants = |policy: &Policy| -> Vec<Tuned> {
        let names = policy.variants();
        if names.is_empty() {
            return vec![Tuned::defaults(*policy)];
        }
        names
            .iter()
            .map(|v| Tuned::new(*policy, Some(v.name), &[]).unwrap())
            .collect()
    };
    let only = std::env::var("SCHEDLAB_POLICY").ok();
    let chosen = |policy: &&Policy| only.as_deref().is_none_or(|name| policy.name() == name);
    let all: Vec<Tuned> = Policy::all()
        .iter()
        .filter(chosen)
        .flat_map(variants)
        .collect();
    assert!(!all.is_empty(), "SCHEDLAB_POLICY names no policy");
    all
}

/// Runs `of` for each policy, on one thread for each CPU, and panics with all failures.
fn for_each(policies: Vec<Tuned>, of: impl Fn(&Tuned) -> Vec<String> + Sync) {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut failed = Vec::new();
        while let Some(tuned) = policies.get(next.fetch_add(1, Ordering::Relaxed)) {
            failed.extend(of(tuned));
        }
        failed
    };
    let nr_threads = thread::available_parallelism().map_or(1, usize::from);
    let failed: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..nr_threads).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.flatten().collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What failed, if the end of a trial says so. Tasks that fork without end may reach the limit of tasks.
fn failure<T>(tuned: &Tuned, seed: u64, end: Result<T, SimError>) -> Option<String> {
    match end {
        Ok(_) | Err(SimError::TooManyTasks { .. }) => None,
        Err(error) => Some(format!("{}, seed {seed}: {error}", tuned.name())),
    }
}

#[test]
fn every_policy_passes_every_check() {
    for_each(every_policy(), |tuned| {
        let of = |seed| failure(tuned, seed, trial(tuned, seed));
        seeds().filter_map(of).collect()
    });
}

/// A random tree of groups with limits and weights, every task in one of them or in the root, and a task that changes it all.
fn grouped(mut workload: Workload, seed: u64) -> Workload {
    let mut x = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    let mut below = |n: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % n
    };
    let nr = 1 + below(8) as u32;
    let max = |quota: u64| CpuMax {
        quota_us: 1000 + quota as u32,
        period_us: 10_000,
        burst_us: 0,
    };
    for index in 0..nr {
        let parent = (index > 0 && below(3) > 0).then(|| below(index.into()) as u32);
        let weight = match below(8) {
            0 => GroupWeight::Idle,
            1 => GroupWeight::Nice(below(40) as i8 - 20),
            _ => GroupWeight::Weight(1 + below(1000) as u16),
        };
        workload.control_groups.push(ControlGroup {
            name: format!("g{index}"),
            parent,
            weight,
            max: (below(3) == 0).then(|| max(below(20_000))),
        });
    }
    for task in &mut workload.tasks {
        task.control_group = (below(4) > 0).then(|| below(nr.into()) as u32);
    }
    let nr_specs = workload.tasks.len() as u64;
    let mut ops = Vec::new();
    for _ in 0..40 {
        ops.push(Op::Sleep(Amount::Fixed(Ns::from_us(1 + below(8000)))));
        let group = below(nr.into()) as u32;
        ops.push(match below(5) {
            0 => Op::SetGroup((below(3) > 0).then_some(group)),
            1 => Op::Weigh(group, GroupWeight::Weight(1 + below(10_000) as u16)),
            2 => Op::Limit(group, (below(2) > 0).then(|| max(below(10_000)))),
            _ => Op::Regroup(
                SpecId(below(nr_specs) as u32),
                (below(4) > 0).then_some(group),
            ),
        });
    }
    workload.programs.push(Program { ops });
    let mut boss = workload.tasks[0].clone();
    boss.name = "zz-boss".into();
    boss.count = 1;
    boss.program = ProgramId(workload.programs.len() as u32 - 1);
    boss.dormant = false;
    workload.tasks.push(boss);
    workload
}

#[test]
fn every_policy_passes_every_check_with_groups() {
    let seeds = seeds();
    let all = std::env::var_os("SCHEDLAB_TRIALS").is_some() || seeds.start > 0;
    with_groups(seeds.take(if all { usize::MAX } else { 25 }));
}

/// Tasks of a limited group become real-time tasks and normal ones again: their real-time CPU time
/// does not count for the group.
#[test]
fn every_policy_keeps_quotas() {
    with_groups(53..54);
}

fn with_groups(seeds: impl Iterator<Item = u64> + Clone + Sync) {
    for_each(every_policy(), |tuned| {
        let of = |seed| {
            let workload = grouped(random(seed, machine(seed).cpus.len() as u32), seed);
            failure(tuned, seed, trial_of(tuned, seed, &workload))
        };
        seeds.clone().filter_map(of).collect()
    });
}

#[test]
fn trials_are_reproducible() {
    for_each(every_policy(), |tuned| {
        let differs = |seed: &u64| trial(tuned, *seed) != trial(tuned, *seed);
        let seeds = seeds().step_by(7).filter(differs);
        seeds
            .map(|seed| format!("{}, seed {seed}: two results", tuned.name()))
            .collect()
    });
}

#[test]
fn every_shipped_workload_runs_under_every_policy() {
    let workloads = shipped();
    let machines = ["ideal-2", "desktop"].map(|name| schedlab_machine::find(name).unwrap());
    let policies = Policy::all().iter().map(|p| Tuned::defaults(*p)).collect();
    for_each(policies, |tuned| {
        let runs = workloads
            .iter()
            .flat_map(|w| machines.iter().map(move |m| (w, m)));
        runs.filter_map(|((name, workload), machine)| {
            let setup = Setup {
                duration: Some(Ns::from_ms(150)),
                ..Setup::new(machine, workload, tuned)
            };
            match setup.run(HashSink::default()) {
                Ok((end, _)) if end.reason != EndReason::Deadlock => None,
                Ok(_) if MAY_DEADLOCK.contains(&&**name) => None,
                Ok(_) => Some(format!("{name}, {}: deadlock", tuned.name())),
                Err(error) => Some(format!("{name}, {}: {error}", tuned.name())),
            }
        })
        .collect()
    });
}

/// rt-app ignores a resume if no task waits for it. Here a chain of tasks resume one another, and a
/// policy that always runs the woken task first, as 4.3BSD does, can break the chain: a task is
/// resumed again after it was preempted before its suspend. It then waits without end, and finally
/// all others do.
const MAY_DEADLOCK: &[&str] = &["browser-short.json"];

/// Every built-in with its defaults, and rt-app's files.
fn shipped() -> Vec<(String, Workload)> {
    let builtins = builtin::list().into_iter();
    let mut found: Vec<(String, Workload)> = builtins
        .map(|builtin| (builtin.name.into(), builtin.parse(&[]).unwrap()))
        .collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/rt-app");
    for file in files(&folder) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".json") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let workload = rtapp::parse(&name, &text, &rtapp::Options::default());
        found.push((name, workload.unwrap_or_else(|error| panic!("{error}"))));
    }
    assert!(found.len() >= 33, "workloads are missing: {}", found.len());
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}
