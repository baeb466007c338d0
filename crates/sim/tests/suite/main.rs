//! One program for all tests of this crate: it is linked once.

mod attributes;
mod blocking;
mod channels;
mod common;
mod conformance;
mod costs;
mod ends;
mod engine;
mod mutants;
mod preemption;
mod processes;
mod realtime;
mod relations;
mod replayed;
mod speed;
mod ticks;
mod time;
mod trials;
