//! One program for all tests of this crate: it is linked once.

mod bombs;
mod common;
mod damage;
mod recordings;
mod round_trips;
mod samples;
