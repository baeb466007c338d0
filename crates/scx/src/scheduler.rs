//! Schedulers as users name them, and as policies.

use std::env;
use std::ffi::{c_char, CString, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use schedlab_machine::Machine;
use schedlab_policy::{ffi, Assignment, Policy};

use crate::door::{self, Loaded, Loader, Unloaded};
use crate::ext;
use crate::machine::Kernel;

/// What a BPF object's name ends with.
const OBJECT: &str = ".bpf.o";

/// A scheduler that is not part of schedlab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scheduler {
    /// A program that loads it, with its arguments.
    Program(PathBuf, Vec<String>),
    /// A BPF object.
    Object(PathBuf),
}

impl Scheduler {
    /// The scheduler that a user means by a path or the name of a program, and arguments; none if it is neither.
    pub fn find(text: &str) -> Option<Scheduler> {
        if text.ends_with(OBJECT) {
            return Some(Scheduler::Object(text.into()));
        }
        let words = shlex::split(text)?;
        let (program, arguments) = words.split_first()?;
        let program = match program.contains('/') {
            true => Some(PathBuf::from(program)).filter(|path| is_program(path)),
            false => on_path(program),
        };
        Some(Scheduler::Program(program?, arguments.to_vec()))
    }

    /// What can be set of it, as a policy that cannot run yet.
    ///
    /// # Errors
    /// What is wrong with the object.
    pub fn declared(&self, name: &str) -> Result<Policy, String> {
        let tunables = match self {
            Scheduler::Program(..) => Vec::new(),
            Scheduler::Object(path) => tunables(&door::object(path)?),
        };
        Ok(ext::declared(name, tunables.leak()))
    }

    /// The scheduler, loaded for a machine.  `attach` is the program with the arguments that attaches an object:
    /// a file and `--set NAME=VALUE` follow.
    ///
    /// # Errors
    /// Why it cannot be loaded.
    pub fn load(
        &self,
        name: &str,
        set: &[Assignment],
        machine: &Machine,
        attach: &[OsString],
        stop: &dyn Fn() -> bool,
    ) -> Result<(Policy, Loaded), Unloaded> {
        let kernel = Kernel::new().map_err(|refusal| Unloaded::Refused(vec![refusal]))?;
        let loader = self.loader(set, attach);
        let loaded = door::load(&loader, &kernel, machine, stop)?;
        let identity = loaded.image.identity()?;
        let summary = format!(
            "sched_ext scheduler \"{}\", programs and maps {identity:032x}",
            loaded.ops.name
        );
        let tunables = match self {
            Scheduler::Program(..) => Vec::new(),
            Scheduler::Object(path) => tunables(&door::object(path).unwrap_or_default()),
        };
        let policy = ext::policy_with(loaded.image.clone(), name, &summary, tunables.leak());
        Ok((policy, loaded))
    }

    fn loader(&self, set: &[Assignment], attach: &[OsString]) -> Loader {
        match self {
            Scheduler::Program(program, arguments) => Loader {
                program: program.clone(),
                arguments: arguments.iter().map(OsString::from).collect(),
                object: program.clone(),
            },
            Scheduler::Object(path) => {
                let (program, first) = attach.split_first().expect("a program that attaches");
                let set = set.iter().flat_map(|set| {
                    let text = format!("{}={}", set.target(), set.values_text());
                    [OsString::from("--set"), text.into()]
                });
                let arguments = first.iter().cloned();
                let arguments = arguments.chain([path.clone().into_os_string()]);
                Loader {
                    program: program.into(),
                    arguments: arguments.chain(set).collect(),
                    object: path.clone(),
                }
            }
        }
    }
}

/// What `--set` can change.
fn tunables(object: &[u8]) -> Vec<ffi::Tunable> {
    let text = |text: &str| -> *const c_char {
        CString::into_raw(CString::new(text).unwrap_or_default()).cast_const()
    };
    let tunable = |variable: door::Variable| {
        let (min, max) = variable.range();
        ffi::Tunable {
            name: text(&variable.name),
            initial: Box::leak(Box::new(variable.value)),
            rows: 1,
            min,
            max,
            doc: c"a constant of the object".as_ptr(),
        }
    };
    door::variables(object).into_iter().map(tunable).collect()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let mut paths = env::split_paths(&folders).map(|folder| folder.join(name));
    paths.find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let file = path.metadata();
    file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
