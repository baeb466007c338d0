//! One program for all tests of this crate: it is linked once.

mod common;
mod damage;
mod decompression;
mod recordings;
mod round_trips;
mod samples;
