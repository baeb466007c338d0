//! One program for all tests of this crate: it is linked once.

mod figures;
mod html;
mod json;
mod sample;
mod tables;
