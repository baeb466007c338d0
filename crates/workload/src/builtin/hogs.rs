//! Hogs: tasks that never sleep.

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::errors::bad_option;
use super::values::{nice, number, positive_time, size};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, TaskSpec, Times, Workload};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct Hogs {
    /// nice values, separated by commas.
    #[arg(long, default_value = "0", value_delimiter = ',', allow_hyphen_values = true, value_parser = nice)]
    nice: Vec<i8>,
    /// Hogs of each nice value.
    #[arg(long, default_value_t = 1, value_parser = number(1, 1_000_000))]
    count: u32,
    /// CPU time after which a hog ends; without it they run for --duration.
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    work: Option<Ns>,
    /// How long the run lasts if the hogs do not end.
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = positive_time)]
    duration: Ns,
    /// Memory each hog touches again and again.
    #[arg(long, default_value = "0", value_name = "SIZE", value_parser = size)]
    working_set: u64,
}

/// An endless hog computes in pieces of this size; it makes no difference to a scheduler.
const PIECE: Amount = Amount::Fixed(Ns::from_secs(1));

impl Benchmark for Hogs {
    const NAME: &'static str = "hogs";
    const SUMMARY: &'static str = "tasks that never sleep, of any nice values";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        let program = builder.program(self.program());
        for (position, &nice) in self.nice.iter().enumerate() {
            if self.nice[..position].contains(&nice) {
                let problem = format!("{nice} is there twice");
                let expected = "each nice value once; --count makes several hogs of each";
                return Err(bad_option(Self::NAME, "--nice", problem, expected));
            }
            builder.task(TaskSpec {
                nice,
                count: self.count,
                working_set_bytes: self.working_set,
                ..task(format!("hog-nice{nice}"), program)
            });
        }
        builder.workload().duration = self.work.is_none().then_some(self.duration);
        Ok(builder.finish())
    }
}

impl Hogs {
    /// The one program all hogs run.
    fn program(&self) -> Ops {
        let mut ops = Ops::new();
        match self.work {
            Some(work) => ops.run(Amount::Fixed(work)),
            None => ops.repeat(Times::Forever, |ops| {
                ops.run(PIECE);
            }),
        };
        ops
    }
}
