//! `schedlab status`: which scheduler this machine has.

use super::print;
use crate::failure::Failure;

pub fn status() -> Result<(), Failure> {
    let status = schedlab_live::status().map_err(|e| Failure::Other(e.to_string()))?;
    let scheduler = match (&status.scheduler, status.partial) {
        (Some(name), false) => format!("{name} schedules all tasks"),
        (Some(name), true) => format!("{name} schedules tasks of class SCHED_EXT"),
        (None, _) => "the kernel's own".into(),
    };
    let so_far = match status.enabled_so_far {
        Some(n) => format!("enabled so far: {n}\n"),
        None => String::new(),
    };
    print(&format!(
        "scheduler: {scheduler}\nsched_ext: {}\n{so_far}",
        status.state
    ))
}
