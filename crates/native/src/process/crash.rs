//! Reports a policy that crashes or hangs before the process ends.
//!
//! Hooks are C: a hook can follow a stray pointer or recurse without end. In the BPF back end the
//! kernel's verifier excludes this. Natively the process ends, after it has printed the policy and
//! the hook.

use std::cell::Cell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use schedlab_trace::TaskId;

use super::compile::checks_undefined;
use super::source_line::source_line;
use super::text::Text;
use crate::{ffi, Hook, Policy};

/// Unfinished files, as a list that only grows; the newest is first.
static UNFINISHED: AtomicPtr<Unfinished> = AtomicPtr::new(ptr::null_mut());

struct Unfinished {
    path: CString,
    next: *mut Unfinished,
}

/// A crash removes the file at `path`, if it exists then.
pub fn remove_on_crash(path: &Path) {
    // A path contains no NUL.
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return;
    };
    let next = UNFINISHED.load(Ordering::Acquire);
    let entry = Box::leak(Box::new(Unfinished { path, next }));
    while let Err(newer) =
        UNFINISHED.compare_exchange(entry.next, entry, Ordering::AcqRel, Ordering::Acquire)
    {
        entry.next = newer;
    }
}

/// Makes only async-signal-safe calls: unlink(2).
fn remove_unfinished() {
    let mut entry = UNFINISHED.load(Ordering::Acquire);
    // SAFETY: entries are leaked boxes that never change once they are in the list.
    while let Some(unfinished) = unsafe { entry.as_ref() } {
        // SAFETY: a valid C string.
        unsafe { libc::unlink(unfinished.path.as_ptr()) };
        entry = unfinished.next;
    }
}

/// A call of a hook.
#[derive(Clone, Copy)]
struct Call {
    policy: Policy,
    hook: Hook,
    /// The machine of the call; it outlives the call.
    machine: *const ffi::Sched,
    task: Option<TaskId>,
    /// Number of signals of a [`HookTimer`] during this call.
    met: u32,
}

thread_local! {
    static RUNNING: Cell<Option<Call>> = const { Cell::new(None) };
}

/// Records that a hook runs on this thread.
#[inline]
pub(crate) fn enter(policy: Policy, hook: Hook, machine: *const ffi::Sched, task: Option<TaskId>) {
    RUNNING.set(Some(Call {
        policy,
        hook,
        machine,
        task,
        met: 0,
    }));
}

/// Records that no hook runs on this thread.
#[inline]
pub(crate) fn leave() {
    RUNNING.set(None);
}

/// From now on a crash in a hook prints time, CPU, task, policy, hook and line, and ends the
/// process with status 3. Other crashes, and the end of memory, end the process as before. All of
/// them remove unfinished files. Writing a file larger than the system allows becomes an I/O error.
pub fn install_crash_handler() {
    use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    const STACK: usize = 64 * 1024;
    // SAFETY: plain system calls; the alternate stack lives as long as the process.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: libc::malloc(STACK),
            ss_flags: 0,
            ss_size: STACK,
        };
        libc::sigaltstack(&stack, std::ptr::null_mut());
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT] {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_crash as Handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Makes only async-signal-safe calls, and dladdr(3), which waits for no lock that a hook could
/// hold.
extern "C" fn on_crash(signal: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    match RUNNING.get() {
        Some(call) => die(call, reason(signal), program_counter(context)),
        None => {
            remove_unfinished();
            // SAFETY: the default action is restored (SA_RESETHAND); the process ends with the same
            // signal.
            unsafe { libc::raise(signal) };
        }
    }
}

/// The program counter at the signal; 0 on unknown processors.
fn program_counter(context: *mut libc::c_void) -> usize {
    let context: *const libc::ucontext_t = context.cast();
    // SAFETY: the kernel gives a handler with SA_SIGINFO such a structure.
    #[cfg(target_arch = "x86_64")]
    return unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize };
    // SAFETY: likewise.
    #[cfg(target_arch = "aarch64")]
    return unsafe { (*context).uc_mcontext.pc as usize };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// The most likely cause.
fn reason(signal: i32) -> &'static str {
    match signal {
        libc::SIGFPE => "crashed (division by zero, or of the smallest number by -1)",
        libc::SIGILL if checks_undefined() => "crashed (undefined behaviour, found by --sanitize)",
        libc::SIGILL => "crashed (it reached code marked unreachable)",
        _ => "crashed (stray pointer or endless recursion)",
    }
}

/// The program's exit status for a policy's fault.
const POLICY_FAULT: i32 = 3;

/// Prints time, CPU and hook, and ends the process.
fn die(call: Call, what: &str, pc: usize) -> ! {
    // SAFETY: the machine outlives the call.
    let (now_ns, cpu) = unsafe { ((*call.machine).now, (*call.machine).this_cpu) };
    let mut text = Text::new();
    text.str("schedlab: at ").seconds(now_ns);
    text.str(" on CPU ").decimal(u64::from(cpu));
    if let Some(task) = call.task {
        text.str(", task ").decimal(u64::from(task.0));
    }
    text.str(": policy ").str(call.policy.name());
    text.str(", hook ")
        .str(call.hook.name())
        .str(": ")
        .str(what);
    let line = source_line(pc, call.policy.0);
    if !line.as_str().is_empty() {
        text.str(" at ").str(line.as_str());
    }
    text.str("\n").print();
    remove_unfinished();
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(POLICY_FAULT) }
}

#[cfg(target_os = "linux")]
pub use timer::HookTimer;

#[cfg(target_os = "linux")]
mod timer {
    use std::io;
    use std::marker::PhantomData;
    use std::time::Duration;

    use super::{die, program_counter, Handler, RUNNING};

    /// Signals during one call after which it counts as stuck.
    const MEETINGS: u32 = 10;

    /// While this exists, a hook call on this thread that takes more CPU time than allowed is reported,
    /// and the process ends with status 3.
    ///
    /// The loops of a policy are bounded and end earlier; recursion that the compiler turned into a
    /// loop is not. The thread's CPU clock sends ten signals within the allowed time. A call that
    /// receives one more is stuck. Calls have no additional cost.
    pub struct HookTimer {
        timer: libc::timer_t,
        /// The timer belongs to the thread that created it.
        not_send: PhantomData<*const ()>,
    }

    impl HookTimer {
        /// Starts on this thread; uses SIGPROF.
        ///
        /// # Errors
        /// The system has no more timers.
        pub fn start(allowed: Duration) -> io::Result<HookTimer> {
            install_handler();
            let timer = create()?;
            let guard = HookTimer {
                timer,
                not_send: PhantomData,
            };
            let beat = allowed / MEETINGS;
            let time = libc::timespec {
                tv_sec: beat.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(beat.subsec_nanos().max(1) as i32),
            };
            let times = libc::itimerspec {
                it_interval: time,
                it_value: time,
            };
            // SAFETY: a timer that exists and a valid structure.
            match unsafe { libc::timer_settime(timer, 0, &times, std::ptr::null_mut()) } {
                0 => Ok(guard),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    impl Drop for HookTimer {
        fn drop(&mut self) {
            // SAFETY: created in start() and deleted once.
            unsafe { libc::timer_delete(self.timer) };
        }
    }

    fn create() -> io::Result<libc::timer_t> {
        // SAFETY: plain system calls with valid structures.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = std::ptr::null_mut();
            match libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) {
                0 => Ok(timer),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    fn install_handler() {
        // SAFETY: a plain system call with a valid structure.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_beat as Handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut());
        }
    }

    /// Counts the signals during the current call.
    extern "C" fn on_beat(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let Some(mut call) = RUNNING.get() else {
            return;
        };
        call.met += 1;
        if call.met > MEETINGS {
            let what = "does not return (--hook-timeout)";
            die(call, what, program_counter(context));
        }
        RUNNING.set(Some(call));
    }
}
