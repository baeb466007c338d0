//! The machine a recording was made on, as far as it tells.

use schedlab_machine::{Costs, Machine};
use schedlab_trace::Ns;

use crate::Replay;

/// The recorded machine: its CPUs, its tick of `hz`, and nothing that costs CPU time, since what
/// things cost is part of the recorded work.  What an idle CPU takes to react is not work: that
/// is as recorded.
pub fn machine_like(replay: &Replay, hz: u32) -> Machine {
    let ideal = Machine::ideal(replay.nr_cpus);
    let ipi = replay.reactions.idle_ns.unwrap_or(Ns::ZERO);
    Machine {
        name: "recorded".to_string(),
        title: format!(
            "The recorded machine: {} CPUs, {hz} Hz; an idle CPU reacts after {ipi}",
            replay.nr_cpus
        ),
        costs: Costs { ipi, ..ideal.costs },
        hz,
        ..ideal
    }
}
