//! One machine: memory, maps, programs, and the model of the kernel around them.

use std::collections::BTreeMap;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schedlab_policy::MAX_CPUS;
use schedlab_trace::TaskId;

use crate::btf::{Btf, Kind, TypeId};
use crate::compile::{Code, Function};
use crate::ext::{self, Ext};
use crate::fault::{Fault, FaultKind};
use crate::helpers::{self, Call, Helper, Kept, Kfunc, Offsets};
use crate::load::place_variables;
use crate::maps::{Map, MapId, MapKind};
use crate::memory::Memory;
use crate::read::{self, Refers, World};
use crate::translate;
use crate::userspace::UserSpace;

/// What the kernel is built of: its types, and what programs may call.  One for all machines.
#[derive(Debug)]
pub struct Kernel {
    /// Its types, served as /sys/kernel/btf/vmlinux.
    pub btf: Arc<Btf>,
    /// Kfuncs by name; those without a FUNC in `btf` cannot be named by a program.
    pub kfuncs: BTreeMap<&'static str, Kfunc>,
    /// Helpers by number.
    pub helpers: BTreeMap<u32, Helper>,
    /// Where the fields are that helpers look at.
    pub(crate) offsets: Offsets,
}

impl Kernel {
    /// The simulated kernel.
    ///
    /// # Errors
    /// This program was built without a clang that compiles for BPF.
    pub fn new() -> Result<Arc<Kernel>, Refusal> {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/kernel.btf"));
        let btf = Btf::parse(bytes).map_err(|_| Refusal {
            program: "sched_ext".into(),
            what: "this schedlab was built without clang 19 or later, so it has no kernel for sched_ext schedulers \
                   (scripts/setup.sh installs it; then build again)"
                .into(),
        })?;
        let kfuncs = helpers::KFUNCS.iter().chain(ext::KFUNCS);
        Ok(Arc::new(Kernel {
            offsets: Offsets::new(&btf),
            btf: Arc::new(btf),
            kfuncs: kfuncs.map(|kfunc| (kfunc.name, *kfunc)).collect(),
            helpers: helpers::HELPERS
                .iter()
                .map(|helper| (helper.id, *helper))
                .collect(),
        }))
    }

    /// What a call of a program that was read here calls.
    pub(crate) fn call(&self, refers: Refers) -> Call {
        match refers {
            Refers::Helper(id) => self.helpers[&id].call,
            Refers::Kfunc(id) => self.kfuncs[self.btf.name(id)].call,
            _ => unreachable!("only helpers and kfuncs are called through the table"),
        }
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
    /// A tracing program of a tracepoint that happens: its context is an array of arguments.
    Tracepoint(ext::Tracepoint),
    /// BPF_PROG_TYPE_SYSCALL: run by BPF_PROG_TEST_RUN with a context of its own.
    Syscall,
    /// Anything else (tracing programs): loaded, but nothing here runs it.
    Other(u32),
}

/// What BPF_PROG_LOAD asks for.
///
/// In the instructions, the file descriptors of maps are replaced by [`MapId`]s, and BPF_PSEUDO_MAP_IDX* by
/// BPF_PSEUDO_MAP_FD and BPF_PSEUDO_MAP_VALUE.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name, as the loader gives it.
    pub name: String,
    /// What it is.
    pub kind: ProgramKind,
    /// Its instructions, with those of all functions it calls.
    pub insns: Vec<u64>,
    /// First instruction and name of each function (func_info), in ascending order; may be empty.
    pub functions: Vec<(u32, String)>,
    /// The object's types (prog_btf_fd).
    pub btf: Option<Arc<Btf>>,
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
    /// Its tracing programs, in the order in which they were attached.
    pub tracepoints: Vec<(ext::Tracepoint, ProgramId)>,
    /// What its loader runs after ops.init().
    pub started: Vec<crate::Started>,
}

/// What programs and the compiled prelude see of a machine; struct machine in include/prelude.h has the same.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Shared {
    /// What to add to a program's address to get the host's.
    pub(crate) delta: u64,
    /// Time, in ns.
    pub now_ns: u64,
    /// Back edges and calls left in this call from outside.
    pub(crate) budget: i64,
    /// Where the next frame of a BPF stack ends.
    pub(crate) stack: u64,
    /// Where the stack ends.
    pub(crate) stack_end: u64,
    /// Loads that were outside and gave 0.
    pub zero_loads: u64,
    /// Stores through NULL pointers to an arena, which were left out.
    pub left_out_stores: u64,
    /// The CPU that runs the program.
    pub this_cpu: u32,
    /// Number of CPUs.
    pub nr_cpus: u32,
    /// Not 0: there is a fault already.
    pub(crate) failed: u32,
    /// How deep calls from outside and of callbacks are nested.
    pub(crate) depth: u32,
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

/// A struct bpf_timer that was initialised.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    /// The map its value is in.
    pub map: MapId,
    /// The value.
    pub value: u64,
    /// The value's key.
    pub key: Vec<u8>,
    /// The callback; 0: none yet.
    pub callback: u64,
    /// It was started and has not expired.
    pub armed: bool,
}

/// A program and, once it is compiled, where it begins.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub program: Arc<Program>,
    pub functions: Arc<Vec<read::Function>>,
    pub entry: Option<Function>,
    /// Unit of code.
    pub unit: usize,
}

/// How often the loops of one call from outside may go round, and how many calls it may make.
pub const BUDGET: i64 = 1 << 26;

/// Addresses below are those of a NULL pointer and a field.
const NULL_END: u64 = 64 << 10;

/// Bytes of the stack of all BPF programs of a machine.
const STACK: u64 = 160 << 10;

/// How deep calls from outside and callbacks may be nested.
const MOST_NESTED: u32 = 32;

/// Before an object that owns storage: [`OWNED`] pointers to values, then a number and a mark.
pub(crate) const OWNER_HEAD: u64 = 64 + 8 * OWNED as u64;

/// Most storage maps whose values are found fast.
pub(crate) const OWNED: u32 = 64;

/// Marks objects that own storage; OWNER in prelude.h.
const OWNER_MARK: u64 = 0x7363_785f_6f77_6e72;

/// One machine under one scheduler.
#[repr(C)]
#[derive(Debug)]
pub struct Machine {
    pub(crate) shared: Shared,
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Its CPUs.
    pub topology: Topology,
    /// All memory that programs see.
    pub memory: Memory,
    /// Address of each task's task_struct; 0: no such task.
    pub tasks: Vec<u64>,
    /// What each CPU runs: the address of a task_struct; 0 before anything ran.
    pub current: Vec<u64>,
    /// The model of ext.c.
    pub ext: Ext,
    /// What the scheduler attached.
    pub ops: Ops,
    /// The machine as policies see it, during a hook.
    pub sched: *mut schedlab_policy::ffi::Sched,
    /// The scheduler's part in user space, if it takes part; none while it runs.
    pub(crate) user_space: Option<Box<dyn UserSpace>>,
    /// It takes part, and maps the files of this machine's maps.
    pub(crate) is_live: bool,
    /// A record was put into a ring buffer since it last ran.
    pub(crate) user_space_hears: bool,
    /// What bpf_printk() wrote and nobody has taken yet.
    pub printed: Vec<String>,
    pub(crate) maps: Vec<Map>,
    pub(crate) timers: BTreeMap<u64, Timer>,
    pub(crate) requests: Vec<TimerRequest>,
    /// Address of each cgroup there is, the root first.
    pub cgroups: Vec<u64>,
    /// State of what helpers and kfuncs keep.
    pub(crate) kept: Kept,
    pub(crate) programs: Vec<Loaded>,
    pub(crate) units: Vec<Arc<Code>>,
    pub(crate) variables: Arc<BTreeMap<TypeId, u64>>,
    /// What instructions need of the kernel's types, by function, for messages.
    pub(crate) relocations: Arc<BTreeMap<(String, u32), String>>,
    fault: Option<Fault>,
    running: ProgramId,
    pub(crate) nr_storages: u32,
    random: u64,
}

// SAFETY: `sched` is set by whoever calls a hook, for the time of the hook.
unsafe impl Send for Machine {}

impl Deref for Machine {
    type Target = Shared;
    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl DerefMut for Machine {
    #[inline]
    fn deref_mut(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

impl Machine {
    /// A machine without maps and programs.
    ///
    /// # Errors
    /// The host has not enough address space.
    ///
    /// # Panics
    /// If there is no CPU, or more than [`MAX_CPUS`].
    pub fn new(kernel: &Arc<Kernel>, topology: &Topology) -> io::Result<Box<Machine>> {
        let nr_cpus = topology.cpus.len();
        assert!((1..=MAX_CPUS).contains(&nr_cpus), "1 to {MAX_CPUS} CPUs");
        let mut memory = Memory::new()?;
        let stack_end = memory.allocate(STACK);
        let variables = place_variables(&kernel.btf, &mut memory, nr_cpus as u32);
        Ok(Box::new(Machine {
            shared: Shared {
                delta: memory.delta(),
                now_ns: 0,
                budget: BUDGET,
                stack: stack_end + STACK,
                stack_end,
                zero_loads: 0,
                left_out_stores: 0,
                this_cpu: 0,
                nr_cpus: nr_cpus as u32,
                failed: 0,
                depth: 0,
            },
            kernel: kernel.clone(),
            topology: topology.clone(),
            memory,
            tasks: Vec::new(),
            current: vec![0; nr_cpus],
            ext: Ext::default(),
            ops: Ops::default(),
            sched: std::ptr::null_mut(),
            user_space: None,
            is_live: false,
            user_space_hears: false,
            printed: Vec::new(),
            maps: Vec::new(),
            timers: BTreeMap::new(),
            requests: Vec::new(),
            cgroups: Vec::new(),
            kept: Kept::default(),
            programs: Vec::new(),
            units: Vec::new(),
            variables: Arc::new(variables),
            relocations: Arc::default(),
            fault: None,
            running: ProgramId(0),
            nr_storages: 0,
            random: 0,
        }))
    }

    /// A machine like this one with other memory, for a run.
    pub(crate) fn with_memory(&self, memory: Memory, seed: u64) -> Box<Machine> {
        Box::new(Machine {
            shared: Shared {
                delta: memory.delta(),
                zero_loads: 0,
                left_out_stores: 0,
                ..self.shared
            },
            kernel: self.kernel.clone(),
            topology: self.topology.clone(),
            memory,
            tasks: self.tasks.clone(),
            current: self.current.clone(),
            ext: self.ext.clone(),
            ops: self.ops.clone(),
            sched: std::ptr::null_mut(),
            user_space: None,
            is_live: false,
            user_space_hears: false,
            printed: Vec::new(),
            maps: self.maps.clone(),
            timers: self.timers.clone(),
            requests: self.requests.clone(),
            cgroups: self.cgroups.clone(),
            kept: self.kept.clone(),
            programs: self.programs.clone(),
            units: self.units.clone(),
            variables: self.variables.clone(),
            relocations: self.relocations.clone(),
            fault: self.fault.clone(),
            running: self.running,
            nr_storages: self.nr_storages,
            random: seed,
        })
    }
}

// Running.
impl Machine {
    /// Calls a struct_ops program with arguments.
    ///
    /// # Errors
    /// What the program did wrong.
    pub fn call(&mut self, program: ProgramId, arguments: &[u64]) -> Result<u64, Fault> {
        let size = (8 * arguments.len() as u64).next_multiple_of(16);
        let context = self.shared.stack.wrapping_sub(size);
        for (i, &argument) in arguments.iter().enumerate() {
            // The stack is inside the region; a full one is found by the program.
            let _ = self.memory.set(context + 8 * i as u64, argument);
        }
        self.run(program, context)
    }

    /// BPF_PROG_TEST_RUN of a syscall program: it sees and changes a context of its own.
    ///
    /// # Errors
    /// What the program did wrong.
    pub fn run_syscall(&mut self, program: ProgramId, context: &mut [u8]) -> Result<u64, Fault> {
        let address = self.memory.allocate(context.len() as u64);
        let _ = self.memory.write(address, context);
        let answer = self.run(program, address);
        if let Some(bytes) = self.memory.bytes(address, context.len() as u64) {
            context.copy_from_slice(bytes);
        }
        self.memory.free(address, context.len() as u64);
        answer
    }

    /// Runs a program; its context ends below the stack, or is elsewhere.
    fn run(&mut self, program: ProgramId, context: u64) -> Result<u64, Fault> {
        let Some(entry) = self.programs[program.0 as usize].entry else {
            return self.compile_and_run(program, context);
        };
        let stack = self.shared.stack;
        let outer = std::mem::replace(&mut self.running, program);
        if (self.shared.stack_end..stack).contains(&context) {
            self.shared.stack = context;
        }
        if self.shared.depth == 0 && self.shared.failed == 0 {
            self.shared.budget = BUDGET;
        }
        self.shared.depth += 1;
        let answer = match self.shared.depth > MOST_NESTED || self.shared.failed != 0 {
            true => {
                self.fail(FaultKind::TooDeep);
                0
            }
            false => entry(self, context, 0, 0, 0, 0),
        };
        self.shared.depth -= 1;
        self.shared.stack = stack;
        self.running = outer;
        match self.shared.failed {
            0 => Ok(answer),
            _ => Err(self.fault.clone().expect("who fails says why")),
        }
    }

    #[cold]
    fn compile_and_run(&mut self, program: ProgramId, context: u64) -> Result<u64, Fault> {
        let name = self.program(program).name.clone();
        let failed = |what: String| {
            Err(Fault {
                program: name,
                kind: FaultKind::NotCompiled(what),
            })
        };
        match self.compile() {
            Ok(()) if self.programs[program.0 as usize].entry.is_some() => {
                self.run(program, context)
            }
            Ok(()) => failed("is no program that runs here".into()),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Calls a function whose address a program gave to a helper: a callback.  For use within helpers and kfuncs, and by
    /// whoever lets timers expire.
    pub fn call_function(&mut self, address: u64, arguments: [u64; 5]) -> u64 {
        let offset = address.wrapping_sub(translate::FUNCTIONS);
        let (unit, place) = ((offset >> 20) as usize, (offset & 0xf_ffff) as usize / 16);
        let code = self.units.get(unit).filter(|_| offset % 16 == 0);
        let Some(&function) = code.and_then(|code| code.functions.get(place)) else {
            self.fail(FaultKind::Poison(format!(
                "called {address:#x}, which is no function"
            )));
            return 0;
        };
        if self.shared.depth >= MOST_NESTED {
            self.fail(FaultKind::TooDeep);
        }
        if self.shared.failed != 0 {
            return 0;
        }
        let [r1, r2, r3, r4, r5] = arguments;
        self.shared.depth += 1;
        let answer = function(self, r1, r2, r3, r4, r5);
        self.shared.depth -= 1;
        answer
    }

    /// Counts one round of a loop that a helper makes; false: there were too many.
    pub(crate) fn tick(&mut self) -> bool {
        self.shared.budget -= 1;
        if self.shared.budget < 0 {
            self.fail(FaultKind::Looped);
        }
        self.shared.failed == 0
    }

    /// Room on the BPF stack for the time of a call; to be given back with [`Machine::pop`].
    pub(crate) fn push(&mut self, bytes: &[u8]) -> u64 {
        let size = (bytes.len() as u64).next_multiple_of(16);
        self.shared.stack -= size;
        let _ = self.memory.write(self.shared.stack, bytes);
        self.shared.stack
    }

    /// Gives back what [`Machine::push`] took.
    pub(crate) fn pop(&mut self, len: usize) {
        self.shared.stack += (len as u64).next_multiple_of(16);
    }

    /// What programs asked of timers since the last time, in order.
    pub fn take_timers(&mut self) -> Vec<TimerRequest> {
        std::mem::take(&mut self.requests)
    }

    /// A timer expires: its callback runs.  A timer that was cancelled meanwhile does nothing.
    ///
    /// # Errors
    /// What the callback did wrong.
    pub fn timer_expired(&mut self, timer: u64) -> Result<(), Fault> {
        let Some(found) = self.timers.get_mut(&timer).filter(|timer| timer.armed) else {
            return Ok(());
        };
        found.armed = false;
        let (callback, value, key) = (found.callback, found.value, found.key.clone());
        let map = self.maps[found.map.0 as usize].address;
        if self.shared.depth == 0 && self.shared.failed == 0 {
            self.shared.budget = BUDGET;
        }
        let at = self.push(&key);
        self.call_function(callback, [map, at, value, 0, 0]);
        self.pop(key.len());
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// The run must end; the first fault counts.  For helpers and kfuncs.
    #[cold]
    pub fn fail(&mut self, kind: FaultKind) {
        self.shared.budget = 0;
        if self.shared.failed != 0 {
            return;
        }
        self.shared.failed = 1;
        let program = self.programs.get(self.running.0 as usize);
        let program = program.map_or_else(String::new, |loaded| loaded.program.name.clone());
        self.fault = Some(Fault { program, kind });
    }

    /// Forgets a fault, so that programs can run again: what ends a scheduler is its own program, too.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.shared.failed = 0;
        self.fault.take()
    }

    /// Starts the random numbers of a run.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = seed;
    }

    /// The next random number of this machine.
    pub fn random(&mut self) -> u32 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    }

    /// A new object of the kernel that BPF storage can belong to, all zeros: a task_struct, a cgroup.
    pub fn add_owner(&mut self, size: u64) -> u64 {
        let address = self.memory.allocate(OWNER_HEAD + size) + OWNER_HEAD;
        let _ = self.memory.set(address - 8, OWNER_MARK);
        let _ = self.memory.set(address - 16, u64::MAX);
        address
    }

    /// Such an object is gone for good, with its storage.
    pub fn remove_owner(&mut self, address: u64, size: u64) {
        self.forget_storage(address);
        let _ = self.memory.set(address - 8, 0_u64);
        self.memory.free(address - OWNER_HEAD, OWNER_HEAD + size);
    }

    fn task_size(&self) -> u64 {
        u64::from(self.kernel.btf.size_of("task_struct").unwrap_or(0))
    }

    /// A new task: zeros of the size of struct task_struct.  Returns its address.
    pub fn add_task(&mut self, task: TaskId) -> u64 {
        let address = self.add_owner(self.task_size());
        let _ = self.memory.set(address - 16, u64::from(task.0));
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, 0);
        }
        self.tasks[task.index()] = address;
        address
    }

    /// A task that is gone for good: its storage and its task_struct are freed.
    pub fn remove_task(&mut self, task: TaskId) {
        let address = std::mem::take(&mut self.tasks[task.index()]);
        if address != 0 {
            self.remove_owner(address, self.task_size());
        }
    }

    /// The task whose task_struct is at this address.
    #[inline]
    pub fn task_at(&self, address: u64) -> Option<TaskId> {
        let number: u64 = self.memory.get(address.wrapping_sub(16));
        let number = u32::try_from(number).ok()?;
        let known = *self.tasks.get(number as usize)? == address && address != 0;
        known.then_some(TaskId(number))
    }

    /// Where an owner's pointer to its value of a storage map is.
    pub(crate) fn storage_pointer(&self, map: MapId, owner: u64) -> Option<u64> {
        let marked = self.memory.get::<u64>(owner.wrapping_sub(8)) == OWNER_MARK;
        let before = self.storage(map).filter(|_| marked)?;
        Some(owner - before)
    }

    /// Address of a variable of the kernel (`__ksym`), of CPU 0 if it is per CPU: that of other CPUs is
    /// [`PER_CPU_STRIDE`](crate::memory::PER_CPU_STRIDE) further each.
    pub fn variable(&self, name: &str) -> Option<u64> {
        let id = self.kernel.btf.find(Kind::Var, name)?;
        self.variables.get(&id).copied()
    }

    /// Types of the object that the running program is from.
    pub(crate) fn object_types(&self) -> Option<Arc<Btf>> {
        let running = self.programs.get(self.running.0 as usize)?;
        running.program.btf.clone()
    }

    fn function_name(&self, function: usize) -> String {
        let unit = self
            .programs
            .get(self.running.0 as usize)
            .map_or(0, |loaded| loaded.unit);
        let names = self.units.get(unit).map(|code| &code.names);
        names
            .and_then(|names| names.get(function))
            .cloned()
            .unwrap_or_default()
    }
}

// What translated code calls when something is wrong.

pub(crate) extern "C" fn store_fault(
    m: &mut Machine,
    address: u64,
    site: u64,
    _: u64,
    _: u64,
    _: u64,
) -> u64 {
    // A NULL pointer to an arena: the kernel leaves such a store out.  The verifier accepts no other NULL to be
    // stored to.
    if address < NULL_END && m.maps.iter().any(|map| map.spec.kind == MapKind::Arena) {
        m.shared.left_out_stores += 1;
        return 0;
    }
    let (function, instruction) = translate::function_and_instruction(site);
    let at = (m.function_name(function), instruction);
    m.fail(FaultKind::Store { address, at });
    0
}

pub(crate) extern "C" fn limit_fault(
    m: &mut Machine,
    kind: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) -> u64 {
    m.fail(match kind {
        0 => FaultKind::Looped,
        _ => FaultKind::TooDeep,
    });
    0
}

pub(crate) extern "C" fn poison_fault(
    m: &mut Machine,
    number: u64,
    site: u64,
    _: u64,
    _: u64,
    _: u64,
) -> u64 {
    let (function, instruction) = translate::function_and_instruction(site);
    let name = m.function_name(function);
    let needed = m.relocations.get(&(name.clone(), instruction));
    let what = match (number, needed) {
        (2_002_000_000.., _) => "called a kfunc that this kernel does not have".into(),
        (2_001_000_000.., _) => "used a map that its loader did not create".into(),
        (_, Some(needed)) => format!("used {needed}, which this kernel does not have"),
        _ => "used a field or type that this kernel does not have".into(),
    };
    m.fail(FaultKind::Poison(format!(
        "{what} (in {name}, instruction {instruction})"
    )));
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_prelude_has_the_same_structure() {
        let text = translate::PRELUDE;
        let start = text.find("struct machine {").unwrap();
        let body = &text[start..start + text[start..].find('}').unwrap()];
        let names: Vec<&str> = body
            .lines()
            .skip(1)
            .filter_map(|line| line.trim().strip_suffix(';')?.split(' ').next_back())
            .collect();
        macro_rules! same {
            ($($field:ident),*) => {
                let fields = [$((stringify!($field), offset_of!(Shared, $field))),*];
                let sorted = fields.is_sorted_by_key(|field| field.1);
                assert!(sorted);
                assert_eq!(names, fields.map(|field| field.0));
            };
        }
        same!(
            delta,
            now_ns,
            budget,
            stack,
            stack_end,
            zero_loads,
            left_out_stores,
            this_cpu,
            nr_cpus,
            failed,
            depth
        );
        assert_eq!(offset_of!(Machine, shared), 0);
    }
}
