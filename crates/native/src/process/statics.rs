//! What a policy's file must not contain: state outside its run queues and tasks, and constructors.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};

use super::compile::CompileError;

/// Sections that only the dynamic linker writes, before any code of the policy runs.
const WRITTEN_ONCE: [&str; 4] = [".data.rel.ro", ".dynamic", ".got", ".got.plt"];

const CONSTRUCTORS: [&str; 3] = [".preinit_array", ".init_array", ".ctors"];

/// A policy keeps its state where the host allocates it: runs at the same time share the process, but no state.
///
/// # Errors
/// [`CompileError::WritableStatic`] names the first writable variable, [`CompileError::Constructor`] says that code would
/// run before any hook.
pub(crate) fn check(source: &Path, library: &[u8]) -> Result<(), CompileError> {
    let shown = || source.display().to_string();
    let file = object::File::parse(library)
        .map_err(|e| CompileError::Unreadable(shown(), e.to_string()))?;
    if CONSTRUCTORS
        .iter()
        .any(|name| file.section_by_name(name).is_some_and(|s| s.size() > 0))
    {
        return Err(CompileError::Constructor(shown()));
    }
    match file.symbols().filter_map(|s| writable(&file, &s)).min() {
        Some(name) => Err(CompileError::WritableStatic(shown(), name)),
        None => Ok(()),
    }
}

/// The name of a variable that the policy's code can write to.
fn writable(file: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> Option<String> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let SectionFlags::Elf { sh_flags } = section.flags() else {
        return None;
    };
    let is_writable = sh_flags & u64::from(object::elf::SHF_WRITE) != 0
        && !WRITTEN_ONCE.contains(&section.name().ok()?);
    let is_variable = matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls);
    let name = symbol.name().ok()?;
    // Names that begin with two underscores are the compiler's: counters of coverage, the sanitizers' tables.
    (is_writable && is_variable && !name.starts_with("__")).then(|| plain(name))
}

/// gcc calls a function's static variable `name.0`, clang `function.name`.
fn plain(symbol: &str) -> String {
    let is_number = |part: &&str| !part.bytes().all(|b| b.is_ascii_digit());
    let last = symbol.split('.').rfind(is_number);
    last.unwrap_or(symbol).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_names_of_statics_are_understood() {
        for name in ["picked", "picked.0", "pick_next.picked"] {
            assert_eq!(plain(name), "picked");
        }
    }
}
