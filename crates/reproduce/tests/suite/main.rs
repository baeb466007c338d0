//! One program for all tests of this crate: it is linked once.

mod catalogue;
mod findings;
mod region;
mod results;
