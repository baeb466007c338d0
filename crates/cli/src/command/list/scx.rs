//! What sched_ext schedulers find in the simulated kernel.

use schedlab_input::Diagnostic;
use schedlab_scx::ext::Op;
use schedlab_scx::{helpers, Kernel, MapKind};
use serde::Serialize;

use super::{text, Listing};
use crate::failure::Failure;

/// Everything there is, by kind.
#[derive(Serialize)]
struct Supported {
    operations: Vec<String>,
    kfuncs: Vec<String>,
    helpers: Vec<String>,
    map_types: Vec<String>,
}

impl Supported {
    fn new() -> Result<Supported, Failure> {
        let kernel = Kernel::new().map_err(|refusal| Failure::Other(refusal.to_string()))?;
        let helper = |id: &u32| {
            let names = helpers::NAMES.get(*id as usize);
            names.map_or_else(|| format!("helper {id}"), |name| format!("bpf_{name}"))
        };
        let snake = |kind: &MapKind| format!("{kind:?}");
        Ok(Supported {
            operations: Op::ALL.iter().map(|op| op.name().to_string()).collect(),
            kfuncs: kernel.kfuncs.keys().map(|name| name.to_string()).collect(),
            helpers: kernel.helpers.keys().map(helper).collect(),
            map_types: MapKind::ALL.iter().map(snake).collect(),
        })
    }

    fn rows(&self) -> [[String; 2]; 4] {
        let row = |kind: &str, names: &[String]| [kind.to_string(), names.join(" ")];
        [
            row("operations", &self.operations),
            row("kfuncs", &self.kfuncs),
            row("helpers", &self.helpers),
            row("map types", &self.map_types),
        ]
    }
}

/// What schedulers can use.
pub fn all() -> Result<Listing, Failure> {
    let supported = Supported::new()?;
    Listing::new(text::columns(&supported.rows()), &supported)
}

/// Is there something of this name?
pub fn one(name: &str) -> Result<Listing, Failure> {
    let supported = Supported::new()?;
    let rows = supported.rows();
    let found = rows
        .iter()
        .find(|[_, names]| names.split(' ').any(|known| known == name));
    match found {
        Some([kind, _]) => Listing::new(format!("{name} is there ({kind})\n"), &[name]),
        None => {
            let names = rows.iter().flat_map(|[_, names]| names.split(' '));
            let mistake = Diagnostic::new(format!("the simulated kernel has no \"{name}\""));
            Err(mistake.at("list scx", 0).suggest(name, names).into())
        }
    }
}
