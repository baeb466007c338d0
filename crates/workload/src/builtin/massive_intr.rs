//! massive_intr (Satoru Takeuchi, 2007): many tasks that look interactive and together want far
//! more than there is: each works 8 ms, sleeps 1 ms and counts how often it got round.

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::values::{nice, number, positive_time};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Op, TaskSpec, Times, Workload};

/// The options.
#[derive(clap::Parser, Debug)]
pub(super) struct MassiveIntr {
    /// Tasks.
    #[arg(short = 'n', long = "tasks", default_value_t = 200, value_parser = number(1, 1_000_000))]
    tasks: u32,
    /// CPU time of each round.
    #[arg(long, default_value = "8ms", value_name = "TIME", value_parser = positive_time)]
    run: Ns,
    /// Sleep of each round.
    #[arg(long, default_value = "1ms", value_name = "TIME", value_parser = positive_time)]
    sleep: Ns,
    /// Their nice value.
    #[arg(long, default_value = "0", allow_hyphen_values = true, value_parser = nice)]
    nice: i8,
    /// How long the run lasts.
    #[arg(short = 't', long, default_value = "5min", value_name = "TIME", value_parser = positive_time)]
    duration: Ns,
}

impl Benchmark for MassiveIntr {
    const NAME: &'static str = "massive-intr";
    const SUMMARY: &'static str = "many tasks that work 8 ms and sleep 1 ms: who gets the CPU?";

    fn workload(&self, mut builder: Builder) -> Result<Workload, Diagnostic> {
        let mark = builder.mark("round");
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, |ops| {
            ops.run(Amount::Fixed(self.run));
            ops.push(Op::Mark { mark, count: 1 });
            ops.push(Op::Sleep(Amount::Fixed(self.sleep)));
        });
        let program = builder.program(ops);
        builder.task(TaskSpec {
            nice: self.nice,
            count: self.tasks,
            ..task("massive-intr", program)
        });
        builder.workload().duration = Some(self.duration);
        Ok(builder.finish())
    }
}
