//! An existing machine as a machine description.
//!
//! [`Layout`] says where the CPUs sit: read from sysfs ([`from_sysfs`]), from `lscpu -J` or from an XML file of
//! hwloc's `lstopo` ([`from_file`]).  [`measure`] takes what operations cost on the machine it runs on, with
//! small programs.  [`describe`] writes both as TOML; what was not measured is marked "assumed".

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
