//! The topology of this machine's CPUs, from sysfs.

use std::fs;
use std::path::{Path, PathBuf};

/// One CPU.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub core: u32,
    pub llc: u32,
    pub node: u32,
    pub online: bool,
}

const CPUS: &str = "/sys/devices/system/cpu";

/// Every CPU from 0 to the highest that is online.
pub(crate) fn places() -> Vec<Place> {
    let online = fs::read_to_string(Path::new(CPUS).join("online")).unwrap_or_default();
    let online = cpu_list(&online);
    let highest = online.iter().copied().max().unwrap_or(0);
    (0..=highest)
        .map(|cpu| match online.contains(&cpu) {
            true => place(cpu),
            false => Place::default(),
        })
        .collect()
}

/// A core, a cache and a node are named by their first CPU.
fn place(cpu: u32) -> Place {
    let folder = PathBuf::from(format!("{CPUS}/cpu{cpu}"));
    let first_of = |file: PathBuf| {
        let list = fs::read_to_string(file).ok()?;
        cpu_list(&list).first().copied()
    };
    let core = first_of(folder.join("topology/thread_siblings_list")).unwrap_or(cpu);
    let llc = (0..8)
        .rev()
        .find_map(|level| first_of(folder.join(format!("cache/index{level}/shared_cpu_list"))));
    let node = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .find_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix("node")?
                .parse()
                .ok()
        });
    Place {
        core,
        llc: llc.unwrap_or(core),
        node: node.unwrap_or(0),
        online: true,
    }
}

/// "0-3,8" as numbers.
fn cpu_list(text: &str) -> Vec<u32> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    text.trim()
        .split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((first, last)) => Some(number(first)?..=number(last)?),
            None => number(part).map(|n| n..=n),
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::cpu_list;

    #[test]
    fn lists_are_ranges_and_numbers() {
        assert_eq!(cpu_list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("5"), [5]);
        assert_eq!(cpu_list("\n"), []);
    }
}
