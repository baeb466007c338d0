//! Reading programs: what their instructions refer to, and which of their functions are alike.

use std::collections::{BTreeSet, HashMap};

use crate::btf::{Kind, TypeId};
use crate::insn::*;
use crate::machine::{Kernel, Program, ProgramKind, Refusal};
use crate::maps::MapId;

/// Calls with a greater number stand for what a loader did not find: libbpf's and clang's marks.
const FIRST_POISON: i32 = 195_896_080;

/// What an instruction refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refers {
    /// Nothing.
    Nothing,
    /// A constant of 64 bits.
    Value(u64),
    /// A map: its address.
    Map(MapId, u64),
    /// A function of the program: to call it, or its address.
    Function(u32),
    /// A helper, by number.
    Helper(u32),
    /// A kfunc.
    Kfunc(TypeId),
    /// Something that is missing; the instruction is not expected to run.
    Poison(u32),
    /// An arena: upper bits of its addresses for the kernel and for user space.
    Arena(u64, u64),
}

/// An instruction and what it refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// The instruction; the second half of a wide one is left as it is.
    pub insn: Insn,
    /// What it refers to.
    pub refers: Refers,
}

/// A function of a program.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, or the program's with a number.
    pub name: String,
    /// Its instructions.
    pub ops: Vec<Op>,
}

/// What the translator asks a machine.
pub trait World {
    /// Address of a map, as programs see it.
    fn map_address(&self, map: MapId) -> Option<u64>;
    /// Address of a map's first value, if it is an array.
    fn map_values(&self, map: MapId) -> Option<u64>;
    /// Upper 32 bits of an arena's addresses, for the kernel and for user space.
    fn arena(&self, map: MapId) -> Option<(u64, u64)>;
    /// Where array values are, so that a lookup needs no call: address, stride, per CPU.
    fn array(&self, map: MapId) -> Option<(u64, u64, bool)>;
    /// How far before its owner the pointer to a value of a storage map is, if it is there.
    fn storage(&self, map: MapId) -> Option<u64>;
    /// Address of a variable of the kernel.
    fn variable(&self, id: TypeId) -> Option<u64>;
}

// ---- reading a program --------------------------------------------------------------

/// Takes a program apart into functions; the first one is where it begins.
///
/// # Errors
/// Something in it is unknown here.
pub fn read(
    program: &Program,
    kernel: &Kernel,
    world: &dyn World,
) -> Result<Vec<Function>, Refusal> {
    let insns: Vec<Insn> = program
        .insns
        .iter()
        .map(|&word| Insn::decode(word))
        .collect();
    let reader = Reader {
        program,
        kernel,
        world,
        starts: starts(program, &insns),
        arena: used_arena(&insns, world),
        insns,
    };
    let ends = reader.starts.iter().skip(1).copied();
    let ends = ends.chain([reader.insns.len() as u32]);
    let functions = reader.starts.iter().copied().zip(ends).enumerate();
    functions
        .map(|(number, (from, to))| reader.function(number, from, to))
        .collect()
}

/// First instruction of each function.
fn starts(program: &Program, insns: &[Insn]) -> Vec<u32> {
    let mut starts = BTreeSet::from([0]);
    starts.extend(program.functions.iter().map(|&(at, _)| at));
    let mut wide = false;
    for (at, insn) in insns.iter().enumerate() {
        if !std::mem::replace(&mut wide, insn.is_wide()) {
            starts.extend(callee(*insn).map(|by| (at as i64 + 1 + by) as u32));
        } else {
            wide = false;
        }
    }
    starts.retain(|&at| (at as usize) < insns.len().max(1));
    starts.into_iter().collect()
}

/// How far away the function is that an instruction names.
fn callee(insn: Insn) -> Option<i64> {
    let calls = insn.op == JMP | CALL && insn.src == CALL_FUNCTION;
    let names = insn.is_wide() && insn.src == PSEUDO_FUNC;
    (calls || names).then_some(i64::from(insn.imm))
}

/// The arena a program names: there may be one.
fn used_arena(insns: &[Insn], world: &dyn World) -> Option<(u64, u64)> {
    let maps = insns
        .iter()
        .filter(|insn| insn.is_wide() && matches!(insn.src, PSEUDO_MAP_FD | PSEUDO_MAP_VALUE));
    maps.filter_map(|insn| world.arena(MapId(insn.imm as u32)))
        .next()
}

struct Reader<'a> {
    program: &'a Program,
    kernel: &'a Kernel,
    world: &'a dyn World,
    insns: Vec<Insn>,
    starts: Vec<u32>,
    arena: Option<(u64, u64)>,
}

impl Reader<'_> {
    fn function(&self, number: usize, from: u32, to: u32) -> Result<Function, Refusal> {
        let named = self.program.functions.iter().find(|&&(at, _)| at == from);
        let name = match (number, named) {
            (0, _) => self.program.name.clone(),
            (_, Some((_, name))) => name.clone(),
            (_, None) => format!("{}.{number}", self.program.name),
        };
        let mut ops: Vec<Op> = Vec::new();
        let mut at = from;
        while at < to {
            let insn = self.insns[at as usize];
            if !is_known(insn) {
                return Err(self.refuse(at, "is none that this kernel knows"));
            }
            ops.push(Op {
                insn,
                refers: self.refers(at, insn)?,
            });
            if insn.is_wide() {
                let second = self.insns.get(at as usize + 1).copied();
                let second = second.filter(|_| at + 1 < to);
                let insn = second.ok_or_else(|| self.refuse(at, "is cut off"))?;
                let refers = Refers::Nothing;
                ops.push(Op { insn, refers });
                at += 1;
            }
            at += 1;
        }
        self.check_jumps(from, &ops)?;
        Ok(Function { name, ops })
    }

    /// Jumps stay within the function and lead to whole instructions, and nothing runs out of it.
    fn check_jumps(&self, from: u32, ops: &[Op]) -> Result<(), Refusal> {
        let halves = second_halves(ops);
        for (i, op) in whole(ops) {
            let Some(by) = op.insn.jump() else {
                continue;
            };
            let target = usize::try_from(i as i64 + 1 + by).ok();
            if !target.is_some_and(|target| target < ops.len() && !halves.contains(&target)) {
                return Err(self.refuse(from + i as u32, "jumps out of its function"));
            }
        }
        let ends = whole(ops).last().is_some_and(|(_, op)| op.insn.ends());
        match ends {
            true => Ok(()),
            false => Err(self.refuse(from, "begins a function without an end")),
        }
    }

    fn refers(&self, at: u32, insn: Insn) -> Result<Refers, Refusal> {
        if insn.is_wide() {
            return self.constant(at, insn);
        }
        if insn.op == JMP | CALL {
            return self.called(at, insn);
        }
        let casts = insn.op == ALU64 | MOV | X && insn.off == CAST;
        match (casts, self.arena) {
            (false, _) => Ok(Refers::Nothing),
            (true, Some((kernel, user))) => Ok(Refers::Arena(kernel, user)),
            (true, None) => Err(self.refuse(
                at,
                "casts an arena pointer, but the program names no arena that was mapped",
            )),
        }
    }

    fn constant(&self, at: u32, insn: Insn) -> Result<Refers, Refusal> {
        let second = self.insns.get(at as usize + 1).map_or(0, |next| next.imm);
        let map = MapId(insn.imm as u32);
        let found = match insn.src {
            PSEUDO_MAP_FD => self
                .world
                .map_address(map)
                .map(|address| Refers::Map(map, address)),
            PSEUDO_MAP_VALUE => self
                .world
                .map_values(map)
                .map(|values| Refers::Value(values.wrapping_add(second as u32 as u64))),
            PSEUDO_BTF_ID if second == 0 => {
                let id = TypeId(insn.imm as u32);
                let name = self.kernel.btf.name(id);
                let address = self.world.variable(id);
                let what = format!(
                    "names the kernel's variable \"{name}\", which this kernel does not have"
                );
                return address
                    .map(Refers::Value)
                    .ok_or_else(|| self.refuse(at, &what));
            }
            PSEUDO_FUNC => self.function_at(at, insn.imm).map(Refers::Function),
            0 => Some(Refers::Value(
                u64::from(insn.imm as u32) | (second as u64) << 32,
            )),
            _ => None,
        };
        found.ok_or_else(|| self.refuse(at, "names something that does not exist"))
    }

    fn called(&self, at: u32, insn: Insn) -> Result<Refers, Refusal> {
        match insn.src {
            CALL_HELPER if insn.imm >= FIRST_POISON => Ok(Refers::Poison(insn.imm as u32)),
            CALL_HELPER => {
                let number = insn.imm as u32;
                let known = self.kernel.helpers.contains_key(&number);
                let what = format!(
                    "calls {}, which this kernel does not have",
                    helper_name(number)
                );
                self.unless_missing(at, known, Refers::Helper(number), &what)
            }
            CALL_FUNCTION => self
                .function_at(at, insn.imm)
                .map(Refers::Function)
                .ok_or_else(|| self.refuse(at, "calls a function that does not exist")),
            _ => {
                let id = TypeId(insn.imm as u32);
                let name = self.kernel.btf.name(id);
                let is_function = self.kernel.btf.kind(id) == Some(Kind::Func);
                let known = insn.off == 0 && is_function && self.kernel.kfuncs.contains_key(name);
                let what = format!("calls the kfunc \"{name}\", which this kernel does not have");
                self.unless_missing(at, known, Refers::Kfunc(id), &what)
            }
        }
    }

    /// What is missing does not matter in a program that nothing here runs.
    fn unless_missing(
        &self,
        at: u32,
        known: bool,
        refers: Refers,
        what: &str,
    ) -> Result<Refers, Refusal> {
        match (known, &self.program.kind) {
            (true, _) => Ok(refers),
            (false, ProgramKind::Other(_)) => Ok(Refers::Poison(0)),
            (false, _) => Err(self.refuse(at, what)),
        }
    }

    fn function_at(&self, at: u32, by: i32) -> Option<u32> {
        let target = u32::try_from(i64::from(at) + 1 + i64::from(by)).ok()?;
        self.starts.binary_search(&target).ok().map(|i| i as u32)
    }

    fn refuse(&self, at: u32, what: &str) -> Refusal {
        let word = self.program.insns.get(at as usize).copied().unwrap_or(0);
        Refusal {
            program: self.program.name.clone(),
            what: format!("instruction {at} ({word:016x}) {what}"),
        }
    }
}

fn helper_name(number: u32) -> String {
    match crate::helpers::NAMES.get(number as usize) {
        Some(name) if number > 0 => format!("the helper bpf_{name}"),
        _ => format!("helper number {number}"),
    }
}

/// Instructions with their numbers, without the second halves of wide ones.
pub(crate) fn whole(ops: &[Op]) -> impl Iterator<Item = (usize, Op)> + '_ {
    let mut second = false;
    ops.iter().copied().enumerate().filter(move |(_, op)| {
        let is_second = second;
        second = !is_second && op.insn.is_wide();
        !is_second
    })
}

fn second_halves(ops: &[Op]) -> BTreeSet<usize> {
    let firsts = whole(ops).filter(|(_, op)| op.insn.is_wide());
    firsts.map(|(i, _)| i + 1).collect()
}

// ---- functions that are alike ---------------------------------------------------------

/// Functions of several programs, each of which is unlike all others.
#[derive(Debug, Default)]
pub struct Unit {
    /// In the order in which programs have them; they refer to each other by place.
    pub functions: Vec<Function>,
    /// Of each program, the place of its first function.
    pub entries: Vec<usize>,
}

/// Finds out which functions of some programs are the same.
pub fn join(programs: &[Vec<Function>]) -> Unit {
    let first: Vec<usize> = programs
        .iter()
        .scan(0, |sum, functions| {
            let first = *sum;
            *sum += functions.len();
            Some(first)
        })
        .collect();
    let owner = programs.iter().zip(&first);
    let all: Vec<(&Function, usize)> = owner
        .flat_map(|(functions, &first)| functions.iter().map(move |function| (function, first)))
        .collect();
    let classes = classes(&all);
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let mut unit = Unit {
        functions: Vec::with_capacity(count),
        entries: first.iter().map(|&first| classes[first]).collect(),
    };
    for (i, &(function, first)) in all.iter().enumerate() {
        if classes[i] == unit.functions.len() {
            let mut function = function.clone();
            for op in &mut function.ops {
                if let Refers::Function(other) = &mut op.refers {
                    *other = classes[first + *other as usize] as u32;
                    if op.insn.op == JMP | CALL || op.insn.is_wide() {
                        op.insn.imm = 0;
                    }
                }
            }
            unit.functions.push(function);
        }
    }
    unit
}

/// A number for each function; equal numbers: the functions do the same.  Numbers are given in order.
fn classes(all: &[(&Function, usize)]) -> Vec<usize> {
    let mut numbers: HashMap<Vec<Op>, usize> = HashMap::new();
    let mut classes: Vec<usize> = Vec::with_capacity(all.len());
    for (function, _) in all {
        let mut ops = function.ops.clone();
        for op in &mut ops {
            if let Refers::Function(other) = &mut op.refers {
                (*other, op.insn.imm) = (0, 0);
            }
        }
        let next = numbers.len();
        classes.push(*numbers.entry(ops).or_insert(next));
    }
    let mut count = numbers.len();
    loop {
        let mut numbers: HashMap<Vec<usize>, usize> = HashMap::new();
        let refined = all.iter().enumerate().map(|(i, (function, first))| {
            let callees = function.ops.iter().filter_map(|op| match op.refers {
                Refers::Function(other) => Some(classes[first + other as usize]),
                _ => None,
            });
            let key: Vec<usize> = std::iter::once(classes[i]).chain(callees).collect();
            let next = numbers.len();
            *numbers.entry(key).or_insert(next)
        });
        classes = refined.collect();
        let refined = classes.iter().max().map_or(0, |most| most + 1);
        if refined == count {
            return classes;
        }
        count = refined;
    }
}
