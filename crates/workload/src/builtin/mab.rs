//! mab: the "modified Andrew benchmark" of the RBS paper: unpack, configure, make and remove Apache 2.0.55.
//!
//! Unlike the kernel's, this build has one job at a time.  The vanilla kernel took 143.09 s for it, with 142.62 s of
//! CPU time: the disk hardly matters.  How that time is divided the paper does not say; the phases
//! here are assumed, and add up to it.
//!
//! | phase | what | CPU time |
//! |---|---|---|
//! | unpack | bunzip2 writes into a pipe, tar reads it and writes files | 5 s |
//! | configure | a shell starts 1,500 short programs, one after the other | 39 s |
//! | make | 300 files, each by make, gcc, cc1 and as, one after the other | 96 s |
//! | remove | rm | 3 s |

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::kernel_build::KernelBuild;
use super::values::{number, positive_time, sigma, size, time};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Distribution, Op, SpecId, TaskSpec, Times, Workload};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct Mab {
    /// Programs configure starts.
    #[arg(long, default_value_t = 1500, value_parser = number(1, 1_000_000))]
    checks: u32,
    /// Median CPU time of one of these.
    #[arg(long, default_value = "20ms", value_name = "TIME", value_parser = positive_time)]
    check: Ns,
    /// Files to compile.
    #[arg(long, default_value_t = 300, value_parser = number(1, 1_000_000))]
    files: u32,
    /// Median CPU time of cc1 for one file.
    #[arg(long, default_value = "219ms", value_name = "TIME", value_parser = positive_time)]
    compile: Ns,
    /// How much programs and files differ: standard deviation of the logarithm of their CPU time.  Assumed.
    #[arg(long, default_value = "0.6", value_name = "SIGMA", value_parser = sigma)]
    variation: u32,
    /// Disk time of each file unpacked, compiled or removed.  Assumed.
    #[arg(long, default_value = "100us", value_name = "TIME", value_parser = time)]
    disk: Ns,
    /// Working set of cc1 and bunzip2.  Assumed.
    #[arg(long, default_value = "512KiB", value_name = "SIZE", value_parser = size)]
    working_set: u64,
    /// A kernel build with so many jobs beside it, as in the paper's Figure 4; 0: none.
    #[arg(long, default_value_t = 0, value_parser = number(0, 1_000))]
    kernel_jobs: u32,
    /// Options of that kernel build, as one word: "--files 100".
    #[arg(
        long,
        default_value = "",
        value_name = "OPTIONS",
        allow_hyphen_values = true
    )]
    kernel_options: String,
}

/// Blocks of 10 KiB tar reads of an archive of 30 MB.
const BLOCKS: u32 = 3000;
/// Files in it, each a disk request.
const UNPACKED: u32 = 2500;
/// CPU time of bunzip2 and tar for a block, and of rm for a file.
const BUNZIP2: Ns = Ns::from_us(1400);
const TAR: Ns = Ns::from_us(250);
const RM: Ns = Ns::from_us(1000);
/// CPU time of the shell for one check, and of make and gcc for one file.
const SHELL: Ns = Ns::from_ms(1);
const DRIVER: Ns = Ns::from_ms(10);
/// CPU time of the assembler for one file.
const ASSEMBLE: Ns = Ns::from_ms(20);
/// Working set of everything else.
const SMALL_BYTES: u64 = 64 << 10;

impl Benchmark for Mab {
    const NAME: &'static str = "mab";
    const SUMMARY: &'static str =
        "unpack, configure, make and remove a source tree, one program at a time";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        let phases = [
            self.unpack(&mut builder),
            self.configure(&mut builder),
            self.make(&mut builder),
            self.remove(&mut builder),
        ];
        let mut ops = Ops::new();
        for phase in phases.into_iter().flatten() {
            ops.push(Op::Fork(phase));
            ops.push(Op::WaitAll);
        }
        let script = builder.program(ops);
        builder.task(task("mab", script));
        if self.kernel_jobs > 0 {
            KernelBuild::parsed(self.kernel_jobs, &self.kernel_options)?.add(&mut builder);
        }
        Ok(builder.finish())
    }
}

impl Mab {
    /// bunzip2 | tar, under a shell that waits for both.
    fn unpack(&self, builder: &mut Builder) -> Vec<SpecId> {
        let channel = builder.channel(1);
        let mut bunzip2 = executed();
        bunzip2.repeat(Times::Fixed(BLOCKS), |ops| {
            ops.run(Amount::Fixed(BUNZIP2));
            ops.push(Op::Send { channel, count: 1 });
        });
        let disk = self.disk(builder);
        let mut tar = executed();
        tar.repeat(Times::Fixed(BLOCKS), |ops| {
            ops.push(Op::Receive { channel, count: 1 });
            ops.run(Amount::Fixed(TAR));
        });
        tar.repeat(Times::Fixed(UNPACKED), |ops| ops.extend(disk));
        let bunzip2 = template(builder, "bunzip2", bunzip2, self.working_set);
        let tar = template(builder, "tar", tar, SMALL_BYTES);
        let mut shell = Ops::new();
        shell
            .push(Op::Fork(bunzip2))
            .push(Op::Fork(tar))
            .push(Op::WaitAll);
        vec![template(builder, "unpack", shell, SMALL_BYTES)]
    }

    fn configure(&self, builder: &mut Builder) -> Vec<SpecId> {
        let mut check = executed();
        check.run(builder.around(self.check, self.variation));
        let check = template(builder, "check", check, SMALL_BYTES);
        let mut ops = executed();
        ops.repeat(Times::Fixed(self.checks), |ops| {
            ops.run(Amount::Fixed(SHELL));
            ops.push(Op::Fork(check)).push(Op::WaitChild);
        });
        vec![template(builder, "configure", ops, SMALL_BYTES)]
    }

    fn make(&self, builder: &mut Builder) -> Vec<SpecId> {
        let mut cc1 = executed();
        cc1.extend(self.disk(builder));
        cc1.run(builder.around(self.compile, self.variation));
        let cc1 = template(builder, "mab-cc1", cc1, self.working_set);
        let mut assembler = executed();
        assembler.run(builder.around(ASSEMBLE, self.variation));
        let assembler = template(builder, "mab-as", assembler, SMALL_BYTES);
        let mut gcc = executed();
        gcc.run(Amount::Fixed(DRIVER));
        for program in [cc1, assembler] {
            gcc.push(Op::Fork(program)).push(Op::WaitChild);
        }
        let gcc = template(builder, "mab-gcc", gcc, SMALL_BYTES);
        let mark = builder.mark("mab file");
        let mut ops = executed();
        ops.repeat(Times::Fixed(self.files), |ops| {
            ops.run(Amount::Fixed(DRIVER));
            ops.push(Op::Fork(gcc)).push(Op::WaitChild);
            ops.push(Op::Mark { mark, count: 1 });
        });
        vec![template(builder, "mab-make", ops, SMALL_BYTES)]
    }

    fn remove(&self, builder: &mut Builder) -> Vec<SpecId> {
        let disk = self.disk(builder);
        let mut ops = executed();
        ops.repeat(Times::Fixed(UNPACKED), |ops| {
            ops.run(Amount::Fixed(RM));
            ops.extend(disk);
        });
        vec![template(builder, "rm", ops, SMALL_BYTES)]
    }

    /// A request to the one disk.
    fn disk(&self, builder: &mut Builder) -> Option<Op> {
        (self.disk > Ns::ZERO).then(|| {
            builder.workload().nr_disks = builder.workload().nr_disks.max(1);
            let mean = self.disk.0;
            let service = builder.drawn(Distribution::Exponential { mean });
            Op::Disk { disk: 0, service }
        })
    }
}

fn executed() -> Ops {
    let mut ops = Ops::new();
    ops.push(Op::Exec);
    ops
}

/// A task that only forks start.
fn template(builder: &mut Builder, name: &str, ops: Ops, working_set_bytes: u64) -> SpecId {
    let program = builder.program(ops);
    builder.task(TaskSpec {
        count: 0,
        working_set_bytes,
        ..task(name, program)
    })
}
