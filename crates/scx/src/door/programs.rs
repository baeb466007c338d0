//! BPF_PROG_LOAD and the table of operations, read from a loader.

use std::collections::BTreeMap;

use super::calls::{fail, Bpf, OPS};
use super::objects::Object;
use super::peer::Peer;
use super::wire::{number, text, Attr};
use crate::btf::Kind;
use crate::ext::Tracepoint;
use crate::machine::{Errno, Machine, Ops, Program, ProgramKind};
use crate::maps::{MapId, MapKind};
use crate::{Btf, TypeId};

/// BPF_PROG_TYPE_STRUCT_OPS.
const STRUCT_OPS: u32 = 27;

/// BPF_PROG_TYPE_SYSCALL.
const SYSCALL: u32 = 31;

/// BPF_PROG_TYPE_TRACING, and the function in which a kernel registers a scheduler.
const TRACING: u32 = 26;
const REGISTERED: &str = "bpf_scx_reg";

/// Most instructions of a program, as the kernel has it.
const MOST_INSNS: u32 = 1_000_000;

/// Opcode of the first half of a 64-bit load.
const LD_IMM64: u8 = 0x18;

/// BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE: what the immediate of a 64-bit load is.
const MAP_FD: u8 = 1;
const MAP_VALUE: u8 = 2;

/// BPF_PSEUDO_MAP_IDX, BPF_PSEUDO_MAP_IDX_VALUE: the same, by index into the array of descriptors.
const MAP_IDX: u8 = 5;
const MAP_IDX_VALUE: u8 = 6;

type Result<T> = std::result::Result<T, Errno>;

/// What BPF_PROG_LOAD asks for.
pub fn read(bpf: &Bpf, m: &Machine, peer: &Peer, attr: &Attr) -> Result<Program> {
    let count = attr.u32(4);
    if count == 0 || count > MOST_INSNS {
        return fail(libc::E2BIG);
    }
    let bytes = peer.read(attr.u64(8), 8 * count as usize)?;
    let insns = bytes.chunks_exact(8).map(|insn| number(insn, 0, 8));
    let mut insns: Vec<u64> = insns.collect();
    resolve_maps(bpf, m, peer, attr, &mut insns)?;
    let btf = match attr.fd(72) {
        0 => None,
        fd => Some(bpf.types(peer, fd)?),
    };
    Ok(Program {
        name: attr.name(48),
        functions: functions(peer, attr, btf.as_deref())?,
        kind: kind(bpf, attr)?,
        insns,
        btf,
    })
}

fn kind(bpf: &Bpf, attr: &Attr) -> Result<ProgramKind> {
    match attr.u32(0) {
        SYSCALL => Ok(ProgramKind::Syscall),
        STRUCT_OPS => {
            let btf = bpf.kernel_btf();
            let table = TypeId(attr.u32(108));
            if btf.name(table) != OPS {
                return fail(libc::EINVAL);
            }
            let members = btf.members(table);
            let member = members.get(attr.u32(68) as usize);
            let (member, ..) = member.ok_or(Errno(libc::EINVAL))?;
            Ok(ProgramKind::StructOps {
                member: member.to_string(),
            })
        }
        // The scheduler is about to be registered: the one event that happens while it is loaded.
        TRACING if bpf.kernel_btf().name(TypeId(attr.u32(108))) == REGISTERED => {
            Ok(ProgramKind::Syscall)
        }
        TRACING => {
            let event = bpf.offered.event(attr.u32(108)).unwrap_or_default();
            let name = event.strip_prefix("btf_trace_");
            let raised = name.and_then(Tracepoint::named);
            Ok(raised.map_or(ProgramKind::Other(TRACING), ProgramKind::Tracepoint))
        }
        other => Ok(ProgramKind::Other(other)),
    }
}

/// The number of a kind in `enum bpf_prog_type`.
pub fn number_of(kind: &ProgramKind) -> u32 {
    match kind {
        ProgramKind::StructOps { .. } => STRUCT_OPS,
        ProgramKind::Syscall => SYSCALL,
        ProgramKind::Tracepoint(_) => TRACING,
        ProgramKind::Other(other) => *other,
    }
}

/// Puts the numbers of maps where descriptors are.
fn resolve_maps(bpf: &Bpf, m: &Machine, peer: &Peer, attr: &Attr, insns: &mut [u64]) -> Result<()> {
    let mut i = 0;
    while i < insns.len() {
        let insn = insns[i];
        if insn as u8 != LD_IMM64 {
            i += 1;
            continue;
        }
        let source = (insn >> 12) as u8 & 15;
        let immediate = (insn >> 32) as u32;
        let (fd, plain) = match source {
            MAP_FD | MAP_VALUE => (Some(immediate as i32), source),
            MAP_IDX | MAP_IDX_VALUE => {
                let at = attr.u64(120) + 4 * u64::from(immediate);
                let fd = number(&peer.read(at, 4)?, 0, 4) as i32;
                (Some(fd), source - MAP_IDX + MAP_FD)
            }
            _ => (None, source),
        };
        if let Some(fd) = fd {
            let map = bpf.map(peer, fd)?;
            if plain == MAP_VALUE {
                check_offset(m, peer, attr, map, insns.get(i + 1))?;
            }
            let low = insn & 0xffff_0fff | u64::from(plain) << 12;
            insns[i] = low | u64::from(map.0) << 32;
        }
        i += 2;
    }
    Ok(())
}

/// A value is not addressed from outside; loaders look whether that is found.
fn check_offset(
    m: &Machine,
    peer: &Peer,
    attr: &Attr,
    map: MapId,
    second: Option<&u64>,
) -> Result<()> {
    let spec = m.map(map);
    let offset = second.map_or(0, |insn| insn >> 32);
    let size = u64::from(spec.value_size) * u64::from(spec.max_entries);
    if spec.kind == MapKind::Arena || offset < size {
        return Ok(());
    }
    let size = spec.value_size;
    let message = format!("invalid access to map value pointer, value_size={size} off={offset}");
    write_log(peer, attr, &message);
    fail(libc::EINVAL)
}

/// The functions a program is made of.
fn functions(peer: &Peer, attr: &Attr, btf: Option<&Btf>) -> Result<Vec<(u32, String)>> {
    let (size, count) = (attr.u32(76) as usize, attr.u32(88) as usize);
    let Some(btf) = btf.filter(|_| count > 0) else {
        return Ok(Vec::new());
    };
    if size < 8 || count > MOST_INSNS as usize {
        return fail(libc::EINVAL);
    }
    let records = peer.read(attr.u64(80), size * count)?;
    let function = |record: &[u8]| {
        let type_id = TypeId(number(record, 4, 4) as u32);
        (number(record, 0, 4) as u32, btf.name(type_id).to_string())
    };
    Ok(records.chunks_exact(size).map(function).collect())
}

/// Says in the loader's log why a program was refused.
pub fn write_log(peer: &Peer, attr: &Attr, message: &str) {
    let (level, size, at) = (attr.u32(24), attr.u32(28) as usize, attr.u64(32));
    if level > 0 && at != 0 && size > message.len() + 1 {
        let bytes = [message.as_bytes(), b"\n\0"].concat();
        // The log is a courtesy: whoever gave no room for it gets none.
        let _ = peer.write(at, &bytes[..bytes.len().min(size)]);
    }
}

/// The operations in the value of a struct_ops map.
pub fn read_ops(bpf: &Bpf, peer: &Peer, btf: &Btf, type_id: TypeId, value: &[u8]) -> Result<Ops> {
    let wrapper = btf.members(type_id);
    let data = wrapper.iter().find(|(name, ..)| *name == "data");
    let &(_, table, offset, _) = data.ok_or(Errno(libc::EINVAL))?;
    if btf.name(table) != OPS {
        return fail(libc::EINVAL);
    }
    let mut ops = Ops::default();
    let (mut numbers, mut programs) = (BTreeMap::new(), BTreeMap::new());
    for (name, member, bits, _) in btf.members(table) {
        let at = ((offset + bits) / 8) as usize;
        let member = btf.resolve(member);
        let bytes = value.get(at..).unwrap_or_default();
        let size = btf.size(member) as usize;
        match btf.kind(member) {
            Some(Kind::Ptr) if points_to_function(btf, member) => match number(bytes, 0, 8) {
                0 => {}
                fd => {
                    let program = bpf.objects.find(peer, fd as i32);
                    let Some(Object::Program(program, _)) = program else {
                        return fail(libc::EINVAL);
                    };
                    programs.insert(name.to_string(), *program);
                }
            },
            Some(Kind::Array) if name == "name" => {
                ops.name = text(&bytes[..bytes.len().min(128)]);
            }
            _ if size <= 8 => {
                numbers.insert(name.to_string(), number(bytes, 0, size.min(8)));
            }
            _ => {}
        }
    }
    let mut take = |name: &str| numbers.remove(name).unwrap_or_default();
    ops.flags = take("flags");
    ops.timeout_ms = take("timeout_ms") as u32;
    ops.dispatch_max_batch = take("dispatch_max_batch") as u32;
    ops.exit_dump_len = take("exit_dump_len") as u32;
    ops.numbers = numbers;
    ops.programs = programs;
    Ok(ops)
}

fn points_to_function(btf: &Btf, pointer: TypeId) -> bool {
    let target = btf.target(pointer).map(|target| btf.resolve(target));
    target.and_then(|target| btf.kind(target)) == Some(Kind::FuncProto)
}
