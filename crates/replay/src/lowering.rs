//! Turns task histories into the programs of a workload.

use std::collections::BTreeMap;

use schedlab_recording::kernel_thread_cpu;
use schedlab_trace::{Ns, TaskClass, TaskInfo, Time};
use schedlab_workload::{
    Amount, Op, Process, Program, ProgramId, SpecId, TaskSpec, Times, Workload,
};

use crate::life::{Begin, Life, NOTHING};
use crate::{Counts, Replay};

/// Maps task ids to indexes of specifications.
pub struct Lowering {
    /// The index of the specification of each task id.
    specs: Vec<Option<u32>>,
    processes: BTreeMap<u32, u32>,
    names: BTreeMap<String, u32>,
    /// The replay ends with its programs: later work of kernel threads after timers is not part of
    /// it.
    kernel_is_background: bool,
}

impl Lowering {
    pub fn new(lives: &[Life]) -> Lowering {
        let most = lives.iter().map(|life| life.info.id.index() + 1).max();
        let mut lowering = Lowering {
            specs: vec![None; most.unwrap_or(0)],
            processes: BTreeMap::new(),
            names: BTreeMap::new(),
            kernel_is_background: false,
        };
        for (index, life) in lives.iter().enumerate() {
            lowering.specs[life.info.id.index()] = Some(index as u32);
            let number = lowering.processes.len() as u32 + 1;
            lowering
                .processes
                .entry(life.info.process)
                .or_insert(number);
        }
        lowering
    }

    pub fn lower(mut self, lives: Vec<Life>, replay: &mut Replay) {
        let by_work = replay.counts.has_flow && !replay.counts.ends_by_time;
        self.kernel_is_background = by_work;
        let workload = &mut replay.workload;
        for (index, life) in lives.into_iter().enumerate() {
            let spec = self.spec(&life, ProgramId(index as u32), workload);
            let goes_on = replay.counts.ends_by_time && life.paces_itself();
            let ops = replay
                .costs
                .taken_out(life.ops, &life.points, &mut replay.counts);
            let ops = self.program(ops, &mut replay.counts);
            let ops = in_kernel_after_posts(ops, replay.reactions.preemption_ns);
            let ops = match goes_on {
                true => again_and_again(ops),
                false => ops,
            };
            workload.tasks.push(spec);
            workload.programs.push(Program { ops });
        }
    }

    fn program(&self, mut ops: Vec<Op>, counts: &mut Counts) -> Vec<Op> {
        join_work(&mut ops);
        let index = |id: u32| self.specs[id as usize].expect("only tasks that were seen are woken");
        for op in &mut ops {
            match op {
                Op::SemPost(task) | Op::SemSleep(task) => *task = index(*task),
                Op::Fork(SpecId(child)) => *child = index(*child),
                Op::Run(Amount::Fixed(work)) => counts.work_ns += *work,
                _ => {}
            }
        }
        ops.shrink_to_fit();
        ops
    }

    fn spec(&mut self, life: &Life, program: ProgramId, workload: &mut Workload) -> TaskSpec {
        let info = &life.info;
        let (start, count, dormant) = match life.begin {
            Begin::At(time) => (time.since(Time::ZERO), 1, false),
            Begin::Dormant => (Ns::ZERO, 1, true),
            Begin::Forked | Begin::Unseen => (Ns::ZERO, 0, false),
        };
        let real_time = matches!(info.class, TaskClass::Fifo | TaskClass::Rr);
        TaskSpec {
            name: self.name(info),
            group: info.group.clone(),
            count,
            program,
            nice: info.nice,
            class: info.class,
            rt_priority: if real_time { info.rt_priority } else { 0 },
            cpus: kernel_thread_cpu(&info.name).map(|cpu| cpu_set(workload, cpu)),
            control_group: None,
            slice: None,
            clamps: None,
            periodic: None,
            process: match life.is_kernel() {
                true => Process::Shared(0),
                false => Process::Shared(self.processes[&info.process]),
            },
            working_set_bytes: 0,
            start,
            dormant,
            background: self.kernel_is_background && life.is_kernel(),
            foreground: false,
        }
    }

    /// The task's name with its thread id, and with a number if that name exists.
    fn name(&mut self, info: &TaskInfo) -> String {
        let name = match info.pid {
            Some(pid) => format!("{}-{pid}", info.name),
            None => info.name.clone(),
        };
        let uses = self.names.entry(name.clone()).or_insert(0);
        *uses += 1;
        match *uses {
            1 => name,
            uses => format!("{name}#{uses}"),
        }
    }
}

/// A program that starts again at its end.
fn again_and_again(mut ops: Vec<Op>) -> Vec<Op> {
    ops.retain(|op| *op != Op::Rest);
    let end = ops.len() as u32 + 1;
    let times = Times::Forever;
    ops.insert(0, Op::Loop { times, end });
    ops.push(Op::EndLoop { start: 0 });
    ops
}

/// Removes operations without effect and joins the work around them.
fn join_work(ops: &mut Vec<Op>) {
    ops.retain(|op| *op != NOTHING);
    ops.dedup_by(|op, before| match (op, before) {
        (Op::Run(Amount::Fixed(work)), Op::Run(Amount::Fixed(sum))) => {
            *sum += *work;
            true
        }
        _ => false,
    });
}

/// A task that wakes another is in the kernel; the first `in_kernel` of its following work is in
/// the kernel, too.
fn in_kernel_after_posts(ops: Vec<Op>, in_kernel: Option<Ns>) -> Vec<Op> {
    let Some(in_kernel) = in_kernel.filter(|ns| *ns > Ns::ZERO) else {
        return ops;
    };
    let mut changed = Vec::with_capacity(ops.len());
    for op in ops {
        match (changed.last(), op) {
            (Some(Op::SemPost(_) | Op::Send { .. }), Op::Run(Amount::Fixed(work))) => {
                changed.push(Op::RunInKernel(work.min(in_kernel)));
                if work > in_kernel {
                    changed.push(Op::Run(Amount::Fixed(work - in_kernel)));
                }
            }
            _ => changed.push(op),
        }
    }
    changed.shrink_to_fit();
    changed
}

fn cpu_set(workload: &mut Workload, cpu: u32) -> u32 {
    let sets = &mut workload.cpu_sets;
    let at = sets.iter().position(|set| set == &[cpu]);
    at.unwrap_or_else(|| {
        sets.push(vec![cpu]);
        sets.len() - 1
    }) as u32
}
