//! One program for all tests of this crate: it is linked once.

mod common;
mod completions;
mod determinism;
mod documents;
mod faulty_policies;
mod hostile_names;
mod interrupt;
mod licences;
mod list;
mod machine;
mod mistakes;
mod new;
mod portable;
mod programs;
mod readme;
mod record;
mod recordings;
mod replay;
mod reproduce;
mod run;
mod scx;
mod scx_userspace;
mod settings;
mod sweep;
mod tidy;
mod tunables;
