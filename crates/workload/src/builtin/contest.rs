//! contest (Con Kolivas, 2002): how much longer a kernel takes to compile beside a load.
//!
//! The compile is `kernel-build`, the loads are contest's.  What it reports is the ratio to the
//! time without a load.

use clap::ValueEnum;
use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::kernel_build::KernelBuild;
use super::loads::Loads;
use super::values::{number, positive_time};
use super::Benchmark;
use crate::builder::Builder;
use crate::{Process, Workload};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct Contest {
    /// What runs beside the compile.
    #[arg(short, long, value_enum, default_value_t = Load::None)]
    load: Load,
    /// Compile jobs at a time; contest takes four for each CPU.
    #[arg(short, long, default_value_t = 4, value_parser = number(1, 1_000_000))]
    jobs: u32,
    /// Options of the compile, as one word: "--files 100 --link 5s"; see kernel-build.
    #[arg(
        long,
        default_value = "",
        value_name = "OPTIONS",
        allow_hyphen_values = true
    )]
    build: String,
    /// Processes of the ring of --load process; contest takes four for each CPU.
    #[arg(long, default_value_t = 4, value_parser = number(2, 100_000))]
    processes: u32,
    /// Pieces of data that go round in it; contest says far fewer than processes.
    #[arg(long, default_value_t = 1, value_parser = number(1, 100_000))]
    chunks: u32,
    /// CPU time it takes to pass one on.  Assumed: copying some 64 KiB in and out of a pipe.
    #[arg(long, default_value = "150us", value_name = "TIME", value_parser = positive_time)]
    pass: Ns,
    /// Clients of --load dbench; contest takes 16 for each CPU.
    #[arg(long, default_value_t = 16, value_parser = number(1, 100_000))]
    clients: u32,
}

/// contest's loads.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Load {
    /// Nothing else runs.
    None,
    /// Processes in a ring that pass data through pipes, from irman.
    Process,
    /// One that touches more memory than there is.
    Mem,
    /// One that writes a file of the size of memory, again and again.
    Io,
    /// One that reads such a file.
    Read,
    /// One that lists all files of a disk.
    List,
    /// One that packs a source tree into an archive.
    Ctar,
    /// One that unpacks it.
    Xtar,
    /// Clients of a file server.
    Dbench,
}

impl Benchmark for Contest {
    const NAME: &'static str = "contest";
    const SUMMARY: &'static str = "a kernel build beside a load: how much longer does it take?";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        KernelBuild::parsed(self.jobs, &self.build)?.add(&mut builder);
        let mut loads = Loads::new(&mut builder, 0, Process::Own);
        match self.load {
            Load::None => {}
            Load::Process => loads.ring(self.processes, self.chunks, self.pass),
            Load::Mem => loads.memory(),
            Load::Io => loads.write(),
            Load::Read => loads.read(),
            Load::List => loads.list(),
            Load::Ctar => loads.pack(),
            Load::Xtar => loads.unpack(),
            Load::Dbench => loads.clients(self.clients),
        }
        Ok(builder.finish())
    }
}
