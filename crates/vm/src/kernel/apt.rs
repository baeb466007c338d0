//! Downloads a kernel package with apt and does not change the host's system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{output_of, Stop};
use crate::VmError;

use super::sources::{mirror, Mirror};
use super::version::{major, natural_order};

/// The suite that has the newest packages.
const SUITE: &str = "sid";

/// The first major version of Debian's kernels with sched_ext.
const OLDEST: u64 = 7;

/// Downloads the newest kernel into `cache`; returns the image's path.
pub fn fetch(cache: &Path, note: &mut dyn FnMut(&str), stop: Stop) -> Result<PathBuf, VmError> {
    let mirror = mirror()
        .ok_or_else(|| VmError::no_kernel("this machine's apt sources name no Debian mirror"))?;
    fs::create_dir_all(cache).map_err(VmError::writing(cache))?;
    let apt = Apt::new(cache, &mirror)?;
    note("fetching a kernel from Debian (once)");
    apt.run("apt-get", &["-qq", "update"], stop)?;
    let names = apt.run("apt-cache", &["pkgnames", "linux-binary-"], stop)?;
    let package = newest(&names).ok_or_else(|| {
        VmError::no_kernel(format!(
            "{} has no kernel {OLDEST} or later in {SUITE}",
            mirror.uri
        ))
    })?;
    apt.run("apt-get", &["-qq", "download", &package], stop)?;
    let image = apt.unpack(stop)?;
    let release = package.trim_start_matches("linux-binary-");
    let place = cache.join(release);
    fs::create_dir_all(&place).map_err(VmError::writing(&place))?;
    let image_place = place.join("vmlinuz");
    // A rename is atomic: a concurrent download sees a complete image or none.
    fs::rename(&image, &image_place).map_err(VmError::writing(&image_place))?;
    note(&format!("kernel {release} from {} ({SUITE})", mirror.uri));
    Ok(image_place)
}

/// The newest of the plain kernels for amd64 in a list of package names.
fn newest(names: &str) -> Option<String> {
    let plain = names.lines().filter(|name| {
        let release = name.strip_prefix("linux-binary-").unwrap_or_default();
        let version = release.strip_suffix("-amd64").unwrap_or_default();
        // Excludes "7.2.13+deb14-cloud-amd64" and "-rt-amd64", which have other configurations.
        major(version).is_some_and(|major| major >= OLDEST) && !version.contains('-')
    });
    plain.max_by(|a, b| natural_order(a, b)).map(str::to_string)
}

/// An apt configuration in a temporary folder.
struct Apt {
    folder: tempfile::TempDir,
}

impl Apt {
    fn new(cache: &Path, mirror: &Mirror) -> Result<Apt, VmError> {
        let folder = tempfile::Builder::new().prefix(".fetch-").tempdir_in(cache);
        let apt = Apt {
            folder: folder.map_err(VmError::writing(cache))?,
        };
        for place in ["lists/partial", "cache/archives/partial"] {
            let place = apt.path(place);
            fs::create_dir_all(&place).map_err(VmError::writing(&place))?;
        }
        apt.write("apt.conf", &apt.configuration())?;
        apt.write("sources.list", &source(mirror))?;
        Ok(apt)
    }

    fn configuration(&self) -> String {
        let place = |name| self.path(name).display().to_string();
        format!(
            "Dir::State::Lists \"{}\";\nDir::Cache \"{}\";\nDir::Etc::SourceList \"{}\";\n\
             Dir::Etc::SourceParts \"-\";\nAPT::Architecture \"amd64\";\nAPT::Architectures \"amd64\";\n\
             APT::Sandbox::User \"\";\nAcquire::Languages \"none\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n",
            place("lists"),
            place("cache"),
            place("sources.list"),
        )
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), VmError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(VmError::writing(&path))
    }

    /// Runs one of apt's programs; returns its output.
    fn run(&self, program: &str, arguments: &[&str], stop: Stop) -> Result<String, VmError> {
        let mut command = Command::new(program);
        command.arg("-c").arg(self.path("apt.conf")).args(arguments);
        self.output(command, stop)
    }

    /// Unpacks the downloaded package; returns the image's path.
    fn unpack(&self, stop: Stop) -> Result<PathBuf, VmError> {
        let has = |end: &'static str| move |path: &PathBuf| path.to_string_lossy().ends_with(end);
        let package = find_below(self.folder.path(), &has(".deb"))
            .ok_or_else(|| VmError::no_kernel("apt-get downloaded no package"))?;
        let root = self.path("root");
        let mut command = Command::new("dpkg-deb");
        command.arg("--extract").arg(package).arg(&root);
        self.output(command, stop)?;
        find_below(&root, &has("/vmlinuz"))
            .ok_or_else(|| VmError::no_kernel("the package has no vmlinuz"))
    }

    fn output(&self, mut command: Command, stop: Stop) -> Result<String, VmError> {
        command.current_dir(self.folder.path());
        output_of(command, stop).map_err(|problem| match problem {
            VmError::Tool(problem) => VmError::no_kernel(problem),
            other => other,
        })
    }
}

fn source(mirror: &Mirror) -> String {
    let options = match &mirror.signed_by {
        Some(keys) => format!("[signed-by={keys}] "),
        None => String::new(),
    };
    format!("deb {options}{} {SUITE} main\n", mirror.uri)
}

/// The first file below a folder that `wanted` accepts.
fn find_below(folder: &Path, wanted: &dyn Fn(&PathBuf) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    paths.into_iter().find_map(|path| match path.is_dir() {
        true => find_below(&path, wanted),
        false => wanted(&path).then_some(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_plain_kernel_is_taken() {
        let names = "linux-binary-6.12.9+deb13-amd64\nlinux-binary-7.2.9+deb14-amd64\n\
                     linux-binary-7.2.13+deb14-amd64\nlinux-binary-7.3.0+deb14-rt-amd64\n\
                     linux-binary-7.3.0+deb14-cloud-amd64\nlinux-binary-7.3.0+deb14-arm64\n\
                     linux-binary-7.3.0+deb14-amd64-unsigned\nlinux-binary-amd64\n";
        let newest_name = "linux-binary-7.2.13+deb14-amd64".to_string();
        assert_eq!(newest(names), Some(newest_name));
        assert_eq!(newest("linux-binary-6.12.9+deb13-amd64\n"), None);
    }

    #[test]
    fn the_source_names_the_keys() {
        let mut mirror = Mirror {
            uri: "http://m.example/debian".into(),
            signed_by: None,
        };
        assert_eq!(source(&mirror), "deb http://m.example/debian sid main\n");
        mirror.signed_by = Some("/k.gpg".into());
        assert_eq!(
            source(&mirror),
            "deb [signed-by=/k.gpg] http://m.example/debian sid main\n"
        );
    }
}
