//! System calls of tasks.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex;
use rustix::time::{clock_gettime, ClockId, Timespec};
use schedlab_trace::{Ns, TaskClass, Time};

/// The kernel's monotonic clock; traces use the same clock.
pub fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

/// Sleeps for this time.
pub fn sleep(time: Ns) {
    let mut left = timespec(time.0);
    while let rustix::thread::NanosleepRelativeResult::Interrupted(rest) =
        rustix::thread::clock_nanosleep_relative(ClockId::Monotonic, &left)
    {
        left = rest;
    }
}

/// Sleeps until this time; not at all if it has passed.
pub fn sleep_until(time: Time) {
    let at = timespec(time.0);
    while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at)
        == Err(rustix::io::Errno::INTR)
    {}
}

/// Sleeps as long as the word has this value.  Spurious wakeups are possible.
pub fn wait_while(word: &AtomicU32, value: u32) {
    // Returns early on a spurious wakeup or another value: the caller checks again.
    let _ = futex::wait(word, futex::Flags::empty(), value, None);
}

/// The same for a limited time.
pub fn wait_while_at_most(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = timespec(limit.as_nanos() as u64);
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&limit));
}

/// Wakes the thread that has waited longest for the word to change.
pub fn wake(word: &AtomicU32) {
    // The call cannot fail: the word is in our memory.
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// Wakes all threads that wait for the word to change.
pub fn wake_all(word: &AtomicU32) {
    // The kernel reads a signed number.
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Sleeps for ever.
pub fn rest() -> ! {
    loop {
        // SAFETY: it takes no arguments.
        unsafe { libc::pause() };
    }
}

/// The id of this thread.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// What sched_setattr(2) reads.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

// include/uapi/linux/sched.h
const SCHED_FLAG_KEEP_POLICY: u64 = 0x08;
const SCHED_FLAG_UTIL_CLAMP: u64 = 0x60;

/// A task's scheduling attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its class.
    pub class: TaskClass,
    /// Its real-time priority, 0 outside the real-time classes.
    pub rt_priority: u8,
    /// nice.
    pub nice: i8,
    /// The slice it asks for; 0: the kernel's own.
    pub slice: Ns,
    /// Its utilisation clamps, if it has any.
    pub clamps: Option<(u16, u16)>,
}

/// Sets all attributes of a thread (0: this one) in one call.
pub fn set_standing(thread: u32, standing: Standing) -> io::Result<()> {
    let policy = match standing.class {
        // Linux never had an ISO class.
        TaskClass::Normal | TaskClass::Iso => libc::SCHED_OTHER,
        TaskClass::Batch => libc::SCHED_BATCH,
        TaskClass::Idle => libc::SCHED_IDLE,
        TaskClass::Fifo => libc::SCHED_FIFO,
        TaskClass::Rr => libc::SCHED_RR,
    };
    let (util_min, util_max) = standing.clamps.unwrap_or((0, 1024));
    set_attributes(
        thread,
        Attributes {
            policy: policy as u32,
            flags: standing.clamps.map_or(0, |_| SCHED_FLAG_UTIL_CLAMP),
            nice: standing.nice.into(),
            priority: standing.rt_priority.into(),
            runtime: standing.slice.0,
            util_min: util_min.into(),
            util_max: util_max.into(),
            ..Attributes::default()
        },
    )
}

/// Changes the slice this thread asks for; 0: the kernel's own.
pub fn set_slice(slice: Ns) -> io::Result<()> {
    // The same call also sets nice, so read it first.
    let nice = rustix::process::getpriority_process(None)?;
    set_attributes(
        0,
        Attributes {
            flags: SCHED_FLAG_KEEP_POLICY,
            nice,
            runtime: slice.0,
            ..Attributes::default()
        },
    )
}

fn set_attributes(thread: u32, attributes: Attributes) -> io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        ..attributes
    };
    // SAFETY: the attributes outlive the call and contain their size.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Changes a thread's nice value.
pub fn set_nice(thread: u32, nice: i8) -> io::Result<()> {
    let thread = rustix::process::Pid::from_raw(thread as i32);
    Ok(rustix::process::setpriority_process(thread, nice.into())?)
}

/// Binds a thread to CPUs.
pub fn set_cpus(thread: u32, cpus: &[u32]) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    let fit = |cpu: &&u32| (**cpu as usize) < rustix::thread::CpuSet::MAX_CPU;
    cpus.iter()
        .filter(fit)
        .for_each(|&cpu| set.set(cpu as usize));
    let thread = rustix::process::Pid::from_raw(thread as i32);
    Ok(rustix::thread::sched_setaffinity(thread, &set)?)
}

/// Names this thread; the kernel keeps 15 bytes.
pub fn set_name(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        // A failure does no harm.
        let _ = rustix::thread::set_name(&name);
    }
}

/// Sets the timer slack of this thread, and of threads it starts, to 1 ns.
pub fn sleep_exactly() {
    // SAFETY: it takes only numbers.  It cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Forks; returns the child's id in the parent, none in the child.
///
/// # Safety
/// If this process has other threads, the child must not depend on their state.
pub unsafe fn fork() -> io::Result<Option<u32>> {
    // SAFETY: the caller's duty.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        child => Ok(Some(child as u32)),
    }
}

/// Ends this process at once, without exit handlers.
pub fn exit_process(status: i32) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// Waits for a child of this thread to end; false if it has none.
pub fn wait_for_child() -> bool {
    // Only children of this thread: the other threads of the process are other tasks.
    let mut status = 0;
    loop {
        // SAFETY: the place lives through the call.
        match unsafe { libc::waitpid(-1, &mut status, libc::__WNOTHREAD) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return false,
            _ => return true,
        }
    }
}

/// Reaps children of this thread that have ended.
pub fn bury() {
    let mut status = 0;
    // SAFETY: the place lives through the call.
    while unsafe { libc::waitpid(-1, &mut status, libc::__WNOTHREAD | libc::WNOHANG) } > 0 {}
}
