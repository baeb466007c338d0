//! `schedlab new`: the folder of a new policy.

use std::fs;
use std::path::Path;

use schedlab_input::{nearest, Diagnostic};
use schedlab_policy::{write_headers, Policy, COMPILER_FLAGS, INCLUDE_FOLDERS};

use crate::arguments::NewArguments;
use crate::failure::Failure;
use schedlab_lab::shell_word;

use super::print;

/// The files of a new policy; NAME is replaced by its name.
const SOURCE: &str = include_str!("../../../../policy/template/template.c");
const README: &str = include_str!("../../../../policy/template/README.md");

/// The folder of the headers, inside that of the policy.  They are for the reader and the editor: schedlab compiles a
/// policy with the headers it carries.
const HEADERS: &str = "include";

/// The folders of the headers in schedlab's source.
const CHECKOUT_FOLDERS: [&str; 3] = ["policy", "policies", "crates/native/include"];

/// Longest name of a policy.
const MAX_NAME: usize = 32;

/// Words with another meaning in C, in its preprocessor or in `--policies`.
const RESERVED: [&str; 38] = [
    "all", "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do",
    "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "linux",
    "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "typedef", "typeof", "union", "unix", "unsigned", "void",
];

/// Writes DIR/NAME with a policy that runs, and prints the next steps.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let (name, dir) = (arguments.name.as_str(), arguments.dir.as_path());
    check_name(name)?;
    let folder = dir.join(name);
    if !dir.is_dir() {
        return Err(Diagnostic::new("there is no such folder")
            .at("--dir", 0)
            .key(dir.display().to_string())
            .expected("a folder that exists")
            .into());
    }
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(mistake(format!("{} exists already", folder.display()))
            .expected("a new name")
            .into());
    }
    write(dir, &folder, name).map_err(Failure::writing(&folder))?;
    print(&next_steps(&folder, name, is_in_checkout(dir)))
}

fn mistake(problem: String) -> Diagnostic {
    Diagnostic::new(problem).at("NAME", 0)
}

fn check_name(name: &str) -> Result<(), Diagnostic> {
    if !is_identifier(name) {
        let expected = format!(
            "a lower-case letter, then lower-case letters, digits and underscores, at most {MAX_NAME} in all"
        );
        return Err(Diagnostic {
            nearest: repaired(name),
            ..mistake(format!("\"{name}\" cannot be the name of a policy")).expected(expected)
        });
    }
    if RESERVED.contains(&name) {
        return Err(mistake(format!("\"{name}\" is a reserved word"))
            .expected(format!("another name, such as \"my_{name}\"")));
    }
    if Policy::find(name).is_some() {
        return Err(mistake(format!("there is a policy \"{name}\" already"))
            .expected(format!("another name, such as \"my_{name}\"")));
    }
    Ok(())
}

fn is_identifier(name: &str) -> bool {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    starts && name.chars().all(valid) && name.len() <= MAX_NAME
}

/// The valid name most similar to an invalid one.
fn repaired(name: &str) -> Option<String> {
    let mut valid = name.to_lowercase();
    valid.retain(|c| c.is_ascii_alphanumeric() || "_- ".contains(c));
    let valid = valid.replace(['-', ' '], "_");
    let valid = valid.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    let end = valid.len().min(MAX_NAME);
    nearest(name, [&valid[..end]]).filter(|name| is_identifier(name))
}

/// The folder appears complete: it is written under another name and renamed.
fn write(dir: &Path, folder: &Path, name: &str) -> std::io::Result<()> {
    let aside = tempfile::Builder::new().prefix(".new-").tempdir_in(dir)?;
    fs::write(
        aside.path().join(format!("{name}.c")),
        SOURCE.replace("NAME", name),
    )?;
    fs::write(aside.path().join("README.md"), README.replace("NAME", name))?;
    if !is_in_checkout(dir) {
        write_headers(&aside.path().join(HEADERS))?;
    }
    fs::write(aside.path().join("compile_flags.txt"), editor_flags(dir))?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(aside.path(), readable)?;
    fs::rename(aside.path(), folder)?;
    let _renamed = aside.keep();
    Ok(())
}

/// Is this the folder "policies" of schedlab's source, where the build finds new policies?
fn is_in_checkout(dir: &Path) -> bool {
    dir.join("../policy/policy.h").is_file()
}

/// The flags of a compilation, one a line, for clangd and the editors that use it.
fn editor_flags(dir: &Path) -> String {
    let folders = match is_in_checkout(dir) {
        true => CHECKOUT_FOLDERS.map(|folder| format!("-I../../{folder}\n")),
        false => INCLUDE_FOLDERS.map(|folder| format!("-I{HEADERS}/{folder}\n")),
    };
    format!("-xc\n{COMPILER_FLAGS}{}", folders.concat())
}

fn next_steps(folder: &Path, name: &str, in_checkout: bool) -> String {
    // "./mine/mine.c" is written "mine/mine.c".
    let folder = folder.strip_prefix(".").unwrap_or(folder);
    let shown = |path: &str| folder.join(path).display().to_string();
    let source = shown(&format!("{name}.c"));
    let readme = shown("README.md");
    let source = shell_word(&source);
    let build = match in_checkout {
        true => format!("  cargo build --release     # from then on it is called \"{name}\"\n"),
        false => String::new(),
    };
    format!(
        "Wrote {source} and {readme}.  Next:

  schedlab run --policy {source} --workload late
  schedlab compare --policies {source},all --workload late --report {name}.html
{build}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str) -> String {
        check_name(name).unwrap_err().to_string()
    }

    #[test]
    fn names_are_c_identifiers_in_lower_case() {
        assert!(check_name("fair_2").is_ok());
        for name in [
            "",
            "2fair",
            "_x",
            "Fair",
            "a b",
            "ä",
            &"x".repeat(MAX_NAME + 1),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(refusal("my-fifo").ends_with("(did you mean \"my_fifo\"?)"));
        assert!(refusal("Fair").ends_with("(did you mean \"fair\"?)"));
    }

    #[test]
    fn taken_names_are_refused() {
        assert!(refusal("linux").contains("is a reserved word"));
        assert!(refusal("linux24").contains("there is a policy \"linux24\" already"));
        assert!(RESERVED.is_sorted());
    }
}
