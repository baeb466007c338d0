//! Programs, maps and helpers, as a loader and the simulator use them.

mod assembler;
mod ext;
mod helpers;
mod instructions;
mod interpreter;
mod maps;
mod programs;
