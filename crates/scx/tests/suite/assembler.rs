//! Programs in few words.

use schedlab_scx::{
    Kernel, Machine, MapId, MapKind, MapSpec, Program, ProgramId, ProgramKind, Topology,
};

/// An instruction.
pub fn insn(op: u8, dst: u8, src: u8, off: i16, imm: i32) -> u64 {
    u64::from(op)
        | u64::from(dst) << 8
        | u64::from(src) << 12
        | u64::from(off as u16) << 16
        | u64::from(imm as u32) << 32
}

/// rDST = IMM, sign-extended.
pub fn mov(dst: u8, imm: i32) -> u64 {
    insn(0xb7, dst, 0, 0, imm)
}

/// rDST = rSRC.
pub fn copy(dst: u8, src: u8) -> u64 {
    insn(0xbf, dst, src, 0, 0)
}

/// rDST += IMM.
pub fn add(dst: u8, imm: i32) -> u64 {
    insn(0x07, dst, 0, 0, imm)
}

/// rDST = *(u64 *)(rSRC + OFF).
pub fn load(dst: u8, src: u8, off: i16) -> u64 {
    insn(0x79, dst, src, off, 0)
}

/// *(u64 *)(rDST + OFF) = rSRC.
pub fn store(dst: u8, off: i16, src: u8) -> u64 {
    insn(0x7b, dst, src, off, 0)
}

/// *(u64 *)(rDST + OFF) = IMM.
pub fn store_imm(dst: u8, off: i16, imm: i32) -> u64 {
    insn(0x7a, dst, 0, off, imm)
}

/// Calls a helper.
pub fn helper(number: i32) -> u64 {
    insn(0x85, 0, 0, 0, number)
}

/// Calls a function of the program, so many instructions after the next one.
pub fn call(by: i32) -> u64 {
    insn(0x85, 0, 1, 0, by)
}

/// goto, so many instructions after the next one.
pub fn jump(by: i16) -> u64 {
    insn(0x05, 0, 0, by, 0)
}

/// if (rDST == IMM) goto.
pub fn jump_if(dst: u8, imm: i32, by: i16) -> u64 {
    insn(0x15, dst, 0, by, imm)
}

/// return r0.
pub const EXIT: u64 = 0x95;

/// rDST = a constant of 64 bits.
pub fn wide(dst: u8, kind: u8, imm: i32, second: i32) -> [u64; 2] {
    [insn(0x18, dst, kind, 0, imm), insn(0, 0, 0, 0, second)]
}

/// rDST = VALUE.
pub fn constant(dst: u8, value: u64) -> [u64; 2] {
    wide(dst, 0, value as i32, (value >> 32) as i32)
}

/// rDST = a map.
pub fn map(dst: u8, map: MapId) -> [u64; 2] {
    wide(dst, 1, map.0 as i32, 0)
}

/// rDST = a value of a map, as libbpf has global variables.
pub fn value(dst: u8, map: MapId, offset: i32) -> [u64; 2] {
    wide(dst, 2, map.0 as i32, offset)
}

/// A machine of so many CPUs.
pub fn machine(nr_cpus: u32) -> Box<Machine> {
    Machine::new(&Kernel::new().unwrap(), &topology(nr_cpus)).unwrap()
}

/// CPUs that share a cache.
pub fn topology(nr_cpus: u32) -> Topology {
    let place = |core| schedlab_policy::Topology {
        core,
        llc: 0,
        node: 0,
        capacity: 1024,
    };
    Topology {
        cpus: (0..nr_cpus).map(place).collect(),
    }
}

/// A syscall program of these instructions.
pub fn program(insns: &[u64]) -> Program {
    Program {
        name: "test".into(),
        kind: ProgramKind::Syscall,
        insns: insns.to_vec(),
        functions: Vec::new(),
        btf: None,
    }
}

/// Loads instructions.
pub fn load_insns(m: &mut Machine, insns: &[u64]) -> ProgramId {
    m.load(program(insns))
        .unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Runs instructions on a machine with an empty context.
pub fn run_on(m: &mut Machine, insns: &[u64]) -> Result<u64, schedlab_scx::Fault> {
    let id = load_insns(m, insns);
    m.run_syscall(id, &mut [])
}

/// What a new map is.
pub fn spec(kind: MapKind, key_size: u32, value_size: u32, max_entries: u32) -> MapSpec {
    MapSpec {
        name: "map".into(),
        kind,
        key_size,
        value_size,
        max_entries,
        flags: 0,
        extra: 0,
        inner: None,
        types: None,
    }
}

/// Calls a kfunc of the kernel.
pub fn kfunc(m: &Machine, name: &str) -> u64 {
    let id = m.kernel.btf.find(schedlab_scx::btf::Kind::Func, name);
    insn(
        0x85,
        0,
        2,
        0,
        id.unwrap_or_else(|| panic!("no kfunc {name}")).0 as i32,
    )
}

/// rDST = the address of a function, so many instructions after the next one.
pub fn function(dst: u8, by: i32) -> [u64; 2] {
    wide(dst, 4, by + 1, 0)
}

/// rDST = r10 + OFF.
pub fn frame(dst: u8, off: i32) -> [u64; 2] {
    [copy(dst, 10), add(dst, off)]
}
