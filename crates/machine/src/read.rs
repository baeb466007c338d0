//! From TOML to [`Machine`].

use schedlab_input::{stem, Diagnostic, Document, Table};
use schedlab_trace::Ns;

use crate::library::shipped;
use crate::topology::{topology, Topology};
use crate::{Costs, Cpu, IdleState, Machine, Preemption, TickPhase, Timers};

const KEYS: [&str; 16] = [
    "title",
    "base",
    "cpus",
    "hz",
    "kernel_hz",
    "tick_jitter",
    "smp",
    "sync_wakeups",
    "preemption",
    "timers",
    "ticks",
    "smt_speed_milli",
    "distances",
    "cluster",
    "idle",
    "costs",
];
const IDLE_KEYS: [&str; 2] = ["after", "exit"];
const TIMERS: [(&str, Timers); 2] = [
    ("tick", Timers::Tick),
    ("high-resolution", Timers::HighResolution),
];
const PREEMPTION: [(&str, Preemption); 4] = [
    ("none", Preemption::None),
    ("voluntary", Preemption::Voluntary),
    ("full", Preemption::Full),
    ("lazy", Preemption::Lazy),
];
const TICKS: [(&str, TickPhase); 2] = [
    ("aligned", TickPhase::Aligned),
    ("staggered", TickPhase::Staggered),
];

/// The longest single cost; a longer one is probably a mistake in the unit.
const MAX_COST: Ns = Ns(1_000_000_000);

impl Machine {
    /// Reads a description in TOML; the machine is called after the file.
    ///
    /// A description either is complete or names a `base`, a complete one that comes with the
    /// program, and says only what differs.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn parse(file_name: &str, text: &str) -> Result<Machine, Diagnostic> {
        let document = Document::parse(file_name, text)?;
        let root = document.root().only(&KEYS)?;
        let base = base(&root)?;
        let machine = machine(&root, stem(file_name), base.as_ref())?;
        machine
            .check()
            .map_err(|problem| root.mistake("", problem))?;
        Ok(machine)
    }
}

/// The complete description this one starts from, if it names one.
fn base(root: &Table<'_>) -> Result<Option<Machine>, Diagnostic> {
    let Some(name) = root.string("base")? else {
        return Ok(None);
    };
    let Some((file, text)) = shipped(name) else {
        let known = crate::names();
        return Err(root
            .mistake("base", format!("there is no machine \"{name}\""))
            .expected("a machine that comes with schedlab")
            .suggest(name, known));
    };
    if Document::parse(&file, text)?.root().has("base") {
        return Err(root
            .mistake("base", format!("\"{name}\" has a base itself"))
            .expected("a complete description"));
    }
    Machine::parse(&file, text).map(Some)
}

fn machine(root: &Table<'_>, name: String, base: Option<&Machine>) -> Result<Machine, Diagnostic> {
    let title = root.need("title", root.string("title")?, "one line about the machine")?;
    let hz = root.integer("hz", 10..=10_000)?.map(|hz| hz as u32);
    let hz = root.need("hz", hz.or(base.map(|b| b.hz)), "ticks per second")?;
    let kernel_hz = root.integer("kernel_hz", 10..=10_000)?;
    let kernel_hz = kernel_hz
        .map(|hz| hz as u32)
        .or(base.and_then(|b| b.kernel_hz));
    let jitter = root.duration("tick_jitter")?;
    let jitter = jitter
        .map(|jitter| limited(root, "tick_jitter", jitter))
        .transpose()?;
    let timers = root.choice("timers", &TIMERS)?.or(base.map(|b| b.timers));
    let timers = root.need("timers", timers, "tick or high-resolution")?;
    let ticks = root.choice("ticks", &TICKS)?.or(base.map(|b| b.tick_phase));
    let tick_phase = root.need("ticks", ticks, "aligned or staggered")?;
    let Topology {
        cpus,
        caches,
        distances,
    } = topology(root, base)?;
    let sync_wakeups = root.boolean("sync_wakeups")?;
    let preemption = root.choice("preemption", &PREEMPTION)?;
    let smp = root.boolean("smp")?.unwrap_or(cpus.len() > 1);
    Ok(Machine {
        name,
        title: title.to_string(),
        smt_speed_milli: smt_speed(root, &cpus, base)?,
        cpus,
        caches,
        distances,
        idle_states: idle_states(root, base)?,
        costs: costs(root, base)?,
        timers,
        tick_phase,
        smp,
        sync_wakeups: sync_wakeups
            .or(base.map(|b| b.sync_wakeups))
            .unwrap_or(false),
        preemption: preemption
            .or(base.map(|b| b.preemption))
            .unwrap_or(Preemption::None),
        hz,
        kernel_hz,
        tick_jitter: jitter.or(base.map(|b| b.tick_jitter)).unwrap_or(Ns::ZERO),
    })
}

/// The speed of SMT siblings; required if there are siblings.
fn smt_speed(root: &Table<'_>, cpus: &[Cpu], base: Option<&Machine>) -> Result<u32, Diagnostic> {
    let given = root
        .integer("smt_speed_milli", 1..=1000)?
        .map(|speed| speed as u32);
    let siblings = cpus
        .iter()
        .map(|cpu| cpu.core)
        .collect::<std::collections::BTreeSet<_>>()
        .len()
        < cpus.len();
    let fallback = (!siblings).then_some(1000);
    let speed = given.or(base.map(|b| b.smt_speed_milli)).or(fallback);
    root.need(
        "smt_speed_milli",
        speed,
        "the speed of each of two busy SMT siblings in thousandths",
    )
}

/// Deeper idle states, each entered later than the one before.
fn idle_states(root: &Table<'_>, base: Option<&Machine>) -> Result<Vec<IdleState>, Diagnostic> {
    if !root.has("idle") {
        return Ok(base.map_or(Vec::new(), |base| base.idle_states.clone()));
    }
    let mut states: Vec<IdleState> = Vec::new();
    for table in root.list("idle")? {
        let table = table.only(&IDLE_KEYS)?;
        let time = |key| {
            let given = table.need(key, table.duration(key)?, "a duration such as \"200us\"")?;
            limited(&table, key, given)
        };
        let (after, exit) = (time("after")?, time("exit")?);
        if states.last().is_some_and(|last| last.after >= after) {
            return Err(table
                .mistake(
                    "after",
                    format!("{after} is not later than in the state before"),
                )
                .expected("idle states in the order they are entered"));
        }
        states.push(IdleState { after, exit });
    }
    Ok(states)
}

fn costs(root: &Table<'_>, base: Option<&Machine>) -> Result<Costs, Diagnostic> {
    let mut costs = base.map(|b| b.costs).unwrap_or_default();
    let mut slots = costs.slots();
    let names: Vec<_> = slots.iter().map(|(name, _)| *name).collect();
    let Some(table) = root.table("costs")? else {
        let expected = format!("a table [costs] with {}", names.join(", "));
        return base
            .map(|b| b.costs)
            .ok_or_else(|| root.mistake("costs", "missing").expected(expected));
    };
    let table = table.only(&names)?;
    for (name, slot) in &mut slots {
        match table.duration(name)? {
            Some(cost) => **slot = limited(&table, name, cost)?,
            None if base.is_some() => {}
            None => {
                return Err(table
                    .mistake(name, "missing")
                    .expected("a duration; \"0ns\" if it costs nothing"))
            }
        }
    }
    Ok(costs)
}

pub(crate) fn limited(table: &Table<'_>, key: &str, cost: Ns) -> Result<Ns, Diagnostic> {
    if cost > MAX_COST {
        return Err(table
            .mistake(key, format!("{cost} is too long"))
            .expected("at most 1s"));
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{CACHE_KEYS, CLUSTER_KEYS};

    const COMPLETE: &str = r#"
title = "Two cores"
hz = 100
timers = "tick"
ticks = "aligned"
[[cluster]]
cores = 2
[cluster.cache]
size = "1MiB"
line = "32B"
refill = "100ns"
[costs]
schedule = "1us"
examine = "200ns"
recalculate = "0ns"
context_switch = "0ns"
mm_switch = "0ns"
wakeup = "0ns"
lock_transfer = "0ns"
tick = "0ns"
ipi = "0ns"
idle_exit = "0ns"
syscall = "0ns"
fork = "0ns"
exec = "0ns"
exit = "0ns"
"#;

    #[track_caller]
    fn says(from: &str, to: &str, message: &str) {
        assert!(COMPLETE.contains(from));
        let text = COMPLETE.replacen(from, to, 1);
        assert_eq!(
            Machine::parse("m.toml", &text).unwrap_err().to_string(),
            message
        );
    }

    #[test]
    fn a_complete_description_is_a_machine() {
        let machine = Machine::parse("some/where/m.toml", COMPLETE).unwrap();
        assert_eq!(
            (
                machine.name.as_str(),
                machine.cpus.len(),
                machine.caches.len()
            ),
            ("m", 2, 1)
        );
        // 100 ns for a line of 32 bytes is 3.125 ns a byte.
        assert_eq!(machine.caches[0].refill_ps_per_byte, 3125);
        assert_eq!(
            (machine.costs.schedule, machine.costs.examine),
            (Ns(1000), Ns(200))
        );
        assert_eq!(machine.smt_speed_milli, 1000);
    }

    #[test]
    fn mistakes_have_line_key_expectation_and_nearest_name() {
        says(
            "schedule =",
            "shedule =",
            "m.toml:13: costs.shedule: unknown key; expected one of schedule, examine, recalculate, \
             context_switch, mm_switch, wakeup, lock_transfer, tick, ipi, idle_exit, syscall, fork, exec, \
             exit (did you mean \"schedule\"?)",
        );
        says(
            "\"tick\"",
            "\"ticks\"",
            "m.toml:4: timers: unknown value \"ticks\"; expected one of tick, high-resolution (did you mean \"tick\"?)",
        );
        says(
            "hz = 100\n",
            "",
            "m.toml:1: hz: missing; expected ticks per second",
        );
        says(
            "\nexit = \"0ns\"",
            "",
            "m.toml:12: costs.exit: missing; expected a duration; \"0ns\" if it costs nothing",
        );
        says(
            "\"1us\"",
            "\"2s\"",
            "m.toml:13: costs.schedule: 2.00 s is too long; expected at most 1s",
        );
        says(
            "\"32B\"",
            "\"0B\"",
            "m.toml:10: cluster.cache.line: 0 bytes is out of range; expected 1 to 4096 bytes",
        );
    }

    #[test]
    fn weird_topologies_are_refused() {
        says(
            "cores = 2",
            "cores = 0",
            "m.toml:7: cluster.cores: 0 is out of range; expected a whole number from 1 to 1024",
        );
        says(
            "cores = 2",
            "cores = 625\ncount = 8",
            "m.toml:6: cluster: the clusters have 5000 CPUs; expected at most 1024",
        );
        says(
            "[cluster.cache]\nsize = \"1MiB\"\nline = \"32B\"\nrefill = \"100ns\"\n",
            "",
            "m.toml:6: cluster.cache: missing; expected a table with size, line and refill",
        );
        says(
            "cores = 2",
            "threads = 2",
            "m.toml:1: smt_speed_milli: missing; expected the speed of each of two busy SMT siblings in thousandths",
        );
        says(
            "cores = 2",
            "capacity = 512",
            "m.toml:1: no CPU has capacity 1024; the fastest CPU has it",
        );
        let no_cluster = COMPLETE.replace("[[cluster]]\ncores = 2\n[cluster.cache]\nsize = \"1MiB\"\nline = \"32B\"\nrefill = \"100ns\"\n", "");
        assert_eq!(
            Machine::parse("m.toml", &no_cluster)
                .unwrap_err()
                .to_string(),
            "m.toml:1: cluster: missing; expected at least one table [[cluster]]",
        );
    }

    #[test]
    fn a_base_gives_what_is_not_said() {
        let text =
            "title = \"half\"\nbase = \"netfinity-7000-4p\"\ncpus = 2\n[costs]\ntick = \"7us\"\n";
        let half = Machine::parse("half.toml", text).unwrap();
        let whole = crate::find("netfinity-7000-4p").unwrap();
        assert_eq!(half.cpus, whole.cpus[..2]);
        assert_eq!(half.caches, whole.caches[..2]);
        assert_eq!(
            half.costs,
            Costs {
                tick: Ns(7000),
                ..whole.costs
            }
        );
    }

    #[test]
    fn a_base_that_cannot_be_is_refused() {
        let error = |text: &str| Machine::parse("h.toml", text).unwrap_err().to_string();
        assert_eq!(
            error("title = \"x\"\nbase = \"dekstop\"\n"),
            "h.toml:2: base: there is no machine \"dekstop\"; expected a machine that comes with schedlab \
             (did you mean \"desktop\"?)",
        );
        assert_eq!(
            error("title = \"x\"\nbase = \"netfinity-7000-1p\"\n"),
            "h.toml:2: base: \"netfinity-7000-1p\" has a base itself; expected a complete description",
        );
        assert_eq!(
            error("title = \"x\"\nbase = \"desktop\"\ncpus = 17\n"),
            "h.toml:3: cpus: desktop has only 16 CPUs; expected 1 to 16",
        );
        assert_eq!(
            error("title = \"x\"\ncpus = 2\n"),
            "h.toml:1: hz: missing; expected ticks per second",
        );
    }

    const MANUAL: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/machines.md"
    ));

    #[test]
    fn the_manuals_examples_are_machines() {
        let examples: Vec<_> = MANUAL
            .split("```toml\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
            .map(|example| Machine::parse("m.toml", example).unwrap())
            .collect();
        let [derived, complete] = &examples[..] else {
            panic!("{} examples", examples.len());
        };
        assert_eq!((derived.hz, derived.cpus.len()), (250, 16));
        assert_eq!(derived.costs.idle_exit, Ns(50_000));
        assert_eq!(
            complete.cpus.iter().map(|cpu| cpu.node).sum::<u32>(),
            4,
            "four CPUs on the second node"
        );
        assert_eq!(complete.cpus[9].capacity, 512);
    }

    #[test]
    fn the_manual_names_every_key() {
        let mut costs = Costs::default();
        let costs = costs.slots().map(|(name, _)| name.to_string());
        let cache = CACHE_KEYS.map(|key| format!("cache.{key}"));
        let idle = IDLE_KEYS.map(|key| format!("idle.{key}"));
        let others = KEYS[..11].iter().chain(&CLUSTER_KEYS);
        for key in others
            .map(|key| key.to_string())
            .chain(cache)
            .chain(idle)
            .chain(costs)
        {
            let row = MANUAL.lines().any(|line| {
                let mut cells = line.split('|').skip(1);
                cells
                    .next()
                    .is_some_and(|cell| cell.contains(&format!("`{key}`")))
            });
            assert!(row, "docs/machines.md has no row for {key}");
        }
    }

    #[test]
    fn idle_states_come_in_order() {
        let idle = |states: &str| {
            let text = COMPLETE.replacen("[costs]", &format!("{states}\n[costs]"), 1);
            Machine::parse("m.toml", &text).map_err(|mistake| mistake.to_string())
        };
        let two = "[[idle]]\nafter = \"20us\"\nexit = \"5us\"\n[[idle]]\nafter = \"1ms\"\nexit = \"80us\"";
        let machine = idle(two).unwrap();
        assert_eq!(machine.idle_states[1].exit, Ns(80_000));
        assert_eq!(
            idle(&two.replace("1ms", "20us")).unwrap_err(),
            "m.toml:16: idle.after: 20.0 µs is not later than in the state before; expected idle states in the order they are entered"
        );
        assert_eq!(
            idle("[[idle]]\nafter = \"20us\"").unwrap_err(),
            "m.toml:12: idle.exit: missing; expected a duration such as \"200us\""
        );
    }

    #[test]
    fn the_kernel_may_tick_at_its_own_rate() {
        let own = COMPLETE.replacen(
            "hz = 100",
            "hz = 100\nkernel_hz = 250\ntick_jitter = \"600ns\"",
            1,
        );
        let machine = Machine::parse("m.toml", &own).unwrap();
        assert_eq!(
            (machine.kernel_hz, machine.tick_jitter),
            (Some(250), Ns(600))
        );
        let usual = Machine::parse("m.toml", COMPLETE).unwrap();
        assert_eq!((usual.kernel_hz, usual.tick_jitter), (None, Ns(0)));
        says(
            "hz = 100",
            "hz = 100\nkernel_hz = 5",
            "m.toml:4: kernel_hz: 5 is out of range; expected a whole number from 10 to 10000",
        );
        says(
            "hz = 100",
            "hz = 100\ntick_jitter = \"2s\"",
            "m.toml:4: tick_jitter: 2.00 s is too long; expected at most 1s",
        );
    }
}
