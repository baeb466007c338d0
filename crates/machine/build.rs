//! The descriptions in `machines/` become part of the program: a new file there is a new machine.

fn main() {
    println!("cargo:rerun-if-changed=../../machines");
}
