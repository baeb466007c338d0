//! One machine: memory, maps, programs, and the model of the kernel around them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use schedlab_trace::TaskId;

use crate::btf::Btf;
use crate::ext::Ext;
use crate::helpers::{Helper, Kfunc};
use crate::maps::{MapId, MapSpec};
use crate::memory::Memory;
use crate::Image;

/// What the kernel is built of: its types, and what programs may call.  One for all machines.
#[derive(Debug)]
pub struct Kernel {
    /// Its types, served as /sys/kernel/btf/vmlinux.
    pub btf: Arc<Btf>,
    /// Kfuncs by name; those without a FUNC in `btf` cannot be named by a program.
    pub kfuncs: BTreeMap<&'static str, Kfunc>,
    /// Helpers by number.
    pub helpers: BTreeMap<u32, Helper>,
}

impl Kernel {
    /// The simulated kernel.
    ///
    /// # Errors
    /// This program was built without a clang that compiles for BPF.
    pub fn new() -> Result<Arc<Kernel>, Refusal> {
        todo!()
    }
}

/// The machine's CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    /// Where each CPU sits.
    pub cpus: Vec<schedlab_policy::Topology>,
}

/// A number of errno.h, positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// What a program gets in r0.
    pub fn answer(self) -> u64 {
        -i64::from(self.0) as u64
    }
}

/// What kind of program it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProgramKind {
    /// A member of a struct_ops table: its context is an array of arguments.
    StructOps {
        /// The member, as "enqueue".
        member: String,
    },
    /// BPF_PROG_TYPE_SYSCALL: run by BPF_PROG_TEST_RUN with a context of its own.
    Syscall,
    /// Anything else (tracing programs): loaded, but nothing here runs it.
    Other(u32),
}

/// What BPF_PROG_LOAD asks for.
///
/// In the instructions, the file descriptors of maps are replaced by [`MapId`]s, and BPF_PSEUDO_MAP_IDX* by
/// BPF_PSEUDO_MAP_FD and BPF_PSEUDO_MAP_VALUE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its name, as the loader gives it.
    pub name: String,
    /// What it is.
    pub kind: ProgramKind,
    /// Its instructions, with those of all functions it calls.
    pub insns: Vec<u64>,
    /// First instruction and name of each function (func_info), in ascending order; may be empty.
    pub functions: Vec<(u32, String)>,
}

/// A loaded program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProgramId(pub u32);

/// Why a scheduler cannot be loaded here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{program}: {what}")]
pub struct Refusal {
    /// The program, map or object it is about.
    pub program: String,
    /// What is missing, by name, and what can be done.
    pub what: String,
}

/// A scheduler did what it must not do; the run is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The program, as "lavd_enqueue".
    pub program: String,
    /// What it did.
    pub kind: FaultKind,
}

/// What a program did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Its loops went round too often.
    Looped,
    /// Its calls are nested too deeply.
    TooDeep,
    /// It stored to an address that is not its own.
    Store {
        /// The address.
        address: u64,
        /// The function and the instruction within the program.
        at: (String, u32),
    },
    /// It reached an instruction that should never run: what its loader found missing in this kernel.
    Poison(String),
    /// What a kfunc found wrong, as scx_bpf_error().
    Error(String),
    /// It could not be compiled.
    NotCompiled(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.program)?;
        match &self.kind {
            FaultKind::Looped => write!(f, "looped without end"),
            FaultKind::TooDeep => write!(f, "called itself too deeply"),
            FaultKind::Store { address, at } => write!(
                f,
                "stored to {address:#x}, which is no memory of its own (in {}, instruction {})",
                at.0, at.1
            ),
            FaultKind::Poison(what) | FaultKind::Error(what) | FaultKind::NotCompiled(what) => {
                write!(f, "{what}")
            }
        }
    }
}

impl std::error::Error for Fault {}

/// What a scheduler attaches: the values of its struct sched_ext_ops.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ops {
    /// Its name.
    pub name: String,
    /// SCX_OPS_*.
    pub flags: u64,
    /// Watchdog, in ms; 0: the default.
    pub timeout_ms: u32,
    /// Most tasks dispatched at once; 0: the default.
    pub dispatch_max_batch: u32,
    /// Bytes of the dump at exit; 0: the default.
    pub exit_dump_len: u32,
    /// Its other numbers, by member.
    pub numbers: BTreeMap<String, u64>,
    /// Its programs, by member.
    pub programs: BTreeMap<String, ProgramId>,
}

/// What programs and the compiled prelude see of a machine; include/prelude.h has the same.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// What to add to a program's address to get the host's.
    pub delta: u64,
    /// Time, in ns.
    pub now_ns: u64,
    /// Back edges and calls left in this call from outside.
    pub budget: i64,
    /// Where the next frame of a BPF stack ends.
    pub stack: u64,
    /// The CPU that runs the program.
    pub this_cpu: u32,
    /// How deep calls are nested that could nest without end.
    pub depth: u32,
    /// Not 0: there is a fault already.
    pub failed: u32,
    /// Number of CPUs.
    pub nr_cpus: u32,
    /// Loads that were outside and gave 0.
    pub zero_loads: u64,
}

/// A timer of a program that was started; see [`Machine::take_timers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerRequest {
    /// It is to expire.
    Start {
        /// Address of its struct bpf_timer.
        timer: u64,
        /// When, in ns.
        at_ns: u64,
        /// The CPU it was started on.
        cpu: u32,
    },
    /// It is to expire no more.
    Cancel {
        /// Address of its struct bpf_timer.
        timer: u64,
    },
}

/// Tasks and their task_structs.
#[derive(Clone, Debug, Default)]
pub struct Tasks {}

impl Tasks {
    /// Address of a task's task_struct; 0: no such task.
    pub fn address(&self, task: TaskId) -> u64 {
        let _ = task;
        todo!()
    }

    /// The task whose task_struct is at this address.
    pub fn at(&self, address: u64) -> Option<TaskId> {
        let _ = address;
        todo!()
    }
}

/// One machine under one scheduler.
#[repr(C)]
#[derive(Debug)]
pub struct Machine {
    shared: Shared,
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Its CPUs.
    pub topology: Topology,
    /// All memory that programs see.
    pub memory: Memory,
    /// Tasks by number.
    pub tasks: Tasks,
    /// What each CPU runs: the address of a task_struct; 0 before anything ran.
    pub current: Vec<u64>,
    /// The model of ext.c.
    pub ext: Ext,
    /// What the scheduler attached.
    pub ops: Ops,
    /// The machine as policies see it, during a hook.
    pub sched: *mut schedlab_policy::ffi::Sched,
    /// What bpf_printk() wrote and nobody has taken yet.
    pub printed: Vec<String>,
}

impl Deref for Machine {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

// Loading.
impl Machine {
    /// A machine without maps and programs.
    ///
    /// # Errors
    /// The host has not enough address space.
    pub fn new(kernel: &Arc<Kernel>, topology: &Topology) -> io::Result<Box<Machine>> {
        let _ = (kernel, topology);
        todo!()
    }

    /// BPF_MAP_CREATE.
    ///
    /// # Errors
    /// As the kernel: EINVAL, E2BIG, ENOMEM.
    pub fn create_map(&mut self, spec: MapSpec) -> Result<MapId, Errno> {
        let _ = spec;
        todo!()
    }

    /// What a map was created as.
    pub fn map(&self, map: MapId) -> &MapSpec {
        let _ = map;
        todo!()
    }

    /// Bytes of a value as user space has it: of per-CPU maps, those of all CPUs, each in multiples of 8.
    pub fn user_value_size(&self, map: MapId) -> usize {
        let _ = map;
        todo!()
    }

    /// BPF_MAP_LOOKUP_ELEM.
    ///
    /// # Errors
    /// ENOENT, or EINVAL for a key of another size.
    pub fn map_lookup(&mut self, map: MapId, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let _ = (map, key);
        todo!()
    }

    /// BPF_MAP_UPDATE_ELEM.  For maps of maps the value is a [`MapId`], as 4 bytes.
    ///
    /// # Errors
    /// As the kernel: ENOENT, EEXIST, E2BIG, EINVAL.
    pub fn map_update(
        &mut self,
        map: MapId,
        key: &[u8],
        value: &[u8],
        flags: u64,
    ) -> Result<(), Errno> {
        let _ = (map, key, value, flags);
        todo!()
    }

    /// BPF_MAP_DELETE_ELEM.
    ///
    /// # Errors
    /// ENOENT, or EINVAL for an array.
    pub fn map_delete(&mut self, map: MapId, key: &[u8]) -> Result<(), Errno> {
        let _ = (map, key);
        todo!()
    }

    /// BPF_MAP_GET_NEXT_KEY: the key after this one, or the first.
    ///
    /// # Errors
    /// ENOENT after the last one.
    pub fn map_next_key(&mut self, map: MapId, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let _ = (map, key);
        todo!()
    }

    /// BPF_MAP_LOOKUP_AND_DELETE_ELEM.
    ///
    /// # Errors
    /// ENOENT.
    pub fn map_take(&mut self, map: MapId, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let _ = (map, key);
        todo!()
    }

    /// BPF_MAP_FREEZE: user space can change it no more.
    pub fn map_freeze(&mut self, map: MapId) {
        let _ = map;
        todo!()
    }

    /// What the loader may map instead of the map's file descriptor: maps with BPF_F_MMAPABLE, arenas, ring buffers.
    pub fn map_file(&self, map: MapId) -> Option<BorrowedFd<'_>> {
        let _ = map;
        todo!()
    }

    /// The loader has mapped an arena's file at this address.  To be said before a program that uses it is loaded.
    ///
    /// # Errors
    /// The host refuses the mapping.
    pub fn arena_mapped(&mut self, map: MapId, user_address: u64) -> io::Result<()> {
        let _ = (map, user_address);
        todo!()
    }

    /// BPF_PROG_LOAD.
    ///
    /// # Errors
    /// An instruction, a helper or a kfunc is unknown: it is named.
    pub fn load(&mut self, program: Program) -> Result<ProgramId, Refusal> {
        let _ = program;
        todo!()
    }

    /// A loaded program.
    pub fn program(&self, program: ProgramId) -> &Program {
        let _ = program;
        todo!()
    }

    /// The scheduler attached these operations.
    pub fn attach(&mut self, ops: Ops) {
        self.ops = ops;
    }

    /// The machine as it is now, to make machines of it.
    ///
    /// # Errors
    /// The host has no room for it, or the programs do not compile.
    pub fn freeze(self: Box<Self>) -> io::Result<Image> {
        todo!()
    }
}

// Running.
impl Machine {
    /// Calls a struct_ops program with arguments.
    ///
    /// # Errors
    /// What the program did wrong.
    pub fn call(&mut self, program: ProgramId, arguments: &[u64]) -> Result<u64, Fault> {
        let _ = (program, arguments);
        todo!()
    }

    /// BPF_PROG_TEST_RUN of a syscall program: it sees and changes a context of its own.
    ///
    /// # Errors
    /// What the program did wrong.
    pub fn run_syscall(&mut self, program: ProgramId, context: &mut [u8]) -> Result<u64, Fault> {
        let _ = (program, context);
        todo!()
    }

    /// Calls a function whose address a program gave to a helper: a callback.  For use within helpers and kfuncs, and by
    /// whoever lets timers expire.
    pub fn call_function(&mut self, address: u64, arguments: [u64; 5]) -> u64 {
        let _ = (address, arguments);
        todo!()
    }

    /// What programs asked of timers since the last time, in order.
    pub fn take_timers(&mut self) -> Vec<TimerRequest> {
        todo!()
    }

    /// A timer expires: its callback runs.
    ///
    /// # Errors
    /// What the callback did wrong.
    pub fn timer_expired(&mut self, timer: u64) -> Result<(), Fault> {
        let _ = timer;
        todo!()
    }

    /// The run must end; the first fault counts.  For helpers and kfuncs.
    pub fn fail(&mut self, kind: FaultKind) {
        let _ = kind;
        todo!()
    }

    /// The next random number of this machine.
    pub fn random(&mut self) -> u32 {
        todo!()
    }

    /// A new task: zeros of the size of struct task_struct.  Returns its address.
    pub fn add_task(&mut self, task: TaskId) -> u64 {
        let _ = task;
        todo!()
    }

    /// A task that is gone for good: its storage and its task_struct are freed.
    pub fn remove_task(&mut self, task: TaskId) {
        let _ = task;
        todo!()
    }

    /// A cgroup that is gone for good: its storage in maps is freed.
    pub fn forget_cgroup(&mut self, cgroup: u64) {
        let _ = cgroup;
        todo!()
    }

    /// Address of a variable of the kernel (`__ksym`), of CPU 0 if it is per CPU.
    pub fn variable(&self, name: &str) -> Option<u64> {
        let _ = name;
        todo!()
    }

    /// printf() as BPF has it, with arguments of 8 bytes each.
    pub fn format(&self, format: &str, arguments: &[u64]) -> String {
        let _ = (format, arguments);
        todo!()
    }
}
