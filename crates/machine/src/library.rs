//! The machines that come with the program, and how users name machines.

use std::path::Path;

use include_dir::{include_dir, Dir};
use schedlab_input::{read_text, Diagnostic};
use schedlab_trace::Ns;

use crate::{Cache, Costs, Cpu, Machine, Preemption, TickPhase, Timers, MAX_CPUS};

static MACHINES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../machines");

/// The prefix of `ideal-N`.
const IDEAL: &str = "ideal-";

/// The names of the machines that come with the program, in alphabetical order.  Besides these
/// there is `ideal-N` for every N.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = MACHINES
        .files()
        .filter_map(|file| file.path().to_str()?.strip_suffix(".toml"))
        .collect();
    names.sort_unstable();
    names
}

/// The machine a user means: one that comes with the program, `ideal-N`, or the path of a
/// description, which ends in `.toml`.
///
/// # Errors
/// There is no such machine, or its description has a mistake.
pub fn find(name_or_path: &str) -> Result<Machine, Diagnostic> {
    if name_or_path.ends_with(".toml") {
        let text = read_text(Path::new(name_or_path))?;
        return Machine::parse(name_or_path, &text);
    }
    if let Some(nr_cpus) = name_or_path.strip_prefix(IDEAL) {
        return ideal(name_or_path, nr_cpus);
    }
    match shipped(name_or_path) {
        Some((file, text)) => Machine::parse(&file, text),
        None => Err(unknown(name_or_path)),
    }
}

/// The text of a machine that comes with the program.
pub fn text(name: &str) -> Option<&'static str> {
    shipped(name).map(|(_, text)| text)
}

/// A description that comes with the program: its file name and its text.
pub(crate) fn shipped(name: &str) -> Option<(String, &'static str)> {
    let file = format!("{name}.toml");
    let text = MACHINES.get_file(&file)?.contents_utf8()?;
    Some((format!("machines/{file}"), text))
}

fn unknown(name: &str) -> Diagnostic {
    let known = names();
    Diagnostic::new(format!("there is no machine \"{name}\""))
        .at("--machine", 0)
        .expected(format!(
            "one of {}, ideal-N (N CPUs without costs), or a file ending in .toml",
            known.join(", ")
        ))
        .suggest(name, known.iter().copied().chain([IDEAL]))
}

fn ideal(name: &str, nr_cpus: &str) -> Result<Machine, Diagnostic> {
    let number = nr_cpus.parse().ok();
    match number.filter(|n| (1..=MAX_CPUS).contains(n)) {
        Some(n) if n.to_string() == nr_cpus => Ok(Machine::ideal(n)),
        meant => Err(Diagnostic {
            nearest: meant.map(|n| format!("{IDEAL}{n}")),
            ..Diagnostic::new(format!("there is no machine \"{name}\""))
                .at("--machine", 0)
                .expected(format!("ideal-1 to ideal-{MAX_CPUS}"))
        }),
    }
}

impl Machine {
    /// A machine on which nothing costs anything, caches are always warm and sleeps are exact:
    /// what remains is the scheduling policy.  One node, one last-level cache, no SMT.
    ///
    /// # Panics
    /// `nr_cpus` is 0 or more than [`MAX_CPUS`].
    pub fn ideal(nr_cpus: u32) -> Machine {
        assert!((1..=MAX_CPUS).contains(&nr_cpus), "{nr_cpus} CPUs");
        let cpu = |core| Cpu {
            core,
            package: 0,
            node: 0,
            cache: 0,
            capacity: 1024,
        };
        Machine {
            name: format!("{IDEAL}{nr_cpus}"),
            title: format!("Ideal machine without costs, CPUs: {nr_cpus}"),
            cpus: (0..nr_cpus).map(cpu).collect(),
            caches: vec![Cache {
                size_bytes: 0,
                refill_ps_per_byte: 0,
            }],
            distances: Vec::new(),
            smt_speed_milli: 1000,
            idle_states: Vec::new(),
            costs: Costs::default(),
            timers: Timers::HighResolution,
            tick_phase: TickPhase::Aligned,
            smp: nr_cpus > 1,
            sync_wakeups: false,
            preemption: Preemption::None,
            hz: 1000,
            kernel_hz: None,
            tick_jitter: Ns::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_that_comes_along_can_be_used() {
        let mut nr_cpus = Vec::new();
        for name in names() {
            let machine = find(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(machine.name, name);
            assert!(!machine.title.is_empty());
            nr_cpus.push((name, machine.cpus.len()));
        }
        let expected = [
            ("athlon-mp-1900-1p", 1),
            ("athlon-mp-1900-2p", 2),
            ("athlon-xp-1800", 1),
            ("cloud-2", 2),
            ("desktop", 16),
            ("desktop-ccx", 32),
            ("dual-xeon-ht", 4),
            ("laptop-hybrid", 16),
            ("netfinity-5500-2p", 2),
            ("netfinity-5500-up", 1),
            ("netfinity-7000-1p", 1),
            ("netfinity-7000-2p", 2),
            ("netfinity-7000-4p", 4),
            ("netfinity-7000-up", 1),
            ("pentium-4-3ghz", 1),
            ("phone", 8),
            ("qemu-icount", 1),
            ("server", 128),
            ("server-2s", 128),
            ("server-512", 512),
            ("xeon-700-8p", 8),
            ("xeon-700-up", 1),
        ];
        assert_eq!(nr_cpus, expected);
    }

    #[test]
    fn a_kernel_without_smp_pays_less_for_its_locks() {
        let [up, one, four] =
            ["up", "1p", "4p"].map(|kernel| find(&format!("netfinity-7000-{kernel}")).unwrap());
        assert_eq!(one.costs, four.costs);
        assert_eq!(up.costs.lock_transfer.0, 0);
        assert!(up.costs.schedule < one.costs.schedule && up.costs.wakeup < one.costs.wakeup);
        assert_eq!(one.caches, four.caches[..1]);
    }

    #[test]
    fn the_server_has_two_nodes_of_eight_caches() {
        let server = find("server").unwrap();
        assert_eq!(server.caches.len(), 16);
        assert_eq!(server.cpus[63].node, 0);
        assert_eq!(server.cpus[64].node, 1);
        assert_eq!(server.cpus[64].cache, 8);
    }

    #[test]
    fn siblings_are_numbered_after_all_first_threads() {
        let desktop = find("desktop").unwrap();
        assert_eq!(desktop.cpus[0], desktop.cpus[8]);
        assert_eq!(desktop.cpus[7], desktop.cpus[15]);
        assert_ne!(desktop.cpus[0].core, desktop.cpus[1].core);
    }

    #[test]
    fn ideal_machines_have_the_cpus_they_are_asked_for() {
        assert_eq!(find("ideal-1024").unwrap().cpus.len(), 1024);
        assert_eq!(find("ideal-1").unwrap(), Machine::ideal(1));
        for wrong in ["ideal-0", "ideal-1025", "ideal-", "ideal--4"] {
            let error = find(wrong).unwrap_err().to_string();
            let expected = format!(
                "--machine: there is no machine \"{wrong}\"; expected ideal-1 to ideal-1024"
            );
            assert_eq!(error, expected);
        }
        for wrong in ["ideal-+4", "ideal-04"] {
            assert_eq!(find(wrong).unwrap_err().nearest.as_deref(), Some("ideal-4"));
        }
    }

    #[test]
    fn an_unknown_machine_brings_up_the_nearest() {
        let error = find("netfinty-7000-4p").unwrap_err().to_string();
        assert!(error
            .starts_with("--machine: there is no machine \"netfinty-7000-4p\"; expected one of"));
        assert!(
            error.ends_with("(did you mean \"netfinity-7000-4p\"?)"),
            "{error}"
        );
        assert!(find("no/such.toml")
            .unwrap_err()
            .to_string()
            .starts_with("no/such.toml: "));
    }
}
