//! Programs, maps and helpers, as a loader and the simulator use them.

mod assembler;
mod instructions;
mod interpreter;
mod programs;
