//! A real Linux kernel in QEMU: boots it, runs a command in it and returns the results.
//!
//! ```text
//!   host                                      guest
//!   ----                                      -----
//!   kernel/     finds or fetches an image ──> Linux
//!   initramfs/  command, libraries, busybox ─> its files
//!   qemu        starts it, watches it         guest/  process 1: this same program
//!   channel  <────── memory both can see ───────────  output, trace, exit status
//! ```
//!
//! With [`Clock::Deterministic`] one instruction takes one nanosecond and the guest cannot observe
//! the host: equal input gives equal output, traces and times, bit for bit.

pub mod channel;
mod error;
pub mod guest;
mod initramfs;
mod job;
mod kernel;
mod process;
mod qemu;
mod run;

pub use error::VmError;
pub use initramfs::{find_program, Content};
pub use job::{Ended, Exit, Hello, Job};
pub use kernel::Kernel;
pub use process::Stop;
pub use qemu::{Clock, Machine};
pub use run::{run, GuestOutcome, Listener, State};
