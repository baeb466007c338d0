//! One program for all tests of this crate: it is linked once.

mod contradictions;
mod memory;
mod publishing;
mod random_traces;
mod reference;
mod script;
mod scripts;
