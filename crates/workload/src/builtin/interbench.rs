//! interbench (Con Kolivas, 2005): a simulated player, screen or game and a background load.
//!
//! As in version 0.31, a timekeeper at SCHED_FIFO 96 sleeps for the benchmarked thread and wakes it, so
//! that a late timer does not count.  A frame that comes due while the thread still computes another is
//! dropped.  Unlike version 0.31, this program computes a frame that starts more than an interval late.
//!
//! The mark "frame" counts frames that came due, "burn" frames that were computed.  interbench's latency is the
//! wakeup latency of the benchmarked group; for gaming it is the time of "burst" beyond 100 ms.
//! The experiment classic-interbench computes its tables.

use clap::ValueEnum;
use schedlab_input::Diagnostic;
use schedlab_trace::{MarkId, Ns, TaskClass};

use super::errors::bad_option;
use super::loads::Loads;
use super::values::{nice, number, positive_time};
use super::Benchmark;
use crate::builder::{task, Builder, Ops};
use crate::{Amount, Op, Process, TaskSpec, TimerScope, Times};

/// The options; the short ones are interbench's own.
#[derive(clap::Parser, Debug)]
pub(super) struct Interbench {
    /// What is benchmarked.
    #[arg(short = 'W', long, value_enum, default_value_t = Bench::Audio)]
    bench: Bench,
    /// What runs beside it.
    #[arg(short = 'w', long, value_enum, default_value_t = Load::None)]
    load: Load,
    /// Threads of --load burn and compile; interbench advises one for each CPU.
    #[arg(short = 'L', long, default_value_t = 4, value_parser = number(1, 100_000))]
    burners: u32,
    /// How long it runs.
    #[arg(short = 't', long, default_value = "30s", value_name = "TIME", value_parser = positive_time)]
    duration: Ns,
    /// nice value of the benchmarked thread.
    #[arg(short = 'B', long, default_value = "0", allow_hyphen_values = true, value_parser = nice)]
    bench_nice: i8,
    /// nice value of the load.
    #[arg(short = 'N', long, default_value = "0", allow_hyphen_values = true, value_parser = nice)]
    load_nice: i8,
    /// Benchmark it as SCHED_FIFO 95.
    #[arg(short, long)]
    real_time: bool,
    /// CPU time --bench custom wants of each interval, in per cent.
    #[arg(short = 'C', long, default_value_t = 10, value_parser = number(1, 100))]
    custom_percent: u32,
    /// Interval of --bench custom.
    #[arg(short = 'I', long, default_value = "100ms", value_name = "TIME", value_parser = positive_time)]
    custom_interval: Ns,
}

/// interbench's benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Bench {
    /// 2.5 ms every 50 ms.
    Audio,
    /// 40 % of the CPU, 60 times a second.
    Video,
    /// A window being dragged: 0 to 100 ms of every 100 ms, 1 ms more each time.
    X,
    /// All the CPU there is, in bursts of 100 ms.
    Gaming,
    /// --custom-percent of every --custom-interval.
    Custom,
}

/// interbench's loads.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Load {
    /// Nothing else runs.
    None,
    /// The benchmark of that name.
    Video,
    /// The benchmark of that name.
    X,
    /// Threads that only compute.
    Burn,
    /// One that writes a file of the size of memory, again and again.
    Write,
    /// One that reads such a file.
    Read,
    /// Four threads that wake each other in a circle.
    Ring,
    /// burn, write and read together.
    Compile,
    /// One that touches more memory than there is.
    Memload,
}

/// Threads of the ring, and what it costs to pass the token on, which is nothing but two system calls.
const RING: (u32, Ns) = (4, Ns::from_us(1));
/// Length of a burst of gaming.
const BURST: Ns = Ns::from_ms(100);
/// The processes of the two sides.
const BENCH_PROCESS: Process = Process::Shared(1);
const LOAD_PROCESS: Process = Process::Shared(2);

impl Benchmark for Interbench {
    const NAME: &'static str = "interbench";
    const SUMMARY: &'static str = "a player, a screen or a game beside a load: is it on time?";

    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        self.add_bench(builder)?;
        self.add_load(builder);
        builder.workload().duration = Some(self.duration);
        Ok(())
    }
}

impl Interbench {
    fn add_bench(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        let ops = match self.frames()? {
            Some(frames) => {
                let due = builder.condition();
                let marks = (builder.mark("frame"), builder.mark("burn"));
                let program = builder.program(frames.timekeeper(due, Some(marks.0)));
                builder.task(TaskSpec {
                    process: BENCH_PROCESS,
                    class: TaskClass::Fifo,
                    rt_priority: 96,
                    ..task("timekeeper", program)
                });
                frames.burner(due, Some(marks.1))
            }
            None => bursts(builder),
        };
        let program = builder.program(ops);
        let (class, rt_priority) = match self.real_time {
            true => (TaskClass::Fifo, 95),
            false => (TaskClass::Normal, 0),
        };
        builder.task(TaskSpec {
            process: BENCH_PROCESS,
            nice: self.bench_nice,
            class,
            rt_priority,
            ..task(self.bench.name(), program)
        });
        Ok(())
    }

    fn add_load(&self, builder: &mut Builder) {
        let mut loads = Loads::new(builder, self.load_nice, LOAD_PROCESS);
        match self.load {
            Load::None => {}
            Load::Burn => loads.burn(self.burners),
            Load::Write => loads.write(),
            Load::Read => loads.read(),
            Load::Ring => loads.ring(RING.0, 1, RING.1),
            Load::Memload => loads.memory(),
            Load::Compile => {
                loads.burn(self.burners);
                loads.write();
                loads.read();
            }
            Load::Video => self.add_frames(builder, "video", &Frames::video()),
            Load::X => self.add_frames(builder, "x", &Frames::x()),
        }
    }

    /// Frames as a load: their timekeeper is an ordinary thread.
    fn add_frames(&self, builder: &mut Builder, name: &str, frames: &Frames) {
        let due = builder.condition();
        for (role, ops) in [
            ("-timer", frames.timekeeper(due, None)),
            ("", frames.burner(due, None)),
        ] {
            let program = builder.program(ops);
            builder.task(TaskSpec {
                process: LOAD_PROCESS,
                group: "load".to_string(),
                nice: self.load_nice,
                background: true,
                ..task(format!("load-{name}{role}"), program)
            });
        }
    }

    /// The frames of the benchmark; gaming has none.
    fn frames(&self) -> Result<Option<Frames>, Diagnostic> {
        Ok(match self.bench {
            Bench::Audio => Some(Frames::steady(Ns::from_ms(50), 5)),
            Bench::Video => Some(Frames::video()),
            Bench::X => Some(Frames::x()),
            Bench::Gaming => None,
            Bench::Custom => {
                let frames = Frames::steady(self.custom_interval, self.custom_percent);
                if frames.runs[0] == Ns::ZERO {
                    let problem = format!("{} ns cannot be divided", self.custom_interval.0);
                    let expected = "at least 100ns";
                    return Err(bad_option(
                        Self::NAME,
                        "--custom-interval",
                        problem,
                        expected,
                    ));
                }
                Some(frames)
            }
        })
    }
}

impl Bench {
    fn name(self) -> &'static str {
        match self {
            Bench::Audio => "audio",
            Bench::Video => "video",
            Bench::X => "x",
            Bench::Gaming => "gaming",
            Bench::Custom => "custom",
        }
    }
}

/// Work that comes due again and again.
struct Frames {
    interval: Ns,
    /// The work of one frame after the other, then from the first again.
    runs: Vec<Ns>,
}

impl Frames {
    /// Always the same share of the interval.
    fn steady(interval: Ns, percent: u32) -> Frames {
        Frames {
            interval,
            runs: vec![Ns(interval.0 * u64::from(percent) / 100)],
        }
    }

    /// 60 frames a second, in whole microseconds as in the original.
    fn video() -> Frames {
        Frames::steady(Ns::from_us(16_666), 40)
    }

    fn x() -> Frames {
        Frames {
            interval: Ns::from_ms(100),
            runs: (0..=100).map(Ns::from_ms).collect(),
        }
    }

    /// Signals when a frame is due.  A task still busy with the last frame misses the signal.
    fn timekeeper(&self, due: u32, frame: Option<MarkId>) -> Ops {
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, |ops| {
            ops.push(Op::Timer {
                timer: TimerScope::Own(0),
                period: self.interval,
                relative: false,
            });
            ops.extend(frame.map(|mark| Op::Mark { mark, count: 1 }));
            ops.push(Op::CondSignal(due));
        });
        ops
    }

    fn burner(&self, due: u32, burn: Option<MarkId>) -> Ops {
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, |ops| {
            for &run in &self.runs {
                ops.push(Op::CondWait {
                    condition: due,
                    mutex: None,
                });
                ops.run(Amount::Fixed(run));
                ops.extend(burn.map(|mark| Op::Mark { mark, count: 1 }));
            }
        });
        ops
    }
}

/// Bursts without an end, each timed.
fn bursts(builder: &mut Builder) -> Ops {
    let mark = builder.mark("burst");
    let mut ops = Ops::new();
    ops.repeat(Times::Forever, |ops| {
        ops.push(Op::StartClock).run(Amount::Fixed(BURST));
        ops.push(Op::StopClock { mark });
    });
    ops
}
