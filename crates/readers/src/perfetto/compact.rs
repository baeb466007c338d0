//! CompactSched: switches and wakings in columns.

use schedlab_recording::{Comm, KernelEventKind, TaskRef};
use schedlab_trace::{CpuId, Time};

use super::message::{push_column, Fields};
use super::schema::compact;
use super::{Reader, Wrong};
use crate::intake;

/// The columns by their field numbers; reused to save allocations.
#[derive(Default)]
pub struct Compact {
    columns: [Vec<u64>; 13],
    names: Vec<Comm>,
}

impl Reader {
    pub(super) fn compact_sched(&mut self, cpu: CpuId, bytes: &[u8]) -> Result<(), Wrong> {
        let mut table = std::mem::take(&mut self.compact);
        table.columns.iter_mut().for_each(Vec::clear);
        table.names.clear();
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            if number == compact::INTERN_TABLE {
                let name = super::text(value);
                table.names.push(self.intake.comm(&name));
            } else if let Some(column) = table.columns.get_mut(number as usize) {
                push_column(column, value)?;
            }
        }
        self.compact_switches(cpu, &table)?;
        self.compact_wakings(cpu, &table)?;
        self.compact = table;
        Ok(())
    }

    fn compact_switches(&mut self, cpu: CpuId, table: &Compact) -> Result<(), Wrong> {
        let [times, states, pids, prios, comms] = table.columns([
            compact::SWITCH_TIMESTAMP,
            compact::SWITCH_PREV_STATE,
            compact::SWITCH_NEXT_PID,
            compact::SWITCH_NEXT_PRIO,
            compact::SWITCH_NEXT_COMM_INDEX,
        ])?;
        let mut time = 0u64;
        for row in 0..times.len() {
            time = time.wrapping_add(times[row]);
            let next = table.task(pids[row], prios[row], comms[row])?;
            let prev = self.running(cpu).replace(next);
            // The first switch of a CPU does not name the previous task. A switch from idle to idle
            // only starts the CPU's track.
            if let Some(prev) = prev.filter(|prev| prev.pid != next.pid) {
                let kind = KernelEventKind::Switch {
                    prev,
                    prev_state: self.states.read(states[row]),
                    next,
                };
                self.intake.push(Time(time), cpu, kind);
            }
        }
        Ok(())
    }

    fn compact_wakings(&mut self, cpu: CpuId, table: &Compact) -> Result<(), Wrong> {
        let [times, pids, targets, prios, comms] = table.columns([
            compact::WAKING_TIMESTAMP,
            compact::WAKING_PID,
            compact::WAKING_TARGET_CPU,
            compact::WAKING_PRIO,
            compact::WAKING_COMM_INDEX,
        ])?;
        // Older traces lack this column.
        let flags = &table.columns[compact::WAKING_COMMON_FLAGS as usize];
        let mut time = 0u64;
        for row in 0..times.len() {
            time = time.wrapping_add(times[row]);
            let target = intake::cpu(targets[row]);
            let kind = KernelEventKind::Waking {
                task: table.task(pids[row], prios[row], comms[row])?,
                by: intake::context(flags.get(row).copied().unwrap_or(0)),
                target: target
                    .ok_or_else(|| Wrong(format!("CPU number {} is invalid", targets[row])))?,
            };
            self.intake.push(Time(time), cpu, kind);
        }
        Ok(())
    }
}

impl Compact {
    /// Columns that must have the same length.
    fn columns<const N: usize>(&self, fields: [u32; N]) -> Result<[&[u64]; N], Wrong> {
        let columns = fields.map(|field| &self.columns[field as usize][..]);
        let length = columns[0].len();
        match columns.iter().all(|column| column.len() == length) {
            true => Ok(columns),
            false => Err(Wrong(
                "compact events whose columns differ in length".into(),
            )),
        }
    }

    fn task(&self, pid: u64, prio: u64, comm: u64) -> Result<TaskRef, Wrong> {
        let pid = intake::pid(pid).ok_or_else(|| Wrong(format!("thread id {pid} is invalid")))?;
        let comm = self.names.get(comm as usize).copied();
        let comm = comm.ok_or_else(|| Wrong("a compact event without its name".into()))?;
        Ok(intake::task(pid, comm, Some(prio as i64)))
    }
}
