//! The running kernel's support for sched_ext and its current state.

use std::fs;
use std::path::Path;

use crate::Error;

const SCHED_EXT: &str = "/sys/kernel/sched_ext";
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// State of sched_ext.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The kernel's word: "enabled", "disabled", or a transition between them.
    pub state: String,
    /// The loaded scheduler's name, if any.
    pub scheduler: Option<String>,
    /// Number of schedulers enabled since boot, if the kernel reports it.
    pub enabled_so_far: Option<u64>,
    /// Only tasks of class SCHED_EXT are scheduled by it (SCX_OPS_SWITCH_PARTIAL).
    pub partial: bool,
}

/// What the kernel says about sched_ext.
///
/// # Errors
/// [`Error::NoSchedExt`].
pub fn status() -> Result<Status, Error> {
    let read = |name: &str| {
        let text = fs::read_to_string(Path::new(SCHED_EXT).join(name)).ok()?;
        Some(text.trim().to_string())
    };
    let state = read("state").ok_or(Error::NoSchedExt)?;
    Ok(Status {
        scheduler: read("root/ops").filter(|_| state != "disabled"),
        enabled_so_far: read("enable_seq").and_then(|n| n.parse().ok()),
        partial: state == "enabled" && read("switch_all").as_deref() == Some("0"),
        state,
    })
}

/// The kernel's count of CPUs going online or offline. It refuses a scheduler with an old count.
pub(crate) fn hotplug_seq() -> u64 {
    fs::read_to_string(Path::new(SCHED_EXT).join("hotplug_seq"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

/// Can this process load a scheduler into this kernel?
pub(crate) fn check() -> Result<(), Error> {
    let status = status()?;
    if !Path::new(BTF).exists() {
        return Err(Error::NoBtf);
    }
    // SAFETY: a plain system call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Error::NotRoot);
    }
    match status.state.as_str() {
        "disabled" => Ok(()),
        _ => Err(Error::Occupied(
            status.scheduler.unwrap_or_else(|| status.state.clone()),
        )),
    }
}
