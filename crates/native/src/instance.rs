//! Policies whose hooks are Rust code with a machine of their own behind it.
//!
//! A policy compiled from C keeps its state in memory that the host allocates zeroed.  One written in Rust has
//! more than bytes: an [`Instance`], made anew for each host.  Its address is the first word of the policy's state
//! of the machine, where the hooks find it ([`instance_of`]).

use std::ffi::c_void;

use schedlab_trace::{GroupId, TaskId};

use crate::{ffi, Platform};

/// Makes the instances of a policy; shared by all hosts.
pub trait InstanceMaker: Sync {
    /// An instance for one machine; `seed` is the run's.
    ///
    /// # Errors
    /// What is wrong, for the user.
    fn make(&self, platform: &Platform, seed: u64) -> Result<Box<dyn Instance>, String>;
}

/// What a policy in Rust has for one machine; dropped with its host.
pub trait Instance: Send {
    /// What the hooks are given.
    fn address(&mut self) -> *mut c_void;

    /// A task is about to be forked, under this name.
    fn name_task(&mut self, task: TaskId, name: &str);

    /// A group is about to be made, under this name.
    fn name_group(&mut self, _group: GroupId, _name: &str) {}
}

/// The address of the instance whose hook is being called.
///
/// # Safety
/// `s` is what the hook was given, and the policy has an [`InstanceMaker`].
#[inline]
pub unsafe fn instance_of(s: *mut ffi::Sched) -> *mut c_void {
    // SAFETY: the host has stored the address there before it called any hook.
    unsafe { (*s).host_only.global_state.cast::<*mut c_void>().read() }
}
