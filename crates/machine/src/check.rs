//! Checks whether a machine can exist.

use std::collections::BTreeMap;

use crate::{Cpu, Machine, LOCAL_DISTANCE, MAX_CPUS};

impl Machine {
    /// Can this machine exist?  Readers check it before they return a machine;
    /// programs that build a machine can check it, too.
    ///
    /// # Errors
    /// One sentence, without a full stop, about the first thing that is impossible.
    pub fn check(&self) -> Result<(), String> {
        let nr_cpus = self.cpus.len();
        if nr_cpus == 0 || nr_cpus > MAX_CPUS as usize {
            return Err(format!("{nr_cpus} CPUs; a machine has 1 to {MAX_CPUS}"));
        }
        if !(1..=1000).contains(&self.smt_speed_milli) {
            return Err(format!(
                "smt_speed_milli is {}; it is 1 to 1000",
                self.smt_speed_milli
            ));
        }
        if self.cpus.len() > 1 && !self.smp {
            return Err("smp is false, but there are several CPUs".into());
        }
        if !(10..=10_000).contains(&self.hz) {
            return Err(format!("hz is {}; it is 10 to 10000", self.hz));
        }
        for (number, cpu) in self.cpus.iter().enumerate() {
            self.check_cpu(number, cpu)?;
        }
        if !self.cpus.iter().any(|cpu| cpu.capacity == 1024) {
            return Err("no CPU has capacity 1024; the fastest CPU has it".into());
        }
        self.check_distances()?;
        self.check_sharing()
    }

    fn check_cpu(&self, number: usize, cpu: &Cpu) -> Result<(), String> {
        if !(1..=1024).contains(&cpu.capacity) {
            return Err(format!(
                "CPU {number} has capacity {}; it is 1 to 1024",
                cpu.capacity
            ));
        }
        if cpu.cache as usize >= self.caches.len() {
            return Err(format!(
                "CPU {number} uses cache {}, which is not described",
                cpu.cache
            ));
        }
        Ok(())
    }

    /// Distances are a symmetric square of all nodes.
    fn check_distances(&self) -> Result<(), String> {
        let (rows, nodes) = (&self.distances, self.nr_nodes());
        if rows.is_empty() {
            return Ok(());
        }
        if rows.iter().any(|row| row.len() != rows.len()) {
            return Err("distances are not a square".into());
        }
        if rows.len() != nodes {
            let given = rows.len();
            return Err(format!(
                "distances between {given} nodes, but the machine has {nodes}"
            ));
        }
        for (from, row) in rows.iter().enumerate() {
            if row[from] != LOCAL_DISTANCE {
                return Err(format!(
                    "the distance of node {from} from itself is {}; it is {LOCAL_DISTANCE}",
                    row[from]
                ));
            }
            if let Some(to) = (0..nodes).find(|&to| row[to] != rows[to][from]) {
                return Err(format!(
                    "the distance from node {from} to node {to} is {}, back it is {}",
                    row[to], rows[to][from]
                ));
            }
        }
        Ok(())
    }

    /// SMT siblings are one core seen twice, and a cache belongs to one node.
    fn check_sharing(&self) -> Result<(), String> {
        let mut cores: BTreeMap<u32, (usize, &Cpu)> = BTreeMap::new();
        let mut caches: BTreeMap<u32, (usize, &Cpu)> = BTreeMap::new();
        for (number, cpu) in self.cpus.iter().enumerate() {
            let (first, sibling) = *cores.entry(cpu.core).or_insert((number, cpu));
            if sibling != cpu {
                return Err(format!(
                    "CPUs {first} and {number} are SMT siblings but differ in node, cache or capacity"
                ));
            }
            let (first, neighbour) = *caches.entry(cpu.cache).or_insert((number, cpu));
            if neighbour.node != cpu.node {
                return Err(format!(
                    "CPUs {first} and {number} share a cache but not a node"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(change: impl Fn(&mut Machine), message: &str) {
        let mut machine = Machine::ideal(4);
        machine.check().unwrap();
        change(&mut machine);
        assert_eq!(machine.check().unwrap_err(), message);
    }

    #[test]
    fn impossible_machines_are_refused() {
        refused(|m| m.cpus.clear(), "0 CPUs; a machine has 1 to 1024");
        refused(
            |m| m.cpus = vec![m.cpus[0]; 5000],
            "5000 CPUs; a machine has 1 to 1024",
        );
        refused(
            |m| m.cpus[2].cache = 1,
            "CPU 2 uses cache 1, which is not described",
        );
        refused(
            |m| m.cpus[3].capacity = 0,
            "CPU 3 has capacity 0; it is 1 to 1024",
        );
        refused(
            |m| m.cpus.iter_mut().for_each(|cpu| cpu.capacity = 512),
            "no CPU has capacity 1024; the fastest CPU has it",
        );
        refused(
            |m| m.smp = false,
            "smp is false, but there are several CPUs",
        );
        refused(|m| m.hz = 0, "hz is 0; it is 10 to 10000");
        refused(
            |m| m.smt_speed_milli = 1001,
            "smt_speed_milli is 1001; it is 1 to 1000",
        );
        let split_core = |m: &mut Machine| {
            m.cpus[1].core = 0;
            m.cpus[1].node = 1;
        };
        refused(
            split_core,
            "CPUs 0 and 1 are SMT siblings but differ in node, cache or capacity",
        );
        refused(
            |m| m.cpus[3].node = 1,
            "CPUs 0 and 3 share a cache but not a node",
        );
    }
}
