//! The host without a process around it, as in a web page: policies are linked by whoever embeds it, and a policy that
//! crashes ends the instance of WebAssembly, which the page reports.

use schedlab_trace::TaskId;

use crate::{ffi, Hook, Policy};

/// A hook begins; nobody asks which.
#[inline]
pub(crate) fn enter(_: Policy, _: Hook, _: *const ffi::Sched, _: Option<TaskId>) {}

/// A hook has returned.
#[inline]
pub(crate) fn leave() {}
