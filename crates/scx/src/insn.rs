//! One BPF instruction, and what the parts of it mean (RFC 9669, and Linux's additions).

/// An instruction as it is stored: 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Insn {
    /// Operation: class in the lower 3 bits.
    pub op: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register, or what kind of constant or call it is.
    pub src: u8,
    /// Offset of a memory access or a jump.
    pub off: i16,
    /// Constant.
    pub imm: i32,
}

impl Insn {
    /// Takes an instruction apart.
    pub fn decode(word: u64) -> Insn {
        Insn {
            op: word as u8,
            dst: (word >> 8) as u8 & 15,
            src: (word >> 12) as u8 & 15,
            off: (word >> 16) as i16,
            imm: (word >> 32) as i32,
        }
    }

    /// Puts it together again.
    pub fn encode(self) -> u64 {
        u64::from(self.op)
            | u64::from(self.dst) << 8
            | u64::from(self.src) << 12
            | u64::from(self.off as u16) << 16
            | u64::from(self.imm as u32) << 32
    }

    /// What kind of operation it is.
    pub fn class(self) -> u8 {
        self.op & 7
    }

    /// Is the second operand a register?
    pub fn has_register(self) -> bool {
        self.op & X != 0
    }

    /// Operation of an arithmetic or jump instruction.
    pub fn operation(self) -> u8 {
        self.op & 0xf0
    }

    /// Mode of a memory access.
    pub fn mode(self) -> u8 {
        self.op & 0xe0
    }

    /// Bits of a memory access.
    pub fn width(self) -> u32 {
        match self.op & 0x18 {
            0x00 => 32,
            0x08 => 16,
            0x10 => 8,
            _ => 64,
        }
    }

    /// A constant of 64 bits, of which this is the first half.
    pub fn is_wide(self) -> bool {
        self.op == LD_IMM64
    }

    /// By how many instructions a jump goes on from the next one; none if it is no jump.
    pub fn jump(self) -> Option<i64> {
        match (self.class(), self.operation()) {
            (JMP | JMP32, CALL | EXIT) => None,
            (JMP32, JA) => Some(i64::from(self.imm)),
            (JMP | JMP32, _) => Some(i64::from(self.off)),
            _ => None,
        }
    }

    /// Does nothing come after it?
    pub fn ends(self) -> bool {
        matches!(
            (self.class(), self.operation()),
            (JMP, EXIT) | (JMP | JMP32, JA)
        )
    }

    /// Does it write its destination register?
    pub fn writes_dst(self) -> bool {
        matches!(self.class(), LD | LDX | ALU | ALU64)
    }
}

/// The second operand is a register.
pub const X: u8 = 0x08;

pub const LD: u8 = 0;
pub const LDX: u8 = 1;
pub const ST: u8 = 2;
pub const STX: u8 = 3;
pub const ALU: u8 = 4;
pub const JMP: u8 = 5;
pub const JMP32: u8 = 6;
pub const ALU64: u8 = 7;

pub const LD_IMM64: u8 = 0x18;

/// Modes of memory accesses.
pub const MEM: u8 = 0x60;
pub const MEM_SX: u8 = 0x80;
pub const ATOMIC: u8 = 0xc0;

/// Arithmetic.
pub const ADD: u8 = 0x00;
pub const SUB: u8 = 0x10;
pub const MUL: u8 = 0x20;
pub const DIV: u8 = 0x30;
pub const OR: u8 = 0x40;
pub const AND: u8 = 0x50;
pub const LSH: u8 = 0x60;
pub const RSH: u8 = 0x70;
pub const NEG: u8 = 0x80;
pub const MOD: u8 = 0x90;
pub const XOR: u8 = 0xa0;
pub const MOV: u8 = 0xb0;
pub const ARSH: u8 = 0xc0;
pub const END: u8 = 0xd0;

/// Jumps.
pub const JA: u8 = 0x00;
pub const JSET: u8 = 0x40;
pub const CALL: u8 = 0x80;
pub const EXIT: u8 = 0x90;
pub const MAY_GOTO: u8 = 0xe0;

/// What a constant of 64 bits stands for: its source "register".
pub const PSEUDO_MAP_FD: u8 = 1;
pub const PSEUDO_MAP_VALUE: u8 = 2;
pub const PSEUDO_BTF_ID: u8 = 3;
pub const PSEUDO_FUNC: u8 = 4;

/// What a call calls: its source "register".
pub const CALL_HELPER: u8 = 0;
pub const CALL_FUNCTION: u8 = 1;
pub const CALL_KFUNC: u8 = 2;

/// Atomic operations.
pub const FETCH: i32 = 1;
pub const XCHG: i32 = 0xe1;
pub const CMPXCHG: i32 = 0xf1;
pub const LOAD_ACQUIRE: i32 = 0x100;
pub const STORE_RELEASE: i32 = 0x110;

/// A move with this offset casts between address spaces.
pub const CAST: i16 = 1;
/// From the arena's address space to the kernel's.
pub const TO_KERNEL: i32 = 1;
/// From the kernel's address space to the arena's.
pub const TO_ARENA: i32 = 1 << 16;

/// Does this kernel know the instruction?
pub fn is_known(insn: Insn) -> bool {
    if insn.dst > 10 || (insn.src > 10 && !insn.is_wide()) {
        return false;
    }
    // The frame pointer cannot be written.
    if insn.dst == 10 && insn.writes_dst() {
        return false;
    }
    match insn.class() {
        LD => insn.op == LD_IMM64 && insn.src <= PSEUDO_FUNC,
        LDX => insn.mode() == MEM || insn.mode() == MEM_SX && insn.width() < 64,
        ST => insn.mode() == MEM,
        STX => insn.mode() == MEM || insn.mode() == ATOMIC && is_atomic(insn),
        ALU | ALU64 => is_arithmetic(insn),
        _ => is_jump(insn),
    }
}

fn is_atomic(insn: Insn) -> bool {
    match insn.imm {
        LOAD_ACQUIRE => insn.dst != 10,
        STORE_RELEASE => true,
        XCHG | CMPXCHG => insn.width() >= 32 && insn.src != 10,
        operation => {
            let known = matches!((operation & !FETCH) as u8, ADD | OR | AND | XOR);
            let plain = operation & !0xff == 0 && known;
            plain && insn.width() >= 32 && (operation & FETCH == 0 || insn.src != 10)
        }
    }
}

fn is_arithmetic(insn: Insn) -> bool {
    let (wide, register) = (insn.class() == ALU64, insn.has_register());
    match insn.operation() {
        DIV | MOD => matches!(insn.off, 0 | 1),
        NEG => !register && insn.off == 0,
        END => matches!(insn.imm, 16 | 32 | 64) && !(wide && register) && insn.off == 0,
        MOV => match insn.off {
            0 => true,
            8 | 16 => register,
            32 => register && wide,
            CAST => register && wide && matches!(insn.imm, TO_KERNEL | TO_ARENA),
            _ => false,
        },
        ADD | SUB | MUL | OR | AND | LSH | RSH | XOR | ARSH => insn.off == 0,
        _ => false,
    }
}

fn is_jump(insn: Insn) -> bool {
    let narrow = insn.class() == JMP32;
    match insn.operation() {
        JA => !insn.has_register(),
        CALL => !narrow && !insn.has_register() && insn.src <= CALL_KFUNC,
        EXIT => !narrow && !insn.has_register(),
        MAY_GOTO => !narrow && !insn.has_register() && insn.src == 0,
        operation => operation <= 0xd0,
    }
}
