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
use crate::{Amount, Distribution, Op, SpecId, TaskSpec, Times};

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
    /// gcc -pipe, as kernels have been built since 2.2: pages of 4 KiB of assembler text a median file
    /// sends from cc1 to as, which runs at the same time and wakes up for each; 0: as starts when cc1 has
    /// ended.  A median file of 2.4 has some 200 KiB of it, 50 pages.  Assumed.
    #[arg(long, default_value_t = 0, value_name = "PAGES", value_parser = number(0, 10_000))]
    pipe: u32,
    /// CPU time of the serial end: link and pack.
    #[arg(long, default_value = "39s", value_name = "TIME", value_parser = positive_time)]
    link: Ns,
    /// Working set of cc1: the size of a Pentium II's level 2 cache.
    #[arg(long, default_value = "512KiB", value_name = "SIZE", value_parser = size)]
    working_set: u64,
}

/// Working set of make, gcc and as.  Assumed.
const SMALL_BYTES: u64 = 64 << 10;

/// Middles of the eighths of the normal distribution, mixed.
const OCTILES: [f64; 8] = [0.157, -0.887, 1.534, -0.157, -1.534, 0.489, -0.489, 0.887];

impl Benchmark for KernelBuild {
    const NAME: &'static str = "kernel-build";
    const SUMMARY: &'static str =
        "make -jN: a tree of fork and exec, with a serial link at its end";

    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        let gccs = match self.pipe {
            0 => vec![self.plain(builder); self.files as usize],
            _ => self.piped(builder),
        };
        let link = executed(Amount::Fixed(self.link));
        let ld = template(builder, "ld", link, self.working_set);
        let make = builder.program(self.make(&gccs, ld));
        builder.task(TaskSpec {
            working_set_bytes: SMALL_BYTES,
            ..task("make", make)
        });
        Ok(())
    }
}

impl KernelBuild {
    /// gcc, which runs cc1 and then as; one specification for all files.
    fn plain(&self, builder: &mut Builder) -> SpecId {
        let cc1 = self.cc1(builder);
        let cc1 = template(builder, "cc1", cc1, self.working_set);
        let assemble = builder.around(self.assemble, self.variation);
        let assembler = template(builder, "as", executed(assemble), SMALL_BYTES);
        let gcc = self.gcc(builder, cc1, assembler);
        template(builder, "gcc", gcc, SMALL_BYTES)
    }

    /// A gcc for each file, which runs cc1 and as at the same time with a pipe between them.
    fn piped(&self, builder: &mut Builder) -> Vec<SpecId> {
        let disk = (self.disk > Ns::ZERO).then(|| builder.disk());
        let page = |ns: Ns| Ns(ns.0 / u64::from(self.pipe));
        let compile = builder.around(page(self.compile), self.variation);
        let assemble = builder.around(page(self.assemble), self.variation);
        let mark = builder.mark("file");
        let one = |file: u32| {
            let (channel, pages) = (builder.channel(1), Times::Fixed(self.pages(file)));
            let mut cc1 = self.read(builder, disk);
            cc1.repeat(pages, |ops| {
                ops.run(compile).push(Op::Send { channel, count: 1 });
            });
            let mut assembler = executed(Amount::Fixed(Ns::ZERO));
            assembler.repeat(pages, |ops| {
                ops.push(Op::Receive { channel, count: 1 }).run(assemble);
            });
            let cc1 = of_file(builder, "cc1", file, cc1, self.working_set);
            let assembler = of_file(builder, "as", file, assembler, SMALL_BYTES);
            let mut gcc = executed(Amount::Fixed(self.driver));
            gcc.push(Op::Fork(cc1)).push(Op::Fork(assembler));
            gcc.push(Op::WaitAll).push(Op::Mark { mark, count: 1 });
            of_file(builder, "gcc", file, gcc, SMALL_BYTES)
        };
        (0..self.files).map(one).collect()
    }

    /// Pages of this file: the log-normal lengths of files, by eighths of their distribution.
    fn pages(&self, file: u32) -> u32 {
        let sigma = f64::from(self.variation) / 1000.0;
        let factor = libm::exp(sigma * OCTILES[file as usize % OCTILES.len()]);
        (libm::round(f64::from(self.pipe) * factor) as u32).max(1)
    }

    /// Is executed and reads its input.
    fn read(&self, builder: &mut Builder, disk: Option<u32>) -> Ops {
        let mut ops = Ops::new();
        ops.push(Op::Exec);
        if let Some(disk) = disk {
            let mean = self.disk.0;
            let service = builder.drawn(Distribution::Exponential { mean });
            ops.push(Op::Disk { disk, service });
        }
        ops
    }

    /// Reads its input and compiles.
    fn cc1(&self, builder: &mut Builder) -> Ops {
        let disk = (self.disk > Ns::ZERO).then(|| builder.disk());
        let mut ops = self.read(builder, disk);
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

    /// Keeps up to `jobs` jobs running, waits for the last one and links.
    fn make(&self, gccs: &[SpecId], ld: SpecId) -> Ops {
        let jobs = match self.jobs {
            0 => gccs.len(),
            jobs => gccs.len().min(jobs as usize),
        };
        let mut ops = Ops::new();
        let (first, rest) = gccs.split_at(jobs);
        self.jobs(&mut ops, first, false);
        self.jobs(&mut ops, rest, true);
        ops.push(Op::WaitAll);
        ops.push(Op::Fork(ld)).push(Op::WaitAll);
        ops
    }

    /// Starts these jobs; with `wait`, each one after another job has ended.  Equal jobs become a loop.
    fn jobs(&self, ops: &mut Ops, gccs: &[SpecId], wait: bool) {
        for equal in gccs.chunk_by(|a, b| a == b) {
            ops.repeat(Times::Fixed(equal.len() as u32), |ops| {
                if wait {
                    ops.push(Op::WaitChild);
                }
                ops.run(Amount::Fixed(self.driver));
                ops.push(Op::Fork(equal[0]));
            });
        }
    }
}

/// A template for one file's part of a piped build.
fn of_file(builder: &mut Builder, group: &str, file: u32, ops: Ops, bytes: u64) -> SpecId {
    let program = builder.program(ops);
    builder.task(TaskSpec {
        group: group.to_string(),
        count: 0,
        working_set_bytes: bytes,
        ..task(format!("{group}-{file}"), program)
    })
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
