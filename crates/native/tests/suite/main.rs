//! One program for all tests of this crate: it is linked once.

mod affinity24;
mod bsd;
mod bsd4;
mod bsd43;
mod cfs;
mod eevdf;
mod elsc;
mod fair;
mod in_rust;
mod linux24;
mod lottery;
mod mlfq;
mod o1;
mod rbs;
mod script;
mod second_lock;
mod staircase;
mod svr4;
mod ule;
mod ule14;
