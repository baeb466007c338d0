//! `schedlab dev overhead`: the cost of switching under each scheduler, in this machine's kernel.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::thread::available_parallelism;

use schedlab_live::{Loaded, Options, Program};
use schedlab_overhead::{marginal, ping_pong, yields, Cost, Hackbench};
use schedlab_policy::Tuned;
use schedlab_report::quantity::Unit;
use schedlab_report::table::{Cell, Field, Layout, Subject, Table, Terminal};

use super::{load, note, print};
use crate::arguments::{Format, OverheadArguments};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use schedlab_lab::choose::{self, Assignments};

const OWN: &str = "none";
const FLOOR: &str = "floor";
const PREEMPTING_FLOOR: &str = "floor-preempting";

const PING_PONG_ROUNDS: u64 = 2_000;

/// Calls of sched_yield(2), by all tasks together.
const YIELDS: u64 = 5_000;

const HACKBENCH: Hackbench = Hackbench {
    groups: 4,
    pairs: 20,
    messages: 25,
};

/// Slots for tasks: more than the programs have.
const MOST_TASKS: u32 = 2048;

/// A scheduler to measure.
enum Scheduler {
    Own,
    Floor { preempts: bool },
    Policy { written: String, tuned: Box<Tuned> },
}

/// Rounds in which the scheduler's functions are timed, and the number of tasks that yield.
const PROFILED_ROUNDS: u64 = 2_000;
const PROFILED_TASKS: u32 = 4;

/// The costs under one scheduler.
struct Bill {
    name: String,
    ping_pong: Cost,
    hackbench: Cost,
    /// The time of a single call, for each number of tasks.
    yield_ns: Vec<f64>,
    /// The time in the scheduler's own functions for a yield among [`PROFILED_TASKS`].
    calls: Vec<(String, f64)>,
}

pub fn overhead(arguments: &OverheadArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    only_one_cpu()?;
    let schedulers = schedulers(&arguments.policies, &interrupt)?;
    let mut bills = Vec::new();
    for scheduler in &schedulers {
        interrupt.check()?;
        note(&format!("measuring {}", scheduler.name()));
        bills.push(scheduler.measure(arguments)?);
    }
    let mut tables = vec![switches(&bills), decisions(&bills, &arguments.yielding)];
    if bills.iter().any(|bill| !bill.calls.is_empty()) {
        tables.push(calls(&bills));
    }
    tables.push(lists()?);
    let terminal = Terminal::stdout();
    let texts = tables.iter().map(|table| match arguments.format {
        Format::Markdown => table.markdown(),
        Format::Table => terminal.render(table),
        Format::Json => json(table),
    });
    print(&texts.collect::<Vec<_>>().join("\n"))
}

/// Several CPUs would share the work, so times would not show its cost.
fn only_one_cpu() -> Result<(), Failure> {
    match available_parallelism().map_or(1, usize::from) {
        1 => Ok(()),
        cpus => Err(Failure::Other(format!(
            "costs are measured on one CPU; this machine has {cpus}: schedlab vm --no-record -- schedlab dev overhead"
        ))),
    }
}

/// The schedulers of a list; the first is the reference of the others.
fn schedulers(list: &str, interrupt: &Interrupt) -> Result<Vec<Scheduler>, Failure> {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    let mut found = Vec::new();
    if names.contains(&OWN) {
        found.push(Scheduler::Own);
    }
    for (name, preempts) in [(FLOOR, false), (PREEMPTING_FLOOR, true)] {
        if names.contains(&name) {
            found.push(Scheduler::Floor { preempts });
        }
    }
    let ours: Vec<&str> = names
        .into_iter()
        .filter(|name| ![OWN, FLOOR, PREEMPTING_FLOOR].contains(name))
        .collect();
    if !ours.is_empty() {
        let set = Assignments::read(&[], &[])?;
        let policies = choose::policies("--policies", &ours.join(","), &set, &interrupt.stop())?;
        found.extend(
            policies
                .into_iter()
                .map(|(written, tuned)| Scheduler::Policy {
                    written,
                    tuned: Box::new(tuned),
                }),
        );
    }
    Ok(found)
}

impl Scheduler {
    fn name(&self) -> String {
        match self {
            Scheduler::Own => "none (EEVDF)".into(),
            Scheduler::Floor { preempts: false } => FLOOR.into(),
            Scheduler::Floor { preempts: true } => PREEMPTING_FLOOR.into(),
            Scheduler::Policy { tuned, .. } => tuned.name(),
        }
    }

    fn measure(&self, arguments: &OverheadArguments) -> Result<Bill, Failure> {
        let mut loaded = self.load(arguments.object.as_deref())?;
        let bill = self.programs(&arguments.yielding, loaded.as_ref());
        let ending = loaded.as_mut().and_then(Loaded::unload);
        match ending.filter(|ending| ending.is_failure()) {
            Some(ending) => Err(Failure::Ended(
                Exit::PolicyFault,
                format!("{}: {ending}", self.name()),
            )),
            None => bill.map_err(|error| Failure::Other(format!("{}: {error}", self.name()))),
        }
    }

    fn load(&self, object: Option<&Path>) -> Result<Option<Loaded>, Failure> {
        let options = Options {
            max_tasks: MOST_TASKS,
            ..Options::default()
        };
        let loaded = match self {
            Scheduler::Own => return Ok(None),
            &Scheduler::Floor { preempts } => {
                let missing = "it was not compiled: there was no clang 19";
                let code = schedlab_bpf::other("floor").ok_or(Failure::Other(missing.into()))?;
                schedlab_live::load_floor(&code, preempts, &options)
            }
            Scheduler::Policy { written, tuned } => {
                let code = load::object_or(object, written, tuned)?;
                let program = Program { tuned, code: &code };
                schedlab_live::load(&program, &options)
            }
        };
        loaded.map(Some).map_err(load::not_loaded)
    }

    fn programs(&self, yielding: &[u32], loaded: Option<&Loaded>) -> io::Result<Bill> {
        let yield_ns = |&tasks: &u32| {
            let rounds = YIELDS / u64::from(tasks);
            let cost = marginal(rounds, |rounds| yields(tasks, rounds))?;
            Ok(cost.ns as f64 / (rounds * u64::from(tasks)) as f64)
        };
        Ok(Bill {
            name: self.name(),
            ping_pong: marginal(PING_PONG_ROUNDS, ping_pong)?,
            hackbench: HACKBENCH.run()?,
            yield_ns: yielding.iter().map(yield_ns).collect::<io::Result<_>>()?,
            calls: loaded.map_or(Ok(Vec::new()), profile)?,
        })
    }
}

/// How long each of the scheduler's functions takes.
fn profile(loaded: &Loaded) -> io::Result<Vec<(String, f64)>> {
    let _counting = schedlab_live::count_calls()?;
    let before = loaded.calls();
    ping_pong(PROFILED_ROUNDS)?;
    yields(PROFILED_TASKS, PROFILED_ROUNDS)?;
    let since = loaded.calls().into_iter().zip(before);
    let each = since.filter_map(|((name, now), (_, before))| {
        let runs = now.runs - before.runs;
        (runs > 0).then(|| (name, (now.ns - before.ns) as f64 / runs as f64))
    });
    Ok(each.collect())
}

/// The cost of a switch, compared with the kernel's own scheduler and with the floor.
fn switches(bills: &[Bill]) -> Table {
    let own = bills.iter().find(|bill| bill.name.starts_with(OWN));
    let floor = bills.iter().find(|bill| bill.name == FLOOR);
    let more = |value: f64, base: Option<f64>| Cell::maybe(base.map(|base| value / base - 1.0));
    let subject = |bill: &Bill| {
        let (ping_pong, hackbench) = (
            bill.ping_pong.per_switch_ns(),
            bill.hackbench.per_switch_ns(),
        );
        let whole = bill.hackbench.ns as f64;
        vec![
            Cell::number(bill.ping_pong.ns as f64 / PING_PONG_ROUNDS as f64),
            Cell::number(bill.ping_pong.switches as f64 / PING_PONG_ROUNDS as f64),
            Cell::number(ping_pong),
            more(
                ping_pong,
                floor.map(|floor| floor.ping_pong.per_switch_ns()),
            ),
            Cell::number(hackbench),
            Cell::number(bill.hackbench.switches as f64),
            Cell::number(whole),
            more(whole, own.map(|own| own.hackbench.ns as f64)),
        ]
    };
    Table {
        title: "What a switch costs".into(),
        stubs: vec!["policy".into()],
        fields: vec![
            Field::new("ping-pong: ns per round trip", Unit::Count),
            Field::new("switches", Unit::Plain),
            Field::new("ns per switch", Unit::Count),
            Field::new("beside the floor", Unit::Share),
            Field::new("hackbench: ns per switch", Unit::Count),
            Field::new("hackbench: switches", Unit::Count),
            Field::new("hackbench: time", Unit::Time),
            Field::new("beside none", Unit::Share),
        ],
        subjects: rows(bills, subject),
        layout: Layout::FieldsAsColumns,
        notes: vec!["On a deterministic clock a nanosecond is an instruction.".into()],
    }
}

/// The cost of a decision by the number of tasks to choose from.
fn decisions(bills: &[Bill], yielding: &[u32]) -> Table {
    let numbers = yielding.iter();
    let subject = |bill: &Bill| bill.yield_ns.iter().map(|&ns| Cell::number(ns)).collect();
    Table {
        title: "What a call of sched_yield() costs in ns, by the number of tasks that yield".into(),
        stubs: vec!["policy".into()],
        fields: numbers
            .map(|tasks| Field::new(format!("{tasks} tasks"), Unit::Count))
            .collect(),
        subjects: rows(bills, subject),
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    }
}

/// The time of the scheduler's own functions, for each call by the kernel.
fn calls(bills: &[Bill]) -> Table {
    let names: BTreeSet<&str> = bills
        .iter()
        .flat_map(|bill| bill.calls.iter().map(|(name, _)| name.as_str()))
        .collect();
    let subject = |bill: &Bill| {
        let of = |wanted: &&str| bill.calls.iter().find(|(name, _)| name == wanted);
        let cells = names
            .iter()
            .map(|name| Cell::maybe(of(name).map(|call| call.1)));
        cells.collect()
    };
    Table {
        title: "What a call of the scheduler costs in ns, as the kernel's own statistics count"
            .into(),
        stubs: vec!["policy".into()],
        fields: names
            .iter()
            .map(|name| Field::new(name.trim_end_matches("_op"), Unit::Count))
            .collect(),
        subjects: rows(bills, subject),
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    }
}

/// Nodes of the lists in lists.bpf.c, and rounds of each program.
const LIST_NODES: f64 = 64.0;
const LIST_ROUNDS: f64 = 256.0;

/// The cost of lists linked by pointers in the arena, and by indices in an array.
fn lists() -> Result<Table, Failure> {
    let failed = |error: String| Failure::Other(format!("lists: {error}"));
    let _counting = schedlab_live::count_calls().map_err(|e| failed(e.to_string()))?;
    let code = schedlab_bpf::other("lists").ok_or_else(|| failed("not compiled".into()))?;
    let programs = [
        "prepare",
        "rotate_linked",
        "rotate_indexed",
        "walk_linked",
        "walk_indexed",
    ];
    let calls = schedlab_live::run_programs(&code, &programs, 4);
    let calls = calls.map_err(|e| failed(e.to_string()))?;
    let row = |(contest, (label, kind)): (usize, (&str, &str))| {
        let each = |work: &str, steps: f64| {
            let name = format!("{work}_{kind}");
            let call = calls.iter().find(|(program, _)| *program == name);
            Cell::maybe(call.map(|(_, c)| c.ns as f64 / c.runs.max(1) as f64 / steps))
        };
        Subject {
            labels: vec![label.into()],
            contest,
            cells: vec![
                each("rotate", LIST_ROUNDS),
                each("walk", LIST_ROUNDS * LIST_NODES),
            ],
        }
    };
    let kinds = [
        ("pointers in the arena", "linked"),
        ("indices into an array", "indexed"),
    ];
    Ok(Table {
        title: "What linked lists cost in ns".into(),
        stubs: vec!["links".into()],
        fields: vec![
            Field::new("first to the end", Unit::Plain),
            Field::new("a step of a walk", Unit::Plain),
        ],
        subjects: kinds.into_iter().enumerate().map(row).collect(),
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    })
}

fn rows(bills: &[Bill], cells: impl Fn(&Bill) -> Vec<Cell>) -> Vec<Subject> {
    let row = |(contest, bill): (usize, &Bill)| Subject {
        labels: vec![bill.name.clone()],
        contest,
        cells: cells(bill),
    };
    bills.iter().enumerate().map(row).collect()
}

/// An object for each policy, one to a line.
fn json(table: &Table) -> String {
    let lines = table.subjects.iter().map(|subject| {
        let values: Vec<f64> = subject.cells.iter().filter_map(value).collect();
        format!(
            "{}\n",
            serde_json::json!({ "policy": subject.labels[0], "values": values })
        )
    });
    lines.collect()
}

fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number { value, .. } => Some(*value),
        _ => None,
    }
}
