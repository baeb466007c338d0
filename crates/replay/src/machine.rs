//! The machine a recording was made on, as far as it tells.

use schedlab_machine::{Costs, Machine};
use schedlab_trace::Ns;

use crate::Replay;

/// The recorded machine, with `nr_cpus` CPUs and a tick of `hz`, and nothing that costs CPU time, since what
/// things cost is part of the recorded work.  What an idle CPU takes to react is not work: that
/// is as recorded.
pub fn machine_like(replay: &Replay, nr_cpus: u32, hz: u32) -> Machine {
    let ideal = Machine::ideal(nr_cpus);
    let reactions = &replay.reactions;
    let idle = reactions.idle_ns.or(reactions.interrupt_ns);
    let idle = idle.unwrap_or(Ns::ZERO);
    // A CPU that computes is no slower to hear than an idle one.
    let ipi = reactions.interrupt_ns.unwrap_or(idle).min(idle);
    Machine {
        name: "recorded".to_string(),
        title: format!(
            "The recorded machine: {} CPUs, {hz} Hz; an idle CPU reacts after {idle}, others after {ipi}",
            nr_cpus
        ),
        costs: Costs {
            ipi,
            idle_exit: idle - ipi,
            context_switch: replay.costs.switch_ns.unwrap_or(Ns::ZERO),
            wakeup: replay.costs.wakeup_ns.unwrap_or(Ns::ZERO),
            ..ideal.costs
        },
        // Linux wakes readers of pipes and sockets with WF_SYNC (fs/pipe.c, net/core/sock.c). A scheduler of sched_ext is not
        // told on one CPU: ops.select_cpu() is only called for a task that may use several.
        sync_wakeups: nr_cpus > 1,
        hz,
        ..ideal
    }
}
