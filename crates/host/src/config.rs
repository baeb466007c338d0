//! The configuration of the running kernel.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

/// Ticks per second of the running kernel, and the file with that value.
pub(crate) fn hz(root: &Path) -> Option<(u32, String)> {
    let (text, file) = text(root)?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
    Some((value.trim().parse().ok()?, file))
}

/// The preemption model chosen when the kernel was built.
pub(crate) fn preemption(root: &Path) -> Option<&'static str> {
    let (text, _) = text(root)?;
    let on = |option: &str| {
        text.lines()
            .any(|line| line == format!("CONFIG_{option}=y"))
    };
    let model = [
        ("PREEMPT_RT", "real-time"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "full"),
        ("PREEMPT_VOLUNTARY", "voluntary"),
        ("PREEMPT_NONE", "none"),
    ];
    model
        .iter()
        .find(|(option, _)| on(option))
        .map(|(_, model)| *model)
}

fn text(root: &Path) -> Option<(String, String)> {
    if let Ok(packed) = fs::File::open(root.join("proc/config.gz")) {
        let mut text = String::new();
        // A configuration has some hundred KiB; a limit guards against larger files.
        GzDecoder::new(packed)
            .take(1 << 24)
            .read_to_string(&mut text)
            .ok()?;
        return Some((text, "/proc/config.gz".into()));
    }
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).ok()?;
    let file = format!("boot/config-{}", release.trim());
    Some((
        fs::read_to_string(root.join(&file)).ok()?,
        format!("/{file}"),
    ))
}
