//! Answers to bpf(2).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::events::Offered;
use super::notify::{Answer, Call};
use super::objects::{again, Object, Objects};
use super::peer::{BadAddress, Peer};
use super::programs;
use super::wire::{Attr, Record};
use crate::ext::Tracepoint;
use crate::machine::{Errno, Kernel, Machine, Ops};
use crate::maps::{MapId, MapKind, MapSpec};
use crate::memory;
use crate::{Btf, ProgramId, Refusal, Started, TypeId};

/// Commands of bpf(2), as `enum bpf_cmd` has them.
mod command {
    pub const MAP_CREATE: u64 = 0;
    pub const MAP_LOOKUP_ELEM: u64 = 1;
    pub const MAP_UPDATE_ELEM: u64 = 2;
    pub const MAP_DELETE_ELEM: u64 = 3;
    pub const MAP_GET_NEXT_KEY: u64 = 4;
    pub const PROG_LOAD: u64 = 5;
    pub const PROG_TEST_RUN: u64 = 10;
    pub const PROG_GET_NEXT_ID: u64 = 11;
    pub const MAP_GET_NEXT_ID: u64 = 12;
    pub const OBJ_GET_INFO_BY_FD: u64 = 15;
    pub const RAW_TRACEPOINT_OPEN: u64 = 17;
    pub const BTF_LOAD: u64 = 18;
    pub const MAP_LOOKUP_AND_DELETE_ELEM: u64 = 21;
    pub const MAP_FREEZE: u64 = 22;
    pub const BTF_GET_NEXT_ID: u64 = 23;
    pub const MAP_LOOKUP_BATCH: u64 = 24;
    pub const MAP_UPDATE_BATCH: u64 = 26;
    pub const MAP_DELETE_BATCH: u64 = 27;
    pub const LINK_CREATE: u64 = 28;
    pub const LINK_GET_NEXT_ID: u64 = 31;
    pub const ENABLE_STATS: u64 = 32;
    pub const LINK_DETACH: u64 = 34;
    pub const PROG_BIND_MAP: u64 = 35;
}

/// BPF_F_LINK: a struct_ops map that a link attaches, not its own update.
const F_LINK: u32 = 1 << 13;

/// BPF_STRUCT_OPS of `enum bpf_attach_type`.
const ATTACH_STRUCT_OPS: u32 = 44;

/// The structure whose operations can be attached.
pub const OPS: &str = "sched_ext_ops";

/// Longest BTF that is read.
const MOST_BTF: u32 = 64 << 20;

/// The answers, and what came of the calls so far.
#[derive(Debug)]
pub struct Bpf {
    kernel: Arc<Kernel>,
    /// The types that the loader sees.
    pub(super) offered: Offered,
    pub(super) objects: Objects,
    /// Values of struct_ops maps, by map.
    tables: Vec<(MapId, Table)>,
    /// What was attached, once it was.
    pub attached: Option<Ops>,
    /// What the loader ran after the attach.
    started: Vec<Started>,
    /// Programs that run at events, by event.
    raised: Vec<(Tracepoint, ProgramId)>,
    /// Programs that run when the operations are attached.
    at_attach: Vec<ProgramId>,
    /// Programs that were attached to events that do not happen here.
    pub idle: Vec<String>,
    /// What was asked for and cannot be had.
    pub refusals: Vec<Refusal>,
    /// What was in mapped memory when the operations were attached.
    mapped_before: BTreeMap<MapId, u64>,
    /// The scheduler runs, and syscall programs do.
    pub is_live: bool,
    next_id: u32,
}

/// A struct_ops map.
#[derive(Debug)]
struct Table {
    /// Its `struct bpf_struct_ops_sched_ext_ops`.
    type_id: TypeId,
    flags: u32,
    ops: Option<Ops>,
}

type Result<T> = std::result::Result<T, Errno>;

impl From<BadAddress> for Errno {
    fn from(_: BadAddress) -> Errno {
        Errno(libc::EFAULT)
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// An errno of the C library.
pub fn fail<T>(errno: i32) -> Result<T> {
    Err(Errno(errno))
}

impl Bpf {
    /// Answers for a machine that has nothing yet.
    pub fn new(kernel: &Arc<Kernel>, offered: Offered) -> Bpf {
        Bpf {
            offered,
            kernel: kernel.clone(),
            objects: Objects::default(),
            tables: Vec::new(),
            attached: None,
            started: Vec::new(),
            raised: Vec::new(),
            at_attach: Vec::new(),
            idle: Vec::new(),
            refusals: Vec::new(),
            mapped_before: BTreeMap::new(),
            is_live: false,
            next_id: 1,
        }
    }

    /// What a call of bpf(2) returns.
    ///
    /// # Errors
    /// The errno it returns.
    pub fn answer(&mut self, m: &mut Machine, call: &Call) -> Result<Answer> {
        let peer = Peer(call.thread);
        let attr = Attr::read(&peer, call.args[1], call.args[2])?;
        match call.args[0] {
            command::MAP_CREATE => self.create_map(m, &peer, &attr).map(Answer::File),
            command::MAP_LOOKUP_ELEM => self.lookup(m, &peer, &attr, false),
            command::MAP_LOOKUP_AND_DELETE_ELEM => self.lookup(m, &peer, &attr, true),
            command::MAP_UPDATE_ELEM => self.update(m, &peer, &attr),
            command::MAP_DELETE_ELEM => self.delete(m, &peer, &attr),
            command::MAP_GET_NEXT_KEY => self.next_key(m, &peer, &attr),
            command::MAP_LOOKUP_BATCH => self.lookup_batch(m, &peer, &attr),
            command::MAP_UPDATE_BATCH => self.update_batch(m, &peer, &attr, false),
            command::MAP_DELETE_BATCH => self.update_batch(m, &peer, &attr, true),
            command::MAP_FREEZE => {
                let map = self.map(&peer, attr.fd(0))?;
                m.map_freeze(map);
                done()
            }
            command::PROG_LOAD => self.load(m, &peer, &attr).map(Answer::File),
            command::PROG_TEST_RUN => self.test_run(m, &peer, &attr),
            command::BTF_LOAD => self.load_btf(&peer, &attr).map(Answer::File),
            command::OBJ_GET_INFO_BY_FD => self.info(m, &peer, &attr),
            command::LINK_CREATE => self.create_link(m, &peer, &attr).map(Answer::File),
            command::RAW_TRACEPOINT_OPEN => {
                self.attach_idle(m, &peer, attr.fd(8)).map(Answer::File)
            }
            command::LINK_DETACH => match self.objects.find(&peer, attr.fd(0)) {
                Some(Object::Link) => done(),
                _ => fail(libc::EBADF),
            },
            command::PROG_BIND_MAP => match self.objects.find(&peer, attr.fd(0)) {
                Some(Object::Program(..) | Object::Idle(..)) => done(),
                _ => fail(libc::EBADF),
            },
            command::ENABLE_STATS => Ok(Answer::File(self.objects.add(Object::Link)?)),
            // There are no modules, and what others have loaded is not seen.
            command::BTF_GET_NEXT_ID
            | command::PROG_GET_NEXT_ID
            | command::MAP_GET_NEXT_ID
            | command::LINK_GET_NEXT_ID => fail(libc::ENOENT),
            // Nothing can be pinned: no object outlives its loader.
            _ => fail(libc::EINVAL),
        }
    }

    fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub(super) fn map(&self, peer: &Peer, fd: i32) -> Result<MapId> {
        match self.objects.find(peer, fd) {
            Some(Object::Map(map)) => Ok(*map),
            Some(_) => fail(libc::EINVAL),
            None => fail(libc::EBADF),
        }
    }

    pub(super) fn types(&self, peer: &Peer, fd: i32) -> Result<Arc<Btf>> {
        match self.objects.find(peer, fd) {
            Some(Object::Btf(btf, _)) => Ok(btf.clone()),
            Some(_) => fail(libc::EINVAL),
            None => fail(libc::EBADF),
        }
    }

    pub(super) fn kernel_btf(&self) -> Arc<Btf> {
        self.kernel.btf.clone()
    }

    /// Has the loader written into memory that it shares with programs since the attach?
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn has_written(&self, m: &Machine) -> io::Result<bool> {
        Ok(self.mapped(m)? != self.mapped_before)
    }

    /// What is in the memory that the loader has mapped, as a hash for each map.
    fn mapped(&self, m: &Machine) -> io::Result<BTreeMap<MapId, u64>> {
        let mut hashes = BTreeMap::new();
        for (map, _) in self.objects.maps() {
            let file = m.map_file(map).map(again).transpose()?;
            if let (Some(file), false) = (file, m.map(map).kind == MapKind::RingBuf) {
                hashes.insert(map, content(&file.into())?);
            }
        }
        Ok(hashes)
    }

    /// Is there a ring buffer through which user space gives orders?
    pub fn hands_over(&self, m: &Machine) -> bool {
        let mut maps = self.objects.maps().map(|(map, _)| m.map(map));
        maps.any(|spec| spec.kind == MapKind::UserRingBuf)
    }

    /// Everything that was attached.
    pub fn ops(&self) -> Ops {
        let mut ops = self.attached.clone().unwrap_or_default();
        ops.started = self.started.clone();
        ops.tracepoints = self.raised.clone();
        ops
    }

    fn create_map(
        &mut self,
        m: &mut Machine,
        peer: &Peer,
        attr: &Attr,
    ) -> Result<std::os::fd::OwnedFd> {
        let name = attr.name(28);
        let Some(kind) = MapKind::from_number(attr.u32(0)) else {
            self.refusals.push(Refusal {
                program: format!("map {name}"),
                what: format!(
                    "maps of type {} do not exist here; \"schedlab list scx\" shows those that do",
                    attr.u32(0)
                ),
            });
            return fail(libc::EINVAL);
        };
        let inner = match kind {
            MapKind::ArrayOfMaps | MapKind::HashOfMaps => Some(self.map(peer, attr.fd(20))?),
            _ => None,
        };
        let types = match attr.fd(48) {
            0 => None,
            fd => Some((
                self.types(peer, fd)?,
                TypeId(attr.u32(52)),
                TypeId(attr.u32(56)),
            )),
        };
        let map = m.create_map(MapSpec {
            name,
            kind,
            key_size: attr.u32(4),
            value_size: attr.u32(8),
            max_entries: attr.u32(12),
            flags: attr.u32(16),
            extra: attr.u64(64),
            inner,
            types,
        })?;
        if kind == MapKind::StructOps {
            let table = Table {
                type_id: TypeId(attr.u32(60)),
                flags: attr.u32(16),
                ops: None,
            };
            self.tables.push((map, table));
        }
        match m.map_file(map).map(again) {
            Some(file) => Ok(self.objects.add_as(Object::Map(map), file?)?),
            None => Ok(self.objects.add(Object::Map(map))?),
        }
    }

    /// The key of a call about an element.
    fn key(&self, m: &Machine, peer: &Peer, attr: &Attr, map: MapId) -> Result<Vec<u8>> {
        let size = m.map(map).key_size as usize;
        Ok(peer.read(attr.u64(8), size)?)
    }

    fn lookup(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr, take: bool) -> Result<Answer> {
        let map = self.map(peer, attr.fd(0))?;
        let key = self.key(m, peer, attr, map)?;
        let value = match take {
            true => m.map_take(map, &key)?,
            false => m.map_lookup(map, &key)?,
        };
        peer.write(attr.u64(16), &value)?;
        done()
    }

    fn update(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<Answer> {
        let map = self.map(peer, attr.fd(0))?;
        let key = self.key(m, peer, attr, map)?;
        let size = m.user_value_size(map);
        let mut value = peer.read(attr.u64(16), size)?;
        match m.map(map).kind {
            MapKind::StructOps => return self.update_table(m, peer, map, &value),
            MapKind::ArrayOfMaps | MapKind::HashOfMaps => {
                let inner = self.map(peer, super::wire::number(&value, 0, 4) as i32)?;
                value = inner.0.to_le_bytes().to_vec();
            }
            // Its values are perf events; here is none that is ever raised.
            MapKind::PerfEventArray => return done(),
            _ => {}
        }
        m.map_update(map, &key, &value, attr.u64(24))?;
        done()
    }

    fn delete(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<Answer> {
        let map = self.map(peer, attr.fd(0))?;
        if m.map(map).kind == MapKind::StructOps {
            return done();
        }
        let key = self.key(m, peer, attr, map)?;
        m.map_delete(map, &key)?;
        done()
    }

    fn next_key(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<Answer> {
        let map = self.map(peer, attr.fd(0))?;
        let key = match attr.u64(8) {
            0 => None,
            _ => Some(self.key(m, peer, attr, map)?),
        };
        let next = m.map_next_key(map, key.as_deref())?;
        peer.write(attr.u64(16), &next)?;
        done()
    }

    /// The cursor is the number of elements that were read before.
    fn lookup_batch(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<Answer> {
        let map = self.map(peer, attr.fd(36))?;
        let skipped = match attr.u64(0) {
            0 => 0,
            at => super::wire::number(&peer.read(at, 4)?, 0, 4) as usize,
        };
        let wanted = attr.u32(32) as usize;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let (mut seen, mut count, mut key) = (0, 0, None);
        let last = loop {
            match m.map_next_key(map, key.as_deref()) {
                Ok(next) if seen >= skipped && count == wanted => {
                    drop(next);
                    break false;
                }
                Ok(next) => {
                    if seen >= skipped {
                        values.extend(m.map_lookup(map, &next)?);
                        keys.extend_from_slice(&next);
                        count += 1;
                    }
                    seen += 1;
                    key = Some(next);
                }
                Err(_) => break true,
            }
        };
        peer.write(attr.u64(16), &keys)?;
        peer.write(attr.u64(24), &values)?;
        peer.write(attr.u64(8), &(seen as u32).to_le_bytes())?;
        peer.write(attr.address + 32, &(count as u32).to_le_bytes())?;
        match last {
            true => fail(libc::ENOENT),
            false => done(),
        }
    }

    fn update_batch(
        &mut self,
        m: &mut Machine,
        peer: &Peer,
        attr: &Attr,
        delete: bool,
    ) -> Result<Answer> {
        let map = self.map(peer, attr.fd(36))?;
        let key_size = m.map(map).key_size as usize;
        let size = m.user_value_size(map);
        for i in 0..attr.u32(32) as usize {
            let key = peer.read(attr.u64(16) + (i * key_size) as u64, key_size)?;
            if delete {
                m.map_delete(map, &key)?;
                continue;
            }
            let value = peer.read(attr.u64(24) + (i * size) as u64, size)?;
            m.map_update(map, &key, &value, attr.u64(40))?;
        }
        done()
    }

    fn load_btf(&mut self, peer: &Peer, attr: &Attr) -> Result<std::os::fd::OwnedFd> {
        let size = attr.u32(16);
        if size > MOST_BTF {
            return fail(libc::E2BIG);
        }
        let bytes = peer.read(attr.u64(0), size as usize)?;
        let btf = Btf::parse(&bytes).map_err(|_| Errno(libc::EINVAL))?;
        let id = self.id();
        Ok(self.objects.add(Object::Btf(Arc::new(btf), id))?)
    }

    fn load(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<std::os::fd::OwnedFd> {
        self.map_arenas(m, peer)?;
        let program = programs::read(self, m, peer, attr)?;
        if let crate::ProgramKind::Other(kind) = program.kind {
            return Ok(self.objects.add(Object::Idle(program.name, kind))?);
        }
        match m.load(program) {
            Ok(program) => {
                let id = self.id();
                Ok(self.objects.add(Object::Program(program, id))?)
            }
            Err(refusal) => {
                programs::write_log(peer, attr, &refusal.to_string());
                if !self.refusals.contains(&refusal) {
                    self.refusals.push(refusal);
                }
                fail(libc::EINVAL)
            }
        }
    }

    /// Programs see arenas where the loader has mapped them.
    fn map_arenas(&mut self, m: &mut Machine, peer: &Peer) -> Result<()> {
        let maps: Vec<_> = self.objects.maps().collect();
        for (map, inode) in maps {
            if m.map(map).kind == MapKind::Arena {
                if let Some(address) = peer.mapping(inode) {
                    m.arena_mapped(map, address)?;
                }
            }
        }
        Ok(())
    }

    fn test_run(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<Answer> {
        let Some(Object::Program(program, _)) = self.objects.find(peer, attr.fd(0)) else {
            return fail(libc::EBADF);
        };
        let program = *program;
        if m.program(program).kind != crate::ProgramKind::Syscall {
            return fail(libc::EINVAL);
        }
        let size = attr.u32(40) as usize;
        let mut context = match size {
            0 => Vec::new(),
            size => peer.read(attr.u64(48), size)?,
        };
        if self.attached.is_some() && !self.is_live {
            // A real kernel would have called ops.init(): each run does it, and runs this program then.
            self.started.push(Started {
                program,
                context,
                cpu: m.this_cpu,
            });
            return done();
        }
        let value = self.run(m, program, &mut context)?;
        if size > 0 {
            peer.write(attr.u64(48), &context)?;
        }
        peer.write(attr.address + 4, &(value as u32).to_le_bytes())?;
        done()
    }

    /// Attaches a program to an event that does happen.
    fn attach_program(&mut self, m: &mut Machine, program: ProgramId) {
        match &m.program(program).kind {
            crate::ProgramKind::Tracepoint(tracepoint) => {
                self.raised.push((*tracepoint, program));
                if self.is_live {
                    m.listen(&self.raised);
                }
            }
            _ => self.at_attach.push(program),
        }
    }

    fn run(&mut self, m: &mut Machine, program: ProgramId, context: &mut [u8]) -> Result<u64> {
        m.run_syscall(program, context).map_err(|fault| {
            if self.is_live {
                m.program_failed(&fault);
            }
            self.refusals.push(Refusal {
                program: "its loader ran a program".into(),
                what: fault.to_string(),
            });
            Errno(libc::EFAULT)
        })
    }

    fn update_table(
        &mut self,
        m: &mut Machine,
        peer: &Peer,
        map: MapId,
        value: &[u8],
    ) -> Result<Answer> {
        let btf = self.kernel.btf.clone();
        let find = |tables: &[(MapId, Table)]| tables.iter().position(|(id, _)| *id == map);
        let index = find(&self.tables).ok_or(Errno(libc::EINVAL))?;
        let (type_id, flags) = (self.tables[index].1.type_id, self.tables[index].1.flags);
        let ops = programs::read_ops(self, peer, &btf, type_id, value)?;
        self.tables[index].1.ops = Some(ops.clone());
        if flags & F_LINK == 0 {
            self.attach(m, ops)?;
        }
        done()
    }

    fn attach(&mut self, m: &mut Machine, ops: Ops) -> Result<()> {
        if self.attached.is_some() {
            return fail(libc::EBUSY);
        }
        for program in std::mem::take(&mut self.at_attach) {
            self.run(m, program, &mut [0; 16])?;
        }
        m.attach(ops.clone());
        self.mapped_before = self.mapped(m)?;
        self.attached = Some(ops);
        Ok(())
    }

    fn create_link(
        &mut self,
        m: &mut Machine,
        peer: &Peer,
        attr: &Attr,
    ) -> Result<std::os::fd::OwnedFd> {
        if attr.u32(8) != ATTACH_STRUCT_OPS {
            return self.attach_idle(m, peer, attr.fd(0));
        }
        let map = self.map(peer, attr.fd(0))?;
        let table = self.tables.iter().find(|(id, _)| *id == map);
        let Some(ops) = table.and_then(|(_, table)| table.ops.clone()) else {
            return fail(libc::EINVAL);
        };
        self.attach(m, ops)?;
        Ok(self.objects.add(Object::Link)?)
    }

    /// Attaches a program to an event that never happens here.
    pub(super) fn attach_idle(
        &mut self,
        m: &mut Machine,
        peer: &Peer,
        fd: i32,
    ) -> Result<std::os::fd::OwnedFd> {
        let name = match self.objects.find(peer, fd) {
            Some(Object::Idle(name, _)) => name.clone(),
            Some(Object::Program(program, _)) => {
                let program = *program;
                self.attach_program(m, program);
                return Ok(self.objects.add(Object::Link)?);
            }
            Some(_) => return fail(libc::EINVAL),
            None => return fail(libc::EBADF),
        };
        self.idle.push(name.clone());
        Ok(self.objects.add(Object::Link)?)
    }

    fn info(&mut self, m: &mut Machine, peer: &Peer, attr: &Attr) -> Result<Answer> {
        let (len, at) = (attr.u32(4) as usize, attr.u64(8));
        let object = self.objects.find(peer, attr.fd(0));
        let record = match object.ok_or(Errno(libc::EBADF))? {
            Object::Map(map) => self.map_info(m, *map),
            Object::Btf(btf, id) => {
                let (address, room) = asked_bytes(peer, at, len)?;
                peer.write(address, &btf.bytes()[..btf.bytes().len().min(room)])?;
                let size = btf.bytes().len() as u32;
                Record::new(32).u64(0, address).u32(8, size).u32(12, *id)
            }
            Object::Program(program, id) => {
                let program = m.program(*program);
                let kind = programs::number_of(&program.kind);
                Record::new(232)
                    .u32(0, kind)
                    .u32(4, *id)
                    .name(64, &program.name)
            }
            Object::Idle(name, kind) => Record::new(232).u32(0, *kind).name(64, name),
            Object::Link | Object::PerfEvent(_) => Record::new(64),
        };
        let bytes = record.first(len);
        peer.write(at, bytes)?;
        peer.write(attr.address + 4, &(bytes.len() as u32).to_le_bytes())?;
        done()
    }

    fn map_info(&self, m: &Machine, map: MapId) -> Record {
        let spec = m.map(map);
        let (key, value) = spec.types.as_ref().map_or((0, 0), |(_, k, v)| (k.0, v.0));
        Record::new(88)
            .u32(0, spec.kind as u32)
            .u32(4, map.0 + 1)
            .u32(8, spec.key_size)
            .u32(12, spec.value_size)
            .u32(16, spec.max_entries)
            .u32(20, spec.flags)
            .name(24, &spec.name)
            .u32(68, key)
            .u32(72, value)
            .u64(80, spec.extra)
    }
}

/// A hash of a file's bytes that are not 0.
fn content(file: &File) -> io::Result<u64> {
    let mut hash = Xxh3::new();
    memory::add_data(file, &mut hash)?;
    Ok(hash.digest())
}

/// Where a loader wants the bytes of a BTF, and how many.
fn asked_bytes(peer: &Peer, at: u64, len: usize) -> Result<(u64, usize)> {
    let asked = peer.read(at, len.min(32))?;
    let number = |at, len| super::wire::number(&asked, at, len);
    match number(0, 8) {
        0 => Ok((0, 0)),
        address => Ok((address, number(8, 4) as usize)),
    }
}

fn done() -> Result<Answer> {
    Ok(Answer::Value(0))
}
