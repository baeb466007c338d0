//! The end of a scheduler: errors, the watchdog, dumps, ops.exit().

use super::consts::{EXIT_DUMP_LEN, EXIT_MSG_LEN, NONE};
use super::{Class, Op};
use crate::fault::Fault;
use crate::machine::Machine;

/// Why a scheduler ended: enum scx_exit_kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitKind {
    /// Its part in user space has ended, and its link with it.
    Unreg,
    /// It ended itself: scx_bpf_exit().
    UnregBpf,
    /// The core found an error.
    Error,
    /// It found an error: scx_bpf_error().
    ErrorBpf,
    /// A task was runnable and did not run for too long.
    Stall,
    /// One of its programs did what the kernel's verifier would not have let it do.
    Program,
}

impl ExitKind {
    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            ExitKind::Unreg => 64,
            ExitKind::UnregBpf => 65,
            ExitKind::Error | ExitKind::Program => 1024,
            ExitKind::ErrorBpf => 1025,
            ExitKind::Stall => 1026,
        }
    }

    /// As the kernel prints it: scx_exit_reason().
    pub fn reason(self) -> &'static str {
        match self {
            ExitKind::Unreg => "unregistered from user space",
            ExitKind::UnregBpf => "unregistered from BPF",
            ExitKind::Error => "runtime error",
            ExitKind::ErrorBpf => "scx_bpf_error",
            ExitKind::Stall => "runnable task stall",
            ExitKind::Program => "a program failed",
        }
    }
}

/// What ended a scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    /// The kind of end.
    pub kind: ExitKind,
    /// What scx_bpf_exit() was given.
    pub code: i64,
    /// The message, as the kernel prints it.
    pub message: String,
    /// The operation that was being called.
    pub op: Option<Op>,
    /// The task it was called for, or that stalled.
    pub task: Option<schedlab_trace::TaskId>,
}

/// What is known of the end.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    exit: Option<Exit>,
    /// ops.init() was successful.
    pub initialized: bool,
    /// What is being dumped; none: nothing is.
    pub dump: Option<String>,
    /// ops.exit() has been called.
    done: bool,
}

impl State {
    pub fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }
}

impl Machine {
    /// scx_exit(): the first one counts.
    #[cold]
    pub(super) fn scx_exit(&mut self, kind: ExitKind, code: i64, mut message: String) {
        if self.ext.exit.exit.is_some() {
            return;
        }
        while message.len() >= EXIT_MSG_LEN {
            message.pop();
        }
        let context = self.ext.context;
        self.ext.exit.exit = Some(Exit {
            kind,
            code,
            message,
            op: context.op(),
            task: context.task().map(schedlab_trace::TaskId),
        });
    }

    /// scx_error()
    #[cold]
    pub(super) fn scx_error(&mut self, message: String) {
        self.scx_exit(ExitKind::Error, 0, message);
    }

    /// A program did something wrong.
    #[cold]
    pub(super) fn program_fault(&mut self, fault: &Fault) {
        self.scx_exit(ExitKind::Program, 0, fault.to_string());
    }

    /// ops_cpu_valid(): a number that a scheduler gave as a CPU.
    pub(super) fn ops_cpu_valid(&mut self, cpu: i32, place: &str) -> Option<u32> {
        let valid = u32::try_from(cpu).ok().filter(|&cpu| cpu < self.nr_cpus);
        if valid.is_none() {
            let space = if place.is_empty() { "" } else { " " };
            self.scx_error(format!("invalid CPU {cpu}{space}{place}"));
        }
        valid
    }

    /// ops_sanitize_err(), for what an operation answered that is not 0.
    pub(super) fn ops_failed(&mut self, op: Op, answer: i32) {
        let name = op.name();
        if !(-4095..0).contains(&answer) {
            return self.scx_error(format!("ops.{name}() returned an invalid errno {answer}"));
        }
        self.scx_error(format!("ops.{name}() failed ({answer})"));
    }

    // ---- the watchdog ----------------------------------------------------------------

    /// scx_watchdog_workfn() and check_rq_for_timeouts().
    pub(super) fn check_timeouts(&mut self) {
        let tick = self.tick_ns();
        let (now, timeout) = (self.jiffies(), self.ext.timeout_ns / tick);
        let waits = |t: &u32| {
            let found = self.ext.task(*t);
            let since = found.runnable?;
            (now > self.runnable_at(*t) + timeout).then_some((found.cpu, since, *t))
        };
        let tasks = 0..self.ext.tasks.len() as u32;
        let Some((_, _, t)) = tasks.filter_map(|t| waits(&t)).min() else {
            return;
        };
        let ms = (now - self.runnable_at(t)) * tick / 1_000_000;
        let name = self.task_name(t);
        self.ext.context = super::Context::about(t);
        let message = format!("{name} failed to run for {}.{:03}s", ms / 1000, ms % 1000);
        self.scx_exit(ExitKind::Stall, 0, message);
    }

    // ---- the end -----------------------------------------------------------------------

    /// What the user is told about the end, once the scheduler has been told: none if there is no end.
    pub(super) fn end(&mut self) -> Option<Exit> {
        let exit = self.ext.exit.exit.clone()?;
        if !std::mem::replace(&mut self.ext.exit.done, true) {
            self.take_fault();
            self.tell_scheduler(&exit);
        }
        Some(exit)
    }

    pub(super) fn new_string(&mut self, text: &str) -> u64 {
        let address = self.memory.allocate(text.len() as u64 + 1);
        let _ = self.memory.write(address, text.as_bytes());
        address
    }

    /// scx_dump_state() and ops.exit().
    ///
    /// FIDELITY: tasks are not disabled first; the run is over anyway.
    fn tell_scheduler(&mut self, exit: &Exit) {
        let fields = self.ext.fields;
        let btf = self.kernel.btf.clone();
        let size = |name: &str| u64::from(btf.size_of(name).unwrap_or(0));
        let info = self.memory.allocate(size("scx_exit_info"));
        let reason = self.new_string(exit.kind.reason());
        let message = self.new_string(&exit.message);
        if !matches!(exit.kind, ExitKind::Unreg | ExitKind::UnregBpf) {
            self.dump(exit, reason);
        }
        let dump = self.ext.exit.dump.take().unwrap_or_default();
        let dump = self.new_string(&dump);
        self.store(info + fields.exit_kind, exit.kind.number());
        self.store(info + fields.exit_code, exit.code);
        let initialized = u64::from(self.ext.exit.initialized);
        self.store(info + fields.exit_flags, initialized);
        self.store(info + fields.exit_reason, reason);
        self.store(info + fields.exit_msg, message);
        self.store(info + fields.exit_dump, dump);
        self.take_fault();
        self.op(Op::Exit, None, [None; 2], &[info]);
    }

    fn dump(&mut self, exit: &Exit, reason: u64) {
        let fields = self.ext.fields;
        let context = self.memory.allocate(64);
        self.store(context + fields.dump_kind, exit.kind.number());
        self.store(context + fields.dump_code, exit.code);
        self.store(context + fields.dump_reason, reason);
        self.store(context + fields.dump_at_ns, self.now_ns);
        self.store(context + fields.dump_at_jiffies, self.jiffies());
        self.ext.exit.dump = Some(String::new());
        self.op(Op::Dump, None, [None; 2], &[context]);
        for cpu in 0..self.nr_cpus {
            let idle = self.ext.rqs.get(cpu as usize);
            let idle = idle.is_none_or(|rq| rq.curr == NONE && rq.nr_running == 0);
            let arguments = [context, u64::from(cpu), u64::from(idle)];
            self.op(Op::DumpCpu, None, [None; 2], &arguments);
        }
        for t in 0..self.ext.tasks.len() as u32 {
            let found = self.ext.task(t);
            if found.address != 0 && found.class == Class::Ext && found.runnable.is_some() {
                let arguments = [context, found.address];
                self.op(Op::DumpTask, None, [Some(t), None], &arguments);
            }
        }
    }

    /// Adds to the dump; false if nothing is being dumped.
    pub(super) fn add_to_dump(&mut self, text: &str) -> bool {
        let most = match self.ops.exit_dump_len {
            0 => EXIT_DUMP_LEN,
            len => len as usize,
        };
        let Some(dump) = &mut self.ext.exit.dump else {
            return false;
        };
        let room = most.saturating_sub(dump.len() + 1);
        dump.extend(text.chars().take(room));
        true
    }
}
