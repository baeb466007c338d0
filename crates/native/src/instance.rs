//! Policies whose hooks are Rust code with state in Rust.
//!
//! A policy compiled from C keeps its state in zeroed memory of the host. A policy in Rust has an
//! [`Instance`] instead, created for each host. The first word of the policy's state of the machine
//! is its address; hooks read it with [`instance_of`].

use std::ffi::c_void;

use schedlab_trace::{GroupId, TaskId};

use crate::{ffi, Platform};

/// Creates the instances of a policy; shared by all hosts.
pub trait InstanceMaker: Sync {
    /// An instance for one machine; `seed` is the run's.
    ///
    /// # Errors
    /// A message for the user.
    fn make(&self, platform: &Platform, seed: u64) -> Result<Box<dyn Instance>, String>;
}

/// The state of a policy in Rust for one machine; dropped with its host.
pub trait Instance: Send {
    /// The address that the hooks get.
    fn address(&mut self) -> *mut c_void;

    /// A task with this name is about to be forked.
    fn name_task(&mut self, task: TaskId, name: &str);

    /// A group with this name is about to be created.
    fn name_group(&mut self, _group: GroupId, _name: &str) {}
}

/// The address of the instance of the current hook call.
///
/// # Safety
/// `s` is what the hook was given, and the policy has an [`InstanceMaker`].
#[inline]
pub unsafe fn instance_of(s: *mut ffi::Sched) -> *mut c_void {
    // SAFETY: the host has stored the address there before it called any hook.
    unsafe { (*s).host_only.global_state.cast::<*mut c_void>().read() }
}
