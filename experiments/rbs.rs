//! Helpers of the experiments of the RBS paper: its kernels and its builds.

use crate::prelude::*;

/// The paper's machine.
pub const MACHINE: &str = "pentium-4-3ghz";
/// Linux 2.6.13.4.
pub const VANILLA: &str = "o1:2.6.13";
/// The paper's own.
pub const RBS: &str = "rbs:2.6.13.4";
/// The other scheduler of its comparison: a Staircase for 2.6.13.
pub const STAIRCASE: &str = "staircase:12";
/// The kernels of its figures.
pub const KERNELS: [(&str, &str); 3] =
    [("vanilla", VANILLA), ("RBS", RBS), ("Staircase", STAIRCASE)];

/// Options of a kernel build of about 1,750 s, a fifth of that for a quick run.
pub fn kernel_options(lab: &Lab) -> String {
    let (files, link) = lab.pick((1500, "60s"), (300, "12s"));
    format!("--pipe 50 --files {files} --compile 715ms --assemble 80ms --driver 15ms --link {link} --disk 2ms")
}

/// The builds of Table 2: its name for each, its key and the workload.
pub fn builds(lab: &Lab) -> [(&'static str, &'static str, String); 3] {
    let options = kernel_options(lab);
    [
        (
            "Kernel + Apache",
            "both",
            format!("mab --kernel-jobs 2 --kernel-options '{options}'"),
        ),
        ("Kernel", "kernel", format!("kernel-build -j 2 {options}")),
        ("MAB", "mab", "mab".to_string()),
    ]
}

/// How much faster the first is than the second, as defined in the paper: by how much longer the second takes.
pub fn faster(this: &Sample, than: &Sample) -> Sample {
    than.over(this).map(|x| x - 1.0)
}

/// Time in which neither programs nor the kernel ran: real minus user and system.
pub fn gap(outcome: &CaseResult) -> Sample {
    outcome.each(|m| m.cpus[0].idle_ns.0 as f64)
}
