// Finds clang and its flags. The build script includes this file, too.

/// The first release that supports the arena's address space.
const FIRST_CLANG: u32 = 19;

/// The clang to run: `BPF_CLANG`, or the first of the usual names that is new enough.
fn find_clang() -> Result<String, String> {
    if let Ok(chosen) = env::var("BPF_CLANG") {
        return match clang_version(&chosen) {
            Some(version) if version >= FIRST_CLANG => Ok(chosen),
            Some(version) => Err(format!("BPF_CLANG={chosen} is clang {version}; {FIRST_CLANG} or later is needed")),
            None => Err(format!("BPF_CLANG={chosen} is not clang")),
        };
    }
    let versioned = (FIRST_CLANG..FIRST_CLANG + 8).map(|version| format!("clang-{version}"));
    std::iter::once("clang".to_string())
        .chain(versioned)
        .find(|name| clang_version(name).is_some_and(|version| version >= FIRST_CLANG))
        .ok_or_else(|| {
            format!("no clang {FIRST_CLANG} or later was found (scripts/setup.sh installs one; BPF_CLANG chooses one)")
        })
}

/// "Debian clang version 19.1.7 (3)" is 19.
fn clang_version(program: &str) -> Option<u32> {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split("clang version ").nth(1)?;
    version.split('.').next()?.parse().ok()
}

/// All arguments except the source file.
fn flags(included: &[PathBuf], policy: &Path, object: &Path) -> Vec<String> {
    let mut flags: Vec<String> = include_str!("cflags.txt").split_whitespace().map(String::from).collect();
    flags.extend(included.iter().map(|folder| format!("-I{}", folder.display())));
    flags.push(format!("-DPOLICY_SOURCE=\"{}\"", policy.display()));
    flags.extend(["-c".into(), "-o".into(), object.display().to_string()]);
    flags
}
