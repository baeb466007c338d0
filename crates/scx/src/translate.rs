//! BPF instructions to C.
//!
//! libbpf gives every program a copy of all functions it calls.  Functions that are alike, and call what is alike,
//! are one function in C.  The C text depends on the instructions and on the addresses of maps, which hardly
//! depend on anything: the same scheduler gives the same text.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::insn::*;
use crate::machine::Kernel;
use crate::maps::MapId;
use crate::read::{whole, Op, Refers, Unit, World};

/// What the C text begins with.
pub const PRELUDE: &str = include_str!("../include/prelude.h");

/// Addresses of functions as programs see them.
pub const FUNCTIONS: u64 = 0xffff_ffff_c000_0000;

/// Most bytes of a frame.
const FRAME: i32 = 512;

/// Bytes of C text in a file, before another one is begun.
const PART: usize = 128 << 10;

/// Frame of a function that may call itself: they bound how deep it gets.
const RECURSIVE_FRAME: i32 = 512;

// ---- C ----------------------------------------------------------------------------------

/// A unit in C, and what it needs to be linked.
#[derive(Debug)]
pub struct Text {
    /// The C text, in files that are compiled side by side.
    pub parts: Vec<String>,
    /// What the table of calls holds, after the host's own.
    pub calls: Vec<Refers>,
    /// Functions whose addresses are exported, by place in the unit, in the table's order.
    pub exported: Vec<usize>,
}

/// Number of entries of the table of calls that are the host's own.
pub const OWN_CALLS: usize = 3;

/// Writes a unit as C.  `number` tells the addresses of its functions from those of other units.
pub fn write(unit: &Unit, number: u64, kernel: &Kernel, world: &dyn World) -> Text {
    let mut exported: Vec<usize> = unit.entries.clone();
    for op in unit.functions.iter().flat_map(|function| &function.ops) {
        if let (Refers::Function(other), true) = (op.refers, op.insn.is_wide()) {
            exported.push(other as usize);
        }
    }
    let mut seen = BTreeSet::new();
    exported.retain(|&function| seen.insert(function));
    let mut writer = Writer {
        unit,
        kernel,
        world,
        first_address: FUNCTIONS + (number << 20),
        exported,
        recursive: recursive(unit),
        calls: Vec::new(),
        slots: HashMap::new(),
        c: String::new(),
        functions: Vec::new(),
    };
    writer.write();
    let parts = writer.parts();
    Text {
        parts,
        calls: writer.calls,
        exported: writer.exported,
    }
}

/// Functions that can be reached from themselves.
fn recursive(unit: &Unit) -> Vec<bool> {
    let callees = |i: usize| {
        unit.functions[i]
            .ops
            .iter()
            .filter_map(|op| match op.refers {
                Refers::Function(other) => Some(other as usize),
                _ => None,
            })
    };
    let reaches_itself = |i: usize| {
        let mut seen = BTreeSet::new();
        let mut left: Vec<usize> = callees(i).collect();
        while let Some(next) = left.pop() {
            if next == i {
                return true;
            }
            if seen.insert(next) {
                left.extend(callees(next));
            }
        }
        false
    };
    (0..unit.functions.len()).map(reaches_itself).collect()
}

/// Where a function's frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    /// It has none.
    None,
    /// In C variables, since its address is not used.
    Local(i32),
    /// In the machine's memory.
    Shared(i32),
}

/// What a function's instructions say about its frame.
fn frame(ops: &[Op], recursive: bool) -> Frame {
    let mut deepest = 0;
    let mut escapes = recursive;
    for (i, op) in whole(ops) {
        let insn = op.insn;
        let acquires = insn.class() == STX && insn.mode() == ATOMIC && insn.imm == LOAD_ACQUIRE;
        let plain = insn.mode() == MEM || insn.mode() == MEM_SX;
        let based = match insn.class() {
            LDX => insn.src == 10,
            ST | STX => insn.dst == 10 && !acquires,
            _ => false,
        };
        if based {
            let inside = (-FRAME..0).contains(&i32::from(insn.off))
                && i32::from(insn.off) + insn.width() as i32 / 8 <= 0;
            deepest = deepest.min(i32::from(insn.off));
            escapes |= !inside || !plain;
        }
        let stored = insn.class() == STX && insn.src == 10;
        let copied = matches!(insn.class(), ALU | ALU64) && insn.has_register() && insn.src == 10;
        let compared = matches!(insn.class(), JMP | JMP32) && insn.has_register() && insn.src == 10;
        if stored || compared {
            (escapes, deepest) = (true, -FRAME);
        }
        if copied {
            escapes = true;
            deepest = deepest.min(copy_reaches(ops, i));
        }
    }
    let bytes = (-deepest.max(-FRAME) + 15) / 16 * 16;
    match (escapes, recursive, bytes) {
        (_, true, _) => Frame::Shared(RECURSIVE_FRAME.max(bytes)),
        (true, _, _) => Frame::Shared(bytes.max(16)),
        (false, _, 0) => Frame::None,
        (false, _, _) => Frame::Local(bytes),
    }
}

/// The least offset a copy of the frame pointer gets: the constant that is added to it, if that is the next use.
fn copy_reaches(ops: &[Op], at: usize) -> i32 {
    let copy = ops[at].insn;
    if copy.op != ALU64 | MOV | X || copy.off != 0 {
        return -FRAME;
    }
    for op in &ops[at + 1..] {
        let insn = op.insn;
        if insn.op == ALU64 | ADD && insn.dst == copy.dst {
            return if insn.imm < 0 { insn.imm } else { -FRAME };
        }
        let reads_src = !matches!(insn.class(), LD | ST) && insn.src == copy.dst;
        let ends = matches!(insn.class(), JMP | JMP32) || insn.is_wide();
        let touches = insn.dst == copy.dst || reads_src;
        if touches || ends {
            return -FRAME;
        }
    }
    -FRAME
}

struct Writer<'a> {
    unit: &'a Unit,
    kernel: &'a Kernel,
    world: &'a dyn World,
    first_address: u64,
    exported: Vec<usize>,
    recursive: Vec<bool>,
    calls: Vec<Refers>,
    slots: HashMap<Refers, usize>,
    c: String,
    /// Functions that are done.
    functions: Vec<String>,
}

/// Adds a line.
macro_rules! line {
    ($self:ident, $($text:tt)*) => {{
        let _ = writeln!($self.c, $($text)*);
    }};
}

impl Writer<'_> {
    fn write(&mut self) {
        for i in 0..self.unit.functions.len() {
            self.function(i);
            self.functions.push(std::mem::take(&mut self.c));
        }
    }

    /// Files of functions that follow each other: a large scheduler is compiled on several CPUs.
    fn parts(&self) -> Vec<String> {
        let mut bodies: Vec<String> = vec![String::new()];
        for function in &self.functions {
            match bodies.last_mut() {
                Some(body) if body.len() < PART => *body += function,
                _ => bodies.push(function.clone()),
            }
        }
        let linkage = match bodies.len() {
            1 => "static",
            _ => "__attribute__((visibility(\"hidden\")))",
        };
        let nr_calls = OWN_CALLS + self.calls.len();
        let prototypes = (0..self.functions.len()).fold(String::new(), |mut text, i| {
            let _ = writeln!(text, "FUNCTION function_t f{i};");
            text
        });
        let head = format!(
            "#define NR_CALLS {nr_calls}\n#define FUNCTION {linkage}\n{PRELUDE}\n{prototypes}"
        );
        let exported: Vec<String> = self.exported.iter().map(|i| format!("f{i}")).collect();
        let tables = format!(
            "\ncall_t calls[NR_CALLS];\ncall_t *const schedlab_calls = calls;\n\
             function_t *const schedlab_functions[] = {{ {} }};\n",
            exported.join(", ")
        );
        let last = bodies.len() - 1;
        let parts = bodies.into_iter().enumerate();
        parts
            .map(|(i, body)| format!("{head}{body}{}", if i == last { &tables } else { "" }))
            .collect()
    }

    fn function(&mut self, number: usize) {
        let unit = self.unit;
        let function = &unit.functions[number];
        let frame = frame(&function.ops, self.recursive[number]);
        let name: String = function
            .name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        line!(self, "\n/* {name} */");
        line!(
            self,
            "FUNCTION u64 f{number}(struct machine *m, u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)\n{{"
        );
        line!(self, "\tu64 r0 = 0, r6 = 0, r7 = 0, r8 = 0, r9 = 0;");
        line!(self, "\tconst u64 d = m->delta;");
        self.open_frame(frame, number);
        let calls = function
            .ops
            .iter()
            .any(|op| matches!(op.refers, Refers::Function(_)));
        if calls {
            self.tick(number, 0);
        }
        let targets: BTreeSet<usize> = whole(&function.ops)
            .filter_map(|(i, op)| Some((i as i64 + 1 + op.insn.jump()?) as usize))
            .collect();
        if function.ops.iter().any(|op| op.insn.op == JMP | MAY_GOTO) {
            line!(self, "\tu32 may_goto = 0;");
        }
        let mut maps: [Option<MapId>; 11] = [None; 11];
        for (i, op) in whole(&function.ops) {
            if targets.contains(&i) {
                line!(self, "l{i}:");
                maps = [None; 11];
            }
            let site = Site {
                number,
                at: i,
                frame,
            };
            self.op(&site, op, &maps);
            follow_maps(&mut maps, op);
        }
        self.close_frame(frame);
        line!(self, "}}");
    }

    fn open_frame(&mut self, frame: Frame, number: usize) {
        match frame {
            Frame::None => {}
            Frame::Local(bytes) => {
                line!(
                    self,
                    "\tu8 local[{bytes}] __attribute__((aligned(16))) = {{ 0 }};"
                );
                line!(self, "\tconst u64 fp = (u64)local + {bytes};");
            }
            Frame::Shared(bytes) => {
                line!(self, "\tconst u64 r10 = m->stack, fp = d + r10;");
                line!(self, "\tif (unlikely(r10 - {bytes} < m->stack_end)) {{");
                line!(self, "\t\tlimit(m, TOO_DEEP, {});", site(number, 0));
                line!(self, "\t\treturn 0;\n\t}}");
                line!(self, "\tm->stack = r10 - {bytes};");
                line!(
                    self,
                    "\t__builtin_memset((void *)(fp - {bytes}), 0, {bytes});"
                );
            }
        }
    }

    fn close_frame(&mut self, frame: Frame) {
        if let Frame::Shared(_) = frame {
            line!(
                self,
                "out: __attribute__((unused));\n\tm->stack = r10;\n\treturn r0;"
            );
        } else {
            line!(self, "out: __attribute__((unused));\n\treturn r0;");
        }
    }

    /// One round of a loop, or one call.
    fn tick(&mut self, number: usize, at: usize) {
        line!(self, "\tif (unlikely(--m->budget < 0)) {{");
        line!(
            self,
            "\t\tlimit(m, LOOPED, {});\n\t\tgoto out;\n\t}}",
            site(number, at)
        );
    }

    fn op(&mut self, site: &Site, op: Op, maps: &[Option<MapId>; 11]) {
        let insn = op.insn;
        match insn.class() {
            LD => self.constant(op),
            LDX => self.load(site, insn),
            ST | STX if insn.mode() == ATOMIC => self.atomic(site, insn),
            ST | STX => self.store(site, insn),
            ALU | ALU64 => self.arithmetic(op),
            _ => self.jump(site, op, maps),
        }
    }

    fn constant(&mut self, op: Op) {
        let value = match op.refers {
            Refers::Value(value) | Refers::Map(_, value) => value,
            Refers::Function(other) => self.function_address(other as usize),
            _ => 0,
        };
        line!(self, "\tr{} = {value:#x}ull;", op.insn.dst);
    }

    fn function_address(&self, function: usize) -> u64 {
        let place = self.exported.iter().position(|&other| other == function);
        self.first_address + 16 * place.expect("it is exported") as u64
    }

    fn load(&mut self, site: &Site, insn: Insn) {
        let (width, dst, src, off) = (insn.width(), insn.dst, insn.src, insn.off);
        let value = match src == 10 && site.inside_frame(insn) {
            true => format!("FL{width}(fp + {off})"),
            false => format!("L{width}(m, d, r{src}, {off})"),
        };
        match insn.mode() == MEM_SX {
            true => line!(self, "\tr{dst} = (u64)(s64)(s{width}){value};"),
            false => line!(self, "\tr{dst} = {value};"),
        }
    }

    fn store(&mut self, site: &Site, insn: Insn) {
        let (width, dst, off) = (insn.width(), insn.dst, insn.off);
        let value = match insn.class() {
            ST => constant(insn.imm),
            _ => format!("r{}", insn.src),
        };
        match dst == 10 && site.inside_frame(insn) {
            true => line!(self, "\tFS{width}(fp + {off}, {value});"),
            false => line!(
                self,
                "\tS{width}(m, d, r{dst}, {off}, {value}, {});",
                site.code()
            ),
        }
    }

    fn atomic(&mut self, site: &Site, insn: Insn) {
        let (width, dst, src, off) = (insn.width(), insn.dst, insn.src, insn.off);
        let at = site.code();
        match insn.imm {
            LOAD_ACQUIRE => line!(self, "\tr{dst} = L{width}(m, d, r{src}, {off});"),
            STORE_RELEASE => line!(self, "\tS{width}(m, d, r{dst}, {off}, r{src}, {at});"),
            XCHG => line!(
                self,
                "\tr{src} = XCHG{width}(m, d, r{dst}, {off}, r{src}, {at});"
            ),
            CMPXCHG => line!(
                self,
                "\tr0 = CMPXCHG{width}(m, d, r{dst}, {off}, r0, r{src}, {at});"
            ),
            operation => {
                let name = match (operation & !FETCH) as u8 {
                    ADD => "ADD",
                    OR => "OR",
                    AND => "AND",
                    _ => "XOR",
                };
                let answer = match operation & FETCH != 0 {
                    true => format!("r{src} = "),
                    false => String::new(),
                };
                line!(
                    self,
                    "\t{answer}{name}{width}(m, d, r{dst}, {off}, r{src}, {at});"
                );
            }
        }
    }

    fn arithmetic(&mut self, op: Op) {
        let insn = op.insn;
        let wide = insn.class() == ALU64;
        let dst = insn.dst;
        let source = match insn.has_register() && insn.operation() != END {
            true => format!("r{}", insn.src),
            false => constant(insn.imm),
        };
        let (bits, unsigned, mask) = if wide {
            (64, "u64", 63)
        } else {
            (32, "u32", 31)
        };
        let signed = if insn.off == 1 { "S" } else { "" };
        let value = match insn.operation() {
            ADD => format!("r{dst} + {source}"),
            SUB => format!("r{dst} - {source}"),
            MUL => format!("r{dst} * {source}"),
            OR => format!("r{dst} | {source}"),
            AND => format!("r{dst} & {source}"),
            XOR => format!("r{dst} ^ {source}"),
            DIV => format!("{signed}DIV{bits}(r{dst}, {source})"),
            MOD => format!("{signed}MOD{bits}(r{dst}, {source})"),
            LSH => format!("({unsigned})r{dst} << ({source} & {mask})"),
            RSH => format!("({unsigned})r{dst} >> ({source} & {mask})"),
            ARSH => format!("(s{bits})r{dst} >> ({source} & {mask})"),
            NEG => format!("-r{dst}"),
            END => swapped(insn),
            _ => moved(op, &source),
        };
        let unsigned = if insn.operation() == END {
            "u64"
        } else {
            unsigned
        };
        line!(self, "\tr{dst} = ({unsigned})({value});");
    }

    fn jump(&mut self, site: &Site, op: Op, maps: &[Option<MapId>; 11]) {
        let insn = op.insn;
        match insn.operation() {
            CALL => return self.call(site, op, maps),
            EXIT => {
                line!(self, "\tgoto out;");
                return;
            }
            _ => {}
        }
        let target = site.at as i64 + 1 + insn.jump().unwrap_or(0);
        if let Some(condition) = condition(insn) {
            line!(self, "\tif ({condition}) {{");
        } else {
            line!(self, "\t{{");
        }
        if target <= site.at as i64 {
            self.tick(site.number, site.at);
        }
        line!(self, "\tgoto l{target};\n\t}}");
    }

    fn call(&mut self, site: &Site, op: Op, maps: &[Option<MapId>; 11]) {
        let arguments = "(m, r1, r2, r3, r4, r5)";
        match op.refers {
            Refers::Function(other) => line!(self, "\tr0 = f{other}{arguments};"),
            Refers::Poison(number) => line!(self, "\tr0 = poison(m, {number}, {});", site.code()),
            refers => match self.inlined(refers, maps[1]) {
                Some(value) => line!(self, "\tr0 = {value};"),
                None => {
                    let slot = self.slot(refers);
                    line!(self, "\tr0 = calls[{slot}]{arguments};");
                }
            },
        }
    }

    fn slot(&mut self, refers: Refers) -> usize {
        let next = OWN_CALLS + self.calls.len();
        let slot = *self.slots.entry(refers).or_insert(next);
        if slot == next {
            self.calls.push(refers);
        }
        slot
    }

    /// What is called so often that the prelude does it.
    fn inlined(&mut self, refers: Refers, map: Option<MapId>) -> Option<String> {
        let array = map.and_then(|map| self.world.array(map));
        let lookup = |cpu: &str| {
            let (values, stride, per_cpu) = array?;
            Some(match per_cpu {
                false => format!("lookup_array(m, d, r1, r2, {values:#x}ull, {stride})"),
                true => format!("lookup_per_cpu(m, d, r1, r2, {values:#x}ull, {stride}, {cpu})"),
            })
        };
        match refers {
            Refers::Helper(1) => lookup("m->this_cpu"),
            Refers::Helper(195) if array.is_some_and(|(.., per_cpu)| per_cpu) => lookup("r3"),
            Refers::Helper(156 | 210) => {
                let before = self.world.storage(map?)?;
                let slot = self.slot(refers);
                Some(format!(
                    "storage_get(m, d, r1, r2, r3, r4, {before}, calls[{slot}])"
                ))
            }
            Refers::Helper(5) => Some("m->now_ns".into()),
            Refers::Helper(8) => Some("m->this_cpu".into()),
            Refers::Helper(93 | 94) => Some("0".into()),
            Refers::Helper(153) => Some("per_cpu_ptr(m, r1, r2)".into()),
            Refers::Helper(154) => Some("per_cpu_ptr(m, r1, m->this_cpu)".into()),
            Refers::Kfunc(id) => {
                crate::helpers::inlined(self.kernel.btf.name(id)).map(String::from)
            }
            _ => None,
        }
    }
}

/// Where an instruction is.
struct Site {
    number: usize,
    at: usize,
    frame: Frame,
}

impl Site {
    fn code(&self) -> String {
        site(self.number, self.at)
    }

    /// Is this access relative to the frame pointer one to the function's own frame?
    fn inside_frame(&self, insn: Insn) -> bool {
        let bytes = match self.frame {
            Frame::Local(bytes) | Frame::Shared(bytes) => bytes,
            Frame::None => 0,
        };
        let off = i32::from(insn.off);
        off >= -bytes && off + insn.width() as i32 / 8 <= 0
    }
}

/// A number for a function and an instruction; see [`function_and_instruction`].
fn site(number: usize, at: usize) -> String {
    format!("{:#x}ull", (number as u64) << 32 | at as u64)
}

/// What a number of the C text's stands for.
pub fn function_and_instruction(site: u64) -> (usize, u32) {
    ((site >> 32) as usize, site as u32)
}

/// Which registers hold the address of a map, after an instruction.
fn follow_maps(maps: &mut [Option<MapId>; 11], op: Op) {
    let insn = op.insn;
    let dst = usize::from(insn.dst);
    match (insn.class(), op.refers) {
        (LD, Refers::Map(map, _)) => maps[dst] = Some(map),
        (ALU64, _) if insn.op == ALU64 | MOV | X && insn.off == 0 => {
            maps[dst] = maps[usize::from(insn.src)];
        }
        (LD | LDX | ALU | ALU64, _) => maps[dst] = None,
        (STX, _) if insn.mode() == ATOMIC => {
            maps[0] = None;
            maps[dst] = None;
            maps[usize::from(insn.src)] = None;
        }
        (JMP, _) if insn.operation() == CALL => maps[..6].fill(None),
        _ => {}
    }
}

/// A constant of an instruction, extended to 64 bits.
fn constant(imm: i32) -> String {
    format!("{:#x}ull", i64::from(imm) as u64)
}

fn swapped(insn: Insn) -> String {
    let (dst, bits) = (insn.dst, insn.imm);
    let swaps = insn.class() == ALU64 || insn.has_register();
    match swaps {
        true => format!("(u64)__builtin_bswap{bits}((u{bits})r{dst})"),
        false => format!("(u64)(u{bits})r{dst}"),
    }
}

fn moved(op: Op, source: &str) -> String {
    let insn = op.insn;
    match (insn.off, op.refers) {
        (CAST, Refers::Arena(kernel, user)) => {
            let high = if insn.imm == TO_KERNEL { kernel } else { user };
            format!("CAST({source}, {high:#x}ull)")
        }
        (bits @ (8 | 16 | 32), _) => format!("(s64)(s{bits}){source}"),
        _ => source.to_string(),
    }
}

/// When a jump is taken; none: always.
fn condition(insn: Insn) -> Option<String> {
    let bits = if insn.class() == JMP { 64 } else { 32 };
    let dst = insn.dst;
    let source = match insn.has_register() {
        true => format!("r{}", insn.src),
        false => constant(insn.imm),
    };
    let (kind, operator) = match insn.operation() {
        JA => return None,
        MAY_GOTO => return Some("++may_goto > MAY_GOTO_MOST".into()),
        0x10 => ("u", "=="),
        0x20 => ("u", ">"),
        0x30 => ("u", ">="),
        JSET => ("u", "&"),
        0x50 => ("u", "!="),
        0x60 => ("s", ">"),
        0x70 => ("s", ">="),
        0xa0 => ("u", "<"),
        0xb0 => ("u", "<="),
        0xc0 => ("s", "<"),
        _ => ("s", "<="),
    };
    Some(format!(
        "({kind}{bits})r{dst} {operator} ({kind}{bits}){source}"
    ))
}
