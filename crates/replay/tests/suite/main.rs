//! One program for all tests of this crate: it is linked once.

mod conservation;
mod flow;
mod rebuild;
mod self_check;
