//! On which CPU a task wakes: select_task_rq_scx().

use super::consts::dsq;
use super::{Direct, Op};
use crate::machine::Machine;

impl Machine {
    /// select_task_rq_scx() and what select_task_rq() makes of its answer.
    pub(super) fn select_task_rq(&mut self, t: u32, wake_flags: u64) -> u32 {
        let prev_cpu = self.ext.task(t).cpu;
        let chosen = match self.has_op(Op::SelectCpu) {
            true => self.ops_select_cpu(t, prev_cpu, wake_flags),
            false => self.default_select_cpu(t, prev_cpu, wake_flags),
        };
        self.ext.task_mut(t).selected = true;
        match self.allowed_on(t, chosen) {
            true => chosen,
            false => self.select_fallback_rq(t, prev_cpu),
        }
    }

    fn ops_select_cpu(&mut self, t: u32, prev_cpu: u32, wake_flags: u64) -> u32 {
        self.ext.direct = Direct::Task(t);
        let address = self.ext.task(t).address;
        let answer = self.op(
            Op::SelectCpu,
            None,
            [Some(t), None],
            &[address, u64::from(prev_cpu), wake_flags],
        );
        self.ext.direct = Direct::None;
        let cpu = answer as i32;
        self.set_selected_cpu(t, cpu as u32);
        self.ops_cpu_valid(cpu, "from ops.select_cpu()")
            .unwrap_or(prev_cpu)
    }

    fn default_select_cpu(&mut self, t: u32, prev_cpu: u32, wake_flags: u64) -> u32 {
        let found = self.select_idle_cpu(t, prev_cpu, wake_flags, None, 0);
        if found.is_some() {
            self.refill_task_slice_dfl(t);
            self.set_ddsp_dsq_id(t, dsq::LOCAL);
        }
        let cpu = found.unwrap_or(prev_cpu);
        self.set_selected_cpu(t, cpu);
        cpu
    }

    /// select_fallback_rq(): a CPU of the same node, or else any.
    pub(super) fn select_fallback_rq(&mut self, t: u32, prev_cpu: u32) -> u32 {
        let near = self.cpus_of_node(self.ext.idle.node_of(prev_cpu));
        let near = near.iter().find(|&cpu| self.allowed_on(t, cpu));
        let any = || (0..self.nr_cpus).find(|&cpu| self.allowed_on(t, cpu));
        near.or_else(any).unwrap_or(prev_cpu)
    }

    /// Where a task goes that may not stay: __set_cpus_allowed_ptr_locked().
    pub(super) fn select_allowed(&mut self, t: u32) -> u32 {
        let at = self.ext.task(t).address + self.ext.fields.cpus_mask;
        let allowed = self.read_mask(at);
        let cpu = self.ext.task(t).cpu;
        self.any_distribute(&allowed).unwrap_or(cpu)
    }
}
