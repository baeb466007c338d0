//! Loading: the commands of bpf(2) that make maps and programs.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::btf::{Btf, Kind, TypeId};
use crate::compile::{self, CodeError};
use crate::helpers::Call;
use crate::machine::{
    limit_fault, poison_fault, store_fault, Errno, Loaded, Machine, Ops, Program, ProgramId,
    ProgramKind, Refusal, OWNED, OWNER_HEAD,
};
use crate::maps::{Data, Map, MapId, MapKind, MapSpec, HEAD};
use crate::memory::Memory;
use crate::read::{self, Unit, World};
use crate::translate::{self, Text, OWN_CALLS};
use crate::Image;

impl Machine {
    /// BPF_MAP_CREATE.
    ///
    /// # Errors
    /// As the kernel: EINVAL, E2BIG, ENOMEM.
    pub fn create_map(&mut self, spec: MapSpec) -> Result<MapId, Errno> {
        let inner = spec.inner.map(|inner| inner.0 as usize);
        if spec.kind.is_of_maps() && inner.is_none_or(|inner| inner >= self.maps.len()) {
            return Err(Errno(libc::EINVAL));
        }
        let id = MapId(self.maps.len() as u32);
        let seen = self.kernel.btf.size_of("bpf_map").unwrap_or(0);
        let address = match self.memory.allocate(HEAD + u64::from(seen)) {
            0 => return Err(Errno(libc::ENOMEM)),
            head => head + HEAD,
        };
        let (extra, is_arena) = (spec.extra, spec.kind == MapKind::Arena);
        let mut map = Map::new(spec, address, &mut self.memory, self.shared.nr_cpus)?;
        if map.spec.kind.is_storage() && self.nr_storages < OWNED {
            map.pointer = Some(self.nr_storages);
            self.nr_storages += 1;
        }
        self.write_head(id, &map);
        self.maps.push(map);
        if is_arena && extra != 0 {
            self.arena_mapped(id, extra)
                .map_err(|_| Errno(libc::ENOMEM))?;
        }
        Ok(id)
    }

    /// What programs and the prelude see of a map.
    fn write_head(&mut self, id: MapId, map: &Map) {
        let (at, entries) = (map.address, map.spec.max_entries);
        // The head was just allocated: it is inside.
        let _ = self
            .memory
            .set(at - HEAD, [map.spec.kind as u32, id.0, entries, 0]);
        let numbers = [
            ("map_type", map.spec.kind as u32),
            ("key_size", map.spec.key_size),
            ("value_size", map.spec.value_size),
            ("max_entries", entries),
            ("map_flags", map.spec.flags),
            ("id", id.0 + 1),
        ];
        for (name, value) in numbers {
            if let Some(field) = self.kernel.btf.field("bpf_map", name) {
                let _ = self.memory.set(at + u64::from(field.offset), value);
            }
        }
    }

    /// What a map was created as.
    ///
    /// # Panics
    /// If there is no such map.
    pub fn map(&self, map: MapId) -> &MapSpec {
        &self.maps[map.0 as usize].spec
    }

    /// Number of maps; their numbers are those below.
    pub fn nr_maps(&self) -> u32 {
        self.maps.len() as u32
    }

    /// The map whose address a program has.
    pub(crate) fn map_at(&self, address: u64) -> Option<MapId> {
        let id: u32 = self.memory.get(address.wrapping_sub(HEAD).wrapping_add(4));
        let map = self.maps.get(id as usize)?;
        (map.address == address).then_some(MapId(id))
    }

    /// What the loader may map instead of the map's file descriptor: maps with BPF_F_MMAPABLE, arenas, ring buffers.
    pub fn map_file(&self, map: MapId) -> Option<BorrowedFd<'_>> {
        let map = self.maps.get(map.0 as usize)?;
        map.file.as_ref().map(|file| file.as_fd())
    }

    /// The loader has mapped an arena's file at this address.  To be said before a program that uses it is loaded.
    ///
    /// # Errors
    /// The host refuses the mapping.
    pub fn arena_mapped(&mut self, map: MapId, user_address: u64) -> io::Result<()> {
        let map = self.maps.get_mut(map.0 as usize);
        let map = map.ok_or(io::ErrorKind::NotFound)?;
        map.place_arena(user_address, &mut self.memory)
    }

    /// BPF_PROG_LOAD.
    ///
    /// # Errors
    /// An instruction, a helper or a kfunc is unknown: it is named.
    pub fn load(&mut self, program: Program) -> Result<ProgramId, Refusal> {
        let functions = read::read(&program, &self.kernel, self)?;
        let id = ProgramId(self.programs.len() as u32);
        self.programs.push(Loaded {
            program: Arc::new(program),
            functions: Arc::new(functions),
            entry: None,
            unit: 0,
        });
        Ok(id)
    }

    /// A loaded program.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn program(&self, program: ProgramId) -> &Program {
        &self.programs[program.0 as usize].program
    }

    /// The scheduler attached these operations.
    pub fn attach(&mut self, ops: Ops) {
        self.ops = ops;
    }

    /// Compiles all programs that are not compiled yet.  This takes seconds for a large scheduler, unless the cache
    /// has it.
    ///
    /// # Errors
    /// The C compiler is missing.
    pub fn compile(&mut self) -> Result<(), CodeError> {
        let new = self.not_compiled();
        if new.is_empty() {
            return Ok(());
        }
        let text = self.translate(&new);
        let own: [Call; OWN_CALLS] = [store_fault, limit_fault, poison_fault];
        let found = text.1.calls.iter().map(|&refers| self.kernel.call(refers));
        let calls: Vec<Call> = own.into_iter().chain(found).collect();
        let names = text.0.functions.iter().map(|f| f.name.clone()).collect();
        let code = compile::code(&text.1.parts, &calls, text.1.exported.len(), names)?;
        for (&program, entry) in new.iter().zip(&text.0.entries) {
            let place = text
                .1
                .exported
                .iter()
                .position(|function| function == entry);
            let loaded = &mut self.programs[program];
            loaded.entry = place.map(|place| code.functions[place]);
            loaded.unit = self.units.len();
        }
        self.units.push(code);
        Ok(())
    }

    fn translate(&self, programs: &[usize]) -> (Unit, Text) {
        let functions: Vec<_> = programs
            .iter()
            .map(|&i| self.programs[i].functions.to_vec())
            .collect();
        let unit = read::join(&functions);
        let text = translate::write(&unit, self.units.len() as u64, &self.kernel, self);
        (unit, text)
    }

    /// The C text of all programs that are not compiled yet, for those who want to look at it.
    pub fn c_text(&self) -> String {
        self.translate(&self.not_compiled()).1.parts.concat()
    }

    /// Programs that can be run, and could not yet.
    fn not_compiled(&self) -> Vec<usize> {
        let runs = |loaded: &Loaded| !matches!(loaded.program.kind, ProgramKind::Other(_));
        (0..self.programs.len())
            .filter(|&i| self.programs[i].entry.is_none() && runs(&self.programs[i]))
            .collect()
    }

    /// The machine as it is now, to make machines of it.
    ///
    /// # Errors
    /// The host has no room for it, or the programs do not compile.
    pub fn freeze(mut self: Box<Self>) -> io::Result<Image> {
        self.compile().map_err(io::Error::other)?;
        for map in &mut self.maps {
            map.file = None;
        }
        Image::new(self)
    }
}

/// Room for the kernel's variables; per-CPU ones are in a section of that name.
pub(crate) fn place_variables(
    btf: &Btf,
    memory: &mut Memory,
    nr_cpus: u32,
) -> BTreeMap<TypeId, u64> {
    let per_cpu: Vec<TypeId> = btf
        .section(".data..percpu")
        .iter()
        .map(|entry| entry.0)
        .collect();
    let variables = btf.all(Kind::Var).map(|id| {
        let size = u64::from(btf.size(id)).max(8);
        let address = match per_cpu.contains(&id) {
            true => memory.allocate_per_cpu(size, nr_cpus).unwrap_or(0),
            false => memory.allocate(size),
        };
        (id, address)
    });
    variables.collect()
}

/// Where programs find functions of the kernel, if they ask; nothing can be read there.
const KERNEL_TEXT: u64 = 0xffff_ffff_8100_0000;

impl World for Machine {
    fn map_address(&self, map: MapId) -> Option<u64> {
        self.maps.get(map.0 as usize).map(|map| map.address)
    }

    fn map_values(&self, map: MapId) -> Option<u64> {
        let map = self.maps.get(map.0 as usize)?;
        match &map.data {
            Data::Array => Some(map.values),
            Data::Arena(pages) => pages.user,
            _ => None,
        }
    }

    fn arena(&self, map: MapId) -> Option<(u64, u64)> {
        let map = self.maps.get(map.0 as usize)?;
        match &map.data {
            Data::Arena(pages) => Some((map.values, pages.user? >> 32 << 32)),
            _ => None,
        }
    }

    fn array(&self, map: MapId) -> Option<(u64, u64, bool)> {
        let map = self.maps.get(map.0 as usize)?;
        let kind = map.spec.kind;
        let is_array = matches!(kind, MapKind::Array | MapKind::PerCpuArray);
        is_array.then_some((map.values, map.stride, kind.is_per_cpu()))
    }

    fn storage(&self, map: MapId) -> Option<u64> {
        let map = self.maps.get(map.0 as usize)?;
        map.pointer
            .map(|pointer| OWNER_HEAD - 8 * u64::from(pointer))
    }

    fn variable(&self, id: TypeId) -> Option<u64> {
        let btf = &self.kernel.btf;
        match btf.kind(id)? {
            // Programs ask whether a kfunc has an address: whether it exists.
            Kind::Func if self.kernel.kfuncs.contains_key(btf.name(id)) => {
                Some(KERNEL_TEXT + 16 * u64::from(id.0))
            }
            _ => self.variables.get(&id).copied(),
        }
    }
}
