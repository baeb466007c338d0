//! The recorded machine, as far as the recording describes it.

use schedlab_machine::{Costs, Machine};
use schedlab_trace::Ns;

use crate::Replay;

/// The recorded machine with `nr_cpus` CPUs and a tick of `hz`. Operations cost no CPU time, since their costs are part of
/// the recorded work. The reaction time of an idle CPU is no work; it
/// is as recorded.
pub fn machine_like(replay: &Replay, nr_cpus: u32, hz: u32) -> Machine {
    let ideal = Machine::ideal(nr_cpus);
    let reactions = &replay.reactions;
    let idle = reactions.idle_ns.or(reactions.interrupt_ns);
    let idle = idle.unwrap_or(Ns::ZERO);
    // A busy CPU reacts to an interrupt at least as fast as an idle one.
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
