//! A kernel build, `make -j4 bzImage`: make forks compile jobs, gcc forks cc1 and as, and one
//! long link ends it.
//!
//! The default build is that of the ELSC paper's Table 2 on a dual Pentium II, which
//! took 401.41 s on one CPU and 220.38 s on two with the stock scheduler.  If S seconds of it
//! are serial and P parallel, S + P = 401.41 and S + P/2 = 220.38: P = 362 s and S = 39 s.  Hence
//! 39 s of linking and packing, and 400 files (assumed) of 0.905 s on average.  Of these, 0.87 s
//! are work; cold caches, fork and exec add most of the rest on that machine, where the model's stock
//! build takes 394 s and 217 s, within 2 % of the paper.

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::values::{number, positive_time, sigma, size, time};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Distribution, Op, SpecId, TaskSpec, Times, Workload};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct KernelBuild {
    /// Compile jobs at a time; -j alone: all at once.
    #[arg(short, long, default_value_t = 4, num_args = 0..=1, default_missing_value = "0", value_parser = number(0, 1_000_000))]
    jobs: u32,
    /// Files to compile.
    #[arg(long, default_value_t = 400, value_parser = number(1, 1_000_000))]
    files: u32,
    /// Median CPU time of cc1 for one file; the mean is 20 % more at the default variation.
    #[arg(long, default_value = "627ms", value_name = "TIME", value_parser = positive_time)]
    compile: Ns,
    /// Median CPU time of the assembler for one file.
    #[arg(long, default_value = "75ms", value_name = "TIME", value_parser = positive_time)]
    assemble: Ns,
    /// CPU time of the gcc driver, and of make, for one file.
    #[arg(long, default_value = "15ms", value_name = "TIME", value_parser = positive_time)]
    driver: Ns,
    /// How much files differ: standard deviation of the logarithm of their CPU time.  Assumed.
    #[arg(long, default_value = "0.6", value_name = "SIGMA", value_parser = sigma)]
    variation: u32,
    /// Mean disk time of each cc1: little, since the paper's files were cached.  Assumed.
    #[arg(long, default_value = "2ms", value_name = "TIME", value_parser = time)]
    disk: Ns,
    /// CPU time of the serial end: link and pack.
    #[arg(long, default_value = "39s", value_name = "TIME", value_parser = positive_time)]
    link: Ns,
    /// Working set of cc1: the size of a Pentium II's level 2 cache.
    #[arg(long, default_value = "512KiB", value_name = "SIZE", value_parser = size)]
    working_set: u64,
}

/// Working set of make, gcc and as.  Assumed.
const SMALL_BYTES: u64 = 64 << 10;

impl Benchmark for KernelBuild {
    const NAME: &'static str = "kernel-build";
    const SUMMARY: &'static str =
        "make -jN: a tree of fork and exec, with a serial link at its end";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        let cc1 = self.cc1(&mut builder);
        let cc1 = template(&mut builder, "cc1", cc1, self.working_set);
        let assemble = builder.around(self.assemble, self.variation);
        let assembler = template(&mut builder, "as", executed(assemble), SMALL_BYTES);
        let gcc = self.gcc(&mut builder, cc1, assembler);
        let gcc = template(&mut builder, "gcc", gcc, SMALL_BYTES);
        let link = executed(Amount::Fixed(self.link));
        let ld = template(&mut builder, "ld", link, self.working_set);
        let make = builder.program(self.make(gcc, ld));
        builder.task(TaskSpec {
            working_set_bytes: SMALL_BYTES,
            ..task("make", make)
        });
        Ok(builder.finish())
    }
}

impl KernelBuild {
    /// Reads its input and compiles.
    fn cc1(&self, builder: &mut Builder) -> Ops {
        let mut ops = Ops::new();
        ops.push(Op::Exec);
        if self.disk > Ns::ZERO {
            let disk = builder.disk();
            let mean = self.disk.0;
            let service = builder.drawn(Distribution::Exponential { mean });
            ops.push(Op::Disk { disk, service });
        }
        let work = builder.around(self.compile, self.variation);
        ops.run(work);
        ops
    }

    /// Runs the compiler, then the assembler.
    fn gcc(&self, builder: &mut Builder, cc1: SpecId, assembler: SpecId) -> Ops {
        let mark = builder.mark("file");
        let mut ops = executed(Amount::Fixed(self.driver));
        ops.push(Op::Fork(cc1)).push(Op::WaitChild);
        ops.push(Op::Fork(assembler)).push(Op::WaitChild);
        ops.push(Op::Mark { mark, count: 1 });
        ops
    }

    /// Keeps as many jobs running as it may, waits for the last and links.
    fn make(&self, gcc: SpecId, ld: SpecId) -> Ops {
        let jobs = match self.jobs {
            0 => self.files,
            jobs => jobs.min(self.files),
        };
        let job = |ops: &mut Ops| {
            ops.run(Amount::Fixed(self.driver));
            ops.push(Op::Fork(gcc));
        };
        let mut ops = Ops::new();
        ops.repeat(Times::Fixed(jobs), job);
        ops.repeat(Times::Fixed(self.files - jobs), |ops| {
            ops.push(Op::WaitChild);
            job(ops);
        });
        ops.push(Op::WaitAll);
        ops.push(Op::Fork(ld)).push(Op::WaitAll);
        ops
    }
}

/// A program that is executed and computes.
fn executed(work: Amount) -> Ops {
    let mut ops = Ops::new();
    ops.push(Op::Exec).run(work);
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
