//! A second way to run instructions, one after the other, written from RFC 9669 and apart from the translator.

use schedlab_scx::Memory;

/// Runs one function and those it calls.
pub struct Interpreter<'a> {
    pub insns: &'a [u64],
    pub memory: &'a mut Memory,
    /// Bits 63 to 32 of an arena's addresses, for the kernel and for user space.
    pub arena: (u64, u64),
    pub steps: u64,
}

/// More than any test needs.
const MOST_STEPS: u64 = 1 << 20;

impl Interpreter<'_> {
    /// From an instruction to its exit.  `stack` is where the frame ends.
    pub fn run(&mut self, from: usize, arguments: [u64; 5], stack: u64) -> u64 {
        let mut r = [0_u64; 11];
        r[1..6].copy_from_slice(&arguments);
        r[10] = stack;
        self.memory.write(stack - 512, &[0; 512]).unwrap();
        let mut at = from;
        loop {
            self.steps += 1;
            assert!(self.steps < MOST_STEPS, "the program does not end");
            let word = self.insns[at];
            at += 1;
            let (op, off, imm) = (word as u8, (word >> 16) as i16, (word >> 32) as i32);
            let (dst, src) = ((word >> 8) as usize & 15, (word >> 12) as usize & 15);
            match op & 7 {
                0 => {
                    let high = self.insns[at] >> 32;
                    at += 1;
                    r[dst] = u64::from(imm as u32) | high << 32;
                }
                1 => r[dst] = self.load(op, r[src].wrapping_add(off as u64)),
                2 => self.store(op, r[dst].wrapping_add(off as u64), imm as u64),
                3 if op & 0xe0 == 0xc0 => self.atomic(op, imm, off, dst, src, &mut r),
                3 => self.store(op, r[dst].wrapping_add(off as u64), r[src]),
                4 | 7 => {
                    let other = if op & 8 != 0 { r[src] } else { imm as u64 };
                    r[dst] = self.arithmetic(op, off, imm, r[dst], other);
                }
                _ => match op & 0xf0 {
                    0x80 => {
                        assert_eq!(src, 1, "only functions are called");
                        let target = (at as i64 + i64::from(imm)) as usize;
                        r[0] = self.run(target, r[1..6].try_into().unwrap(), stack - 512);
                    }
                    0x90 => return r[0],
                    _ => {
                        let other = if op & 8 != 0 { r[src] } else { imm as u64 };
                        if taken(op, r[dst], other) {
                            let by = if op == 0x06 {
                                i64::from(imm)
                            } else {
                                i64::from(off)
                            };
                            at = (at as i64 + by) as usize;
                        }
                    }
                },
            }
        }
    }

    fn load(&self, op: u8, at: u64) -> u64 {
        let signed = op & 0xe0 == 0x80;
        match (op & 0x18, signed) {
            (0x00, false) => u64::from(self.memory.get::<u32>(at)),
            (0x00, true) => self.memory.get::<i32>(at) as u64,
            (0x08, false) => u64::from(self.memory.get::<u16>(at)),
            (0x08, true) => self.memory.get::<i16>(at) as u64,
            (0x10, false) => u64::from(self.memory.get::<u8>(at)),
            (0x10, true) => self.memory.get::<i8>(at) as u64,
            _ => self.memory.get::<u64>(at),
        }
    }

    fn store(&mut self, op: u8, at: u64, value: u64) {
        let bytes = value.to_le_bytes();
        let size = match op & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        };
        self.memory.write(at, &bytes[..size]).unwrap();
    }

    fn atomic(&mut self, op: u8, imm: i32, off: i16, dst: usize, src: usize, r: &mut [u64; 11]) {
        if imm == 0x100 {
            r[dst] = self.load(op, r[src].wrapping_add(off as u64));
            return;
        }
        let at = r[dst].wrapping_add(off as u64);
        if imm == 0x110 {
            return self.store(op, at, r[src]);
        }
        let old = self.load(op, at);
        let width_mask = if op & 0x18 == 0x18 {
            u64::MAX
        } else {
            0xffff_ffff
        };
        let new = match imm & !1 {
            0x00 => old.wrapping_add(r[src]),
            0x40 => old | r[src],
            0x50 => old & r[src],
            0xa0 => old ^ r[src],
            0xe0 => r[src],
            0xf0 if old == r[0] & width_mask => r[src],
            0xf0 => old,
            _ => panic!("unknown atomic operation {imm:#x}"),
        };
        self.store(op, at, new);
        match imm {
            0xf1 => r[0] = old,
            _ if imm & 1 != 0 => r[src] = old,
            _ => {}
        }
    }

    fn arithmetic(&self, op: u8, off: i16, imm: i32, a: u64, b: u64) -> u64 {
        let wide = op & 7 == 7;
        if op & 0xf0 == 0xd0 {
            let swap = wide || op & 8 != 0;
            return match (imm, swap) {
                (16, false) => a & 0xffff,
                (32, false) => a & 0xffff_ffff,
                (64, false) => a,
                (16, true) => u64::from((a as u16).swap_bytes()),
                (32, true) => u64::from((a as u32).swap_bytes()),
                _ => a.swap_bytes(),
            };
        }
        if op == 0xbf && off == 1 {
            let (kernel, user) = self.arena;
            let low = b & 0xffff_ffff;
            let high = if imm == 1 { kernel } else { user };
            return if low == 0 { 0 } else { high | low };
        }
        match wide {
            true => arithmetic64(op, off, a, b),
            false => u64::from(arithmetic32(op, off, a as u32, b as u32)),
        }
    }
}

fn arithmetic64(op: u8, off: i16, a: u64, b: u64) -> u64 {
    match (op & 0xf0, off) {
        (0x00, _) => a.wrapping_add(b),
        (0x10, _) => a.wrapping_sub(b),
        (0x20, _) => a.wrapping_mul(b),
        (0x30, 0) => a.checked_div(b).unwrap_or(0),
        (0x30, _) if b == 0 => 0,
        (0x30, _) => (a as i64).wrapping_div(b as i64) as u64,
        (0x40, _) => a | b,
        (0x50, _) => a & b,
        (0x60, _) => a.wrapping_shl(b as u32),
        (0x70, _) => a.wrapping_shr(b as u32),
        (0x80, _) => a.wrapping_neg(),
        (0x90, 0) => a.checked_rem(b).unwrap_or(a),
        (0x90, _) if b == 0 => a,
        (0x90, _) => (a as i64).wrapping_rem(b as i64) as u64,
        (0xa0, _) => a ^ b,
        (0xb0, 8) => b as i8 as u64,
        (0xb0, 16) => b as i16 as u64,
        (0xb0, 32) => b as i32 as u64,
        (0xb0, _) => b,
        (0xc0, _) => (a as i64).wrapping_shr(b as u32) as u64,
        _ => panic!("unknown operation {op:#x}"),
    }
}

fn arithmetic32(op: u8, off: i16, a: u32, b: u32) -> u32 {
    match (op & 0xf0, off) {
        (0x00, _) => a.wrapping_add(b),
        (0x10, _) => a.wrapping_sub(b),
        (0x20, _) => a.wrapping_mul(b),
        (0x30, 0) => a.checked_div(b).unwrap_or(0),
        (0x30, _) if b == 0 => 0,
        (0x30, _) => (a as i32).wrapping_div(b as i32) as u32,
        (0x40, _) => a | b,
        (0x50, _) => a & b,
        (0x60, _) => a.wrapping_shl(b),
        (0x70, _) => a.wrapping_shr(b),
        (0x80, _) => a.wrapping_neg(),
        (0x90, 0) => a.checked_rem(b).unwrap_or(a),
        (0x90, _) if b == 0 => a,
        (0x90, _) => (a as i32).wrapping_rem(b as i32) as u32,
        (0xa0, _) => a ^ b,
        (0xb0, 8) => b as i8 as u32,
        (0xb0, 16) => b as i16 as u32,
        (0xb0, _) => b,
        (0xc0, _) => (a as i32).wrapping_shr(b) as u32,
        _ => panic!("unknown operation {op:#x}"),
    }
}

fn taken(op: u8, a: u64, b: u64) -> bool {
    let narrow = op & 7 == 6;
    let (ua, ub) = if narrow {
        (a & 0xffff_ffff, b & 0xffff_ffff)
    } else {
        (a, b)
    };
    let signed = |x: u64| {
        if narrow {
            i64::from(x as i32)
        } else {
            x as i64
        }
    };
    let (sa, sb) = (signed(a), signed(b));
    match op & 0xf0 {
        0x00 => true,
        0x10 => ua == ub,
        0x20 => ua > ub,
        0x30 => ua >= ub,
        0x40 => ua & ub != 0,
        0x50 => ua != ub,
        0x60 => sa > sb,
        0x70 => sa >= sb,
        0xa0 => ua < ub,
        0xb0 => ua <= ub,
        0xc0 => sa < sb,
        0xd0 => sa <= sb,
        _ => panic!("unknown jump {op:#x}"),
    }
}
