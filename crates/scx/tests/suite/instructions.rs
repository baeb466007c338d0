//! Each instruction against an expectation worked out by hand, and random programs against the interpreter.

use schedlab_scx::{Machine, MapKind, Memory};

use crate::assembler::*;
use crate::interpreter::Interpreter;

const MIN64: u64 = 1 << 63;
const MIN32: u64 = 1 << 31;
const UPPER: u64 = 0xdead_beef_0000_0000;

/// rDST op= rSRC: operation, offset, both operands, what is in the destination afterwards.
#[rustfmt::skip]
const ARITHMETIC: &[(u8, i16, u64, u64, u64)] = &[
    (0x0f, 0, u64::MAX, 1, 0),
    (0x0c, 0, UPPER | 0xffff_ffff, 1, 0),
    (0x0c, 0, UPPER | 1, UPPER | 2, 3),
    (0x1f, 0, 0, 1, u64::MAX),
    (0x1c, 0, UPPER, 1, 0xffff_ffff),
    (0x2f, 0, 1 << 40, 1 << 30, 0),
    (0x2c, 0, 0x1_0000_0003, 5, 15),
    (0x3f, 0, 7, 2, 3),
    (0x3f, 0, 7, 0, 0),
    (0x3f, 0, u64::MAX, 2, u64::MAX >> 1),
    (0x3c, 0, UPPER | 9, UPPER, 0),
    (0x3c, 0, UPPER | 9, 2, 4),
    (0x3f, 1, (-7_i64) as u64, 2, (-3_i64) as u64),
    (0x3f, 1, MIN64, u64::MAX, MIN64),
    (0x3f, 1, 5, 0, 0),
    (0x3c, 1, UPPER | MIN32, 0xffff_ffff, MIN32),
    (0x3c, 1, (-7_i64) as u64, 2, 0xffff_fffd),
    (0x3c, 1, 5, UPPER, 0),
    (0x9f, 0, 7, 4, 3),
    (0x9f, 0, 7, 0, 7),
    (0x9c, 0, UPPER | 7, UPPER, 7),
    (0x9f, 1, (-7_i64) as u64, 4, (-3_i64) as u64),
    (0x9f, 1, MIN64, u64::MAX, 0),
    (0x9f, 1, MIN64, 0, MIN64),
    (0x9c, 1, UPPER | MIN32, 0xffff_ffff, 0),
    (0x9c, 1, UPPER | 0xffff_fff9, 4, 0xffff_fffd),
    (0x9c, 1, UPPER | 0xffff_fff9, UPPER, 0xffff_fff9),
    (0x4f, 0, 0xf0, 0x0f, 0xff),
    (0x4c, 0, UPPER | 0xf0, UPPER | 0x0f, 0xff),
    (0x5f, 0, UPPER | 0xff, UPPER | 0x0f, UPPER | 0x0f),
    (0x5c, 0, UPPER | 0xff, UPPER | 0x0f, 0x0f),
    (0x6f, 0, 1, 63, MIN64),
    (0x6f, 0, 1, 64, 1),
    (0x6c, 0, UPPER | 1, 33, 2),
    (0x7f, 0, MIN64, 63, 1),
    (0x7c, 0, UPPER | MIN32, 31, 1),
    (0x7c, 0, UPPER | 8, 35, 1),
    (0xaf, 0, 0xff, 0x0f, 0xf0),
    (0xac, 0, UPPER | 0xff, 0x0f, 0xf0),
    (0xbf, 0, 0, UPPER | 5, UPPER | 5),
    (0xbc, 0, u64::MAX, UPPER | 5, 5),
    (0xbf, 8, 0, 0x80, (-128_i64) as u64),
    (0xbf, 16, 0, 0x18000, (-32768_i64) as u64),
    (0xbf, 32, 0, UPPER | MIN32, 0xffff_ffff_8000_0000),
    (0xbc, 8, u64::MAX, 0x80, 0xffff_ff80),
    (0xbc, 16, u64::MAX, 0x7fff, 0x7fff),
    (0xcf, 0, MIN64, 63, u64::MAX),
    (0xcc, 0, UPPER | MIN32, 31, 0xffff_ffff),
    (0xcc, 0, UPPER | MIN32, 32, MIN32),
];

/// Those with no second register: operation, constant, operand, result.
#[rustfmt::skip]
const UNARY: &[(u8, i32, u64, u64)] = &[
    (0x87, 0, 1, u64::MAX),
    (0x84, 0, UPPER | 1, 0xffff_ffff),
    (0x84, 0, MIN64, 0),
    (0xd4, 16, 0x1234_5678_9abc_def0, 0xdef0),
    (0xd4, 32, 0x1234_5678_9abc_def0, 0x9abc_def0),
    (0xd4, 64, 0x1234_5678_9abc_def0, 0x1234_5678_9abc_def0),
    (0xdc, 16, 0x1234_5678_9abc_def0, 0xf0de),
    (0xdc, 32, 0x1234_5678_9abc_def0, 0xf0de_bc9a),
    (0xdc, 64, 0x1234_5678_9abc_def0, 0xf0de_bc9a_7856_3412),
    (0xd7, 16, 0x1234_5678_9abc_def0, 0xf0de),
    (0xd7, 32, 0x1234_5678_9abc_def0, 0xf0de_bc9a),
    (0xd7, 64, 0x1234_5678_9abc_def0, 0xf0de_bc9a_7856_3412),
    (0x07, -1, 5, 4),
    (0x04, -1, UPPER | 5, 4),
    (0xb7, -1, 5, u64::MAX),
    (0xb4, -1, 5, 0xffff_ffff),
    (0x37, -1, u64::MAX, 1),
    (0x34, -1, u64::MAX, 1),
    (0x57, -16, u64::MAX, u64::MAX - 15),
];

#[test]
fn arithmetic() {
    let mut insns = Vec::new();
    for &(op, off, a, b, _) in ARITHMETIC {
        insns.extend(constant(2, a));
        insns.extend(constant(3, b));
        insns.push(insn(op, 2, 3, off, 0));
        insns.push(EXIT);
    }
    for &(op, imm, a, _) in UNARY {
        insns.extend(constant(2, a));
        insns.push(insn(op, 2, 0, 0, imm));
        insns.push(EXIT);
    }
    // Each case is a function of its own, and returns r2.
    let results = ARITHMETIC
        .iter()
        .map(|case| case.4)
        .chain(UNARY.iter().map(|case| case.3));
    let cases: Vec<Vec<u64>> = insns
        .split(|&insn| insn == EXIT)
        .map(<[u64]>::to_vec)
        .collect();
    let mut m = machine(1);
    let loaded: Vec<_> = cases
        .iter()
        .filter(|case| !case.is_empty())
        .map(|case| load_insns(&mut m, &[case, &[copy(0, 2), EXIT][..]].concat()))
        .collect();
    assert_eq!(loaded.len(), ARITHMETIC.len() + UNARY.len());
    for (i, (program, expected)) in loaded.into_iter().zip(results).enumerate() {
        let result = m.call(program, &[]).unwrap();
        assert_eq!(result, expected, "case {i}: {:x?}", ARITHMETIC.get(i));
    }
}

/// if (r2 op r3): operation, operands, whether it jumps.
#[rustfmt::skip]
const JUMPS: &[(u8, u64, u64, bool)] = &[
    (0x1d, UPPER, 0, false), (0x1e, UPPER, 0, true),
    (0x5d, UPPER, 0, true), (0x5e, UPPER, 0, false),
    (0x2d, u64::MAX, 1, true), (0x2e, UPPER | 1, 1, false),
    (0x3d, 1, 1, true), (0x3e, 0, 0xffff_ffff, false),
    (0x4d, 6, 4, true), (0x4d, 6, 8, false), (0x4e, UPPER, UPPER, false),
    (0x6d, u64::MAX, 1, false), (0x6e, 0xffff_ffff, 1, false), (0x6d, 1, MIN64, true),
    (0x7d, u64::MAX, u64::MAX, true), (0x7e, UPPER, 0, true),
    (0xad, 1, u64::MAX, true), (0xae, UPPER | 1, 0, false),
    (0xbd, 1, 1, true), (0xbe, UPPER, 0, true),
    (0xcd, u64::MAX, 0, true), (0xce, 0xffff_ffff, 0, true),
    (0xdd, MIN64, 0, true), (0xde, MIN32, 0, true), (0xde, 1, 0, false),
];

#[test]
fn jumps() {
    let mut m = machine(1);
    let programs: Vec<_> = JUMPS
        .iter()
        .map(|&(op, a, b, _)| {
            let test = [insn(op, 2, 3, 1, 0), mov(0, 0), EXIT];
            let insns = [&constant(2, a)[..], &constant(3, b), &[mov(0, 1)], &test].concat();
            load_insns(&mut m, &insns)
        })
        .collect();
    for (program, case) in programs.into_iter().zip(JUMPS) {
        assert_eq!(m.call(program, &[]), Ok(u64::from(case.3)), "{case:x?}");
    }
}

/// Bytes of the memory random programs work on.
const ROOM: usize = 256;

#[test]
fn atomics() {
    // Operation, width bit, constant; *p, r0, r2 before; *p, r0, r2 after.
    let all = u64::MAX;
    let cases: &[(u8, i32, [u64; 3], [u64; 3])] = &[
        (0xdb, 0x00, [5, 1, 2], [7, 1, 2]),
        (0xdb, 0x01, [5, 1, 2], [7, 1, 5]),
        (0xc3, 0x01, [all, 1, 1], [all << 32, 1, 0xffff_ffff]),
        (0xdb, 0x41, [5, 1, 2], [7, 1, 5]),
        (0xdb, 0x51, [5, 1, 4], [4, 1, 5]),
        (0xdb, 0xa1, [5, 1, 4], [1, 1, 5]),
        (0xdb, 0xe1, [5, 1, 4], [4, 1, 5]),
        (0xc3, 0xe1, [all, 1, 4], [all << 32 | 4, 1, 0xffff_ffff]),
        (0xdb, 0xf1, [5, 5, 4], [4, 5, 4]),
        (0xdb, 0xf1, [5, 6, 4], [5, 5, 4]),
        (
            0xc3,
            0xf1,
            [all, UPPER | 0xffff_ffff, 4],
            [all << 32 | 4, 0xffff_ffff, 4],
        ),
        (0xc3, 0xf1, [all, 1, 4], [all, 0xffff_ffff, 4]),
        (0xdb, 0x110, [5, 1, 4], [4, 1, 4]),
        (0xd3, 0x110, [all, 1, 4], [all << 8 | 4, 1, 4]),
    ];
    let mut m = machine(1);
    let room = m.create_map(spec(MapKind::Array, 4, 64, 1)).unwrap();
    for (op, imm, before, after) in cases {
        let registers = [&constant(0, before[1])[..], &constant(2, before[2])].concat();
        let operation = [
            insn(*op, 1, 2, 0, *imm),
            store(1, 8, 0),
            store(1, 16, 2),
            EXIT,
        ];
        let program = [&value(1, room, 0)[..], &registers, &operation].concat();
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&before[0].to_le_bytes());
        m.map_update(room, &[0; 4], &bytes, 0).unwrap();
        run_on(&mut m, &program).unwrap();
        let bytes = m.map_lookup(room, &[0; 4]).unwrap();
        let found = [0, 8, 16].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
        assert_eq!(found, *after, "{op:#x} {imm:#x}");
    }
    // Load-acquire.
    let program = [
        &value(1, room, 0)[..],
        &[store_imm(1, 0, -2), insn(0xcb, 0, 1, 0, 0x100), EXIT],
    ]
    .concat();
    assert_eq!(run_on(&mut m, &program), Ok(0xfffe));
}

/// Random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Numbers at whose borders things change are frequent.
    fn number(&mut self) -> i32 {
        match self.below(3) {
            0 => self.of(&[0, 1, -1, 2, 31, 32, 33, 63, 64, 255, i32::MIN, i32::MAX]),
            _ => (self.below(1 << 31) as i32) << self.below(2) as i32,
        }
    }
}

/// r0 to r5 hold numbers; r6 counts rounds; r7 points to memory, r8 into the frame.
fn random_program(random: &mut Random, memory: [u64; 2], len: usize) -> Vec<u64> {
    let mut insns = vec![memory[0], memory[1], copy(8, 10), add(8, -64)];
    for r in 0..6 {
        let value = u64::from(random.number() as u32) | (random.number() as u64) << 32;
        insns.extend(constant(r, value));
    }
    insns.push(mov(6, 3));
    let start = insns.len();
    // Where jumps may lead: wide instructions are two.
    let mut starts = Vec::new();
    while insns.len() < start + len {
        starts.push(insns.len());
        random_instruction(random, &mut insns);
    }
    let end = insns.len();
    starts.push(end);
    for at in starts.clone() {
        let is_jump = at < end && matches!(insns[at] as u8 & 7, 5 | 6);
        if is_jump {
            let later: Vec<usize> = starts.iter().copied().filter(|&other| other > at).collect();
            let off = (random.of(&later) - at - 1) as i16;
            insns[at] |= u64::from(off as u16) << 16;
        }
    }
    // Three rounds, then everything to memory.
    insns.push(add(6, -1));
    insns.push(insn(
        0x55,
        6,
        0,
        (start as i64 - insns.len() as i64 - 1) as i16,
        0,
    ));
    for r in 0..6 {
        insns.push(store(7, 8 * i16::from(r), r));
    }
    insns.push(load(1, 10, -72));
    insns.push(store(7, 48, 1));
    insns.push(EXIT);
    insns
}

fn random_instruction(random: &mut Random, insns: &mut Vec<u64>) {
    let (dst, src) = (random.below(6) as u8, random.below(6) as u8);
    let imm = random.number();
    let base = random.of(&[7_u8, 8, 10]);
    let off = match base {
        7 => random.below(ROOM as u64 - 8) as i16,
        8 => random.below(56) as i16,
        _ => -8 - random.below(96) as i16,
    };
    match random.below(10) {
        0..4 => {
            let operation = random.of(&[
                0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0,
            ]);
            let class = random.of(&[4_u8, 7]);
            let signed = i16::from(matches!(operation, 0x30 | 0x90)) * random.below(2) as i16;
            match random.below(2) {
                0 => insns.push(insn(operation | class, dst, 0, signed, imm)),
                _ => {
                    let extend = if class == 7 {
                        random.of(&[0, 8, 16, 32])
                    } else {
                        random.of(&[0, 8, 16])
                    };
                    let off = if operation == 0xb0 { extend } else { signed };
                    insns.push(insn(operation | class | 8, dst, src, off, 0));
                }
            }
        }
        4 => {
            let (op, imm) = random.of(&[
                (0x87, 0),
                (0x84, 0),
                (0xd4, 16),
                (0xd4, 32),
                (0xd4, 64),
                (0xdc, 16),
                (0xdc, 32),
                (0xdc, 64),
                (0xd7, 16),
                (0xd7, 32),
                (0xd7, 64),
            ]);
            insns.push(insn(op, dst, 0, 0, imm));
        }
        5 => insns.push(insn(
            random.of(&[0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91]),
            dst,
            base,
            off,
            0,
        )),
        6 => match random.below(2) {
            0 => insns.push(insn(
                random.of(&[0x62, 0x6a, 0x72, 0x7a]),
                base,
                0,
                off,
                imm,
            )),
            _ => insns.push(insn(
                random.of(&[0x63, 0x6b, 0x73, 0x7b]),
                base,
                src,
                off,
                0,
            )),
        },
        7 => {
            let imm = random.of(&[
                0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1, 0x110,
            ]);
            insns.push(insn(random.of(&[0xc3, 0xdb]), base, src, off, imm));
        }
        8 => insns.extend(constant(dst, u64::from(imm as u32) << random.below(33))),
        _ => {
            let kind = random.of(&[
                0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0,
            ]);
            let class = random.of(&[5, 6]);
            match random.below(2) {
                0 => insns.push(insn(kind | class, dst, 0, 0, imm)),
                _ => insns.push(insn(kind | class | 8, dst, src, 0, 0)),
            }
        }
    }
}

#[test]
fn random_programs_do_what_the_interpreter_says() {
    let mut random = Random(2026);
    for round in 0..3 {
        let mut m = machine(1);
        let room = m
            .create_map(spec(MapKind::Array, 4, ROOM as u32, 1))
            .unwrap();
        let programs: Vec<Vec<u64>> = (0..60)
            .map(|_| {
                let len = 3 + random.below(60) as usize;
                random_program(&mut random, value(7, room, 0), len)
            })
            .collect();
        let loaded: Vec<_> = programs
            .iter()
            .map(|insns| load_insns(&mut m, insns))
            .collect();
        for (i, (insns, program)) in programs.iter().zip(loaded).enumerate() {
            let bytes: Vec<u8> = (0..ROOM).map(|_| random.below(256) as u8).collect();
            m.map_update(room, &[0; 4], &bytes, 0).unwrap();
            let result = m.call(program, &[]).unwrap();
            let found = m.map_lookup(room, &[0; 4]).unwrap();
            let (expected, memory) = interpreted(insns, &bytes);
            assert_eq!(result, expected, "round {round}, program {i}");
            assert_eq!(found, memory, "round {round}, program {i}");
        }
    }
}

/// What a program returns and leaves in its memory.
fn interpreted(insns: &[u64], bytes: &[u8]) -> (u64, Vec<u8>) {
    let mut memory = Memory::new().unwrap();
    let room = memory.allocate(ROOM as u64);
    let stack = memory.allocate(4096) + 4096;
    memory.write(room, bytes).unwrap();
    let mut insns = insns.to_vec();
    insns[..2].copy_from_slice(&constant(7, room));
    let mut interpreter = Interpreter {
        insns: &insns,
        memory: &mut memory,
        arena: (0, 0),
        steps: 0,
    };
    let result = interpreter.run(0, [0; 5], stack);
    (result, memory.bytes(room, ROOM as u64).unwrap().to_vec())
}

#[test]
fn arena_pointers_have_their_lower_half_in_common() {
    let user = 0x7f12_0000_3000;
    let mut m = machine(1);
    let arena = m.create_map(spec(MapKind::Arena, 0, 0, 4)).unwrap();
    let cast = |m: &mut Machine, kind: i32, pointer: u64| {
        let insns = [
            &map(1, arena)[..],
            &constant(2, pointer),
            &[insn(0xbf, 0, 2, 1, kind), EXIT],
        ]
        .concat();
        m.load(program(&insns))
            .map(|program| m.call(program, &[]).unwrap())
    };
    assert!(cast(&mut m, 1, 0).is_err(), "nobody has mapped it");
    m.arena_mapped(arena, user).unwrap();
    let kernel = cast(&mut m, 1, user + 8).unwrap();
    assert_eq!(kernel as u32, (user + 8) as u32);
    assert!(m.memory.contains(kernel));
    assert_eq!(cast(&mut m, 1 << 16, kernel), Ok(user + 8));
    assert_eq!(cast(&mut m, 1, 0), Ok(0));
    assert_eq!(cast(&mut m, 1 << 16, 0), Ok(0));
    assert_eq!(cast(&mut m, 1, UPPER), Ok(0));
    // The loader sees what programs write.
    m.memory.set(kernel, 0x55_u8).unwrap();
    let file = std::fs::File::from(m.map_file(arena).unwrap().try_clone_to_owned().unwrap());
    let mut byte = [0];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, 8).unwrap();
    assert_eq!(byte, [0x55]);
}
