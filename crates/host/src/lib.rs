//! Describes an existing machine as a machine description.
//!
//! [`Layout`] is the CPU topology, read from sysfs ([`from_sysfs`]), from `lscpu -J`, or from an
//! XML file of hwloc's `lstopo` ([`from_file`]). [`measure`] runs small programs on this machine to
//! find the costs of operations. [`describe`] writes both as TOML; values that were not measured
//! are marked "assumed".

mod config;
mod describe;
mod layout;
pub mod measure;
mod read;
mod surroundings;

pub use describe::describe;
pub use layout::{CacheSize, Layout, Place};
pub use read::{from_file, from_sysfs};
pub use surroundings::{surroundings, Surroundings};
