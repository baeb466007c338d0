//! The files in `workloads/` become part of the program: a new file there is a new workload.

fn main() {
    println!("cargo:rerun-if-changed=../../workloads");
}
