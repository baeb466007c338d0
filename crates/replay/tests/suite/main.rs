//! One program for all tests of this crate: it is linked once.

mod conservation;
mod rebuild;
mod self_check;
