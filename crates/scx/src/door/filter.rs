//! Which system calls of a loader wait for an answer, as a seccomp filter.

use std::io;
use std::mem::offset_of;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_long, seccomp_data, sock_filter};

/// When a system call waits for an answer.
#[derive(Clone, Copy, Debug)]
enum When {
    /// Always.
    Always,
    /// If the lower 32 bits of an argument are one of these.
    Is(usize, &'static [u32]),
}

/// Calls of the perf subsystem on a perf event: PERF_EVENT_IOC_ENABLE, DISABLE, SET_BPF.
pub const PERF_IOCTLS: &[u32] = &[0x2400, 0x2401, 0x4004_2408];

/// RLIMIT_MEMLOCK.
const MEMLOCK: u32 = 8;

/// prctl() requests about capabilities.
const CAPABILITIES: &[u32] = &[libc::PR_CAPBSET_READ as u32];

/// What a loader must not do to the host, whoever runs it.
pub const FORBIDDEN: &[(&str, c_long)] = &[
    ("mount", libc::SYS_mount),
    ("umount2", libc::SYS_umount2),
    ("fsopen", libc::SYS_fsopen),
    ("fsmount", libc::SYS_fsmount),
    ("move_mount", libc::SYS_move_mount),
    ("open_tree", libc::SYS_open_tree),
    ("init_module", libc::SYS_init_module),
    ("finit_module", libc::SYS_finit_module),
    ("delete_module", libc::SYS_delete_module),
    ("reboot", libc::SYS_reboot),
    ("setns", libc::SYS_setns),
    ("unshare", libc::SYS_unshare),
    ("pivot_root", libc::SYS_pivot_root),
    ("chroot", libc::SYS_chroot),
    ("swapon", libc::SYS_swapon),
    ("swapoff", libc::SYS_swapoff),
    ("sethostname", libc::SYS_sethostname),
    ("settimeofday", libc::SYS_settimeofday),
    ("clock_settime", libc::SYS_clock_settime),
    ("ptrace", libc::SYS_ptrace),
    ("setsid", libc::SYS_setsid),
    ("setpgid", libc::SYS_setpgid),
];

/// Calls that make a process.
pub const FORKS: &[c_long] = &[
    libc::SYS_clone,
    libc::SYS_clone3,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// The calls that wait for an answer, but for those of [`FORBIDDEN`] and [`FORKS`].
const RULES: &[(c_long, When)] = &[
    (libc::SYS_bpf, When::Always),
    (libc::SYS_perf_event_open, When::Always),
    (libc::SYS_ioctl, When::Is(1, PERF_IOCTLS)),
    (libc::SYS_epoll_ctl, When::Always),
    // Files.
    (libc::SYS_openat, When::Always),
    (libc::SYS_openat2, When::Always),
    (libc::SYS_newfstatat, When::Always),
    (libc::SYS_statx, When::Always),
    (libc::SYS_faccessat, When::Always),
    (libc::SYS_faccessat2, When::Always),
    (libc::SYS_readlinkat, When::Always),
    (libc::SYS_statfs, When::Always),
    (libc::SYS_mkdirat, When::Always),
    (libc::SYS_unlinkat, When::Always),
    (libc::SYS_bind, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_stat, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lstat, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_access, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_readlink, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, When::Always),
    // The machine and the user.
    (libc::SYS_uname, When::Always),
    (libc::SYS_sched_getaffinity, When::Always),
    (libc::SYS_sched_setaffinity, When::Always),
    (libc::SYS_sched_setscheduler, When::Always),
    (libc::SYS_sched_setattr, When::Always),
    (libc::SYS_setpriority, When::Always),
    (libc::SYS_getcpu, When::Always),
    (libc::SYS_getuid, When::Always),
    (libc::SYS_geteuid, When::Always),
    (libc::SYS_getgid, When::Always),
    (libc::SYS_getegid, When::Always),
    (libc::SYS_capget, When::Always),
    (libc::SYS_prctl, When::Is(0, CAPABILITIES)),
    (libc::SYS_prlimit64, When::Is(1, &[MEMLOCK])),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_setrlimit, When::Is(0, &[MEMLOCK])),
    (libc::SYS_mlockall, When::Always),
    (libc::SYS_getrandom, When::Always),
    // Time.
    (libc::SYS_sched_yield, When::Always),
    (libc::SYS_nanosleep, When::Always),
    (libc::SYS_clock_nanosleep, When::Always),
    (libc::SYS_clock_gettime, When::Always),
    (libc::SYS_gettimeofday, When::Always),
    (libc::SYS_futex, When::Is(1, FUTEXES)),
    (libc::SYS_ppoll, When::Always),
    (libc::SYS_epoll_pwait, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_time, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, When::Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, When::Always),
];

/// futex() operations that wait or wake: FUTEX_WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET, each also
/// private, those that wait also by the clock of the day.
const FUTEXES: &[u32] = &[
    0,
    128,
    1,
    129,
    3,
    131,
    4,
    132,
    5,
    133,
    9,
    137,
    10,
    138,
    256 + 9,
    256 + 137,
    256,
    256 + 128,
];

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// The filter, as the kernel reads it.
#[derive(Debug)]
pub struct Filter(Vec<sock_filter>);

impl Filter {
    /// The filter of a loader.
    pub fn new() -> Filter {
        let mut filter = Filter(Vec::new());
        filter.load(offset_of!(seccomp_data, arch));
        // Calls of another architecture do not exist.
        filter.jump(ARCH, 1, 0);
        filter.answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
        filter.load(offset_of!(seccomp_data, nr));
        let plain = FORBIDDEN.iter().map(|&(_, nr)| nr);
        for nr in plain.chain(FORKS.iter().copied()) {
            filter.rule(nr, When::Always);
        }
        for &(nr, when) in RULES {
            filter.rule(nr, when);
        }
        filter.answer(libc::SECCOMP_RET_ALLOW);
        filter
    }

    /// From here on this thread's calls, and those of the program it becomes, wait for answers.
    /// Allocates nothing: it may be called after fork().
    ///
    /// # Errors
    /// The kernel has no seccomp notification.
    pub fn install(&self) -> io::Result<OwnedFd> {
        let program = libc::sock_fprog {
            len: self.0.len() as u16,
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: plain system calls; `program` lives long enough.
        let fd = unsafe {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                &program,
            )
        };
        match fd {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the kernel just made it.
            fd => Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
        }
    }

    fn rule(&mut self, nr: c_long, when: When) {
        match when {
            When::Always => {
                self.jump(nr as u32, 0, 1);
                self.answer(libc::SECCOMP_RET_USER_NOTIF);
            }
            When::Is(argument, values) => {
                let more = values.len() as u8;
                self.jump(nr as u32, 0, more + 3);
                self.load(offset_of!(seccomp_data, args) + 8 * argument);
                for (i, &value) in (0..more).zip(values) {
                    self.jump(value, more - i, 0);
                }
                self.answer(libc::SECCOMP_RET_ALLOW);
                self.answer(libc::SECCOMP_RET_USER_NOTIF);
            }
        }
    }

    fn load(&mut self, offset: usize) {
        let code = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        self.push(code, 0, 0, offset as u32);
    }

    /// Skips so many instructions if equal, so many if not.
    fn jump(&mut self, value: u32, then: u8, otherwise: u8) {
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        self.push(code, then, otherwise, value);
    }

    fn answer(&mut self, answer: u32) {
        self.push((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, answer);
    }

    fn push(&mut self, code: u16, jt: u8, jf: u8, k: u32) {
        self.0.push(sock_filter { code, jt, jf, k });
    }
}
