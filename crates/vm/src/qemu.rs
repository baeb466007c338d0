//! QEMU's arguments for a virtual machine.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::{memfd_create, MemfdFlags};

use crate::guest;
use crate::initramfs::INIT;
use crate::kernel::Kernel;
use crate::process::Killed;
use crate::VmError;

const QEMU: &str = "qemu-system-x86_64";

/// Size of the shared memory. Only the used part takes memory.
pub const SHARED_BYTES: u64 = 4 << 30;

/// Kernel parameters of every guest.
///
/// They turn off address randomisation and checks of the clock, which is exact here; they reduce
/// messages, and stop the machine after a panic. They also stop periodic memory management (DAMON
/// 30 times a second, compaction twice, statistics once): it would preempt the measured tasks.
const PARAMETERS: &str = "console=ttyS0 quiet nokaslr norandmaps random.trust_cpu=off \
    random.trust_bootloader=off tsc=reliable no_timer_check cryptomgr.notests damon_stat.enabled=N \
    sysctl.vm.compaction_proactiveness=0 sysctl.vm.stat_interval=3600 panic=-1";

/// The guest's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// One instruction is one nanosecond; all CPUs share one instruction counter.
    Deterministic,
    /// The host's clock, at full speed.
    Fast,
}

/// The virtual hardware.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The kernel to boot.
    pub kernel: Kernel,
    /// Number of CPUs, at least 1.
    pub cpus: u32,
    /// Size of its memory in MiB.
    pub memory_mib: u64,
    /// Its clock.
    pub clock: Clock,
}

/// A file in memory that has no name; it ends with the processes that have it open.
pub fn memory_file(name: &str) -> Result<File, VmError> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC);
    file.map(File::from).map_err(|e| VmError::Host(e.into()))
}

impl Machine {
    /// Starts the machine.
    pub(crate) fn start(
        &self,
        initramfs: &File,
        shared: &File,
        console: &File,
        complaints: File,
    ) -> Result<Killed, VmError> {
        let mut command = Command::new(QEMU);
        command.args(self.hardware());
        command.arg("-kernel").arg(&self.kernel.path);
        command.arg("-initrd").arg(path_of(initramfs));
        let parameters = format!("{PARAMETERS} rdinit={INIT} -- {}", guest::ARGUMENT);
        command.args(["-append", &parameters]);
        let console = path_of(console).display().to_string();
        command.args(["-serial", &format!("file:{console}")]);
        command.arg("-object").arg(format!(
            "memory-backend-file,id=shared,share=on,size={SHARED_BYTES},mem-path={}",
            path_of(shared).display()
        ));
        command.args(["-device", "ivshmem-plain,memdev=shared"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints);
        // Ctrl-C goes to this process only, which then ends the machine.
        command.process_group(0);
        die_with_us(&mut command);
        command.spawn().map(Killed).map_err(VmError::NoQemu)
    }

    fn hardware(&self) -> Vec<String> {
        let words = "-nodefaults -no-user-config -display none -nic none -no-reboot -machine pc \
                     -cpu max,-rdrand,-rdseed";
        let clock = match self.clock {
            Clock::Deterministic => {
                "-accel tcg -icount shift=0,sleep=off -seed 1 -rtc base=2026-01-01,clock=vm"
            }
            Clock::Fast => "-accel tcg,thread=multi",
        };
        let words = format!("{words} {clock} -smp {} -m {}M", self.cpus, self.memory_mib);
        words.split_whitespace().map(str::to_string).collect()
    }
}

/// The path by which another process opens a file without a name.
fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// QEMU is killed when this process dies, even by SIGKILL.
fn die_with_us(command: &mut Command) {
    let die = || {
        let signal = Some(rustix::process::Signal::KILL);
        rustix::process::set_parent_process_death_signal(signal)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call and touches no memory.
    unsafe { command.pre_exec(die) };
}
