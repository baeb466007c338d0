//! A scheduler that was loaded and attached, for any number of runs.

use std::io;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use crate::btf::TypeId;
use crate::machine::{Machine, Ops, ProgramId, Topology};
use crate::memory::{Memory, Snapshot};
use crate::userspace::Starter;

/// A syscall program that a loader runs right after it has attached its scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    /// The program.
    pub program: ProgramId,
    /// What it is given.
    pub context: Vec<u8>,
    /// The CPU the loader was on.
    pub cpu: u32,
}

/// A call (BPF_JMP | BPF_CALL) with BPF_PSEUDO_KFUNC_CALL as its source register.
const KFUNC_CALL: u64 = 0x2085;

/// A frozen machine.
#[derive(Debug)]
pub struct Image {
    /// Everything but what is in memory.
    machine: Box<Machine>,
    memory: Arc<Snapshot>,
    /// Makes the machines of a scheduler that a part in user space belongs to.
    starter: Option<Box<dyn Starter>>,
}

// SAFETY: nobody changes the machine, and its pointer to a policy's machine is null.
unsafe impl Sync for Image {}

impl Image {
    pub(crate) fn new(mut machine: Box<Machine>) -> io::Result<Image> {
        let memory = std::mem::replace(&mut machine.memory, Memory::reserve()?);
        Ok(Image {
            machine,
            memory: memory.freeze()?,
            starter: None,
        })
    }

    /// Each run gets its machine from here.
    pub(crate) fn start_with(&mut self, starter: Box<dyn Starter>) {
        self.starter = Some(starter);
    }

    /// A machine for one run: the memory, maps and programs as they were when the image was frozen.
    ///
    /// # Errors
    /// The host has no memory for it, or the scheduler was loaded for another number of CPUs.
    pub fn machine(&self, topology: &Topology, seed: u64) -> io::Result<Box<Machine>> {
        let (loaded, wanted) = (self.machine.topology.cpus.len(), topology.cpus.len());
        if loaded != wanted {
            let what = format!("the scheduler was loaded for {loaded} CPUs, not for {wanted}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if let Some(starter) = &self.starter {
            let mut machine = starter.start()?;
            machine.seed(seed);
            return Ok(machine);
        }
        let memory = Memory::from_snapshot(&self.memory)?;
        let mut machine = self.machine.with_memory(memory, seed);
        machine.topology = topology.clone();
        Ok(machine)
    }

    /// A hash of the programs, and of everything in memory that no part in user space changes later: of one loaded in the
    /// same way, it is the same.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn identity(&self) -> io::Result<u128> {
        let mut hash = Xxh3::new();
        for loaded in &self.machine.programs {
            let program = &loaded.program;
            hash.update(program.name.as_bytes());
            let insns = program.insns.iter().flat_map(|insn| insn.to_le_bytes());
            hash.update(&insns.collect::<Vec<u8>>());
        }
        hash.update(format!("{:?}", self.machine.ops).as_bytes());
        if self.starter.is_none() {
            self.memory.add_to(&mut hash)?;
        }
        Ok(hash.digest128())
    }

    /// Do its operations or its programs deal with control groups?
    pub fn looks_at_groups(&self) -> bool {
        let machine = &self.machine;
        let told = machine
            .ops
            .programs
            .keys()
            .any(|op| op.starts_with("cgroup_"));
        told || machine
            .programs
            .iter()
            .any(|loaded| asks_for_groups(machine, &loaded.program.insns))
    }

    /// What the scheduler attached.
    pub fn ops(&self) -> &Ops {
        &self.machine.ops
    }
}

/// Do these instructions call a kfunc about control groups?
fn asks_for_groups(machine: &Machine, insns: &[u64]) -> bool {
    let kfuncs = insns.iter().filter(|&&insn| insn & 0xffff == KFUNC_CALL);
    let mut names = kfuncs.map(|insn| machine.kernel.btf.name(TypeId((insn >> 32) as u32)));
    names.any(|name| name.contains("cgroup") || name.contains("_css"))
}
