//! Random workloads for testing policies, drawn from a seed.
//!
//! They test policies and do not measure them: tasks start and end, change their nice values,
//! classes and CPUs (their own and each other's), and die in every state.  Each seed omits most
//! kinds of operations and repeats a few, so that different seeds test different things.

use schedlab_trace::{Ns, TaskClass};

use crate::model::{
    Amount, Channel, Op, Process, Program, ProgramId, SpecId, TaskSpec, Times, Workload,
};

/// A random workload for a machine with `nr_cpus` CPUs.
pub fn random(seed: u64, nr_cpus: u32) -> Workload {
    let mut draw = Draw(seed);
    let habits = Habits::draw(&mut draw);
    let nr_specs = 1 + draw.below(6);
    let mut workload = Workload {
        name: format!("random-{seed}"),
        source: format!("random {seed}"),
        duration: Some(Ns::from_ms(50 + u64::from(draw.below(400)))),
        nr_mutexes: 2,
        nr_conditions: 1,
        semaphores: vec![1, 0],
        channels: vec![Channel::holding(1), Channel::holding(16)],
        nr_disks: 1,
        cpu_sets: (0..4).map(|_| cpu_set(&mut draw, nr_cpus)).collect(),
        ..Workload::default()
    };
    for spec in 0..nr_specs {
        let program = Program {
            ops: program(&mut draw, &habits, spec, nr_specs),
        };
        workload.programs.push(program);
        let task = task(&mut draw, &habits, spec, nr_cpus);
        workload.tasks.push(task);
    }
    workload
}

/// The operations of a seed's tasks: a weight for each kind, mostly 0.
struct Habits {
    weights: [u32; 16],
    real_time: bool,
    pinned: bool,
    crowd: bool,
}

impl Habits {
    fn draw(draw: &mut Draw) -> Habits {
        let mut weights = [0; 16];
        for weight in &mut weights {
            *weight = if draw.below(3) == 0 {
                1 + draw.below(8)
            } else {
                0
            };
        }
        weights[0] = 4; // Every task computes,
        weights[1] = weights[1].max(1); // and sleeps now and then.
        Habits {
            weights,
            real_time: draw.below(4) == 0,
            pinned: draw.below(4) == 0,
            crowd: draw.below(8) == 0,
        }
    }
}

fn cpu_set(draw: &mut Draw, nr_cpus: u32) -> Vec<u32> {
    let mut cpus: Vec<u32> = (0..nr_cpus).filter(|_| draw.below(2) == 0).collect();
    if cpus.is_empty() {
        cpus.push(draw.below(nr_cpus));
    }
    cpus
}

fn task(draw: &mut Draw, habits: &Habits, spec: u32, nr_cpus: u32) -> TaskSpec {
    let class = if habits.real_time {
        class(draw)
    } else {
        TaskClass::Normal
    };
    let most = if habits.crowd {
        40 * nr_cpus
    } else {
        2 * nr_cpus + 2
    };
    TaskSpec {
        name: format!("t{spec}"),
        group: format!("t{spec}"),
        // The last kind is only forked.
        count: if spec == 5 {
            0
        } else {
            1 + draw.below(most.min(300))
        },
        program: ProgramId(spec),
        nice: draw.below(40) as i8 - 20,
        class,
        rt_priority: rt_priority(draw, class),
        periodic: (spec % 2 == 0).then_some(crate::Periodic {
            runtime: Ns::ZERO,
            deadline: Ns::from_ms(u64::from(spec) + 1),
            period: Ns::from_ms(10),
        }),
        cpus: (habits.pinned && draw.below(2) == 0).then(|| draw.below(4)),
        control_group: None,
        slice: None,
        clamps: None,
        process: if draw.below(2) == 0 {
            Process::Parent
        } else {
            Process::Own
        },
        working_set_bytes: u64::from(draw.below(3)) * 100_000,
        start: Ns::from_us(u64::from(draw.below(3) * draw.below(20_000))),
        dormant: false,
        background: true,
        foreground: spec % 3 == 1,
    }
}

fn class(draw: &mut Draw) -> TaskClass {
    use TaskClass::{Batch, Fifo, Idle, Iso, Normal, Rr};
    [Normal, Iso, Batch, Idle, Fifo, Rr][draw.below(6) as usize]
}

fn rt_priority(draw: &mut Draw, class: TaskClass) -> u8 {
    match class {
        TaskClass::Fifo | TaskClass::Rr => 1 + draw.below(99) as u8,
        _ => 0,
    }
}

/// A loop around a handful of operations; every round computes or sleeps, so time passes.
fn program(draw: &mut Draw, habits: &Habits, spec: u32, nr_specs: u32) -> Vec<Op> {
    let times = match draw.below(3) {
        0 => Times::Fixed(1 + draw.below(4)),
        _ => Times::Forever,
    };
    let mut ops = vec![Op::Loop { times, end: 0 }];
    for _ in 0..1 + draw.below(8) {
        operation(draw, habits, spec, nr_specs, &mut ops);
    }
    ops.push(Op::Run(amount(draw, 3_000_000)));
    if draw.below(2) == 0 {
        ops.push(Op::Sleep(amount(draw, 5_000_000)));
    }
    let end = ops.len() as u32;
    ops[0] = Op::Loop { times, end };
    ops.push(Op::EndLoop { start: 0 });
    ops
}

fn amount(draw: &mut Draw, most_ns: u32) -> Amount {
    Amount::Fixed(Ns(1 + u64::from(draw.below(most_ns))))
}

fn operation(draw: &mut Draw, habits: &Habits, spec: u32, nr_specs: u32, ops: &mut Vec<Op>) {
    let other = SpecId(draw.below(nr_specs));
    let new_class = class(draw);
    let new_rt = rt_priority(draw, new_class);
    let nice = draw.below(40) as i8 - 20;
    let set = (draw.below(3) > 0).then(|| draw.below(4));
    match draw.weighted(&habits.weights) {
        0 => ops.push(Op::Run(amount(draw, 20_000_000))),
        1 => ops.push(Op::Sleep(amount(draw, 20_000_000))),
        2 => ops.push(Op::Yield),
        3 => {
            let mutex = draw.below(2);
            ops.extend([
                Op::Lock(mutex),
                Op::Run(amount(draw, 200_000)),
                Op::Unlock(mutex),
            ]);
        }
        4 => ops.extend([Op::SemPost(1), Op::SemWait(1)]),
        5 => ops.push(Op::Send {
            channel: draw.below(2),
            count: 1 + draw.below(3),
        }),
        6 => ops.push(Op::Receive {
            channel: draw.below(2),
            count: 1 + draw.below(3),
        }),
        7 => ops.push(Op::Disk {
            disk: 0,
            service: amount(draw, 2_000_000),
        }),
        // A task only forks kinds after its own, so there is an end to it.
        8 if spec + 1 < nr_specs => {
            ops.push(Op::Fork(SpecId(spec + 1 + draw.below(nr_specs - spec - 1))));
        }
        9 => ops.push(Op::WaitChild),
        10 => ops.push(Op::SetNice(nice)),
        11 => ops.push(Op::SetCpus(set)),
        12 if habits.real_time => ops.push(Op::SetClass(new_class, new_rt)),
        13 => ops.push(Op::Renice(other, nice)),
        14 if habits.real_time => ops.push(Op::Reclass(other, new_class, new_rt)),
        15 => ops.extend([Op::Exec, Op::Repin(other, set)]),
        _ => ops.push(Op::RunFor(amount(draw, 1_000_000))),
    }
}

/// SplitMix64, as everywhere in the project.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        (((x >> 32) * u64::from(n)) >> 32) as u32
    }

    fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, &weight) in weights.iter().enumerate() {
            if left < weight {
                return index;
            }
            left -= weight;
        }
        0
    }
}
