//! Parts of a map's value that are not plain bytes: timers, locks, pointers to the kernel's objects.

use crate::btf::{Btf, Kind, TypeId};

/// What a part of a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// struct bpf_timer.
    Timer,
    /// struct bpf_wq.
    WorkQueue,
    /// struct bpf_spin_lock or bpf_res_spin_lock.
    Lock,
    /// A pointer that the value owns; whether it is to a struct bpf_cpumask.
    Pointer {
        /// To a struct bpf_cpumask.
        to_cpumask: bool,
    },
    /// Head of a tree or of a list, a node, a count of references.
    Other,
}

/// A part of a value, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Special {
    /// What.
    pub part: Part,
    /// From the value's start.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// Most parts of one value that are looked at.
const MOST: usize = 512;

/// The special parts of a type, in ascending order.
pub fn special_fields(btf: &Btf, value: TypeId) -> Vec<Special> {
    let mut found = Vec::new();
    collect(btf, value, 0, 8, &mut found);
    found.sort_by_key(|special| special.offset);
    found
}

fn collect(btf: &Btf, id: TypeId, offset: u32, nested: u32, found: &mut Vec<Special>) {
    if nested == 0 || found.len() >= MOST {
        return;
    }
    let plain = btf.resolve(id);
    let size = btf.size(plain);
    let mut add = |part| found.push(Special { part, offset, size });
    match btf.kind(plain) {
        Some(Kind::Struct) => match btf.name(plain) {
            "bpf_timer" => add(Part::Timer),
            "bpf_wq" => add(Part::WorkQueue),
            "bpf_spin_lock" | "bpf_res_spin_lock" => add(Part::Lock),
            "bpf_rb_root" | "bpf_rb_node" | "bpf_list_head" | "bpf_list_node" | "bpf_refcount" => {
                add(Part::Other);
            }
            _ => {
                for (_, member, at, bits) in btf.members(plain) {
                    if bits == 0 {
                        collect(btf, member, offset + at / 8, nested - 1, found);
                    }
                }
            }
        },
        // Pointers within unions cannot be the kernel's.
        Some(Kind::Array) => {
            let Some((element, count)) = btf.array(plain) else {
                return;
            };
            let size = btf.size(element);
            let before = found.len();
            collect(btf, element, offset, nested - 1, found);
            if found.len() > before {
                for i in 1..count.min(MOST as u32) {
                    collect(btf, element, offset + i * size, nested - 1, found);
                }
            }
        }
        Some(Kind::Ptr) => {
            if let Some(to_cpumask) = kernel_pointer(btf, plain) {
                add(Part::Pointer { to_cpumask });
            }
        }
        _ => {}
    }
}

/// Is it a pointer marked __kptr, and one to a struct bpf_cpumask?
fn kernel_pointer(btf: &Btf, pointer: TypeId) -> Option<bool> {
    let mut id = btf.target(pointer)?;
    let mut marked = false;
    for _ in 0..16 {
        match btf.kind(id)? {
            Kind::TypeTag => {
                marked |= matches!(btf.name(id), "kptr" | "kptr_untrusted" | "percpu_kptr");
                id = btf.target(id)?;
            }
            Kind::Const | Kind::Volatile | Kind::Typedef => id = btf.target(id)?,
            _ => break,
        }
    }
    marked.then(|| btf.name(id) == "bpf_cpumask")
}
