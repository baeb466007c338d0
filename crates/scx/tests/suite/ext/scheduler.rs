//! Schedulers in C, compiled for BPF by clang and loaded without libbpf: the types are the kernel's own, so nothing
//! has to be relocated but calls and global variables.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use schedlab_scx::btf::Kind;
use schedlab_scx::ext::Tracepoint;
use schedlab_scx::{
    Image, Kernel, Machine, MapId, MapKind, MapSpec, Ops, Program, ProgramKind, Topology,
};

/// How clang is found.
mod clang {
    use std::env;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    include!("../../../../bpf/src/clang.rs");

    #[allow(dead_code)]
    fn unused(path: &Path) -> Vec<String> {
        flags(&[PathBuf::new()], path, path)
    }

    pub fn find() -> String {
        find_clang().unwrap_or_else(|problem| panic!("{problem}"))
    }
}

/// Operations that only note that they were called, where a scheduler has none of its own.
const NOTED: &[(&str, &str)] = &[
    ("runnable", "note(\"runnable\", number_of(TASK), ctx[1])"),
    ("running", "note(\"running\", number_of(TASK), 0)"),
    ("stopping", "note(\"stopping\", number_of(TASK), ctx[1] & 1)"),
    ("quiescent", "note(\"quiescent\", number_of(TASK), ctx[1])"),
    ("enqueue", "note(\"enqueue\", number_of(TASK), ctx[1])"),
    ("dequeue", "note(\"dequeue\", number_of(TASK), ctx[1])"),
    ("dispatch", "note(\"dispatch\", ctx[0], number_of((void *)ctx[1]))"),
    ("enable", "note(\"enable\", number_of(TASK), 0)"),
    ("disable", "note(\"disable\", number_of(TASK), 0)"),
    ("set_weight", "note(\"set_weight\", number_of(TASK), ctx[1])"),
    ("set_cpumask", "note(\"set_cpumask\", number_of(TASK), ((struct cpumask *)ctx[1])->bits[0])"),
    ("init_task", "note(\"init_task\", number_of(TASK), ((struct scx_init_task_args *)ctx[1])->fork)"),
    ("exit_task", "note(\"exit_task\", number_of(TASK), 0)"),
    ("exit", "note(\"exit\", ((struct scx_exit_info *)ctx[0])->kind, ((struct scx_exit_info *)ctx[0])->flags)"),
];

/// What a scheduler is attached with.
#[derive(Clone, Default)]
pub struct Attached {
    /// SCX_OPS_*.
    pub flags: u64,
    /// Watchdog in ms.
    pub timeout_ms: u32,
    /// Most tasks dispatched at once.
    pub batch: u32,
    /// What `set[]` holds.
    pub set: [u64; 8],
    /// Operations left out of those that are noted.
    pub without: &'static [&'static str],
}

/// The object of a scheduler: its operations, and notes of all others.
pub fn compile(source: &str, attached: &Attached) -> Vec<u8> {
    let mut text = format!("#include \"recorder.h\"\n{source}\n");
    for (op, note) in NOTED {
        let own = source.contains(&format!("OP({op})"));
        if !own && !attached.without.contains(op) {
            text += &format!("OP({op}) {{ {note}; return 0; }}\n");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, object) = (folder.path().join("test.c"), folder.path().join("test.o"));
    std::fs::write(&file, text).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(clang::find())
        .args([
            "--target=bpf",
            "-mcpu=v4",
            "-O2",
            "-g",
            "-std=gnu11",
            "-ffreestanding",
        ])
        .args(["-Wall", "-Wno-unused", "-Wno-tautological-pointer-compare"])
        .arg(format!("-I{}", here.join("kernel").display()))
        .arg(format!("-I{}", here.join("tests/suite/ext").display()))
        .args([
            "-c".as_ref(),
            file.as_os_str(),
            "-o".as_ref(),
            object.as_os_str(),
        ])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
    std::fs::read(object).unwrap()
}

/// A scheduler, loaded, and where its notes are.
pub struct Scheduler {
    /// To make machines of.
    pub image: Arc<Image>,
    /// The map that holds them.
    pub notes: MapId,
}

/// Compiles and loads a scheduler for a machine.
pub fn load(source: &str, topology: &Topology, attached: &Attached) -> Scheduler {
    let bytes = compile(source, attached);
    let file = object::File::parse(&*bytes).unwrap();
    let kernel = Kernel::new().unwrap();
    let mut machine = Machine::new(&kernel, topology).unwrap();
    let maps = globals(&file, &mut machine);
    let mut ops = Ops {
        name: "test".into(),
        flags: attached.flags,
        timeout_ms: attached.timeout_ms,
        dispatch_max_batch: attached.batch,
        ..Ops::default()
    };
    for section in file.sections() {
        let name = section.name().unwrap();
        let event = name.strip_prefix("tp_btf/").and_then(Tracepoint::named);
        let (member, kind) = match (name.strip_prefix("ops/"), event) {
            (Some(member), _) => {
                let kind = ProgramKind::StructOps {
                    member: member.into(),
                };
                (member, kind)
            }
            (None, Some(event)) => (event.name(), ProgramKind::Tracepoint(event)),
            (None, None) => continue,
        };
        let program = Program {
            name: format!("test_{member}"),
            kind,
            insns: instructions(&file, &section, &maps, &kernel),
            functions: Vec::new(),
            btf: None,
        };
        let id = machine.load(program);
        let id = id.unwrap_or_else(|refusal| panic!("{refusal}"));
        match event {
            Some(event) => ops.tracepoints.push((event, id)),
            None => _ = ops.programs.insert(member.into(), id),
        }
    }
    let named = |wanted: &str| {
        let section = file.section_by_name(wanted).unwrap();
        maps[&section.index().0]
    };
    let set: Vec<u8> = attached.set.iter().flat_map(|n| n.to_le_bytes()).collect();
    machine
        .map_update(named(".data.set"), &[0; 4], &set, 0)
        .unwrap();
    machine.attach(ops);
    Scheduler {
        image: Arc::new(machine.freeze().unwrap()),
        notes: named(".bss.notes"),
    }
}

/// A map for each section of data.
fn globals(file: &object::File, machine: &mut Machine) -> BTreeMap<usize, MapId> {
    let data = |section: &object::Section| {
        let name = section.name().unwrap_or("");
        let known = [".bss", ".data", ".rodata"];
        known.iter().any(|known| name.starts_with(known)) && section.size() > 0
    };
    let mut maps = BTreeMap::new();
    for section in file.sections().filter(data) {
        let spec = MapSpec {
            name: "globals".into(),
            kind: MapKind::Array,
            key_size: 4,
            value_size: section.size() as u32,
            max_entries: 1,
            flags: 0,
            extra: 0,
            inner: None,
            types: None,
        };
        let map = machine.create_map(spec).unwrap();
        if section.kind() != SectionKind::UninitializedData {
            let bytes = section.data().unwrap();
            if bytes.len() as u64 == section.size() {
                machine.map_update(map, &[0; 4], bytes, 0).unwrap();
            }
        }
        maps.insert(section.index().0, map);
    }
    maps
}

/// The instructions of a program, relocated.
fn instructions(
    file: &object::File,
    section: &object::Section,
    maps: &BTreeMap<usize, MapId>,
    kernel: &Kernel,
) -> Vec<u64> {
    let words = section.data().unwrap().chunks_exact(8);
    let mut insns: Vec<u64> = words
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    for (offset, relocation) in section.relocations() {
        let at = offset as usize / 8;
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            panic!("a relocation without a symbol");
        };
        let symbol = file.symbol_by_index(symbol).unwrap();
        match symbol.section_index() {
            None => insns[at] = kfunc_call(kernel, symbol.name().unwrap()),
            Some(data) => {
                let map = maps[&data.0];
                let offset = symbol.address() + (insns[at] >> 32);
                let kept = insns[at] & 0x0fff;
                insns[at] = kept | 2 << 12 | u64::from(map.0) << 32;
                insns[at + 1] = offset << 32;
            }
        }
    }
    insns
}

/// BPF_PSEUDO_KFUNC_CALL.
fn kfunc_call(kernel: &Kernel, name: &str) -> u64 {
    let id = kernel.btf.find(Kind::Func, name);
    let id = id.unwrap_or_else(|| panic!("the kernel has no {name}"));
    0x85 | 2 << 12 | u64::from(id.0) << 32
}
